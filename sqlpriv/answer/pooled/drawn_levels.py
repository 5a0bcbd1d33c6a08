"""Quantiles of strata by distributions that are drawn together.

Strata's quantiles, each read off its own noised histogram, know little of each other: of a stratum
of few rows the median is anywhere. Here the strata's distributions are drawn to all rows' one
first, and read afterwards.

1. All strata together say where rows are at all (`smooth_levels`); u is the part of all rows up to
   a level. Levels without rows are left out, and with them most of the noise.
2. In each of a few runs of levels a stratum's rows are counted by the best linear unbiased count
   if its rows are spread there as all rows are: Σ p c / Σ p², with the noise σ / √Σ p², for shares
   p of a run's rows.
3. What these say of a stratum's part of rows up to u, less u, is drawn together over the strata
   (`group_effects`, with the effects of strata columns), at seven u: that of the quantile of all,
   and three on either side. A stratum of n rows scatters by u (1 - u) / n.
4. The parts are made to rise, and the quantile is read off between them; the ends of its interval
   off parts that are moved by z deviations, which are larger between the seven u where strata
   differ.

What a stratum's own quantile says besides is looked at afterwards (`pooled_strata.pool_levels`):
many rows tell more than seven parts can.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.intervals.level_intervals import NoisedLevels
from sqlpriv.answer.pooled.group_effects import SURELY_COUNTED, draw_together

TOWARDS = (0.25, 0.5, 0.75)
"""Where u are from the quantile's own to either end."""
FINER = 8
"""Parts of a step of u that are told apart in an interval."""
MOST_UNLIKE = 1.0
"""Of h²: a step's rows may all lie at one point of it."""
RUNS = 4
"""Runs of levels between one u and the next: within them strata are taken to be like all rows."""


class DrawnLevels(NamedTuple):
    """Strata's quantiles, of shape (strata,): numbers of levels, the first and the last that the
    interval reaches to, and the weights of their own rows."""

    at: Array
    first: Array
    last: Array
    weights: Array


class RunCounts(NamedTuple):
    """Rows of strata in runs of levels.

    Args:
        rows: Of shape (strata, runs).
        variances: Of their noise, of shape (runs,).
        of_all: Parts of all rows in the runs, of shape (runs,).
        joined: By how much of its variance a run moves for a row that the strata's count says more.
        of_count: Variance of the noise of the strata's rows.
    """

    rows: Array
    variances: Array
    of_all: Array
    joined: float
    of_count: float


def draw_levels(
    of: NoisedLevels, shares: Array, wanted: float, sizes: tuple[int, ...], z: float
) -> DrawnLevels:
    """Returns the strata's quantiles; see the module's text.

    Args:
        of: The strata's noised histograms, of shape (strata, levels).
        shares: Of the levels in all rows, adding up to 1, of shape (levels,).
        wanted: The u of the quantile of all rows.
        sizes: How many values each strata column has.
        z: The 95 % half-width in standard deviations.
    """
    up_to = shares.cumsum()
    low, high = wanted * np.array([0, *TOWARDS, 1]), wanted + (1 - wanted) * np.array([*TOWARDS, 1])
    marks = np.concatenate([low, high])
    fine = np.interp(np.arange(len(marks[1:]) * RUNS + 1) / RUNS, np.arange(len(marks)), marks)
    run = np.searchsorted(fine[1:-1], up_to - shares / 2, side="right")
    present, run = np.unique(run[shares > 0], return_inverse=True)
    counts = count_runs(of, shares, run, len(present))
    ends = counts.of_all.cumsum()[:-1]
    nearest = np.abs(ends - marks[1:-1, None]).argmin(axis=1) if len(ends) else []
    drawn_at = np.unique(np.array(nearest, np.intp))
    strata = len(counts.rows)
    u = np.array([0.0, *(ends[at] for at in drawn_at), 1.0])
    parts, spread, weight = (np.zeros((strata, len(u))) for _ in range(3))
    parts[:, -1] = 1.0
    rows = counts.rows.sum(axis=1)
    count_sigma = counts.of_count**0.5
    safe = np.maximum(rows, max(count_sigma, 1.0))
    is_known, surely = rows > count_sigma, rows > SURELY_COUNTED * count_sigma
    for number, at in enumerate(drawn_at, 1):
        apart, noise = _apart_up_to(counts, at, safe)
        noise = np.where(is_known, noise, 1e6)
        scatter = u[number] * (1 - u[number]) / safe
        drawn = draw_together(apart, noise, sizes, 1.0, scatter, surely)
        parts[:, number] = np.clip(u[number] + drawn.means, 0.0, 1.0)
        spread[:, number], weight[:, number] = np.sqrt(drawn.variances), drawn.weights
    u, parts, spread, weight = _between_marks(u, parts, spread, weight)
    figures = [_first_u(_rising(parts + far * spread), u, wanted) for far in (0.0, z, -z)]
    level = [np.minimum(np.searchsorted(up_to, x - 1e-9), len(shares) - 1) for x in figures]
    of_own = np.array([np.interp(x, u, w) for x, w in zip(figures[0], weight, strict=True)])
    at, first, last = level
    return DrawnLevels(at, np.minimum(first, at), np.maximum(last, at), of_own)


