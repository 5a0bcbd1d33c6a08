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

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.rounds.histogram.tail_constants import (
    FEWEST_BINS,
    MOST_UNSEEN,
    NARROW,
    SMALL_LOSS,
    UNSEEN,
)
from sqlpriv.answer.rounds.last_round import FirstRound, noise_per_unit, plan_last_round
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.estimators import is_too_narrow
from sqlpriv.plan.aggregates.means.mean_queries import cell_view, count_query, histogram
from sqlpriv.plan.aggregates.means.mean_rounds import MeanRounds, plain_sums, quantile_rounds
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.plan.pricing.tuned_constants import (
    CELL_SHARE,
    HISTOGRAM_SHARE,
    HISTOGRAM_SHARES,
    MOST_LOST,
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
    first_round = FirstRound(share, counts, first_answers.get(cell_view(recipe, share)))
    last_round = plan_last_round(request, counted, first_round, last.measurements[0].price)
    return last_round.moments(measure(last_round.measurements))


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
