"""A mean of long-tailed values: charged counts say where to clip, and what clipping loses.

1. A noised histogram of all cells together, on a geometric grid (`mean_bins.bin_edges`), and of
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
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from sqlpriv.answer.means import Array, Moments
from sqlpriv.answer.rounds.clipping import Clipping, choose_clipping
from sqlpriv.answer.rounds.clipping_errors import CellNoise
from sqlpriv.answer.rounds.clipping_loss import estimate_excess
from sqlpriv.answer.rounds.everybody_sum import choose_own_sum
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds
from sqlpriv.answer.rounds.histogram.tail_constants import (
    FEWEST_BINS,
    MOST_UNSEEN,
    NARROW,
    NOISE_STEPS,
    SMALL_LOSS,
    UNSEEN,
)
from sqlpriv.answer.rounds.tail_model import Tails, estimate_tails
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.estimators import is_too_narrow
from sqlpriv.plan.aggregates.mean_bins import bin_grid
from sqlpriv.plan.aggregates.mean_rounds import (
    MeanRounds,
    cell_view,
    clipped_sum,
    clipped_sum_of_all,
    count_query,
    histogram,
    plain_sums,
    quantile_rounds,
)
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.split import split_statement_price
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.plan.pricing.tuned_constants import (
    CELL_SHARE,
    HISTOGRAM_SHARE,
    HISTOGRAM_SHARES,
    MOST_LOST,
    WIDE,
)

if TYPE_CHECKING:
    from sqlpriv.answer.rounds.adaptive_means import Measure


def mean(request: MeanRounds, releases: Mapping[Asked, Release], measure: Measure) -> Moments:
    """Returns N, the clipped sum, and what lies beyond, for the cells' and the population's means.

    Shapes: the count's values (strata, key 1, …).
    """
    recipe = request.recipe
    counted = releases[count_query(recipe)]
    share = None
    if not is_too_narrow(recipe.width):
        share = histogram_share(request, counted, histogram(recipe) in releases)
    if share is None:
        return plain_mean(request, counted, measure)
    first, last = quantile_rounds(request, share)
    first_answers = {release.query: release for release in measure(first.measurements)}
    counts = {**releases, **first_answers}[histogram(recipe, share)]
    price = last.measurements[0].price
    n = np.maximum(counted.values, max(counted.sigma, 1.0))
    lower, upper = float(recipe.lower), float(recipe.upper)
    bins, wide = bins_of(recipe, share), np.array(bin_grid(recipe, WIDE, share).edges)
    view = first_answers.get(cell_view(recipe, share))
    tails = estimate_tails(counts, view, counted, bins, wide)
    noise = _rounded_noise(noise_per_unit(counted, price))
    present = np.maximum(counted.values, 0.0)
    cell_noise = CellNoise(n, present / max(present.sum(), 1.0), noise, counted.sigma)
    cells = choose_clipping(tails, cell_noise, lower, upper)
    own = None
    if request.both_levels:
        power = 1 if isinstance(price, Rho) else 2
        own = choose_own_sum(tails, cell_noise, cells, power, float(counted.values.sum()))
    ends = tuple(zip(cells.low.ravel().tolist(), cells.high.ravel().tolist(), strict=True))
    if own is None:
        (total,) = measure([Measurement(clipped_sum(recipe, ends), price)])
        return _clipped_moments(recipe, tails, cells, cell_noise, counted.values, total)
    prices = split_statement_price(price, [1 - own.part, own.part])
    of_all = clipped_sum_of_all(recipe, (float(own.clipping.low[0]), float(own.clipping.high[0])))
    total, whole = measure(
        [Measurement(clipped_sum(recipe, ends), prices[0]), Measurement(of_all, prices[1])]
    )
    rows = counted.values.sum(axis=0, keepdims=True)
    everybody = _clipped_moments(recipe, own.tails, own.clipping, own.noise, rows, whole)
    strata = _clipped_moments(recipe, tails, cells, cell_noise, counted.values, total)
    return replace(strata, everybody=everybody)


def _clipped_moments(
    recipe: Recipe, tails: Tails, cells: Clipping, noise: CellNoise, counts: Array, total: Release
) -> Moments:
    """Returns the moments of cells that were clipped and summed.

    Args:
        recipe: Whose x.
        tails: The estimated distributions of the cells.
        cells: Where they were clipped.
        noise: Their counts, 1 at least, and what the counts were noised with.
        counts: The noised counts as they are.
        total: The noised clipped sums.
    """
    n, kept = noise.n, np.abs(counts) / noise.n
    centre, half = (cells.low + cells.high) / 2, (cells.high - cells.low) / 2
    beyond = estimate_excess(
        tails, centre, half, n, half * total.values / n, half * total.sigma / n, noise.shares
    )
    z = half_width(total.price)
    return Moments(
        counts,
        kept * half * total.values,
        np.zeros_like(n),
        noise.miscount**2,
        (kept * half * total.sigma) ** 2 + counts**2 * beyond.variance,
        0.0,
        z,
        centre + beyond.value - recipe.middle,
        beyond.shared + (beyond.slow / z) ** 2,
        beyond.clumped,
        beyond.unseen,
        tails.variance,
    )


def histogram_share(request: MeanRounds, counted: Release, measured: bool) -> float | None:
    """Returns the part of the price with which the histogram tells where so many rows are.

    Of the fewest bins that a distribution has, four say, `UNSEEN` of the rows should be more than
    two standard deviations of their noise. Of the parts that are no large loss the first is taken
    with which twice as many rows would be; where there is none, the first, large or not, that
    shows so many. Where none does the largest is worth its price as long as `MOST_UNSEEN` of the
    rows are: of 300 rows a plain sum errs by ten to seventy times as much where the domain is wide
    and values are not, and by `MOST_LOST` times less where they fill it. The noised counts are
    paid for: to look at them costs nothing.

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
    rows = float(counted.values.sum())
    power = 2.0 if isinstance(usual, Rho) else 1.0
    if hidden >= 1e6 * max(rows, 0.0):  # noised counts of few rows may be zero or less
        return None
    most = 1 - CELL_SHARE - MOST_LOST**-power
    shares = [share for share in HISTOGRAM_SHARES if share <= most]
    small = [share for share in shares if share <= SMALL_LOSS]

    def share_to_show(part: float) -> float:
        return HISTOGRAM_SHARE * float((hidden / (part * rows)) ** power)

    if share_to_show(UNSEEN) <= small[-1]:
        return next((x for x in small if x >= share_to_show(UNSEEN / 2)), small[-1])
    if request.recipe.width < NARROW or share_to_show(MOST_UNSEEN) > shares[-1]:
        return None
    return next((x for x in shares if x >= share_to_show(UNSEEN)), shares[-1])


