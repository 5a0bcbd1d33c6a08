"""A mean of long-tailed values: charged counts say where to clip, and what clipping loses.

1. A noised histogram of all cells together, on a geometric grid (`plan.rounds.edges`), and of each
   cell where it lies in that: its own histogram, of few wide bins, or its mean bin
   (`plan.rounds.cell_view`). What is then believed of its values, `estimate.tails` tells.
2. Around the mean c of that, half a width h is chosen cell by cell that minimises

       (h τ / n)² + D(h)² + V(h)

   τ being the noise that the rest of the price buys at a sensitivity of 1. D is how far wrong E(h)
   may be, the mean part of x beyond c ± h by the belief: where a part p of the values lies beyond
   one end and E is due to it, θ E log(1 / p), for log p may be off by the part θ, which makes p^θ
   of E, or p^-θ. So what lies far out is doubted more. V is what the histogram's own noise makes of
   E, and how few rows scatter. A large cell is not clipped at all. Then c is moved off the mean,
   up as a rule, for values lie farther beyond the upper end than below the lower one; where that
   is worth the distance times the relative noise of the cell's count, which it brings.
3. The noised sum of x clipped there. It says more of the cell than its place did: the belief is
   weighed by how well it explains the sum (Bayes), and E is the mean over what is then believed.
   E is added back: post-processing. Its variance, D² and V are part of the half-width.

Inside a bin values are taken as uniform. A cell counted below the deviation of its count's noise is
taken to have as many rows as that.

The histogram replaces the quantiles of Smith (2011, "Privacy-preserving statistical estimation with
optimal convergence rates", where the range is two quantiles): one vector of counts, a unit in one
bin, has the error of one count in every bin. A cell's own is of a few bins, a factor of four wide:
what it has to tell is an order of magnitude, and a finer one would have the more noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sqlpriv.estimate.means import Array, Moments
from sqlpriv.estimate.tails import Tails, believed
from sqlpriv.kernel.algebra import Asked
from sqlpriv.kernel.budget import Price, Rho
from sqlpriv.kernel.release import Measurement, Release
from sqlpriv.plan.price import half_width
from sqlpriv.plan.rounds import (
    WIDE,
    Rounds,
    cell_view,
    denominator,
    edges,
    histogram,
    rounds,
    scaled,
)

if TYPE_CHECKING:
    from sqlpriv.estimate.rounds import Measure

DOUBT = 0.08
"""θ: by how much the logarithm of the part of values beyond an end may be off, relatively."""
VISIBLE = 2.0
"""From how many deviations of its noise on a pooled bin counts as seen."""
MISFIT = 0.05
"""How far a belief's clipped mean may be off though its rate is right, relatively."""
GRID = 2.0 ** (-np.arange(48) / 4)
"""Candidates of h, as parts of the distance from c to the declared interval's farther end."""
SHIFTS = (-0.15, 0.1, 0.2, 0.35)
"""Candidates of how far above the mean c lies, as parts of h."""
DEVIATIONS = np.linspace(-3, 3, 25)
"""Where the belief in a cell's rate is weighed, in its spreads."""


class Side(NamedTuple):
    """By how much each bin's values lie beyond one end of c ± h, and which part: (…, bins)."""

    excess: Array
    part: Array


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
    n = np.maximum(counted.values, max(counted.sigma, 1.0))
    lower, upper = float(recipe.lower), float(recipe.upper)
    ends, wide = bins(lower, upper), np.array(edges(lower, upper, WIDE))
    tails = believed(counts, found.get(cell_view(recipe)), counted, ends, wide, VISIBLE)
    noise = noise_per_unit(counted, price)
    centre, half = clipping(tails, n, noise, counted.sigma, lower, upper)
    bounds = (tuple(centre.ravel().tolist()), tuple(half.ravel().tolist()))
    (total,) = measure([Measurement(scaled(recipe, bounds), price)])
    beyond = learned(tails, centre, half, n, half * total.values / n, half * total.sigma / n)
    kept = counted.values / n
    return Moments(
        counted.values, kept * half * total.values, np.zeros_like(n), counted.sigma**2,
        (kept * half * total.sigma) ** 2 + counted.values**2 * beyond.variance, 0.0,
        half_width(price), centre + beyond.value - recipe.middle, beyond.shared,
    )  # fmt: skip


def noise_per_unit(counted: Release, price: Price) -> float:
    """Returns the standard deviation that a price buys at a sensitivity of 1, from a known one.

    Noise of the same kind, on cells of the same strata, has a standard deviation that falls with
    √ρ or with ε.
    """
    ratio = counted.price.nano / price.nano
    return float(counted.sigma * (np.sqrt(ratio) if isinstance(price, Rho) else ratio))


