"""A column's distribution from a few noised histograms, each with finer parts where the last one
found rows and coarser ones where it found noise.

Parts are written as ends in numbers of the column's lattice (lattice.py): part i holds the numbers
from ends[i] up to, and without, ends[i + 1]. The first histogram has parts of equal width and parts
of one value for 0 and the declared ends, where clamped and top-coded values lie. Parts of one value
that hold many rows are the column's atoms: 40 hours a week, or 9999 for "unknown".

Everything but the counts themselves is post-processing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST = 16
"""Parts of equal width in the first histogram."""
SPLIT = 32
"""Parts at most that a part of many rows is cut into; as many are wanted of all rows together."""
RARE = 3.0
"""Standard deviations of noise that a part must hold to be looked at by itself."""

STANDS_OUT = 2.0
"""Standard deviations above which a part's estimate is taken for more than noise."""
HEAP = 2.0
"""Times as dense as its neighbourhood that a part must be to be cut into SPLIT: a heap of equal
values is found by zooming in on it."""


@dataclass(frozen=True, eq=False)
class Histogram:
    """One noised histogram.

    Args:
        ends: Of its parts, ascending numbers of the lattice, shape (parts + 1,).
        counts: Noised rows, shape (parts,).
        sigma: The standard deviation of a count's noise.
    """

    ends: Ints
    counts: Floats
    sigma: float


@dataclass(frozen=True, eq=False)
class Density:
    """Estimated rows of consecutive parts.

    Args:
        ends: Ascending numbers of the lattice, shape (parts + 1,).
        rows: Estimated, at least 0, shape (parts,).
        sigma: The standard deviation of one histogram's counts.
    """

    ends: Ints
    rows: Floats
    sigma: float

    @property
    def total(self) -> float:
        """All rows, as estimated; above 0."""
        return max(float(self.rows.sum()), 1.0)


