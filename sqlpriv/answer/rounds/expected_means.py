"""How far a clipped mean is expected to be off, once a histogram of its values was released.

Where a mean is clipped, and so its noise, follows from the histogram of its values. If that was
released before, with the counts, at whatever price, the last round is gone through with it: cells
are clipped where they would be, and each noised sum is taken to be what the histogram expects. The
half-width of that answer is what is expected. It is post-processing of sealed answers: free.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.reconcile import two_levels
from sqlpriv.answer.rounds.clipped_mean import histogram_share
from sqlpriv.answer.rounds.clipping import Clipping
from sqlpriv.answer.rounds.clipping_loss import sum_over_bins
from sqlpriv.answer.rounds.histogram.pooled_bins import sides
from sqlpriv.answer.rounds.last_round import FirstRound, LastRound, noise_per_unit, plan_last_round
from sqlpriv.answer.rounds.tail_model import Tails
from sqlpriv.kernel.terms.algebra import Asked, Sum
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.aggregates.estimators import is_too_narrow
from sqlpriv.plan.aggregates.means.mean_bins import bin_grid
from sqlpriv.plan.aggregates.means.mean_queries import cell_view, count_query, histogram
from sqlpriv.plan.aggregates.means.mean_rounds import MeanRounds, quantile_rounds
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.tuned_constants import HISTOGRAM_SHARE, HISTOGRAM_SHARES, WIDE

Sealed = Callable[[Asked], Release | None]
"""Returns the dearest sealed answer to a query, or None."""


class CountNoise(NamedTuple):
    """The standard deviation that a count will have, and its price."""

    sigma: float
    price: Price


def expected_half_widths(
    rounds: Sequence[MeanRounds], counts: Mapping[Asked, CountNoise], sealed: Sealed
) -> dict[Recipe, Array]:
    """Returns the half-widths that the cells of clipped means are expected to have.

    Args:
        rounds: The means, at their prices.
        counts: What their counts will be noised with.
        sealed: What was released before.

    Returns:
        In units of x, of shape (strata, key 1, …), NaN in a cell of fewer rows than its count's
        noise; without means whose counts or histogram were not released, or that need none.
    """
    expected = ((one.recipe, _mean_half_widths(one, counts, sealed)) for one in rounds)
    return {recipe: halves for recipe, halves in expected if halves is not None}


def _mean_half_widths(
    request: MeanRounds, counts: Mapping[Asked, CountNoise], sealed: Sealed
) -> Array | None:
    recipe = request.recipe
    counted, noise = sealed(count_query(recipe)), counts.get(count_query(recipe))
    if counted is None or recipe.using != "quantile" or is_too_narrow(recipe.width):
        return None
    if noise is not None and noise.price.nano > counted.price.nano:  # else it will be replayed
        counted = replace(counted, sigma=noise.sigma, price=noise.price)
    share = histogram_share(request, counted, request.histogram_shared)
    first_round = None if share is None else _seen_before(request, share, counted, sealed)
    if share is None or first_round is None:
        return None
    price = quantile_rounds(request, share)[1].measurements[0].price
    last_round = plan_last_round(request, counted, first_round, price)
    moments = last_round.moments(_expected_sums(last_round))
    strata, _ = two_levels(recipe, moments, None, None)
    return np.asarray(np.where(counted.values > counted.sigma, strata.half_widths, np.nan))


def _seen_before(
    request: MeanRounds, share: float, counted: Release, sealed: Sealed
) -> FirstRound | None:
    """Returns what the first round is expected to tell, None where no histogram was released.

    A histogram that will be bought anew, at a higher price, is taken to be what the sealed one, of
    whichever of the two grids, says of the values, with as many times less noise. With all of that
    noise, tails that the dearer one will show would be hidden (twenty to seventy times the ±).
    """
    recipe = request.recipe
    first = quantile_rounds(request, share)[0].measurements
    prices = {m.query: m.price for m in first}
    for grid in (share, HISTOGRAM_SHARE, HISTOGRAM_SHARES[-1]):
        counts = sealed(histogram(recipe, grid))
        if counts is None:
            continue
        first_round = FirstRound(grid, counts, sealed(cell_view(recipe, grid)))
        price = prices.get(histogram(recipe, share))
        if price is None or price.nano <= counts.price.nano:
            return first_round
        tails = first_round.tails(recipe, counted)
        rows = max(float(counted.values.sum()), 0.0)
        bought = _noised_at(counts, rows * tails.pooled[None], price)
        return FirstRound(grid, bought, _expected_view(request, first_round, tails, counted))
    return None


def _expected_view(
    request: MeanRounds, first_round: FirstRound, tails: Tails, counted: Release
) -> Release | None:
    """Returns what is expected to be measured of each cell at its new price."""
    if first_round.view is None:
        return None
    recipe, n = request.recipe, np.maximum(counted.values, 0.0)[..., None]
    shares = n * tails.shares()
    number = np.arange(shares.shape[-1])
    if isinstance(first_round.view.query, Sum):
        values = shares @ (number - (number.size - 1) / 2)
    else:
        wide = np.array(bin_grid(recipe, WIDE, first_round.share).edges)
        member = np.eye(wide.size + 1)[np.searchsorted(wide, tails.bins.lowest, side="right")]
        values = (shares @ member).reshape(first_round.view.values.shape)
    price = quantile_rounds(request, first_round.share)[0].measurements[-1].price
    return _noised_at(first_round.view, values, price)


def _noised_at(sealed: Release, expected: Array, price: Price) -> Release:
    """Returns what a sealed answer would be at a higher price: what it has beside what is expected
    is taken for noise, and is as many times less."""
    sigma = noise_per_unit(sealed, price)
    part = sigma / max(sealed.sigma, 1e-300)
    values = expected + part * (sealed.values - expected)
    return replace(sealed, values=values, sigma=sigma, price=price)


def _expected_sums(last_round: LastRound) -> tuple[Release, ...]:
    """Returns the answers to the last round's measurements that the cells' distributions expect."""
    counted, own = last_round.counted, last_round.own
    clipped = [(last_round.tails, last_round.cells, np.maximum(counted.values, 0.0))]
    if own is not None:
        rows = counted.values.sum(axis=0, keepdims=True)
        clipped.append((own.tails, own.clipping, np.maximum(rows, 0.0)))
    return tuple(
        _expected_sum(counted, measurement, *one)
        for measurement, one in zip(last_round.measurements, clipped, strict=True)
    )


def _expected_sum(
    counted: Release, measurement: Measurement, tails: Tails, clipping: Clipping, n: Array
) -> Release:
    """Returns the sum of (x - centre) / half of n rows, clipped to ±1, without noise."""
    centre, half = (clipping.low + clipping.high) / 2, (clipping.high - clipping.low) / 2
    above, below = sides(tails.bins, centre, half)
    inside = tails.middles - centre[..., None] - above.excess + below.excess
    values = n * sum_over_bins(tails.shares(), inside) / half
    sigma = noise_per_unit(counted, measurement.price)
    return Release(0, measurement.query, values, sigma, measurement.price)