def bins(lower: float, upper: float) -> Array:
    """Returns the ends of the bins, ascending, of shape (bins + 1,)."""
    return np.array([lower, *edges(lower, upper), upper])


def clipping(
    tails: Tails, n: Array, noise: float, miscount: float, lower: float, upper: float
) -> tuple[Array, Array]:
    """Returns c and h of every cell.

    Args:
        tails: What is believed of the cells.
        n: Their counts, at least 1.
        noise: τ, for a sensitivity of 1.
        miscount: Standard deviation of a count's noise.
        lower, upper: Of the declared interval.
    """
    table, scatter = tails.shares(), tails.share_noise()
    mean = np.where(table.sum(axis=-1) > 0.5, table @ tails.middles, (lower + upper) / 2)
    reach = np.maximum(upper - mean, mean - lower)

    def error(half: Array, shift: float) -> Array:
        above, below = sides(tails.ends, mean + half * shift, half)
        excess = above.excess + below.excess
        spread = ((scatter * excess) ** 2).sum(axis=-1) + (table * excess**2).sum(axis=-1) / n
        lost = doubt(table, above, below) ** 2 + spread
        return np.asarray((half * noise / n) ** 2 + (half * shift * miscount / n) ** 2 + lost)

    halves = reach * GRID.reshape(-1, *([1] * reach.ndim))
    errors = np.array([error(half, 0.0) for half in halves])
    widest = np.take_along_axis(halves, errors.argmin(axis=0)[None], axis=0)[0]
    best, centre, half = errors.min(axis=0), mean, widest
    for part, shift in product(GRID[:3], SHIFTS):
        tried = error(widest * part, shift)
        better = tried < best
        best, half = np.minimum(tried, best), np.where(better, widest * part, half)
        centre = np.where(better, mean + widest * part * shift, centre)
    return centre, half


def learned(
    tails: Tails, centre: Array, half: Array, n: Array, moved: Array, noise: Array
) -> Beyond:
    """Returns what lies beyond c ± h, by what is believed after the clipped sums are known.

    Args:
        tails: What was believed before.
        centre, half, n: c, h and counts.
        moved, noise: The clipped means, from c, and the standard deviation of their noise.
    """
    above, below = sides(tails.ends, centre, half)
    excess, away = above.excess - below.excess, tails.middles - centre[..., None]
    tables = np.stack([tails.shares(z) for z in DEVIATIONS])
    inside, values = (tables * (away - excess)).sum(axis=-1), (tables * excess).sum(axis=-1)
    cut, known = away - excess, tails.shares()
    misfit = (MISFIT * (known * np.abs(cut)).sum(axis=-1)) ** 2 + (known * cut**2).sum(axis=-1) / n
    z = DEVIATIONS.reshape(-1, *([1] * centre.ndim))
    fit = -(z**2 + (moved - inside) ** 2 / (noise**2 + misfit + 1e-300)) / 2
    weight = np.exp(fit - fit.max(axis=0))
    weight /= weight.sum(axis=0)
    value = (weight * values).sum(axis=0)
    after = (weight[..., None] * tables).sum(axis=0)
    drawn = ((tails.share_noise() * excess) ** 2).sum(axis=-1)
    own = (weight * (values - value) ** 2).sum(axis=0) + (after * excess**2).sum(axis=-1) / n
    return Beyond(value, own, doubt(after, above, below) ** 2 + drawn)


def doubt(table: Array, above: Side, below: Side) -> Array:
    """Returns D of every cell.

    Args:
        table: What is believed of the cells' shares, of shape (…, bins).
        above, below: What lies beyond the ends.
    """
    lost = [(table * side.excess).sum(axis=-1) * -np.log(np.clip((table * side.part).sum(axis=-1),
            1e-300, 1.0)) for side in (above, below)]  # fmt: skip
    return np.asarray(DOUBT * (lost[0] + lost[1]))


def sides(ends: Array, centre: Array, half: Array) -> tuple[Side, Side]:
    """Returns what lies above c + h, and what below c - h, values being uniform inside a bin."""
    above, below = _above(ends, centre + half), _above(-ends[::-1], half - centre)
    return above, Side(below.excess[..., ::-1], below.part[..., ::-1])


def _above(ends: Array, at: Array) -> Side:
    over, width = np.maximum(ends - at[..., None], 0.0), np.diff(ends)
    return Side(np.diff(over**2) / (2 * width), np.diff(over) / width)
