"""The error that is predicted for each pair of ends where cells may be clipped: `clipping`.

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds, Side
from sqlpriv.answer.rounds.histogram.tail_constants import DOUBT, OWN_TAIL, UNEVEN
from sqlpriv.answer.rounds.tail_model import Tails

BEYOND = (0.25, 0.5, 0.75, 1.0)
"""Candidates of ends outside the declared interval, in lengths of it."""
NODES, NODE_WEIGHTS = np.array([-(3**0.5), 0.0, 3**0.5]), np.array([1 / 6, 2 / 3, 1 / 6])
"""Gauss and Hermite's three points: means over the rates of a cell, in spreads."""


class CellNoise(NamedTuple):
    """What the sums of cells will be measured with.

    Args:
        n: Counts of the cells, at least 1, of shape (strata, key 1, …).
        shares: Of all rows, of the same shape, not negative.
        unit: τ, the noise of a sum at a sensitivity of 1.
        miscount: σ_N, the noise of a count.
    """

    n: Array
    shares: Array
    unit: float
    miscount: float


class CandidateEnds(NamedTuple):
    """Candidates of both ends, ascending; `above` and `below` are what lies beyond each of them."""

    lows: Array
    highs: Array
    above: Side
    below: Side


class PredictedErrors(NamedTuple):
    """What is predicted for each pair of ends, of shape (cells, lows, highs).

    `shared` is a standard deviation, `own` a variance; `log_variance` is the logarithm of what both
    make together, infinite where the ends are no interval.
    """

    own: Array
    shared: Array
    log_variance: Array


def candidate_ends(bins: BinEnds, lower: float, upper: float) -> tuple[Array, Array]:
    """Returns candidates of the lower and of the upper end, ascending.

    Where the grid begins at an end of the interval, values that lie near it have no candidate on
    its other side, and a quarter of a wide interval is far too much: every second end of the bins,
    mirrored there, is one.

    >>> ends = candidate_ends(BinEnds.between(np.array([0.0, 1, 2, 8])), 0.0, 8.0)
    >>> [end.tolist() for end in ends]
    [[-8.0, -6.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0], [1.0, 2.0, 8.0, 10.0, 12.0, 14.0, 16.0]]
    """
    beyond = np.array(BEYOND) * (upper - lower)
    lows = np.concatenate([lower - beyond, bins.lowest, [lower]])
    highs = np.concatenate([upper + beyond, bins.highest, [upper]])
    if lower >= 0:
        lows = np.append(lows, lower - _second_ends(bins.highest - lower, float(beyond[0])))
    elif upper <= 0:
        highs = np.append(highs, upper + _second_ends(upper - bins.lowest, float(beyond[0])))
    return np.unique(lows), np.unique(highs)


def _second_ends(distance: Array, least_beyond: float) -> Array:
    """Returns every second distance of the bins' ends that is less than the least of `BEYOND`."""
    distances = np.unique(distance[distance > 0])
    return np.asarray(distances[distances < least_beyond][::2])


