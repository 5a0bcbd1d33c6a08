"""From an Arrow table to Python: rows, PEP 249's description, and values as people read them."""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

import pyarrow as pa

from sqlpriv.errors import DataError
from sqlpriv.system import arrow

Description = tuple[str, str, None, None, int | None, int | None, bool]
"""name, type_code, display_size, internal_size, precision, scale, null_ok"""

_NAMES = {
    pa.bool_(): "BOOLEAN",
    **{kind: sql_type for sql_type, kind in arrow.NUMBERS.items()},
    pa.string(): "VARCHAR",
    pa.large_string(): "VARCHAR",
    pa.string_view(): "VARCHAR",
    pa.binary(): "BLOB",
    pa.large_binary(): "BLOB",
    pa.binary_view(): "BLOB",
    pa.date32(): "DATE",
    pa.date64(): "DATE",
    pa.null(): "INTEGER",  # what DuckDB calls the type of a bare NULL
}

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def type_name(kind: pa.DataType) -> str:
    """Returns DuckDB's name of an Arrow type: DECIMAL(9,2), INTEGER[], STRUCT(a INTEGER), …"""
    if kind in _NAMES:
        return _NAMES[kind]
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP WITH TIME ZONE" if kind.tz else "TIMESTAMP"
    if pa.types.is_time(kind):
        return "TIME"
    if pa.types.is_interval(kind) or pa.types.is_duration(kind):
        return "INTERVAL"
    if pa.types.is_dictionary(kind):
        return type_name(kind.value_type)
    return _nested_name(kind)


def _nested_name(kind: pa.DataType) -> str:
    if pa.types.is_map(kind):
        return f"MAP({type_name(kind.key_type)}, {type_name(kind.item_type)})"
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        parts = (kind.field(at) for at in range(kind.num_fields))
        listed = ", ".join(f"{part.name} {type_name(part.type)}" for part in parts)
        return f"{'UNION' if pa.types.is_union(kind) else 'STRUCT'}({listed})"
    if pa.types.is_fixed_size_list(kind):
        return f"{type_name(kind.value_type)}[{kind.list_size}]"
    if pa.types.is_nested(kind):
        return f"{type_name(kind.value_type)}[]"
    if isinstance(kind, pa.OpaqueType):
        return str(kind.type_name).upper()
    return str(kind).upper()


def description(table: pa.Table) -> tuple[Description, ...]:
    """Returns PEP 249's seven items for each column."""
    return tuple(_describe_column(field) for field in table.schema)


def _describe_column(field: pa.Field[Any]) -> Description:
    decimal = pa.types.is_decimal(field.type)
    precision = field.type.precision if decimal else None
    scale = field.type.scale if decimal else None
    return (field.name, type_name(field.type), None, None, precision, scale, field.nullable)


def rows(table: pa.Table, start: int = 0, count: int | None = None) -> list[tuple[Any, ...]]:
    """Returns `count` rows from `start` on, as tuples of Python values.

    A HUGEINT, which Arrow carries as DECIMAL(38,0), comes out as an int.

    Raises:
        DataError: Python has no such value: its dates are of the years 1 to 9999.
    """
    part = table.slice(start, count)
    columns = (_values(n, c) for n, c in zip(part.column_names, part.columns, strict=True))
    return list(zip(*columns, strict=True))


def batches(table: pa.Table, size: int = 10_000) -> Iterator[list[tuple[Any, ...]]]:
    """Yields all rows, `size` at a time, so that a large table is never wholly Python objects."""
    for start in range(0, table.num_rows, size):
        yield rows(table, start, size)


def _values(name: str, column: pa.ChunkedArray[Any]) -> list[Any]:
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError) as error:
        raise DataError(
            f'a value of "{name}" is beyond what Python can hold ({error}); '
            "CAST it to VARCHAR, or take it with arrow()"
        ) from None
    if column.type != arrow.HUGEINT:
        return values
    return [None if value is None else int(value) for value in values]


def with_plain_integers(table: pa.Table) -> pa.Table:
    """Returns the table with each HUGEINT column whose values all fit a BIGINT made one of those.

    DuckDB's sum of integers is a HUGEINT, for which pandas has nothing but objects.
    """
    for at, field in enumerate(table.schema):
        if field.type == arrow.HUGEINT:
            with suppress(pa.ArrowInvalid):
                table = table.set_column(at, field.name, table.column(at).cast(pa.int64()))
    return table


def with_plain_decimals(table: pa.Table) -> pa.Table:
    """Returns the table with each DECIMAL column that has digits behind the point as DOUBLEs.

    For DECIMALs pandas has nothing but objects, which do not mix with floats.
    """
    for at, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type) and field.type.scale > 0:
            table = table.set_column(at, field.name, table.column(at).cast(pa.float64()))
    return table


def numeric(kind: pa.DataType) -> bool:
    """Tells whether values of that type read best flush right."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )


def escape_controls(text: str) -> str:
    r"""Returns text in which no character commands a terminal; newlines and tabs stay.

    Analysts choose names and texts that an owner's terminal shows, as SHOW PRIVACY RELEASES does.
    Raw, an escape sequence clears the screen, changes what stands there, or fills the clipboard,
    and a sign that turns the direction of writing shows a statement in another order.

    >>> escape_controls("a\x1b[2J\u202eb\n")
    'a\\x1b[2J\\u202eb\n'
    """
    return _CONTROLS.sub(lambda sign: sign[0].encode("unicode_escape").decode(), text)


def format_value(value: Any, half_width: float | None = None) -> str:
    """Returns a value as people read it, no finer than its half-width warrants.

    Digits below a tenth of the half-width would be noise; without one, doubles show six digits, and
    all of those before the point.

    >>> format_value(Decimal("77848.48"), 1623.0), format_value(Decimal("9.50"), 0.01)
    ('77848', '9.50')
    """
    match value:
        case None:
            return "NULL"
        case bool():
            return "true" if value else "false"
        case float() if half_width is not None and _usable(half_width) and math.isfinite(value):
            return f"{value:.{_decimals(half_width)}f}"
        case Decimal() if half_width is not None and _usable(half_width) and value.is_finite():
            stored = max(0, -int(value.as_tuple().exponent))
            return f"{value:.{min(stored, _decimals(half_width))}f}"
        case float():
            return f"{value:.0f}" if 1e6 <= abs(value) < 1e15 else f"{value:.6g}"
        case bytes():
            return value.hex()
        case dt.datetime():
            return value.isoformat(sep=" ")
        case str():
            return escape_controls(value)
        case _:
            return str(value)


def shown_half_width(half_width: float | None) -> str:
    """Returns `±…`, rounded up to two digits, or '' where there is no error to tell."""
    if half_width is None or not _usable(half_width):
        return ""
    unit = 10.0 ** -_decimals(half_width)
    up = math.ceil(round(half_width / unit, 6)) * unit
    return f"±{up:.{_decimals(half_width)}f}"


def _usable(half_width: float) -> bool:
    return math.isfinite(half_width) and half_width > 0


def _decimals(half_width: float) -> int:
    return min(12, max(0, 1 - math.floor(math.log10(half_width))))


def plain(value: Any) -> Any:
    """Returns a value that JSON can hold; what JSON has no form for becomes text, NaN null."""
    match value:
        case float():
            return value if math.isfinite(value) else None
        case None | bool() | int() | str():
            return value
        case Decimal():
            return float(value)
        case list() | tuple():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case bytes():
            return value.hex()
        case dt.date() | dt.time():
            return value.isoformat()
        case _:
            return str(value)
