"""Values at the ends of a column that stand for no value: an age of 999, an end on 9999-12-31.

A domain that holds such a code is as wide as the code is far, and so is its noise. Which values are
codes is the owner's to say. Until then the domain holds them: an age of 999 that is read as 100,
and a delay of -1 that is read as 0, are wrong answers that nobody sees.
"""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from sqlpriv.kernel.sql.quoting import name
from sqlpriv.session.proposals.table_profiles import ColumnProfile, Fetch, end_condition

_CODE = re.compile(r"-?([7-9]|([789])\2+|9+[78])(\.0+)?|-[1-9](\.0+)?|-?9{2,}\.9+")
"""Numbers that questionnaires and files write for no answer: 99, 998, 8888, -1, 99.9."""
_MONEY = re.compile(r"-?9{2,}\.99+")
"""Nines that are a price as often as a code: 99.99."""
_CODE_DAYS = re.compile(
    r"((9999|2999|2099)-12-31|(9999|3000)-01-01|(0001|1753|1[789]00|1970)-01-01)"
    r"( (00:00:00|23:59:59(\.9+)?))?"
)
"""Days that programs write for none: the last of a calendar, the first of a century, a clock or
a database's type."""
_ZONES = range(-14, 15)
"""Hours by which the clocks of zones differ from UTC's."""
_FEWEST = 5
"""A code that fewer rows hold is a rare value or a mistake: of 1,458 airports' time zones, from -10
to -5 in America, two are 8."""
_MOST_CODES = 4
"""Codes at one end, at most: 96 to 99 are not known, not asked, refused and no answer."""
_NEIGHBOURS = 5
"""Values beside a code that its rows are compared with."""
_PILE = 5
"""A code that is not far from the others has so many times the rows of each of its neighbours."""
_NEGATIVE_PILE = 1.5
"""The same for the only negative numbers: -1 cannot lie further from the counts 0, 1, 2. Their
rows are also four times the chance error of a count above their neighbours'."""
_NEGATIVE_GAP = 5
"""Or they are so many times as far from the others as their neighbours are from each other."""
_MONEY_GAP = 10
"""A price of nines is a code where it lies so many times the range of the others away: of prices to
49.99, 99.99 is one more price, and 999.99 is none."""

_End = Sequence[tuple[Any, int]]
"""Values at one end of a column with the rows of each, the outermost first."""


@dataclass(frozen=True)
class MissingCodes:
    """What may stand for no value in one column.

    Attributes:
        rows: The rows of each code, by the code.
        others: The column's profile without them.
    """

    rows: dict[Any, int]
    others: ColumnProfile


def find_missing_codes(fetch: Fetch, table: str, column: ColumnProfile) -> MissingCodes | None:
    """Returns the codes of missing values at the ends of a column; None where there are none.

    A code is written as such codes are, and at least five rows hold it. It stands apart from the
    others by a gap and by a pile: it is as far from them as they are from each other, or lies
    beside a gap and has five times the rows of each of its neighbours. Where no other number is
    negative, one and a half times their rows are enough, or a gap of five times theirs. That it is
    negative alone says nothing: delays from -4 to 95 and temperatures are so. Nines with cents need
    the gap alone, ten times the range of the others, because prices pile up there.

    Args:
        fetch: Reads the vault as its owner.
        table: The table.
        column: One of its columns.
    """
    if not column.is_number and not column.type.startswith(("DATE", "TIMESTAMP")):
        return None
    if column.distinct <= _MOST_CODES or column.least is None:
        return None
    if not any(map(is_written_as_code, (column.least, column.greatest))):
        return None
    c = name(column.name)
    condition = end_condition(c, column.type)
    counts = f"SELECT {c}, count(*) FROM {name(table)} WHERE {condition} GROUP BY 1 ORDER BY 1"
    low, high = (
        fetch(f"{counts} {order} LIMIT {_MOST_CODES + _NEIGHBOURS}") for order in ("ASC", "DESC")
    )
    below, above = _count_codes(low, high[0][0]), _count_codes(high, low[0][0])
    if below:  # what is far from -999 to 95 may be none of many codes: 999
        above = _count_codes(high, low[below][0])
    if not below + above or low[below][0] > high[above][0]:  # no codes, or nothing but codes
        return None
    rows = dict([*low[:below], *reversed(high[:above])])
    present_rows = column.present - sum(rows.values())
    others = replace(column, present=present_rows, least=low[below][0], greatest=high[above][0])
    return MissingCodes(rows, others)


def _count_codes(end: _End, other_end: Any) -> int:
    """Returns how many of the outermost values at one end of a column are codes.

    Args:
        end: The outermost values.
        other_end: The outermost value of the other end.

    >>> [_count_codes([(top, 40), (998, 9), (95, 12), (94, 3)], 0) for top in (999, 1000)]
    [2, 0]
    >>> _count_codes([(99, 80), (95, 12), (94, 3)], 0), _count_codes([(99, 20), (95, 12)], 0)
    (1, 0)
    """
    for n in range(min(_MOST_CODES, len(end) - 1), 0, -1):
        codes, others = end[:n], end[n : n + _NEIGHBOURS]
        if not all(is_written_as_code(value) and rows >= _FEWEST for value, rows in codes):
            continue
        (code, rows), nearest = codes[-1], others[0][0]
        gap, span = abs(code - nearest), abs(nearest - other_end)
        most = max(held for _, held in others)
        if _MONEY.fullmatch(str(code)):
            is_apart = bool(span) and gap >= _MONEY_GAP * span
        else:
            is_far = bool(span) and gap >= span
            is_apart = is_far or (gap > _step(code) and rows >= _PILE * most)
        if not isinstance(code, datetime.date) and code < 0 <= nearest:
            gaps = [abs(b[0] - a[0]) for a, b in pairwise(others)]
            is_alone = bool(gaps) and gap >= _NEGATIVE_GAP * max(gaps)
            pile = max(_NEGATIVE_PILE * most, most + 4 * math.sqrt(most))
            is_apart = is_apart or is_alone or min(held for _, held in codes) >= pile
        if is_apart:
            return n
    return 0


def _step(value: Any) -> Any:
    """Returns how far values are from each other that are counted one by one: 1, or a day."""
    return datetime.timedelta(days=1) if isinstance(value, datetime.date) else 1


def is_written_as_code(value: Any) -> bool:
    """Returns whether a number or moment is one that stands for no value by convention.

    >>> [is_written_as_code(x) for x in (999, 998, -1, 99.0, 100, 12)]
    [True, True, True, True, False, False]
    """
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        moment = value.astimezone(datetime.UTC).replace(tzinfo=None)
        clocks = (str(moment + datetime.timedelta(hours=hours)) for hours in _ZONES)
        return any(map(_CODE_DAYS.fullmatch, clocks))
    if isinstance(value, datetime.date):
        return _CODE_DAYS.fullmatch(str(value)) is not None
    return _CODE.fullmatch(str(value)) is not None
