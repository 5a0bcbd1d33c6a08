"""The bins of a histogram that is pooled over all cells, and how the values lie in these bins.

The clipped mean needs to know what an interval [c - h, c + h] cuts off on either side: which part
of the values lies beyond an end, and by how much on average. Here this is computed bin by bin.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array


class BinEnds(NamedTuple):
    """The lowest and the highest value of each bin, ascending, of shape (bins,), in units of x.

    They are equal where the bin holds one value, an atom. `offset` is how far the mean of a bin's
    values lies above its middle.
    """

    lowest: Array
    highest: Array
    offset: Array | float = 0.0

    @property
    def means(self) -> Array:
        """The means of the bins' values, of shape (bins,)."""
        return np.asarray((self.lowest + self.highest) / 2 + self.offset)

    def with_slopes(self, shares: Array) -> BinEnds:
        """Returns the bins with means that follow the slope of the density, not the bins' middles.

        Inside a bin the density is taken for a straight line. Its slope is that between the
        densities of the two bins beside it, but so small that the line stays above 0. An atom has
        no slope, and is passed over as a neighbour. In a tail that falls by a quarter from bin to
        bin the mean lies nearer to the lower end:

        >>> bins = BinEnds.between(np.array([0.0, 1, 2, 3]))
        >>> bins.with_slopes(np.array([4.0, 3.0, 2.0])).means.round(3).tolist()
        [0.5, 1.472, 2.5]

        Args:
            shares: Of the bins, of shape (bins,).
        """
        wide = np.flatnonzero(~self.atoms)
        offset = np.zeros(shares.size)
        if wide.size > 2:
            width = (self.highest - self.lowest)[wide]
            density = shares[wide] / width
            middle = ((self.lowest + self.highest) / 2)[wide]
            slope = np.zeros(wide.size)
            slope[1:-1] = (density[2:] - density[:-2]) / (middle[2:] - middle[:-2])
            most = 2 * density / width
            slope = np.clip(slope, -most, most)
            offset[wide] = slope * width**2 / (12 * np.maximum(density, 1e-300))
        return self._replace(offset=offset)

    @classmethod
    def between(cls, ends: Array) -> BinEnds:
        """Returns bins without gaps between ends of shape (bins + 1,)."""
        return cls(ends[:-1], ends[1:])

    def mirror(self) -> BinEnds:
        """Returns the bins of -x, ascending."""
        offset = np.broadcast_to(np.asarray(self.offset, float), self.lowest.shape)
        return BinEnds(-self.highest[::-1], -self.lowest[::-1], -offset[::-1])

    @property
    def atoms(self) -> NDArray[np.bool_]:
        """Which bins hold one value, of shape (bins,)."""
        return np.asarray(self.lowest == self.highest)

    @property
    def special(self) -> NDArray[np.bool_]:
        """Which bins are atoms at an end or at 0, where values pile up, of shape (bins,)."""
        ends = (self.lowest == self.lowest[0]) | (self.lowest == self.highest[-1])
        return np.asarray(self.atoms & (ends | (self.lowest == 0)))


class Pooled(NamedTuple):
    """The pooled distribution.

    Args:
        shares: Of the bins, of shape (bins,), adding up to 1, or all 0.
        first, last: The outermost bins that the histogram shows; shares beyond are extrapolated.
    """

    shares: Array
    first: int
    last: int


class Side(NamedTuple):
    """What of each bin lies beyond one end of an interval.

    Args:
        excess: By how much the bin's values lie beyond the end, on average over all of them (0
            for those inside), in units of x, of shape (…, bins).
        part: Which part of the bin's values lies beyond the end, from 0 to 1, of shape (…, bins).
    """

    excess: Array
    part: Array


def sides(bins: BinEnds, centre: Array, half: Array) -> tuple[Side, Side]:
    """Returns what lies above c + h, and what lies below c - h. Values are uniform inside a bin.

    Args:
        bins: The histogram's.
        centre: c, the intervals' middles, of shape (…).
        half: h, half of the intervals' widths, of the same shape.

    Of two bins, [0, 4] and the atom 8, a quarter of the first lies above 3, by 1/2 on average:

    >>> bins = BinEnds(np.array([0.0, 8.0]), np.array([4.0, 8.0]))
    >>> above, _ = sides(bins, np.array([2.0]), np.array([1.0]))
    >>> above.part.tolist(), above.excess.tolist()
    ([[0.25, 1.0]], [[0.125, 5.0]])
    """
    return excess_above(bins, centre + half), excess_below(bins, half - centre)


def excess_above(bins: BinEnds, at: Array) -> Side:
    """Returns what lies above each of the ends `at`, of shape (…)."""
    top = np.maximum(bins.highest - at[..., None], 0.0)
    bottom = np.maximum(bins.lowest - at[..., None], 0.0)
    width = np.where(bins.atoms, 1.0, bins.highest - bins.lowest)
    is_above = bins.lowest >= at[..., None]
    part = np.where(is_above, np.where(top > 0, 1.0, 0.0), np.where(bins.atoms, 0.0, top / width))
    whole = np.where(part == 1.0, bins.offset, 0.0)
    return Side(part * (top + bottom) / 2 + whole, part)


def excess_below(bins: BinEnds, at: Array) -> Side:
    """Returns what lies below -at, for each of the numbers `at`, of shape (…).

    Below -at lies what lies above `at` where all values are mirrored at 0.
    """
    below = excess_above(bins.mirror(), at)
    return Side(below.excess[..., ::-1], below.part[..., ::-1])