def plain_mean(request: MeanRounds, counted: Release, measure: Measure) -> Moments:
    """Returns N and the sum over the declared interval, everybody's own beside the strata's where
    that is worth its price; the sums take the price of all rounds."""
    total, *of_all = measure(plain_sums(request))
    strata = _plain_moments(request.recipe, counted.values, counted.sigma, total)
    if not of_all:
        return strata
    rows, k = counted.values.sum(axis=0, keepdims=True), len(counted.values)
    everybody = _plain_moments(request.recipe, rows, counted.sigma * k**0.5, of_all[0])
    return replace(strata, everybody=everybody)


def _plain_moments(recipe: Recipe, counts: Array, miscount: float, total: Release) -> Moments:
    """Returns the moments of cells that were summed over the declared interval.

    Args:
        recipe: Whose x.
        counts: Of the cells, noised with standard deviation `miscount`.
        total: The noised sums.
    """
    half = recipe.width / 2
    sums = half * total.values.reshape(counts.shape)
    deviation = half * total.sigma
    z = half_width(total.price)
    return Moments(counts, sums, np.zeros_like(counts), miscount**2, deviation**2, 0.0, z)


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


def bins_of(recipe: Recipe, share: float = HISTOGRAM_SHARE) -> BinEnds:
    """Returns the ends of the bins of a mean's histogram that takes such a part of the price."""
    grid = bin_grid(recipe, share=share)
    return BinEnds(np.array(grid.lowest), np.array(grid.highest))
