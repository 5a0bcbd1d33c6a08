"""The grid that a column's values lie on: whole numbers, cents, hundreds, days.

Values of a column are numbered by whole multiples of a unit. Whole numbers, dates and timestamps
have the unit of their type, DECIMAL the last digit of its scale. The unit of a DOUBLE or FLOAT, and
whether values are multiples of tens, hundreds and so on, is read off a charged histogram. Its
classes are "NULL or zero", a class for each step from the coarsest to the finest, and "none of
these". Zero is a class of its own because it is a multiple of everything.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, Interval, Type

EPOCH_DAY = dt.date(1970, 1, 1)
EPOCH = dt.datetime(1970, 1, 1)
MICROSECOND = dt.timedelta(microseconds=1)
SECOND = 1_000_000
DAY = 86_400 * SECOND
MOMENT_STEPS = (DAY, 3_600 * SECOND, 900 * SECOND, 300 * SECOND, 60 * SECOND)
"""Of timestamps, in microseconds: a day, an hour, a quarter of one, five minutes, a minute. Each is
a multiple of the next one."""
MINUTE_STEPS = (60, 15, 5)
"""Of a TIME, which is read in whole minutes of its day."""
BITS = 40
"""Of a column without a grid, the unit is 2^-40 of the largest declared end's power of two."""
NEAR = 1e-4
"""How far a quotient may be from a whole number, so that FLOAT's 0.1 is a tenth."""
ROUNDING = 1e-15
"""The relative error of a quotient of doubles, some units in the last place."""
FINEST = 1e-7
SURE = 4.0
"""Noise's standard deviations above which a class is taken for real."""
LEAST = 0.01
"""The share of rows below which values beside the grid are taken for noise of the storage."""
_SCALE = re.compile(r"DECIMAL\(\d+,\s*(\d+)\)", re.IGNORECASE)


