"""Everybody's own clipped sum, beside the strata's: for a part of the last round's price.

Everybody's figure that is put together from k strata has the noise of k sums, each with the whole
price: √k times that of asking for everybody alone. No noise of the strata is both as small and
adds up to less, since a row may be in any stratum. So everybody's own sum is measured, too, and
takes the part f of the price that leaves no stratum's ± more than `STRATA_LOSE` times as long
(`cost_of_strata.largest_own_part`).

It is measured only where that makes everybody's predicted error `LEAST_OWN_GAIN` times smaller, and
by no less than the strata's errors grow, by the mean of their logarithms over the rows: `clipping`
weighs both levels so, too. Under pure ε noise alone asks for more than about twenty strata. Both
figures rest on one histogram and on the same counts, so what these err by they err by together
(`reconcile`). Which f it is follows from noised numbers that are paid for. Of plain sums f is known
beforehand (`cost_of_strata.plain_own_part`).

What both levels gain and lose: `python tests/bench/levels.py`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.reconcile import weigh_levels
from sqlpriv.answer.rounds.cell_shapes import CellShapes
from sqlpriv.answer.rounds.clipping import Clipping, choose_clipping
from sqlpriv.answer.rounds.clipping_errors import CellNoise
from sqlpriv.answer.rounds.tail_model import Tails
from sqlpriv.plan.aggregates.cost_of_strata import largest_own_part, strata_left
from sqlpriv.plan.pricing.tuned_constants import LEAST_OWN_GAIN


class OwnSum(NamedTuple):
    """How everybody's own sum is measured.

    Args:
        part: f, in whole hundredths.
        tails: The distribution of all rows, as one cell.
        noise: What the sum will be measured with.
        clipping: Where it is clipped.
    """

    part: float
    tails: Tails
    noise: CellNoise
    clipping: Clipping


def choose_own_sum(
    tails: Tails, noise: CellNoise, strata: Clipping, power: int, rows: float
) -> OwnSum | None:
    """Returns how everybody's own sum is measured, or None where the strata's serve as well.

    Args:
        tails: The estimated distributions of the strata.
        noise: What their sums would be measured with for the whole price.
        strata: How they are clipped then.
        power: Of a part of the price that a variance falls with: 1 for ρ, 2 for ε.
        rows: Noised count of all.
    """
    k = noise.n.size
    of_count = noise.miscount * k**0.5
    if k < 2 or rows < 4 * of_count or not tails.pooled.any():
        return None
    half = (strata.high - strata.low) / 2
    of_sums = (half * noise.unit / noise.n) ** 2
    part = largest_own_part(of_sums, strata.variance, power)
    if part <= 0:
        return None
    unit = noise.unit * part ** (-power / 2)
    own_noise = CellNoise(np.array([rows]), np.ones(1), unit, of_count)
    everybody = as_one_cell(tails)
    own = choose_clipping(
        everybody, own_noise, float(tails.bins.lowest[0]), float(tails.bins.highest[-1])
    )
    grown = (1 - part) ** -power - 1
    scattered = strata.scattered + float((noise.shares**2 * of_sums).sum()) * grown
    own_scattered = float(own.variance[0]) - own.common**2
    _, together = weigh_levels(
        np.array(scattered), np.array(own_scattered), (strata.common, own.common)
    )
    gain = (strata.scattered + strata.common**2) / max(float(together), 1e-300)
    left = strata_left(part, of_sums, strata.variance, noise.shares, power)
    before = np.maximum(np.ravel(strata.variance), 1e-300)
    lost = noise.shares.ravel() @ np.log(np.maximum(left, 1e-300) / before)
    if gain < max(LEAST_OWN_GAIN**2, float(np.exp(lost))):
        return None
    return OwnSum(part, everybody, own_noise, own)


def as_one_cell(tails: Tails) -> Tails:
    """Returns the distribution of all rows together, which is known but for the histogram."""

    def pooled_shares(rate: Array) -> Array:
        return np.broadcast_to(tails.pooled, (*rate.shape, tails.pooled.size))

    return replace(tails, shape=CellShapes(pooled_shares, np.zeros(1), np.zeros(1)))
