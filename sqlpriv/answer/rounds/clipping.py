"""Where each cell is clipped before it is summed: the ends that predict the least error.

Between the ends l and u, with c and h their middle and half their distance, the error of a cell of
n rows has the variance v + s², where

    v   noise of the sum, (h τ / n)², and of the count, ((m - E - c) σ_N / n)²;
        of E, the mean part of x beyond the ends: the cell's rate, as far as the clipped sum will
        leave it open, the scatter of n rows, and what the cell has of its own
    s   what all cells have in common: the noise of the pooled histogram, the tails beyond it

Slower tails that the noise may hide (`slow_tails`) make intervals longer and move no end: what is
seen decides, since an end that is moved for them costs noise in every answer. While a quarter of
their square counted, constants erred up to seven times as far, a log-normal column in [-1e7, 1e9]
three times, and a power law x^-1.2 of 20,000 rows four fifths.

Candidates of both ends (`clipping_errors`) are the bins' own ends, and some beyond the declared
interval: a centre near the mean makes the count's noise matter less. Of few pairs all are compared.
Else cells choose among every third end first, some cells where there are many, and then among all
ends that lie near the chosen ones: `tests/bench/thinning.py` says what that loses.

**Everybody.** Over the cells v averages out and s does not. With a the cells' shares of the rows,
everybody's error has the variance M = Σ a² v + (Σ a s)². What is minimised is the sum, weighted by
rows, of the logarithms of the cells' variances, and of everybody's: a part of its error is worth as
much to everybody as to the average row's cell. The cells' choices depend on each other through M,
Σ a s and the usual excess alone, so few turns suffice.

**Rows of one kind in one cell.** Where cells are clipped at different ends, what everybody loses
depends on which cells a bin's rows are in. Each cell may be off by its own rate, which averages
out; but all rows of a rare bin may be in one (the longest flights are of one carrier, and its
groups are small). With p the bin's share, q the cells' shares of it, l by how much the bin lies
beyond a cell's ends, and κ the share of rows that is taken to be in one place, M grows by

    Σ_b p² κ / (κ + p) Σ_i q_i (l_i - Σ_j q_j l_j)²

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.clipping_errors import (
    NODE_WEIGHTS,
    NODES,
    CandidateEnds,
    CellNoise,
    PredictedErrors,
    candidate_ends,
    predict_errors,
    sum_pairs,
)
from sqlpriv.answer.rounds.histogram.pooled_bins import excess_above, excess_below
from sqlpriv.answer.rounds.histogram.tail_constants import CLUMP
from sqlpriv.answer.rounds.tail_model import Tails

ROUNDS_OF_CHOICE = 4
"""After so many turns the choices stand, or turn between ends of all but equal error."""
FEW_PAIRS = 2**15
"""So many pairs of ends of all cells, or fewer, are all compared: .5 ms."""
STRIDE = 3
"""Else every third end is compared first. All pairs take 2.4 to 4 times as long and predict errors
that are less by .1 % (.4 % at worst); of every fourth end 2.5 % are lost at worst."""
SAMPLED_CELLS = 128
"""Where cells are twice as many or more, so many of them say which ends are compared for all."""
PAIRS_AT_ONCE, PAIRS_KEPT = 2**17, 8_000_000
"""Pairs of ends that are compared at once: a megabyte of each figure, which stays in the cache of a
processor. Were 4 million compared at once, 100 cells would take 2.4 times as long. And so many
pairs of all cells have their errors kept from turn to turn, for the sake of memory."""


class Clipping(NamedTuple):
    """Where cells are clipped, and the error that is predicted for them.

    Args:
        low, high: The ends of each cell's interval, of the counts' shape.
        variance: v + s² of each cell, of the same shape.
        scattered, common: Of everybody: the variance that averages out, and Σ a s, which does not.
    """

    low: Array
    high: Array
    variance: Array
    scattered: float = 0.0
    common: float = 0.0


def clump_weights(pooled: Array) -> Array:
    """Returns p κ / (κ + p) of every bin, of shape (bins,); see the module's text."""
    return np.asarray(pooled * CLUMP / (CLUMP + pooled))


def choose_clipping(tails: Tails, noise: CellNoise, lower: float, upper: float) -> Clipping:
    """Returns the ends of each cell's interval.

    Args:
        tails: The estimated distributions of the cells.
        noise: What the sums will be measured with.
        lower, upper: Of the declared interval; nothing is clipped where nothing is known.
    """
    shape = noise.n.shape
    if not tails.pooled.any():
        return Clipping(np.full(shape, lower), np.full(shape, upper), np.zeros(shape))
    lows, highs = candidate_ends(tails.bins, lower, upper)
    if noise.n.size * lows.size * highs.size > FEW_PAIRS:
        lows, highs = _likely_ends(tails, noise, lows, highs)
    return _choose_among(tails, noise, lows, highs)


def _likely_ends(tails: Tails, noise: CellNoise, lows: Array, highs: Array) -> tuple[Array, Array]:
    """Returns the ends that cells choose of every `STRIDE`-th candidate, and all ends between these
    and the next ones that were compared."""
    if noise.n.size >= 2 * SAMPLED_CELLS:
        tails, noise = _sampled_cells(tails, noise)
    clipping = _choose_among(tails, noise, lows[::STRIDE], highs[::STRIDE])
    reach = np.arange(1 - STRIDE, STRIDE)
    low, high = (
        np.unique(np.searchsorted(ends, chosen.ravel()) + reach[:, None])
        for ends, chosen in ((lows, clipping.low), (highs, clipping.high))
    )
    return lows[low[(low >= 0) & (low < lows.size)]], highs[high[(high >= 0) & (high < highs.size)]]


