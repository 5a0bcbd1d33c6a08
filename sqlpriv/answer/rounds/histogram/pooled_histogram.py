"""The distribution of all cells' values together, out of one noised histogram.

1. Neighbouring bins that differ by no more than noise are made equal (`merge_bins`).
2. Bins that stand out of the noise are visible; between two of them counts are taken as they are.
3. Beyond the last visible bin, on either side, the tail is the mean over many that fall, weighted
   by how likely they make the noised counts there (`extrapolate`); their spread is an error that
   all cells share. Away from the grid's middle bins become wider, and counts fall from bin to bin.
   Towards it they become narrower, and wider again beyond: there densities fall with distance, or
   stay as they are up to the interval's end.

Bins lie on a geometric grid, so that their numbers are a scale of orders of magnitude.

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.histogram.curved_tails import Falls, curved_falls, extrapolate
from sqlpriv.answer.rounds.histogram.pooled_bins import Pooled
from sqlpriv.answer.rounds.histogram.tail_constants import (
    MASS,
    RUN,
    SLOWEST_FALL,
    STEPS_BACK,
)

TWO_DOUBLINGS = 8
"""So many bins on, a width away from the middle has doubled twice. Four bins on it may be less: the
edges of bins are rounded by up to 13 % (`mean_bins.bin_edges`)."""


class SmoothedHistogram(NamedTuple):
    """What a noised histogram shows.

    Args:
        pooled: The distribution.
        is_visible: Which bins stand out of the noise, of shape (bins,).
        doubtful: Standard deviations of the extrapolated shares, of shape (bins,). They are of one
            sign: a tail is heavier everywhere, or lighter.
        merged: The noised counts, bins that differ by no more than noise made equal; an atom's
            count is as it was.
    """

    pooled: Pooled
    is_visible: NDArray[np.bool_]
    doubtful: Array
    merged: Array


def smooth_histogram(
    counts: Array,
    sigma: float,
    levels: tuple[float, float, float],
    special: NDArray[np.bool_] | None = None,
    starts: Array | None = None,
) -> SmoothedHistogram:
    """Returns the distribution that a noised histogram shows; see the module's text.

    Args:
        counts: Noised, of shape (bins,).
        sigma: Standard deviation of their noise.
        levels: Below these a count is taken for noise: next to visible bins, alone, and an atom.
        special: Which bins are atoms, of shape (bins,), or None. They are no part of a tail: one
            that is clear has its count, and one that is not has none.
        starts: Where the bins begin, ascending, of shape (bins,); None for bins of one width.

    An atom of 300 rows at the upper end is kept, and raises no bin between:

    >>> counts = np.array([0, 800, 400, 100, 0, 0, 300.0])
    >>> atoms = np.array([True, *[False] * 5, True])
    >>> shares = smooth_histogram(counts, 12.0, (30.0, 75.0, 75.0), atoms).pooled.shares
    >>> (shares * 1600).round().tolist()
    [0.0, 795.0, 398.0, 99.0, 8.0, 2.0, 298.0]
    """
    if special is None or np.count_nonzero(~special) < 2:
        special = np.zeros(counts.size, bool)
    raw = counts[~special]
    visible, clear, _ = levels
    of_run = max(clear, RUN * sigma)
    merged, size = merge_bins(raw, of_run)
    root, is_long = np.sqrt(size), size >= STEPS_BACK
    alone = np.where(size > 1, of_run, clear) / root
    ends_at = np.where(is_long, alone, visible / root), alone
    width = np.ones(raw.size)
    if starts is not None and raw.size > 1:
        width = np.diff(starts[~special])
        width = np.append(width, width[-1])
    up = extend_tail(merged, raw, sigma, *ends_at, width)
    near, far = (level[::-1] for level in ends_at)
    down = extend_tail(merged[::-1], raw[::-1], sigma, near, far, width[::-1]).mirror()
    shares, is_visible = np.zeros(counts.size), special & (counts > levels[2])
    spread = np.zeros(counts.size)
    shares[~special] = np.maximum(up.counts, down.counts)
    spread[~special] = np.maximum(up.spread, down.spread)
    is_visible[~special] = up.is_visible | down.is_visible
    shares[special] = np.where(is_visible, counts, 0.0)[special]
    visible_bins = np.flatnonzero(is_visible)
    ends = (
        (int(visible_bins[0]), int(visible_bins[-1])) if visible_bins.size else (0, counts.size - 1)
    )
    total = max(float(shares.sum()), 1e-300)
    of_bins = counts.astype(float)
    of_bins[~special] = merged
    return SmoothedHistogram(Pooled(shares / total, *ends), is_visible, spread / total, of_bins)


def merge_bins(counts: Array, clear: float) -> tuple[Array, NDArray[np.int_]]:
    """Returns the counts, neighbours that differ by no more than noise made equal.

    Runs of bins have one count, their mean, such that the squared distances from the noised counts
    plus a charge for each run are least (Killick, Fearnhead and Eckley 2012, by the plain dynamic
    programme). The charge is what a lone bin of noise at `clear` would save, halved, as that bin
    makes two runs more. A run of m bins has the noise of one bin over √m.

    Args:
        counts: Noised, of shape (bins,).
        clear: What noise alone hardly exceeds.

    Returns:
        The means, and how many bins are in each bin's run, both of shape (bins,).

    >>> means, sizes = merge_bins(np.array([900.0, 20, 60, 40, 0]), 60.0)
    >>> means.tolist(), sizes.tolist()
    ([900.0, 30.0, 30.0, 30.0, 30.0], [1, 4, 4, 4, 4])
    """
    bins, charge = counts.size, clear**2 / 2
    total, squares = (np.concatenate([[0.0], np.cumsum(x)]) for x in (counts, counts**2))
    # of runs that end before bin `end` and begin with bin `start`, all at once
    length = np.maximum(np.arange(1, bins + 1)[:, None] - np.arange(bins), 1)
    apart = squares[1:, None] - squares[:-1] - (total[1:, None] - total[:-1]) ** 2 / length
    least, first = np.zeros(bins + 1), np.zeros(bins + 1, int)
    for end in range(1, bins + 1):
        costs = least[:end] + apart[end - 1, :end] + charge
        first[end] = int(costs.argmin())
        least[end] = costs[first[end]]
    means, sizes, end = np.empty(bins), np.empty(bins, int), bins
    while end:
        start = first[end]
        means[start:end] = (total[end] - total[start]) / (end - start)
        sizes[start:end] = end - start
        end = start
    return means, sizes


def without_masses(counts: Array, is_visible: NDArray[np.bool_]) -> tuple[Array, NDArray[np.bool_]]:
    """Returns the counts with the larger of both neighbours' in the place of a mass of equal
    values, and which bins are masses: no part of a tail that is seen beside them.

    Both neighbours of a mass hold less than `MASS` of its rows, and one of them is visible. Where
    fewer than two bins are seen that are none, noise may show one beside a mass.

    >>> counts = np.array([900.0, 800, 5000, 20, 10])
    >>> bare, masses = without_masses(counts, counts > 100)
    >>> bare.tolist(), int(masses.argmax())
    ([900.0, 800.0, 800.0, 20.0, 10.0], 2)
    """
    larger, is_beside = counts.copy(), np.zeros(counts.size, bool)
    larger[1:-1] = np.maximum(counts[:-2], counts[2:])
    is_beside[1:-1] = is_visible[:-2] | is_visible[2:]
    masses = is_visible & (larger < MASS * counts)
    masses &= is_beside & (np.count_nonzero(is_visible & ~masses) >= 2)
    return np.where(masses, larger, counts), masses


class ExtendedTail(NamedTuple):
    """Bins from the largest on, and 0 below: see `extend_tail`; all of shape (bins,)."""

    counts: Array
    is_visible: NDArray[np.bool_]
    spread: Array

    def mirror(self) -> ExtendedTail:
        """Returns the same from the last bin to the first."""
        return ExtendedTail(self.counts[::-1], self.is_visible[::-1], self.spread[::-1])


def extend_tail(
    merged: Array,
    counts: Array,
    sigma: float,
    visible: Array | float,
    clear: Array | float,
    width: Array | None = None,
) -> ExtendedTail:
    """Returns the bins from the largest on, extrapolated beyond the last visible one.

    A bin is visible if its count is above `visible` and no bin between it and the largest one is
    below, or if its count is above `clear`. A lone bin of noise would otherwise ask for an interval
    as wide as the declared one.

    Args:
        merged: Counts of the bins by `merge_bins`, of shape (bins,).
        counts: The noised counts themselves.
        sigma: Standard deviation of their noise.
        visible, clear: See `smooth_histogram`; of merged counts, so one for each bin.
        width: Of the bins, of shape (bins,); None where they are alike.

    >>> counts = np.array([1.0, 800, 400, 200, 100, 50, 20, 15])
    >>> extend_tail(counts, counts, 12.0, 70.0, 90.0).counts.round().tolist()
    [0.0, 800.0, 400.0, 200.0, 100.0, 47.0, 23.0, 11.0]
    """
    number, stands_out = np.arange(merged.size), merged > visible
    top = int(merged.argmax())
    gap = top + int(np.argmin(np.append(stands_out[top:], False)))
    is_visible = (number >= top) & ((stands_out & (number < gap)) | (merged > clear))
    spread = np.zeros(merged.size)
    visible_bins = np.flatnonzero(is_visible)
    if visible_bins.size < 2:
        return ExtendedTail(np.where(is_visible, merged, 0.0), is_visible, spread)
    last, back = visible_bins[-1], visible_bins[max(-STEPS_BACK, -visible_bins.size)]
    size = np.ones(merged.size) if width is None else width / width[last]
    slowest = 1.0
    if size[min(last + TWO_DOUBLINGS, merged.size - 1)] >= 1:  # away from the middle
        size, slowest = np.ones(merged.size), SLOWEST_FALL
    place = np.cumsum(size) - size / 2
    run = np.cumsum(np.append(True, np.diff(merged) != 0)) - 1  # of bins that were made equal
    bare, masses = without_masses(merged, is_visible)
    of_run = (np.bincount(run, bare) / np.bincount(run, size))[run]
    level, before = float(of_run[last]), float(of_run[back])
    rate = min((level / before) ** (1 / float(place[last] - place[back])), slowest)
    falls = Falls.straight(rate)
    if slowest < 1:
        falls = curved_falls(counts[: last + 1], (is_visible & ~masses)[: last + 1], sigma, falls)
    tail, spread[last + 1 :] = extrapolate(
        counts[last + 1 :],
        level,
        falls,
        sigma,
        size[last + 1 :],
        (place - place[last])[last + 1 :],
    )
    inside = np.where(number >= top, np.maximum(merged, 0.0), 0.0)[: last + 1]
    return ExtendedTail(np.concatenate([inside, tail]), is_visible, spread)
