"""Values on PostgreSQL's wire, as text or as binary.

Binary forms are those of PostgreSQL's own send and receive functions: big-endian, dates and times
counted from 2000-01-01.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sqlpriv.errors import DataError
from sqlpriv.interfaces.server.postgresql.encoding.far_moments import FarMoment
from sqlpriv.interfaces.server.postgresql.encoding.type_numbers import (
    ARRAYS,
    BOOL,
    BYTEA,
    DATE,
    FLOAT4,
    FLOAT8,
    INT2,
    INT2VECTOR,
    INT4,
    INT8,
    INTERVAL,
    NAMES,
    NUMERIC,
    OID,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UUID,
)

EPOCH = dt.datetime(2000, 1, 1)
DAY = dt.timedelta(days=1)
MICROSECOND = dt.timedelta(microseconds=1)
CODES = {INT2: "!h", INT4: "!i", INT8: "!q", OID: "!I", FLOAT4: "!f", FLOAT8: "!d"}


# --- to a client ---


def encode(value: Any, oid: int, form: int) -> bytes | None:
    """Returns a value as a client asked for it.

    Args:
        value: As `far_moments.rows` gives it; None is NULL.
        oid: Of the type that the client was told.
        form: 0 for text, 1 for binary.
    """
    if value is None:
        return None
    return _binary(value, oid) if form else as_text(value, oid).encode("utf-8", "replace")


def as_text(value: Any, oid: int = TEXT) -> str:
    """Returns a value as PostgreSQL writes it.

    >>> as_text(True), as_text(float("inf")), as_text(["a", None, "b c"]), as_text({"a": 1})
    ('t', 'Infinity', '{a,NULL,"b c"}', '{"a": 1}')
    """
    match value:
        case bool():
            return "t" if value else "f"
        case float():
            return _float_text(value)
        case Decimal():
            return f"{value:f}"
        case bytes():
            return f"\\x{value.hex()}"
        case dt.datetime():
            text = _without_zeros(value.isoformat(" "))
            return f"{text[:-3]}" if text.endswith("+00:00") else text
        case dt.time():
            return _without_zeros(value.isoformat())
        case dt.timedelta() | pa.MonthDayNano():
            return _interval_text(*_interval_parts(value))
        case list() | tuple() if oid == INT2VECTOR:
            return " ".join(map(str, value))
        case list() | tuple():
            return "{" + ",".join(map(_array_item, value)) + "}"
        case dict():
            return json.dumps(value, default=str, ensure_ascii=False)
    if oid in (INT2, INT4, INT8) and isinstance(value, str):
        return str(int(value))
    return str(value)


def _without_zeros(moment: str) -> str:
    """Returns a moment without the zeros that end its fraction of a second.

    >>> _without_zeros("03:04:05.678000"), _without_zeros("2020-01-02 03:04:05.100000+00:00")
    ('03:04:05.678', '2020-01-02 03:04:05.1+00:00')
    """
    return re.sub(r"(\.\d*?)0+(?=\D|$)", r"\1", moment)


def _float_text(value: float) -> str:
    if math.isfinite(value):
        text = repr(value)
        return text[:-2] if text.endswith(".0") else text
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _interval_parts(value: dt.timedelta | pa.MonthDayNano) -> tuple[int, int, int]:
    """Returns an interval's months, days and microseconds, which PostgreSQL keeps apart."""
    if isinstance(value, dt.timedelta):
        return 0, value.days, (value - value.days * DAY) // MICROSECOND
    return value.months, value.days, value.nanoseconds // 1000


def _interval_text(months: int, days: int, microseconds: int) -> str:
    """Returns an interval as PostgreSQL writes it.

    >>> _interval_text(14, 3, 14_706_500_000), _interval_text(0, -1, 0), _interval_text(0, 0, 0)
    ('1 year 2 mons 3 days 04:05:06.5', '-1 days', '00:00:00')
    """
    years, months = int(months / 12), months - 12 * int(months / 12)
    counted = ((years, "year"), (months, "mon"), (days, "day"))
    parts = [f"{count} {word}{'' if count == 1 else 's'}" for count, word in counted if count]
    if microseconds or not parts:
        seconds, fraction = divmod(abs(microseconds), 1_000_000)
        sign = "-" if microseconds < 0 else "+" if days < 0 else ""
        clock = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
        parts.append(f"{sign}{clock}" + (f".{fraction:06}".rstrip("0") if fraction else ""))
    return " ".join(parts)


