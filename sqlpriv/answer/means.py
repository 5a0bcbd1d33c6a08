"""Counts, sums, means and variances out of noised counts and centred sums, with their errors.

Of N, S, Q, μ and w see `moments`; m = S / N and q = Q / N.

    sum       S + μ N                error variance  σ_S² + μ² σ_N²                      (exact)
                                     (of a clipped sum μ is the cell's centre, and drift adds to it)
    mean      μ + m                  see `ratio_ends`; (σ_S² + m² σ_N²) / N² of many rows
    variance  v = w²/8 + q - m²      see `_centred_square_deviation`; of many rows
                                     (σ_Q² + 4 m² σ_S² + (q - 2 m²)² σ_N²) / N²
    stddev    √v                     whose interval holds the roots of v's: it holds as often

**Recombination.** The population's m and q are Σ_i a_i m_i and Σ_i a_i q_i over strata i. With
public weights a_i = w_i (renormalised over strata with N_i > 0); without, a_i = N_i⁺ / Σ N⁺, which
makes m = Σ S_i / Σ N_i. Variances recombine by the law of total variance, through q. With given
weights r_i below is the stratum's own ratio; without, the weights are noisy, too, and it is the
population's:

    mean      Σ_i (a_i / N_i)² (σ_S² + r_i² σ_N²),              r_i = m_i or m
    variance  Σ_i (a_i / N_i)² (σ_Q² + 4 m² σ_S² + r_i² σ_N²),  r_i = q_i - 2 m m_i or q - 2 m²

A single cell is the population of one stratum. (Rosenblatt, Stoyanovich, Musco 2024, on why strata
are estimated on their own first.)

Estimates are clipped to what x's interval allows: post-processing, which can only bring them nearer
to the truth. A population's mean is made of strata that are not clipped, so it may differ from the
mean of the strata that are shown where one of those was. Half-widths are of 95 % intervals for the
noise alone (the rows are what is asked about, not a sample); they are cut at the range of what is
estimated. Of a mean's or a variance's interval the part outside the range is left out: what is
estimated is never there, so the rest holds as often (`possible_part`). Whether a plain mean or a
variance is stated is told by its rows (`few_rows`).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array, Estimate
from sqlpriv.answer.intervals.few_rows import are_rows_told, noise_in_rows, reach_of_rows
from sqlpriv.answer.intervals.possible_part import possible_half_widths
from sqlpriv.answer.intervals.ratio_ends import ratio_ends
from sqlpriv.answer.moments import Moments, add_strata, noise_of_strata
from sqlpriv.plan.aggregates.rewrites import Recipe


def cells(recipe: Recipe, m: Moments) -> Estimate:
    """Returns the estimate of every cell, of shape (strata, key 1, key 2, …)."""
    alone = replace(m, n=m.n[None], s=m.s[None], q=m.q[None], clumped=0.0)
    return combine_strata(recipe, alone, None)


def combine_strata(recipe: Recipe, m: Moments, weights: Array | None) -> Estimate:
    """Returns the estimate over all strata (axis 0), of shape (key 1, key 2, …).

    Args:
        recipe: What is estimated.
        m: Of the strata.
        weights: Public weights of the strata, of shape (strata,), not negative; None takes the
            noised counts. Counts and sums are added up whatever the weights.
    """
    match recipe.kind:
        case "count":
            total = m.n.sum(axis=0)
            variance: Array | float = len(m.n) * m.var_n
        case "sum":
            centre = recipe.middle + m.centre
            total = (m.s + centre * m.n).sum(axis=0)
            own = np.broadcast_to(m.var_s + np.square(centre) * m.var_n, m.n.shape).sum(axis=0)
            common = np.broadcast_to(np.abs(m.n) * np.sqrt(m.drift), m.n.shape).sum(axis=0)
            variance = own + common**2 + m.clumped * m.n.sum(axis=0) ** 2
        case "mean":
            return _mean(recipe, m, weights)
        case _:
            return _variance_or_root(recipe, m, weights)
    deviations = np.full_like(total, np.sqrt(variance))
    return Estimate(total, deviations, m.z, whole=recipe.kind == "count")


def shares(recipe: Recipe, m: Moments, weights: Array | None) -> Array:
    """Returns a_i of every cell: with them, the strata's estimates add up to the population's.

    For means they add up to 1 along axis 0 where any stratum has a mean; counts and sums have ones.
    """
    if recipe.kind in ("count", "sum"):
        return np.ones_like(m.n)
    raw = m.n if weights is None else weights.reshape(-1, *([1] * (m.n.ndim - 1)))
    kept = np.where(m.n > 0, raw, 0.0)
    total = kept.sum(axis=0)
    return np.asarray(kept / np.where(total > 0, total, 1.0))


def _parts(recipe: Recipe, m: Moments) -> tuple[NDArray[np.bool_], Array, Array]:
    """Returns which cells have rows, their N (else 1) and their means (else 0) from the middle."""
    present, half = m.n > 0, recipe.width / 2
    n = np.where(present, m.n, 1.0)
    return present, n, np.where(present, np.clip(m.centre + m.s / n, -half, half), 0.0)


def _mean(recipe: Recipe, m: Moments, weights: Array | None) -> Estimate:
    """Returns the mean over all strata; see the module's text on when strata are clipped first."""
    if weights is None:
        return _pooled_mean(recipe, m)
    present, n, part = _parts(recipe, m)
    share = shares(recipe, m, weights)
    mean = (share * part).sum(axis=0)
    noise = (share / n) ** 2 * (m.var_s + (part - m.centre) ** 2 * m.var_n)
    drift = (share * np.sqrt(m.drift)).sum(axis=0)
    variance = noise.sum(axis=0) + drift**2 + m.clumped
    return _bounded_mean(recipe, m, present.any(axis=0), mean, variance)


