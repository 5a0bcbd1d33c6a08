"""Dates and timestamps outside Python's years 1 to 9999, the infinite ones among them.

PostgreSQL and DuckDB both have them, so a client is sent them as PostgreSQL writes them; Python's
`datetime`, which carries all others to the wire, has no such value.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from sqlpriv.errors import DataError
from sqlpriv.interfaces.display import values
from sqlpriv.system import arrow

Unit = Literal["D", "s", "ms", "us", "ns"]
_EPOCH = np.datetime64("2000-01-01")


@dataclass(frozen=True)
class FarMoment:
    """A DATE or TIMESTAMP that Python has no value for.

    Attributes:
        count: Units since 1970-01-01; ±(2^31 - 1) days or ±(2^63 - 1) for the infinite.
        unit: `D` of a DATE; of a TIMESTAMP what Arrow counts it in.
        zoned: It is a TIMESTAMPTZ, in UTC.
    """

    count: int
    unit: Unit
    zoned: bool = False

    @property
    def bits(self) -> int:
        """How many bits a count has."""
        return 32 if self.unit == "D" else 64

    @property
    def is_infinite(self) -> bool:
        """Whether it is later, or earlier, than all others."""
        return abs(self.count) == (1 << (self.bits - 1)) - 1

    def __str__(self) -> str:
        """Returns it as PostgreSQL writes it.

        >>> str(FarMoment(2**31 - 1, "D")), str(FarMoment(-735160, "D"))
        ('infinity', '0044-03-15 BC')
        >>> str(FarMoment(568971820800, "s", zoned=True))
        '20000-01-01 00:00:00+00'
        """
        if self.is_infinite:
            return "infinity" if self.count > 0 else "-infinity"
        day, _, clock = str(np.datetime64(self.count, self.unit)).partition("T")
        clock = clock.removesuffix(".000000")
        before = day.startswith(("-", "0000"))
        if before:  # numpy's year 0 is the year 1 before Christ
            year, month_and_day = day[:-6], day[-6:]
            day = f"{1 - int(year):04}{month_and_day}"
        return f"{day}{f' {clock}' * bool(clock)}{'+00' * self.zoned}{' BC' * before}"

    def binary(self) -> bytes:
        """Returns PostgreSQL's binary form: days or microseconds from 2000-01-01 on, the ends are
        infinite.

        >>> FarMoment(1 - 2**31, "D").binary().hex(), FarMoment(6585322, "D").binary().hex()
        ('80000000', '0064511d')
        """
        code, most = ("!i" if self.unit == "D" else "!q"), 1 << (self.bits - 1)
        if self.is_infinite:
            return struct.pack(code, most - 1 if self.count > 0 else -most)
        unit = "D" if self.unit == "D" else "us"
        since = np.datetime64(self.count, self.unit).astype(f"datetime64[{unit}]") - _EPOCH
        return struct.pack(code, int(since.astype(np.int64)))


def rows(table: pa.Table, start: int, count: int) -> list[tuple[Any, ...]]:
    """Returns rows as `values.rows` does, with a `FarMoment` where Python has no value.

    Raises:
        DataError: Python has no value for an item of a list, or a field of a struct.
    """
    try:
        return values.rows(table, start, count)
    except DataError as error:
        part, reason = table.slice(start, count), error
    near = arrow.without_far_moments(part)
    far = {
        at: column
        for at, column in enumerate(part.columns)
        if column.null_count < near.column(at).null_count
    }
    if any(pa.types.is_nested(column.type) for column in far.values()):
        raise reason
    return [
        tuple(
            _far_moment(far[at][number]) if value is None and at in far else value
            for at, value in enumerate(row)
        )
        for number, row in enumerate(values.rows(near))
    ]


def _far_moment(moment: pa.Scalar[Any]) -> FarMoment | None:
    """Returns a moment that Python has no value for; None of NULL."""
    if not moment.is_valid:
        return None
    if isinstance(moment, pa.Date32Scalar):
        return FarMoment(moment.value, "D")
    assert isinstance(moment, pa.TimestampScalar)
    return FarMoment(moment.value, moment.type.unit, moment.type.tz is not None)
