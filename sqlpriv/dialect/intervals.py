"""`DATE '1994-01-01' + INTERVAL '1' YEAR`: a date and a span, both literals, are one literal."""

from __future__ import annotations

import calendar
import datetime as dt
import re

from sqlpriv.dialect.cursor import Cursor, refusal
from sqlpriv.dialect.keywords import CONSTRUCTS
from sqlpriv.dialect.tokens import Kind
from sqlpriv.dialect.tree import Literal, Node

_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_SECONDS = {"week": 604800, "day": 86400, "hour": 3600, "minute": 60, "second": 1}
_SPAN = re.compile(r"\s*([+-]?\d+)\s*([a-z]*)\s*", re.IGNORECASE)


def interval(c: Cursor, left: Node, sign: int) -> Literal:
    """Returns the moment that a literal one and the INTERVAL that stands here make.

    Raises:
        Refused: The left side is a column: days would have to be added row by row.
    """
    c.expect("INTERVAL")
    token = c.next()
    if token.kind is Kind.PARAMETER:
        text = str(c.binding.value(token))
    elif token.kind in (Kind.STRING, Kind.NUMBER):
        text = token.value
    else:
        raise refusal(token, *CONSTRUCTS["INTERVAL"])
    found = _SPAN.fullmatch(text)
    unit = found[2].lower() if found else ""
    unit = unit or c.next().value.lower()
    unit = unit.removesuffix("s")
    if found is None or (unit not in _MONTHS and unit not in _SECONDS):
        raise refusal(token, "this interval is not read", "write INTERVAL '3' MONTH")
    if not isinstance(left, Literal) or not isinstance(left.value, dt.date):
        raise refusal(token, *CONSTRUCTS["INTERVAL"])
    try:
        return Literal(_moved(left.value, sign * int(found[1]), unit), left.pos)
    except (ValueError, OverflowError):
        raise refusal(token, "the date is beyond the calendar") from None


def _moved(moment: dt.date, count: int, unit: str) -> dt.date:
    """Returns the moment moved; in a shorter month the day is its last one, as in DuckDB."""
    if unit in _SECONDS:
        if not isinstance(moment, dt.datetime) and unit in ("hour", "minute", "second"):
            moment = dt.datetime(moment.year, moment.month, moment.day)
        return moment + dt.timedelta(seconds=count * _SECONDS[unit])
    year, month = divmod(moment.year * 12 + moment.month - 1 + count * _MONTHS[unit], 12)
    day = min(moment.day, calendar.monthrange(year, month + 1)[1])
    return moment.replace(year=year, month=month + 1, day=day)
