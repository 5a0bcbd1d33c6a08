"""Subqueries over public tables: answered by DuckDB before a statement is planned, for nothing.

A scalar one becomes its value, `x IN (SELECT …)` a list of values, and one that looks at a column
of the row around it a table of public numbers (`t.Lookup`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from sqlpriv.errors import ProgrammingError, Refused
from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.plan.relations import correlated, outer_names
from sqlpriv.plan.relations.keyed_subqueries import keyed_subquery, number_by_key
from sqlpriv.plan.relations.outer_names import looks_outside
from sqlpriv.plan.relations.subqueries import (
    membership_subqueries,
    scalar_subqueries,
    with_values,
)
from sqlpriv.session.access.context import Access
from sqlpriv.session.queries.lasting_answers import AnotherEachTime, lasting_answer, values_of
from sqlpriv.session.queries.public_keys import PublicKeys
from sqlpriv.statements import tables
from sqlpriv.statements import tree as t
from sqlpriv.statements.printer import quote_name
from sqlpriv.statements.traverse import join_terms, row_fields
from sqlpriv.system import arrow
from sqlpriv.system.row_order import in_one_order

MOST = 10_000
"""Values that `x IN (SELECT …)` may become."""
_VALUES = "sqlpriv_values"
"""What the values are called for which a subquery is answered: no statement has that name."""
ONE_VALUE = "a subquery that stands for a value gives one row of one column"
ONE_AGGREGATE = "select one aggregate, without GROUP BY"
Contracts = Mapping[str, TableContract]


def reads_private(query: t.Query, contracts: Contracts) -> bool:
    """Returns whether a query reads a table that is not public."""
    named = (contracts.get(table) for table in tables(query))
    return any(contract is not None and not contract.public for contract in named)


class SettledQuery(NamedTuple):
    """A query without public subqueries.

    Args:
        select: The query, with the answers of its public subqueries in their places.
        scalars: Its scalar subqueries over private tables, each once.
        is_lasting: No public subquery was answered: its answer might be another at another time.
    """

    select: t.Select
    scalars: Sequence[t.Subquery]
    is_lasting: bool


def settle_public_parts(select: t.Select, contracts: Contracts, access: Access) -> SettledQuery:
    """Returns the statement with the answers of its public subqueries in their places.

    Private subqueries about the unit of the row around them become joins.

    Raises:
        Refused: A public subquery gives what cannot stand in its place, or a private one is no
            statement of its own.
    """
    joined = correlated.join_correlated(select, contracts)
    looked_up = _with_lookups(joined, contracts, access)
    values: dict[t.Node, t.Node] = {
        part: value_of(part, _answer(part, contracts, access), contracts)
        for part in dict.fromkeys(scalar_subqueries(looked_up))
        if not reads_private(part.query, contracts)
    }
    valued: t.Select = with_values(looked_up, values) if values else looked_up
    listed = _with_lists(valued, contracts, access)
    is_lasting = not _has_public_part(select, contracts)
    return SettledQuery(listed, _private_scalars(listed, contracts), is_lasting)


def _answer(part: t.Subquery | t.InQuery, contracts: Contracts, access: Access) -> pa.Table:
    """Returns the rows of a public subquery, which another asking has, too."""
    return lasting_answer(part.text, lambda: access.sql.run_subquery(part, contracts), part.pos)


def _has_public_part(query: t.Query, contracts: Contracts) -> bool:
    """Returns whether a subquery of a query, or one inside it, reads public tables alone."""
    parts = [part.query for part in scalar_subqueries(query)]
    parts += [part.query for part in membership_subqueries(query)]
    return any(
        not reads_private(part, contracts) or _has_public_part(part, contracts) for part in parts
    )


def _private_scalars(select: t.Select, contracts: Contracts) -> list[t.Subquery]:
    """Returns the scalar subqueries over private tables, each once.

    Raises:
        Refused: One is no statement of its own: it looks at the row around it.
    """
    parts = dict.fromkeys(scalar_subqueries(select))
    private = [part for part in parts if reads_private(part.query, contracts)]
    for part in private:
        outside = looks_outside(part.query, contracts)
        if outside and keyed_subquery(part, contracts) is None:
            raise Refused.at(
                part.pos,
                "this subquery is about rows of other units, anew for each row around it",
                "compare with one number for all, with the unit's own rows, or look at columns "
                "with public lists, by equalities",
            )
    return private


def value_of(part: t.Subquery | t.InQuery, rows: pa.Table, contracts: Contracts) -> t.Node:
    """Returns the one value of a subquery's rows, NULL where there is none; or its value by key; of
    a subquery behind IN, the condition with its rows as a list."""
    if isinstance(part, t.InQuery):
        items = tuple(t.Literal(value, part.pos) for (value,) in _different_rows(part, rows))
        empty = t.Literal(part.negated, part.pos)
        return t.InList(part.arg, items, part.negated, part.pos) if items else empty
    keyed = keyed_subquery(part, contracts) if rows.num_columns > 1 else None
    if keyed is not None:
        return _lookup(part, keyed.columns, rows)
    if rows.num_columns != 1 or rows.num_rows > 1:
        raise Refused.at(part.pos, ONE_VALUE, ONE_AGGREGATE)
    value = next(iter(values_of(rows.column(0), part.pos)), None)
    number, is_real = _as_literal(value), isinstance(value, float)
    stored = arrow.type_of_exact(rows.schema.types[0]) if isinstance(value, int | Decimal) else ""
    return t.Literal(number, part.pos, is_real, stored)


def _with_lists(select: t.Select, contracts: Contracts, access: Access) -> t.Select:
    """Returns the statement with `x IN (SELECT …)` over public tables as lists of values.

    The values of a key are then known to be these alone. A query that looks at the row around it,
    or has NULLs or very many values, stays what it is: a join.
    """
    lists: dict[t.Node, t.Node] = {}
    for part in membership_subqueries(select):
        if reads_private(part.query, contracts) or looks_outside(part.query, contracts):
            continue
        try:
            rows = _answer(part, contracts, access)
        except AnotherEachTime:
            raise
        except ProgrammingError:  # it looks at the row around it, say
            continue
        fields = row_fields(part.arg)
        if rows.num_columns != len(fields) or not 0 < rows.num_rows <= MOST:
            continue
        if any(column.null_count for column in rows.columns):
            continue
        if len(fields) > 1:
            lists[part] = _row_among(part, fields, rows)
            continue
        items = tuple(t.Literal(value, part.pos) for (value,) in _different_rows(part, rows))
        lists[part] = t.InList(part.arg, items, part.negated, part.pos)
    listed: t.Select = with_values(select, lists)
    return listed


def _different_rows(part: t.InQuery, rows: pa.Table) -> list[tuple[Value, ...]]:
    """Returns the rows of a subquery behind IN as literals have them, each once, in one order."""
    columns = (map(_as_literal, values_of(column, part.pos)) for column in rows.columns)
    return in_one_order(set(zip(*columns, strict=True)))


def _row_among(part: t.InQuery, fields: Sequence[t.Node], rows: pa.Table) -> t.Node:
    """Returns `(a, b) IN (SELECT …)` over these rows: by the first fields' values, the others'."""
    listed: dict[tuple[Any, ...], list[Any]] = {}
    for row in _different_rows(part, rows):
        listed.setdefault(row[:-1], []).append(row[-1])
    tests: list[t.Node] = []
    for firsts, lasts in listed.items():
        items = tuple(t.Literal(value, part.pos) for value in lasts)
        test: t.Node = t.InList(fields[-1], items, pos=part.pos)
        for field, value in zip(reversed(fields[:-1]), reversed(firsts), strict=True):
            equal = t.Binary("=", field, t.Literal(value, part.pos), part.pos)
            test = t.Binary("and", equal, test, part.pos)
        tests.append(test)
    whole = join_terms("or", tests)
    return t.Unary("not", whole, part.pos) if part.negated else whole


def _with_lookups(select: t.Select, contracts: Contracts, access: Access) -> t.Select:
    """Returns the statement with public numbers for subqueries that look at the row around."""
    lookups: dict[t.Node, t.Node] = {}
    for part in dict.fromkeys(scalar_subqueries(select)):
        if reads_private(part.query, contracts):
            continue
        stored = PublicKeys(access, contracts).values
        if (looked_up := outer_names.lookup_of(part, select, contracts, stored)) is not None:
            column = looked_up.column
            rows = access.sql.public_rows(tables(part.query), contracts, part.text)
            rows[_VALUES] = pa.table({column.name: list(looked_up.values)})
            # a table of the subquery may be called as the row's alias is
            source = f"{_VALUES} AS {quote_name(looked_up.alias)}"
            text = f"SELECT {quote_name(column.name)}, ({part.text}) FROM {source}"
            run = partial(access.sql.run_alone, rows, text, part.parameters)
            lookups[part] = _lookup(part, (column,), lasting_answer(text, run, part.pos))
    with_numbers: t.Select = with_values(select, lookups)
    return with_numbers


def _lookup(part: t.Subquery, columns: Sequence[t.Name], answers: pa.Table) -> t.Node:
    """Returns the numbers that a subquery has, by the values of the columns that it looks at.

    Raises:
        Refused: They are no numbers.
    """
    values = (values_of(column, part.pos) for column in answers.columns)
    rows = in_one_order(zip(*values, strict=True))
    answered = {tuple(key): value for *key, value in rows if value is not None}
    numbers = {k: float(v) for k, v in answered.items() if type(v) in (int, float, Decimal)}
    if len(numbers) < len(answered) or not all(map(math.isfinite, numbers.values())):
        raise Refused.at(
            part.pos,
            "a subquery that looks at the row around it gives a number",
            "select one aggregate",
        )
    return number_by_key(part, columns, numbers)


def _as_literal(value: Any) -> Value:
    """Returns a value as a literal has it, which is finite: infinity, and NaN, which DuckDB has
    above it, are the largest double. A HUGEINT, without digits behind the point, is whole."""
    number: Value = value
    if isinstance(value, Decimal):
        number = float(value) if value.as_tuple().exponent else int(value)
    if isinstance(number, float) and not math.isfinite(number):
        return math.copysign(sys.float_info.max, -1 if number == -math.inf else 1)
    return number