def _pooled_mean(recipe: Recipe, m: Moments) -> Estimate:
    """Returns Σ S_i / Σ N_i, with S_i around the same middle in all strata.

    No stratum is clipped to the interval, or left out for a count below 0, before it is added up.
    Either would bias the sum: of 18 strata of 55 rows around the interval's lower end half are
    raised to that end, and none is lowered (everybody's error was 6 times what the noise gives).
    """
    total = m.n.sum(axis=0)
    has_rows = (m.n > 0).any(axis=0) & (total > 0)
    n = np.where(has_rows, total, 1.0)
    mean = np.where(has_rows, (m.n * m.centre + m.s).sum(axis=0) / n, 0.0)
    half = recipe.width / 2
    inside = np.clip(mean, -half, half)
    drift = (np.abs(m.n) * np.sqrt(m.drift)).sum(axis=0) / n
    hidden = noise_in_rows(noise_of_strata(m)[:2], recipe.width)
    reach = m.z if recipe.using else reach_of_rows(n, hidden, m.z)
    down, up = (np.abs(end - mean) for end in _ratio_interval(m, n, recipe.width, reach))
    others = m.z**2 * (drift**2 + m.clumped)
    down, up = np.sqrt(down**2 + others), np.sqrt(up**2 + others)
    farther = np.maximum(down, up)
    possible = possible_half_widths(inside, (mean - down, mean + up), (-half, half))
    bounded = _bounded_mean(recipe, m, has_rows, inside, (farther / m.z) ** 2)
    bounded = replace(bounded, impossible=farther - possible)
    if recipe.using:
        return bounded
    stated = are_rows_told(total, hidden, m.z)
    return replace(bounded, span=half + np.abs(inside), is_stated=stated)


def _ratio_deviation(m: Moments, n: Array, mean: Array, width: float, reach: Array) -> Array:
    """Returns the deviation of an estimate of Σ S_i / Σ N_i that reaches its interval's ends.

    Args:
        m, n, width, reach: Of `_ratio_interval`.
        mean: The estimate, from the interval's middle.
    """
    low, high = _ratio_interval(m, n, width, reach)
    return np.asarray(np.maximum(high - mean, mean - low) / m.z)


def _ratio_interval(
    m: Moments, n: Array, width: float, reach: Array | float
) -> tuple[Array, Array]:
    """Returns the ends of the interval of Σ S_i / Σ N_i, from the middle of the declared one.

    Args:
        m: Of the strata along axis 0.
        n: N, positive.
        width: Of the declared interval, of which an end is at most four lengths away.
        reach: How many deviations of the noise an end is away.
    """
    centre = np.broadcast_to(np.asarray(m.centre, float), m.n.shape)
    c = centre.mean(axis=0)
    of_sum = np.broadcast_to(m.var_s + (centre - c) ** 2 * m.var_n, m.n.shape).sum(axis=0)
    s = ((centre - c) * m.n + m.s).sum(axis=0)
    low, high = ratio_ends(s, n, (of_sum, len(m.n) * m.var_n), reach, 4 * width)
    return c + low, c + high


