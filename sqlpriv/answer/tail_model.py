"""What is believed of each cell's values before they are summed: one distribution, moved by cell.

A noised histogram of all cells together gives the pooled distribution; what its bins cannot tell
from noise is drawn on from the last that they can. Bins lie on a geometric grid, so that their
numbers are a scale of orders of magnitude. A cell's own distribution is the pooled one moved at a
rate from N(rate, spread²): `estimate.shapes` tells in which way, and how far.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sqlpriv.answer import cell_shapes
from sqlpriv.answer.cell_shapes import Pooled, Shape
from sqlpriv.answer.means import Array
from sqlpriv.kernel.terms.algebra import Sum
from sqlpriv.kernel.terms.release import Release


@dataclass(frozen=True, eq=False)
class Tails:
    """The belief of the module's text.

    Args:
        pooled: Shares of the bins, of shape (bins,), adding up to 1, or all 0.
        ends: Of the bins, ascending, of shape (bins + 1,). Inside a bin values are uniform.
        noise: Standard deviation of the noise in a pooled share.
        shape: Of the cells.
    """

    pooled: Array
    ends: Array
    noise: float
    shape: Shape

    def shares(self, deviations: float = 0.0) -> Array:
        """Returns each cell's shares, shape (…, bins), so many spreads off its rate."""
        return self.shape.family(self.shape.rate + deviations * self.shape.spread)

    @property
    def middles(self) -> Array:
        """Of the bins, of shape (bins,)."""
        return np.asarray((self.ends[:-1] + self.ends[1:]) / 2)

    def share_noise(self) -> Array:
        """Returns how far the histogram's noise may put them off: each by itself at most.

        So where hardly anything is drawn on, hardly anything is feared: a few values far beyond
        all others that are seen, a spike, are clipped off, and are missed, by the half-width, too.
        One that allowed for it would tell nothing: as many rows at the interval's end as a bin
        needs to be seen (75 / epsilon of them) weigh many times what the plain mean's noise does.
        """
        return np.minimum(self.noise / np.maximum(self.pooled, 1e-300), 1.0) * self.shares()


def believed(counts: Release, own: Release | None, counted: Release, ends: Array, wide: Array,
             visible: float) -> Tails:  # fmt: skip
    """Returns what a histogram and, of several cells, their own measurements tell.

    Args:
        counts: The histogram, of all cells together.
        own: The cells' counts in wide bins, of shape (strata, key 1, …, wide bins), or the sums of
            their bins' numbers from the middle one, of shape (strata, key 1, …).
        counted: Noised counts.
        ends: Of the bins.
        wide: Inner edges of the wide bins, some of the ends.
        visible: From how many deviations of its noise on a bin counts as seen.
    """
    pooled = seen(counts.values.ravel(), visible * counts.sigma)
    noise = counts.sigma / max(float(counts.values.sum()), 1.0)
    if own is None:
        shape = cell_shapes.unknown(pooled, counted.values.shape)
    elif isinstance(own.query, Sum):
        shape = cell_shapes.by_place(pooled, own, counted)
    else:
        shape = cell_shapes.by_histogram(pooled, ends, wide, own, counted)
    return Tails(pooled.shares, ends, noise, shape)


def seen(counts: Array, visible: float) -> Pooled:
    """Returns the bins that are seen, and those `extended` from the largest both ways.

    Args:
        counts: Noised, of shape (bins,).
        visible: Below this a count is taken for noise.
    """
    found = np.maximum(extended(counts, visible), extended(counts[::-1], visible)[::-1])
    clear = np.flatnonzero(found > visible)
    ends = (int(clear[0]), int(clear[-1])) if clear.size else (0, counts.size - 1)
    return Pooled(np.asarray(found / max(found.sum(), 1e-300)), *ends)


def extended(pooled: Array, visible: float) -> Array:
    """Returns the bins from the largest on, the tail above the last visible one drawn on.

    Visible are bins above `visible` without a gap from the largest one on, and wherever they are
    above twice that: a lone bin of noise would call for an interval as wide as the declared one.

    Bins below the largest are 0 here. On the geometric grid the tail of a power law falls by the
    same factor from bin to bin. It is taken over the last four steps (one doubling), at most 0.67
    (tails heavier than x^-2.3 are told too little apart from noise), and what is drawn on stays
    below what would have been visible.
    """
    number, clear = np.arange(pooled.size), pooled > visible
    top = int(pooled.argmax())
    gap = top + int(np.argmin(np.append(clear[top:], False)))
    kept = (number >= top) & ((clear & (number < gap)) | (pooled > 2 * visible))
    if kept.sum() < 2:
        return np.where(kept, pooled, 0.0)
    found = np.flatnonzero(kept)
    last, back = found[-1], found[max(-5, -found.size)]
    rate = min(float(pooled[last] / pooled[back]) ** (1 / float(last - back)), 0.67)
    drawn = np.minimum(pooled[last] * rate ** np.maximum(number - last, 0.0), visible)
    return np.where(number > last, drawn, np.where(kept, pooled, 0.0))
