"""Statements of several private questions: what one asks depends on what another was answered.

`x > (SELECT AVG(x) FROM t)` compares with a number about everybody. It is asked first, like a
statement of its own, and its noised answer stands in the statement as a literal. `WITH sums AS
(SELECT k, SUM(x) … GROUP BY k) SELECT … FROM sums` answers `sums` first; what is made of its rows
is post-processing. Prices of the parts add up to the statement's: they may be chosen adaptively.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sqlpriv.dialect import tree as t
from sqlpriv.dialect.printer import quoted
from sqlpriv.dialect.sources import tables
from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import TableContract, Value
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.relations.correlated import looks_outside
from sqlpriv.plan.relations.subqueries import membership_subqueries, scalar_subqueries, with_values

MOST = 10_000
"""Values that `x IN (SELECT …)` may become."""
Contracts = Mapping[str, TableContract]


def is_private(query: t.Query, contracts: Contracts) -> bool:
    """Returns whether a query reads a table that is not public."""
    found = (contracts.get(table) for table in tables(query))
    return any(c is not None and not c.public for c in found)


def inner(select: t.Select, contracts: Contracts) -> tuple[list[t.Subquery], list[t.Subquery]]:
    """Returns the scalar subqueries over public tables alone, and those over private ones."""
    found = list(dict.fromkeys(scalar_subqueries(select)))
    private = [s for s in found if is_private(s.query, contracts)]
    return [s for s in found if s not in private], private


def listed(
    select: t.Select, contracts: Contracts, answers: Callable[[t.InQuery], pa.Table | None]
) -> t.Select:
    """Returns the statement with `x IN (SELECT …)` over public tables as lists of values.

    So the values of a key are known to be these alone. A query that looks at the row around it, or
    has NULLs or very many values, stays what it is: a join.
    """
    known: dict[t.Node, t.Node] = {}
    for part in membership_subqueries(select):
        if is_private(part.query, contracts) or looks_outside(part.query, contracts):
            continue
        if (rows := answers(part)) is None:
            continue
        values = rows.column(0).to_pylist() if rows.num_columns == 1 else []
        if values and None not in values and len(values) <= MOST:
            items = tuple(t.Literal(_plain(v), part.pos) for v in dict.fromkeys(values))
            known[part] = t.InList(part.arg, items, part.negated, part.pos)
    made: t.Select = with_values(select, known)
    return made


def _plain(found: Any) -> Value:
    number: Value = float(found) if isinstance(found, Decimal) else found
    return number


def priced(select: t.Select, price: Price, parts: int) -> t.Select:
    """Returns the statement with one of so many equal parts of a price."""
    name = "rho" if isinstance(price, Rho) else "epsilon"
    share = type(price)(price.nano // parts)
    rest = tuple(option for option in select.options if option[0] not in ("epsilon", "rho"))
    return replace(select, options=(*rest, (name, share.value)), private=True)


def check_alone(parts: list[t.Subquery], contracts: Contracts) -> None:
    """Refuses a private scalar subquery that is no statement of its own."""
    for part in parts:
        if looks_outside(part.query, contracts):
            raise refuse(
                part,
                "this subquery is about rows of other units, anew for each row around it",
                "compare with one number for all, or with the unit's own rows, by an equality",
            )


def asked(part: t.Subquery) -> t.Select:
    """Returns a private scalar subquery as a statement.

    Raises:
        Refused: It is no SELECT of one value.
    """
    query = part.query
    grouped = isinstance(query, t.Select) and (query.group_by or query.group_all or query.sets)
    if not isinstance(query, t.Select) or len(query.items) != 1 or grouped:
        raise refuse(part, "a subquery that stands for a value gives one row of one column",
                     "select one aggregate, without GROUP BY")  # fmt: skip
    return replace(query, text=part.text)


def value(part: t.Subquery, rows: pa.Table) -> t.Literal:
    """Returns the one value of a subquery's rows; NULL where there is none."""
    if rows.num_columns != 1 or rows.num_rows > 1:
        raise refuse(part, "a subquery that stands for a value gives one row of one column",
                     "select one aggregate, without GROUP BY")  # fmt: skip
    found = rows.column(0)[0].as_py() if rows.num_rows else None
    return t.Literal(_plain(found), part.pos)


def for_each(part: t.Subquery, column: str, alias: str) -> str:
    """Returns the query that answers a subquery for every row of a table of one column."""
    return f"SELECT {quoted(column)}, ({part.text}) FROM {quoted(alias)}"


def lookup(part: t.Subquery, column: t.Name, answers: pa.Table) -> t.Node:
    """Returns the numbers that a subquery has, by the value of the column that it looks at.

    Raises:
        Refused: They are no numbers.
    """
    values, numbers = (answers.column(i).to_pylist() for i in (0, 1))
    answered = {v: _plain(n) for v, n in zip(values, numbers, strict=True) if n is not None}
    found = {v: float(n) for v, n in answered.items() if type(n) in (int, float)}  # type: ignore[arg-type]  # a number, just seen
    if len(found) < len(answered) or not all(map(math.isfinite, found.values())):
        raise refuse(part, "a subquery that looks at the row around it gives a number",
                     "select one aggregate")  # fmt: skip
    if not found:
        return t.Cast(t.Literal(None, part.pos), "DOUBLE", pos=part.pos)
    return t.Lookup(column, tuple(found), tuple(found.values()), part.pos)


def resolved(
    select: t.Select, parts: list[t.Subquery], answers: Callable[[t.Subquery], pa.Table]
) -> t.Select:
    """Returns the statement with the values of these subqueries in it."""
    known: dict[t.Node, t.Node] = {part: value(part, answers(part)) for part in parts}
    made: t.Select = with_values(select, known)
    return made


def rehearsed(select: t.Select, parts: list[t.Subquery]) -> t.Select:
    """Returns the statement with a number in the place of each subquery: its plan is alike."""
    made: t.Select = with_values(select, {part: t.Literal(1.0, part.pos) for part in parts})
    return made


def stages(select: t.Select, contracts: Contracts, why: Refused) -> list[tuple[str, t.Select]]:
    """Returns the private queries of WITH as statements, by name.

    Raises:
        Refused: `why` the statement could not be answered as a whole, where this does not help.
    """
    if any(name == "*" for name, _ in select.stages) or select.private:
        raise why
    found = []
    for name, query in select.stages:
        if not isinstance(query, t.Select) or not is_private(query, contracts):
            raise why
        found.append((name, query))
    if not found:
        raise why
    return found
