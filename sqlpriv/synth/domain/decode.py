"""From levels back to values of the column's own SQL type, as Arrow arrays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Interval, Type
from sqlpriv.synth.domain.domain import Attribute, Domain, Within
from sqlpriv.synth.inference.positions import draw_positions, fit_coupling, ranks_inside
from sqlpriv.synth.models.sampling import dealt
from sqlpriv.system import arrow

_ARROW = {
    **arrow.NUMBERS,
    "VARCHAR": pa.string(),
    "ENUM": pa.string(),
    "BOOLEAN": pa.bool_(),
    "DATE": pa.date32(),
    "TIME": pa.time64("us"),  # a column of minutes of the day
    "TIMESTAMP": pa.timestamp("us"),
    "TIMESTAMP WITH TIME ZONE": pa.timestamp("us", "UTC"),
    "UUID": pa.string(),
}
MOST_VALUES = 1_000_000
MINUTE = 60_000_000
"""In microseconds."""
_DECIMAL = re.compile(r"DECIMAL\((\d+),\s*(\d+)\)")


def arrow_type(sql_type: str) -> Any:
    """Returns the Arrow type of a published column. Raises Refused for a type not supported."""
    text = sql_type.upper()
    if text == "DECIMAL":
        return pa.decimal128(18, 3)
    if precision_and_scale := _DECIMAL.fullmatch(text):
        return pa.decimal128(int(precision_and_scale[1]), int(precision_and_scale[2]))
    if text.split("(")[0] not in _ARROW:
        raise Refused(f"synthetic columns of type {sql_type} are not supported")
    return _ARROW[text.split("(")[0]]


def decode(
    attribute: Attribute,
    codes: NDArray[np.int64],
    rng: np.random.Generator,
    positions: NDArray[np.float64] | None = None,
    others: Sequence[NDArray[np.int64]] = (),
) -> Any:
    """Returns the values of these levels, shape (rows,), as an Arrow array of the column's type.

    A bin's values are spread evenly inside the bin, or by the shares of its parts where those are
    known, in the order of `positions`.

    Args:
        attribute: The column.
        codes: Levels, shape (rows,).
        rng: Any generator.
        positions: From 0 to 1, where in its bin each row lies (`positions.ranks_inside`); None for
            a random order.
        others: Levels of the other columns: values of a group of them are spread over these evenly.
    """
    target = arrow_type(attribute.column.sql_type)
    if attribute.grouped is not None:
        codes = dealt(codes, attribute.grouped.share, rng, others)
    if attribute.bounds is None:
        return _labels(attribute, target).take(arrow.numbers(codes))
    last = len(attribute.bounds) - 2
    missing = codes > last
    inside: NDArray[np.int64] = np.minimum(codes, last)
    if positions is None:
        positions = ranks_inside(inside, rng.random(inside.size), rng)
    if attribute.within is not None:
        drawn = drawn_numbers(attribute.within, inside, positions, rng)
        if attribute.column.type is Type.REAL:
            exact = attribute.within.lattice.value(drawn)
            declared = float(attribute.bounds[0]), float(attribute.bounds[-1])
            return _reals(exact, declared, target, missing)
        drawn *= int(attribute.within.lattice.unit)
    elif attribute.column.type is Type.REAL:
        ends = np.asarray(attribute.bounds, dtype=np.float64)
        width = ends[inside + 1] - ends[inside]
        even = ends[inside] + positions * width
        return _reals(even, (ends[0], ends[-1]), target, missing)
    else:
        bounds = np.asarray(attribute.bounds, dtype=np.int64)
        drawn = _whole_numbers(bounds[inside], bounds[inside + 1], positions)
    return _whole_values(drawn, target, missing)


def _whole_values(
    drawn: NDArray[np.int64], target: Any, missing: NDArray[np.bool_] | None = None
) -> Any:
    """Returns whole numbers as the column's type has them: days, microseconds, minutes of a day."""
    if pa.types.is_date32(target):
        return arrow.numbers(drawn.astype(np.int32), missing).cast(target)
    return arrow.numbers(drawn * MINUTE if pa.types.is_time64(target) else drawn, missing).cast(
        target
    )


