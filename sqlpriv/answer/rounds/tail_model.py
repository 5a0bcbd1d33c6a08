"""The estimated distribution of each cell's values before they are summed.

A noised histogram of all cells together gives the pooled distribution. Beyond the last bin that is
clear of the noise, shares are extrapolated. Bins lie on a geometric grid, so that their numbers are
a scale of orders of magnitude. A cell's own distribution is the pooled one moved at a rate from
N(rate, spread²); `cell_shapes` estimates in which way it moves, and how far.

**Constants.** What they do to errors: `python examples/papers/means/run.py`.

| name | value | chosen by |
|---|---|---|
| SLOWEST | 0.75 | the fall of x^-1.66, 2^(-1.66 / 4). At 0.67 intervals hold 69 % of the means |
|  |  | of Pareto 1.5 values; at 0.82 its errors are 3.5 times as large (coverage.py, 18 strata) |
| STEPS_BACK | 5 | five bins are four steps: one doubling of the values |
| VISIBLE | 0.02 | next to bins with rows: two of 100 empty bins are taken for rows |
| CLEAR | 0.0001 | apart from them: one of 100 tables has such a bin. At 0.0017, one in 30 answers |
|  |  | had a lone bin of noise, and with it 30 times the error (zero-inflated, coverage.py) |
| MANY | 80 | false rows of 97 empty bins at VISIBLE, 8 σ, are then a tenth of all |
| UNSEEN | 0.1 | more rows than that, anywhere, are more than a tail that goes on as it fell |
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.means import Array
from sqlpriv.answer.rounds import cell_shapes
from sqlpriv.answer.rounds.cell_shapes import BinEnds, CellShapes, Pooled
from sqlpriv.kernel.terms.algebra import Sum
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Release

VISIBLE, CLEAR, MANY = 0.02, 1e-4, 80.0
"""Chances with which an empty bin is taken for rows: CLEAR where it stands alone, or where the
table has fewer rows than MANY standard deviations of the histogram's noise."""
UNSEEN = 0.1
"""The most of all rows that may be outside the visible bins, by two standard deviations; where it
may be more, nothing is taken for known and nothing is clipped."""
SLOWEST, STEPS_BACK = 0.75, 5
"""The slowest fall from bin to bin that is extrapolated, and the bins it is estimated from."""


@dataclass(frozen=True, eq=False)
class Tails:
    """The estimated distributions of all cells; see the module's text.

    Args:
        pooled: Shares of the bins, of shape (bins,), adding up to 1, or all 0.
        bins: The lowest and highest value of each bin; between them values are uniform.
        noise: Standard deviation of the histogram's noise in a pooled share.
        shape: How the cells differ from the pooled distribution.
        visible: Rows that a bin may hold and yet not be told from noise.
    """

    pooled: Array
    bins: BinEnds
    noise: float
    shape: CellShapes
    visible: float = 0.0

    def shares(self, deviations: float = 0.0) -> Array:
        """Returns each cell's shares, of shape (…, bins), so many spreads off its rate."""
        return self.shape.family(self.shape.rate + deviations * self.shape.spread)

    @property
    def middles(self) -> Array:
        """The middles of the bins, of shape (bins,)."""
        return (self.bins.lowest + self.bins.highest) / 2

    def share_noise(self) -> Array:
        """Returns the standard deviation of each share's error, of shape (…, bins).

        It is what the histogram's noise makes of a share, and never more than the share itself.
        The variance of what clipping loses grows by its square: the histogram was measured with
        noise, so the mass that it shows beyond the clipping interval is uncertain.

        The cap has a price: a bin whose share is nearly 0 adds nearly no variance, although rows
        may lie there that its noise hides. A few values far beyond all others are then clipped
        off, and the half-width does not tell. A half-width without the cap would tell nothing:
        the 75 / epsilon rows that a bin needs to stand out of the noise weigh, at the interval's
        end, many times the plain mean's noise.
        """
        return np.minimum(self.noise / np.maximum(self.pooled, 1e-300), 1.0) * self.shares()


def estimate_tails(
    counts: Release, own: Release | None, counted: Release, bins: BinEnds, wide: Array
) -> Tails:
    """Returns the cells' distributions, from a histogram and from what was measured of each cell.

    Args:
        counts: The noised histogram of all cells together, of shape (1, bins).
        own: The cells' counts in wide bins, of shape (strata, key 1, …, wide bins), or the sums of
            their bins' numbers from the middle one, of shape (strata, key 1, …).
        counted: Noised counts of the cells, of shape (strata, key 1, …).
        bins: The ends of the bins.
        wide: Inner edges of the wide bins, some of the bins' own.
    """
    rows, sigma = float(counted.values.sum()), max(counts.sigma, 1e-300)
    clear = noise_level(counts, CLEAR)
    visible = noise_level(counts, VISIBLE) if rows > MANY * sigma else clear
    pooled = pooled_distribution(counts.values.ravel(), visible, clear, bins.special)
    is_visible = counts.values.ravel() > visible
    unseen = max(rows - float(counts.values.ravel()[is_visible].sum()), 0.0)
    unseen += 2 * float(np.hypot(counted.sigma, sigma * np.sqrt(is_visible.sum())))
    if unseen > UNSEEN * rows:
        pooled = pooled._replace(shares=np.zeros_like(pooled.shares))
    noise = counts.sigma / max(float(counts.values.sum()), 1.0)
    if own is None or not pooled.shares.any():
        shape = cell_shapes.pooled_shapes(pooled, counted.values.shape)
    elif isinstance(own.query, Sum):
        shape = cell_shapes.shapes_by_place(pooled, own, counted)
    else:
        shape = cell_shapes.shapes_by_histogram(pooled, bins, wide, own, counted)
    return Tails(pooled.shares, bins, noise, shape, visible)


