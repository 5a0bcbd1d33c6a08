"""One order of rows, whatever order an engine gave them in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

_ORDERED = (int, float, Decimal, str, bytes, dt.date, dt.time, dt.timedelta)


def in_one_order(rows: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Returns rows sorted by their values, column by column; NULL is the last.

    A statement that is made of rows is then the same text each time, and the same question: what
    DuckDB groups comes in the order of its threads and hashes.

    >>> in_one_order([(2, None), (10, "b"), (2, "a")])
    [(2, 'a'), (2, None), (10, 'b')]
    """
    return sorted(rows, key=lambda row: [_place(value) for value in row])


def _place(value: Any) -> tuple[bool, str, Any]:
    return (
        value is None,
        type(value).__name__,
        value if isinstance(value, _ORDERED) else repr(value),
    )
