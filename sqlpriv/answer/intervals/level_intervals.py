"""Which levels may be a quantile, by a noised histogram and a noised count of its rows.

**Two counts of the same rows.** k levels are counted with noise of variance σ² each, all rows once
more with noise of variance τ². What the levels' sum and that count differ by, d, has the variance
D = k σ² + τ². The best unbiased levels are the counted ones plus d σ² / D each. Of m of the levels,
the rows in them less the part t of all rows, which is (1 - t) of those inside less t of those
outside, then has the variance

    σ² ((1 - t)² m + t² (k - m)) - ((m - t k) σ²)² / D

which near the ends of the grid is next to nothing beside the t² k σ² of the histogram by itself.

**One level after the other.** Let T_l be the rows up to level l less q of all rows. Level l is the
quantile only if T_l >= 0 and T_{l-1} <= 0 without noise; it stays possible while noise explains the
contrary. The true level fails either test with a chance of 2.25 %.

**Windows.** Where a run of levels holds more than the part q of all rows, the quantile is not
above it; where it holds more than 1 - q, not below it. In a domain far wider than its values noise
would make levels possible that lie beyond all rows, of which single tests know nothing. All runs of
1, 2, 4, … levels at every half of their length are looked at; by the union bound one that does not
hold so many rows seems to with a chance of .25 % on each side.

**What DuckDB computes** between two values, by interpolation, is at most the value of rank
q n + 2 - q and at least that of rank q n - q - 1: so many rows are left to it.

**Few rows.** A quantile is stated only where its rows stand out of their noise: 2.5 % of cells
without a row do, by noise that makes their intervals wrong, too. Up to twice as many rows every
chance above is taken .05 times. Let noise W have upper tails Q, of which Q(c) = .025, and let a
cell have n rows, stated where n + W > c. If n >= c it is stated half of the time at least. If not,
it fails where W exceeds the point with .05 Q(c), or where n + W > 2 c and W > 2 c - n: of what is
stated Q(2 c - n) / Q(c - n), which grows with n to .05 at n = c. (Conditional coverage: Fithian,
Sun and Taylor 2014.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price, Rho

Array = NDArray[np.float64]
TAIL = 0.025
"""What an interval may miss on each side."""
OF_FEW_ROWS = 0.05
"""The part of it that an interval may miss where noise may have made few rows look large."""
OF_WINDOWS = 0.1
"""The part of it that windows may: a little suffices to rule out levels far from all rows."""


@dataclass(frozen=True, eq=False)
class NoisedLevels:
    """Histograms of noised counts, brought together with a count of all of their rows.

    Args:
        counts: Of shape (…, levels).
        variance: σ² of the noise that each was counted with: a number, or one for each cell.
        of_rows: τ² by σ², of the count of all rows; infinite where there was none.
        price: Of the histogram.
        row: How much a row counts at most: a number, or one for each cell.
    """

    counts: Array
    variance: Array | float
    of_rows: float
    price: Price
    row: Array | float = 1.0

    @property
    def rows(self) -> Array:
        """The noised rows of each cell."""
        return np.asarray(self.counts.sum(axis=-1))

    @property
    def rows_deviation(self) -> Array:
        """The standard deviation of their noise."""
        k = self.counts.shape[-1]
        part = 1.0 if math.isinf(self.of_rows) else self.of_rows / (k + self.of_rows)
        return np.asarray(np.sqrt(np.asarray(self.variance) * k * part))


def bring_together(
    counts: Array, variance: float, price: Price, rows: tuple[Array, float] | None
) -> NoisedLevels:
    """Returns histograms whose counts add up to what is best known of their rows.

    Args:
        counts: Noised, of shape (…, levels).
        variance: Of their noise.
        price: What they cost.
        rows: The noised counts of all rows and the variance of their noise, or None.
    """
    if rows is None or not variance:
        return NoisedLevels(counts, variance, math.inf, price)
    of_rows = rows[1] / variance
    apart = rows[0] - counts.sum(axis=-1)
    levels = counts + (apart / (counts.shape[-1] + of_rows))[..., None]
    return NoisedLevels(levels, variance, of_rows, price)


def deviations_of_sums(is_gaussian: bool, kurtosis: Array, tail: float) -> Array:
    """Returns what a sum of independent noises exceeds with a chance of `tail` on one side, in its
    standard deviations.

    Σ w_i z_i of Laplace noises has the excess kurtosis κ = 3 Σ w_i⁴ / (Σ w_i²)², and exceeds the
    normal's z by (z³ - 3 z) κ / 24 to first order (Cornish and Fisher 1938), no sum more than a
    single noise. A twentieth more of it is no less than the exact one of 1, 2, 3, 4, 8, 16 and 64
    equal weights at 2.5 %: 2.118, 2.057, 2.028, 2.013, 1.987, 1.973, 1.963.

    Args:
        is_gaussian: Whether noises are Gaussian, not Laplace's.
        kurtosis: κ, from 0 to 3.
        tail: Less than a twentieth.
    """
    z = NormalDist().inv_cdf(1 - tail)
    if is_gaussian:
        return np.full_like(kurtosis, z)
    return np.minimum(z + 1.05 * (z**3 - 3 * z) / 24 * kurtosis, -math.log(2 * tail) / 2**0.5)


def possible_levels(
    q: float, of: NoisedLevels, tail: float = TAIL
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the first and the last level that may be each cell's q-quantile.

    Noise may leave no level possible: then the two are the other way round.

    Args:
        q: The rank, a part of all rows.
        of: The noised histograms.
        tail: What the interval may miss on each side.
    """
    k = of.counts.shape[-1]
    sums = np.concatenate([np.zeros_like(of.counts[..., :1]), of.counts.cumsum(axis=-1)], axis=-1)
    sigma, row, rows = (
        np.asarray(part, float)[..., None]
        for part in (np.sqrt(np.asarray(of.variance)), of.row, of.rows)
    )
    shape = k, of.of_rows, isinstance(of.price, Rho)
    reach = sigma * _reach(q, *shape, (1 - OF_WINDOWS) * tail, tuple(range(1, k + 1)))
    over = sums[..., 1:] - q * rows
    enough, not_past = over >= -reach - (1 + q) * row, np.ones(over.shape, bool)
    enough[..., -1] = True
    not_past[..., 1:] = (over <= reach + (2 - q) * row)[..., :-1]
    possible = enough & not_past
    none = ~possible.any(axis=-1)
    first = np.where(none, 0, possible.argmax(axis=-1))
    last = np.where(none, k - 1, k - 1 - possible[..., ::-1].argmax(axis=-1))
    windows = _windows(k)
    each = OF_WINDOWS * tail / sum(starts.size for starts, _ in windows)
    for starts, ends in windows:
        inside, sizes = sums[..., ends] - sums[..., starts], tuple((ends - starts).tolist())
        over_low, over_high = (sigma * _reach(t, *shape, each, sizes) for t in (1 - q, q))
        not_below = inside - (1 - q) * rows > over_low + (1 + q) * row
        not_above = inside - q * rows > over_high + (2 - q) * row
        first = np.maximum(first, np.where(not_below, starts, 0).max(axis=-1))
        last = np.minimum(last, np.where(not_above, ends - 1, k - 1).min(axis=-1))
    return first, last


