"""A mean of long-tailed values: charged counts say where to clip, and what clipping loses.

1. A noised histogram of all cells together, on a geometric grid (`plan.rounds.edges`), and of each
   cell where it lies in that: its own histogram, of few wide bins, or its mean bin
   (`plan.rounds.cell_view`). `tail_model` makes of both an
   estimate of the cell's distribution.
2. Around the mean c of that, half a width h is chosen cell by cell that minimises

       (h τ / n)² + D(h)² + V(h)

   τ is the noise that the rest of the price buys at a sensitivity of 1. E(h) is the mean part of x
   beyond c ± h by the estimated distribution, and D its model error: where a part p of the values
   lies beyond one end, log p may be off by the part θ, which changes E by θ E log(1 / p). The model
   error is thus larger the farther out the end lies. V is the variance of E from the histogram's
   noise and from the scatter of few rows. A large cell is not clipped at all. Then c is moved off
   the mean, mostly upwards, because values lie farther beyond the upper end than below the lower
   one. The move costs its distance times the relative noise of the cell's count.
3. The noised sum of x clipped there. The sum tells more of the cell than the histograms did: each
   rate is weighed by how well it explains the sum (Bayes), and E is the mean over the rates. E is
   added back, which is post-processing. Its variance, D² and V are part of the half-width.

Inside a bin values are taken as uniform. A cell counted below the deviation of its count's noise is
taken to have as many rows as that.

The histogram replaces the quantiles of Smith (2011, "Privacy-preserving statistical estimation with
optimal convergence rates", where the range is two quantiles): one vector of counts, a unit in one
bin, has the error of one count in every bin. A cell's own is of a few bins, a factor of four wide:
what it has to tell is an order of magnitude, and a finer one would have the more noise.

**Constants.** The intervals: `pytest -m slow tests/answer/test_means_example.py`.

| name | value | chosen by |
|---|---|---|
| DOUBT | 0.08 | with it 93 to 97 % of census strata lie in their intervals |
| FEWEST_BINS | 4 | set, not searched: one doubling of the values |
| MISFIT | 0.05 | set, not searched; it enters the intervals that DOUBT was chosen by |
| OCTAVES, QUARTERS, NEAR, SHIFTS | below | the same choice as by all quarters in 2,980 cells |
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sqlpriv.answer.means import Array, Moments
from sqlpriv.answer.rounds.cell_shapes import BinEnds
from sqlpriv.answer.rounds.tail_model import UNSEEN, Tails, estimate_tails
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.mean_rounds import (
    MeanRounds,
    bin_grid,
    cell_view,
    count_query,
    histogram,
    rounds_of,
    scaled_sum,
)
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.plan.pricing.tuned_constants import WIDE

if TYPE_CHECKING:
    from sqlpriv.answer.rounds.adaptive_means import Measure

FEWEST_BINS = 4
"""Bins among which the rows of a distribution are at least spread, for `histogram_can_show`."""
DOUBT = 0.08
"""θ: relative error of the logarithm of the part of values beyond an end."""
MISFIT = 0.05
"""Relative standard deviation of a cell's clipped mean around its family's at the right rate."""
OCTAVES, QUARTERS = 2.0 ** -np.arange(12), 2.0 ** (np.array([-3, -2, -1, 1, 2, 3]) / 4)
"""Candidates of h, as parts of the distance from the mean to the declared interval's farther end;
then around the best of them, as parts of it."""
NEAR, SHIFTS = (1.0, 2**-0.25, 2**-0.5), (-0.15, 0.1, 0.2, 0.35)
"""Candidates of h as parts of the best then, each with c so far above the mean, as parts of h."""
DEVIATIONS = np.linspace(-3, 3, 25)
"""Rates that are weighed by the clipped sum, in spreads off the cell's rate."""


class Side(NamedTuple):
    """By how much each bin's values lie beyond one end of c ± h, and which part: (…, bins)."""

    excess: Array
    part: Array


class Excess(NamedTuple):
    """What lies beyond the clipping intervals, each of shape (strata, key 1, …).

    Args:
        value: E, the mean part of x beyond c ± h.
        variance: Of the part of its error that is the cell's own.
        shared: Variance of the part whose cause the cells share: it does not average out.
    """

    value: Array
    variance: Array
    shared: Array