def _bounded_mean(
    recipe: Recipe, m: Moments, has_rows: NDArray[np.bool_] | np.bool_, mean: Array, variance: Array
) -> Estimate:
    """Returns the estimate of a mean that was taken from the interval's middle."""
    where = np.asarray(has_rows)
    value = _blank_unless(where, recipe.middle + mean)
    return Estimate(value, _blank_unless(where, np.sqrt(variance)), m.z, recipe.width)


def _variance_or_root(recipe: Recipe, m: Moments, weights: Array | None) -> Estimate:
    """Returns a variance or a standard deviation.

    Without public weights the strata's N, S and Q are added up first, and none is clipped or left
    out before, as in `_pooled_mean`.
    """
    if weights is None:
        m = add_strata(m)
    present, n, part = _parts(recipe, m)
    half, share = recipe.width / 2, shares(recipe, m, weights)
    mean = (share * part).sum(axis=0)
    bound = half**2 / 2
    squares = np.where(present, np.clip(m.q / n, -bound, bound), 0.0)
    square = (share * squares).sum(axis=0)
    if weights is None:
        error = _centred_square_deviation(recipe, m, n, mean, square)
    else:
        own = squares - 2 * mean * part
        noise = m.var_q + 4 * mean**2 * m.var_s + own**2 * m.var_n
        error = np.sqrt(((share / n) ** 2 * noise).sum(axis=0))
    noised = bound + square - mean**2
    value = np.clip(noised, 0.0, half**2)
    rows = np.where(present, m.n, 0.0).sum(axis=0)
    possible = Estimate(value, error, m.z, half**2, impossible=np.abs(noised - value))
    if weights is None:
        stated = are_rows_told(rows, noise_in_rows(noise_of_strata(m), recipe.width), m.z)
        farther_end = bound + np.abs(value - bound)
        possible = replace(possible, span=farther_end, is_stated=stated)
    return finish_variance(recipe, rows, possible)


def _centred_square_deviation(
    recipe: Recipe, m: Moments, n: Array, mean: Array, square: Array
) -> Array:
    """Returns the deviation of q - m² whose half-width holds for few rows, too.

    With m̂ and q̂ the estimates, q̂ - m̂² is off by (q̂ - 2 m m̂) - (q - 2 m²), which is that of a
    ratio of Q - 2 m S and N, less (m̂ - m)², which is no more than the square of m's half-width.

    Args:
        recipe, m: As one stratum.
        n: N, positive, of shape (1, key 1, …).
        mean, square: m̂ and q̂.
    """
    of_ratio = replace(m, s=m.q - 2 * mean * m.s, var_s=m.var_q + 4 * mean**2 * m.var_s)
    most, total = recipe.width**2, n.sum(axis=0)
    reach = reach_of_rows(total, noise_in_rows(noise_of_strata(m), recipe.width), m.z)
    ratio = _ratio_deviation(of_ratio, total, square - 2 * mean**2, most, reach)
    of_mean = m.z * _ratio_deviation(m, total, mean, recipe.width, reach)
    return np.asarray(np.hypot(ratio, of_mean**2 / m.z))


def finish_variance(recipe: Recipe, n: Array, raw: Estimate) -> Estimate:
    """Returns the population's or the sample's variance of n values, or its root.

    Args:
        recipe: Which of them.
        n: Noised counts.
        raw: The variances over all rows.
    """
    value, error, span, stated = raw.values, raw.half_widths, raw.span, raw.is_stated
    defined: NDArray[np.bool_] = np.asarray(n > (1 if recipe.sample else 0))
    if recipe.sample:
        factor = np.where(defined, n, 2.0) / (np.where(defined, n, 2.0) - 1)
        value, error, span = value * factor, error * factor, float("inf")
    if recipe.kind == "stddev":
        if stated is None:  # a root's interval is shorter than all roots where a variance's is not
            stated = np.asarray(error < recipe.width**2 / 4)
        root = np.sqrt(value)
        below = root - np.sqrt(np.maximum(value - error, 0.0))
        error = np.maximum(below, np.sqrt(value + error) - root)
        value, span = root, float("inf")
    values, deviations = (_blank_unless(defined, of) for of in (value, error / raw.z))
    return Estimate(values, deviations, raw.z, span, is_stated=stated)


def _blank_unless(where: NDArray[np.bool_], values: Array) -> Array:
    return np.asarray(np.where(where, values, np.nan))
