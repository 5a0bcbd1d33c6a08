"""Quantiles and modes out of releases: levels that the kernel chose, or a noised histogram.

A level of few rows is one of the noise's, and is NULL (`_least_rows`, `_stands_out`), as a mean is
of which the released numbers say nothing.

Half-widths. Of a level that the kernel chose none is known: how far the neighbouring ranks lie
apart is itself private. A histogram tells (`intervals.level_intervals`): the interval reaches over
all levels that may be the quantile and over a level's own cell. Of a cell whose rows barely stand
out of their noise it reaches farther, since such cells are stated because noise made them look
large; ± may be as long as the domain there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Estimate
from sqlpriv.answer.intervals.level_intervals import (
    OF_FEW_ROWS,
    TAIL,
    NoisedLevels,
    bring_together,
    possible_levels,
)
from sqlpriv.answer.pooled.drawn_quantiles import BoundedFigures, draw_quantiles
from sqlpriv.answer.pooled.group_effects import SURELY_COUNTED
from sqlpriv.answer.pooled_strata import pool_levels
from sqlpriv.kernel.terms.algebra import Asked, Level
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.quantile_method import rank_error
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.statement import half_width

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
    return read_off(recipe, _noised_levels(recipe, releases))


def population(recipe: Recipe, releases: Mapping[Asked, Release], weights: Array | None) -> Figures:
    """Returns the values and half-widths over all strata: (key 1, key 2, …).

    With public weights, shape (strata,), the strata's histograms are brought to those shares.
    """
    if isinstance(recipe.whole, Level):
        rows = _size(recipe, releases)
        return _chosen_levels(recipe, recipe.whole, releases, rows.sum(axis=0), len(rows))
    return read_off(recipe, _levels_of_all(_noised_levels(recipe, releases), weights))


def _levels_of_all(of: NoisedLevels, weights: Array | None) -> NoisedLevels:
    """Returns the histogram over all strata; see `population`."""
    factors = np.ones(of.rows.shape)
    if weights is not None:
        shares = weights.reshape(-1, *([1] * (of.rows.ndim - 1)))
        factors = np.where(of.rows > 0, shares / np.where(of.rows > 0, of.rows, 1.0), 0.0)
    total = (factors[..., None] * of.counts).sum(axis=0)
    variance = of.variance * (factors**2).sum(axis=0)
    row = np.ones(total.shape[:-1]) if weights is None else factors.max(axis=0)
    return replace(of, counts=total, variance=variance, row=row)


def pooled_cells(
    recipe: Recipe, releases: Mapping[Asked, Release], weights: Array | None
) -> tuple[Figures, Array]:
    """Returns the strata's quantiles drawn together and their half-widths, and the weights of their
    own rows, of shape (strata, key 1, …).

    Args:
        recipe: Of a quantile that is read off a histogram.
        releases, weights: As in `population`.
    """
    of = _noised_levels(recipe, releases)
    of_all, z = _levels_of_all(of, weights), half_width(of.price)
    own, everybody = (
        BoundedFigures(*(np.array(x, float).reshape(y.rows.shape) for x in read_off(recipe, y)))
        for y in (of, of_all)
    )
    surely = of.rows > SURELY_COUNTED * of.rows_deviation
    own = own._replace(values=np.where(surely, own.values, np.nan))
    half_cell = _half_cell(recipe, np.array(recipe.values, float))
    others = draw_quantiles(recipe, of, of_all, everybody, half_cell, z)
    drawn, halves = pool_levels(recipe, own, others.figures, z, others.span)
    own_weights = drawn.weights + (1 - drawn.weights) * others.weights
    values: list[Any] = drawn.values.ravel().tolist()
    widths: list[float | None] = [*halves.ravel().tolist()]
    return (values, widths), own_weights


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


def _noised_levels(recipe: Recipe, releases: Mapping[Asked, Release]) -> NoisedLevels:
    """Returns the histogram of a recipe, brought together with the count of its rows, if any."""
    release, size = _histogram(recipe, releases), recipe.size and releases[recipe.size]
    rows = (size.values, size.sigma**2) if size and recipe.rank is not None else None
    return bring_together(release.values, release.sigma**2, release.price, rows)


def read_off(recipe: Recipe, of: NoisedLevels) -> Figures:
    """Returns what a noised histogram says of each cell."""
    at, present = best(recipe, of.counts), _stands_out(recipe, of)
    if recipe.rank is None:
        values = _values(recipe, at, present)
        return values, [None] * len(values)
    first, last = _stated_levels(recipe.rank[0] / recipe.rank[1], of)
    at = np.where(first <= last, np.clip(at, first, last), at)
    first, last = np.minimum(first, at), np.maximum(last, at)  # noise may leave no level
    values = _values(recipe, at, present)
    if not isinstance(recipe.values[0], int | float):
        return values, [None] * len(values)
    levels = np.array(recipe.values, dtype=np.float64)
    widths = np.maximum(levels[last] - levels[at], levels[at] - levels[first])
    widths += _half_cell(recipe, levels)
    pairs = zip(widths.ravel().tolist(), np.asarray(present).ravel(), strict=True)
    return values, [width if any_row else None for width, any_row in pairs]


def _stated_levels(q: float, of: NoisedLevels) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Returns the first and the last possible level, of cells of few rows farther apart."""
    first, last = possible_levels(q, of)
    is_few = of.rows < 2 * _half_width_of_count(of.price, of.rows_deviation)
    if is_few.any():
        wider = possible_levels(q, of, OF_FEW_ROWS * TAIL)
        first, last = (np.where(is_few, w, n) for w, n in zip(wider, (first, last), strict=True))
    return first, last


def _half_cell(recipe: Recipe, levels: Array) -> float:
    """Returns half the length of a level's cell: 0 where levels are the values themselves."""
    assert recipe.count is not None
    if recipe.count.keys[-1].values == recipe.values or len(levels) < 2:
        return 0.0
    return float(abs(levels[1] - levels[0])) / 2


def _stands_out(recipe: Recipe, of: NoisedLevels) -> NDArray[np.bool_]:
    """Returns where a noised histogram has rows that its noise does not explain.

    A quantile needs more rows than their own 95 % half-width. A mode needs them in its own level,
    more than the most frequent of k levels without rows has in 97.5 % of groups: by the union bound
    σ √(2 ln(20 k)) of Gaussian noise, and (σ / √2) ln(20 k) of Laplace noise.
    """
    if recipe.rank is not None:
        return np.asarray(of.rows > _half_width_of_count(of.price, of.rows_deviation))
    log = math.log(20 * of.counts.shape[-1])
    reach = math.sqrt(2 * log) if isinstance(of.price, Rho) else log / math.sqrt(2)
    return np.asarray(of.counts.max(axis=-1) > reach * np.sqrt(np.asarray(of.variance)))


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
