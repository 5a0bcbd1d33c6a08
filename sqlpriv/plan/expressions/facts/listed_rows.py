"""Row expressions of values that are listed in public, in an engine without private tables."""

from __future__ import annotations

import dataclasses
import datetime as dt
import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from typing import Any

import duckdb

from sqlpriv.kernel.sql.expressions import ROW, SQL_TYPES
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, TableContract, Type, Value
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.expressions.facts.conditions import parts_within
from sqlpriv.plan.expressions.facts.public_engine import public_engine
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS, Shape

_OF_HOURS = frozenset(
    f"{kind}{part}"
    for kind in ("", "trunc ")
    for part in ("century", "decade", "year", "quarter", "month", "week", "day", "hour")
) | {"dow", "isodow", "doy", "date", "midnight", "days"}
"""Operations that have one result for all moments of the same hour."""


def values_told_apart(
    shape: Shape, keys: Sequence[a.Expr], column: str = ""
) -> Sequence[Value] | None:
    """Returns a value of each kind that keys tell apart; None where there is no list of them.

    Args:
        shape: Of a column.
        keys: Expressions that read it.
        column: Its name, where they read others, too.
    """
    if shape.values is not None:
        return [value for value in shape.values if value is not None]
    if shape.type is Type.BOOLEAN:
        return (False, True)
    if shape.lower is None or shape.type not in (Type.DATE, Type.TIMESTAMP):
        return None
    if shape.type is Type.TIMESTAMP and not all(is_of_hours(key, column) for key in keys):
        return None
    step = dt.timedelta(days=1) if shape.type is Type.DATE else dt.timedelta(hours=1)
    first, last = shape.lower, shape.upper
    if shape.type is Type.TIMESTAMP:
        first = first.replace(minute=0, second=0, microsecond=0)
    count = (last - first) // step + 1
    return None if count > MAX_LEVELS else [first + n * step for n in range(count)]


def is_of_hours(expr: object, column: str = "") -> bool:
    """Returns whether an expression is the same of all moments of one hour, of a column of that
    name, or of any."""
    match expr:
        case a.Col(name):
            return column not in ("", name.lower())
        case a.Call(op, (a.Col(name),)) if column in ("", name.lower()):
            return op in _OF_HOURS
    return all(is_of_hours(part, column) for part in parts_within(expr))


def keys_that_pass(
    names: Sequence[str],
    scope: Mapping[str, Shape],
    nullable: Set[str],
    keys: tuple[a.Expr, ...],
    conditions: tuple[a.Expr, ...],
) -> tuple[tuple[Value, ...], ...] | None:
    """Returns the values of keys for which conditions are true, over all combinations of the
    columns' values; None where these are not listed, or are more than `MOST_PAIRS`.

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
        values = values_told_apart(scope[name], tests, name)
        if values is None or (scope[name].type is Type.TEXT and name not in plain):
            return None  # an undeclared text may be any
        lists.append((*values, *((None,) if name in nullable else ())))
    if math.prod(map(len, lists)) > MOST_PAIRS:
        return None
    columns = tuple((name, scope[name].type) for name in names)
    return _values_that_pass(columns, tuple(lists), " CROSS JOIN ", keys, conditions)


def with_any_of(
    lists: Mapping[int, tuple[Value, ...]],
    places: Sequence[int],
    rows: Iterable[tuple[Value, ...]],
) -> Iterator[tuple[Value, ...]]:
    """Yields rows in which each value of a list stands at the list's place."""
    for row in rows:
        pairs = zip(places, row, strict=True)
        yield from itertools.product(*(lists.get(place, (value,)) for place, value in pairs))


MOST_PAIRS = 1_000_000
"""Combinations of the values of several columns: an engine computes keys of so many in .1 s."""
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


def rows_that_pass(
    columns: tuple[tuple[str, Type], ...],
    rows: tuple[tuple[Value, ...], ...],
    exprs: tuple[a.Expr, ...],
    conditions: tuple[a.Expr, ...],
) -> tuple[tuple[Value, ...], ...] | None:
    """Returns the values of expressions over the listed rows for which conditions are true, in an
    engine without private tables; None where it cannot compute them."""
    lists = tuple(zip(*rows, strict=True)) or ((),) * len(columns)
    return _values_that_pass(columns, lists, " POSITIONAL JOIN ", exprs, conditions)


@lru_cache(maxsize=256)
def _values_that_pass(
    columns: tuple[tuple[str, Type], ...],
    lists: tuple[tuple[Value, ...], ...],
    join: str,
    exprs: tuple[a.Expr, ...],
    conditions: tuple[a.Expr, ...],
) -> tuple[tuple[Value, ...], ...] | None:
    """Returns the values of expressions over rows made of the columns' lists by a join."""
    declared = tuple(Column(name, type_, SQL_TYPES[type_]) for name, type_ in columns)
    contract = TableContract("values", declared, public=True)
    scope = Scope(a.Scan("values"), contract, part=True)
    texts = ", ".join(scope.export("key", expr)[1] for expr in exprs)
    tests = " AND ".join(f"({scope.export('test', c)[1]})" for c in conditions) or "true"
    listed = join.join(
        f"(SELECT unnest(?::{SQL_TYPES[type_]}[]) AS {scope.dialect.identifier(name)})"
        for name, type_ in columns
    )
    sql = f"SELECT DISTINCT {texts} FROM (SELECT * FROM {listed}) AS {ROW} WHERE {tests}"
    if len(sql) > LONGEST_TEXT:
        return None
    try:
        engine = public_engine().cursor()
        return tuple(engine.execute(sql, list(map(list, lists))).fetchall())
    except duckdb.Error:
        return None
