"""Rows that may be clamped to a declared end, where noise hides their count.

Whoever lies beyond an end is clamped to it: the end holds an atom of k rows, or none. An atom that
does not stand out of the noise was taken for none, and of 1,000 values of which 50 were clamped a
mean at epsilon 1 erred eight times as far as the plain one, ± and all. So the atom is believed in
as far as its noised count c speaks for it:

    P(an atom) = MOST_CLAMPED f before,   ln k uniform between those of 1 and of all rows
    after      times P(c | k) / P(c | 0), by the density of the noise

f is the estimated share of rows in the bin next to the end, by that of the outermost bin that is
seen: where the tail has come to nothing before the end, nobody is clamped there, and a far end
moves nothing. The mean of k is a part of the distribution, and moves ends of clipping; its
deviation is what the interval counts on.

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds
from sqlpriv.answer.rounds.histogram.tail_constants import MOST_CLAMPED

SIZES = 60
"""Sizes of an atom that are compared."""


def hidden_end_atoms(
    counts: Array,
    is_visible: NDArray[np.bool_],
    bins: BinEnds,
    shares: Array,
    rows: float,
    noise: tuple[float, bool],
) -> tuple[Array, Array]:
    """Returns the rows that are expected at ends whose atoms are not seen, and their deviation.

    Args:
        counts: Noised, of shape (bins,).
        is_visible: Which bins stand out of the noise.
        bins: Their ends.
        shares: Estimated, of the bins.
        rows: Noised count of all.
        noise: Standard deviation of a count's, and whether it is Gaussian; else Laplace.

    Returns:
        Both of shape (bins,), 0 but at the ends.

    >>> bins = BinEnds(np.array([0.0, 0, 4, 8]), np.array([0.0, 4, 8, 8]))
    >>> seen = np.array([False, True, True, False])
    >>> for at_end in (0.0, 25.0):
    ...     counts = np.array([0, 500, 400, at_end])
    ...     shares = np.array([0, 0.5, 0.4, 0.0])
    ...     expected, _ = hidden_end_atoms(counts, seen, bins, shares, 1000.0, (14.0, False))
    ...     print(expected[-1].round(1))
    1.0
    12.0
    """
    expected, deviation = np.zeros(counts.size), np.zeros(counts.size)
    visible_bins = np.flatnonzero(is_visible & ~bins.special)
    ordinary = np.flatnonzero(~bins.special)
    if not visible_bins.size or rows <= 1:
        return expected, deviation
    for at, outermost, next_to_end in (
        (0, visible_bins[0], ordinary[0]),
        (counts.size - 1, visible_bins[-1], ordinary[-1]),
    ):
        if bins.special[at] and not is_visible[at]:
            falls = min(float(shares[next_to_end] / max(shares[outermost], 1e-300)), 1.0)
            size = _believed_size(float(counts[at]), MOST_CLAMPED * falls, rows, noise)
            expected[at], deviation[at] = size
    return expected, deviation


def _believed_size(
    count: float, before: float, rows: float, noise: tuple[float, bool]
) -> tuple[float, float]:
    """Returns the mean of an atom's size and its standard deviation, one of no rows included."""
    size = np.append(0.0, np.geomspace(1.0, rows, SIZES))
    sigma, gaussian = noise
    apart = np.abs(count - size) / max(sigma, 0.01)
    fit = -(apart**2) / 2 if gaussian else -(2**0.5) * apart
    weight = np.append(1 - before, np.full(SIZES, before / SIZES)) * np.exp(fit - fit.max())
    weight /= weight.sum()
    mean = float(weight @ size)
    return mean, float(np.sqrt(weight @ (size - mean) ** 2))
