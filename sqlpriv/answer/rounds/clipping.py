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
from numpy.typing import NDArray

from sqlpriv.answer.means import Array
from sqlpriv.answer.rounds.pooled_bins import BinEnds
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


class _Predicted(NamedTuple):
    """Own and shared variances of each pair of ends, of shape (cells, lows, highs)."""

    own: Array
    shared: Array


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
    flat = noise._replace(n=noise.n.ravel(), shares=noise.shares.ravel())
    rates = tails.shape.rate.ravel() + NODES[:, None] * tails.shape.spread.ravel()
    tables = tails.shape.family(rates)
    size = max(1, PAIRS_AT_ONCE // (lows.size * highs.size))
    chosen = np.zeros((2, cells), int)
    own, shared, clumped = np.zeros(cells), np.zeros(cells), np.zeros(cells)
    usual = np.zeros((2, tails.pooled.size))
    everybody: tuple[float, float] | None = None
    alone: dict[int, _Predicted] = {}  # of one piece: it does not follow from the others' ends
    for _ in range(ROUNDS_OF_CHOICE if cells > 1 else 1):
        for first in range(0, cells, size):
            part = slice(first, first + size)
            piece = flat._replace(n=flat.n[part], shares=flat.shares[part])
            predicted = alone.get(first) or _predict(tails, tables[:, part], piece, (lows, highs))
            if size >= cells:
                alone[first] = predicted
            grown = _predict_clumped(tails, tables[:, part], (lows, highs), usual)
            at = _least(predicted, grown, piece.shares, everybody, lows[:, None] < highs)
            index = (np.arange(len(piece.n)), *at)
            chosen[:, part] = at
            own[part], shared[part] = predicted.own[index], predicted.shared[index]
            clumped[part] = grown[index]
        common = float(flat.shares @ np.sqrt(shared))
        everybody = float(flat.shares**2 @ own + flat.shares @ clumped) + common**2, common
        usual = _usual_excess(tails, tables, flat.shares, (lows[chosen[0]], highs[chosen[1]]))
    low, high = lows[chosen[0]].reshape(shape), highs[chosen[1]].reshape(shape)
    variance, common = everybody or (0.0, 0.0)
    return Clipping(low, high, (own + shared).reshape(shape), variance - common**2, common)


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
    clumped: Array,
    shares: Array,
    everybody: tuple[float, float] | None,
    is_interval: NDArray[np.bool_],
) -> tuple[Array, Array]:
    """Returns each cell's best low and high, by number; see the module's text on everybody."""
    score = np.log(predicted.own + predicted.shared + 1e-300)
    if everybody is not None:
        variance, common = everybody
        of_everybody = shares[:, None, None] * predicted.own + clumped
        of_everybody += 2 * common * np.sqrt(predicted.shared)
        score += of_everybody / max(variance, 1e-300)
    score = np.where(is_interval, score, np.inf)
    best = score.reshape(len(score), -1).argmin(axis=1)
    low, high = np.unravel_index(best, score.shape[1:])
    return np.asarray(low), np.asarray(high)


def _usual_excess(tails: Tails, tables: Array, shares: Array, ends: tuple[Array, Array]) -> Array:
    """Returns Σ_j q_j l_j below and above the cells' ends, of shape (2, bins)."""
    low, high = ends
    table = shares[:, None] * np.einsum("r,rcb->cb", NODE_WEIGHTS, tables)
    table = table / np.maximum(table.sum(axis=0), 1e-300)
    above, below = sides(tails.bins, (low + high) / 2, (high - low) / 2)
    return np.stack([(table * side.excess).sum(axis=0) for side in (below, above)])


def _predict(
    tails: Tails,
    tables: Array,
    noise: CellNoise,
    ends: tuple[Array, Array],
) -> _Predicted:
    """Returns the predicted variances of every pair of ends.

    Args:
        tails: The estimated distributions.
        tables: Of the cells at `NODES`, of shape (nodes, cells, bins).
        noise: Of these cells, of shape (cells,).
        ends: Candidates of the lower and of the upper end.
    """
    lows, highs = ends
    above = _one_sided(tails, tables, noise.n, highs)
    below = _one_sided(tails.mirror(), tables[..., ::-1], noise.n, -lows)
    mean = tables @ tails.middles  # (nodes, cells)
    centre = (lows[:, None] + highs) / 2
    half = np.maximum((highs - lows[:, None]) / 2, 0.0)
    n = noise.n[:, None, None]
    node = NODE_WEIGHTS[:, None, None]

    def pairs(high: Array, low: Array) -> Array:
        return np.asarray(high[:, None, :] + low[:, :, None])

    excess = (node * above.excess).sum(axis=0)[:, None, :] - (node * below.excess).sum(axis=0)[
        :, :, None
    ]
    mean_now = NODE_WEIGHTS @ mean
    up, down = (side.excess - (node * side.excess).sum(axis=0) for side in (above, below))
    off = mean - mean_now
    variance = pairs((node * up**2).sum(axis=0), (node * down**2).sum(axis=0))
    variance -= 2 * np.einsum("r,rch,rcl->clh", NODE_WEIGHTS, up, down)
    with_mean = pairs((node * up * off[..., None]).sum(axis=0),
                      -(node * down * off[..., None]).sum(axis=0))  # fmt: skip
    of_mean = (NODE_WEIGHTS @ off**2)[:, None, None]
    sum_noise = (half * noise.unit / n) ** 2
    released_variance = np.maximum(of_mean + variance - 2 * with_mean, 0.0) + sum_noise
    left = variance - (with_mean - variance) ** 2 / np.maximum(released_variance, 1e-300)
    own = sum_noise + ((mean_now[:, None, None] - excess - centre) * noise.miscount / n) ** 2
    own += np.maximum(left, 0.0) + pairs(above.own, below.own)
    shared = pairs(above.doubt, below.doubt) ** 2 + pairs(above.histogram, below.histogram)
    return _Predicted(own, shared)


