"""Which levels a column of numbers gets, from its noised distribution.

A level that holds few rows is mostly noise, in every table that it is part of: of two columns with
L levels each the mean cell holds n / L^2 rows. `level_count` makes that PAIR times the noise of the
histograms, whose price is of the size of a measured table's. So pairs are coarse where noise is
large; what lies inside a level is drawn by the column's own, finer distribution.

Values of their own level come first: those that hold half of a level's share or more. The others
make levels of about as many rows each. What is left between them, or beyond them, and holds hardly
a row becomes part of a neighbour: as a level of its own it would get the rows that the noise of the
method's tables says, and be drawn evenly over a tail of years.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.domain.histogram_rounds import Density

PAIR = 2.0
EMPTY = 0.25
"""A level of fewer rows than this part of a level's share, and than a count's noise, is none."""
FEWEST = 4
"""Levels are not fewer than this: of two, no correlation would be seen."""


def level_count(rows: float, sigma: float, most: int) -> int:
    """Returns how many levels a column can bear.

    Args:
        rows: Of the table, noised.
        sigma: The noise of a count.
        most: The option `bins`.

    >>> level_count(20_000, 150.0, 32), level_count(20_000, 1_500.0, 32)
    (8, 4)
    """
    count = math.sqrt(max(rows, 1.0) / (PAIR * max(sigma, 1e-6)))
    return int(min(max(count, FEWEST), most))


def chosen_levels(density: Density, most: int, all_of_them: bool = False) -> NDArray[np.int64]:
    """Returns the parts at which levels begin, and the number of parts: shape (levels + 1,).

    Args:
        density: Of the column.
        most: Levels at most, at least 1.
        all_of_them: Whether levels are cut on until there are so many, however few rows they hold.

    >>> parts = np.array([0, 1, 50, 100])
    >>> chosen_levels(Density(parts, np.array([900.0, 60, 40]), 3.0), 4).tolist()
    [0, 1, 3]
    """
    parts, share = len(density.rows), density.total / most
    is_atom = (np.diff(density.ends) == 1) & (density.rows >= share / 2)
    is_atom &= density.rows >= 3 * density.sigma
    atoms = np.flatnonzero(is_atom)[np.argsort(-density.rows[is_atom], kind="stable")]
    starts = {0, parts}
    for atom in atoms.tolist():
        wanted = starts | {atom, atom + 1}
        if len(wanted) - 1 <= most:
            starts = wanted
    rest = np.where(is_atom, 0.0, density.rows)
    while len(starts) - 1 < most:
        cut = _best_cut(rest, sorted(starts), 0.0 if all_of_them else share)
        if cut is None:
            break
        starts.add(cut)
    if not all_of_them:
        _merge_empty(density, starts, min(density.sigma, EMPTY * share))
    return np.array(sorted(starts), dtype=np.int64)


def _merge_empty(density: Density, starts: set[int], least: float) -> None:
    """Takes away starts until every level, or the only one, holds at least so many rows: an empty
    one is joined to the neighbour of lower density, so that values of their own level stay alone.

    >>> levels = {0, 1, 2, 3}
    >>> _merge_empty(Density(np.array([0, 1, 2, 300]), np.array([60.0, 40, 0]), 2.0), levels, 2.0)
    >>> sorted(levels)
    [0, 1, 3]
    """
    running = np.concatenate([[0.0], np.cumsum(density.rows)])
    while len(starts) > 2:
        ends = np.array(sorted(starts))
        held = running[ends[1:]] - running[ends[:-1]]
        dense = held / (density.ends[ends[1:]] - density.ends[ends[:-1]])
        level = int(np.argmin(held))
        if held[level] >= least:
            return
        below = dense[level - 1] if level else np.inf
        above = dense[level + 1] if level + 1 < len(held) else np.inf
        starts.discard(int(ends[level] if below <= above else ends[level + 1]))


def _best_cut(rows: NDArray[np.float64], starts: list[int], share: float) -> int | None:
    """Returns where the level of most rows is cut into halves; None where none can be, or is large
    enough for it."""
    running = np.concatenate([[0.0], np.cumsum(rows)])
    held = running[starts[1:]] - running[starts[:-1]]
    for i in np.argsort(-held, kind="stable").tolist():
        first, last = int(starts[i]), int(starts[i + 1])
        if held[i] < share:
            return None
        if last - first > 1:
            middle = (running[first] + running[last]) / 2
            nearest = np.argmin(np.abs(running[first + 1 : last] - middle))
            return first + 1 + int(nearest)
    return None
