"""The slowest tails that a noised histogram allows: what an interval has to count on.

`pooled_histogram` says which tail is likely. Where the noise hides the tail, many others are as
likely, and a mean's error is as large as what the slowest of them holds beyond the clipping ends.
Far out, the distances of values from a threshold u are distributed as (Balkema and de Haan 1974,
Pickands 1975: the generalised Pareto distribution)

    P(x - u > d) = (1 + ξ d / s)^(-1/ξ),       s > 0

for most distributions that have a name: ξ < 0 ends somewhere, 0 is exponential, a power law x^-α
has ξ = 1/α. Its variance is finite for ξ < 1/2 and its mean for ξ < 1. A tail begins at the last
bin that holds more rows than the next one inwards, among those that stand out of the noise, so that
it goes on from what is seen: no tail of few rows begins where the counts have fallen to nothing.
A mass of equal values beside or inside a tail that is seen tells nothing of it.
The family is what distributions come to far out: the further inwards a bin, the less it tells. Of
each ξ and s the number of rows is fitted to the noised counts. In its first bin, where it begins
somewhere inside, a tail may have more rows than there are, but not fewer. At the declared end,
where values pile up and what lies beyond is clamped, it may have fewer rows, but not more.

Each tail is believed as likely as the noised counts are with it, times exp(-ξ PRIOR_FALL) before:
where noise hides everything that is what is left, and a heavy tail in one of seven columns. What a
mean may lose beyond an end is a quantile of that belief: of `COUNTED` in the interval. Where a
tail without a finite variance is at least as likely as `HEAVY` by what the counts say, every ξ is
as likely as any other before. If what the slowest tails may hold is far more than the interval
counts on, that is said (`hidden_clumps`, `interval_notes`).
Before, the interval counted on the slowest tail of all that fitted, and was two to three times as
long on 1,000 values with ends (bimodal, heavy negative). Rows beyond a gap are no tail: see
`hidden_clumps`.

Its constants stand in `tail_constants`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds
from sqlpriv.answer.rounds.histogram.pooled_histogram import without_masses
from sqlpriv.answer.rounds.histogram.tail_constants import (
    COARSE,
    FINE,
    FIRST_MISFIT,
    HEAVY,
    INNER_MISFIT,
    OUTLYING,
    PRIOR_FALL,
    SCATTER,
    STANDS_OUT,
    TAIL_MISFIT,
)
from sqlpriv.plan.pricing.tuned_constants import PARTS

EXPONENTIAL = 1e-6
SLOWNESS = np.array([-0.3, -0.1, EXPONENTIAL, *(np.arange(2, 19) / 20)])
"""ξ: a finite variance up to 1/2, and a finite mean up to 1."""
SCALES, FINITE = 40, 0.5
NEGLIGIBLE = 1e-3
"""The least belief in a tail, by that in the likeliest, that is kept."""


class SlowTails(NamedTuple):
    """Tails that go on from what the counts show.

    Args:
        shares: By how many more of all rows than estimated lie in each bin, of shape (tails,
            bins); 0 in visible bins, of which the counts themselves tell.
        belief: How likely each tail is, adding up to 1, of shape (tails,).
        heavy: The belief in a tail without a finite variance.
        rows: Noised count of all.
    """

    shares: Array
    belief: Array
    heavy: float = 0.0
    rows: float = np.inf


class BothSlowTails(NamedTuple):
    """The tails above the bulk of the rows, and below it."""

    above: SlowTails
    below: SlowTails


def no_tails(bins: int) -> BothSlowTails:
    """Returns that nothing is allowed for, of a number of bins."""
    none = SlowTails(np.zeros((0, bins)), np.zeros(0))
    return BothSlowTails(none, none)


def slow_tails(
    counts: Array,
    merged: Array,
    is_visible: NDArray[np.bool_],
    bins: BinEnds,
    rows: float,
    noise: tuple[float, float],
    estimated: Array,
) -> BothSlowTails:
    """Returns the tails on both sides; see the module's text.

    Args:
        counts: Noised, of shape (bins,).
        merged: The same, bins that differ by no more than noise made equal.
        is_visible: Which bins stand out of the noise.
        bins: Their ends.
        rows: Noised count of all.
        noise: Standard deviations, of a bin's count and of `rows`.
        estimated: Which part of all rows is thought to be in each bin.
    """
    below = _one_side(
        counts[::-1], merged[::-1], is_visible[::-1], bins.mirror(), rows, noise, estimated[::-1]
    )
    above = _one_side(counts, merged, is_visible, bins, rows, noise, estimated)
    return BothSlowTails(above, below._replace(shares=below.shares[:, ::-1]))


def _one_side(
    counts: Array,
    merged: Array,
    is_visible: NDArray[np.bool_],
    bins: BinEnds,
    rows: float,
    noise: tuple[float, float],
    estimated: Array,
) -> SlowTails:
    """Returns the tails above; the arguments are those of `slow_tails`."""
    sigma, of_rows = noise
    is_end = np.arange(counts.size) == counts.size - 1
    open_bins = np.flatnonzero(~bins.special | is_end)
    bare, masses = merged.copy(), np.zeros(counts.size, bool)
    bare[open_bins], masses[open_bins] = without_masses(merged[open_bins], is_visible[open_bins])
    visible_bins = np.flatnonzero(is_visible & ~masses & ~(is_end & bins.special))
    if not visible_bins.size or rows <= 0 or open_bins.size < 2:
        return no_tails(counts.size).above
    last, part = visible_bins[-1], np.ones(open_bins.size, bool)
    missing: tuple[float, float] | None = None
    if bins.special[last]:  # an atom, from which no tail goes on: the rows that it leaves are told
        part = open_bins > last
        inside = is_visible[: last + 1]
        missing = (
            rows - float(counts[: last + 1][inside].sum()),
            float(np.hypot(of_rows, sigma * inside.sum() ** 0.5)),
        )
    else:
        first = int(np.searchsorted(open_bins, last))
        while first > 0 and bare[open_bins[first - 1]] >= bare[open_bins[first]]:
            first -= 1
        part = np.arange(open_bins.size) >= first
    at = open_bins[part]
    if at.size < 2:
        return no_tails(counts.size).above
    counts = np.where(masses, bare, counts)
    fitted, misfits, slowness = _fit(counts[at], bare[at], ~masses[at], bins, at, sigma, missing)
    is_heavy = slowness > FINITE
    belief = _belief(misfits, PRIOR_FALL * np.maximum(slowness, 0.0))
    heavy = float(belief[is_heavy].sum())
    if heavy >= HEAVY:
        belief = _belief(misfits, 0.0)
    is_kept = belief > NEGLIGIBLE * belief.max()
    belief = belief[is_kept] / belief[is_kept].sum()
    shares = np.zeros((belief.size, counts.size))
    shares[:, at] = np.where(is_visible[at], 0.0, fitted[is_kept] / rows - estimated[at])
    return SlowTails(shares, belief, heavy, rows)


def _belief(misfits: Array, reluctance: Array | float) -> Array:
    """Returns how likely each tail is, adding up to 1."""
    fit = -misfits / 2 - reluctance
    belief = np.exp(fit - fit.max())
    return np.asarray(belief / belief.sum())


def _fit(
    counts: Array,
    merged: Array,
    is_tail: NDArray[np.bool_],
    bins: BinEnds,
    at: NDArray[np.intp],
    sigma: float,
    missing: tuple[float, float] | None,
) -> tuple[Array, Array, Array]:
    """Returns rows in each bin for each ξ and s, squared misfits, and ξ, of shape (tails, …).

    Args:
        counts, merged: Of the tail's bins.
        is_tail: Which of these bins tell of the tail: masses of equal values do not.
        bins, at: All bins' ends, and which are the tail's.
        sigma: Standard deviation of a count's noise.
        missing: How many rows no bin before shows, and the standard deviation; None where the tail
            goes on from a bin that is seen.
    """
    lowest, highest = bins.lowest[at], bins.highest[at]
    middle = min(max(0.0, float(bins.lowest[0])), float(bins.highest[-1]))
    is_coarse = abs(lowest[0] - middle) < highest[0] - lowest[0]
    table, slowness = _parts_of_bins(
        np.asarray(lowest, float).tobytes(),
        np.asarray(highest, float).tobytes(),
        COARSE if is_coarse else FINE,
        COARSE,
    )
    visible_rows = np.maximum(merged, 0.0)
    misfit = TAIL_MISFIT + INNER_MISFIT * _doublings_inside(visible_rows > STANDS_OUT * sigma)
    if missing is None:
        misfit[0] = max(FIRST_MISFIT, misfit[0])
    weight = is_tail / (sigma**2 + visible_rows + (misfit * visible_rows) ** 2 + 1e-300)
    limit = np.maximum(visible_rows, OUTLYING * sigma)
    cut_counts = np.clip(counts, -OUTLYING * sigma, limit)
    hidden, of_hidden = missing or (0.0, np.inf)
    squares = table**2

    def fit_rows(weight: Array) -> Array:
        weight = np.where(bins.atoms[at], 0.0, weight)
        along = table @ (weight * cut_counts) + hidden / of_hidden**2
        return np.asarray(
            np.maximum(along / np.maximum(squares @ weight + of_hidden**-2.0, 1e-300), 0.0)
        )

    rows = fit_rows(weight)
    if missing is None:
        of_others = fit_rows(np.append(0.0, weight[1:]))
        rows = np.where(of_others * table[:, 0] > cut_counts[0], of_others, rows)
    fitted = rows[:, None] * table
    apart = cut_counts - fitted
    if missing is None:
        apart[:, 0] = np.maximum(apart[:, 0], 0.0)
    if bins.atoms[at[-1]]:
        apart[:, -1] = np.minimum(apart[:, -1], 0.0)
    misfits = apart**2 @ weight + ((rows - hidden) / of_hidden) ** 2
    return fitted, misfits, slowness


def _doublings_inside(is_seen: NDArray[np.bool_]) -> Array:
    """Returns how far bins lie inwards from the last one that is seen, in doublings of x.

    >>> _doublings_inside(np.array([True, True, True, True, True, False])).tolist()
    [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """
    last = int(np.flatnonzero(is_seen)[-1]) if is_seen.any() else 0
    return np.asarray(np.maximum(last - np.arange(is_seen.size), 0) / PARTS)


@lru_cache(64)
def _parts_of_bins(
    lowest: bytes, highest: bytes, finest: float, coarsest: float
) -> tuple[Array, Array]:
    """Returns `_tail_parts` of ends, as the bytes of doubles: a column has a few, and logarithms
    are half of what its tails take."""
    return _tail_parts(np.frombuffer(lowest), np.frombuffer(highest), finest, coarsest)


def _tail_parts(
    lowest: Array, highest: Array, finest: float = FINE, coarsest: float = COARSE
) -> tuple[Array, Array]:
    """Returns which part of a tail is in each bin, of shape (tails, bins), and each tail's ξ.

    What lies beyond the start of the last bin is in it.

    >>> table, slowness = _tail_parts(np.array([0.0, 1.0, 3.0]), np.array([1.0, 3.0, 9.0]))
    >>> bool(np.allclose(table.sum(axis=1), 1)), table.shape == (slowness.size, 3)
    (True, True)
    """
    near, far = lowest - lowest[0], highest - lowest[0]
    of_power_laws, of_others = (  # a bin may be of one whole number
        np.geomspace(near[1] / part, far[-1], SCALES) for part in (finest, coarsest)
    )
    is_power_law = SLOWNESS[:, None] > EXPONENTIAL
    scale = np.where(is_power_law, of_power_laws, of_others).ravel()
    slowness = np.repeat(SLOWNESS, SCALES)
    ends = np.append(near, far[-1])
    inside = np.maximum(1 + (slowness / scale)[:, None] * ends, 1e-300)
    beyond = np.exp(-np.log(inside) / slowness[:, None])
    beyond[:, -1] = 0.0
    return np.maximum(-np.diff(beyond, axis=1), 0.0), slowness


def believed_beyond(tails: SlowTails, excess: Array, part: float) -> Array:
    """Returns what the tails hold beyond an end, more than estimated: a quantile, of shape (…).

    It is 0 where no tail holds more. A tail of few rows holds what these happen to be, which varies
    by the square root of their squares' sum over the number of all rows; `SCATTER` such deviations
    are what it may hold besides.

    Args:
        tails: On one side.
        excess: By how much each bin's rows lie beyond the end, of shape (…, bins).
        part: Of the belief, which is in tails that hold no more.

    >>> tails = SlowTails(np.array([[0.0], [0.1], [0.3]]), np.array([0.5, 0.4, 0.1]))
    >>> [believed_beyond(tails, np.array([10.0]), part).item() for part in (0.5, 0.8, 0.95)]
    [0.0, 1.0, 3.0]
    """
    if not tails.belief.size:
        return np.zeros(excess.shape[:-1])
    held = np.maximum(excess @ tails.shares.T, 0.0)
    squares = np.maximum(excess**2 @ np.maximum(tails.shares, 0.0).T, 0.0)
    held = np.sqrt(held**2 + SCATTER**2 * squares / tails.rows)
    order = held.argsort(axis=-1)
    up_to = tails.belief[order].cumsum(axis=-1)
    at = np.minimum((up_to < part - 1e-9).sum(axis=-1), tails.belief.size - 1)[..., None]
    ranked = np.take_along_axis(order, at, axis=-1)
    return np.asarray(np.take_along_axis(held, ranked, axis=-1)[..., 0])
