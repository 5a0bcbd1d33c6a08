"""Prices, totals, projections and merged rare levels of noisy one-way marginals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.inference.strata_constants import TOLERATED_NOISE

Floats = NDArray[np.float64]
erfc = np.vectorize(math.erfc, otypes=[np.float64])

LEAST_SIGMA = 1e-6
"""At an epsilon of thousands the noise's standard deviation is 0 in double precision; taken as this
it keeps inverse variances finite."""
TO_DISTANCE = math.sqrt(2 / math.pi) / 2
"""Of a sum over cells of normal errors' deviations, the expected total variation."""


def count_sigma(price: Price) -> float:
    """Returns about what the gate's noise on a count is at this price: for thresholds and penalties
    that are needed before a release says it."""
    return math.sqrt((0.5 if isinstance(price, Rho) else 2 / price.value) / price.value)


def scale_sigma(known: tuple[float, Price], price: Price) -> float:
    """Returns the standard deviation that noise has at a price, where it is known at another:
    Gaussian noise's falls with the root of rho, Laplace noise's with epsilon."""
    sigma, paid = known
    less = paid.nano / price.nano
    return sigma * (math.sqrt(less) if isinstance(price, Rho) else less)


def positive_means(estimates: Floats, errors: Floats) -> Floats:
    """Returns the means of normal variables of these means and deviations where they are above 0.

    >>> positive_means(np.array([0.0, 5.0, -1e9]), np.ones(3)).round(3).tolist()
    [0.798, 5.0, 0.033]
    """
    at = np.maximum(estimates / errors, -30.0)
    above = erfc(-at / math.sqrt(2)) / 2
    means: Floats = errors * (at + np.exp(-(at**2) / 2) / math.sqrt(2 * math.pi) / above)
    return means


def dearer_prices(noise: Floats, prices: Floats, most: int, kind: type[Price]) -> list[int]:
    """Returns what is to be paid for tables beside what was, in nano: as little as brings the mean
    of their noise down to TOLERATED_NOISE, whatever is fitted to them being noise, too, where they
    have more; `most` at most.

    A table of noise b at price 1 has b / p^(1/k) at price p, k = 2 of rho and 1 of epsilon. The sum
    over tables is least for its price where p is in proportion to b^(k / (k + 1)), and no table is
    below the price that it has (Zhang et al. 2021, arXiv:2012.15128, section 4.2).

    Args:
        noise: Of each table, standard deviations of all cells, as a share of its rows.
        prices: What that noise costs, in nano.
        most: For all tables together, in nano.
        kind: Of the prices.
    """
    power = 2 if kind is Rho else 1
    base = noise * prices ** (1 / power)
    wanted = base ** (power / (power + 1))

    def paid_at(scale: float) -> Floats:
        return np.maximum(prices, scale * wanted)

    low, high = 0.0, (float(prices.sum()) + max(most, 0)) / float(wanted.sum())
    for _ in range(60):
        scale = (low + high) / 2
        at = paid_at(scale)
        left = TO_DISTANCE * float(np.mean(base / at ** (1 / power)))
        is_enough = left <= TOLERATED_NOISE or float((at - prices).sum()) > most
        low, high = (low, scale) if is_enough else (scale, high)
    return [int(x) for x in paid_at(low) - prices]


def at_worth(release: Release, values: Floats, sigma: float) -> Release:
    """Returns the release with these values, at the price that their noise would have cost."""
    power = 2 if isinstance(release.price, Rho) else 1
    worth = release.price.nano * (max(release.sigma, LEAST_SIGMA) / sigma) ** power
    price = type(release.price)(max(int(worth), 1))
    return replace(release, values=values, sigma=sigma, price=price)


def total_of(tables: Sequence[Floats], sigmas: Sequence[float]) -> float:
    """Returns the minimum-variance unbiased total of tables that count the same rows.

    The sum of a table of n cells with noise sigma has variance n sigma^2; totals are averaged with
    inverse-variance weights (McKenna, Miklau and Sheldon 2021, section 5). May be negative.
    """
    spread = [max(sigma, LEAST_SIGMA) for sigma in sigmas]
    weights = [1 / (table.size * sigma**2) for table, sigma in zip(tables, spread, strict=True)]
    sums = [float(table.sum()) for table in tables]
    return float(np.average(sums, weights=weights))


def onto_simplex(values: Floats, total: float, variance: Floats | float = 1.0) -> Floats:
    """Returns the nonnegative table with that total which is nearest to `values`.

    Minimises sum((x - values)^2 / variance) subject to x >= 0 and sum(x) = total. The solution is
    max(values - c variance, 0); c is found by sorting the points where cells reach zero.
    """
    flat = values.ravel()
    spread = np.broadcast_to(np.asarray(variance, dtype=np.float64), values.shape).ravel()
    order = np.argsort(-flat / spread, kind="stable")
    excess = np.cumsum(flat[order]) - total
    shifts = excess / np.cumsum(spread[order])
    inside = np.flatnonzero(flat[order] / spread[order] > shifts)
    shift = shifts[inside[-1]] if inside.size else shifts[0]
    result = np.maximum(flat - shift * spread, 0.0)
    scale = total / result.sum() if result.sum() > 0 else 0.0
    scaled: Floats = (result * scale).reshape(values.shape)
    return scaled


@dataclass(frozen=True, eq=False)
class Merging:
    """How a column's rare levels became one bucket.

    Args:
        group: Shape (levels,): the merged level of each level.
        share: Shape (levels,): what part of its merged level a level is; 1 for one that was kept.
        size: How many merged levels there are.
    """

    group: NDArray[np.int64]
    share: Floats
    size: int

    def merge_levels(self, table: Floats, axis: int = 0) -> Floats:
        """Returns the table with the levels along one axis added up by group."""
        first = np.moveaxis(table, axis, 0)
        added = np.zeros((self.size, *first.shape[1:]))
        np.add.at(added, self.group, first)
        return np.moveaxis(added, 0, axis)

    def split_levels(self, table: Floats) -> Floats:
        """Returns a one-way table over all levels from one over the merged levels."""
        return table[self.group] * self.share


def merge_rare(counts: Floats, sigma: float, times: float = 3.0) -> Merging:
    """Merges the levels whose *noisy* count is below `times` sigma into one bucket, the last one.

    Rare-value compression of MST; only released counts are looked at. Inside the bucket the noisy
    counts are shrunk towards their mean by the share of their variance that is noise (positive-part
    James-Stein), so that levels which cannot be told from noise are spread evenly.
    """
    rare = counts < times * sigma
    if rare.sum() <= 1:
        return Merging(np.arange(counts.size), np.ones(counts.size), counts.size)
    kept = counts.size - int(rare.sum())
    share = np.ones(counts.size)
    raised = np.maximum(shrunk(counts[rare], sigma, max(float(counts[rare].mean()), 0.0)), 0.0)
    share[rare] = raised / raised.sum() if raised.sum() > 0 else 1 / raised.size
    return Merging(np.where(rare, kept, np.cumsum(~rare) - 1), share, kept + 1)


def shrunk(counts: Floats, sigma: float, centre: float | None = None) -> Floats:
    """Returns counts moved towards a centre (None: their mean) by the share of noise in their
    variance: positive-part James-Stein."""
    mean = float(counts.mean())
    signal = max(0.0, 1 - sigma**2 / max(float(counts.var()), sigma**2 * 1e-12, 1e-300))
    shrunk_counts: Floats = (mean if centre is None else centre) + signal * (counts - mean)
    return shrunk_counts
