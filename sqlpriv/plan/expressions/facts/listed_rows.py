"""Row expressions of values that are listed in public, in an engine without private tables."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import math
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

import duckdb

from sqlpriv.kernel.sql.expressions import ROW, SQL_TYPES
from sqlpriv.kernel.sql.queries import MACROS
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, TableContract, Type, Value
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.expressions.facts.public_engine import public_engine
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS, Shape

_OF_HOURS = frozenset(
    f"{kind}{part}"
    for kind in ("", "trunc ")
    for part in ("century", "decade", "year", "quarter", "month", "week", "day", "hour")
) | {"dow", "isodow", "doy", "date", "midnight", "days"}
"""Operations that have one result for all moments of the same hour."""


def values_told_apart(shape: Shape, keys: Sequence[a.Expr]) -> Sequence[Value] | None:
    """Returns a value of each kind that keys tell apart; None where there is no list of them."""
    if shape.values is not None:
        return [value for value in shape.values if value is not None]
    if shape.type is Type.BOOLEAN:
        return (False, True)
    if shape.lower is None or shape.type not in (Type.DATE, Type.TIMESTAMP):
        return None
    if shape.type is Type.TIMESTAMP and not all(map(is_of_hours, keys)):
        return None
    step = dt.timedelta(days=1) if shape.type is Type.DATE else dt.timedelta(hours=1)
    first, last = shape.lower, shape.upper
    if shape.type is Type.TIMESTAMP:
        first = first.replace(minute=0, second=0, microsecond=0)
    count = (last - first) // step + 1
    return None if count > MAX_LEVELS else [first + n * step for n in range(count)]


def is_of_hours(expr: object) -> bool:
    """Returns whether an expression is the same of all moments of one hour."""
    match expr:
        case a.Col():
            return False
        case a.Call(op, (a.Col(),)):
            return op in _OF_HOURS
    named = vars(expr) if hasattr(expr, "__dataclass_fields__") else {}
    parts = expr if isinstance(expr, tuple) else named.values()
    return all(map(is_of_hours, parts))


def keys_that_pass(
    names: Sequence[str],
    scope: Mapping[str, Shape],
    nullable: Set[str],
    keys: tuple[a.Expr, ...],
    conditions: tuple[a.Expr, ...],
) -> tuple[tuple[Value, ...], ...] | None:
    """Returns the values of keys for which conditions are true, over all combinations of the
    columns' values; None where these are not listed, or are more than `MAX_LEVELS`.

    Args:
        names: Of all columns that keys and conditions read.
        scope: What is known of columns.
        nullable: Those that may be NULL.
        keys, conditions: Row expressions.
    """
    plain = {key.name.lower() for key in keys if isinstance(key, a.Col)}
    lists = []
    for name in names:
        tests = [test for test in (*keys, *conditions) if name in columns_read(test)]
        values = values_told_apart(scope[name], tests)
        if values is None or (scope[name].type is Type.TEXT and name not in plain):
            return None  # an undeclared text may be any
        lists.append([*values, *([None] if name in nullable else [])])
    if math.prod(map(len, lists)) > MAX_LEVELS:
        return None
    columns = tuple((name, scope[name].type) for name in names)
    return rows_that_pass(columns, tuple(itertools.product(*lists)), keys, conditions)


LONGEST_TEXT = 100_000
"""Letters of a query: an engine takes seconds for a CASE over a list in a CASE over another."""


def with_part(expr: Any, part: a.Expr, by: a.Expr) -> Any:
    """Returns an expression in which another expression stands for a part."""
    if expr == part:
        return by
    if isinstance(expr, tuple):
        return tuple(with_part(one, part, by) for one in expr)
    if not dataclasses.is_dataclass(expr) or isinstance(expr, type):
        return expr
    return dataclasses.replace(
        expr,
        **{f.name: with_part(getattr(expr, f.name), part, by) for f in dataclasses.fields(expr)},
    )


@lru_cache(maxsize=256)
def rows_that_pass(
    columns: tuple[tuple[str, Type], ...],
    rows: tuple[tuple[Value, ...], ...],
    exprs: tuple[a.Expr, ...],
    conditions: tuple[a.Expr, ...],
) -> tuple[tuple[Value, ...], ...] | None:
    """Returns the values of expressions over the listed rows for which conditions are true, in an
    engine without private tables; None where it cannot compute them."""
    declared = tuple(Column(name, type_, SQL_TYPES[type_]) for name, type_ in columns)
    contract = TableContract("values", declared, public=True)
    scope = Scope(a.Scan("values"), contract, part=True)
    texts = ", ".join(scope.export("key", expr)[1] for expr in exprs)
    tests = " AND ".join(f"({scope.export('test', c)[1]})" for c in conditions) or "true"
    listed = ", ".join(
        f"unnest(?::{SQL_TYPES[type_]}[]) AS {scope.dialect.identifier(name)}"
        for name, type_ in columns
    )
    sql = f"SELECT DISTINCT {texts} FROM (SELECT {listed}) AS {ROW} WHERE {tests}"
    if len(sql) > LONGEST_TEXT:
        return None
    try:
        values = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in columns]
        engine = public_engine().cursor()
        engine.execute(MACROS)
        return tuple(engine.execute(sql, values).fetchall())
    except duckdb.Error:
        return None
