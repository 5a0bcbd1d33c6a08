"""Dates and times: their parts, and the year, quarter, month, week or day that they lie in."""

from __future__ import annotations

import calendar
import datetime as dt
import math
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS, Shape, with_values_listed

DATE_PARTS: Mapping[str, tuple[int, int]] = {
    "year": (-5_877_641, 5_881_580),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dow": (0, 6),
    "isodow": (1, 7),
    "doy": (1, 366),
    "hour": (0, 23),
    "minute": (0, 59),
}
EPOCH, MAX_SPAN = dt.date(1970, 1, 1), dt.timedelta(days=3660)
_MONTHS = {"century": 1200, "decade": 120, "year": 12, "quarter": 3, "month": 1}
_SECONDS = {"hour": 3600, "minute": 60, "second": 1}
UNITS = (*_MONTHS, "week", "day", *_SECONDS)
"""What `date_trunc` can cut a moment down to."""
DISTANCES = ("decade", "year", "quarter", "month", "week", "hour", "minute", "second")
"""Units of `date_diff` beside days; `date_sub` has them but for decades."""


def day_number(moment: dt.date) -> int:
    """Returns the number of a moment's day, 1970-01-01 being 0.

    >>> day_number(dt.date(1970, 1, 2)), day_number(dt.date(1969, 12, 31))
    (1, -1)
    """
    return moment.toordinal() - EPOCH.toordinal()


def date_of_day(number: Any) -> dt.date:
    """Returns the day of that number, rounded down."""
    return EPOCH + dt.timedelta(days=math.floor(number))


def number_of_moment(moment: Any) -> int:
    """Returns the number of a day, or of a moment's microseconds, since 1970."""
    if isinstance(moment, dt.datetime):
        return (moment - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    return int((moment - EPOCH).days)


def moment_of_micros(number: Any) -> dt.datetime:
    """Returns the moment so many microseconds after 1970, to the second below: a quantile is found
    among moments that are further apart, and sets no store by fractions."""
    return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=math.floor(number / 1_000_000))


def day_number_shape(arg: Shape) -> Shape:
    """Returns the shape of the number of a moment's day."""
    if arg.lower is None or arg.upper is None:
        return Shape(Type.INTEGER, nullable=arg.nullable)
    return with_values_listed(
        Shape(Type.INTEGER, day_number(arg.lower), day_number(arg.upper), arg.nullable)
    )


