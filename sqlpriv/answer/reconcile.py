"""Best of both: a population figure of its own beside the strata's, and the two levels agree.

A are the strata's estimates recombined, Σ_i a_i m_i, with variance V_A; B is the population's own,
measured independently, with variance V_B; v_i is the variance of m_i. Generalised least squares
over this tree of two levels (Hay et al. 2010, for unequal variances) gives

    population   A + V_A / (V_A + V_B) (B - A),        variance V_A V_B / (V_A + V_B) <= min
    stratum      m_i + g_i (population - A),           variance v_i - (a_i v_i)² / (V_A + V_B)
                 g_i = a_i v_i / Σ_j a_j² v_j

so that Σ_i a_i m_i is the population's figure again. It is post-processing: free. For counts and
sums a_i = 1 and this is the best linear unbiased estimate; for means the a_i are shares, public
or noised, taken as known. With public weights it takes them at their word: where they are not the
table's own shares, A and B are figures of two different populations.

**Strata drawn together** (`AVG(x USING pooled)`): empirical Bayes over means that were released.
A stratum's mean is taken for everybody's, plus an effect of each of its strata columns' values,
plus a deviation of its own. Effects and deviations are normal with variances a and s (Fay and
Herriot 1979). Pairs of those are weighed by how likely they make the released means with their
known noise, √(a + s) being uniform before. With E the 0/1 matrix of the effects, K = a E Eᵀ + s I:

    means       everybody + K (K + noise)⁻¹ (released - everybody)

A stratum of whom noise leaves nothing says "like everybody". It is post-processing: free. There are
no half-widths: the posterior's held 95 to 96 % of the strata of uniform and bimodal values, but 37
to 94 % of those with long tails (100,000 rows in 18 strata, 10,000 in 200).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlpriv.answer import means
from sqlpriv.answer.means import Array, Estimate, Moments, main_effects
from sqlpriv.plan.aggregates.rewrites import Recipe

PARTS = (0.0, 0.25, 0.5, 0.75)
"""Candidates of a / (a + s); 0 where there is one strata column, whose effects are the strata."""
HALVINGS = 20
"""Candidates of √(a + s): the interval's width, halved once to so many times, by half octaves."""
MOST_SOLVED = 400
"""More strata than this have no effects of their columns: V is then diagonal, and not solved."""


def two_levels(
    recipe: Recipe, moments: Moments, weights: Array | None, own: tuple[Recipe, Moments] | None
) -> tuple[Estimate, Estimate]:
    """Returns the strata and the population, made to agree where both were measured.

    Args:
        recipe, moments: Of the strata.
        weights: Public weights of the strata, or None; see `means.combine_strata`.
        own: The same of the population, one stratum, or None.
    """
    strata, whole = means.cells(recipe, moments), means.combine_strata(recipe, moments, weights)
    if own is not None:
        alone, share = means.combine_strata(*own, None), means.shares(recipe, moments, weights)
        strata, whole = reconcile(strata, whole, alone, share)
    if recipe.pooled:
        strata = pool_strata(recipe, moments, strata, whole)
    return strata, whole


def reconcile(
    strata: Estimate, recombined: Estimate, own: Estimate, shares: Array
) -> tuple[Estimate, Estimate]:
    """Returns the strata and the population such that Σ shares · strata = population.

    Where one of the two population figures is missing (NaN) the other stands alone.

    Args:
        strata: The m_i, of shape (strata, key 1, …).
        recombined: A, of shape (key 1, …).
        own: B, of the same shape.
        shares: The a_i, of the strata's shape; 0 where a stratum has no estimate.
    """
    a, b = np.isfinite(recombined.values), np.isfinite(own.values)
    var_a, var_b = recombined.deviations**2, own.deviations**2
    both = np.where(a & b, var_a + var_b, np.inf)
    trust = np.where(both > 0, var_a / both, 0.5)  # without any noise the two are equal
    gap = np.where(a & b, own.values - recombined.values, 0.0)
    values = np.where(a, recombined.values + np.nan_to_num(trust) * gap, own.values)
    variance = np.where(a, np.nan_to_num(1 - trust, nan=1.0) * var_a, var_b)
    population = replace(recombined, values=values, deviations=np.sqrt(variance))
    by = np.where(a & b, values - recombined.values, 0.0)
    return _move_strata(strata, shares, by, both), population


def _move_strata(strata: Estimate, shares: Array, by: Array, both: Array) -> Estimate:
    """Returns the strata moved so that their recombination moves by `by`, noisy ones farther."""
    pull = np.nan_to_num(shares * strata.deviations**2)
    weight = (shares * pull).sum(axis=0)
    gain = pull / np.where(weight > 0, weight, 1.0)
    left = strata.deviations**2 - pull**2 / np.where(both > 0, both, 1.0)
    deviations = np.sqrt(np.maximum(left, 0.0))
    return replace(strata, values=strata.values + gain * by, deviations=deviations)


