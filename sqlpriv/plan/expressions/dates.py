"""Dates and times: their parts, and the year, quarter, month, week or day that they lie in."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.plan.expressions.value_facts import MAX_LEVELS, Shape, with_values_listed

DATE_PARTS: Mapping[str, tuple[int, int]] = {
    "year": (-5_877_641, 5_881_580), "quarter": (1, 4), "month": (1, 12), "week": (1, 53),
    "day": (1, 31), "dow": (0, 6), "isodow": (1, 7), "doy": (1, 366), "hour": (0, 23),
    "minute": (0, 59),
}  # fmt: skip
EPOCH, MAX_SPAN = dt.date(1970, 1, 1), dt.timedelta(days=3660)
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
UNITS = (*_MONTHS, "week", "day")
"""What `date_trunc` can cut a moment down to."""


def day_number(moment: dt.date) -> int:
    """Returns the number of a moment's day, 1970-01-01 being 0.

    >>> day_number(dt.date(1970, 1, 2)), day_number(dt.date(1969, 12, 31))
    (1, -1)
    """
    return moment.toordinal() - EPOCH.toordinal()


def date_of_day(number: Any) -> dt.date:
    """Returns the day of that number, rounded down."""
    return EPOCH + dt.timedelta(days=math.floor(number))


def day_number_shape(arg: Shape) -> Shape:
    """Returns the shape of the number of a moment's day."""
    if arg.lower is None or arg.upper is None:
        return Shape(Type.INTEGER, nullable=arg.nullable)
    return with_values_listed(
        Shape(Type.INTEGER, day_number(arg.lower), day_number(arg.upper), arg.nullable)
    )


def days_of_interval(shape: Shape) -> tuple[Value, ...] | None:
    """Returns the days of a date with ends, NULL last; None for more than ten years of them."""
    if shape.lower is None or shape.upper is None or shape.upper - shape.lower >= MAX_SPAN:
        return None
    span = range(day_number(shape.lower), day_number(shape.upper) + 1)
    return (*map(date_of_day, span), *((None,) if shape.nullable else ()))


def period_start(unit: str, moment: dt.date) -> dt.date:
    """Returns the day on which the moment's year, quarter, month, week or day began.

    >>> [str(period_start(unit, dt.date(2024, 5, 30))) for unit in UNITS]
    ['2024-01-01', '2024-04-01', '2024-05-01', '2024-05-27', '2024-05-30']
    """
    date = dt.date(moment.year, moment.month, moment.day)
    if unit in _MONTHS:
        return dt.date(date.year, date.month - (date.month - 1) % _MONTHS[unit], 1)
    return date - dt.timedelta(days=date.weekday()) if unit == "week" else date


def truncated_shape(unit: str, arg: Shape) -> Shape:
    """Returns the shape of date_trunc(unit, x): a list where x has ends not too far apart."""
    if arg.lower is None or arg.upper is None:
        return Shape(Type.TIMESTAMP, nullable=arg.nullable)
    first, last = period_start(unit, arg.lower), period_start(unit, arg.upper)
    low, high = (dt.datetime(d.year, d.month, d.day) for d in (first, last))
    unlisted = Shape(Type.TIMESTAMP, low, high, arg.nullable)
    if last.toordinal() - first.toordinal() >= MAX_LEVELS:
        return unlisted
    days = (dt.date.fromordinal(n) for n in range(first.toordinal(), last.toordinal() + 1))
    starts = [dt.datetime(d.year, d.month, d.day) for d in days if period_start(unit, d) == d]
    return replace(unlisted, values=(*starts, *((None,) if arg.nullable else ())))
