"""An answer's columns in the types that DuckDB has for what was written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sqlpriv.system import arrow

_MOST_DIGITS = 12
"""Digits behind the point of a DECIMAL of 38, which has 26 before it: for 2**31 times 2**53 rows. A
sum with more of them is a DOUBLE."""
_TYPES = {
    **arrow.NUMBERS,
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP_S": pa.timestamp("s"),
    "TIMESTAMP_MS": pa.timestamp("ms"),
    "TIMESTAMP_NS": pa.timestamp("ns"),
}
"""The types of Arrow that DuckDB's have, of those that a computed column may be cast to."""
_MOMENTS = (pa.types.is_date, pa.types.is_timestamp)


def in_shown_types(rows: pa.Table, types: Sequence[str]) -> pa.Table:
    """Returns an answer's columns, each in a type of DuckDB's.

    Args:
        rows: The columns as they were computed.
        types: DuckDB's type of each, '' for the one it has.
    """
    for place, type_ in enumerate(types):
        column = rows.column(place)
        # what is no number, as an infinite DECIMAL, leaves its column a DOUBLE
        with suppress(pa.ArrowInvalid):
            if (cast := _cast(column, type_)) is not column:
                rows = rows.set_column(place, rows.column_names[place], cast)
    return rows


def _cast(column: pa.ChunkedArray[Any], type_: str) -> Any:
    """Returns a column in a type; as it is, where that type is of another kind."""
    if pa.types.is_string(column.type):
        return _in_enum(column, type_) if type_.startswith("ENUM") else column
    if pa.types.is_list(column.type):
        of = _TYPES.get(type_.removesuffix("[]"))
        return column if of is None else column.cast(pa.list_(of))
    target = _decimal(type_) if type_.startswith("DECIMAL") else _TYPES.get(type_)
    if target is None or target == column.type:
        return column
    of_moments = [any(is_one(kind) for is_one in _MOMENTS) for kind in (column.type, target)]
    if of_moments[0] != of_moments[1] or pa.types.is_boolean(column.type):
        return column
    if pa.types.is_timestamp(column.type) and column.type.tz:
        return column
    if pa.types.is_floating(column.type) and pa.types.is_integer(target):
        return column
    return column.cast(target, safe=not of_moments[0])


def _decimal(type_: str) -> pa.DataType | None:
    digits, behind = map(int, re.findall(r"\d+", type_))
    return pa.decimal128(digits, behind) if digits < 38 or behind <= _MOST_DIGITS else None


def _in_enum(column: pa.ChunkedArray[Any], type_: str) -> Any:
    """Returns texts as an ENUM, whose labels are in the order of its type."""
    texts = [x.replace("''", "'") for x in re.findall(r"'((?:[^']|'')*)'", type_)]
    labels = arrow.array(texts, pa.string())
    places = pc.index_in(column, labels).cast(pa.uint8() if len(labels) < 256 else pa.uint16())
    chunks = [pa.DictionaryArray.from_arrays(chunk, labels) for chunk in places.chunks]
    return pa.chunked_array(chunks, pa.dictionary(places.type, pa.string()))