def predict_errors(
    tails: Tails, tables: Array, table: Array, noise: CellNoise, ends: CandidateEnds
) -> PredictedErrors:
    """Returns the predicted errors of every pair of ends.

    All but one part of each is the sum of what the lower end has to do with it and the upper: the
    two are put together last, as there are as many pairs as candidates of the one times the other.

    Args:
        tails: The estimated distributions.
        tables: Of the cells at `NODES`, of shape (nodes, cells, bins).
        table: Their means over the nodes, of shape (cells, bins).
        noise: Of these cells, of shape (cells,).
        ends: Candidates of the lower and of the upper end.
    """
    above = _one_sided(tails, tables, table, noise.n, ends.above)
    below = _one_sided(tails, tables, table, noise.n, ends.below)
    node = NODE_WEIGHTS[:, None, None]
    mean = tables @ tails.middles  # (nodes, cells)
    mean_now = NODE_WEIGHTS @ mean
    off = (mean - mean_now)[..., None]
    excess_up, excess_down = (np.tensordot(NODE_WEIGHTS, x.excess, 1) for x in (above, below))
    up, down = above.excess - excess_up, below.excess - excess_down
    weighed_up, weighed_down = node * up, node * down
    # variances over the rates, and covariances with the mean, of what lies beyond each end
    of_up, of_down = (weighed_up * up).sum(axis=0), (weighed_down * down).sum(axis=0)
    up_with_mean, down_with_mean = (weighed_up * off).sum(axis=0), -(weighed_down * off).sum(axis=0)
    of_mean = (node * off**2).sum(axis=0)
    both = (2 * weighed_up).transpose(1, 0, 2), down.transpose(1, 2, 0)
    minus_both = -both[0], both[1]
    half = np.maximum((ends.highs - ends.lows[:, None]) / 2, 0.0)
    sum_noise = np.multiply.outer(noise.n**-2, (half * noise.unit) ** 2)
    released = sum_pairs(
        of_up - 2 * up_with_mean + of_mean, of_down - 2 * down_with_mean, minus_both
    )
    np.maximum(released, 0.0, out=released)
    released += sum_noise
    learnt = sum_pairs(up_with_mean - of_up, down_with_mean - of_down, both)
    learnt *= learnt
    learnt /= np.maximum(released, 1e-100, out=released)
    del released  # a few large arrays at a time: the system clears each new page
    own = sum_pairs(of_up, of_down, minus_both)
    own -= learnt
    del learnt
    np.maximum(own, 0.0, out=own)
    own += sum_noise
    del sum_noise
    per_row = (noise.miscount / noise.n)[:, None]
    miscounted = sum_pairs(
        per_row * (mean_now[:, None] - excess_up - ends.highs / 2),
        per_row * (excess_down - ends.lows / 2),
    )
    miscounted *= miscounted
    own += miscounted
    del miscounted
    own += sum_pairs(above.own, below.own)
    shared = sum_pairs(above.doubt, below.doubt)
    shared *= shared
    shared += sum_pairs(above.histogram, below.histogram)
    log_variance = own + shared
    np.log(np.maximum(log_variance, 1e-300, out=log_variance), out=log_variance)
    log_variance += np.where(ends.lows[:, None] < ends.highs, 0.0, np.inf)
    return PredictedErrors(own, np.sqrt(shared, out=shared), log_variance)


def sum_pairs(high: Array, low: Array, factors: tuple[Array, Array] | None = None) -> Array:
    """Returns high + low of every pair of ends, of shape (cells, lows, highs).

    By a product of matrices: numpy adds rows of fifty numbers four times as slowly.

    Args:
        high, low: Of shape (cells, highs) and (cells, lows).
        factors: Of shape (cells, k, highs) and (cells, lows, k); their product is added.

    >>> high, low = np.array([[10.0, 20.0, 30.0]]), np.array([[1.0, 2.0]])
    >>> sum_pairs(high, low).tolist()
    [[[11.0, 21.0, 31.0], [12.0, 22.0, 32.0]]]
    >>> sum_pairs(high, low, (high[:, None], low[..., None])).tolist()
    [[[21.0, 41.0, 61.0], [32.0, 62.0, 92.0]]]
    """
    of_high = [np.ones_like(high)[:, None], high[:, None]]
    of_low = [low[..., None], np.ones_like(low)[..., None]]
    if factors is not None:
        of_high, of_low = [*of_high, factors[0]], [*of_low, factors[1]]
    return np.asarray(np.matmul(np.concatenate(of_low, 2), np.concatenate(of_high, 1)))


class OneSided(NamedTuple):
    """What lies beyond candidates of one end, of shape (cells, ends); `excess` by node first."""

    excess: Array
    own: Array
    doubt: Array
    histogram: Array


def _one_sided(tails: Tails, tables: Array, table: Array, n: Array, beyond: Side) -> OneSided:
    """Returns what lies beyond candidates of one end, for which `beyond` is (ends, bins)."""
    excess = tables @ beyond.excess.T
    squares = beyond.excess.T**2
    lost, part = table @ beyond.excess.T, np.clip(table @ beyond.part.T, 1e-300, 1.0)
    doubt = -DOUBT * lost * np.log(part) + tails.hidden_shares @ beyond.excess.T
    histogram = tails.relative_noise * table
    inside = table * (UNEVEN * (tails.bins.highest - tails.bins.lowest))
    beyond_wholly = (beyond.part.T == 1.0).astype(float)
    own = table @ squares / n[:, None] + (OWN_TAIL * lost) ** 2
    shared = histogram**2 @ squares + inside**2 @ beyond_wholly
    return OneSided(excess, own, doubt, shared)