def micros_shape(arg: Shape) -> Shape:
    """Returns the shape of the microseconds from 1970 to a moment."""
    if arg.lower is None or arg.upper is None:
        return Shape(Type.INTEGER, nullable=arg.nullable)
    ends = (_moment(end) - _moment(EPOCH) for end in (arg.lower, arg.upper))
    low, high = (end // dt.timedelta(microseconds=1) for end in ends)
    return Shape(Type.INTEGER, low, high, arg.nullable)


def days_of_interval(shape: Shape) -> tuple[Value, ...] | None:
    """Returns the days of a date with ends, NULL last; None for more than ten years of them."""
    if shape.lower is None or shape.upper is None or shape.upper - shape.lower >= MAX_SPAN:
        return None
    span = range(day_number(shape.lower), day_number(shape.upper) + 1)
    return (*map(date_of_day, span), *((None,) if shape.nullable else ()))


def midnights_of_interval(shape: Shape) -> tuple[Value, ...] | None:
    """Returns the midnights between two, NULL last; None for more than ten years of them."""
    if shape.lower is None or shape.upper is None:
        return None
    days = days_of_interval(replace(shape, lower=_day(shape.lower), upper=_day(shape.upper)))
    if days is None:
        return None
    return tuple(_midnight(day) if isinstance(day, dt.date) else None for day in days)


def period_start(unit: str, moment: dt.date) -> dt.date:
    """Returns the day on which the moment's year, quarter, month, week or day began.

    >>> [str(period_start(unit, dt.date(2024, 5, 30))) for unit in UNITS[1:7]]
    ['2020-01-01', '2024-01-01', '2024-04-01', '2024-05-01', '2024-05-27', '2024-05-30']
    """
    date = dt.date(moment.year, moment.month, moment.day)
    if unit in ("century", "decade"):
        years = _MONTHS[unit] // 12
        return dt.date(max(1, date.year - date.year % years), 1, 1)
    if unit in _MONTHS:
        return dt.date(date.year, date.month - (date.month - 1) % _MONTHS[unit], 1)
    return date - dt.timedelta(days=date.weekday()) if unit == "week" else date


def truncated_shape(unit: str, arg: Shape) -> Shape:
    """Returns the shape of date_trunc(unit, x): a list where x has ends not too far apart."""
    if arg.lower is None or arg.upper is None:
        return Shape(Type.TIMESTAMP, nullable=arg.nullable)
    if unit in _SECONDS:
        return _clock_shape(_SECONDS[unit], arg)
    first, last = period_start(unit, arg.lower), period_start(unit, arg.upper)
    low, high = (dt.datetime(d.year, d.month, d.day) for d in (first, last))
    unlisted = Shape(Type.TIMESTAMP, low, high, arg.nullable)
    if last.toordinal() - first.toordinal() >= MAX_LEVELS:
        return unlisted
    days = (dt.date.fromordinal(n) for n in range(first.toordinal(), last.toordinal() + 1))
    starts = [dt.datetime(d.year, d.month, d.day) for d in days if period_start(unit, d) == d]
    return replace(unlisted, values=(*starts, *((None,) if arg.nullable else ())))


def _clock_shape(seconds: int, arg: Shape) -> Shape:
    """Returns the shape of a moment cut down to an hour, a minute or a second."""
    first, last = (_moment(end) for end in (arg.lower, arg.upper))
    step = dt.timedelta(seconds=seconds)
    low, high = (end - (end - dt.datetime.min) % step for end in (first, last))
    unlisted = Shape(Type.TIMESTAMP, low, high, arg.nullable)
    count = (high - low) // step + 1
    if count > MAX_LEVELS:
        return unlisted
    starts = _every(step, low, count)
    return replace(unlisted, values=(*starts, *((None,) if arg.nullable else ())))


@lru_cache(8)  # of up to 100,000 moments each
def _every(step: dt.timedelta, start: dt.datetime, count: int) -> tuple[dt.datetime, ...]:
    """Returns moments from a start on; a statement asks for the same ones many times."""
    return tuple(start + n * step for n in range(count))


def part_ends(part: str, arg: Shape) -> tuple[int, int]:
    """Returns the ends of a part of moments or of times of day.

    >>> part_ends("hour", Shape(Type.TIME, dt.time(8), dt.time(17, 59)))
    (8, 17)
    """
    low, high = arg.lower, arg.upper
    is_clock = isinstance(low, dt.time) and isinstance(high, dt.time)
    if low is not None and (part == "year" or (is_clock and part == "hour")):
        return getattr(low, part), getattr(high, part)
    if is_clock and part == "minute" and low.hour == high.hour:
        return low.minute, high.minute
    return DATE_PARTS[part]


def converted_shape(to: str, arg: Shape) -> Shape:
    """Returns the shape of the day of a moment ("date") or of a day's midnight ("midnight")."""
    type_ = Type.DATE if to == "date" else Type.TIMESTAMP
    if arg.lower is None or arg.upper is None:
        return Shape(type_, nullable=arg.nullable)
    convert = _day if to == "date" else _midnight
    present = [value for value in arg.values or () if isinstance(value, dt.date)]
    values = tuple(dict.fromkeys(map(convert, present))) if present else None
    null = (None,) if arg.nullable else ()
    ends = (convert(arg.lower), convert(arg.upper))
    return Shape(type_, *ends, arg.nullable, None if values is None else (*values, *null))


def shifted_shape(arg: Shape, months: int, days: int, micros: int) -> Shape:
    """Returns the shape of a moment moved by an interval, as the engine moves it."""
    if arg.type not in (Type.DATE, Type.TIMESTAMP):
        raise Refused(f"an interval moves dates and timestamps, not {arg.type} values")
    if arg.lower is None or arg.upper is None:
        return Shape(Type.TIMESTAMP, nullable=arg.nullable)
    try:
        low, high = (shift_moment(_moment(e), months, days, micros) for e in (arg.lower, arg.upper))
    except (ValueError, OverflowError):
        return Shape(Type.TIMESTAMP, nullable=arg.nullable)
    shape = Shape(Type.TIMESTAMP, low, high, arg.nullable)
    values = arg.values or (days_of_interval(arg) if arg.type is Type.DATE else None)
    if values is None:
        return shape
    moved = (
        shift_moment(_moment(value), months, days, micros) if isinstance(value, dt.date) else None
        for value in values
    )
    return replace(shape, values=tuple(dict.fromkeys(moved)))


def shift_moment(moment: dt.datetime, months: int, days: int, micros: int) -> dt.datetime:
    """Returns a moment moved by months, then days, then microseconds; in a shorter month the day
    is its last one.

    >>> str(shift_moment(dt.datetime(2024, 1, 31), 1, 1, 0))
    '2024-03-01 00:00:00'
    """
    year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    moved = moment.replace(year=year, month=month + 1, day=min(moment.day, last))
    return moved + dt.timedelta(days=days, microseconds=micros)


def distance_shape(op: str, first: Shape, last: Shape) -> Shape:
    """Returns the shape of date_diff or date_sub in a unit ("diff month", "sub year").

    date_diff grows with the later moment and falls with the earlier one, so its ends are those of
    the ends; whole units are at most one fewer than beginnings of units.
    """
    nullable = first.nullable or last.nullable
    if None in (first.lower, first.upper, last.lower, last.upper):
        return Shape(Type.INTEGER, nullable=nullable)
    kind, unit = op.split()
    low, high = (
        _number_of(unit, _moment(end)) - _number_of(unit, _moment(start))
        for start, end in ((first.upper, last.lower), (first.lower, last.upper))
    )
    slack = 1 if kind == "sub" else 0
    low, high = (low - slack if low > 0 else low), (high + slack if high < 0 else high)
    return Shape(Type.INTEGER, low, high, nullable)


def _number_of(unit: str, moment: dt.datetime) -> int:
    """Returns the number of the unit that a moment lies in, counted from the calendar's beginning.

    >>> _number_of("week", dt.datetime(2024, 5, 27)) - _number_of("week", dt.datetime(2024, 5, 26))
    1
    """
    if unit in _MONTHS:
        return (moment.year * 12 + moment.month - 1) // _MONTHS[unit]
    if unit in _SECONDS:
        return (moment - dt.datetime.min) // dt.timedelta(seconds=_SECONDS[unit])
    return (moment.toordinal() - 1) // (7 if unit == "week" else 1)


def _moment(moment: dt.date) -> dt.datetime:
    if isinstance(moment, dt.datetime):
        return moment
    return _midnight(moment)


def _midnight(moment: dt.date) -> dt.datetime:
    return dt.datetime(moment.year, moment.month, moment.day)


def _day(moment: dt.date) -> dt.date:
    return dt.date(moment.year, moment.month, moment.day)
