"""The estimated distribution of each cell's values before they are summed.

A noised histogram of all cells together gives the pooled distribution. Beyond the last bin that is
clear of the noise, shares are extrapolated. Bins lie on a geometric grid, so that their numbers are
a scale of orders of magnitude. A cell's own distribution is the pooled one moved at a rate from
N(rate, spread²); `cell_shapes` estimates in which way it moves, and how far.

**Constants.** What they do to errors: `python examples/papers/means/run.py`.

| name | value | chosen by |
|---|---|---|
| SLOWEST | 0.67 | the fall of x^-2.3, 2^(-2.3 / 4): heavier tails cannot be told from noise |
| STEPS_BACK | 5 | five bins are four steps: one doubling of the values |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlpriv.answer import cell_shapes
from sqlpriv.answer.cell_shapes import CellShapes, Pooled
from sqlpriv.answer.means import Array
from sqlpriv.kernel.terms.algebra import Sum
from sqlpriv.kernel.terms.release import Release

SLOWEST, STEPS_BACK = 0.67, 5
"""The slowest fall from bin to bin that is extrapolated, and the bins it is estimated from."""


@dataclass(frozen=True, eq=False)
class Tails:
    """The estimated distributions of all cells; see the module's text.

    Args:
        pooled: Shares of the bins, of shape (bins,), adding up to 1, or all 0.
        ends: Of the bins, ascending, of shape (bins + 1,). Inside a bin values are uniform.
        noise: Standard deviation of the histogram's noise in a pooled share.
        shape: How the cells differ from the pooled distribution.
    """

    pooled: Array
    ends: Array
    noise: float
    shape: CellShapes

    def shares(self, deviations: float = 0.0) -> Array:
        """Returns each cell's shares, of shape (…, bins), so many spreads off its rate."""
        return self.shape.family(self.shape.rate + deviations * self.shape.spread)

    @property
    def middles(self) -> Array:
        """The middles of the bins, of shape (bins,)."""
        return np.asarray((self.ends[:-1] + self.ends[1:]) / 2)

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


def estimate_tails(counts: Release, own: Release | None, counted: Release, ends: Array, wide: Array,
             visible: float) -> Tails:  # fmt: skip
    """Returns the cells' distributions, from a histogram and from what was measured of each cell.

    Args:
        counts: The histogram, of all cells together.
        own: The cells' counts in wide bins, of shape (strata, key 1, …, wide bins), or the sums of
            their bins' numbers from the middle one, of shape (strata, key 1, …).
        counted: Noised counts.
        ends: Of the bins.
        wide: Inner edges of the wide bins, some of the ends.
        visible: Standard deviations of noise above which a bin's count is taken for rows.
    """
    pooled = pooled_distribution(counts.values.ravel(), visible * counts.sigma)
    noise = counts.sigma / max(float(counts.values.sum()), 1.0)
    if own is None:
        shape = cell_shapes.pooled_shapes(pooled, counted.values.shape)
    elif isinstance(own.query, Sum):
        shape = cell_shapes.shapes_by_place(pooled, own, counted)
    else:
        shape = cell_shapes.shapes_by_histogram(pooled, ends, wide, own, counted)
    return Tails(pooled.shares, ends, noise, shape)


def pooled_distribution(counts: Array, visible: float) -> Pooled:
    """Returns the shares of the pooled bins; see `extend_tail`, which is applied both ways.

    Args:
        counts: Noised, of shape (bins,).
        visible: Below this a count is taken for noise.
    """
    shares = np.maximum(extend_tail(counts, visible), extend_tail(counts[::-1], visible)[::-1])
    clear = np.flatnonzero(shares > visible)
    ends = (int(clear[0]), int(clear[-1])) if clear.size else (0, counts.size - 1)
    return Pooled(np.asarray(shares / max(shares.sum(), 1e-300)), *ends)


def extend_tail(pooled: Array, visible: float) -> Array:
    """Returns the bins from the largest on, the tail beyond the last visible one extrapolated.

    A bin is visible if its count is above `visible` and no bin between it and the largest one is
    below, or if its count is above twice `visible`. A lone bin of noise would otherwise ask for an
    interval as wide as the declared one.

    Bins below the largest are 0 here. On the geometric grid the tail of a power law falls by the
    same factor from bin to bin. The factor is that of the last four steps, at most SLOWEST, and
    extrapolated counts stay below what would have been visible.

    >>> extend_tail(np.array([1.0, 800, 400, 200, 100, 0, 0, 0]), 30.0).round().tolist()
    [0.0, 800.0, 400.0, 200.0, 100.0, 30.0, 25.0, 12.0]
    """
    number, clear = np.arange(pooled.size), pooled > visible
    top = int(pooled.argmax())
    gap = top + int(np.argmin(np.append(clear[top:], False)))
    kept = (number >= top) & ((clear & (number < gap)) | (pooled > 2 * visible))
    if kept.sum() < 2:
        return np.where(kept, pooled, 0.0)
    visible_bins = np.flatnonzero(kept)
    last, back = visible_bins[-1], visible_bins[max(-STEPS_BACK, -visible_bins.size)]
    rate = min(float(pooled[last] / pooled[back]) ** (1 / float(last - back)), SLOWEST)
    tail = np.minimum(pooled[last] * rate ** np.maximum(number - last, 0.0), visible)
    return np.where(number > last, tail, np.where(kept, pooled, 0.0))
