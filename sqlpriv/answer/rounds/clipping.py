"""Where each cell is clipped before it is summed: the ends that predict the least error.

Between the ends l and u, with c and h their middle and half their distance, the error of a cell of
n rows has the variance v + s², where

    v   noise of the sum, (h τ / n)², and of the count, ((m - E - c) σ_N / n)²;
        of E, the mean part of x beyond the ends: the cell's rate, as far as the clipped sum will
        leave it open, the scatter of n rows, and what the cell has of its own
    s   what all cells have in common: the noise of the pooled histogram, the tails beyond it

Candidates of both ends are the bins' own ends, and some beyond the declared interval: a centre near
the mean makes the count's noise matter less. All pairs are compared.

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

**Constants.** Errors and intervals: `tests/bench/regret.py --tables`, `coverage.py --tables`.

| name | value | chosen by |
|---|---|---|
| DOUBT | 0.08 | with it 93 to 97 % of census strata lay in their intervals (means_example) |
| OWN_TAIL | 0.1 | set, not searched |
| CLUMP | 0.01 | set, not searched: everybody's interval of air times held 0 of 12 without |
| UNEVEN | 0.096 | derived: see its text |
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sqlpriv.answer.means import Array
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds, Side, excess_above, excess_below
from sqlpriv.answer.rounds.tail_model import Tails

BEYOND = (0.25, 0.5, 0.75, 1.0)
"""Candidates of ends outside the declared interval, in lengths of it."""
DOUBT = 0.08
"""θ: relative error of the logarithm of the part of values beyond an end."""
OWN_TAIL = 0.1
"""Relative standard deviation of what a cell has beyond an end, around its family's."""
CLUMP = 0.01
"""κ: the share of all rows that is taken to be in one cell."""
UNEVEN = 1 / (6 * 3**0.5)
"""Standard deviation of the mean of a bin's values, in widths of the bin: that of a density which
is a line of any slope that keeps it above 0, each as likely."""
NODES, NODE_WEIGHTS = np.array([-(3**0.5), 0.0, 3**0.5]), np.array([1 / 6, 2 / 3, 1 / 6])
"""Gauss and Hermite's three points: means over the rates of a cell, in spreads."""
ROUNDS_OF_CHOICE = 4
"""After so many turns the choices stand, or turn between ends of all but equal error."""
PAIRS_AT_ONCE = 4_000_000
"""Pairs of ends of all cells that are compared at once, for the sake of memory."""


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


class _Ends(NamedTuple):
    """Candidates of both ends, ascending; `above` and `below` are what lies beyond each of them."""

    lows: Array
    highs: Array
    above: Side
    below: Side


