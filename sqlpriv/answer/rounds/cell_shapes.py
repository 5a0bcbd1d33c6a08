"""How a cell's distribution differs from the pooled one, by what was measured of the cell.

A cell's bins are the pooled bins p_b, moved in one of two ways:

    tilted   p_b exp(λ b), normalised: rows are found more often in higher bins, λ being the rate.
             Beyond the bins that the histogram shows b stays as it is there: extrapolated tails
             fall as they did, where a rate of 0.4 would make them rise up to the interval's end;
    scaled   every value times 2^(rate / PARTS): on the geometric grid a bin moves outwards by
             `rate` bins, and what is nearest to 0 stays (a salary twice as high is one, nothing
             is nothing).

**By its place**, its mean bin: tilted, at the rate that gives it that. The spread is half of what
lies between the rates of places a deviation lower and higher, and no less than on the way back to
the pooled distribution, which is as many spreads away as its place is deviations. (One over the
variance of the bins would be less, because tails that are only extrapolated are not tilted.) **By
its histogram** of few wide bins: the family under which the histograms of all cells together are
likelier (a Bayes factor, every rate of its grid as likely as any other before), at the mean of the
likely rates.
Places and rates are noised, so each is shrunk towards what the cell's keys predict; the standard
deviation that is left is the cell's `spread`.

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds, Pooled
from sqlpriv.answer.rounds.histogram.tail_constants import BETWEEN, RESOLUTION, SHAPE_MISFIT
from sqlpriv.answer.rounds.place_shrinkage import shrink
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Release

STEPS = np.arange(-48.0, 49.0)
"""Rates, in bins, at which a histogram is compared; a tilted cell's are an eightieth of them."""
COMPARED_AT_ONCE = 2**15
"""Numbers of cells' histograms that are compared at once: they stay in the cache of a processor."""
RATES = 3 * np.sinh(np.linspace(-4, 4, 161)) / np.sinh(4)
"""λ whose places are looked up, close together around 0."""


class CellShapes(NamedTuple):
    """How each cell differs from the pooled distribution.

    Args:
        family: Takes rates of shape (…) and returns shares of the bins, of shape (…, bins).
        rate: Of each cell, of shape (strata, key 1, …), in the family's unit.
        spread: Standard deviations of the rates' errors, of the same shape.
    """

    family: Callable[[Array], Array]
    rate: Array
    spread: Array


def pooled_shapes(pooled: Pooled, cells: tuple[int, ...]) -> CellShapes:
    """Returns cells that all have the pooled distribution: rates and spreads are 0."""
    return CellShapes(lambda rate: tilt(pooled, rate), np.zeros(cells), np.zeros(cells))


def shapes_by_place(pooled: Pooled, place: Release, counted: Release) -> CellShapes:
    """Returns the cells tilted to their places.

    Args:
        pooled: Of all cells.
        place: Noised sums of bin numbers from the middle one.
        counted: Noised counts.
    """
    above, variance = place_distances(pooled.shares, place, counted)
    deviation = np.sqrt(variance)
    low, rate, high = (tilt_rates(pooled, above + by * deviation) for by in (-1, 0, 1))
    to_pooled = np.abs(rate) * deviation / np.maximum(np.abs(above), 1e-9)
    spread = np.maximum((high - low) / 2, to_pooled)
    return CellShapes(lambda rate: tilt(pooled, rate), rate, spread)