@dataclass(frozen=True)
class ValueLattice:
    """Numbers for the values of a column.

    Args:
        unit: The distance of neighbours; 1 for whole numbers, days and microseconds.
        middle: Whether the ends of parts lie half a unit below their first value: so that a stored
            0.07 falls into the part of 7 cents, whatever its last bits are.
        steps: Coarser grids as multiples of the unit, ascending, with the share
            of rows that are to be drawn on it; the rest is drawn on the unit.

    >>> cents = ValueLattice(0.01, True)
    >>> cents.value(np.array([7, 250])).tolist()
    [0.07, 2.5]
    >>> cents.edge(7)
    0.065
    """

    unit: float
    middle: bool = False
    steps: tuple[tuple[int, float], ...] = ()

    @property
    def usual_step(self) -> int:
        """The coarsest step of which half of the rows are multiples, or 1."""
        shares = [sum(share for _, share in self.steps[i:]) for i in range(len(self.steps))]
        usual = [step for (step, _), share in zip(self.steps, shares, strict=True) if share >= 0.5]
        return usual[-1] if usual else 1

    def number(self, value: float) -> int:
        """Returns the number of the first value of the lattice that is at least this one."""
        if isinstance(value, int) and self.unit == 1:
            return value
        quotient = self._quotient(value)
        return math.ceil(quotient - ROUNDING * abs(quotient))

    def last_number(self, value: float) -> int:
        """Returns the number of the last value of the lattice that is at most this one."""
        if isinstance(value, int) and self.unit == 1:
            return value
        quotient = self._quotient(value)
        return math.floor(quotient + ROUNDING * abs(quotient))

    def _quotient(self, value: float) -> float:
        if self.unit == 1:
            return value
        return value * round(1 / self.unit) if self.unit < 1 else value / self.unit

    def value(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the values of these numbers, of their shape."""
        times, by = (self.unit, 1.0) if self.unit >= 1 else (1.0, float(round(1 / self.unit)))
        return np.asarray(numbers * times / by, dtype=np.float64)

    def edge(self, number: int) -> float:
        """Returns where the part that begins with this number begins; exactly, where the unit is 1
        and numbers are values."""
        if self.unit == 1 and not self.middle:
            return number
        half = number - 0.5 if self.middle else number
        return half * self.unit if self.unit >= 1 else half / float(round(1 / self.unit))


def declared_lattice(column: Column, grid: float) -> ValueLattice:
    """Returns the lattice of the multiples of a number, of days or of seconds.

    >>> declared_lattice(Column("x", Type.INTEGER, "INTEGER"), 5).edge(7)
    35
    """
    if column.type is Type.REAL:
        return ValueLattice(grid, middle=True)
    units = SECOND if column.type is Type.TIMESTAMP else 1
    return ValueLattice(round(grid * units))


def read_grid(column: Column, domain: Interval, text: str) -> float:
    """Returns the number that a column's values are said to be multiples of.

    Raises:
        Refused: It is no such number of this column's type and domain.
    """
    try:
        grid = float(text)
    except ValueError:
        grid = math.nan
    seconds = SECOND if column.type is Type.TIMESTAMP else 1
    width = number_of(column, domain.upper) - number_of(column, domain.lower)
    fits = math.isfinite(grid) and 0 < grid * seconds <= width and width / grid < 2**BITS
    if not fits or (column.type is not Type.REAL and grid != round(grid)):
        raise Refused(
            f'values of "{column.name}" cannot be multiples of {text}',
            hint="a number above 0, whole for whole numbers, days and seconds",
        )
    return grid


def first_lattice(column: Column, domain: Interval) -> ValueLattice:
    """Returns the lattice that the declaration alone tells of."""
    if column.type is not Type.REAL:
        whole_seconds = column.type is Type.TIMESTAMP and not any(
            number_of(column, end) % SECOND for end in (domain.lower, domain.upper)
        )
        return ValueLattice(1.0, steps=((SECOND, 1.0),) if whole_seconds else ())
    if scale := _SCALE.fullmatch(column.sql_type):
        return ValueLattice(10.0 ** -int(scale[1]), middle=True)
    largest = max(abs(_real(domain.lower)), abs(_real(domain.upper)), 1e-300)
    return ValueLattice(2.0 ** (math.ceil(math.log2(largest)) - BITS))


def ladder(column: Column, domain: Interval) -> tuple[float, ...]:
    """Returns the steps that are looked for, the coarsest first; none for dates.

    >>> ladder(Column("x", Type.INTEGER, "INTEGER"), Interval(0, 5_000))
    (100, 10)
    >>> ladder(Column("x", Type.INTEGER, "TIME"), Interval(0, 1439))
    (60, 15, 5)
    """
    if column.type is Type.DATE:
        return ()
    width = number_of(column, domain.upper) - number_of(column, domain.lower)
    if column.type is Type.TIMESTAMP:
        return tuple(float(step) for step in MOMENT_STEPS if step <= width / 10)
    if column.sql_type == "TIME":
        return MINUTE_STEPS
    if column.type is Type.INTEGER:
        return tuple(10**k for k in range(15, 0, -1) if 10**k <= width / 50)
    scale = _SCALE.fullmatch(column.sql_type)
    finest = 10.0 ** -int(scale[1]) if scale else FINEST
    largest = max(abs(_real(domain.lower)), abs(_real(domain.upper)))
    return tuple(
        step
        for k in range(15, -8, -1)
        if (step := float(f"1e{k}")) <= width / 10 and step >= max(finest, largest / 1e10)
    )


def grid_query(source: a.Relation, column: Column, steps: tuple[float, ...]) -> a.Count:
    """Returns the count of the population by the coarsest step that a value is a multiple of:
    len(steps) + 2 classes; see the module."""
    value = a.Col(column.name)
    whens: list[tuple[a.Expr, a.Expr]] = [(a.Call("is null", (value,)), a.Lit(0, Type.INTEGER))]
    if column.type is not Type.TIMESTAMP:
        zero = a.Call("=", (value, a.Lit(0, Type.INTEGER)))
        whens.append((zero, a.Lit(0, Type.INTEGER)))
    for number, step in enumerate(steps, 1):
        whens.append((_is_multiple(column, step), a.Lit(number, Type.INTEGER)))
    classes = a.Case(tuple(whens), a.Lit(len(steps) + 1, Type.INTEGER))
    return a.Count(source, (), (a.Key(classes, tuple(range(len(steps) + 2))),))


def _is_multiple(column: Column, step: float) -> a.Expr:
    value: a.Expr = a.Col(column.name)
    if column.type is Type.TIMESTAMP:
        value = a.Call("micros", (value,))
    if column.type is not Type.REAL:
        rest = a.Call("%", (value, a.Lit(int(step), Type.INTEGER)))
        return a.Call("=", (rest, a.Lit(0, Type.INTEGER)))
    quotient = a.Call("/", (value, a.Lit(step, Type.REAL)))
    rest = a.Call("-", (quotient, a.Call("round", (quotient,))))
    near = a.Call("<", (a.Call("abs", (rest,)), a.Lit(NEAR, Type.REAL)))
    # a value far smaller than the step is near 0 steps, and no multiple: 0 is a class of its own
    large = a.Call(">=", (a.Call("abs", (value,)), a.Lit(step / 2, Type.REAL)))
    return a.Call("and", (large, near))


def measured_lattice(
    lattice: ValueLattice, steps: tuple[float, ...], counts: NDArray[np.float64], sigma: float
) -> ValueLattice:
    """Returns the lattice with what the histogram of `grid_query` says.

    A class counts if it is SURE standard deviations above 0. A DOUBLE column gets the finest step
    that counts for its unit, unless values lie beside the grid.

    Args:
        lattice: Of the declaration.
        steps: The ladder, coarsest first.
        counts: Noised, shape (len(steps) + 2,).
        sigma: Of each count.

    >>> measured_lattice(ValueLattice(2.0**-40), (1.0, 0.1), np.array([9.0, 500, 2, 3]), 5.0)
    ValueLattice(unit=1.0, middle=True, steps=())
    """
    real = np.where(counts[1:] > SURE * sigma, counts[1:], 0.0)
    if real[-1] < LEAST * real.sum():
        real[-1] = 0.0
    if real.sum() == 0:
        return lattice
    shares = real / real.sum()
    unit, middle = lattice.unit, lattice.middle
    if real[-1] == 0 and lattice.unit < min(steps, default=0.0) * 0.99:
        unit, middle = steps[int(np.flatnonzero(real[:-1])[-1])], True
    if unit < FINEST / 2:  # no grid is a multiple of such a unit
        return lattice
    multiples = {round(step / unit): float(x) for step, x in zip(steps, shares, strict=False)}
    multiples = {step: share for step, share in multiples.items() if step >= 1}
    finest = lattice.steps[0][0] if lattice.steps else 1  # whole seconds, by declaration
    multiples[finest] = multiples.get(finest, 0.0) + float(shares[-1])
    return ValueLattice(unit, middle, _drawing_shares(multiples))


def _drawing_shares(shares: Mapping[int, float]) -> tuple[tuple[int, float], ...]:
    """Returns the share of rows to draw on each step above 1.

    A row that is drawn on a fine step lies on a coarser one by chance, one in (coarse / fine) of
    them. What is drawn on the coarser step is what its own share is more than that.

    Args:
        shares: By step, the share of rows that lie on it and on no coarser one.

    >>> _drawing_shares({1: 0.9, 10: 0.09, 100: 0.01})
    ()
    >>> _drawing_shares({1: 0.0, 10: 0.9, 100: 0.1})
    ((10, 1.0),)
    """
    steps = sorted(shares)
    drawn: dict[int, float] = {}
    for i, step in enumerate(steps):
        chance = sum(
            part * (finer / step - (finer / steps[i + 1] if i + 1 < len(steps) else 0.0))
            for finer, part in drawn.items()
        )
        alone = 1 - step / steps[i + 1] if i + 1 < len(steps) else 1.0
        drawn[step] = max(0.0, (shares[step] - chance) / alone)
    whole = sum(drawn.values())
    parts = ((step, round(share / whole, 6)) for step, share in drawn.items() if step > 1)
    return tuple((step, share) for step, share in parts if share >= LEAST)


def number_of(column: Column, end: Any) -> Any:
    """Returns an interval's end as a number of days, microseconds or ones; a real as it is."""
    if column.type is Type.DATE:
        return int((end - EPOCH_DAY).days)
    if column.type is Type.TIMESTAMP:
        return int((end - EPOCH) // MICROSECOND)
    return float(end) if column.type is Type.REAL else int(end)


def value_at(column: Column, number: Any) -> Any:
    """Returns the value of a number of days, microseconds or ones: the inverse of `number_of`."""
    if column.type is Type.DATE:
        return EPOCH_DAY + dt.timedelta(days=int(number))
    if column.type is Type.TIMESTAMP:
        return EPOCH + int(number) * MICROSECOND
    return float(number) if column.type is Type.REAL else int(number)


def _real(end: Any) -> float:
    return float(end)
