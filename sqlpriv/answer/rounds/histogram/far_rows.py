"""Rows that lie far beyond all that is seen, and are too few to stand out of the noise.

Of 1,000 rows at epsilon 1 noise hides fifty that lie a hundred times as far out as the others: one
bin holds few of them, and nothing goes on from the others to them. No interval counts on such rows,
since one that did would be longer than the plain mean's. So they are told of, where

- the declared interval reaches `BEYOND_SEEN` times as far as what is seen: who declares that says
  that such values may be, and
- the noise allows `MANY_FAR` of all rows there. The noised counts outside the range that is seen
  tell how many these may be, and so do the rows that are counted and are not inside it. Both are
  weighed by their noise. What the tail that goes on from what is seen holds is no part of it; rows
  that are counted and seen nowhere are, whatever is thought of where they lie.

By how much these rows would move a mean follows from a place half way to the end by orders of
magnitude, at the least √BEYOND_SEEN times as far out as what is seen.

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds
from sqlpriv.answer.rounds.histogram.tail_constants import (
    BEYOND_SEEN,
    HIDDEN_DEVIATIONS,
    MANY_FAR,
    OUTLYING,
)


def moved_by_far_rows(
    counts: Array,
    is_visible: NDArray[np.bool_],
    bins: BinEnds,
    rows: float,
    noise: tuple[float, float],
    estimated: Array,
) -> float:
    """Returns by how much rows that noise may hide far out would move the mean of all; else 0.

    Args:
        counts: Noised, of shape (bins,).
        is_visible: Which bins stand out of the noise.
        bins: Their ends.
        rows: Noised count of all.
        noise: Standard deviations, of a bin's count and of `rows`.
        estimated: Which part of all rows is seen in each bin, or goes on from what is seen.

    Under a noise of 20 a twentieth of 1,000 rows may be hidden in twenty bins, under 1 hardly any:

    >>> ends = np.append(0.0, 2.0 ** np.arange(1, 24))
    >>> counts = np.where(np.arange(23) < 3, 333.0, 0.0)
    >>> for sigma in (20.0, 1.0):
    ...     noise = sigma, 4.0
    ...     bins, estimated = BinEnds.between(ends), counts / 1000
    ...     moved = moved_by_far_rows(counts, counts > 0, bins, 1000.0, noise, estimated)
    ...     print(round(moved))
    444
    0
    """
    sigma, of_rows = noise
    visible_bins = np.flatnonzero(is_visible)
    if not visible_bins.size or rows <= 0:
        return 0.0
    low, high = visible_bins[0], visible_bins[-1]
    middle = min(max(0.0, float(bins.lowest[0])), float(bins.highest[-1]))
    reach = max(abs(float(bins.highest[high]) - middle), abs(float(bins.lowest[low]) - middle))
    end = max(float(bins.highest[-1]) - middle, middle - float(bins.lowest[0]))
    if not 0 < BEYOND_SEEN * reach <= end:
        return 0.0
    inside = np.arange(counts.size)
    inside = (low <= inside) & (inside <= high)
    outside = np.clip(counts[~inside], -OUTLYING * sigma, OUTLYING * sigma)
    rows_outside = np.array([float(outside.sum()), rows - float(counts[inside].sum())])
    variance = np.array([sigma**2 * outside.size, of_rows**2 + sigma**2 * inside.sum()])
    weight = 1 / np.maximum(variance, 1e-9)
    hidden = float(weight @ rows_outside / weight.sum()) - rows * float(estimated[~inside].sum())
    most = (max(hidden, 0.0) + HIDDEN_DEVIATIONS / float(weight.sum()) ** 0.5) / rows
    return most * (reach * end) ** 0.5 if most >= MANY_FAR else 0.0