def pooled_distribution(
    counts: Array, visible: float, clear: float, special: NDArray[np.bool_] | None = None
) -> Pooled:
    """Returns the shares of the pooled bins; see `extend_tail`, which is applied both ways.

    Args:
        counts: Noised, of shape (bins,).
        visible: Below this a count is taken for noise.
        clear: A count that stands alone, or of an atom, is taken for noise below this.
        special: Which bins are atoms, of shape (bins,), or None. They are no part of a tail: one
            that is clear has its count, and one that is not has none.

    An atom of 300 rows at the upper end is kept, and raises no bin between:

    >>> counts = np.array([0, 800, 400, 100, 0, 0, 300.0])
    >>> pooled = pooled_distribution(counts, 30.0, 75.0, np.array([True, *[False] * 5, True]))
    >>> (pooled.shares * 1600).round().tolist()
    [0.0, 779.0, 390.0, 97.0, 29.0, 12.0, 292.0]
    """
    if special is None or np.count_nonzero(~special) < 2:
        special = np.zeros(counts.size, bool)
    shares, inner = np.zeros(counts.size), counts[~special]
    upwards = extend_tail(inner, visible, clear)
    tails = np.maximum(upwards, extend_tail(inner[::-1], visible, clear)[::-1])
    shares[~special] = tails
    shares[special & (counts > clear)] = counts[special & (counts > clear)]
    seen_bins = np.flatnonzero(shares > visible)
    ends = (int(seen_bins[0]), int(seen_bins[-1])) if seen_bins.size else (0, counts.size - 1)
    return Pooled(np.asarray(shares / max(shares.sum(), 1e-300)), *ends)


def noise_level(release: Release, chance: float) -> float:
    """Returns what a count's noise exceeds with the given chance.

    >>> from sqlpriv.kernel.terms.algebra import Count, Scan
    >>> from sqlpriv.kernel.terms.budget import Epsilon, Rho
    >>> for price in (Epsilon(1), Rho(1)):
    ...     release = Release(0, Count(Scan("t")), np.zeros(1), 1.0, price)
    ...     print([round(noise_level(release, chance), 1) for chance in (0.02, 1e-4)])
    [2.3, 6.0]
    [2.1, 3.7]
    """
    if isinstance(release.price, Rho):
        return float(NormalDist().inv_cdf(1 - chance) * release.sigma)
    return float(np.log(0.5 / chance) / np.sqrt(2) * release.sigma)


def extend_tail(pooled: Array, visible: float, clear: float) -> Array:
    """Returns the bins from the largest on, the tail beyond the last visible one extrapolated.

    A bin is visible if its count is above `visible` and no bin between it and the largest one is
    below, or if its count is above `clear`. A lone bin of noise would otherwise ask for an interval
    as wide as the declared one.

    Bins below the largest are 0 here. On the geometric grid the tail of a power law falls by the
    same factor from bin to bin. The factor is that of the last four steps, at most SLOWEST, and
    extrapolated counts stay below what would have been visible.

    >>> extend_tail(np.array([1.0, 800, 400, 200, 100, 0, 0, 0]), 30.0, 60.0).round().tolist()
    [0.0, 800.0, 400.0, 200.0, 100.0, 30.0, 25.0, 12.0]
    """
    number, is_visible = np.arange(pooled.size), pooled > visible
    top = int(pooled.argmax())
    gap = top + int(np.argmin(np.append(is_visible[top:], False)))
    kept = (number >= top) & ((is_visible & (number < gap)) | (pooled > clear))
    if kept.sum() < 2:
        return np.where(kept, pooled, 0.0)
    visible_bins = np.flatnonzero(kept)
    last, back = visible_bins[-1], visible_bins[max(-STEPS_BACK, -visible_bins.size)]
    rate = min(float(pooled[last] / pooled[back]) ** (1 / float(last - back)), SLOWEST)
    tail = np.minimum(pooled[last] * rate ** np.maximum(number - last, 0.0), visible)
    return np.where(number > last, tail, np.where(kept, pooled, 0.0))
