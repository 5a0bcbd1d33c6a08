"""The ends of a column's domain, and values as literals of a declaration."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

from sqlpriv.kernel.sql.quoting import literal
from sqlpriv.kernel.terms.contract import MAX_INTEGER
from sqlpriv.session.proposals.table_profiles import ColumnProfile


def value_literal(value: Any) -> str | None:
    """Returns a value as a literal of a declaration; None for types that have none."""
    match value:
        case bool():
            return str(value).lower()
        case int() | float() | Decimal():
            return f"{value:.15g}" if isinstance(value, float) else str(value)
        case str():
            return literal(value)
        case datetime.datetime():
            return f"TIMESTAMP '{value.isoformat(sep=' ')}'" if value.tzinfo is None else None
        case datetime.date():
            return f"DATE '{value.isoformat()}'"
    return None


def outward_ends(column: ColumnProfile) -> tuple[Any, Any] | None:
    """Returns round ends that hold every value; None for types that have no interval.

    Ends of whole numbers go no further than ±(2^62 - 1), which is as far as they may be declared.
    """
    low, high = column.least, column.greatest
    if column.is_number:
        low, high = _round_ends(float(low), float(high))
        if column.is_whole_number:
            most = MAX_INTEGER - 1
            low, high = min(int(low), int(column.least)), max(int(high), int(column.greatest))
            return max(low, -most), min(high, most)
        return low, high
    if column.type == "DATE":
        return datetime.date(low.year, 1, 1), datetime.date(high.year, 12, 31)
    if column.type.startswith("TIMESTAMP"):
        is_last = high.year == datetime.MAXYEAR
        after = datetime.datetime.max if is_last else datetime.datetime(high.year + 1, 1, 1)
        return datetime.datetime(low.year, 1, 1), after
    return None


def _round_ends(low: float, high: float) -> tuple[float, float]:
    """Returns round ends that hold both, at most three times as far apart.

    >>> _round_ends(17.0, 97.0), _round_ends(1940.0, 2019.0), _round_ends(5.0, 5.0)
    ((10.0, 100.0), (1940.0, 2020.0), (5.0, 5.0))
    """
    span = high - low
    below, above = round_down(low), -round_down(-high)
    if not 0 < span < math.inf:
        return below, above
    step = 10.0 ** math.floor(math.log10(span))
    if low - below > span:
        below = math.floor(low / step) * step
    if above - high > span:
        above = math.ceil(high / step) * step
    return below, above


def round_down(value: float) -> float:
    """Returns the nearest round number (1, 2, 2.5 or 5 times a power of ten) that is not above.

    >>> [round_down(x) for x in (17.0, 0.0, -90.0, -7.2, 1234.0)]
    [10.0, 0.0, -100.0, -10.0, 1000.0]
    """
    if value == 0 or not math.isfinite(value):
        return 0.0
    power = 10.0 ** math.floor(math.log10(abs(value)))
    steps = [s * power for s in (1.0, 2.0, 2.5, 5.0, 10.0)]
    if value > 0:
        return max((s for s in steps if s <= value), default=power)
    return -min((s for s in steps if s >= -value), default=10 * power)
