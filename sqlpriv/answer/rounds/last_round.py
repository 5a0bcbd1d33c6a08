"""The last round of a clipped mean: what is summed, and the moments that the sums make.

It follows from the counts, the histogram and the cells' own views, whether they were released just
now, or by a statement before whose price another is explained (`expected_means`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.rounds.clipping import Clipping, choose_clipping
from sqlpriv.answer.rounds.clipping_errors import CellNoise
from sqlpriv.answer.rounds.clipping_loss import estimate_excess
from sqlpriv.answer.rounds.everybody_sum import OwnSum, choose_own_sum
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds
from sqlpriv.answer.rounds.histogram.tail_constants import NOISE_STEPS
from sqlpriv.answer.rounds.tail_model import Tails, estimate_tails
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.means.mean_bins import bin_grid
from sqlpriv.plan.aggregates.means.mean_queries import clipped_sum, clipped_sum_of_all
from sqlpriv.plan.aggregates.means.mean_rounds import MeanRounds
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.split import split_statement_price
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.plan.pricing.tuned_constants import HISTOGRAM_SHARE, WIDE


class FirstRound(NamedTuple):
    """What the first round told of the values.

    Args:
        share: The histogram's part of the mean's price, which says how its bins lie.
        histogram: Noised counts of all cells together.
        view: What was measured of each cell, None where there is one cell.
    """

    share: float
    histogram: Release
    view: Release | None

    def tails(self, recipe: Recipe, counted: Release) -> Tails:
        """Returns the estimated distributions of the cells, whose noised counts are given."""
        bins = bins_of(recipe, self.share)
        wide = np.array(bin_grid(recipe, WIDE, self.share).edges)
        return estimate_tails(self.histogram, self.view, counted, bins, wide)


@dataclass(frozen=True, eq=False)
class LastRound:
    """The clipped sums that a mean is made of, and what is known of the cells before them.

    Args:
        request: The mean.
        counted: The noised counts of its cells.
        tails: The estimated distributions of the cells.
        noise: Their counts, 1 at least, and what they will be summed with for the whole price.
        cells: Where they are clipped.
        own: How everybody's own sum is measured, None where it is not.
        measurements: The strata's sums, then everybody's own if it is measured.
    """

    request: MeanRounds
    counted: Release
    tails: Tails
    noise: CellNoise
    cells: Clipping
    own: OwnSum | None
    measurements: tuple[Measurement, ...]

    def moments(self, sums: Sequence[Release]) -> Moments:
        """Returns N, the clipped sum, and what lies beyond, by the answers to `measurements`."""
        recipe, counts = self.request.recipe, self.counted.values
        strata = _clipped_moments(recipe, self.tails, self.cells, self.noise, counts, sums[0])
        if self.own is None:
            return strata
        rows = counts.sum(axis=0, keepdims=True)
        everybody = _clipped_moments(
            recipe, self.own.tails, self.own.clipping, self.own.noise, rows, sums[1]
        )
        return replace(strata, everybody=everybody)


def plan_last_round(
    request: MeanRounds, counted: Release, first_round: FirstRound, price: Price
) -> LastRound:
    """Returns where cells are clipped and what is summed for the price of the last round.

    Args:
        request: The mean.
        counted: The noised counts of its cells.
        first_round: What the first round told of the values.
        price: Of the last round.
    """
    recipe = request.recipe
    n = np.maximum(counted.values, max(counted.sigma, 1.0))
    lower, upper = float(recipe.lower), float(recipe.upper)
    tails = first_round.tails(recipe, counted)
    unit = _rounded_noise(noise_per_unit(counted, price))
    present = np.maximum(counted.values, 0.0)
    noise = CellNoise(n, present / max(present.sum(), 1.0), unit, counted.sigma)
    cells = choose_clipping(tails, noise, lower, upper)
    own = None
    if request.both_levels:
        power = 1 if isinstance(price, Rho) else 2
        own = choose_own_sum(tails, noise, cells, power, float(counted.values.sum()))
    ends = tuple(zip(cells.low.ravel().tolist(), cells.high.ravel().tolist(), strict=True))
    if own is None:
        whole_price = (Measurement(clipped_sum(recipe, ends), price),)
        return LastRound(request, counted, tails, noise, cells, None, whole_price)
    of_strata, of_all = split_statement_price(price, [1 - own.part, own.part])
    both = (float(own.clipping.low[0]), float(own.clipping.high[0]))
    sums = (
        Measurement(clipped_sum(recipe, ends), of_strata),
        Measurement(clipped_sum_of_all(recipe, both), of_all),
    )
    return LastRound(request, counted, tails, noise, cells, own, sums)


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
