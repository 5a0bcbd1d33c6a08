"""Values of parameters as clients send them, as text or as binary."""

from __future__ import annotations

import datetime as dt
import re
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal, localcontext
from typing import Any

from sqlpriv.errors import DataError, NotSupportedError
from sqlpriv.interfaces.server.postgresql.encoding import type_numbers as types
from sqlpriv.interfaces.server.postgresql.encoding import wire_values as v


def decode(data: bytes | None, oid: int, form: int) -> Any:
    """Returns the value of a parameter.

    Args:
        data: As it was sent; None is NULL.
        oid: Of its type, 0 where the client named none.
        form: 0 for text, 1 for binary.

    Raises:
        DataError: The value is none of that type.
        NotSupportedError: The type cannot be a parameter.
    """
    if data is None:
        return None
    try:
        return _decode_binary(data, oid) if form else _decode_text(data.decode(), oid)
    except (ValueError, struct.error, OverflowError, ArithmeticError):
        kind = types.NAMES.get(oid, str(oid))
        raise DataError(f"a parameter is no value of the type {kind}") from None


def _decode_text(text: str, oid: int) -> Any:
    if oid in types.TEXTS:
        return text
    if oid == types.BOOL:
        return _bool_of(text.lower())
    if oid in (types.INT2, types.INT4, types.INT8, types.OID):
        return int(text)
    if oid in (types.FLOAT4, types.FLOAT8):
        return float(text)
    readers: dict[int, Callable[[str], Any]] = {
        types.NUMERIC: Decimal,
        types.DATE: _date_of,
        types.TIME: dt.time.fromisoformat,
        types.TIMESTAMP: lambda value: dt.datetime.fromisoformat(value).replace(tzinfo=None),
        types.TIMESTAMPTZ: dt.datetime.fromisoformat,
        types.UUID: lambda value: uuid.UUID(value),
        types.BYTEA: lambda value: bytes.fromhex(value.removeprefix("\\x")),
    }
    if oid in types.ARRAYS:
        return _items_of_text(text, types.ARRAYS[oid])
    if oid not in readers:
        raise _not_taken(oid)
    return readers[oid](text)


def _not_taken(oid: int) -> NotSupportedError:
    kind = types.NAMES.get(oid, f"number {oid}")
    return NotSupportedError(
        f"a parameter of the type {kind} is not taken: send a text, and cast it in the statement"
    )


def _date_of(text: str) -> dt.date:
    """Returns a date; a time and a zone behind it are left out, as PostgreSQL does.

    >>> _date_of("1960-01-01 +00"), _date_of("1960-01-01 10:00:00+02")
    (datetime.date(1960, 1, 1), datetime.date(1960, 1, 1))
    """
    day, _, rest = text.partition(" ")
    if rest and not re.fullmatch(r"[-+0-9:.Zz ]+", rest):
        raise ValueError(text)
    return dt.datetime.fromisoformat(day).date()


def _bool_of(text: str) -> bool:
    if text in ("t", "true", "1", "on", "yes"):
        return True
    if text in ("f", "false", "0", "off", "no"):
        return False
    raise ValueError(text)


def _decode_binary(data: bytes, oid: int) -> Any:
    if oid in types.TEXTS:
        return data.decode()
    if oid == types.BOOL:
        return struct.unpack("!?", data)[0]
    if oid in v.CODES:
        return struct.unpack(v.CODES[oid], data)[0]
    if oid == types.DATE:
        return v.EPOCH.date() + struct.unpack("!i", data)[0] * v.DAY
    if oid in (types.TIME, types.TIMESTAMP, types.TIMESTAMPTZ):
        moment = v.EPOCH + struct.unpack("!q", data)[0] * v.MICROSECOND
        if oid == types.TIME:
            return moment.time()
        return moment.replace(tzinfo=dt.UTC) if oid == types.TIMESTAMPTZ else moment
    if oid == types.UUID:
        return uuid.UUID(bytes=data)
    if oid == types.BYTEA:
        return data
    if oid == types.NUMERIC:
        return _decode_numeric(data)
    if oid in types.ARRAYS:
        return _items_of_binary(data)
    raise _not_taken(oid)


def _decode_numeric(data: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack("!hhHh", data[:8])
    digits = struct.unpack(f"!{count}h", data[8:])
    if sign == 0xC000:
        return Decimal("NaN")
    is_known = sign in (0, 0x4000) and 0 <= scale <= 100 and abs(weight) <= 40 and count <= 80
    if not is_known or any(not 0 <= digit < 10_000 for digit in digits):
        raise ValueError("no numeric")
    with localcontext(prec=400):
        whole = sum(
            (digit * Decimal(10_000) ** (weight - at) for at, digit in enumerate(digits)),
            Decimal(0),
        )
        return (-whole if sign else whole).quantize(Decimal(1).scaleb(-scale))


_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|([^,{}"\s][^,{}"]*)')


def _items_of_text(text: str, item: int) -> list[Any]:
    """Returns the items of an array of one dimension.

    >>> _items_of_text('{a,"b,c",NULL}', types.TEXT)
    ['a', 'b,c', None]

    Raises:
        ValueError: It is written otherwise.
    """
    if not (text.startswith("{") and text.endswith("}")):
        raise ValueError("no array")
    if re.search(r"[{}]", _QUOTED.sub("", text[1:-1])):
        raise ValueError("no array of one dimension")
    items: list[Any] = []
    for match in _ITEM.finditer(text, 1, len(text) - 1):
        if match[2] is not None and match[2].upper() == "NULL":
            items.append(None)
        else:
            written = match[2] if match[2] is not None else re.sub(r"\\(.)", r"\1", match[1])
            items.append(_decode_text(written, item))
    return items


def _items_of_binary(data: bytes) -> list[Any]:
    """Returns the items of an array of one dimension, or of none."""
    dimensions, _, item = struct.unpack("!iii", data[:12])
    if dimensions == 0:
        return []
    count, _ = struct.unpack("!ii", data[12:20])
    if dimensions != 1 or not 0 <= count <= len(data):
        raise ValueError("no array of one dimension")
    items, at = list[Any](), 20
    for _ in range(count):
        (length,) = struct.unpack("!i", data[at : at + 4])
        at += 4
        items.append(None if length < 0 else _decode_binary(data[at : at + length], item))
        at += max(0, length)
    return items
