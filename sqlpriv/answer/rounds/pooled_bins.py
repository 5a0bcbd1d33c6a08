"""The bins of a pooled histogram, and the distribution of all cells together over them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.means import Array


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
        """Returns the bins with the means that a density has which is a line in each of them.

        A line's slope is that between the neighbours' densities, as far as the line stays above 0;
        atoms have none, and are no neighbours. In a tail that falls by a quarter from bin to bin
        the mean is nearer to the lower end:

        >>> bins = BinEnds.between(np.array([0.0, 1, 2, 3]))
        >>> bins.with_slopes(np.array([4.0, 3.0, 2.0])).means.round(3).tolist()
        [0.5, 1.472, 2.5]
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
