"""The estimated distribution of each cell's values before they are summed.

A noised histogram of all cells together gives the pooled distribution. Beyond the last bin that is
clear of the noise, shares are extrapolated. Bins lie on a geometric grid, so that their numbers are
a scale of orders of magnitude. A cell's own distribution is the pooled one moved at a rate from
N(rate, spread²); `cell_shapes` estimates in which way it moves, and how far.

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds import cell_shapes
from sqlpriv.answer.rounds.cell_shapes import CellShapes
from sqlpriv.answer.rounds.histogram.end_atoms import hidden_end_atoms
from sqlpriv.answer.rounds.histogram.far_rows import moved_by_far_rows
from sqlpriv.answer.rounds.histogram.hidden_clumps import NoisedHistogram, hidden_clumps
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds, Pooled
from sqlpriv.answer.rounds.histogram.pooled_histogram import smooth_histogram
from sqlpriv.answer.rounds.histogram.slow_tails import BothSlowTails, slow_tails
from sqlpriv.answer.rounds.histogram.tail_constants import (
    ATOM,
    CLEAR,
    DECAYS,
    FEWEST_BINS,
    MANY,
    MOST_UNSEEN,
    OUTLYING,
    RELUCTANCE,
    VISIBLE,
)
from sqlpriv.kernel.terms.algebra import Sum
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Release

RAKINGS, MOST_RAKED = 10, 100.0
"""Turns of `rake`, and the most that it makes of a bin, or the least."""


@dataclass(frozen=True, eq=False)
class Tails:
    """The estimated distributions of all cells; see the module's text.

    Args:
        pooled: Shares of the bins, of shape (bins,), adding up to 1, or all 0.
        bins: The lowest and highest value of each bin; between them values are uniform.
        noise: Standard deviation of the histogram's noise in a pooled share.
        shape: How the cells differ from the pooled distribution.
        hidden: Shares of rows that were counted and are in no visible bin, of shape (bins,): they
            are spread evenly over the bins that are not visible, and may all be in one.
        slow: Other tails of the pooled distribution that the counts allow. None where nothing is
            clipped.
        clumps: Rows that noise may hide farther out, as far as the counts allow. None as before.
        far: By how much rows that noise may hide far out would move the mean of all (`far_rows`).
    """

    pooled: Array
    bins: BinEnds
    noise: float
    shape: CellShapes
    hidden: Array | float = 0.0
    slow: BothSlowTails | None = None
    clumps: BothSlowTails | None = None
    far: float = 0.0

    def shares(self, deviations: float | Array = 0.0) -> Array:
        """Returns each cell's shares, of shape (…, bins), so many spreads off its rate; of numbers
        of spreads of shape (k, 1, …), of shape (k, …, bins)."""
        return self.shape.family(self.shape.rate + deviations * self.shape.spread)

    @property
    def middles(self) -> Array:
        """The means of the bins' values, of shape (bins,)."""
        return self.bins.means

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
        return self.relative_noise * self.shares()

    @property
    def relative_noise(self) -> Array:
        """Returns the errors of the pooled shares as parts of them, at most 1, of shape (bins,)."""
        return np.asarray(np.minimum(self.noise / np.maximum(self.pooled, 1e-300), 1.0))

    @property
    def hidden_shares(self) -> Array:
        """Returns `hidden` of every bin, of shape (bins,)."""
        return np.broadcast_to(np.asarray(self.hidden, float), self.pooled.shape)

    @property
    def variance(self) -> float:
        """The variance of all cells' values, as far as bins tell; 0 where nothing is known."""
        mean = float(self.pooled @ self.middles)
        return float(self.pooled @ (self.middles - mean) ** 2)


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
    atoms = noise_level(counts, ATOM) if rows > MANY * sigma else clear
    pooled, is_visible, hidden, merged = smooth_histogram(
        counts.values.ravel(), sigma, (visible, clear, atoms), bins.special, bins.lowest
    )
    miscount = float(
        np.hypot(counted.sigma * counted.values.size**0.5, sigma * np.sqrt(is_visible.sum()))
    )
    if 2 * sigma * FEWEST_BINS**0.5 > MOST_UNSEEN * rows:
        pooled = pooled._replace(shares=np.zeros_like(pooled.shares))
        of_tail = rest = pooled.shares
    else:
        pooled, rest = _with_hidden(pooled, is_visible, bins, counts, rows, miscount)
        of_tail = pooled.shares - rest
        clamped, doubt = hidden_end_atoms(
            counts.values.ravel(),
            is_visible,
            bins,
            pooled.shares,
            rows,
            (sigma, isinstance(counts.price, Rho)),
        )
        shares = pooled.shares + clamped / rows
        pooled = pooled._replace(shares=shares / max(float(shares.sum()), 1e-300))
        hidden = hidden + rest + doubt / rows
    of_rows = counted.sigma * counted.values.size**0.5
    slow = slow_tails(
        counts.values.ravel(),
        merged,
        is_visible,
        bins,
        rows,
        (sigma, float(of_rows)),
        pooled.shares,
    )
    is_gaussian = isinstance(counts.price, Rho)
    noised = NoisedHistogram(
        counts.values.ravel(), is_visible, bins, rows, sigma, float(of_rows), is_gaussian
    )
    clumps = hidden_clumps(noised, pooled.shares, rest)
    far = moved_by_far_rows(noised.counts, is_visible, bins, rows, (sigma, noised.of_rows), of_tail)
    noise = counts.sigma / max(float(counts.values.sum()), 1.0)
    if own is None or not pooled.shares.any():
        shape = cell_shapes.pooled_shapes(pooled, counted.values.shape)
    elif isinstance(own.query, Sum):
        shape = cell_shapes.shapes_by_place(pooled, own, counted)
    else:
        shape = cell_shapes.shapes_by_histogram(pooled, bins, wide, own, counted)
    present = np.maximum(counted.values, 0.0)
    raked = rake(shape, pooled.shares, present / max(float(present.sum()), 1.0))
    sloped = bins.with_slopes(pooled.shares)
    return Tails(pooled.shares, sloped, noise, raked, hidden, slow, clumps, far)


