"""Constants of the text: numbers, dates and times of day, and dates moved by an INTERVAL."""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re

from sqlpriv.dialect.tokens import Token
from sqlpriv.errors import Refused

_DATE = re.compile(r"(\d{1,4})-(\d{1,2})-(\d{1,2})")
_TIMESTAMP = re.compile(
    _DATE.pattern + r"(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?"
)
_ZONE = re.compile(r"(.*?)\s*(Z|UTC|[+-]\d{1,2}(?::?\d{2})?)", re.DOTALL)
_CLOCK_TIME = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?")
MOMENT_TYPES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIME")
"""Types of literals that are moments, or times of day: one with a time zone is read in UTC."""
_HUGEINT_DIGITS = 38
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_DAYS = {"week": 7, "day": 1}
_CLOCK = {"hour": 3600, "minute": 60, "second": 1}
_SHORT = {
    **dict.fromkeys(("s", "sec", "secs"), "second"),
    **dict.fromkeys(("m", "min", "mins"), "minute"),
    **dict.fromkeys(("h", "hr", "hrs"), "hour"),
}
"""Units of a clock in short: `300s`, `5m`; `ms` is none of them."""
_SPAN = re.compile(r"\s*+([+-]?\d++)(?:\.0++(?!\d))?+\s*+([a-z]*+)\s*+", re.IGNORECASE)
"""No part gives back what it took: many of these one after the other are read in linear time."""


def number(text: str, token: Token) -> int | float:
    """Returns a number: an exact integer, or a float where it has a point, an exponent, or more
    digits than a HUGEINT holds (as DuckDB reads them).

    Raises:
        Refused: It is too large.
    """
    digits = text.replace("_", "")
    if digits.isdecimal() and len(digits.lstrip("0")) <= _HUGEINT_DIGITS:
        return int(digits)
    value = float(digits)
    if not math.isfinite(value):
        raise Refused.at(token, "the number is too large")
    return value


def date_or_time(text: str, type_: str, token: Token) -> dt.date | dt.datetime | dt.time:
    """Returns the date, timestamp or time of day that the text of a literal says.

    Args:
        text: `2020-12-31`, for a TIMESTAMP also `2020-12-31 23:59[:59[.123456]]`, for a
            TIMESTAMPTZ with `+02`, `+02:00` or `Z` behind it; UTC without. `23:59[:59[.123456]]`
            for a TIME.
        type_: One of `MOMENT_TYPES`.
        token: Where a refusal points.

    Raises:
        Refused: It says none.
    """
    if type_ == "TIME":
        return time_of_day(text, token)
    pattern = _DATE if type_ == "DATE" else _TIMESTAMP
    zone = _ZONE.fullmatch(text.strip()) if type_ == "TIMESTAMPTZ" and ":" in text else None
    match = pattern.fullmatch(zone[1] if zone else text.strip())
    try:
        if match is None:
            raise ValueError
        year, month, day, *clock = [int(part or 0) for part in match.groups()[:6]]
        if type_ == "DATE":
            return dt.date(year, month, day)
        hour, minute, second = clock
        micro = int((match.group(7) or "").ljust(6, "0"))
        local = dt.datetime(year, month, day, hour, minute, second, micro)
        return local - _offset(zone[2]) if zone else local
    except (ValueError, OverflowError):
        example = "DATE '2020-12-31'" if type_ == "DATE" else "TIMESTAMP '2020-12-31 23:59:00'"
        excerpt = text if len(text) <= 40 else text[:40] + "…"
        raise Refused.at(token, f"'{excerpt}' is not a {type_}", f"write {example}") from None


def time_of_day(text: str, token: Token) -> dt.time:
    """Returns the time of day that a text says."""
    match = _CLOCK_TIME.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError
        hour, minute, second = (int(part or 0) for part in match.groups()[:3])
        return dt.time(hour, minute, second, int((match[4] or "").ljust(6, "0")))
    except ValueError:
        raise Refused.at(token, f"'{text[:40]}' is not a TIME", "write TIME '23:59:00'") from None


def _offset(zone: str) -> dt.timedelta:
    """Returns how far a zone's clock is ahead of UTC's.

    >>> str(_offset("+0230")), str(_offset("Z"))
    ('2:30:00', '0:00:00')
    """
    if zone in ("Z", "UTC"):
        return dt.timedelta()
    hours, _, minutes = zone[1:].partition(":")
    if len(hours) > 2:
        hours, minutes = hours[:2], hours[2:]
    ahead = dt.timedelta(hours=int(hours), minutes=int(minutes or 0))
    return -ahead if zone[0] == "-" else ahead


def interval(text: str, unit: str, token: Token) -> tuple[int, int, int]:
    """Returns an INTERVAL as months, days and microseconds.

    Args:
        text: Numbers of units, with their units: `3`, `3 months`, `3 days 12 hours`.
        unit: The unit, where `text` has none.
        token: Where a refusal points.
    """
    parts = [(int(count), word or unit) for count, word in _SPAN.findall(text)]
    names = [name.lower() or "none" for _, name in parts]
    names = [_SHORT.get(name, name.removesuffix("s")) for name in names]
    whole = parts and re.fullmatch(f"({_SPAN.pattern})+", text, re.IGNORECASE)
    if not whole or not {*names} <= {*_MONTHS, *_DAYS, *_CLOCK}:
        raise Refused.at(token, "this interval is not read", "write INTERVAL '3' MONTH")
    months = days = micros = 0
    for (count, _), name in zip(parts, names, strict=True):
        months += count * _MONTHS.get(name, 0)
        days += count * _DAYS.get(name, 0)
        micros += count * _CLOCK.get(name, 0) * 1_000_000
    return months, days, micros


def moved_by_interval(
    moment: dt.date, span: tuple[int, int, int], sign: int, token: Token
) -> dt.date:
    """Returns a date or timestamp moved by an INTERVAL; in a shorter month the day is its last one,
    as in DuckDB.

    Args:
        moment: What is moved.
        span: Months, days and microseconds.
        sign: 1 or -1.
        token: Where a refusal points.

    Raises:
        Refused: The date is beyond the calendar.
    """
    months, days, micros = (sign * part for part in span)
    try:
        if micros and not isinstance(moment, dt.datetime):
            moment = dt.datetime(moment.year, moment.month, moment.day)
        year, month = divmod(moment.year * 12 + moment.month - 1 + months, 12)
        day = min(moment.day, calendar.monthrange(year, month + 1)[1])
        moment = moment.replace(year=year, month=month + 1, day=day)
        return moment + dt.timedelta(days=days, microseconds=micros)
    except (ValueError, OverflowError):
        raise Refused.at(token, "the date is beyond the calendar") from None
