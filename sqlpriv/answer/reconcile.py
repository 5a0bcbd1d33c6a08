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
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sqlpriv.answer import means
from sqlpriv.answer.means import Array, Estimate, Moments
from sqlpriv.answer.pooled_strata import pool_strata, pool_sums
from sqlpriv.plan.aggregates.rewrites import Recipe


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
    if recipe.pooled and recipe.kind == "sum":
        strata = pool_sums(recipe, moments)
    elif recipe.pooled:
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