def drawn_numbers(
    within: Within,
    levels: NDArray[np.int64],
    positions: NDArray[np.float64],
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Returns numbers of the lattice at these positions inside these levels, shape (rows,).

    A row's part follows from the parts' shares, its grid is drawn by the shares of the steps; where
    no multiple of the step lies in the part, the next finer step is taken.
    """
    part, inside = parts_at(within.share, levels, positions)
    parts = within.first[levels] + part
    first, end = within.ends[parts], within.ends[parts + 1]
    drawn = _whole_numbers(first, end, inside)
    steps = within.lattice.steps
    which = rng.random(levels.size)
    for i, (step, _) in enumerate(steps):  # a coarser step that fits overwrites a finer one
        coarse = sum(share for _, share in steps[i:])
        low, high = -(-first // step), -(-end // step)
        fits = (high > low) & (which < coarse)
        drawn[fits] = _whole_numbers(low[fits], high[fits], inside[fits]) * step
    return drawn


def positions_inside(
    domain: Domain, codes: NDArray[np.int64], rng: np.random.Generator
) -> Mapping[int, NDArray[np.float64]]:
    """Returns by column where in their levels the rows lie, from 0 to 1: of columns of numbers that
    are related by their levels."""
    return draw_positions(fit_coupling(codes, ordered_levels(domain)), codes, rng)


def ordered_levels(domain: Domain) -> dict[int, int]:
    """Returns how many ordered levels, without NULL, each column of numbers or dates has, by its
    number; none where no column has bins to lie in."""
    levels = {
        i: sum(value is not None for value in x.key.values)
        for i, x in enumerate(domain.attributes)
        if isinstance(x.column.domain, Interval) and x.grouped is None
    }
    binned = any(x.bounds is not None for x in domain.attributes)
    return levels if binned else {}


def parts_at(
    shares: NDArray[np.float64], levels: NDArray[np.int64], positions: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Returns the part of its level that each position lies in, and where in it, from 0 to 1.

    >>> at, levels = np.array([0.25, 0.6]), np.array([0, 0])
    >>> part, inside = parts_at(np.array([[0.5, 0.0, 0.5]]), levels, at)
    >>> part.tolist(), inside.round(2).tolist()
    ([0, 2], [0.5, 0.2])
    """
    mass = shares / shares.sum(axis=1, keepdims=True)
    running = np.cumsum(mass, axis=1)
    running[:, -1] = 1.0
    number = np.arange(len(running))[:, None]
    at = np.minimum(positions, 1 - 1e-12)
    at_part = np.searchsorted((running + number).ravel(), at + levels, side="right")
    part: NDArray[np.int64] = (at_part - levels * running.shape[1]).clip(0, running.shape[1] - 1)
    held = mass[levels, part]
    before = running[levels, part] - held
    inside = (at - before) / np.where(held > 0, held, 1.0)
    return part, inside.clip(0.0, 1.0)


def _whole_numbers(
    first: NDArray[np.int64], end: NDArray[np.int64], inside: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Returns the whole numbers from `first` to below `end` at these places, from 0 to 1."""
    steps = np.floor(inside * (end - first)).astype(np.int64)
    return np.asarray(np.minimum(first + steps, end - 1), dtype=np.int64)


def values_of(attribute: Attribute) -> tuple[Any, NDArray[np.int64]] | None:
    """Returns all values that `decode` may give, and their levels; None where there is no end of
    them, or more than MOST_VALUES."""
    target = arrow_type(attribute.column.sql_type)
    if attribute.grouped is not None:
        return _labels(attribute, target), attribute.grouped.share.argmax(axis=0)
    if attribute.bounds is None:
        return _labels(attribute, target), np.arange(attribute.size)
    first, last = attribute.bounds[0], attribute.bounds[-1]
    if attribute.column.type is Type.REAL or last - first > MOST_VALUES:
        return None
    whole = np.arange(first, last, dtype=np.int64)
    arrow_values = _whole_values(whole, target)
    levels = np.searchsorted(np.asarray(attribute.bounds), whole, side="right") - 1
    if attribute.size > len(attribute.bounds) - 1:
        arrow_values = pa.concat_arrays([arrow_values, pa.nulls(1, target)])
        levels = np.append(levels, attribute.size - 1)
    return arrow_values, levels


def _labels(attribute: Attribute, target: Any) -> Any:
    grouped = attribute.grouped
    values: tuple[Any, ...] = attribute.key.values if grouped is None else grouped.values
    if pa.types.is_decimal(target):
        quantum = Decimal(1).scaleb(-target.scale)
        values = tuple(None if v is None else Decimal(str(v)).quantize(quantum) for v in values)
    return arrow.array(values, target)


def _reals(
    drawn: NDArray[np.float64],
    ends: tuple[float, float],
    target: Any,
    missing: NDArray[np.bool_],
) -> Any:
    """Returns the values as the column's type, inside the declared ends."""
    if not pa.types.is_decimal(target):
        inside = np.clip(drawn, *ends)
        return arrow.numbers(inside, missing).cast(target, safe=False)
    quantum = Decimal(1).scaleb(-target.scale)
    low = Decimal(str(ends[0])).quantize(quantum, ROUND_CEILING)
    high = Decimal(str(ends[1])).quantize(quantum, ROUND_FLOOR)
    rounded = (min(max(Decimal(x).quantize(quantum), low), high) for x in drawn.tolist())
    return pa.array([None if m else x for x, m in zip(rounded, missing, strict=True)], type=target)
