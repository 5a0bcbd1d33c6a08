"""Subqueries over public tables that are joined to private ones: run, and written as rows.

    SELECT p.grade, COUNT(*) FROM payroll p
    JOIN (SELECT dept FROM targets ORDER BY target LIMIT 2) t USING (dept) GROUP BY p.grade
    ──► … JOIN (VALUES ('Ops'), ('HR')) t (dept) USING (dept) …

A plain selection of public rows is joined where it stands. One that groups them, or takes the first
of an order, has no counterpart among the relations that are read privately; its rows are public.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from sqlglot import exp

from sqlpriv.dialect.common_tables import (
    bare_name,
    query_in_from,
    sources_of,
    with_of_used,
)
from sqlpriv.dialect.division.row_sets import subquery_of
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes, stored_tables
from sqlpriv.dialect.division.terms.stored_tables import Rows, StoredTables, tables_read
from sqlpriv.dialect.marks import duckdb_text, function_name
from sqlpriv.statements.keywords import words
from sqlpriv.system.row_order import in_one_order

_SHAPING = ("group", "having", "distinct", "limit", "offset", "qualify")
MOST = 1_000
"""Rows that are written."""
_OF_ROWS = (exp.From, exp.Join, exp.CTE, exp.SetOperation, exp.Exists, exp.Subquery, exp.Lateral)
"""What a query in parentheses gives rows to."""
_AGGREGATES = words("count sum avg min max median mode count_if stddev any_value first last")


def with_public_rows(root: exp.Expr, tables: StoredTables) -> None:
    """Writes the rows of public subqueries in joins and behind IN, ANY and ALL as VALUES, and the
    value of one that stands for a value; others stay as they are."""
    for with_ in list(root.find_all(exp.With)):
        if with_.args.get("recursive"):
            _write_recursive(with_, tables)
    for compared in list(root.find_all(exp.All, exp.Any, exp.In)):
        of_in = isinstance(compared, exp.In)
        query = compared.args.get("query" if of_in else "this")
        answer = None if query is None else _public_answer(query.unnest(), tables)
        written = None if answer is None else rows_as_values(*answer)
        if written is not None and of_in:
            compared.replace(exp.In(this=compared.this, expressions=[written]))
        elif answer is not None and not of_in:
            compared.set("this", written or (query if answer[1] else exp.Array()))
    for scalar in list(root.find_all(exp.Subquery)):
        if isinstance(scalar.parent, _OF_ROWS) or scalar.arg_key == "query":
            continue
        answer = _public_answer(scalar.this, tables) if tables.reads_private(root) else None
        if answer is not None and [*map(len, answer)] == [1, 1, 1]:
            value = _literal(answer[1][0][0], answer[2][0]) or scalar
            value.meta.update(scalar.meta)
            scalar.replace(value)
    for select in list(root.find_all(exp.Select)):
        sources = sources_of(select)
        if len(sources) > 1 and any(map(tables.reads_private, sources)):
            is_first_private = tables.reads_private(sources[0])
            for source in sources:
                _write_source(source, is_first_private, tables)


def _write_source(source: exp.Expr, is_first_private: bool, tables: StoredTables) -> None:
    """Writes the rows of a part of FROM that is a query over public tables, or over written rows,
    as VALUES; a query over tables alone where the first part is private."""
    query = query_in_from(source)
    first = query.args.get("from_") if query is not None else None
    if query is None or not source.alias_or_name:
        return
    reads = first is None or query.is_star or any(tables_read(query))
    if reads and not (is_first_private and _is_shaped(query)):
        return
    answer = _public_answer(query, tables)
    written = None if answer is None else rows_as_values(*answer)
    if answer is not None and written is not None:
        source.replace(subquery_of(written, source.alias_or_name, list(answer[0])))


def _write_recursive(with_: exp.With, tables: StoredTables) -> None:
    """Writes the rows of recursive queries over constants and public tables as VALUES: numbers and
    days that count up."""
    select = with_.parent
    body = select and next(part for part in select.iter_expressions() if part is not with_)
    if body is None:
        return
    written: exp.Values | None = None
    for cte in with_.expressions:
        union, name = cte.this, bare_name(cte)
        if all(bare_name(table) != name for table in union.find_all(exp.Table)):
            continue
        if not isinstance(union, exp.SetOperation):
            return
        query = exp.select("*").from_(exp.to_table(name)).limit(MOST + 1)
        answer = None if tables.reads_private(union) else _public_answer(query, tables, body)
        written = None if answer is None else rows_as_values(*answer)
        if answer is None or written is None:
            return
        columns = [exp.to_identifier(column, quoted=True) for column in answer[0]]
        cte.set("alias", exp.TableAlias(this=cte.args["alias"].this, columns=columns))
        cte.set("this", written)
    with_.set("recursive", written is None)


def _public_answer(
    query: exp.Expr, tables: StoredTables, place: exp.Expr | None = None
) -> Rows | None:
    """Returns the columns and rows of a query over public tables; None of any other. It stands at
    a place, or where it is."""
    if not isinstance(query, exp.Select) or tables.reads_private(query):
        return None
    try:
        answer = run_public(query.copy(), place or query, tables)
    except NotDivisible:
        return None
    return answer if answer is not None and len(answer[1]) <= MOST else None


def run_public(query: exp.Select, place: exp.Expr, tables: StoredTables) -> Rows | None:
    """Returns the columns and rows of a query over public tables; None of one that fails.

    Raises:
        NotDivisible: It calls a table function that may read something.
    """
    query.set("with_", with_of_used(place, query))
    return tables.run(duckdb_text(query), sorted({*stored_tables(query)}))


def _is_shaped(query: exp.Select) -> bool:
    """Returns whether a query groups rows or takes some of them."""
    if any(query.args.get(clause) for clause in _SHAPING):
        return True
    return any(function_name(node) in _AGGREGATES for node in own_nodes(query))


def rows_as_values(
    names: Sequence[str], rows: Sequence[tuple[Any, ...]], types: Sequence[str]
) -> exp.Values | None:
    """Returns rows as VALUES, in one order; None of none, or of a value without a literal."""
    literals = [[*map(_literal, row, types)] for row in in_one_order(rows)]
    if not names or not rows or any(value is None for row in literals for value in row):
        return None
    return exp.Values(expressions=[exp.Tuple(expressions=row) for row in literals])


def _literal(value: Any, type_: str) -> exp.Expr | None:
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.true() if value else exp.false()
        case float() if not math.isfinite(value):
            return None
        case int() | float() | Decimal():
            number = exp.Neg(this=_number(-value)) if value < 0 else _number(value)
            return exp.cast(number, type_, dialect="duckdb") if type_ else number
        case str():
            return exp.Literal.string(value)
        case dt.datetime() if value.tzinfo is None:
            return exp.cast(exp.Literal.string(value.isoformat(" ")), "TIMESTAMP")
        case dt.date() if not isinstance(value, dt.datetime):
            return exp.cast(exp.Literal.string(value.isoformat()), "DATE")
    return None


def _number(value: float | Decimal) -> exp.Expr:
    """Returns a number's literal; with an exponent it is a DOUBLE, and not a DECIMAL."""
    text = str(value)
    return exp.Literal.number(f"{text}e0" if isinstance(value, float) and "e" not in text else text)
