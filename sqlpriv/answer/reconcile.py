"""Combines the population's own figure with the strata's, so that the two levels agree.

A are the strata's estimates recombined, Σ_i a_i m_i, with variance V_A; B is the population's own,
measured independently, with variance V_B; v_i is the variance of m_i. Generalised least squares
over this tree of two levels (Hay et al. 2010, for unequal variances) gives

    population   A + V_A / (V_A + V_B) (B - A),        variance V_A V_B / (V_A + V_B) <= min
    stratum      m_i + g_i (population - A),           variance v_i - (a_i v_i)² / (V_A + V_B)
                 g_i = a_i v_i / Σ_j a_j² v_j

so that Σ_i a_i m_i is the population's figure again.

**What both err by.** Figures that rest on the same counts, or on one histogram, err together, by
r_A and r_B of one cause. With the variances V_A and V_B of the rest, A + t (B - A) has the variance
(1 - t)² V_A + t² V_B + ((1 - t) r_A + t r_B)², which is least at

    t = (V_A + r_A (r_A - r_B)) / (V_A + V_B + (r_A - r_B)²),   within 0 and 1

The strata's own variances are then left as they were. A mean that is moved out of its domain is
brought back to the domain's end: the true mean lies inside, so that this is nearer to it, and its
interval holds no less often. The strata that are shown then add up to another figure than
everybody's, which is not moved. It is post-processing: free. For counts and
sums a_i = 1 and this is the best linear unbiased estimate; for means the a_i are shares, public
or noised, taken as known. Public weights are not compared with the data: where they differ from
the table's own shares, A and B are figures of two different populations.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer import means
from sqlpriv.answer.intervals.estimate import Array, Estimate
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.pooled_strata import pool_strata, pool_sums, pool_variances
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
    counted_apart = own is not None
    if own is None and moments.everybody is not None and weights is None:
        own = recipe, moments.everybody
    if own is not None:
        alone, share = means.combine_strata(*own, None), means.shares(recipe, moments, weights)
        common = (
            _common_deviation(recipe, moments, weights, counted_apart),
            _common_deviation(*own, None, counted_apart),
        )
        assert recipe.square is None  # the ends of variances are not brought to where they move
        width = recipe.width if recipe.kind == "mean" else float("inf")
        strata, whole = reconcile(strata, whole, alone, share, common, width)
    if recipe.kind == "mean":  # agreement may move a mean out of its domain, where none can be
        inside = np.clip(strata.values, float(recipe.lower), float(recipe.upper))
        strata = _ending_with_domain(recipe, replace(strata, values=inside))
        whole = _ending_with_domain(recipe, whole)
    if recipe.pooled and recipe.kind == "sum":
        strata = pool_sums(recipe, moments)
    elif recipe.pooled and recipe.square is not None:
        strata = pool_variances(recipe, moments)
    elif recipe.pooled and recipe.kind == "mean":
        strata = pool_strata(recipe, moments, strata, whole)
    return strata, whole


def _ending_with_domain(recipe: Recipe, estimate: Estimate) -> Estimate:
    """Returns means whose half-widths reach to the farther end of the domain at most.

    Means that are stated by their length are left as they are."""
    if estimate.is_stated is None:
        return estimate
    span = recipe.width / 2 + np.abs(estimate.values - recipe.middle)
    return replace(estimate, span=span)


def _common_deviation(
    recipe: Recipe, m: Moments, weights: Array | None, counted_apart: bool
) -> Array:
    """Returns the deviation of a population's figure but for the noise of its sums.

    Args:
        recipe, m, weights: See `means.combine_strata`.
        counted_apart: Whether its counts are no part of the other figure.
    """
    without = replace(m, var_s=0.0, var_n=0.0 if counted_apart else m.var_n)
    return np.nan_to_num(means.combine_strata(recipe, without, weights).deviations)


def weigh_levels(
    var_a: Array, var_b: Array, common: tuple[Array | float, Array | float]
) -> tuple[Array, Array]:
    """Returns t, the weight of B, and the variance of A + t (B - A); see the module's text.

    Args:
        var_a, var_b: V_A and V_B, without what both err by.
        common: r_A and r_B.

    >>> t, variance = weigh_levels(np.array(3.0), np.array(1.0), (2.0, 2.0))
    >>> float(t), float(variance)
    (0.75, 4.75)
    """
    r_a, r_b = common
    apart = np.asarray(r_a) - r_b
    both = var_a + var_b + apart**2
    best = (var_a + r_a * apart) / np.where(both > 0, both, 1.0)
    trust = np.clip(np.where(both > 0, best, 0.5), 0.0, 1.0)  # without noise the two are equal
    error = (1 - trust) ** 2 * var_a + trust**2 * var_b + ((1 - trust) * r_a + trust * r_b) ** 2
    return trust, np.asarray(error)


def reconcile(
    strata: Estimate,
    recombined: Estimate,
    own: Estimate,
    shares: Array,
    common: tuple[Array | float, Array | float] = (0.0, 0.0),
    width: float = float("inf"),
) -> tuple[Estimate, Estimate]:
    """Returns the strata and the population such that Σ shares · strata = population.

    Where one of the two population figures is missing (NaN) the other stands alone. What a figure
    may be is not looked at: `span` stays as it was.

    Args:
        strata: The m_i, of shape (strata, key 1, …).
        recombined: A, of shape (key 1, …).
        own: B, of the same shape.
        shares: The a_i, of the strata's shape; 0 where a stratum has no estimate.
        common: r_A and r_B, of A's shape: what both err by.
        width: Of the interval that strata are known to be inside.
    """
    a, b = np.isfinite(recombined.values), np.isfinite(own.values)
    var_a, var_b = recombined.deviations**2, own.deviations**2
    r_a, r_b = (np.broadcast_to(np.asarray(r, float), var_a.shape) for r in common)
    rest_a = np.maximum(np.nan_to_num(var_a) - r_a**2, 0.0)
    rest_b = np.maximum(np.nan_to_num(var_b) - r_b**2, 0.0)
    trust, error = weigh_levels(rest_a, rest_b, (r_a, r_b))
    both = np.where(a & b & (r_a == 0) & (r_b == 0), rest_a + rest_b, np.inf)
    gap = np.where(a & b, own.values - recombined.values, 0.0)
    values = np.where(a, recombined.values + trust * gap, own.values)
    variance = np.where(a & b, error, np.where(a, var_a, var_b))
    alone = np.where(a, recombined.impossible, own.impossible)
    impossible = np.where(a & b, 0.0, alone)
    population = replace(
        recombined,
        values=values,
        deviations=np.sqrt(variance),
        impossible=impossible,
        is_stated=_either_stated(recombined, own),
    )
    by = np.where(a & b, values - recombined.values, 0.0)
    return _move_strata(strata, shares, by, both, width), population


def _either_stated(one: Estimate, other: Estimate) -> NDArray[np.bool_] | None:
    """Returns which figures either of two estimates states; None where one goes by half-widths."""
    if one.is_stated is None or other.is_stated is None:
        return None
    return np.asarray(one.is_stated | other.is_stated)


def _move_strata(strata: Estimate, shares: Array, by: Array, both: Array, width: float) -> Estimate:
    """Returns the strata moved so that their recombination moves by `by`, noisy ones farther.

    A mean is inside its interval whatever its noise is, so its variance counts as no more than that
    of a uniform number there: of a stratum of one row the noise has a hundred times more, and such
    strata would take all of the move (doctor's visits: 12 times the error).
    """
    variance = np.minimum(np.nan_to_num(strata.deviations) ** 2, width**2 / 12)
    pull = shares * variance
    weight = (shares * pull).sum(axis=0)
    gain = pull / np.where(weight > 0, weight, 1.0)
    left = strata.deviations**2 - pull**2 / np.where(both > 0, both, 1.0)
    deviations = np.sqrt(np.maximum(left, 0.0))
    move = gain * by  # the ends of what is possible may be so much farther away
    kept = np.nan_to_num(strata.half_widths) + np.abs(move)
    impossible = np.maximum(np.nan_to_num(strata.z * deviations) - kept, 0.0)
    values = strata.values + move
    return replace(strata, values=values, deviations=deviations, impossible=impossible)


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
