"""A mean of long-tailed values: charged counts say where to clip, and what clipping loses.

1. A noised histogram of all cells together, on a geometric grid (`mean_rounds.bin_edges`), and of
   each cell where it lies in that: its own histogram, of few wide bins, or its mean bin
   (`mean_rounds.cell_view`). `tail_model` makes of both an estimate of the cell's distribution. The
   fewer rows the counts show, the larger the histogram's part of the price; where no part would do,
   the whole price goes to the sum over the declared interval.
2. The ends that predict the least error, cell by cell and for everybody (`clipping`).
3. The noised sum of x clipped there. The sum tells more of the cell than the histograms did: each
   rate is weighed by how well it explains the sum (Bayes), and E, the mean part of x beyond the
   ends, is the mean over the rates. E is added back, which is post-processing; what `clipping`
   predicts of its error is part of the half-width.

A cell counted below the deviation of its count's noise is taken to have as many rows as that.

The histogram replaces the quantiles of Smith (2011, "Privacy-preserving statistical estimation with
optimal convergence rates", where the range is two quantiles): one vector of counts, a unit in one
bin, has the error of one count in every bin. A cell's own is of a few bins, a factor of four wide:
what it has to tell is an order of magnitude, and a finer one would have the more noise.

**Constants.** MISFIT 0.05 is set, not searched: what a cell's clipped sum is off its family's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sqlpriv.answer.means import Array, Moments
from sqlpriv.answer.rounds.clipping import (
    DOUBT,
    OWN_TAIL,
    UNEVEN,
    CellNoise,
    Side,
    choose_clipping,
    clump_weights,
    sides,
)
from sqlpriv.answer.rounds.pooled_bins import BinEnds
from sqlpriv.answer.rounds.tail_model import FEWEST_BINS, UNSEEN, Tails, estimate_tails
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.mean_rounds import (
    MeanRounds,
    bin_grid,
    cell_view,
    clipped_sum,
    count_query,
    histogram,
    quantile_rounds,
)
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.plan.pricing.tuned_constants import HISTOGRAM_SHARE, HISTOGRAM_SHARES, WIDE

if TYPE_CHECKING:
    from sqlpriv.answer.rounds.adaptive_means import Measure

MISFIT = 0.05
"""Relative standard deviation of a cell's clipped mean around its family's at the right rate."""
NOISE_STEPS = 16
"""Ends are chosen with a noise that is rounded to so many steps of each doubling: a price that is
off by little then gives the same ends, and the same query. See `adaptive_means`."""
DEVIATIONS = np.linspace(-3, 3, 25)
"""Rates that are weighed by the clipped sum, in spreads off the cell's rate."""


class Excess(NamedTuple):
    """What lies beyond the clipping intervals, each of shape (strata, key 1, …).

    Args:
        value: E, the mean part of x beyond c ± h.
        variance: Of the part of its error that is the cell's own.
        shared: Variance of the part whose cause the cells share: it does not average out.
        clumped: See `Moments`.
    """

    value: Array
    variance: Array
    shared: Array
    clumped: Array


def mean(request: MeanRounds, releases: Mapping[Asked, Release], measure: Measure) -> Moments:
    """Returns N, the clipped sum, and what lies beyond, for the cells' and the population's means.

    Shapes: the count's values (strata, key 1, …).
    """
    recipe = request.recipe
    counted = releases[count_query(recipe)]
    share = histogram_share(request, counted, histogram(recipe) in releases)
    if share is None:
        return plain_mean(request, counted, measure)
    first, last = quantile_rounds(request, share)
    first_answers = {release.query: release for release in measure(first.measurements)}
    counts = {**releases, **first_answers}[histogram(recipe)]
    price = last.measurements[0].price
    n = np.maximum(counted.values, max(counted.sigma, 1.0))
    lower, upper = float(recipe.lower), float(recipe.upper)
    bins, wide = bins_of(recipe), np.array(bin_grid(recipe, WIDE).edges)
    tails = estimate_tails(counts, first_answers.get(cell_view(recipe)), counted, bins, wide)
    noise = _rounded_noise(noise_per_unit(counted, price))
    present = np.maximum(counted.values, 0.0)
    cell_noise = CellNoise(n, present / max(present.sum(), 1.0), noise, counted.sigma)
    low, high = choose_clipping(tails, cell_noise, lower, upper)
    centre, half = (low + high) / 2, (high - low) / 2
    ends = tuple(zip(low.ravel().tolist(), high.ravel().tolist(), strict=True))
    (total,) = measure([Measurement(clipped_sum(recipe, ends), price)])
    beyond = estimate_excess(
        tails, centre, half, n, half * total.values / n, half * total.sigma / n, cell_noise.shares
    )
    kept = np.abs(counted.values) / n
    is_clipped = (low > lower) | (high < upper)
    return Moments(
        counted.values, kept * half * total.values, np.zeros_like(n), counted.sigma**2,
        (kept * half * total.sigma) ** 2 + counted.values**2 * beyond.variance, 0.0,
        half_width(price), centre + beyond.value - recipe.middle, beyond.shared, beyond.clumped,
        tails.visible if is_clipped.any() else 0.0, tails.variance,
    )  # fmt: skip


