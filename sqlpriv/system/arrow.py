"""Arrow arrays of Python's values and numpy's numbers, made from their bytes.

`pyarrow.array` imports pandas, wherever that is installed, to see whether it was given something of
pandas' own. That import took as long as all the rest of a process's first answer. Timestamps and
lists still go through `pyarrow.array`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Context, Decimal
from operator import index
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

EPOCH = date(1970, 1, 1).toordinal()
HUGEINT = pa.decimal128(38, 0)
"""What DuckDB gives its HUGEINTs to Arrow as, which has no integers of 128 bits."""
NUMBERS = {
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INTEGER": pa.int32(),
    "BIGINT": pa.int64(),
    "UTINYINT": pa.uint8(),
    "USMALLINT": pa.uint16(),
    "UINTEGER": pa.uint32(),
    "UBIGINT": pa.uint64(),
    "HUGEINT": HUGEINT,
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
}
"""The types of Arrow that DuckDB's types of numbers have; DECIMALs beside them."""


def type_of_whole(of: pa.DataType) -> str:
    """Returns the DuckDB type of whole numbers that Arrow holds in a type; '' of any other type.

    >>> type_of_whole(pa.uint8()), type_of_whole(HUGEINT), type_of_whole(pa.float32())
    ('UTINYINT', 'HUGEINT', '')
    """
    is_whole = pa.types.is_integer(of) or of == HUGEINT
    return next(name for name, type_ in NUMBERS.items() if type_ == of) if is_whole else ""


def type_of_exact(of: pa.DataType) -> str:
    """Returns the DuckDB type of whole numbers or DECIMALs; '' of any other Arrow type.

    >>> type_of_exact(pa.decimal128(6, 2)), type_of_exact(pa.int8()), type_of_exact(pa.float64())
    ('DECIMAL(6, 2)', 'TINYINT', '')
    """
    is_decimal = pa.types.is_decimal(of) and of != HUGEINT
    return f"DECIMAL({of.precision}, {of.scale})" if is_decimal else type_of_whole(of)


def integer_ends(of: pa.DataType) -> tuple[int, int]:
    """Returns the least and the largest value of a type of integers.

    >>> integer_ends(pa.int8()), integer_ends(pa.uint16())
    ((-128, 127), (0, 65535))
    """
    is_signed = bool(pa.types.is_signed_integer(of))
    most = int(2 ** (of.bit_width - is_signed)) - 1
    return (-most - 1 if is_signed else 0), most


def numbers(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Any:
    """Returns an array of numpy's integers or floats, shape (rows,), of their own type.

    Args:
        values: Numbers; what stands where one is missing does not count.
        missing: Which of them are NULL; none without it.
    """
    return _from(pa.from_numpy_dtype(values.dtype), np.ascontiguousarray(values), missing)


def array(values: Sequence[Any], type_: pa.DataType) -> Any:
    """Returns `pyarrow.array(values, type_)`.

    Raises:
        OverflowError, TypeError, ValueError or AttributeError: A value is not of the type.
    """
    if pa.types.is_integer(type_) and {*map(type, values)} == {int}:  # as most keys are
        return _from(type_, np.array(values, str(type_)), None)
    missing = np.fromiter((v is None for v in values), np.bool_, len(values))
    if missing.all():
        return pa.nulls(len(values), type_)
    if pa.types.is_integer(type_):
        whole = [0 if v is None else index(v) for v in values]
        return _from(type_, np.array(whole, str(type_)), missing)
    if pa.types.is_floating(type_):
        real = [0.0 if v is None else float(v) for v in values]
        return _from(type_, np.array(real, f"f{type_.bit_width // 8}"), missing)
    if pa.types.is_boolean(type_):
        bits = np.packbits(np.array([*map(bool, values)], np.bool_), bitorder="little")
        return _from(type_, bits, missing)
    if pa.types.is_date32(type_):
        days = [0 if v is None else v.toordinal() - EPOCH for v in values]
        return _from(type_, np.array(days, np.int32), missing)
    if pa.types.is_string(type_):
        texts = [b"" if v is None else v.encode() for v in values]
        ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
        return _from(type_, ends, missing, b"".join(texts))
    if pa.types.is_decimal128(type_):
        units = [0 if v is None else _whole_units(v, type_) for v in values]
        octets = b"".join(unit.to_bytes(16, "little", signed=True) for unit in units)
        return _from(type_, np.frombuffer(octets, np.uint8), missing)
    return pa.array(values, type_)


def _whole_units(value: Decimal | int, type_: pa.DataType) -> int:
    """Returns a decimal as a whole number of units of the type's last digit."""
    exact = Context(prec=4 * type_.precision)
    unit = exact.scaleb(Decimal(value), type_.scale)
    if unit != (whole := int(unit)) or abs(whole) >= 10**type_.precision:
        raise ValueError(f"{value} is no {type_}")
    return whole


def table(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Returns `pyarrow.Table.from_pylist(rows, schema)`."""
    columns = [array([row.get(field.name) for row in rows], field.type) for field in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def _from(
    type_: pa.DataType, values: NDArray[Any], missing: NDArray[np.bool_] | None, *more: bytes
) -> Any:
    rows = len(values) if missing is None else len(missing)
    valid = None
    if missing is not None and missing.any():
        valid = pa.py_buffer(np.packbits(~missing, bitorder="little"))
    buffers = [valid, pa.py_buffer(values), *map(pa.py_buffer, more)]
    return pa.Array.from_buffers(type_, rows, buffers)


def without_far_moments(rows: pa.Table) -> pa.Table:
    """Returns a table in which moments that Python cannot hold, outside the years 1 to 9999, are
    NULL: fetching one would raise OverflowError, and no other value would be had.

    Args:
        rows: Any table; columns without moments, and lists of them, are as they were.
    """
    tests = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_nested)
    for place, field in enumerate(rows.schema):
        if not any(test(field.type) for test in tests):
            continue
        column = rows.column(place)
        try:
            column.to_pylist()
        except (OverflowError, ValueError):
            values = pa.array([_moment_or_none(value) for value in column], field.type)
            rows = rows.set_column(place, field, values)
    return rows


def _moment_or_none(value: Any) -> Any:
    try:
        return value.as_py()
    except (OverflowError, ValueError):
        return None
