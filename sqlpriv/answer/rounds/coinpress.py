"""COINPRESS (Biswas, Dong, Kamath and Ullman 2020), every cell at once, one query per step.

Rosenblatt, Stoyanovich and Musco (2024), Algorithms 1 to 3, with these differences:

- Neighbours add or remove a unit, so |G_i| is private: n is the cell's noised count, paid for, and
  a step measures a noised sum, not a mean whose sensitivity would tell n.
- σ is not taken as 1. It is declared (`coinpress_sigma`), or bounded from above in each cell by the
  noised sum of squares that every step but the last measures beside the sum.
- The interval of the mean starts as the declared one, and never leaves it.
- Algorithm 2's midpoint is that of the last interval, and Algorithm 3's weights add up to 1.

One step, with c and h the middle and half the width of the clipping interval
[l - σ q, r + σ q] ∩ [lower, upper], q = √(2 log(2 n / β)):

    m = c + h T / n,   T the noised sum of (x - c) / h clamped to ±1, noise deviation τ
    e² = 2 (σ² / n + (h τ / n)² + ((m - c) σ_N / n)²) log(2 / β)
    [l, r] ← [m - e, m + e] ∩ [l, r]
    v = h² Q / n - (m - c)²,   Q the noised sum of the same squares;   σ² ← v + 2 deviations of v

Values beyond the last interval are clipped: on data with tails heavier than a normal
distribution's that is a bias, which the half-width does not tell (`quantile` corrects for it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.moments import Moments
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.means.mean_queries import Bounds, count_query, scaled_sum, squared_sum
from sqlpriv.plan.aggregates.means.mean_rounds import MeanRounds, rounds_of
from sqlpriv.plan.pricing.statement import half_width

if TYPE_CHECKING:
    from sqlpriv.answer.rounds.adaptive_means import Measure

BETA = 0.05
"""Chance that a step loses the mean, or clips a value of a normal distribution."""
FRESH = 2.0**-40
"""Each step's intervals are wider by this part: a step that narrows nothing would else repeat the
query before it, be replayed from its seal, and tell nothing new."""


@dataclass(frozen=True, eq=False)
class CellState:
    """Bounds of each cell: an interval [low, high] of its mean, and an upper bound of its σ."""

    low: Array
    high: Array
    sigma: Array


def mean(request: MeanRounds, releases: Mapping[Asked, Release], measure: Measure) -> Moments:
    """Returns N and the last step's sum, for the cells' and the population's means."""
    recipe, steps = request.recipe, rounds_of(request)
    counted = releases[count_query(recipe)]
    n = np.maximum(counted.values, 1.0)
    start = np.full(n.shape, recipe.width / 2) if request.sigma is None else request.sigma
    state = CellState(
        np.full(n.shape, float(recipe.lower)),
        np.full(n.shape, float(recipe.upper)),
        np.broadcast_to(np.asarray(start, float), n.shape),
    )
    beta = BETA / (4 * max(len(steps) - 1, 1))
    for number, step in enumerate(steps[:-1]):
        centre, half = interval(state, n, beta, recipe.lower, recipe.upper)
        half = half * (1 + number * FRESH)
        answers = _measure_step(request, step.measurements, centre, half, measure)
        state = narrow_interval(state, n, centre, half, answers, counted.sigma, beta)
    centre, half = interval(state, n, BETA / 4, recipe.lower, recipe.upper)
    half = half * (1 + len(steps) * FRESH)
    (total,) = _measure_step(request, steps[-1].measurements, centre, half, measure)
    return Moments(
        counted.values,
        half * total.values,
        np.zeros_like(n),
        counted.sigma**2,
        (half * total.sigma) ** 2,
        0.0,
        half_width(total.price),
        centre - recipe.middle,
    )


def interval(
    state: CellState, n: Array, beta: float, lower: float, upper: float
) -> tuple[Array, Array]:
    """Returns the middle and half the width of each cell's clipping interval.

    >>> state = CellState(np.array([4.0]), np.array([6.0]), np.array([1.0]))
    >>> centre, half = interval(state, np.array([1000.0]), 0.05, 0.0, 100.0)
    >>> centre.round(2).tolist(), half.round(2).tolist()
    ([5.3], [5.3])
    """
    reach = state.sigma * np.sqrt(2 * np.log(2 * n / beta))
    low, high = np.maximum(state.low - reach, lower), np.minimum(state.high + reach, upper)
    return (low + high) / 2, np.maximum((high - low) / 2, (upper - lower) * 1e-9)


def narrow_interval(
    state: CellState,
    n: Array,
    centre: Array,
    half: Array,
    answers: tuple[Release, ...],
    count_sigma: float,
    beta: float,
) -> CellState:
    """Returns the cells' bounds after one step, from its sums and, if measured, its squares."""
    total, shift = answers[0], half * answers[0].values / n
    mean_estimate = centre + shift
    noise = (half * total.sigma / n) ** 2 + (shift * count_sigma / n) ** 2
    error = np.sqrt(2 * (state.sigma**2 / n + noise) * np.log(2 / beta))
    low = np.clip(mean_estimate - error, state.low, state.high)
    high = np.clip(mean_estimate + error, state.low, state.high)
    if len(answers) == 1:
        return replace(state, low=low, high=high)
    square = half**2 * (answers[1].values / n + 0.5)  # Q is centred at the middle of [0, 1]
    spread = np.hypot(half**2 * answers[1].sigma / n, square * count_sigma / n)
    spread = np.hypot(spread, 2 * np.abs(shift) * np.sqrt(noise))
    sigma_bound = np.sqrt(np.maximum(square - shift**2 + 2 * spread, 0.0))
    return CellState(low, high, np.clip(sigma_bound, half * 1e-6, state.sigma))


def _measure_step(
    request: MeanRounds,
    batch: tuple[Measurement, ...],
    centre: Array,
    half: Array,
    measure: Measure,
) -> tuple[Release, ...]:
    """Puts a step to the gate, its queries written for these intervals."""
    bounds: Bounds = (tuple(centre.ravel().tolist()), tuple(half.ravel().tolist()))
    queries = (scaled_sum(request.recipe, bounds), squared_sum(request.recipe, bounds))
    return measure([Measurement(q, m.price) for q, m in zip(queries, batch, strict=False)])