def rake(shape: CellShapes, pooled: Array, shares: Array) -> CellShapes:
    """Returns the shapes such that the cells together have the pooled distribution.

    Each bin has a factor, the same in all cells (iterative proportional fitting, Deming and Stephan
    1940). Without it what the family of shapes gets wrong would be wrong in all cells the same way,
    and everybody's mean with it.

    Args:
        shape: Of the cells.
        pooled: Shares of the bins, of shape (bins,).
        shares: Of the rows in each cell, adding up to 1.
    """
    if shares.size == 1 or not pooled.any():
        return shape
    tables, factor = shape.family(shape.rate), np.ones(pooled.size)
    weight = shares.ravel()
    flat = tables.reshape(weight.size, -1)
    for _ in range(RAKINGS):
        now = factor * flat
        now /= np.maximum(now.sum(axis=1, keepdims=True), 1e-300)
        together = weight @ now
        factor *= np.where(together > 0, pooled / np.maximum(together, 1e-300), 1.0)
        factor = np.clip(factor, 1 / MOST_RAKED, MOST_RAKED)
    family = shape.family

    def raked_shares(rate: Array) -> Array:
        moved = factor * family(rate)
        moved /= np.maximum(moved.sum(axis=-1, keepdims=True), 1e-300)
        return np.asarray(moved)

    return shape._replace(family=raked_shares)


