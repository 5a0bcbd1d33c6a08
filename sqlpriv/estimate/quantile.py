"""A mean of long-tailed values: charged counts say where to clip, and what clipping loses.

1. A noised histogram of all cells together, on a geometric grid (`plan.rounds.edges`), and each
   cell's *place* in it: its mean bin, from a noised sum of bin numbers. Small cells cannot tell a
   tail from noise, so they borrow it: a cell's own distribution is taken to be the pooled one,
   tilted until it has the cell's place, and places are drawn together by what the cells' keys say.
   What the pooled bins cannot tell from noise is drawn on from the last that they can.
2. Around that distribution's mean c, half a width h is chosen cell by cell that minimises

       (h τ / n)² + (θ E(h))²

   τ being the noise that the rest of the price buys at a sensitivity of 1, E(h) the mean part of x
   beyond c ± h by the distribution, and θ how far wrong E may be, relatively.
3. The noised sum of x clipped there, and E(h) added back: post-processing. The variance (θ E)² is
   part of the half-width.

The histogram replaces the quantiles of Smith (2011, "Privacy-preserving statistical estimation with
optimal convergence rates", where the range is two quantiles): one vector of counts, a unit in one
bin, has the error of one count in every bin. What is drawn does not grow with the cells but by two
numbers each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sqlpriv.estimate.means import Array, Moments
from sqlpriv.kernel.algebra import Asked
from sqlpriv.kernel.budget import Price, Rho
from sqlpriv.kernel.release import Measurement, Release
from sqlpriv.plan.price import half_width
from sqlpriv.plan.rounds import Rounds, denominator, edges, histogram, places, rounds, scaled

if TYPE_CHECKING:
    from sqlpriv.estimate.rounds import Measure

DOUBT = 0.5
"""θ: the part beyond the interval may be half as much again, or half of it missing."""
VISIBLE = 2.0
"""From how many deviations of its noise on a pooled bin counts as seen."""
GRID = 2.0 ** (-np.arange(48) / 4)
"""Candidates of h, as parts of the interval that is declared."""


def mean(asked: Rounds, known: Mapping[Asked, Release], measure: Measure) -> Moments:
    """Returns N, the clipped sum, and what lies beyond, for the cells' and the population's means.

    Shapes: the count's values (strata, key 1, …); a distribution has one axis more, of bins.
    """
    recipe, (first, last) = asked.recipe, rounds(asked)
    found = {release.query: release for release in measure(first.measurements)}
    counted, counts = known[denominator(recipe)], {**known, **found}[histogram(recipe)]
    price = last.measurements[0].price
    n = np.maximum(counted.values, 1.0)
    lower, upper = float(recipe.lower), float(recipe.upper)
    middles = bins(lower, upper)
    pooled = seen(counts.values.ravel(), VISIBLE * counts.sigma)
    table = np.broadcast_to(pooled, (*n.shape, pooled.size))
    if place := found.get(places(recipe)):
        table = tilted(pooled, drawn_places(pooled, place, counted))
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


def seen(counts: Array, visible: float) -> Array:
    """Returns shares of the bins, adding up to 1 (or all 0): `extended` from the largest both ways.

    Args:
        counts: Noised, of shape (bins,).
        visible: Below this a count is taken for noise.
    """
    found = np.maximum(extended(counts, visible), extended(counts[::-1], visible)[::-1])
    return np.asarray(found / max(found.sum(), 1e-300))


def drawn_places(pooled: Array, place: Release, counted: Release) -> Array:
    """Returns by how many bins each cell's mean bin lies above the pooled one, of the cells' shape.

    A cell of poorer people has its mass some bins lower, tail and all. So that noise does not move
    it, its place is drawn towards what the cell's keys say (main effects, by ridge regression over
    all cells), by the part of its distance from there that is noise: empirical Bayes, as Fay and
    Herriot (1979) estimate incomes of small places.

    Args:
        pooled: Shares, of shape (bins,).
        place: Noised sums of bin numbers from the middle one.
        counted: Noised counts.
    """
    n, numbers = np.maximum(counted.values, 1.0), np.arange(pooled.size)
    middle = (pooled.size - 1) / 2 - float(pooled @ numbers)
    own = place.values / n + middle * counted.values / n
    noise = (place.sigma / n) ** 2 + (middle * counted.sigma / n) ** 2 + 1e-12
    cells = (*place.query.strata, *place.query.keys)
    effects = main_effects(tuple(len(key.values) for key in cells))
    return drawn_together(own.ravel(), noise.ravel(), effects).reshape(own.shape)


def tilted(pooled: Array, above: Array) -> Array:
    """Returns the pooled shares, tilted in every cell so that its mean bin lies `above` as wanted.

    Bins are a scale of orders of magnitude. p_b exp(λ b) has that mean for one λ, found by halving.

    Args:
        pooled: Of shape (bins,).
        above: Bins, of the cells' shape.
    """
    number = np.arange(pooled.size) - pooled @ np.arange(pooled.size)
    low, high = np.full(above.shape, -3.0), np.full(above.shape, 3.0)
    for _ in range(40):
        middle = (low + high) / 2
        below = _exponential(pooled, number, middle) @ number < above
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
    same factor from bin to bin. It is taken over the last four steps (one doubling), at most 0.67
    (tails heavier than x^-2.3 are told too little apart from noise), and what is drawn on stays
    below what would have been visible.
    """
    number, clear = np.arange(pooled.size), pooled > visible
    top = int(pooled.argmax())
    gap = top + int(np.argmin(np.append(clear[top:], False)))
    kept = (number >= top) & ((clear & (number < gap)) | (pooled > 2 * visible))
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