def mean(request: MeanRounds, releases: Mapping[Asked, Release], measure: Measure) -> Moments:
    """Returns N, the clipped sum, and what lies beyond, for the cells' and the population's means.

    Shapes: the count's values (strata, key 1, …).
    """
    recipe, (first, last) = request.recipe, rounds_of(request)
    counted = releases[count_query(recipe)]
    if not histogram_can_show(request, counted, histogram(recipe) in releases):
        return plain_mean(request, counted, measure)
    first_answers = {release.query: release for release in measure(first.measurements)}
    counts = {**releases, **first_answers}[histogram(recipe)]
    price = last.measurements[0].price
    n = np.maximum(counted.values, max(counted.sigma, 1.0))
    lower, upper = float(recipe.lower), float(recipe.upper)
    bins, wide = bins_of(recipe), np.array(bin_grid(recipe, WIDE).edges)
    tails = estimate_tails(counts, first_answers.get(cell_view(recipe)), counted, bins, wide)
    noise = noise_per_unit(counted, price)
    centre, half = choose_clipping(tails, n, noise, counted.sigma, lower, upper)
    bounds = (tuple(centre.ravel().tolist()), tuple(half.ravel().tolist()))
    (total,) = measure([Measurement(scaled_sum(recipe, bounds), price)])
    beyond = estimate_excess(
        tails, centre, half, n, half * total.values / n, half * total.sigma / n
    )
    kept = np.abs(counted.values) / n
    return Moments(
        counted.values, kept * half * total.values, np.zeros_like(n), counted.sigma**2,
        (kept * half * total.sigma) ** 2 + counted.values**2 * beyond.variance, 0.0,
        half_width(price), centre + beyond.value - recipe.middle, beyond.shared,
        tails.visible if (half < recipe.width / 2).any() else 0.0,
    )  # fmt: skip


def histogram_can_show(request: MeanRounds, counted: Release, measured: bool) -> bool:
    """Returns whether the histogram, once paid, could show nearly all rows of so many.

    Of the fewest bins that a distribution has, four say, UNSEEN of the rows would have to be more
    than two standard deviations of their noise. The noised counts are paid for: to look at them
    costs nothing.

    Args:
        request: The mean.
        counted: The noised counts of its cells.
        measured: Whether the statement measured the histogram before.
    """
    if request.histogram_shared:
        return measured
    noise = noise_per_unit(counted, rounds_of(request)[0].measurements[0].price)
    return bool(2 * noise * FEWEST_BINS**0.5 <= UNSEEN * counted.values.sum())


def plain_mean(request: MeanRounds, counted: Release, measure: Measure) -> Moments:
    """Returns N and the sum over the declared interval, which takes the price of all rounds."""
    half = request.recipe.width / 2
    (total,) = measure([Measurement(scaled_sum(request.recipe, None), request.price)])
    return Moments(
        counted.values, half * total.values, np.zeros_like(counted.values), counted.sigma**2,
        (half * total.sigma) ** 2, 0.0, half_width(request.price),
    )  # fmt: skip


def noise_per_unit(counted: Release, price: Price) -> float:
    """Returns the standard deviation that a price buys at a sensitivity of 1, from a known one.

    Noise of the same kind, on cells of the same strata, has a standard deviation that falls with
    √ρ or with ε.
    """
    ratio = counted.price.nano / price.nano
    return float(counted.sigma * (np.sqrt(ratio) if isinstance(price, Rho) else ratio))


def bins_of(recipe: Recipe) -> BinEnds:
    """Returns the ends of the histogram's bins of a mean's x."""
    grid = bin_grid(recipe)
    return BinEnds(np.array(grid.lowest), np.array(grid.highest))


def choose_clipping(
    tails: Tails, n: Array, noise: float, miscount: float, lower: float, upper: float
) -> tuple[Array, Array]:
    """Returns c and h of every cell.

    Args:
        tails: The estimated distributions of the cells.
        n: Their counts, at least 1.
        noise: τ, for a sensitivity of 1.
        miscount: Standard deviation of a count's noise.
        lower, upper: Of the declared interval.
    """
    table = tails.shares()
    scatter = tails.share_noise() ** 2 + table / n[..., None]
    known = table.sum(axis=-1) > 0.5
    mean = np.where(known, table @ tails.middles, (lower + upper) / 2)
    reach = np.maximum(upper - mean, mean - lower)

    def error(part: Array, shift: float) -> Array:
        half = reach * part
        above, below = sides(tails.bins, mean + half * shift, half)
        lost = doubt(table, above, below) ** 2
        lost += sum_over_bins(scatter, (above.excess + below.excess) ** 2)
        return np.asarray((half * noise / n) ** 2 + (half * shift * miscount / n) ** 2 + lost)

    part, shift = np.ones(n.shape), np.zeros(n.shape)
    best = np.full(n.shape, np.inf)
    for parts, shifts in ((OCTAVES, (0.0,)), (QUARTERS, (0.0,)), (NEAR, SHIFTS)):
        around = part
        for by, off in product(parts, shifts):
            tried = error(around * by, off)
            better = (tried < best) & (around * by <= 1)
            best = np.where(better, tried, best)
            part, shift = np.where(better, around * by, part), np.where(better, off, shift)
    part, shift = np.where(known, part, 1.0), np.where(known, shift, 0.0)
    return mean + reach * part * shift, reach * part