def _array_item(value: Any) -> str:
    if value is None:
        return "NULL"
    text = as_text(value)
    is_interval = isinstance(value, pa.MonthDayNano)
    if isinstance(value, list | tuple | bool | int | float | Decimal) and not is_interval:
        return text
    if text.upper() != "NULL" and re.fullmatch(r'[^\s{},"\\]+', text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _binary(value: Any, oid: int) -> bytes:
    try:
        return _BINARY.get(oid, _binary_text)(value, oid)
    except (struct.error, ValueError, OverflowError, TypeError, AttributeError):
        kind = NAMES.get(oid, str(oid))
        raise DataError(f"a value does not fit the type {kind} that was told") from None


def _binary_text(value: Any, oid: int) -> bytes:
    return as_text(value, oid).encode("utf-8", "replace")


def _binary_number(value: Any, oid: int) -> bytes:
    number = float(value) if oid in (FLOAT4, FLOAT8) else int(value)
    return struct.pack(CODES[oid], number)


def _binary_numeric(value: Any, _oid: int) -> bytes:
    """Returns base-10,000 digits behind (count, weight of the first, sign, digits of the scale)."""
    number = Decimal(value)
    if not number.is_finite():
        return struct.pack("!hhHh", 0, 0, 0xC000, 0)
    scale = max(0, -int(number.as_tuple().exponent))
    whole, _, fraction = f"{abs(number):f}".partition(".")
    whole = whole.zfill(-(-len(whole) // 4) * 4)
    fraction = fraction.ljust(-(-len(fraction) // 4) * 4, "0")
    digits = [int((whole + fraction)[at : at + 4]) for at in range(0, len(whole + fraction), 4)]
    weight = len(whole) // 4 - 1
    while digits and digits[0] == 0:
        digits.pop(0)
        weight -= 1
    while digits and digits[-1] == 0:
        digits.pop()
    sign = 0x4000 if number < 0 else 0
    head = struct.pack("!hhHh", len(digits), weight if digits else 0, sign, scale)
    return head + struct.pack(f"!{len(digits)}h", *digits)


def _binary_time(value: Any, oid: int) -> bytes:
    if isinstance(value, FarMoment):
        return value.binary()
    if oid == DATE:
        return struct.pack("!i", (value - EPOCH.date()).days)
    if oid == TIME:
        moment = dt.datetime.combine(EPOCH.date(), value.replace(tzinfo=None))
        return struct.pack("!q", (moment - EPOCH) // MICROSECOND)
    if oid == INTERVAL:
        months, days, microseconds = _interval_parts(value)
        return struct.pack("!qii", microseconds, days, months)
    if value.tzinfo is not None:
        value = value.astimezone(dt.UTC).replace(tzinfo=None)
    return struct.pack("!q", (value - EPOCH) // MICROSECOND)


def _binary_array(value: Sequence[Any], oid: int) -> bytes:
    """Returns an array of one dimension: its lower bound is 1, that of an int2vector 0."""
    item, lower = ARRAYS.get(oid, INT2), int(oid != INT2VECTOR)
    if not value:
        return struct.pack("!iii", 0, 0, item)
    parts = [struct.pack("!iiiii", 1, any(x is None for x in value), item, len(value), lower)]
    for each in value:
        data = None if each is None else _binary(each, item)
        parts.append(struct.pack("!i", -1 if data is None else len(data)) + (data or b""))
    return b"".join(parts)


_BINARY: dict[int, Callable[[Any, int], bytes]] = {
    BOOL: lambda value, _: b"\1" if value else b"\0",
    BYTEA: lambda value, _: bytes(value),
    UUID: lambda value, _: uuid.UUID(str(value)).bytes,
    NUMERIC: _binary_numeric,
    **dict.fromkeys(CODES, _binary_number),
    **dict.fromkeys((DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL), _binary_time),
    **dict.fromkeys((*ARRAYS, INT2VECTOR), _binary_array),
}