def _sampled_cells(tails: Tails, noise: CellNoise) -> tuple[Tails, CellNoise]:
    """Returns some cells, which are evenly spaced among all by their counts. They stand for all
    rows."""
    of_all = noise.n.ravel().argsort(kind="stable")
    sampled = of_all[np.linspace(0, of_all.size - 1, SAMPLED_CELLS).round().astype(int)]
    n, shares, rate, spread = (
        x.ravel()[sampled] for x in (noise.n, noise.shares, tails.shape.rate, tails.shape.spread)
    )
    shares = shares * (noise.shares.sum() / max(float(shares.sum()), 1e-300))
    shape = tails.shape._replace(rate=rate, spread=spread)
    return replace(tails, shape=shape), noise._replace(n=n, shares=shares)


def _choose_among(tails: Tails, noise: CellNoise, lows: Array, highs: Array) -> Clipping:
    """Returns the best of all pairs of some ends, as `choose_clipping` does."""
    shape, cells = noise.n.shape, noise.n.size
    above, below = excess_above(tails.bins, highs), excess_below(tails.bins, -lows)
    ends = CandidateEnds(lows, highs, above, below)
    flat = noise._replace(n=noise.n.ravel(), shares=noise.shares.ravel())
    rates = tails.shape.rate.ravel() + NODES[:, None] * tails.shape.spread.ravel()
    tables = tails.shape.family(rates)
    table = np.tensordot(NODE_WEIGHTS, tables, 1)
    size = max(1, PAIRS_AT_ONCE // (lows.size * highs.size))
    chosen = np.zeros((2, cells), int)
    own, shared, clumped = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    usual = np.zeros((2, tails.pooled.size))
    everybody: tuple[float, float] | None = None
    alone: dict[int, PredictedErrors] = {}  # of one piece: it does not follow from the others' ends
    for _ in range(ROUNDS_OF_CHOICE if cells > 1 else 1):
        before, variance_before = chosen.copy(), everybody
        for first in range(0, cells, size):
            part = slice(first, first + size)
            piece = flat._replace(n=flat.n[part], shares=flat.shares[part])
            predicted = alone.get(first) or predict_errors(
                tails, tables[:, part], table[part], piece, ends
            )
            if cells * lows.size * highs.size <= PAIRS_KEPT:
                alone[first] = predicted
            clumps = _predict_clumped(tails, table[part], ends, usual)
            low, high = _least(predicted, clumps, piece.shares, everybody)
            cell = np.arange(len(piece.n))
            chosen[:, part] = low, high
            own[part] = predicted.own[cell, low, high]
            shared[part] = predicted.shared[cell, low, high]
            clumped[part] = clumps[0][cell, high] + clumps[1][cell, low]
        common = float(flat.shares @ shared)
        everybody = float(flat.shares**2 @ own + flat.shares @ clumped) + common**2, common
        if everybody == variance_before and (chosen == before).all():
            break  # the next turn would be this one again
        usual = _usual_excess(table, flat.shares, ends, chosen)
    low, high = lows[chosen[0]].reshape(shape), highs[chosen[1]].reshape(shape)
    variance, common = everybody or (0.0, 0.0)
    return Clipping(low, high, (own + shared**2).reshape(shape), variance - common**2, common)


def _least(
    predicted: PredictedErrors,
    clumped: tuple[Array, Array],
    shares: Array,
    everybody: tuple[float, float] | None,
) -> tuple[Array, Array]:
    """Returns each cell's best low and high, by number; see the module's text on everybody."""
    score = predicted.log_variance
    if everybody is not None:
        variance, common = max(everybody[0], 1e-300), everybody[1]
        above, below = clumped
        score = predicted.own * (shares / variance)[:, None, None]
        score += predicted.shared * (2 * common / variance)
        score += predicted.log_variance
        score += sum_pairs(above / variance, below / variance)
    best = score.reshape(len(score), -1).argmin(axis=1)
    low, high = np.unravel_index(best, score.shape[1:])
    return np.asarray(low), np.asarray(high)


def _usual_excess(table: Array, shares: Array, ends: CandidateEnds, chosen: Array) -> Array:
    """Returns Σ_j q_j l_j below and above the cells' ends, of shape (2, bins)."""
    of_cells = shares[:, None] * table
    of_cells /= np.maximum(of_cells.sum(axis=0), 1e-300)
    below, above = ends.below.excess[chosen[0]], ends.above.excess[chosen[1]]
    return np.stack([(of_cells * excess).sum(axis=0) for excess in (below, above)])


def _predict_clumped(
    tails: Tails, table: Array, ends: CandidateEnds, usual: Array
) -> tuple[Array, Array]:
    """Returns what everybody's variance grows by with each upper and each lower end, over the
    cell's share of the rows, of shape (cells, highs) and (cells, lows).

    Args:
        tails: The estimated distributions.
        table: The cells' shares of the bins, of shape (cells, bins).
        ends: Candidates.
        usual: By how much a bin's rows lie beyond their cells' ends on average, below and above.
    """
    weighed = clump_weights(tails.pooled) * table
    below, above = usual
    return (
        weighed @ (ends.above.excess - above).T ** 2,
        weighed @ (ends.below.excess - below).T ** 2,
    )