class _Predicted(NamedTuple):
    """What is predicted for each pair of ends, of shape (cells, lows, highs).

    `shared` is a standard deviation, `own` a variance; `log_variance` is the logarithm of what both
    make together, infinite where the ends are no interval.
    """

    own: Array
    shared: Array
    log_variance: Array


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
    shape, cells = noise.n.shape, noise.n.size
    if not tails.pooled.any():
        return Clipping(np.full(shape, lower), np.full(shape, upper), np.zeros(shape))
    lows, highs = candidate_ends(tails.bins, lower, upper)
    ends = _Ends(lows, highs, excess_above(tails.bins, highs), excess_below(tails.bins, -lows))
    flat = noise._replace(n=noise.n.ravel(), shares=noise.shares.ravel())
    rates = tails.shape.rate.ravel() + NODES[:, None] * tails.shape.spread.ravel()
    tables = tails.shape.family(rates)
    table = np.tensordot(NODE_WEIGHTS, tables, 1)
    size = max(1, PAIRS_AT_ONCE // (lows.size * highs.size))
    chosen = np.zeros((2, cells), int)
    own, shared, clumped = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    usual = np.zeros((2, tails.pooled.size))
    everybody: tuple[float, float] | None = None
    alone: dict[int, _Predicted] = {}  # of one piece: it does not follow from the others' ends
    for _ in range(ROUNDS_OF_CHOICE if cells > 1 else 1):
        before, variance_before = chosen.copy(), everybody
        for first in range(0, cells, size):
            part = slice(first, first + size)
            piece = flat._replace(n=flat.n[part], shares=flat.shares[part])
            predicted = alone.get(first) or _predict(
                tails, tables[:, part], table[part], piece, ends
            )
            if size >= cells:
                alone[first] = predicted
            above, below = _predict_clumped(tails, table[part], ends, usual)
            low, high = _least(predicted, (above, below), piece.shares, everybody)
            cell = np.arange(len(piece.n))
            chosen[:, part] = low, high
            own[part] = predicted.own[cell, low, high]
            shared[part] = predicted.shared[cell, low, high]
            clumped[part] = above[cell, high] + below[cell, low]
        common = float(flat.shares @ shared)
        everybody = float(flat.shares**2 @ own + flat.shares @ clumped) + common**2, common
        if everybody == variance_before and (chosen == before).all():
            break  # the next turn would be this one again
        usual = _usual_excess(table, flat.shares, ends, chosen)
    low, high = lows[chosen[0]].reshape(shape), highs[chosen[1]].reshape(shape)
    variance, common = everybody or (0.0, 0.0)
    return Clipping(low, high, (own + shared**2).reshape(shape), variance - common**2, common)


def candidate_ends(bins: BinEnds, lower: float, upper: float) -> tuple[Array, Array]:
    """Returns candidates of the lower and of the upper end, ascending.

    >>> ends = candidate_ends(BinEnds.between(np.array([0.0, 2, 8])), 0.0, 8.0)
    >>> [end.tolist() for end in ends]
    [[-8.0, -6.0, -4.0, -2.0, 0.0, 2.0], [2.0, 8.0, 10.0, 12.0, 14.0, 16.0]]
    """
    beyond = np.array(BEYOND) * (upper - lower)
    lows = np.concatenate([lower - beyond, bins.lowest, [lower]])
    highs = np.concatenate([upper + beyond, bins.highest, [upper]])
    return np.unique(lows), np.unique(highs)


def _least(
    predicted: _Predicted,
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
        score += _pairs(above / variance, below / variance)
    best = score.reshape(len(score), -1).argmin(axis=1)
    low, high = np.unravel_index(best, score.shape[1:])
    return np.asarray(low), np.asarray(high)


def _usual_excess(table: Array, shares: Array, ends: _Ends, chosen: Array) -> Array:
    """Returns Σ_j q_j l_j below and above the cells' ends, of shape (2, bins)."""
    of_cells = shares[:, None] * table
    of_cells /= np.maximum(of_cells.sum(axis=0), 1e-300)
    below, above = ends.below.excess[chosen[0]], ends.above.excess[chosen[1]]
    return np.stack([(of_cells * excess).sum(axis=0) for excess in (below, above)])


def _predict(
    tails: Tails, tables: Array, table: Array, noise: CellNoise, ends: _Ends
) -> _Predicted:
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
    released = _pairs(of_up - 2 * up_with_mean + of_mean, of_down - 2 * down_with_mean, minus_both)
    np.maximum(released, 0.0, out=released)
    released += sum_noise
    learnt = _pairs(up_with_mean - of_up, down_with_mean - of_down, both)
    learnt *= learnt
    learnt /= np.maximum(released, 1e-300, out=released)
    del released  # a few large arrays at a time: the system clears each new page
    own = _pairs(of_up, of_down, minus_both)
    own -= learnt
    del learnt
    np.maximum(own, 0.0, out=own)
    own += sum_noise
    del sum_noise
    per_row = (noise.miscount / noise.n)[:, None]
    miscounted = _pairs(
        per_row * (mean_now[:, None] - excess_up - ends.highs / 2),
        per_row * (excess_down - ends.lows / 2),
    )
    miscounted *= miscounted
    own += miscounted
    del miscounted
    own += _pairs(above.own, below.own)
    shared = _pairs(above.doubt, below.doubt)
    shared *= shared
    shared += _pairs(above.histogram, below.histogram)
    log_variance = own + shared
    np.log(np.maximum(log_variance, 1e-300, out=log_variance), out=log_variance)
    log_variance += np.where(ends.lows[:, None] < ends.highs, 0.0, np.inf)
    return _Predicted(own, np.sqrt(shared, out=shared), log_variance)


def _pairs(high: Array, low: Array, factors: tuple[Array, Array] | None = None) -> Array:
    """Returns high + low of every pair of ends, of shape (cells, lows, highs).

    By a product of matrices: numpy adds rows of fifty numbers four times as slowly.

    Args:
        high, low: Of shape (cells, highs) and (cells, lows).
        factors: Of shape (cells, k, highs) and (cells, lows, k); their product is added.

    >>> high, low = np.array([[10.0, 20.0, 30.0]]), np.array([[1.0, 2.0]])
    >>> _pairs(high, low).tolist(), _pairs(high, low, (high[:, None], low[..., None])).tolist()
    ([[[11.0, 21.0, 31.0], [12.0, 22.0, 32.0]]], [[[21.0, 41.0, 61.0], [32.0, 62.0, 92.0]]])
    """
    of_high = [np.ones_like(high)[:, None], high[:, None]]
    of_low = [low[..., None], np.ones_like(low)[..., None]]
    if factors is not None:
        of_high, of_low = [*of_high, factors[0]], [*of_low, factors[1]]
    return np.asarray(np.matmul(np.concatenate(of_low, 2), np.concatenate(of_high, 1)))


def _predict_clumped(tails: Tails, table: Array, ends: _Ends, usual: Array) -> tuple[Array, Array]:
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


class _Side(NamedTuple):
    """What lies beyond candidates of one end, of shape (cells, ends); `excess` by node first."""

    excess: Array
    own: Array
    doubt: Array
    histogram: Array


def _one_sided(tails: Tails, tables: Array, table: Array, n: Array, beyond: Side) -> _Side:
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
    return _Side(excess, own, doubt, shared)