def round_counts(strata: Array, population: Array) -> tuple[Array, Array]:
    """Returns whole counts: the population's, rounded, and strata that still add up to it.

    Each is rounded down, and those with the largest remainders up, as far as the total asks.

    >>> counts, total = round_counts(np.array([[1.4], [2.3], [0.4]]), np.array([4.1]))
    >>> counts.ravel().tolist(), total.tolist()
    ([1.0, 2.0, 1.0], [4.0])
    """
    total, low = np.rint(population), np.floor(strata)
    missing = total - low.sum(axis=0)
    order = np.argsort(np.argsort(low - strata, axis=0, kind="stable"), axis=0, kind="stable")
    each, rest = np.divmod(missing, len(strata))
    return low + each + (order < rest), total


def pool_strata(recipe: Recipe, m: Moments, strata: Estimate, everybody: Estimate) -> Estimate:
    """Returns the strata's means drawn together.

    Args:
        recipe: A mean by strata.
        m: The noised moments of the strata, of shape (strata, key 1, …).
        strata: Their own means, of the same shape.
        everybody: The means over all strata, of shape (key 1, …).
    """
    assert recipe.count is not None  # a mean has one
    sizes = tuple(len(key.values) for key in recipe.count.strata)
    effects = main_effects(sizes) if len(sizes) > 1 and len(m.n) <= MOST_SOLVED else None
    rows = np.maximum(m.n, max(float(np.sqrt(m.var_n)), 1.0))
    own = recipe.middle + m.centre + m.s / rows
    noise = (m.var_s + (own - recipe.middle - m.centre) ** 2 * m.var_n) / rows**2
    middle = np.where(np.isfinite(everybody.values), everybody.values, recipe.middle)
    values = np.empty_like(own)
    for cell in np.ndindex(own.shape[1:]):
        at = (slice(None), *cell)
        apart = shrink_to_zero(own[at] - middle[cell], noise[at], effects, recipe.width)
        values[at] = middle[cell] + apart
    inside = np.clip(values, float(recipe.lower), float(recipe.upper))
    return replace(strata, values=inside, deviations=np.full_like(values, np.nan))


def shrink_to_zero(apart: Array, noise: Array, effects: Array | None, width: float) -> Array:
    """Returns the posterior means of the deviations from everybody, of shape (strata,).

    Args:
        apart: Noised deviations, of shape (strata,).
        noise: Variances of their noise, of shape (strata,).
        effects: Which value of each strata column a stratum has, of shape (strata, effects).
        width: Of the declared interval.

    A precise one stays, and one that is all noise is taken for everybody's:

    >>> apart, noise = np.array([3.0, -3.0, 2.0, 80.0]), np.array([0.01, 0.01, 0.01, 1e6])
    >>> shrink_to_zero(apart, noise, None, 100.0).round(1).tolist()
    [3.0, -3.0, 2.0, 0.0]
    """
    noise = np.maximum(noise, (width * 1e-9) ** 2)
    alike = None if effects is None else effects @ effects.T
    fits, posteriors = [], []
    for halving in range(2, 2 * HALVINGS + 1):
        spread = width * 2.0 ** (-halving / 2)
        for part in PARTS if alike is not None else (0.0,):
            prior = _prior(spread**2, part, alike)
            fits.append(_log_likelihood(apart, noise, prior) + np.log(spread))
            posteriors.append(_posterior(apart, noise, prior))
    weight = np.exp(np.array(fits) - max(fits))
    weight /= weight.sum()
    return np.asarray(weight @ np.array(posteriors))


def _posterior(apart: Array, noise: Array, prior: Array) -> Array:
    """Returns the posterior means under one prior; see the module's text."""
    if prior.ndim == 0:
        return np.asarray(prior / (prior + noise) * apart)
    return np.asarray(prior @ np.linalg.solve(prior + np.diag(noise), apart))


def _prior(total: float, part: float, alike: Array | None) -> Array:
    """Returns K, or the one number of its diagonal where strata have nothing in common."""
    if alike is None or part == 0:
        return np.array(total)
    return np.asarray(part * total * alike / alike[0, 0] + (1 - part) * total * np.eye(len(alike)))


def _log_likelihood(apart: Array, noise: Array, prior: Array) -> float:
    if prior.ndim == 0:
        variance = prior + noise
        return float(-(apart**2 / variance + np.log(variance)).sum() / 2)
    root = np.linalg.cholesky(prior + np.diag(noise))
    scaled = np.linalg.solve(root, apart)
    return float(-(scaled @ scaled) / 2 - np.log(np.diag(root)).sum())
