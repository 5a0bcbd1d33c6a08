"""Strata drawn together (`AVG(x USING pooled)`): empirical Bayes over means that were released.

A stratum's mean is taken for everybody's, plus an effect of each of its strata columns' values,
plus a deviation of its own, which is large in some strata, plus the scatter of few rows, of the
values' variance over their number (`group_effects`). With b the effects, and w the part of what is
left of a stratum's own deviation that is no noise,

    means      everybody + b + w (released - everybody - b)
    variances  those of what was not seen, plus everybody's own, as far as a stratum takes it;
               strata are taken to be farther apart here than for the means, since half-widths of
               strata taken to be close held 50 % of some tables' means

The weight on a stratum's own rows is w, and what its own figure has in b. A stratum that is counted
below the deviation of its count's noise has a weight of 0: it says "like everybody", or like those
with its keys. It is post-processing: free.

**Half-widths** hold 95 % on average over strata whose deviations are normal. What they hold of each
stratum depends on how far it is from the others, and is not 95 %.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array, Estimate
from sqlpriv.answer.means import cells, combine_strata, finish_variance
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.pooled.drawn_quantiles import BoundedFigures
from sqlpriv.answer.pooled.group_effects import FAR_PARTS, SURELY_COUNTED, draw_together
from sqlpriv.plan.aggregates.rewrites import Recipe


def pool_strata(recipe: Recipe, m: Moments, strata: Estimate, everybody: Estimate) -> Estimate:
    """Returns the strata's means drawn together, which are stated by their length: a stratum whose
    own rows tell nothing is like all.

    Args:
        recipe: A mean by strata.
        m: The noised moments of the strata, of shape (strata, key 1, …).
        strata: Their own means, of the same shape.
        everybody: The means over all strata, of shape (key 1, …).
    """
    drawn = _draw_means(recipe, m, everybody)
    inside = np.clip(drawn.values, float(recipe.lower), float(recipe.upper))
    return Estimate(inside, drawn.deviations, strata.z, recipe.width)


def own_weights(recipe: Recipe, m: Moments, everybody: Estimate) -> Array:
    """Returns the weight of each stratum's own rows in its mean or variance, of the counts' shape.

    Arguments as of `pool_strata`.
    """
    if recipe.square is not None:
        return _draw_variances(recipe, m).weights
    return _draw_means(recipe, m, everybody).weights


class StrataFigures(NamedTuple):
    """The strata's own figures before they are drawn together.

    Args:
        own, noise: Figures and the variances of their noise, of shape (strata, key 1, …).
        middle, of_middle: What they are drawn towards and the variance of its error, of shape
            (key 1, …).
        scatter, drift: Variances by how few rows a stratum has, and by what all err by together; of
            the figures' shape, or 0.
        width: How far apart figures can be.
        is_counted: Which strata tell of their columns, of the figures' shape; None for all.
        far_parts: See `draw_together`.
        rows: How many rows the strata have, 1 at least, of the figures' shape; None where that
            tells nothing of how far they are off.
    """

    own: Array
    noise: Array
    middle: Array
    of_middle: Array
    width: float
    scatter: Array | float = 0.0
    drift: Array | float = 0.0
    is_counted: NDArray[np.bool_] | None = None
    far_parts: tuple[float, ...] = FAR_PARTS
    rows: Array | None = None


class DrawnCells(NamedTuple):
    """Figures drawn together, the deviations of their errors, and the weights of own rows."""

    values: Array
    deviations: Array
    weights: Array


def draw_cells(figures: StrataFigures, sizes: tuple[int, ...]) -> DrawnCells:
    """Returns the strata drawn together, in each cell of the other keys.

    Args:
        figures: Of the strata.
        sizes: How many values each strata column has.
    """
    own, noise = figures.own, figures.noise
    values, deviations, weights = (np.empty_like(own) for _ in range(3))
    is_counted = True if figures.is_counted is None else figures.is_counted
    scatter, drift, counted, middles, of_middle = (
        np.broadcast_to(np.asarray(x, float), own.shape)
        for x in (figures.scatter, figures.drift, is_counted, figures.middle, figures.of_middle)
    )
    for cell in np.ndindex(own.shape[1:]):
        at = (slice(None), *cell)
        middle = middles[at]
        drawn = draw_together(
            own[at] - middle,
            noise[at],
            sizes,
            figures.width,
            scatter[at],
            counted[at],
            figures.far_parts,
            None if figures.rows is None else _smallness(figures.rows[at]),
        )
        values[at], weights[at] = middle + drawn.means, drawn.weights
        from_middle = (1 - drawn.weights) ** 2 * of_middle[at]
        deviations[at] = np.sqrt(drawn.variances + from_middle + drawn.weights**2 * drift[at])
    return DrawnCells(values, deviations, weights)


def _draw_means(recipe: Recipe, m: Moments, everybody: Estimate) -> DrawnCells:
    """Returns the strata's means drawn together, with deviations that are no larger than if each
    value of the domain were as likely as any other: intervals of these hold the whole domain."""
    is_known = np.isfinite(everybody.values)
    middle = np.where(is_known, everybody.values, recipe.middle)
    of_middle = np.where(is_known, np.nan_to_num(everybody.deviations), recipe.width) ** 2
    own, noise = own_means(recipe, m, middle, of_middle)
    figures = StrataFigures(
        own,
        noise,
        middle,
        of_middle,
        recipe.width,
        m.scatter / np.maximum(m.n, 1.0),
        m.drift,
        np.asarray(m.n > SURELY_COUNTED * np.sqrt(m.var_n)),
        rows=np.maximum(m.n, max(float(np.sqrt(m.var_n)), 1.0)),
    )
    drawn = draw_cells(figures, _strata_sizes(recipe))
    most = np.hypot(recipe.width / np.sqrt(12), drawn.values - recipe.middle)
    return drawn._replace(deviations=np.minimum(drawn.deviations, most))


def _smallness(rows: Array) -> Array:
    """Returns how many times fewer rows than the geometric mean each stratum has."""
    return np.asarray(np.exp(np.log(rows).mean()) / rows)


def _strata_sizes(recipe: Recipe) -> tuple[int, ...]:
    assert recipe.count is not None  # a mean has one, and so has a variance
    return tuple(len(key.values) for key in recipe.count.strata)


def pool_variances(recipe: Recipe, m: Moments) -> Estimate:
    """Returns the strata's variances, or standard deviations, drawn together.

    They are drawn towards the mean of the strata's variances by rows. Everybody's variance is more
    than that where the strata's means differ, and is not moved.

    Args:
        recipe: A variance by strata.
        m: The noised moments of the strata, of shape (strata, key 1, …).
    """
    drawn, most = _draw_variances(recipe, m), (recipe.width / 2) ** 2
    raw = Estimate(np.clip(drawn.values, 0.0, most), drawn.deviations, m.z, most)
    n = np.where(m.n > np.sqrt(m.var_n), np.maximum(m.n, 2.0), 1e15)  # those are like all
    return finish_variance(recipe, n, raw)


def _draw_variances(recipe: Recipe, m: Moments) -> DrawnCells:
    """Returns the strata's variances over all of their rows, drawn together.

    With q, m and their noise as in `means`, a noised m² is more than m² by the variance of m's
    noise, which is taken off; of few rows it is all that there is. A variance of n normal values
    scatters by √(2 / n) of itself. What a count's noise moves a variance by, q - 2 m², is taken to
    be no less than by the q and m of all strata, as in `own_means`.
    """
    count_sigma = max(float(np.sqrt(m.var_n)), 1e-9)
    rows = np.maximum(m.n, max(count_sigma, 1.0))
    mean, square = m.s / rows, m.q / rows
    of_mean = (m.var_s + mean**2 * m.var_n) / rows**2
    own = recipe.width**2 / 8 + square - mean**2 + of_mean
    most = (recipe.width / 2) ** 2
    is_known = m.n > count_sigma
    all_rows = np.maximum(m.n.sum(axis=0), max(count_sigma, 1.0))
    of_all = m.q.sum(axis=0) / all_rows - 2 * (m.s.sum(axis=0) / all_rows) ** 2
    of_count = np.maximum((square - 2 * mean**2) ** 2, np.minimum(of_all**2, (2.5 * most) ** 2))
    of_ratios = m.var_q + 4 * mean**2 * m.var_s + of_count * m.var_n
    noise = np.where(is_known, of_ratios / rows**2 + 2 * of_mean**2, most**2 * 1e6)
    weight = np.where(is_known, rows, 0.0)
    share = weight / np.maximum(weight.sum(axis=0), 1.0)
    has_rows = weight.any(axis=0)
    middle = np.where(has_rows, np.clip((share * own).sum(axis=0), 0.0, most), most / 2)
    of_middle = np.where(has_rows, (share**2 * noise).sum(axis=0), most**2)
    scatter = 2 * middle**2 / rows
    surely = np.asarray(m.n > SURELY_COUNTED * count_sigma)
    # no stratum is off by itself: variances that differ by a factor lie far above the mean, or near
    # 0, and were drawn towards it (1.10 times the error of the strata's own)
    figures = StrataFigures(own, noise, middle, of_middle, most, scatter, 0.0, surely, (0.0,), rows)
    return draw_cells(figures, _strata_sizes(recipe))


def pool_sums(recipe: Recipe, m: Moments) -> Estimate:
    """Returns the strata's sums: their counts times their means, which are drawn together.

    Counts are as they were noised. The sums do not add up to everybody's.

    Args:
        recipe: A sum by strata.
        m: The noised moments of the strata, of shape (strata, key 1, …).
    """
    of_mean = replace(recipe, kind="mean")
    everybody = combine_strata(of_mean, m, None)
    drawn = pool_strata(of_mean, m, cells(of_mean, m), everybody)
    n = np.maximum(m.n, 0.0)
    variance = (n * drawn.deviations) ** 2 + drawn.values**2 * m.var_n
    return Estimate(n * drawn.values, np.sqrt(variance), m.z)


def pool_levels(
    recipe: Recipe, own: BoundedFigures, others: BoundedFigures, z: float, span: float
) -> tuple[DrawnCells, Array]:
    """Returns the strata's quantiles drawn together, and the half-widths of their intervals.

    A quantile's noise is taken to have the deviation with which its interval would be z of them.

    Args:
        recipe: A quantile by strata that is read off a histogram.
        own: The strata's quantiles and half-widths, of shape (strata, key 1, …); NaN of no rows.
        others: What the strata's are taken for but for their own, of the same shape.
        z: The 95 % half-width in standard deviations.
        span: How far apart rows are seen. A stratum's own quantile is taken to be off the others'
            by no more than about that: in a domain far wider, quantiles that say nothing moved
            strata by a hundredth of it (47 times the error of everybody's).
    """
    width = max(recipe.width, 1e-9)

    def values_and_noise(figures: BoundedFigures, of_nothing: float) -> tuple[Array, Array]:
        # Of a quantile that may lie anywhere in half of the domain little is known. Yet what all
        # rows say is far nearer than the middle of the domain, where values fill little of it.
        is_known = np.isfinite(figures.values) & (figures.half_widths < width / 2)
        variance = (np.where(is_known, figures.half_widths, 0.0) / z) ** 2
        values = np.where(np.isfinite(figures.values), figures.values, recipe.middle)
        return values, np.where(is_known, variance, of_nothing)

    values, noise = values_and_noise(own, width**2 * 1e6)
    middle, of_middle = values_and_noise(others, width**2)
    span = max(span, 1e-9)
    drawn = draw_cells(StrataFigures(values, noise, middle, of_middle, span), (len(values),))
    inside = np.clip(drawn.values, float(recipe.lower), float(recipe.upper))
    halves = np.minimum(z * drawn.deviations, width)
    return drawn._replace(values=inside), halves


def own_means(recipe: Recipe, m: Moments, middle: Array, of_middle: Array) -> tuple[Array, Array]:
    """Returns each stratum's own mean and the variance of its noise, of the counts' shape.

    With c the centre and μ the true mean, S - (μ - c) N is off by σ_S² + (μ - c)² σ_N² (Fieller
    1954). A count that is noised to be much larger than it is draws the ratio S / N to 0, and so
    what the ratio says of (μ - c)²: that is taken to be no less than by everybody's mean and by how
    far strata are from each other, by rows and less the noise of their sums. Else strata of 15 rows
    that were counted as 130 were taken for well known, near the centre, and for far from all others
    (3.9 times the error of everybody's mean for all). While everybody's mean alone said that, of
    strata on both sides of the centre .65 of those counted as too many were within 1.96 deviations.

    The variance of a ratio is that of the first two orders of its Taylor series, because small
    counts are noised by much of themselves. Below the deviation of that noise nothing is known.
    What clipping may have left has a cause that all strata share: it is everybody's error, too.

    Args:
        recipe, m: Of the strata, of shape (strata, key 1, …).
        middle, of_middle: Everybody's mean and the variance of its error, of shape (key 1, …).
    """
    count_sigma = max(float(np.sqrt(m.var_n)), 1e-9)
    rows = np.maximum(m.n, max(count_sigma, 1.0))
    apart = m.centre + m.s / rows
    part = m.var_n / rows**2
    most = (recipe.width / 2 + np.abs(m.centre)) ** 2
    weight = np.where(m.n > count_sigma, rows, 0.0)
    share = weight / np.maximum(weight.sum(axis=0), 1.0)
    between = (apart - (share * apart).sum(axis=0)) ** 2 - m.var_s / rows**2
    of_all = (middle - recipe.middle - m.centre) ** 2 + of_middle
    of_all = np.minimum(of_all + np.maximum((share * between).sum(axis=0), 0.0), most)
    from_centre = np.maximum((m.s / rows) ** 2, of_all) * part * (1 + 8 * part)
    noise = m.var_s / rows**2 * (1 + 3 * part) + from_centre
    return recipe.middle + apart, np.where(m.n > count_sigma, noise, recipe.width**2 * 1e6)
