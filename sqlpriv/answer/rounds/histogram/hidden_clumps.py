"""Rows beyond all that is seen, which are no tail of it and too few to stand out of the noise.

Of 10,000 equal values 200 may lie up to seven times as far out: ten bins hold twenty of them each,
a noise of forty hides every one, and nothing goes on from what is seen to them. The counts tell a
little even so. All bins of a window together have less noise than its width suggests, and rows that
are counted and are in no visible bin have to be somewhere.

A clump of k rows is spread evenly over a window of bins beyond the outermost visible one. Before
any count is looked at

- there is one on a side with the chance `CLUMPED`,
- ln k is uniform, between a tenth of the noise of a bin and `MOST_HIDDEN` of all rows,
- windows are `LENGTHS` bins long, each length as likely, and begin the less often the farther out,
  by a factor of `FARTHER` for each doubling of the distance; where a declared end is next to what
  is seen, `CLAMPED` of them are that end, to which whoever lies beyond is clamped.

After, each is as likely as it makes the noised counts of its bins, and the noised count of the rows
that no visible bin shows, by the densities of their noise. What it is compared with is what is
estimated: the tail that goes on. Where so many rows are missing that they were placed next to what
is seen (`tail_model`), a clump takes their place, and has as many as are missing.

Where the counts speak for a clump (`EVIDENT`) an interval counts on the belief in tails
(`slow_tails`) and clumps together. A note stands where more than `1 - DOUBTED` of the belief moves
a figure far out of its interval: of rows that leave no trace nothing better can be said, and an
interval that counted on them would be longer than the plain mean's.

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds
from sqlpriv.answer.rounds.histogram.slow_tails import BothSlowTails, SlowTails
from sqlpriv.answer.rounds.histogram.tail_constants import CLAMPED, CLUMPED, FARTHER, MOST_HIDDEN
from sqlpriv.plan.pricing.tuned_constants import PARTS

LENGTHS = (1, 2, 4, 8, 16, 32)
"""Of windows, in bins."""
SIZES = 16
"""Sizes of a clump that are compared."""
MOST_LIKELY = 500.0
"""The most that a logarithm of odds counts, lest its exponential be infinite."""


class NoisedHistogram(NamedTuple):
    """What clumps are looked for in.

    Args:
        counts: Noised, of shape (bins,).
        is_visible: Which bins stand out of the noise.
        bins: Their ends.
        rows: Noised count of all.
        sigma, of_rows: Standard deviations of the noise of a bin and of `rows`.
        is_gaussian: Whether the noise of a bin is Gaussian; else it is Laplace noise.
    """

    counts: Array
    is_visible: NDArray[np.bool_]
    bins: BinEnds
    rows: float
    sigma: float
    of_rows: float
    is_gaussian: bool

    def mirror(self) -> NoisedHistogram:
        """Returns the histogram of -x."""
        counts, is_visible = self.counts[::-1], self.is_visible[::-1]
        return self._replace(counts=counts, is_visible=is_visible, bins=self.bins.mirror())

    def log_density(self, noise: Array) -> Array:
        """Returns the logarithm of the density of a bin's noise, but for a constant."""
        apart = np.abs(noise) / max(self.sigma, 0.01)
        return np.asarray(-(apart**2) / 2 if self.is_gaussian else -(2**0.5) * apart)


def hidden_clumps(histogram: NoisedHistogram, estimated: Array, placed: Array) -> BothSlowTails:
    """Returns the clumps on both sides, each after one that is none: see the module's text.

    Args:
        histogram: The noised counts.
        estimated: Which part of all rows is thought to be in each bin.
        placed: The part of it that no bin shows and that was placed next to what is seen.
    """
    below = _one_side(histogram.mirror(), estimated[::-1], placed[::-1])
    above = _one_side(histogram, estimated, placed)
    total = 1 + float(above.belief.sum() + below.belief.sum())  # rows are missing once
    above, below = (_clumps_after_none(side, total) for side in (above, below))
    return BothSlowTails(above, below._replace(shares=below.shares[:, ::-1]))


def _clumps_after_none(clumps: SlowTails, total: float) -> SlowTails:
    """Returns clumps after one that is none, with beliefs out of odds that add up to `total`."""
    belief, nothing = clumps.belief / total, np.zeros((1, clumps.shares.shape[1]))
    return clumps._replace(
        shares=np.concatenate([nothing, clumps.shares]),
        belief=np.append(1 - belief.sum(), belief),
    )


def tails_and_clumps(tails: SlowTails, clumps: SlowTails) -> SlowTails:
    """Returns the belief in the tails and in the clumps of one side together.

    >>> none, one = np.zeros((1, 2)), np.array([[0.0, 0.1]])
    >>> clumps = SlowTails(np.append(none, one, 0), np.array([0.75, 0.25]))
    >>> tails_and_clumps(SlowTails(np.append(one, one, 0), np.array([0.5, 0.5])), clumps).belief
    array([0.375, 0.375, 0.25 ])
    """
    if not tails.belief.size:
        return clumps
    return tails._replace(
        shares=np.concatenate([tails.shares, clumps.shares[1:]]),
        belief=np.append(clumps.belief[0] * tails.belief, clumps.belief[1:]),
    )