def _predict_clumped(tails: Tails, tables: Array, ends: tuple[Array, Array], usual: Array) -> Array:
    """Returns what everybody's variance grows by with each pair of ends, over the cell's share of
    the rows, of shape (cells, lows, highs).

    Args:
        tails, tables, ends: As `_predict`'s.
        usual: By how much a bin's rows lie beyond their cells' ends on average, below and above.
    """
    lows, highs = ends
    table = np.einsum("r,rcb->cb", NODE_WEIGHTS, tables)

    def variance_beyond(tails: Tails, table: Array, ends: Array, usual: Array) -> Array:
        apart = (excess_above(tails.bins, ends).excess.T - usual[:, None]) ** 2
        return np.asarray((clump_weights(tails.pooled) * table) @ apart)

    above = variance_beyond(tails, table, highs, usual[1])
    below = variance_beyond(tails.mirror(), table[:, ::-1], -lows, usual[0, ::-1])
    return np.asarray(above[:, None, :] + below[:, :, None])


class _Side(NamedTuple):
    """What lies beyond candidates of one end, of shape (cells, ends); `excess` by node first."""

    excess: Array
    own: Array
    doubt: Array
    histogram: Array


def _one_sided(tails: Tails, tables: Array, n: Array, ends: Array) -> _Side:
    """Returns what lies above candidates of the upper end."""
    beyond = excess_above(tails.bins, ends)  # (ends, bins) each
    excess = tables @ beyond.excess.T
    table = np.einsum("r,rcb->cb", NODE_WEIGHTS, tables)
    squares = beyond.excess.T**2
    lost, part = table @ beyond.excess.T, np.clip(table @ beyond.part.T, 1e-300, 1.0)
    doubt = -DOUBT * lost * np.log(part) + tails.hidden_shares @ beyond.excess.T
    histogram = tails.relative_noise * table
    inside = table * (UNEVEN * (tails.bins.highest - tails.bins.lowest))
    beyond_wholly = beyond.part.T == 1.0
    own = table @ squares / n[:, None] + (OWN_TAIL * lost) ** 2
    shared = histogram**2 @ squares + inside**2 @ beyond_wholly
    return _Side(excess, own, doubt, shared)


class Side(NamedTuple):
    """By how much each bin's values lie beyond one end, on average, and which part: (…, bins)."""

    excess: Array
    part: Array


def sides(bins: BinEnds, centre: Array, half: Array) -> tuple[Side, Side]:
    """Returns what lies above c + h, and what below c - h, values being uniform inside a bin.

    Of two bins, [0, 4] and the atom 8, a quarter of the first lies above 3, by 1/2 on average:

    >>> bins = BinEnds(np.array([0.0, 8.0]), np.array([4.0, 8.0]))
    >>> above, _ = sides(bins, np.array([2.0]), np.array([1.0]))
    >>> above.part.tolist(), above.excess.tolist()
    ([[0.25, 1.0]], [[0.125, 5.0]])
    """
    above = excess_above(bins, centre + half)
    below = excess_above(bins.mirror(), half - centre)
    return above, Side(below.excess[..., ::-1], below.part[..., ::-1])


def excess_above(bins: BinEnds, at: Array) -> Side:
    """Returns what lies above ends of shape (…), of shape (…, bins)."""
    top = np.maximum(bins.highest - at[..., None], 0.0)
    bottom = np.maximum(bins.lowest - at[..., None], 0.0)
    width = np.where(bins.atoms, 1.0, bins.highest - bins.lowest)
    is_above = bins.lowest >= at[..., None]
    part = np.where(is_above, np.where(top > 0, 1.0, 0.0), np.where(bins.atoms, 0.0, top / width))
    whole = np.where(part == 1.0, bins.offset, 0.0)
    return Side(part * (top + bottom) / 2 + whole, part)