def _with_hidden(
    pooled: Pooled,
    is_visible: NDArray[np.bool_],
    bins: BinEnds,
    released: Release,
    rows: float,
    miscount: float,
) -> tuple[Pooled, Array]:
    """Returns the pooled distribution with all rows that were counted, and which are hidden.

    Rows that are in no visible bin and in none that was extrapolated, where they are more than two
    standard deviations of the noise, are in the other bins: see `place_hidden`. Where no visible
    bin is no atom, they are where the noised counts have them.
    """
    counts = released.values.ravel()
    counted_share = float(np.maximum(counts[is_visible], 0).sum()) / rows
    beside = float(pooled.shares[~is_visible].sum())
    rest = 1 - counted_share / max(1 - beside, 1e-9)
    if rest * rows < 2 * miscount:
        return pooled, np.zeros(counts.size)
    body = np.flatnonzero(is_visible & ~bins.special)
    if body.size:
        distance = np.abs(np.arange(counts.size)[:, None] - body).min(axis=1)
        is_open = ~is_visible & ~bins.special
        where = place_hidden(counts, distance, is_open, rest * rows, released.sigma)
    else:
        where = np.where(is_visible, 0.0, np.maximum(counts, 0.0))
    if not where.any():
        return pooled, np.zeros(counts.size)
    hidden = rest * where / where.sum()
    return pooled._replace(shares=pooled.shares * (1 - rest) + hidden), hidden


def place_hidden(
    counts: Array, distance: Array, is_open: NDArray[np.bool_], rows: float, sigma: float
) -> Array:
    """Returns in which bins rows are that no bin shows, adding up to 1 where any bin is open.

    They are the fewer the farther from visible bins, by a factor of `DECAYS` from bin to bin: the
    mean over these, the flatter the less likely before, weighted by how likely they make the noised
    counts. A
    tenth of all rows may lie on a plateau of bins that are each below the noise; together they are
    not.

    Args:
        counts: Noised, of shape (bins,).
        distance: Of each bin from the nearest visible one, in bins.
        is_open: Which bins may hold them.
        rows: How many they are.
        sigma: Standard deviation of the noise.

    Twenty bins of 50 rows under a noise of 50 are told from a tail that falls off:

    >>> counts, far = np.append(np.full(20, 50.0), np.zeros(4)), np.arange(1, 25)
    >>> [place_hidden(counts, far, far > 0, 1000.0, sigma)[10:20].sum().round(2).item()
    ...  for sigma in (50.0, 500.0)]
    [0.14, 0.05]
    """
    tables = np.where(is_open, DECAYS[:, None] ** distance, 0.0)
    tables = tables / np.maximum(tables.sum(axis=1, keepdims=True), 1e-300)
    noised = np.clip(counts, -OUTLYING * sigma, OUTLYING * sigma)
    fit = -((noised - rows * tables) ** 2)[:, is_open].sum(axis=1) / (2 * max(sigma, 0.01) ** 2)
    fit -= RELUCTANCE * np.arange(DECAYS.size)
    weight = np.exp(fit - fit.max())
    return np.asarray(weight @ tables / weight.sum())


def noise_level(release: Release, chance: float) -> float:
    """Returns a level that a count's noise exceeds with at most the given chance.

    The noise is a whole number z. Discrete Laplace noise of scale b has, with q = exp(-1 / b),
    P(z >= k) = q^k / (1 + q), and the standard deviation sqrt(1/2) / sinh(1 / (2b)). At b = 1/4 it
    reaches 2 with a chance of 3e-4, and continuous Laplace noise of that deviation passes 1.9 with
    one of 5e-7. Discrete Gaussian noise reaches k no more often than the continuous one exceeds
    k - 1/2, as its density is convex there.

    >>> from sqlpriv.kernel.terms.algebra import Count, Scan
    >>> from sqlpriv.kernel.terms.budget import Epsilon, Rho
    >>> for price, sigma in ((Epsilon(1), 10.0), (Epsilon(1), 0.195), (Rho(1), 10.0)):
    ...     release = Release(0, Count(Scan("t")), np.zeros(1), sigma, price)
    ...     print([round(noise_level(release, chance), 1) for chance in (0.02, 1e-4)])
    [23.3, 60.8]
    [1.0, 2.3]
    [21.0, 37.7]
    """
    if isinstance(release.price, Rho):
        return float(NormalDist().inv_cdf(1 - chance) * release.sigma + 0.5)
    if release.sigma == 0:
        return 0.0
    scale = 0.5 / np.arcsinh(np.sqrt(0.5) / release.sigma)
    return float(scale * -np.log(chance * (1 + np.exp(-1 / scale))))
