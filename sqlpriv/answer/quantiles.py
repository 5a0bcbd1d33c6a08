"""Quantiles and modes out of releases: levels that the kernel chose, or a noised histogram.

A level of few rows is one of the noise's, and is NULL (`_least_rows`, `_stands_out`), as a mean is
of which the released numbers say nothing.

Half-widths. Of a level that the kernel chose none is known: how far the neighbouring ranks lie
apart is itself private. A histogram tells: let T_l be the noised rows up to level l less q of all
rows, and s_l the deviation of its noise. Level l is the quantile only if T_l >= 0 and T_{l-1} <= 0
without noise; it stays possible while T_l >= -z s_l and T_{l-1} <= z s_{l-1}. The interval reaches
over all possible levels and over a level's own cell. The true level fails either test with a
probability of 2.5 %, so at least 95 % of intervals hold it. z is that of T_l: a sum of many Laplace
noises is all but normal, and needs less than one of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Estimate
from sqlpriv.answer.pooled_strata import BoundedFigures, pool_levels
from sqlpriv.kernel.terms.algebra import Asked, Level
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.quantile_method import rank_error
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.statement import GAUSSIAN_95, LAPLACE_95, half_width

Array = NDArray[np.float64]


Figures = tuple[list[Any], list[float | None]]
"""Values of cells, row-major, and the half-widths of their 95 % intervals, None where unknown."""


def in_order(releases: Mapping[Asked, Release]) -> dict[Asked, Release]:
    """Returns releases with the chosen quantiles of one column in the order of their ranks.

    Each rank's level is chosen on its own, so noise may put the upper quartile of a cell below its
    lower one. The cell's levels are sorted: no sum of their errors grows by it (Chernozhukov,
    Fernández-Val and Galichon 2009, Proposition 1), and a level stays within the largest error of
    its neighbours.
    """
    alike: dict[Level, list[Level]] = {}
    for query in releases:
        if isinstance(query, Level) and query.rank is not None:
            alike.setdefault(replace(query, rank=None), []).append(query)
    ordered = dict(releases)
    for levels in alike.values():
        levels.sort(key=_share)
        positions = np.sort(np.stack([releases[level].values for level in levels]), axis=0)
        for level, values in zip(levels, positions, strict=True):
            ordered[level] = replace(releases[level], values=values)
    return ordered


def _share(level: Level) -> float:
    assert level.rank is not None
    return level.rank[0] / level.rank[1]


def cells(recipe: Recipe, releases: Mapping[Asked, Release]) -> Figures:
    """Returns every cell's value and half-width: (strata, key 1, key 2, …)."""
    if recipe.level is not None:
        return _chosen_levels(recipe, recipe.level, releases, _size(recipe, releases), 1)
    release = _histogram(recipe, releases)
    return _read_off(recipe, release, release.values, release.sigma**2)


def population(recipe: Recipe, releases: Mapping[Asked, Release], weights: Array | None) -> Figures:
    """Returns the values and half-widths over all strata: (key 1, key 2, …).

    With public weights, shape (strata,), the strata's histograms are brought to those shares.
    """
    if isinstance(recipe.whole, Level):
        rows = _size(recipe, releases)
        return _chosen_levels(recipe, recipe.whole, releases, rows.sum(axis=0), len(rows))
    release = _histogram(recipe, releases)
    counts, factors = release.values, np.ones(release.values.shape[:-1])
    if weights is not None:
        shares = weights.reshape(-1, *([1] * (counts.ndim - 2)))
        size = counts.sum(axis=-1)
        factors = np.where(size > 0, shares / np.where(size > 0, size, 1.0), 0.0)
    total = (factors[..., None] * counts).sum(axis=0)
    return _read_off(recipe, release, total, release.sigma**2 * (factors**2).sum(axis=0))


def pooled_cells(
    recipe: Recipe, releases: Mapping[Asked, Release], weights: Array | None
) -> tuple[Figures, Array]:
    """Returns the strata's quantiles drawn together and their half-widths, and the weights of their
    own rows, of shape (strata, key 1, …).

    Args:
        recipe: Of a quantile that is read off a histogram.
        releases, weights: As in `population`.
    """
    release = _histogram(recipe, releases)
    shape = release.values.shape[:-1]
    pairs = [cells(recipe, releases), population(recipe, releases, weights)]
    own, everybody = (
        BoundedFigures(*(np.array(part, float).reshape(of) for part in pair))
        for pair, of in zip(pairs, (shape, shape[1:]), strict=True)
    )
    drawn, halves = pool_levels(recipe, own, everybody, half_width(release.price))
    values: list[Any] = drawn.values.ravel().tolist()
    widths: list[float | None] = [*halves.ravel().tolist()]
    return (values, widths), drawn.weights


