"""From levels back to values of the column's own SQL type, as Arrow arrays."""

from __future__ import annotations

import re
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.synth.domain.domain import Attribute
from sqlpriv.synth.models.sampling import dealt
from sqlpriv.system import arrow

_ARROW = {
    "TINYINT": pa.int8(), "SMALLINT": pa.int16(), "INTEGER": pa.int32(), "BIGINT": pa.int64(),
    "UTINYINT": pa.uint8(), "USMALLINT": pa.uint16(), "UINTEGER": pa.uint32(),
    "UBIGINT": pa.uint64(), "HUGEINT": pa.decimal128(38, 0), "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(), "VARCHAR": pa.string(), "BOOLEAN": pa.bool_(), "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us"),
}  # fmt: skip
MOST_VALUES = 1_000_000
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


def arrow_type(sql_type: str) -> Any:
    """Returns the Arrow type of a published column. Raises Refused for a type not supported."""
    text = sql_type.upper()
    if text == "DECIMAL":
        return pa.decimal128(18, 3)
    if found := _DECIMAL.fullmatch(text):
        return pa.decimal128(int(found[1]), int(found[2]))
    if text.split("(")[0] not in _ARROW:
        raise Refused(f"synthetic columns of type {sql_type} are not supported")
    return _ARROW[text.split("(")[0]]


def decode(attribute: Attribute, codes: NDArray[np.int64], rng: np.random.Generator) -> Any:
    """Returns the values of these levels, shape (rows,), as an Arrow array of the column's type.

    A bin's value is drawn uniformly inside the bin, or inside a part of it where the shares of its
    parts are known.
    """
    target = arrow_type(attribute.column.sql_type)
    if attribute.bounds is None:
        return _labels(attribute, target).take(arrow.numbers(codes))
    last = len(attribute.bounds) - 2
    missing = codes > last
    inside: NDArray[np.int64] = np.minimum(codes, last)
    ends: tuple[Any, ...] | NDArray[Any] = attribute.bounds
    if attribute.within is not None:
        parts = dealt(inside, attribute.within.share, rng)
        inside, ends = attribute.within.first[inside] + parts, attribute.within.ends
    if attribute.column.type is Type.REAL:
        return _reals(np.asarray(ends, dtype=np.float64), target, inside, missing, rng)
    bounds = np.asarray(ends, dtype=np.int64)
    drawn = rng.integers(bounds[inside], bounds[inside + 1])
    if attribute.column.type is Type.DATE:
        return arrow.numbers(drawn.astype(np.int32), missing).cast(target)
    return arrow.numbers(drawn, missing).cast(target)


def values_of(attribute: Attribute) -> tuple[Any, NDArray[np.int64]] | None:
    """Returns all values that `decode` may give, and their levels; None where there is no end of
    them, or more than MOST_VALUES."""
    target = arrow_type(attribute.column.sql_type)
    if attribute.bounds is None:
        return _labels(attribute, target), np.arange(attribute.size)
    first, last = attribute.bounds[0], attribute.bounds[-1]
    if attribute.column.type is Type.REAL or last - first > MOST_VALUES:
        return None
    whole = np.arange(first, last, dtype=np.int64)
    days = attribute.column.type is Type.DATE
    found = arrow.numbers(whole.astype(np.int32) if days else whole).cast(target)
    levels = np.searchsorted(np.asarray(attribute.bounds), whole, side="right") - 1
    if attribute.size > len(attribute.bounds) - 1:
        found = pa.concat_arrays([found, pa.nulls(1, target)])
        levels = np.append(levels, attribute.size - 1)
    return found, levels


def _labels(attribute: Attribute, target: Any) -> Any:
    values: tuple[Any, ...] = attribute.key.values
    if pa.types.is_decimal(target):
        quantum = Decimal(1).scaleb(-target.scale)
        values = tuple(None if v is None else Decimal(str(v)).quantize(quantum) for v in values)
    return arrow.array(values, target)


def _reals(
    bounds: NDArray[np.float64],
    target: Any,
    inside: NDArray[np.int64],
    missing: NDArray[np.bool_],
    rng: np.random.Generator,
) -> Any:
    drawn = bounds[inside] + rng.random(inside.size) * (bounds[inside + 1] - bounds[inside])
    if not pa.types.is_decimal(target):
        return arrow.numbers(drawn, missing).cast(target, safe=False)
    quantum = Decimal(1).scaleb(-target.scale)
    low = Decimal(str(bounds[0])).quantize(quantum, ROUND_CEILING)
    high = Decimal(str(bounds[-1])).quantize(quantum, ROUND_FLOOR)
    rounded = (min(max(Decimal(x).quantize(quantum), low), high) for x in drawn.tolist())
    return pa.array([None if m else x for x, m in zip(rounded, missing, strict=True)], type=target)
