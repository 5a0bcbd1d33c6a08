"""A mean of long-tailed values: a charged histogram says where to clip, and what clipping loses.

1. A noised histogram of every cell on a geometric grid (`plan.rounds.edges`). Small cells cannot
   tell a tail from noise, so each bin is drawn towards the share that it has in all cells
   together (the posterior mean, where a cell's count is expected to be the pooled one ± itself).
   What the pooled bins themselves cannot tell from noise is drawn on from the last that they can.
2. Around the histogram's mean c, half a width h is chosen cell by cell that minimises

       (h τ / n)² + (θ E(h))²

   τ being the noise that the rest of the price buys at a sensitivity of 1, E(h) the mean part of x
   beyond c ± h by the histogram, and θ how far wrong E may be, relatively.
3. The noised sum of x clipped there, and E(h) added back: post-processing. The variance (θ E)² is
   part of the half-width.

The histogram replaces the quantiles of Smith (2011, "Privacy-preserving statistical estimation with
optimal convergence rates", where the range is two quantiles): one vector of counts, a unit in one
bin, has the error of one count in every bin, for all cells together.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sqlpriv.estimate.means import Array, Moments
from sqlpriv.kernel.budget import Price, Rho
from sqlpriv.kernel.release import Measurement, Release
from sqlpriv.plan.price import half_width
from sqlpriv.plan.rounds import Rounds, edges, rounds, scaled

if TYPE_CHECKING:
    from sqlpriv.estimate.rounds import Measure

DOUBT = 0.5
"""θ: the part beyond the interval may be half as much again, or half of it missing."""
VISIBLE = 2.0
"""From how many deviations of its noise on a pooled bin counts as seen."""
GRID = 2.0 ** (-np.arange(48) / 4)
"""Candidates of h, as parts of the interval that is declared."""


def mean(asked: Rounds, counted: Release, measure: Measure) -> Moments:
    """Returns N, the clipped sum, and what lies beyond, for the cells' and the population's means.

    Shapes: `counted.values` (strata, key 1, …); the histogram has one axis more, of bins.
    """
    recipe, (first, last) = asked.recipe, rounds(asked)
    (histogram,) = measure(first.measurements)
    price = last.measurements[0].price
    n = np.maximum(counted.values, 1.0)
    lower, upper = float(recipe.lower), float(recipe.upper)
    middles = bins(lower, upper)
    cells = (*histogram.query.strata, *histogram.query.keys[:-1])
    effects = main_effects(tuple(len(key.values) for key in cells))
    table = shrunk(histogram.values, counted.values, histogram.sigma, effects)
    centre = centres(table, middles, recipe.middle)
    half, beyond = clipping(table, middles, centre, n, noise_per_unit(counted, price),
                            upper - lower)  # fmt: skip
    bounds = (tuple(centre.ravel().tolist()), tuple(half.ravel().tolist()))
    (total,) = measure([Measurement(scaled(recipe, bounds), price)])
    return Moments(
        counted.values, half * total.values, np.zeros_like(n), counted.sigma**2,
        (half * total.sigma) ** 2, 0.0, half_width(price),
        centre + beyond.sum(axis=-1) - recipe.middle,
        (DOUBT * np.abs(beyond).sum(axis=-1)) ** 2,
    )  # fmt: skip


def noise_per_unit(counted: Release, price: Price) -> float:
    """Returns the standard deviation that a price buys at a sensitivity of 1, from a known one.

    Noise of the same kind, on cells of the same strata, has a standard deviation that falls with
    √ρ or with ε.
    """
    ratio = counted.price.nano / price.nano
    return float(counted.sigma * (np.sqrt(ratio) if isinstance(price, Rho) else ratio))


def bins(lower: float, upper: float) -> Array:
    """Returns the middle of each bin, of shape (bins,)."""
    ends = np.array([lower, *edges(lower, upper), upper])
    return np.asarray((ends[:-1] + ends[1:]) / 2)


def main_effects(sizes: tuple[int, ...]) -> Array:
    """Returns which level of each key a cell has: shape (cells, sum of sizes), ones and zeros."""
    levels = np.indices(sizes or (1,)).reshape(len(sizes or (1,)), -1)
    return np.hstack(
        [np.eye(size)[level] for size, level in zip(sizes or (1,), levels, strict=True)]
    )


def shrunk(histogram: Array, counts: Array, sigma: float, effects: Array) -> Array:
    """Returns shares of the bins in every cell, not negative, adding up to 1 (or all 0).

    Args:
        histogram: Noised, of shape (…, bins).
        counts: Noised, of shape (…).
        sigma: The noise's standard deviation in every bin.
        effects: `main_effects` of the cells.
    """
    pooled = histogram.reshape(-1, histogram.shape[-1]).sum(axis=0)
    noise = sigma * np.sqrt(counts.size)
    below = extended(pooled[::-1], VISIBLE * noise)[::-1]
    pooled = np.maximum(extended(pooled, VISIBLE * noise), below)
    n = np.maximum(counts, 1.0)[..., None]
    expected = n * tilted(pooled / max(pooled.sum(), 1e-300), histogram / n, sigma / n, effects)
    trust = expected**2 / (expected**2 + sigma**2) if sigma > 0 else np.ones_like(expected)
    table = np.maximum(trust * histogram + (1 - trust) * expected, 0.0)
    return np.asarray(table / np.maximum(table.sum(axis=-1, keepdims=True), 1e-300))


def tilted(pooled: Array, shares: Array, deviations: Array, effects: Array) -> Array:
    """Returns the pooled shares, tilted in every cell so that its own mean bin is met.

    Bins are a scale of orders of magnitude: a cell of poorer people has its mass some bins lower,
    tail and all. Its mean bin is known far better than any one bin. So that noise does not tilt, it
    is drawn towards what the cell's keys say (main effects, by ridge regression over all cells), by
    the part of its distance from there that is noise: empirical Bayes, as Fay and Herriot (1979)
    estimate incomes of small places. p_b exp(λ b) then has it for one λ, found by halving.

    Args:
        pooled: Of shape (bins,).
        shares: Noised, of shape (…, bins).
        deviations: Of a bin's noise, of shape (…, 1).
        effects: `main_effects` of the cells.
    """
    number = np.arange(pooled.size) - pooled @ np.arange(pooled.size)
    own, noise = shares @ number, deviations[..., 0] ** 2 * float(number @ number) + 1e-12
    wanted = drawn_together(own.ravel(), noise.ravel(), effects).reshape(own.shape)
    low, high = np.full(own.shape, -3.0), np.full(own.shape, 3.0)
    for _ in range(40):
        middle = (low + high) / 2
        found = _exponential(pooled, number, middle)
        below = found @ number < wanted
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return _exponential(pooled, number, (low + high) / 2)


def drawn_together(own: Array, noise: Array, effects: Array) -> Array:
    """Returns each cell's number, drawn towards its fit by the part of its variance that is noise.

    Numbers are around 0. Effects have the variance of the cells' numbers beyond their noise (ridge
    regression): where nothing is known all fits are 0.

    Args:
        own: Noised, of shape (cells,).
        noise: Variances.
        effects: Of shape (cells, effects).
    """
    spread = _beyond_noise(own, noise) + 1e-12
    weighted = effects.T / (noise + spread)
    inner = weighted @ effects + np.eye(effects.shape[1]) / spread
    fitted = effects @ np.linalg.solve(inner, weighted @ own)
    signal = _beyond_noise(own - fitted, noise)
    return np.asarray(fitted + (own - fitted) * signal / (signal + noise))


def _beyond_noise(apart: Array, noise: Array) -> float:
    """Returns the variance that noise does not explain, not negative; exact cells count most."""
    weight = 1 / noise
    return max(float((weight * (apart**2 - noise)).sum() / weight.sum()), 0.0)


def _exponential(pooled: Array, number: Array, rate: Array) -> Array:
    power = rate[..., None] * number
    table = pooled * np.exp(power - power.max(axis=-1, keepdims=True))
    return np.asarray(table / np.maximum(table.sum(axis=-1, keepdims=True), 1e-300))


def extended(pooled: Array, visible: float) -> Array:
    """Returns the bins from the largest on, the tail above the last visible one drawn on.

    Visible are bins above `visible` without a gap from the largest one on, and wherever they are
    above twice that: a lone bin of noise would call for an interval as wide as the declared one.

    Bins below the largest are 0 here. On the geometric grid the tail of a power law falls by the
    same factor from bin to bin. It is taken over the last four steps, at most 0.67 (the mean of a
    slower tail has no end), and what is drawn on stays below what would have been visible.
    """
    number, seen = np.arange(pooled.size), pooled > visible
    top = int(pooled.argmax())
    gap = top + int(np.argmin(np.append(seen[top:], False)))
    kept = (number >= top) & ((seen & (number < gap)) | (pooled > 2 * visible))
    if kept.sum() < 2:
        return np.where(kept, pooled, 0.0)
    found = np.flatnonzero(kept)
    last, back = found[-1], found[max(-5, -found.size)]
    rate = min(float(pooled[last] / pooled[back]) ** (1 / float(last - back)), 0.67)
    drawn = np.minimum(pooled[last] * rate ** np.maximum(number - last, 0.0), visible)
    return np.where(number > last, drawn, np.where(kept, pooled, 0.0))


def centres(table: Array, middles: Array, otherwise: float) -> Array:
    """Returns the mean of each cell's shares; `otherwise` where it has none."""
    return np.where(table.sum(axis=-1) > 0.5, table @ middles, otherwise)


def clipping(
    table: Array, middles: Array, centre: Array, n: Array, noise: float, width: float
) -> tuple[Array, Array]:
    """Returns h of every cell, and by bins the mean part of x beyond centre ± h.

    Args:
        table: Shares, of shape (…, bins).
        middles: Of the bins.
        centre, n: Of shape (…).
        noise: τ, for a sensitivity of 1.
        width: Of the declared interval.
    """
    best, chosen = np.full(n.shape, np.inf), np.full(n.shape, width)
    for half in width * GRID:
        lost = np.abs(_beyond(table, middles, centre, half)).sum(axis=-1)
        error = (half * noise / n) ** 2 + (DOUBT * lost) ** 2
        better = error < best
        best, chosen = np.where(better, error, best), np.where(better, half, chosen)
    return chosen, _beyond(table, middles, centre, chosen[..., None])


def _beyond(table: Array, middles: Array, centre: Array, half: Array | float) -> Array:
    away = middles - centre[..., None]
    return np.asarray(table * (away - np.clip(away, -half, half)))