def count_runs(of: NoisedLevels, shares: Array, run: NDArray[np.intp], runs: int) -> RunCounts:
    """Returns the strata's rows in runs of levels.

    Args:
        of, shares: See `draw_levels`.
        run: The run of each level with rows.
        runs: How many there are.
    """
    kept = shares[shares > 0]
    in_run = np.zeros((len(kept), runs))
    in_run[np.arange(len(kept)), run] = kept
    of_all, squares = in_run.sum(axis=0), (in_run**2).sum(axis=0)
    rows = of.counts[:, shares > 0] @ in_run * (of_all / squares)
    variances = float(np.asarray(of.variance).max()) * of_all**2 / squares
    noise, counted = float(variances.sum()), float(np.asarray(of.rows_deviation).max()) ** 2
    if counted >= noise:
        return RunCounts(rows, variances, of_all, 0.0, noise)
    joined = 1 / (noise + counted)
    rows = rows + np.multiply.outer((of.rows - rows.sum(axis=1)) * joined, variances)
    return RunCounts(rows, variances, of_all, joined, noise * counted * joined)


def _apart_up_to(counts: RunCounts, at: int, safe: Array) -> tuple[Array, Array]:
    """Returns strata's parts of rows up to a run, less those of all rows, and their noise."""
    u = float(counts.of_all[: at + 1].sum())
    inside, noise = float(counts.variances[: at + 1].sum()), float(counts.variances.sum())
    over = counts.rows[:, : at + 1].sum(axis=1) - u * counts.rows.sum(axis=1)
    variance = (1 - u) ** 2 * inside + u**2 * (noise - inside)
    variance -= (inside - u * noise) ** 2 * counts.joined
    return over / safe, variance / safe**2 * (1 + 3 * counts.of_count / safe**2)


def _between_marks(
    u: Array, parts: Array, spread: Array, weight: Array
) -> tuple[Array, Array, Array, Array]:
    """Returns u, the strata's parts up to them, their deviations and weights, at more u.

    Between two u a stratum's rows are taken to lie as all rows do, a step's part J of them up to a
    fraction t of it at J t. Where a stratum's heaps lie elsewhere that is off by about J h
    √(t (1 - t)): h² is the mean over strata of half the squared difference of J / step between
    steps that are side by side, weighted by them, and at most 1. Strata that differ smoothly, by a
    shift within one wide heap, have a small one.
    """
    step, own = np.diff(u), np.diff(parts, axis=1)
    bends = np.diff(own / step, axis=1) ** 2 * (step[:-1] + step[1:]) / 4
    unlike = np.sqrt(min(float(bends.sum(axis=1).mean()), MOST_UNLIKE))
    t = np.arange(FINER) / FINER
    fine = np.append((u[:-1, None] + np.outer(step, t)).ravel(), u[-1])
    parts, spread, weight = (
        np.stack([np.interp(fine, u, row) for row in of]) for of in (parts, spread, weight)
    )
    inside = np.multiply.outer(np.maximum(own, 0.0), unlike * np.sqrt(t * (1 - t)))
    spread[:, :-1] = np.hypot(spread[:, :-1], inside.reshape(len(own), -1))
    return fine, parts, spread, weight


def _rising(parts: Array) -> Array:
    """Returns parts that rise along the last axis, between 0 and 1: the mean of the largest so far
    and the least to come."""
    inside = np.clip(parts, 0.0, 1.0)
    down = np.minimum.accumulate(inside[:, ::-1], axis=1)[:, ::-1]
    return np.asarray((np.maximum.accumulate(inside, axis=1) + down) / 2)


def _first_u(parts: Array, u: Array, wanted: float) -> Array:
    """Returns where each row of rising parts reaches what is wanted."""
    step = np.arange(len(u)) * 1e-12  # interpolation takes parts that rise
    return np.array([np.interp(wanted, part + step, u) for part in parts])