def histogram_share(request: MeanRounds, counted: Release, measured: bool) -> float | None:
    """Returns the part of the price with which the histogram could show nearly all rows of so many.

    Of the fewest bins that a distribution has, four say, UNSEEN of the rows would have to be more
    than two standard deviations of their noise; where the usual part of the price is too little for
    that by half, a larger one is taken. The noised counts are paid for: to look at them costs
    nothing.

    Args:
        request: The mean.
        counted: The noised counts of its cells.
        measured: Whether the statement measured the histogram before.

    Returns:
        None where no histogram is worth its price.
    """
    if request.histogram_shared:
        return HISTOGRAM_SHARE if measured else None
    usual = quantile_rounds(request)[0].measurements[0].price
    hidden = 2 * noise_per_unit(counted, usual) * float(FEWEST_BINS**0.5)
    allowed = UNSEEN * float(counted.values.sum())
    power = 2.0 if isinstance(usual, Rho) else 1.0
    if hidden >= 1e6 * max(allowed, 0.0):  # noised counts of few rows may be zero or less
        return None
    needed = HISTOGRAM_SHARE * float((hidden / allowed) ** power)
    if needed > HISTOGRAM_SHARES[-1]:
        return None
    return next((x for x in HISTOGRAM_SHARES if x >= needed * 2**power), HISTOGRAM_SHARES[-1])


def plain_mean(request: MeanRounds, counted: Release, measure: Measure) -> Moments:
    """Returns N and the sum over the declared interval, which takes the price of all rounds."""
    half = request.recipe.width / 2
    (total,) = measure([Measurement(clipped_sum(request.recipe, None), request.price)])
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


def _rounded_noise(noise: float) -> float:
    """Returns a noise rounded to one of `NOISE_STEPS` in each doubling."""
    return float(2 ** (np.rint(np.log2(noise) * NOISE_STEPS) / NOISE_STEPS))


def bins_of(recipe: Recipe) -> BinEnds:
    """Returns the ends of the histogram's bins of a mean's x."""
    grid = bin_grid(recipe)
    return BinEnds(np.array(grid.lowest), np.array(grid.highest))


def estimate_excess(
    tails: Tails,
    centre: Array,
    half: Array,
    n: Array,
    moved: Array,
    noise: Array,
    shares: Array,
) -> Excess:
    """Returns what lies beyond c ± h, given the clipped sums.

    Args:
        tails: The estimated distributions before the clipped sums.
        centre, half, n: c, h and counts.
        moved, noise: The clipped means, from c, and the standard deviation of their noise.
        shares: Of all rows in each cell.

    A cell's distance from the likeliest rate, in standard deviations, is 1 by its square if cells
    differ by their rates alone; where it is more, on average over the rows, so is the variance of
    what the rates say (Birge 1932). And all cells together lose what the pooled histogram says:
    what the rates say besides moves the cells that are least sure.
    """
    above, below = sides(tails.bins, centre, half)
    excess = above.excess - below.excess
    cut = tails.middles - centre[..., None] - excess
    tables, prior_table = np.stack([tails.shares(z) for z in DEVIATIONS]), tails.shares()
    inside, values = sum_over_bins(tables, cut), sum_over_bins(tables, excess)
    misfit = (MISFIT * sum_over_bins(prior_table, np.abs(cut))) ** 2 + sum_over_bins(
        prior_table, cut**2
    ) / n
    apart = (moved - inside) ** 2 / (noise**2 + misfit + 1e-300)
    z = DEVIATIONS.reshape(-1, *([1] * centre.ndim))
    fit = -(z**2 + apart) / 2
    weight = np.exp(fit - fit.max(axis=0))
    weight /= weight.sum(axis=0)
    value = (weight * values).sum(axis=0)
    after = np.einsum("z...,z...b->...b", weight, tables)
    histogram_noise = sum_over_bins(tails.share_noise() ** 2, excess**2)
    uneven = UNEVEN * (tails.bins.highest - tails.bins.lowest) * (above.part + below.part)
    histogram_noise += sum_over_bins(prior_table**2, uneven**2)
    beyond = above.excess + below.excess
    own = (weight * (values - value) ** 2).sum(axis=0)
    own += (OWN_TAIL * sum_over_bins(after, beyond)) ** 2
    own *= max(1.0, float((shares * (z**2 + apart).min(axis=0)).sum()))
    own += sum_over_bins(after, excess**2) / n
    if shares.size > 1:
        missing = float((shares * (sum_over_bins(prior_table, excess) - value)).sum())
        gain = shares * own
        value = value + gain * missing / max(float((shares * gain).sum()), 1e-300)
    shared = (doubt(after, above, below) + sum_over_bins(tails.hidden_shares, beyond)) ** 2
    return Excess(value, own, shared + histogram_noise, clumped_variance(after, beyond, n))


def clumped_variance(table: Array, beyond: Array, n: Array) -> Array:
    """Returns what everybody's variance grows by if rows of one bin are in one stratum: `clipping`.

    Args:
        table: Shares of each cell's bins, of shape (strata, key 1, …, bins).
        beyond: By how much each bin lies beyond the cell's ends, of the same shape.
        n: Counts of the cells, of shape (strata, key 1, …).

    >>> apart = np.array([[[0.0, 0.0]], [[0.0, 10.0]]])
    >>> table, n = np.full((2, 1, 2), [0.999, 0.001]), np.array([[5.0], [5.0]])
    >>> clumped_variance(table, apart, n).round(7).tolist()
    [2.27e-05]
    """
    rows = n[..., None] * table
    of_bin = np.maximum(rows.sum(axis=0), 1e-300)
    usual = (rows * beyond).sum(axis=0) / of_bin
    apart = (rows * (beyond - usual) ** 2).sum(axis=0) / of_bin
    pooled = of_bin / n.sum(axis=0)[..., None]
    return sum_over_bins(clump_weights(pooled) * pooled, apart)


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
