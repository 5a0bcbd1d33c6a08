"""A column's distribution from a few noised histograms, each with finer parts where the last one
found rows and coarser ones where it found noise.

Parts are written as ends in numbers of the column's lattice (lattice.py): part i holds the numbers
from ends[i] up to, and without, ends[i + 1]. The first histogram has parts of equal width and parts
of one value for 0 and the declared ends, where clamped and top-coded values lie. Parts of one value
that hold many rows are the column's atoms: 40 hours a week, or 9999 for "unknown".

Everything but the counts themselves is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.domain.tail_fit import fit_upper_tail

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FIRST = 16
"""Parts of equal width in the first histogram."""
NEARER = 16
"""Parts of the first histogram are by so much narrower with each step towards 0 and the declared
ends: amounts and durations lie there in domains that are a million times as wide."""
SPLIT = 32
"""Parts at most that a part of many rows is cut into; as many are wanted of all rows together."""
RARE = 3.0
"""Standard deviations of noise that a part must hold to be looked at by itself."""

STANDS_OUT = 2.0
"""Standard deviations above which a part's estimate is taken for more than noise."""
HEAP = 2.0
"""Times as dense as its neighbourhood that a part must be to be cut into SPLIT: a heap of equal
values is found by zooming in on it."""
MIDDLE, WIDE = 0.75, 0.125
"""Few rows are looked for inside a part that is WIDE times as wide as the interval of the MIDDLE
three quarters of the rows."""


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
    reach = width // FIRST
    while (reach := reach // NEARER) > 1:
        cuts |= {end + side for end in (low, 0, high + 1) for side in (-reach, reach)}
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
    heaped |= _is_wide(density) & (rows >= RARE * density.sigma)
    for i, mass in enumerate(rows):
        first, last = int(ends[i]), int(ends[i + 1])
        if mass >= target / 2 or heaped[i]:
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
    low, high = int(ends[0]), int(ends[-1])
    cuts |= {end for end in (int(ends[1]), int(ends[-2])) if 1 in (end - low, high - end)}
    return np.array(sorted(cuts), dtype=np.int64)


def _is_heaped(density: Density) -> NDArray[np.bool_]:
    """Returns which parts are HEAP times as dense as they and their two neighbours together."""
    widths = np.diff(density.ends).astype(np.float64)
    near = [np.convolve(x, np.ones(3), "same") for x in (density.rows, widths)]
    if len(widths) < 2:
        return np.ones(len(widths), dtype=np.bool_)
    heaped: NDArray[np.bool_] = density.rows / widths >= HEAP * near[0] / near[1]
    return heaped


def _is_wide(density: Density) -> NDArray[np.bool_]:
    """Returns which parts are WIDE beside the interval of the middle rows: it matters where in them
    rows lie, however few they are."""
    below = np.concatenate([[0.0], np.cumsum(density.rows)]) / density.total
    first, last = np.interp([(1 - MIDDLE) / 2, (1 + MIDDLE) / 2], below, density.ends)
    wide: NDArray[np.bool_] = np.diff(density.ends) >= max(WIDE * (last - first), 2)
    return wide


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
    set). Kept as they are, noise that is cut off at 0 would put rows into empty parts. So tails
    are fitted (tail_fit.py), and runs of neighbours between them in which no part stands out of
    the noise are shrunk towards 0 together (positive-part James-Stein of their sum).

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
        at, variance = np.searchsorted(h.ends, ends[:-1], side="right") - 1, max(h.sigma, 1e-6) ** 2
        precision += (at[:, None] == at) / variance
        right += h.counts[at] / variance
    covariance = np.asarray(np.linalg.inv(precision), dtype=np.float64)
    free = covariance @ right
    sigma = max(first.sigma, 1e-6)
    rows = _positive(precision, right, free)
    cleaned = _without_noise(free, rows, covariance, ends)
    if cleaned.sum() < rows.sum() / 2:  # all of it is noise, more or less: keep what there is
        cleaned = rows if rows.sum() > 0 else widths / widths.sum()
    return Density(ends, cleaned, sigma)


def _positive(precision: Floats, right: Floats, free: Floats) -> Floats:
    """Returns the estimate in which those that come out below 0 are 0.

    Args:
        precision: Of the parts together, shape (parts, parts).
        right: The precision times the estimate, shape (parts,).
        free: The estimate where all may be below 0, shape (parts,).
    """
    kept, rows = np.ones(len(right), dtype=np.bool_), free.copy()
    while (below := rows < 0).any():
        kept &= ~below
        rows[:] = 0.0
        rows[kept] = np.linalg.solve(precision[np.ix_(kept, kept)], right[kept])
    return rows


def _without_noise(free: Floats, rows: Floats, covariance: Floats, ends: Ints) -> Floats:
    """Returns the estimates with tails fitted, and what lies between them shrunk; see `estimate`.

    Parts of one value at an end are no tail: clamped and top-coded values lie there.
    """
    widths = np.diff(ends)
    spread = np.sqrt(np.diag(covariance))
    low, high = int(widths[0] == 1), len(rows) - int(widths[-1] == 1)
    cleaned = np.where(rows >= RARE * spread, rows, 0.0)
    if high - low < 2:
        return rows
    inner = slice(low, high)
    noise, of_parts = covariance[inner, inner], ends[low : high + 1]
    begin, upper = fit_upper_tail(of_parts, free[inner], noise)
    _, lower = fit_upper_tail(-of_parts[::-1], free[inner][::-1], noise[::-1, ::-1])
    first, last = low + len(lower), low + begin
    if first > last:  # one tail is all there is
        first = low
    else:
        cleaned[low:first] = lower[::-1]
    cleaned[last:high] = upper
    cleaned[first:last] = _shrunk_runs(
        free[first:last], rows[first:last], covariance[first:last, first:last]
    )
    return cleaned


def _shrunk_runs(free: Floats, rows: Floats, covariance: Floats) -> Floats:
    """Returns the estimates with runs that cannot be told from noise shrunk towards 0.

    Shrinking takes from runs that are there as from those that are not: what is left of all runs
    together is scaled to their sum before 0 was made the least, which has no bias.
    """
    rare = rows < STANDS_OUT * np.sqrt(np.diag(covariance))
    cleaned = rows.copy()
    for begin, end in _rare_runs(rare):
        run = slice(begin, end)
        total, variance = float(free[run].sum()), float(covariance[run, run].sum())
        keep = max(0.0, total - variance / total) if total > 0 else 0.0
        whole = float(rows[run].sum())
        cleaned[run] = rows[run] * (keep / whole) if whole > 0 else 0.0
    kept, unbiased = float(cleaned[rare].sum()), max(float(free[rare].sum()), 0.0)
    cleaned[rare] *= unbiased / kept if kept > 0 else 0.0
    return cleaned


def _rare_runs(rare: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Returns first and last + 1 of each run of rare parts.

    >>> _rare_runs(np.array([False, True, True, False, True]))
    [(1, 3), (4, 5)]
    """
    ends = np.flatnonzero(np.diff(np.concatenate([[False], rare, [False]]).astype(np.int8)))
    return [(int(a), int(b)) for a, b in ends.reshape(-1, 2)]