def first_ends(low: int, high: int) -> Ints:
    """Returns the ends of the first histogram's parts.

    Args:
        low, high: The first and the last number.

    >>> first_ends(0, 3).tolist()
    [0, 1, 2, 3, 4]
    """
    width = high + 1 - low
    cuts = {low + width * i // FIRST for i in range(FIRST)}
    ones = {at for value in (low, 0, high) for at in (value, value + 1)}
    inner = {at for at in cuts | ones if low < at <= high}
    return np.array(sorted({low, high + 1} | inner), dtype=np.int64)


def next_ends(density: Density) -> Ints:
    """Returns the ends of the next histogram's parts: parts of many rows are cut, neighbours of few
    are joined. A wide joined part is cut near its neighbour of more rows, because tails fall off.
    """
    ends, rows = density.ends, density.rows
    target = max(density.total / SPLIT, RARE * density.sigma)
    cuts: set[int] = {int(ends[0]), int(ends[-1])}
    begin, held, heaped = int(ends[0]), 0.0, _is_heaped(density) & (rows >= target)
    for i, mass in enumerate(rows):
        first, last = int(ends[i]), int(ends[i + 1])
        if mass >= target / 2:
            cuts |= _tail_cuts(begin, first, cuts) | {first, last}
            parts = SPLIT if heaped[i] else max(1, round(2 * mass / target))
            parts = min(SPLIT, last - first, parts)
            cuts |= {first + (last - first) * k // parts for k in range(parts)}
            begin, held = last, 0.0
        elif held + mass >= target:
            cuts |= {first}
            begin, held = first, float(mass)
        else:
            held += float(mass)
    cuts |= _tail_cuts(begin, int(ends[-1]), cuts)
    cuts |= {
        int(end) for end in (ends[1], ends[-2]) if abs(end - ends[0]) == 1 or ends[-1] - end == 1
    }
    return np.array(sorted(cuts), dtype=np.int64)


def _is_heaped(density: Density) -> NDArray[np.bool_]:
    """Returns which parts are HEAP times as dense as they and their two neighbours together."""
    widths = np.diff(density.ends).astype(np.float64)
    near = [np.convolve(x, np.ones(3), "same") for x in (density.rows, widths)]
    if len(widths) < 2:
        return np.ones(len(widths), dtype=np.bool_)
    heaped: NDArray[np.bool_] = density.rows / widths >= HEAP * near[0] / near[1]
    return heaped


def _tail_cuts(first: int, last: int, cuts: set[int]) -> set[int]:
    """Returns two cuts of a joined part, near the side on which there are other parts."""
    width = last - first
    if width < 16:
        return set()
    if any(cut < first for cut in cuts):
        return {first + width // 16, first + width // 4}
    return {last - width // 16, last - width // 4}


def estimate(histograms: Sequence[Histogram]) -> Density:
    """Returns the rows of the parts that the ends of all histograms make together.

    Weighted least squares with a weak prior: inside a part of the first histogram, rows lie evenly
    to within as many as there are. Estimates below 0 are left out one group at a time (an active
    set). Runs of neighbours in which no part stands out of the noise are shrunk towards 0 together
    (positive-part James-Stein of their sum): kept as they are, noise that is cut off at 0 would
    put rows into empty tails.

    >>> h = Histogram(np.array([0, 1, 9]), np.array([90.0, -3.0]), 1.0)
    >>> estimate([h]).rows.round().tolist()
    [90.0, 0.0]
    """
    ends: Ints = np.unique(np.concatenate([h.ends for h in histograms]))
    widths = np.diff(ends).astype(np.float64)
    first = histograms[0]
    inside = np.searchsorted(first.ends, ends[:-1], side="right") - 1
    held = np.maximum(first.counts, first.sigma)[inside]
    share = widths / np.diff(first.ends).astype(np.float64)[inside]
    precision = np.diag(1 / held**2)
    right = np.maximum(first.counts, 0.0)[inside] * share / held**2
    for h in histograms:
        at = np.searchsorted(h.ends, ends[:-1], side="right") - 1
        within = (at[:, None] == np.arange(len(h.counts))) / max(h.sigma, 1e-6)
        precision += within @ within.T
        right += within @ (h.counts / max(h.sigma, 1e-6))
    free = np.linalg.solve(precision, right)
    sigma = max(first.sigma, 1e-6)
    rows = _positive(precision, right)
    cleaned = _without_noise(free, rows, precision, widths)
    if cleaned.sum() < rows.sum() / 2:  # all of it is noise, more or less: keep what there is
        cleaned = rows if rows.sum() > 0 else widths / widths.sum()
    return Density(ends, cleaned, sigma)


def _positive(precision: Floats, right: Floats) -> Floats:
    """Returns the estimate in which those that come out below 0 are 0."""
    kept = np.ones(len(right), dtype=np.bool_)
    rows = np.zeros(len(right))
    for _ in range(len(right)):
        rows[:] = 0.0
        rows[kept] = np.linalg.solve(precision[np.ix_(kept, kept)], right[kept])
        below = rows < 0
        if not below.any():
            break
        kept &= ~below
        if not kept.any():
            return np.zeros(len(right))
    return np.maximum(rows, 0.0)


def _without_noise(free: Floats, rows: Floats, precision: Floats, widths: Floats) -> Floats:
    """Returns the estimates with runs that cannot be told from noise shrunk; see `estimate`.

    A run at either end of the column is a tail: its density falls towards the end. So a part that
    noise made large far out is evened out with those before it.
    """
    covariance = np.linalg.inv(precision)
    spread = np.sqrt(np.diag(covariance))
    needed = np.full(len(rows), STANDS_OUT)
    needed[[0, -1]] = np.where(widths[[0, -1]] == 1, RARE, STANDS_OUT)
    rare = rows < needed * spread
    cleaned = rows.copy()
    for begin, end in _rare_runs(rare, widths):
        run = slice(begin, end)
        total, variance = float(free[run].sum()), float(covariance[run, run].sum())
        keep = max(0.0, total - variance / total) if total > 0 else 0.0
        shape = rows[run]
        is_low, is_high = begin <= int(widths[0] == 1), end >= len(rows) - int(widths[-1] == 1)
        if end - begin == 1 and widths[begin] == 1 and (begin == 0 or end == len(rows)):
            keep = 0.0
        if is_low != is_high and end - begin > 1:
            outwards = slice(None, None, -1) if is_low else slice(None)
            density, weight = free[run] / widths[run], (widths[run] / spread[run]) ** 2
            falling = non_increasing(density[outwards], weight[outwards])[outwards]
            shape = np.maximum(falling, 0.0) * widths[run]
        whole = float(shape.sum())
        cleaned[run] = shape * (keep / whole) if whole > 0 else 0.0
    return cleaned


def _rare_runs(rare: NDArray[np.bool_], widths: Floats) -> list[tuple[int, int]]:
    """Returns first and last + 1 of each run of rare parts. A part of one value at an end of the
    column is a run of its own: clamped and top-coded values lie there, whatever the tail does.

    >>> _rare_runs(np.array([False, True, True, True]), np.array([5.0, 9.0, 9.0, 1.0]))
    [(1, 3), (3, 4)]
    """
    runs = []
    for begin in np.flatnonzero(rare & ~np.append(False, rare[:-1])).tolist():
        end = begin + int(np.argmin(np.append(rare[begin:], False)))
        cuts = {begin, end}
        cuts |= {1} if begin == 0 and widths[0] == 1 else set()
        cuts |= {end - 1} if end == len(rare) and widths[-1] == 1 else set()
        runs += list(itertools.pairwise(sorted(cuts)))
    return runs


def non_increasing(values: Floats, weights: Floats) -> Floats:
    """Returns the nearest values that never rise, in weighted squares: neighbours that rise are
    pooled (pool adjacent violators; Ayer and others 1955).

    Args:
        values, weights: Of one shape (parts,); weights above 0.

    >>> non_increasing(np.array([5.0, 1, 3, 0]), np.ones(4)).tolist()
    [5.0, 2.0, 2.0, 0.0]
    """
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] < pool[0]:
            before = pools.pop()
            both = before[1] + pool[1]
            mean = (before[0] * before[1] + pool[0] * pool[1]) / both
            pool = (mean, both, before[2] + pool[2])
        pools.append(pool)
    return np.repeat([mean for mean, _, _ in pools], [count for _, _, count in pools])
