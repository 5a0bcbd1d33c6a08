"""What lies beyond the ends where cells are clipped, once their clipped sums are noised: E.

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.clipping import clump_weights
from sqlpriv.answer.rounds.histogram.hidden_clumps import tails_and_clumps
from sqlpriv.answer.rounds.histogram.pooled_bins import (
    Side,
    excess_above,
    excess_below,
    sides,
)
from sqlpriv.answer.rounds.histogram.slow_tails import believed_beyond
from sqlpriv.answer.rounds.histogram.tail_constants import (
    COUNTED,
    DOUBT,
    DOUBTED,
    EVIDENT,
    HEAVY,
    OWN_TAIL,
    SLOWEST,
    SUM_MISFIT,
    UNEVEN,
)
from sqlpriv.answer.rounds.tail_model import Tails

DEVIATIONS = np.linspace(-3, 3, 25)
"""Rates that are weighed by the clipped sum, in spreads off the cell's rate."""


class Excess(NamedTuple):
    """What lies beyond the clipping intervals, each of shape (strata, key 1, …).

    Args:
        value: E, the mean part of x beyond c ± h.
        variance: Of the part of its error that is the cell's own.
        shared: Variance of the part whose cause the cells share: it does not average out.
        clumped: See `Moments`.
        slow: By how much more may be lost by slower tails, and by clumps of rows that the counts
            speak for, as far as an interval counts on them.
        unseen: The same by slower tails still, and by rows that noise may hide (`hidden_clumps`).
    """

    value: Array
    variance: Array
    shared: Array
    clumped: Array
    slow: Array
    unseen: Array


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
    z = DEVIATIONS.reshape(-1, *([1] * centre.ndim))
    tables, prior_table = tails.shares(z), tails.shares()
    inside, values = sum_over_bins(tables, cut), sum_over_bins(tables, excess)
    misfit = (SUM_MISFIT * sum_over_bins(prior_table, np.abs(cut))) ** 2 + sum_over_bins(
        prior_table, cut**2
    ) / n
    apart = (moved - inside) ** 2 / (noise**2 + misfit + 1e-300)
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
    slow, unseen = _lost_by_slow_tails(tails, centre, half)
    return Excess(
        value,
        own,
        shared + histogram_noise,
        clumped_variance(after, beyond, n),
        slow,
        np.maximum(unseen, tails.far),
    )


def _lost_by_slow_tails(tails: Tails, centre: Array, half: Array) -> tuple[Array, Array]:
    """Returns by how much more than estimated slower tails may hold beyond c ± h: `Excess`."""
    counted, unseen = np.zeros(centre.size), np.zeros(centre.size)
    if tails.slow is not None and tails.clumps is not None:
        for alone, clumps, at, excess in (
            (tails.slow.above, tails.clumps.above, centre + half, excess_above),
            (tails.slow.below, tails.clumps.below, half - centre, excess_below),
        ):
            ends, cell_end = np.unique(at.ravel(), return_inverse=True)  # few, of many cells
            beyond = excess(tails.bins, ends).excess
            together = tails_and_clumps(alone, clumps)
            part = 1 - (1 - COUNTED) * (1 - alone.heavy)
            held = believed_beyond(alone, beyond, part)
            if 1 - clumps.belief[0] >= EVIDENT:
                held = np.maximum(held, believed_beyond(together, beyond, part))
            counted += held[cell_end] ** 2
            doubted = believed_beyond(clumps, beyond, DOUBTED)
            if alone.heavy >= HEAVY:
                doubted = np.maximum(doubted, believed_beyond(together, beyond, SLOWEST))
            unseen += doubted[cell_end] ** 2
    return np.sqrt(counted).reshape(centre.shape), np.sqrt(unseen).reshape(centre.shape)


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