def shapes_by_histogram(
    pooled: Pooled, bins: BinEnds, wide: Array, own: Release, counted: Release
) -> CellShapes:
    """Returns the cells moved in the likelier way to where their histograms are.

    Args:
        pooled: Of all cells.
        bins: The ends of the bins.
        wide: Inner edges of the wide bins, some of the ends.
        own: Noised counts in the wide bins, of shape (strata, key 1, …, wide bins).
        counted: Noised counts.
    """
    member = np.eye(wide.size + 1)[np.searchsorted(wide, bins.lowest, side="right")]
    n = np.maximum(counted.values.ravel(), max(counted.sigma, 1.0))
    table, outwards = own.values.reshape(n.size, -1), scaled_tables(pooled.shares, bins)
    families: list[tuple[float, Callable[[Array], Array]]] = [
        (1.0, lambda rate: interpolate(outwards, rate)),
        (1 / 80, lambda rate: tilt(pooled, rate)),
    ]
    fits = [
        likelihood(family(unit * STEPS) @ member, table, own.sigma, n) for unit, family in families
    ]
    best = int(np.argmax([_evidence(fit) for fit in fits]))
    unit, family = families[best]
    weight = np.exp(fits[best] - fits[best].max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    step = weight @ STEPS
    variance = weight @ STEPS**2 - step**2 + RESOLUTION**2 / 12
    middle = float((step / variance).sum() / (1 / variance).sum())
    most = BETWEEN * float(_variance(pooled.shares))
    shrunk, left = shrink(step - middle, variance, _key_sizes(counted), most)
    spread = np.sqrt(left + RESOLUTION**2)
    shape = counted.values.shape
    return CellShapes(family, unit * (middle + shrunk).reshape(shape), unit * spread.reshape(shape))


def likelihood(shares: Array, counts: Array, sigma: float, n: Array) -> Array:
    """Returns the logarithm of each step's likelihood in each cell, of shape (cells, steps).

    A count is normal around n times its share, with the variance of its noise, of how few rows
    scatter, and of the misfit.

    Args:
        shares: Of the wide bins at each step, of shape (steps, wide bins).
        counts: Noised, of shape (cells, wide bins).
        sigma: Standard deviation of their noise.
        n: Rows of each cell, at least 1.
    """
    fits = np.empty((n.size, len(shares)))
    size = max(1, COMPARED_AT_ONCE // shares.size)
    for first in range(0, n.size, size):
        part = slice(first, first + size)
        mean = n[part, None, None] * shares
        variance = (SHAPE_MISFIT * mean) ** 2
        variance += mean
        variance += sigma**2
        apart = np.subtract(counts[part, None, :], mean, out=mean)
        apart *= apart
        apart /= variance
        apart += np.log(variance, out=variance)
        fits[part] = apart.sum(axis=-1)
    fits /= -2
    return fits


def _evidence(fit: Array) -> float:
    """Returns the logarithm of the likelihood of all cells, every step being as likely."""
    top = fit.max(axis=1, keepdims=True)
    return float((top[:, 0] + np.log(np.exp(fit - top).mean(axis=1))).sum())


def scaled_tables(pooled: Array, bins: BinEnds) -> Array:
    """Returns the pooled bins at each step, moved outwards from 0 or the end nearest to it.

    An atom at that middle stays where it is, as does the bin next to it; what would move beyond the
    outermost bin stays in it.

    Args:
        pooled: Shares, of shape (bins,).
        bins: The ends of the bins.

    Returns:
        Shares of shape (steps, bins).
    """
    anchor = min(max(0.0, bins.lowest[0]), bins.highest[-1])
    number, steps = np.arange(pooled.size), STEPS[:, None].astype(int)
    middle = bins.atoms & (bins.lowest == anchor)
    is_above = (bins.lowest >= anchor) & ~middle
    is_below = ~is_above & ~middle
    to = np.broadcast_to(number, (STEPS.size, number.size)).copy()
    if is_above.any():
        first = number[is_above][0]
        moved = np.clip(number + steps, first, pooled.size - 1)
        to = np.where(is_above & (number > first), moved, to)
    if is_below.any():
        last = number[is_below][-1]
        to = np.where(is_below & (number < last), np.clip(number - steps, 0, last), to)
    place = to + pooled.size * np.arange(STEPS.size)[:, None]
    shares = np.broadcast_to(pooled, to.shape)
    summed = np.bincount(place.ravel(), shares.ravel(), to.size)
    return np.asarray(summed, float).reshape(to.shape)


def interpolate(tables: Array, step: Array) -> Array:
    """Returns the table at each step, of shape (…, bins); between two of them in proportion."""
    at = np.clip(step - STEPS[0], 0.0, STEPS.size - 1.001)
    low = at.astype(int)
    part = (at - low)[..., None]
    return np.asarray((1 - part) * tables[low] + part * tables[low + 1])


def place_distances(pooled: Array, place: Release, counted: Release) -> tuple[Array, Array]:
    """Returns by how many bins each cell's mean bin lies above the pooled one, and the variance.

    A cell of poorer people has its mass some bins lower, tail and all. So that noise does not move
    it, its place is shrunk towards what the cell's keys say (main effects, by ridge regression over
    all cells), by the part of its distance from there that is noise: empirical Bayes, as Fay and
    Herriot (1979) estimate incomes of small places. Noise, too, is how few rows
    scatter: by the pooled variance over their number.
    """
    n = np.maximum(counted.values, 1.0)
    middle = (pooled.size - 1) / 2 - float(pooled @ np.arange(pooled.size))
    own = place.values / n + middle * counted.values / n
    noise = (place.sigma / n) ** 2 + (middle * counted.sigma / n) ** 2 + 1e-12
    scatter = _variance(pooled) / n
    most = BETWEEN * float(_variance(pooled))
    normal, laplace = scatter + noise, np.zeros_like(noise)
    if not isinstance(place.price, Rho):
        normal, laplace = scatter + np.zeros_like(noise), noise
    shrunk = shrink(own.ravel(), normal.ravel(), _key_sizes(counted), most, laplace.ravel())
    return shrunk[0].reshape(n.shape), shrunk[1].reshape(n.shape)


def _key_sizes(counted: Release) -> tuple[int, ...]:
    return tuple(len(key.values) for key in (*counted.query.strata, *counted.query.keys))


def tilt_rates(pooled: Pooled, above: Array) -> Array:
    """Returns the λ at which a cell's mean bin lies `above` bins over the pooled one."""
    number = np.arange(pooled.shares.size)
    places = tilt(pooled, RATES) @ number - pooled.shares @ number
    return np.asarray(np.interp(above, places, RATES))


def tilt(pooled: Pooled, rate: Array) -> Array:
    """Returns p_b exp(λ b), adding up to 1 where p does, of shape (…, bins)."""
    number = np.clip(np.arange(pooled.shares.size), pooled.first, pooled.last)
    table = rate[..., None] * (number - (pooled.first + pooled.last) / 2)
    table -= table.max(axis=-1, keepdims=True)
    np.exp(table, out=table)
    table *= pooled.shares
    table /= np.maximum(table.sum(axis=-1, keepdims=True), 1e-300)
    return np.asarray(table)


def _variance(table: Array) -> Array:
    """Returns the variance of a row's bin number by shares of shape (…, bins), 0.01 at least."""
    number = np.arange(table.shape[-1])
    return np.asarray(np.maximum(table @ number**2 - (table @ number) ** 2, 0.01))