def best(recipe: Recipe, counts: Array) -> NDArray[np.intp]:
    """Returns the position of the best level: the score of `kernel.sensitivity.level_scores`.

    Sums up to a level fall where noise is negative. They are made to rise, halfway between the
    largest sum so far and the least one to come, so that a higher rank never has a lower level.
    """
    if recipe.rank is None:
        return np.asarray(counts.argmax(axis=-1))
    q = recipe.rank[0] / recipe.rank[1]
    sums = counts.cumsum(axis=-1)
    least_to_come = np.minimum.accumulate(sums[..., ::-1], axis=-1)[..., ::-1]
    up_to = (np.maximum.accumulate(sums, axis=-1) + least_to_come) / 2
    before = np.concatenate([np.zeros_like(up_to[..., :1]), up_to[..., :-1]], axis=-1)
    wanted = q * sums[..., -1:]
    return np.asarray(np.maximum(before - wanted, wanted - up_to).argmin(axis=-1))


def level_intervals(
    recipe: Recipe, counts: Array, variance: Array | float, z: Array | float
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the first and the last level that may be each cell's quantile; see the module's text.

    Args:
        recipe: Of a quantile.
        counts: Noised, of shape (…, levels).
        variance: Of the noise of a cell's counts: a number, or one for each cell.
        z: The 95 % half-width in standard deviations, of each level or of all.
    """
    assert recipe.rank is not None
    q, k = recipe.rank[0] / recipe.rank[1], counts.shape[-1]
    reach = z * np.sqrt(np.asarray(variance))[..., None] * np.sqrt(_sum_of_weights(q, k, 2))
    over = counts.cumsum(axis=-1) - q * counts.sum(axis=-1, keepdims=True)
    enough, not_past = over >= -reach, np.ones(over.shape, bool)
    enough[..., -1] = True
    not_past[..., 1:] = over[..., :-1] <= reach[..., :-1]
    possible, at = enough & not_past, best(recipe, counts)[..., None]
    np.put_along_axis(possible, at, True, axis=-1)  # noise may leave no level, but the best
    return possible.argmax(axis=-1), k - 1 - possible[..., ::-1].argmax(axis=-1)


def _sum_of_weights(q: float, levels: int, power: int) -> Array:
    """Returns Σ_i w_i^power of every T_l: levels up to l have the weight 1 - q, all others q."""
    place = np.arange(1, levels + 1)
    return np.asarray((1 - q) ** power * place + q**power * (levels - place))


def half_width_of_sums(price: Price, kurtosis: Array) -> Array:
    """Returns the 95 % half-widths, in their standard deviations, of sums of independent noises.

    Σ w_i z_i of Laplace noises has the excess kurtosis κ = 3 Σ w_i⁴ / (Σ w_i²)². The half-width is
    1.96 + .069 κ to first order (Cornish and Fisher 1938); .072 κ is no less than the exact one of
    1, 2, 3, 4, 8, 16 and 64 equal weights: 2.118, 2.057, 2.028, 2.013, 1.987, 1.973, 1.963.

    Args:
        price: Of the noises.
        kurtosis: κ, from 0 to 3.
    """
    if isinstance(price, Rho):
        return np.full_like(kurtosis, GAUSSIAN_95)
    return np.minimum(GAUSSIAN_95 + 0.072 * kurtosis, LAPLACE_95)


def half_widths_of_levels(rank: tuple[int, int], levels: int, price: Price) -> Array:
    """Returns z of every T_l: a sum of many Laplace noises is all but normal.

    The last T_l of the rank 1 has no noise at all, and so no kurtosis.

    >>> from sqlpriv.kernel.terms.budget import Epsilon
    >>> half_widths_of_levels((1, 1), 2, Epsilon(10**8)).round(2).tolist()
    [2.12, 1.96]
    """
    squares, fourths = (_sum_of_weights(rank[0] / rank[1], levels, power) for power in (2, 4))
    return half_width_of_sums(price, 3 * fourths / np.where(squares > 0, squares, 1.0) ** 2)


def _read_off(recipe: Recipe, release: Release, counts: Array, variance: Array | float) -> Figures:
    """Returns what a noised histogram says of each cell."""
    at, present = best(recipe, counts), _stands_out(recipe, release, counts, variance)
    values = _values(recipe, at, present)
    numbers = recipe.rank is not None and isinstance(recipe.values[0], int | float)
    if not numbers:
        return values, [None] * len(values)
    assert recipe.rank is not None
    z = half_widths_of_levels(recipe.rank, counts.shape[-1], release.price)
    first, last = level_intervals(recipe, counts, variance, z)
    levels = np.array(recipe.values, dtype=np.float64)
    widths = np.maximum(levels[last] - levels[at], levels[at] - levels[first])
    widths += _half_cell(recipe, levels)
    pairs = zip(widths.ravel().tolist(), np.asarray(present).ravel(), strict=True)
    return values, [width if any_row else None for width, any_row in pairs]


def _half_cell(recipe: Recipe, levels: Array) -> float:
    """Returns half the length of a level's cell: 0 where levels are the values themselves."""
    assert recipe.count is not None
    if recipe.count.keys[-1].values == recipe.values or len(levels) < 2:
        return 0.0
    return float(abs(levels[1] - levels[0])) / 2


def _stands_out(
    recipe: Recipe, release: Release, counts: Array, variance: Array | float
) -> NDArray[np.bool_]:
    """Returns where a noised histogram has rows that its noise does not explain.

    A quantile needs more rows than their own 95 % half-width: with fewer its interval reaches over
    all levels. A mode needs them in its own level, more than the most frequent of k levels without
    rows has in 97.5 % of groups: by the union bound σ √(2 ln(20 k)) of Gaussian noise, and
    (σ / √2) ln(20 k) of Laplace noise.
    """
    k, deviation = counts.shape[-1], np.sqrt(np.asarray(variance))
    if recipe.rank is not None:
        rows = counts.sum(axis=-1)
        return np.asarray(rows > _half_width_of_count(release.price, deviation * math.sqrt(k)))
    log = math.log(20 * k)
    reach = math.sqrt(2 * log) if isinstance(release.price, Rho) else log / math.sqrt(2)
    return np.asarray(counts.max(axis=-1) > reach * deviation)


def _half_width_of_count(price: Price, deviation: Array | float) -> Array:
    deviations = np.asarray(deviation, float)
    return Estimate(deviations, deviations, half_width(price), whole=True).half_widths


def _chosen_levels(
    recipe: Recipe,
    level: Level,
    releases: Mapping[Asked, Release],
    rows: Array,
    strata: int,
) -> Figures:
    """Returns the levels that the kernel chose; nothing is known of how far they may be off.

    Args:
        recipe: Of a quantile or mode.
        level: Its own, or that of all strata.
        releases: What was released.
        rows: The noised counts of values, of the level's shape.
        strata: Over how many strata `rows` are summed.
    """
    values = _values(
        recipe, releases[level].values, rows > _least_rows(recipe, level, releases, strata)
    )
    return values, [None] * len(values)


def _least_rows(
    recipe: Recipe, level: Level, releases: Mapping[Asked, Release], strata: int
) -> float:
    """Returns the rows up to which a chosen level may be any: no more than the 95 % half-width of
    their noised count, or than the choice's 95 % error of rank, which is D times what a row moves
    it by, where a quantile of n rows has at most D n rows on one side (D: `rank_weight`).

    How far one unit moves the counts is told by the noise of the count of values, which is of the
    same rows: σ √(2 ρ), or b ε with the scale b of discrete Laplace noise. Of all strata together
    that is not less than they need.
    """
    assert recipe.size is not None  # as `rewrites.expand_level` sees to
    size = releases[recipe.size]
    of_count = float(_half_width_of_count(size.price, size.sigma * math.sqrt(strata)))
    price = size.price.value
    is_gaussian = isinstance(size.price, Rho)
    if is_gaussian:
        reach = size.sigma * math.sqrt(2 * price)
    else:  # releases of zeros, which foretell an answer's columns, have no noise
        reach = price * 0.5 / math.asinh(math.sqrt(0.5) / max(size.sigma, 1e-300))
    return max(of_count, rank_error(level, reach, releases[level].price))


def _histogram(recipe: Recipe, releases: Mapping[Asked, Release]) -> Release:
    assert recipe.count is not None  # as `quantile_method` sees to
    return releases[recipe.count]


def _size(recipe: Recipe, releases: Mapping[Asked, Release]) -> Array:
    """Returns the noised counts of values, of shape (strata, key 1, key 2, …)."""
    assert recipe.size is not None  # as `rewrites.expand_level` sees to
    return releases[recipe.size].values


def _values(recipe: Recipe, positions: NDArray[Any], present: NDArray[np.bool_]) -> list[Any]:
    """Returns the levels' values; None where too few rows are known of."""
    cells = zip(positions.ravel(), np.asarray(present).ravel(), strict=True)
    return [recipe.values[int(position)] if any_row else None for position, any_row in cells]
