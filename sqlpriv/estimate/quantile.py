"""A mean of long-tailed values: charged counts say where to clip, and what clipping loses.

1. A noised histogram of all cells together, on a geometric grid (`plan.rounds.edges`), and each
   cell's *place* in it, its mean bin, from a noised sum of bin numbers: what is then believed of a
   cell's values, `estimate.tails` tells.
2. Around the mean c of that, half a width h is chosen cell by cell that minimises

       (h τ / n)² + (θ E(h))² + V(h)

   τ being the noise that the rest of the price buys at a sensitivity of 1, E(h) the mean part of x
   beyond c ± h by the belief, θ how far wrong E may be, relatively, and V(h) what the histogram's
   own noise makes of it. A large cell is not clipped at all.
3. The noised sum of x clipped there. It says more of the cell than its place did: the belief is
   weighed by how well it explains the sum (Bayes), and E is the mean over what is then believed.
   E is added back: post-processing. Its variance (with how few rows scatter), (θ E)² and V(h) are
   part of the half-width.

The histogram replaces the quantiles of Smith (2011, "Privacy-preserving statistical estimation with
optimal convergence rates", where the range is two quantiles): one vector of counts, a unit in one
bin, has the error of one count in every bin. What is drawn does not grow with the cells but by two
numbers each.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sqlpriv.estimate.means import Array, Moments
from sqlpriv.estimate.tails import Tails, believed
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
MISFIT = 0.05
"""How far a belief's clipped mean may be off though its rate is right, relatively."""
GRID = 2.0 ** (-np.arange(48) / 4)
"""Candidates of h, as parts of the distance from c to the declared interval's farther end."""
DEVIATIONS = np.linspace(-3, 3, 25)
"""Where the belief in a cell's rate is weighed, in its spreads."""


class Beyond(NamedTuple):
    """E of each cell, its variance, which is its own, and the variance that cells share."""

    value: Array
    variance: Array
    shared: Array


def mean(asked: Rounds, known: Mapping[Asked, Release], measure: Measure) -> Moments:
    """Returns N, the clipped sum, and what lies beyond, for the cells' and the population's means.

    Shapes: the count's values (strata, key 1, …).
    """
    recipe, (first, last) = asked.recipe, rounds(asked)
    found = {release.query: release for release in measure(first.measurements)}
    counted, counts = known[denominator(recipe)], {**known, **found}[histogram(recipe)]
    price = last.measurements[0].price
    n = np.maximum(counted.values, 1.0)
    lower, upper = float(recipe.lower), float(recipe.upper)
    tails = believed(counts, found.get(places(recipe)), counted, bins(lower, upper), VISIBLE)
    centre, half = clipping(tails, n, noise_per_unit(counted, price), lower, upper)
    bounds = (tuple(centre.ravel().tolist()), tuple(half.ravel().tolist()))
    (total,) = measure([Measurement(scaled(recipe, bounds), price)])
    moved, noise = half * total.values / n, half * total.sigma / n
    beyond = learned(tails, centre, half, n, moved, noise)
    return Moments(
        counted.values, half * total.values, np.zeros_like(n), counted.sigma**2,
        (half * total.sigma) ** 2 + n**2 * beyond.variance, 0.0, half_width(price),
        centre + beyond.value - recipe.middle, beyond.shared,
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


def clipping(
    tails: Tails, n: Array, noise: float, lower: float, upper: float
) -> tuple[Array, Array]:
    """Returns c and h of every cell.

    Args:
        tails: What is believed of the cells.
        n: Their counts, at least 1.
        noise: τ, for a sensitivity of 1.
        lower, upper: Of the declared interval.
    """
    table, scatter = tails.shares(), tails.share_noise()
    centre = np.where(table.sum(axis=-1) > 0.5, table @ tails.middles, (lower + upper) / 2)
    away = tails.middles - centre[..., None]
    reach = np.maximum(upper - centre, centre - lower)
    best, chosen = np.full(n.shape, np.inf), reach
    for part in GRID:
        excess = np.abs(_excess(away, reach * part))
        lost = (DOUBT * (table * excess).sum(axis=-1)) ** 2 + ((scatter * excess) ** 2).sum(axis=-1)
        error = (reach * part * noise / n) ** 2 + lost
        best, chosen = np.minimum(error, best), np.where(error < best, reach * part, chosen)
    return centre, chosen


def learned(
    tails: Tails, centre: Array, half: Array, n: Array, moved: Array, noise: Array
) -> Beyond:
    """Returns what lies beyond c ± h, by what is believed after the clipped sums are known.

    Args:
        tails: What was believed before.
        centre, half, n: c, h and counts.
        moved, noise: The clipped means, from c, and the standard deviation of their noise.
    """
    away = tails.middles - centre[..., None]
    excess = _excess(away, half)
    tables = np.stack([tails.shares(z) for z in DEVIATIONS])
    inside, values = (tables * (away - excess)).sum(axis=-1), (tables * excess).sum(axis=-1)
    cut, known = away - excess, tails.shares()
    misfit = (MISFIT * (known * np.abs(cut)).sum(axis=-1)) ** 2 + (known * cut**2).sum(axis=-1) / n
    z = DEVIATIONS.reshape(-1, *([1] * centre.ndim))
    fit = -(z**2 + (moved - inside) ** 2 / (noise**2 + misfit + 1e-300)) / 2
    weight = np.exp(fit - fit.max(axis=0))
    weight /= weight.sum(axis=0)
    value = (weight * values).sum(axis=0)
    doubt = DOUBT * (weight * (tables * np.abs(excess)).sum(axis=-1)).sum(axis=0)
    drawn = ((tails.share_noise() * excess) ** 2).sum(axis=-1)
    own = (weight * (values - value) ** 2).sum(axis=0) + (known * excess**2).sum(axis=-1) / n
    return Beyond(value, own, doubt**2 + drawn)


def _excess(away: Array, half: Array) -> Array:
    """Returns by how much each bin's middle lies beyond ±half: shape (…, bins)."""
    return np.asarray(away - np.clip(away, -half[..., None], half[..., None]))