def estimate_excess(
    tails: Tails, centre: Array, half: Array, n: Array, moved: Array, noise: Array
) -> Excess:
    """Returns what lies beyond c ± h, given the clipped sums.

    Args:
        tails: The estimated distributions before the clipped sums.
        centre, half, n: c, h and counts.
        moved, noise: The clipped means, from c, and the standard deviation of their noise.
    """
    above, below = sides(tails.bins, centre, half)
    excess = above.excess - below.excess
    cut = tails.middles - centre[..., None] - excess
    tables, prior_table = np.stack([tails.shares(z) for z in DEVIATIONS]), tails.shares()
    inside, values = sum_over_bins(tables, cut), sum_over_bins(tables, excess)
    misfit = (MISFIT * sum_over_bins(prior_table, np.abs(cut))) ** 2 + sum_over_bins(
        prior_table, cut**2
    ) / n
    z = DEVIATIONS.reshape(-1, *([1] * centre.ndim))
    fit = -(z**2 + (moved - inside) ** 2 / (noise**2 + misfit + 1e-300)) / 2
    weight = np.exp(fit - fit.max(axis=0))
    weight /= weight.sum(axis=0)
    value = (weight * values).sum(axis=0)
    after = np.einsum("z...,z...b->...b", weight, tables)
    histogram_noise = sum_over_bins(tails.share_noise() ** 2, excess**2)
    own = (weight * (values - value) ** 2).sum(axis=0) + sum_over_bins(after, excess**2) / n
    return Excess(value, own, doubt(after, above, below) ** 2 + histogram_noise)


def sum_over_bins(table: Array, values: Array) -> Array:
    """Returns the sums over the bins (the last axis) of shares times values.

    >>> sum_over_bins(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([2.0, 4.0])).tolist()
    [3.0, 2.0]
    """
    return np.asarray(np.einsum("...b,...b->...", table, values))


def doubt(table: Array, above: Side, below: Side) -> Array:
    """Returns D of every cell.

    Args:
        table: Shares of each cell's bins, of shape (…, bins).
        above, below: What lies beyond the ends.
    """
    lost = np.zeros(table.shape[:-1])
    for side in (above, below):
        part = np.clip(sum_over_bins(table, side.part), 1e-300, 1.0)
        lost = lost - sum_over_bins(table, side.excess) * np.log(part)
    return np.asarray(DOUBT * lost)


def sides(bins: BinEnds, centre: Array, half: Array) -> tuple[Side, Side]:
    """Returns what lies above c + h, and what below c - h, values being uniform inside a bin.

    Of two bins, [0, 4] and the atom 8, a quarter of the first lies above 3, by 1/2 on average:

    >>> bins = BinEnds(np.array([0.0, 8.0]), np.array([4.0, 8.0]))
    >>> above, _ = sides(bins, np.array([2.0]), np.array([1.0]))
    >>> above.part.tolist(), above.excess.tolist()
    ([[0.25, 1.0]], [[0.125, 5.0]])
    """
    above = _above(bins, centre + half)
    below = _above(BinEnds(-bins.highest[::-1], -bins.lowest[::-1]), half - centre)
    return above, Side(below.excess[..., ::-1], below.part[..., ::-1])


def _above(bins: BinEnds, at: Array) -> Side:
    top = np.maximum(bins.highest - at[..., None], 0.0)
    bottom = np.maximum(bins.lowest - at[..., None], 0.0)
    width = np.where(bins.atoms, 1.0, bins.highest - bins.lowest)
    part = np.where(bottom > 0, 1.0, np.where(bins.atoms, 0.0, top / width))
    return Side(part * (top + bottom) / 2, part)
