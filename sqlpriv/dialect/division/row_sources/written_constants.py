"""The numbers, moments and texts that a statement writes, computed to be compared."""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from sqlglot import exp

Constant = int | Decimal | str | dt.date
_OPERATORS: Mapping[type[exp.Expr], Callable[[Any, Any], Any]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


def constant_of(value: exp.Expr) -> Constant | None:
    """Returns a number, a moment, or a text as any collation may see it; None of all other values:
    what is equal to them is not told by how they are written.

    >>> from sqlglot import parse_one
    >>> constant_of(parse_one("(5 - 7) * 2")), constant_of(parse_one("'A'"))
    (-4, 'a')
    >>> constant_of(parse_one("CAST('2024-01-31' AS DATE) + INTERVAL '2 days'", read="duckdb"))
    datetime.datetime(2024, 2, 2, 0, 0)
    """
    match value:
        case exp.Paren():
            return constant_of(value.this)
        case exp.Neg():
            number = constant_of(value.this)
            return -number if isinstance(number, int | Decimal) else None
        case exp.Literal(is_string=True):
            return value.name.casefold()
        case exp.Literal():
            return int(value.name) if value.name.isdecimal() else _decimal(value.name)
        case exp.Cast():
            return _cast(value)
        case exp.Add() | exp.Sub() | exp.Mul():
            return _arithmetic(value)
    return None


def _decimal(text: str) -> Decimal | None:
    return None if "e" in text.lower() else Decimal(text)


def _cast(cast: exp.Cast) -> Constant | None:
    inside, target = constant_of(cast.this), cast.to.this
    if target in exp.DataType.INTEGER_TYPES:
        return inside if isinstance(inside, int) else None
    if target not in (exp.DType.DATE, exp.DType.TIMESTAMP):
        return None
    try:
        moment = dt.datetime.fromisoformat(inside) if isinstance(inside, str) else inside
    except ValueError:
        return None
    if not isinstance(moment, dt.date) or getattr(moment, "tzinfo", None) is not None:
        return None
    at = moment if isinstance(moment, dt.datetime) else dt.datetime.combine(moment, dt.time())
    return at.date() if target is exp.DType.DATE else at


def _arithmetic(node: exp.Expr) -> Constant | None:
    """Returns the sum, difference or product of numbers, or a moment that days are added to."""
    left, right = constant_of(node.this), node.expression
    if isinstance(left, dt.date) and not isinstance(node, exp.Mul):
        step = _step(right)
        if step is None:
            return None
        at = left if isinstance(left, dt.datetime) else dt.datetime.combine(left, dt.time())
        try:
            moved = at + step if isinstance(node, exp.Add) else at - step
        except OverflowError:
            return None
        is_day = not (isinstance(left, dt.datetime) or isinstance(right, exp.Interval))
        return moved.date() if is_day else moved
    number = constant_of(right)
    if isinstance(left, int | Decimal) and isinstance(number, int | Decimal):
        result: int | Decimal = _OPERATORS[type(node)](left, number)
        return result
    return None


def _step(node: exp.Expr) -> dt.timedelta | None:
    """Returns a number of days, or INTERVAL '6 days' of a unit that is always as long."""
    if not isinstance(node, exp.Interval):
        days = constant_of(node)
        return dt.timedelta(days) if isinstance(days, int) and abs(days) < 10**6 else None
    unit = node.args.get("unit")
    size, _, of = node.this.name.strip().partition(" ") if node.this else ("", "", "")
    word = (of or (unit.name if unit is not None else "")).strip().lower().removesuffix("s")
    if not size.isdecimal() or len(size) > 9 or word not in _SECONDS:
        return None
    return dt.timedelta(seconds=int(size) * _SECONDS[word])
