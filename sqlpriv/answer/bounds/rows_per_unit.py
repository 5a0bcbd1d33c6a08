"""Bounds on a unit's rows, chosen by noised counts of units by how many rows they have.

A unit is in one cell, whatever it has, so the counts move by one a unit. What is chosen of them is
post-processing, and free.

**A bound for all statements** leaves out a stated part of the rows. **A bound for one statement**
weighs what it leaves out against the noise, which is in proportion to it: with N(m) units that
have more than m rows, one more row kept of each saves N(m) rows and adds the noise of one to each
figure, so that the sum of absolute errors is least about where N(m) is that noise times the number
of figures (Amin, Kulesza, Muñoz Medina and Vassilvitskii 2019, "Bounding user contributions").
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.rounds.tail_model import noise_level
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Release

FALSE_CELL = 0.001
"""Chance that noise makes any empty cell stand out."""
EMPTY, SIZES = 0.95, 60
"""Chance that a cell is taken to be empty before it is seen, and how many sizes of others are
weighed. Of .5 to .98, tables with hidden units err least and others little more
(`tests/bench/rows_choice.py`)."""


class UnitsByRows(NamedTuple):
    """About how many units there are, by how many rows they have.

    Args:
        least, most: Rows of a unit in each cell, of shape (cells,); the last cell has no end.
        units: Of each cell, of shape (cells,).
    """

    least: NDArray[np.int64]
    most: NDArray[np.int64]
    units: NDArray[np.float64]

    @property
    def rows(self) -> float:
        """About how many rows the units have."""
        return float(self.units @ (self.least + self.most) / 2)

    def beyond(self, bound: int) -> float:
        """Returns about how many rows of units lie beyond a bound, which is a cell's end."""
        return float(self.units @ np.maximum((self.least + self.most) / 2 - bound, 0.0))


def standing_cells(counts: NDArray[np.float64], release: Release) -> NDArray[np.bool_]:
    """Returns which cells of a row are no noise, of shape (cells,).

    A cell stands out alone, or with those beside it that do not alone: 2, 4, 8, … cells that have
    more rows together than their noise has. A sum of Laplace noises exceeds a high level less often
    than one of the same variance, so empty cells stand out with a chance of at most `FALSE_CELL`.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> thin = np.array([0.0, 0, 0, 0, 900, 70, 60, 75, 65, 0, 0, 0])
    >>> release = Release(0, a.Count(a.Scan("t")), thin, 14.0, Epsilon(10**8))
    >>> standing_cells(thin, release).astype(int).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1, 1, 0, 0, 0]
    """
    cells, lengths = len(counts), [1]
    while 4 * lengths[-1] <= cells:
        lengths.append(2 * lengths[-1])
    level = noise_level(release, FALSE_CELL / (cells * len(lengths)))
    standing = counts > level
    thin = np.where(standing, 0.0, counts)
    for length in lengths[1:]:
        sums = np.convolve(thin, np.ones(length), "valid")
        for start in np.flatnonzero(sums > level * length**0.5).tolist():
            first, last = _trim(thin, start, start + length - 1, level)
            standing[first : last + 1] = True
    return standing


def _trim(counts: NDArray[np.float64], first: int, last: int, level: float) -> tuple[int, int]:
    """Returns the ends of a window of cells without those that it stands out as well without."""
    while first < last:
        left = counts[first] <= counts[last]
        shorter = (first + 1, last) if left else (first, last - 1)
        inside = counts[shorter[0] : shorter[1] + 1]
        if inside.sum() <= level * len(inside) ** 0.5:
            break
        first, last = shorter
    return first, last


def standing_units(release: Release) -> UnitsByRows:
    """Returns the noised counts of the cells that stand out, and 0 of the others.

    Args:
        release: Of a count whose one key is a `Bin` of numbers of rows, from 1 on.
    """
    counts = release.values.ravel()
    return _units_of_cells(release, np.where(standing_cells(counts, release), counts, 0.0))


def expected_units(release: Release) -> UnitsByRows:
    """Returns how many units each cell is expected to have, given its noised count.

    Before it is seen, a cell is empty with the chance `EMPTY`; else each doubling of its units is
    as likely, up to all of them. So noise of high cells says little, and does not say that they are
    empty: what a bound that hides their units would lose weighs against its noise.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> key = a.Key(a.Bin(a.Col("n"), (2, 3)), (0, 1, 2))
    >>> counts = np.array([900.0, 3.0, -2.0])
    >>> release = Release(0, a.Count(a.Scan("t"), keys=(key,)), counts, 14.0, Epsilon(10**8))
    >>> expected_units(release).units.round(1).tolist()
    [901.0, 0.1, 0.1]
    """
    counts = release.values.ravel()
    sizes = np.append(0.0, np.geomspace(1.0, max(2.0, counts.sum()), SIZES))
    prior = np.append(EMPTY, np.full(SIZES, (1 - EMPTY) / SIZES))
    apart = np.abs(counts[:, None] - sizes) / max(release.sigma, 1e-9)
    fit = -(apart**2) / 2 if isinstance(release.price, Rho) else -(2**0.5) * apart
    weights = prior * np.exp(fit - fit.max(axis=1, keepdims=True))
    return _units_of_cells(release, weights @ sizes / weights.sum(axis=1))


def _units_of_cells(release: Release, units: NDArray[np.float64]) -> UnitsByRows:
    (key,) = release.query.keys
    assert isinstance(key.expr, a.Bin)
    edges = np.array([edge for edge in key.expr.edges if isinstance(edge, int)])
    return UnitsByRows(np.append(1, edges), np.append(edges - 1, edges[-1]), units)


def bound_that_leaves_out(cells: UnitsByRows, part: float) -> int:
    """Returns the least bound beyond which at most this part of the rows lies.

    >>> least, most = np.array([1, 2, 3, 5, 9]), np.array([1, 2, 4, 8, 9])
    >>> units = np.array([500.0, 300, 200, 90, 20])
    >>> bound_that_leaves_out(UnitsByRows(least, most, units), 0.02)
    8
    """
    allowed = part * cells.rows
    return next(b for b in _bounds(cells) if b == cells.most[-1] or cells.beyond(b) <= allowed)


def bound_of_least_error(cells: UnitsByRows, noise: float, most: int) -> int:
    """Returns the bound at which noise and what is left out are least together.

    Args:
        cells: Of the units that a statement counts.
        noise: Mean absolute noises of all figures together, in rows, for each row of the bound.
        most: The largest bound that may be chosen.

    >>> least, most = np.array([1, 2, 3, 5, 9]), np.array([1, 2, 4, 8, 9])
    >>> cells = UnitsByRows(least, most, np.array([500.0, 300, 200, 90, 20]))
    >>> [bound_of_least_error(cells, noise, 100) for noise in (25.0, 100.0, 1000.0)]
    [8, 4, 1]
    """
    candidates = [b for b in _bounds(cells) if b <= most]
    return min(candidates, key=lambda b: (cells.beyond(b) + noise * b, b))


def _bounds(cells: UnitsByRows) -> Iterator[int]:
    """Yields the ends of the cells, ascending."""
    yield from cells.most.tolist()
