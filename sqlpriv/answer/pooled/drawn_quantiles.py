"""Strata's quantiles, of distributions that are drawn together, in each cell of the other keys."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.intervals.level_intervals import NoisedLevels
from sqlpriv.answer.pooled.drawn_levels import draw_levels
from sqlpriv.answer.pooled.smooth_levels import smooth_levels
from sqlpriv.plan.aggregates.rewrites import Recipe

OUTSIDE = 0.01
"""Of all rows lie at either end beyond how far apart rows are said to be."""


class BoundedFigures(NamedTuple):
    """Figures and the half-widths of their intervals, of one shape."""

    values: Array
    half_widths: Array


class DrawnQuantiles(NamedTuple):
    """Strata's quantiles, the weights of their own rows, of shape (strata, key 1, …), and how far
    apart rows are seen."""

    figures: BoundedFigures
    weights: Array
    span: float


def draw_quantiles(
    recipe: Recipe,
    of: NoisedLevels,
    of_all: NoisedLevels,
    everybody: BoundedFigures,
    half_cell: float,
    z: float,
) -> DrawnQuantiles:
    """Returns the strata's quantiles; everybody's where nothing is seen of the rows.

    Args:
        recipe: A quantile by strata that is read off a histogram.
        of, of_all: The noised histograms of the strata and of all rows.
        everybody: The quantiles of all rows, of shape (key 1, …).
        half_cell: Half the length of a level's cell.
        z: The 95 % half-width in standard deviations.
    """
    assert recipe.rank is not None  # a quantile has one, and the count of its histogram
    assert recipe.count is not None
    q, levels = recipe.rank[0] / recipe.rank[1], np.array(recipe.values, float)
    sizes = tuple(len(key.values) for key in recipe.count.strata)
    values, halves = (np.array(np.broadcast_to(x, of.rows.shape)) for x in everybody)
    own_rows, span = np.zeros(of.rows.shape), 0.0
    for cell in np.ndindex(of.rows.shape[1:]):
        at = (slice(None), *cell)
        all_rows = replace(of_all, counts=of_all.counts[cell], variance=_at(of_all.variance, cell))
        shares = smooth_levels(all_rows, len(values))
        value, half = (float(figures[cell]) for figures in everybody)
        if not shares.any() or not np.isfinite(value):
            continue
        strata = replace(of, counts=of.counts[at])
        part = _part_below(value, half / z, shares, q, levels)
        drawn = draw_levels(strata, shares, part, sizes, z)
        values[at] = levels[drawn.at]
        reach = np.maximum(levels[drawn.last] - values[at], values[at] - levels[drawn.first])
        halves[at] = np.hypot(reach + half_cell, half)
        own_rows[at] = drawn.weights
        up_to = shares.cumsum()
        first, last = np.searchsorted(up_to, [OUTSIDE, 1 - OUTSIDE])
        span = max(span, float(levels[last] - levels[first]) + 2 * half_cell)
    return DrawnQuantiles(BoundedFigures(values, halves), own_rows, span or recipe.width)


def _at(variance: Array | float, cell: tuple[int, ...]) -> float:
    return float(np.asarray(variance)[cell] if np.ndim(variance) else variance)


def _part_below(value: float, sigma: float, shares: Array, q: float, levels: Array) -> float:
    """Returns the part of all rows below everybody's quantile by the smoothed shares.

    The released quantile and the shares' say different things of it: the former, of deviation
    sigma, is believed by what it is off beyond its noise."""
    up_to = shares.cumsum()
    smooth = float(levels[min(int(np.searchsorted(up_to, q - 1e-9)), len(levels) - 1)])
    off, noise = value - smooth, sigma**2
    beyond = max(off**2 - noise, 0.0)
    if not beyond:
        return q
    moved = smooth + off * beyond / (beyond + noise)
    return float(np.clip(np.interp(moved, levels, up_to - shares / 2), 0.001, 0.999))