def _one_side(histogram: NoisedHistogram, estimated: Array, placed: Array) -> SlowTails:
    """Returns the clumps above, with odds against there being none on either side for beliefs; the
    arguments are those of `hidden_clumps`."""
    bins, rows, is_visible = histogram.bins, histogram.rows, histogram.is_visible
    number = np.arange(is_visible.size)
    is_end = bins.atoms & (number == number[-1])
    last = int(np.flatnonzero(is_visible & ~is_end).max(initial=-1))
    outside = np.flatnonzero((number > last) & ~is_visible & (~bins.special | is_end))
    if last < 0 or not outside.size or rows <= 2:
        return SlowTails(np.zeros((0, number.size)), np.zeros(0), rows=rows)
    windows = _windows(outside.size, bool(is_end[outside[-1]]))
    size = np.geomspace(max(histogram.sigma / 10, 1.0), max(MOST_HIDDEN * rows, 2.0), SIZES)
    of_tail = estimated - placed
    left = (histogram.counts - rows * of_tail)[outside]
    fit = _fit_windows(histogram, left, windows, size)
    before = histogram.log_density(left - rows * placed[outside]) - histogram.log_density(left)
    fit -= float(before.sum())
    by_size = _fit_missing(histogram, rows * of_tail, size)
    if placed.any():  # rows are hidden, so many as are missing: what is asked is where
        by_size -= np.log(np.exp(by_size - by_size.max()).mean()) + by_size.max()
    else:
        by_size -= _fit_missing(histogram, rows * of_tail, np.zeros(1))
    fit += by_size[:, None]
    odds = np.exp(np.minimum(fit, MOST_LIKELY)) * windows.before / SIZES
    odds *= CLUMPED / (1 - CLUMPED)
    parts = size[:, None, None] / rows * windows.evenly(outside.size)
    shares = np.zeros((odds.size, number.size))
    shares[:, outside] = parts.reshape(odds.size, -1) - placed[outside]
    return SlowTails(shares, odds.ravel(), rows=rows)


def _fit_windows(histogram: NoisedHistogram, left: Array, windows: Windows, size: Array) -> Array:
    """Returns how much likelier clumps make the counts: logarithms, of shape (sizes, windows).

    Args:
        histogram: Whose noise it is.
        left: Noised counts of the bins outside, less what is seen of the tail there.
        windows, size: Of the clumps.
    """
    of_bin = size[:, None, None] / np.array(sorted(set(windows.length.tolist())))[:, None]
    gain = histogram.log_density(left - of_bin) - histogram.log_density(left)
    up_to = np.concatenate([np.zeros((*gain.shape[:2], 1)), gain.cumsum(axis=-1)], axis=-1)
    rank = np.searchsorted(np.unique(windows.length), windows.length)
    return np.asarray(
        up_to[:, rank, windows.first + windows.length] - up_to[:, rank, windows.first]
    )


def _fit_missing(histogram: NoisedHistogram, expected: Array, size: Array) -> Array:
    """Returns how likely clumps make the count of rows that no visible bin shows, by the logarithm.

    Args:
        histogram: The noised counts.
        expected: Rows in each bin without a clump.
        size: Of the clumps.
    """
    is_visible = histogram.is_visible
    missing = histogram.rows - float(histogram.counts[is_visible].sum())
    missing -= float(expected[~is_visible].sum())
    deviation = np.hypot(histogram.of_rows, histogram.sigma * is_visible.sum() ** 0.5)
    return np.asarray(-(((missing - size) / max(float(deviation), 0.01)) ** 2) / 2)


class Windows(NamedTuple):
    """Windows of bins: where each begins, how many bins it has, and how likely it is before."""

    first: NDArray[np.intp]
    length: NDArray[np.intp]
    before: Array

    def evenly(self, bins: int) -> Array:
        """Returns which part of a clump is in each of so many bins, of shape (windows, bins)."""
        beyond = np.arange(bins) - self.first[:, None]
        return np.asarray(((beyond >= 0) & (beyond < self.length[:, None])) / self.length[:, None])


@lru_cache(64)
def _windows(bins: int, at_end: bool) -> Windows:
    """Returns the windows of so many bins; long ones overlap by half.

    Args:
        bins: How many there are outside.
        at_end: Whether the last of them is a declared end, to which values are clamped.

    >>> windows = _windows(3, False)
    >>> windows.first.tolist(), windows.length.tolist(), round(float(windows.before.sum()), 6)
    ([0, 1, 2, 0, 1], [1, 1, 1, 2, 2], 1.0)
    """
    lengths = [length for length in LENGTHS if length <= bins]
    starts = [np.arange(0, bins - length + 1, max(length // 2, 1)) for length in lengths]
    rarer = [FARTHER ** (start / PARTS) for start in starts]
    before = np.concatenate([of / of.sum() / len(lengths) for of in rarer])
    if at_end:
        clamped = CLAMPED * FARTHER ** ((bins - 1) / PARTS)
        before *= 1 - clamped
        before[bins - 1] += clamped
    length = np.repeat(lengths, [start.size for start in starts])
    return Windows(np.concatenate(starts), length, before)
