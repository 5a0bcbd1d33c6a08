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

from sqlpriv.dialect.common_tables import common_table, query_in_from
from sqlpriv.dialect.division.row_sets import subquery_of
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes, stored_tables
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import as_day, duckdb_text, function_name, marked_name
from sqlpriv.statements.keywords import words
from sqlpriv.system.row_order import in_one_order

_SHAPING = ("group", "having", "distinct", "limit", "offset", "qualify")
_AGGREGATES = words("count sum avg min max median mode count_if stddev any_value first last")


def with_public_rows(root: exp.Expr, tables: StoredTables) -> None:
    """Writes the rows of public subqueries in joins as VALUES; others stay as they are."""
    for join in list(root.find_all(exp.Join)):
        source, select = join.this, join.parent
        first = select.args.get("from_") if isinstance(select, exp.Select) else None
        if first is None or not tables.reads_private(first.this):
            continue
        query = query_in_from(source)
        if query is None or not source.alias_or_name or not _is_of_stored_tables(query):
            continue
        if tables.reads_private(query) or not _is_shaped(query):
            continue
        try:
            answer = tables.run(duckdb_text(query), sorted({*stored_tables(query)}))
        except NotDivisible:
            continue
        written = None if answer is None else rows_as_values(*answer)
        if answer is not None and written is not None:
            join.set("this", subquery_of(written, source.alias_or_name, list(answer[0])))


def _is_of_stored_tables(query: exp.Select) -> bool:
    """Returns whether a query reads no query of WITH, and no parameter."""
    of_with = any(common_table(table) is not None for table in query.find_all(exp.Table))
    return not of_with and not any(marked_name(column) for column in query.find_all(exp.Column))


def _is_shaped(query: exp.Select) -> bool:
    """Returns whether a query groups rows or takes some of them."""
    if any(query.args.get(clause) for clause in _SHAPING):
        return True
    return any(function_name(node) in _AGGREGATES for node in own_nodes(query))


def rows_as_values(names: Sequence[str], rows: Sequence[tuple[Any, ...]]) -> exp.Values | None:
    """Returns rows as VALUES, in one order; None of none, or of a value without a literal."""
    literals = [[_literal(value) for value in row] for row in in_one_order(rows)]
    if not names or not rows or any(value is None for row in literals for value in row):
        return None
    return exp.Values(expressions=[exp.Tuple(expressions=row) for row in literals])


def _literal(value: Any) -> exp.Expr | None:
    match value:
        case None:
            return exp.Null()
        case bool():
            return exp.true() if value else exp.false()
        case float() if not math.isfinite(value):
            return None
        case int() | float() | Decimal() if value < 0:
            return exp.Neg(this=_number(-value))
        case int() | float() | Decimal():
            return _number(value)
        case str():
            return exp.Literal.string(value)
        case dt.date() if not isinstance(value, dt.datetime):
            return as_day(exp.Literal.string(value.isoformat()))
    return None


def _number(value: float | Decimal) -> exp.Expr:
    """Returns a number's literal; with an exponent it is a DOUBLE, and not a DECIMAL."""
    text = str(value)
    return exp.Literal.number(f"{text}e0" if isinstance(value, float) and "e" not in text else text)
