"""Dates and timestamps outside Python's years 1 to 9999, the infinite ones among them.

PostgreSQL and DuckDB both have them, so a client is sent them as PostgreSQL writes them; Python's
`datetime`, which carries all others to the wire, has no such value.
"""

from __future__ import annotations

import datetime as dt
import struct
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlpriv.interfaces.display import values

Unit = Literal["D", "us"]
_BITS = {"D": 32, "us": 64}
_FIRST, _LAST = np.datetime64(dt.datetime.min), np.datetime64(dt.datetime.max)
_EPOCH = np.datetime64("2000-01-01")


@dataclass(frozen=True)
class FarMoment:
    """A DATE or TIMESTAMP that Python has no value for.

    Attributes:
        count: Days or microseconds since 1970-01-01; ±(2^31 - 1) or ±(2^63 - 1) for the infinite.
        unit: `D` of a DATE, `us` of a TIMESTAMP.
        zoned: It is a TIMESTAMPTZ, in UTC.
    """

    count: int
    unit: Unit
    zoned: bool = False

    @property
    def is_infinite(self) -> bool:
        """Whether it is later, or earlier, than all others."""
        return abs(self.count) == (1 << (_BITS[self.unit] - 1)) - 1

    def __str__(self) -> str:
        """Returns it as PostgreSQL writes it.

        >>> str(FarMoment(2**31 - 1, "D")), str(FarMoment(-735160, "D"))
        ('infinity', '0044-03-15 BC')
        >>> str(FarMoment(568971820800000000, "us", zoned=True))
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
        """Returns PostgreSQL's binary form: counted from 2000-01-01, the ends are infinite.

        >>> FarMoment(1 - 2**31, "D").binary().hex(), FarMoment(6585322, "D").binary().hex()
        ('80000000', '0064511d')
        """
        code, bits = "!i" if self.unit == "D" else "!q", _BITS[self.unit]
        if self.is_infinite:
            return struct.pack(code, 2 ** (bits - 1) - 1 if self.count > 0 else -(2 ** (bits - 1)))
        epoch = int(_EPOCH.astype(f"datetime64[{self.unit}]").astype(np.int64))
        return struct.pack(code, self.count - epoch)


def rows(table: pa.Table, start: int, count: int) -> list[tuple[Any, ...]]:
    """Returns rows as `values.rows` does, with a `FarMoment` where Python has no value.

    Raises:
        DataError: Python has no value for an item of a list, or a field of a struct.
    """
    part = table.slice(start, count)
    far = {at: _moments(c) for at, c in enumerate(part.columns) if _has_far(c)}
    for at in far:
        part = part.set_column(at, part.field(at).name, pa.nulls(part.num_rows))
    if not far:
        return values.rows(part)
    return [
        tuple(far[at][number] if at in far else value for at, value in enumerate(row))
        for number, row in enumerate(values.rows(part))
    ]


def _has_far(column: pa.ChunkedArray[Any]) -> bool:
    """Returns whether a date or moment lies outside the years 1 to 9999."""
    if not (pa.types.is_date32(column.type) or pa.types.is_timestamp(column.type)):
        return False
    ends = pc.min_max(_counts(column)).as_py()
    if ends["min"] is None:
        return False
    of_unit = f"datetime64[{_unit(column.type)}]"
    first, last = (int(end.astype(of_unit).astype(np.int64)) for end in (_FIRST, _LAST))
    return bool(ends["min"] < first or ends["max"] > last)


def _moments(column: pa.ChunkedArray[Any]) -> list[Any]:
    """Returns a column's values: Python's own where it has one."""
    zoned = pa.types.is_timestamp(column.type) and column.type.tz is not None
    return [_moment(count, _unit(column.type), zoned) for count in _counts(column).to_pylist()]


def _moment(count: int | None, unit: Unit, zoned: bool) -> Any:
    if count is None:
        return None
    far = FarMoment(count, unit, zoned)
    moment = None if far.is_infinite else np.datetime64(count, unit).item()
    if not isinstance(moment, dt.date):  # numpy gives whole numbers where Python has no value
        return far
    return moment.replace(tzinfo=dt.UTC) if isinstance(moment, dt.datetime) and zoned else moment


def _unit(kind: pa.DataType) -> Unit:
    return "D" if pa.types.is_date32(kind) else "us"


def _counts(column: pa.ChunkedArray[Any]) -> pa.ChunkedArray[Any]:
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32())
    return column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())