@lru_cache(512)
def _reach(
    t: float, k: int, of_rows: float, is_gaussian: bool, tail: float, levels: tuple[int, ...]
) -> Array:
    """Returns, by σ, how far noise takes the rows in so many levels less the part t of all."""
    m = np.array(levels, float)
    moved = (m - t * k) / (k + of_rows)
    inside, outside = 1 - t - moved, -t - moved
    squares, fourths = (
        m * inside**power
        + (k - m) * outside**power
        + (0.0 if math.isinf(of_rows) else moved**power * of_rows ** (power // 2))
        for power in (2, 4)
    )
    kurtosis = np.minimum(3 * fourths / np.where(squares > 0, squares, 1.0) ** 2, 3.0)
    return np.asarray(np.sqrt(squares) * deviations_of_sums(is_gaussian, kurtosis, tail))


@lru_cache(16)
def _windows(levels: int) -> tuple[tuple[NDArray[np.intp], NDArray[np.intp]], ...]:
    """Returns the starts and the ends of runs of 1, 2, 4, … levels, at every half of their length.

    >>> [starts.tolist() for starts, _ in _windows(5)]
    [[0, 1, 2, 3, 4], [0, 1, 2, 3], [0, 2]]
    >>> [ends.tolist() for _, ends in _windows(5)]
    [[1, 2, 3, 4, 5], [2, 3, 4, 5], [4, 5]]
    >>> [ends.tolist() for _, ends in _windows(1)]
    [[1]]
    """
    windows = []
    for power in range(max((levels - 1).bit_length(), 1)):
        size, step = 2**power, max(2**power // 2, 1)
        starts = np.arange(0, levels - step if power else levels, step)
        windows.append((starts, np.minimum(starts + size, levels)))
    return tuple(windows)
