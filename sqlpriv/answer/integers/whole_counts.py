"""`OPTIONS (integers = true)`: counts of a ROLLUP that are whole, not negative, and add up.

The census' TopDown (Abowd et al. 2022, arXiv:2204.08986) for an answer: the total first, then each
level under the one above it. The cells of a parent are the nearest nonnegative numbers, in squared
distance, that add up to its whole count; then the largest remainders are rounded up. Combinations
that no public table has stay empty. Post-processing of releases: free, and so is the statement
without the option, whose figures are unbiased.

**What it costs.** A figure that cannot be below 0 is too large on average where there is less than
noise: cells smaller than sigma come out biased up, and, as the total is kept, large ones down.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.plan import GroupingSet, Output

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]


def make_counts_whole(output: Output, noised: Mapping[Recipe, Array]) -> dict[Recipe, Array]:
    """Returns whole counts that add up over the levels.

    Args:
        output: Of a chain of marginals, each of which has the keys of the one before; see
            `plan.grouping_sets`.
        noised: By recipe of a count, of each key's values, already made to agree.
    """
    levels = sorted(output.marginals, key=lambda marginal: len(marginal.keys))
    possible = _possible_cells(output, levels[-1])
    whole: dict[Recipe, Array] = {}
    for number, recipe in enumerate(levels[0].recipes):
        if recipe not in noised:
            continue
        parent: tuple[tuple[int, ...], Array] | None = None
        for level in levels:
            below = level.recipes[number]
            counts = _split(parent, level.keys, noised[below], _sum_out(possible, levels, level))
            whole[below] = counts
            parent = level.keys, counts
    return whole


def bias_note(noised: Array, whole: Array, sigma: float) -> str:
    """Returns what the small cells of the finest level hold here, beside the unbiased figures; ''
    where there are none.

    Args:
        noised: Unbiased counts.
        whole: The same cells, whole.
        sigma: The noise of an unbiased count.
    """
    small = noised < sigma
    if not small.any():
        return ""
    here, unbiased = float(whole[small].sum()), float(noised[small].sum())
    return (
        f"whole numbers are biased: {int(small.sum())} cells whose noised count is below"
        f" {sigma:.1f}, the noise of one, hold {here:.0f} rows here and {unbiased:.0f} by unbiased"
        " figures; the same statement without integers gives those, for nothing"
    )


def nearest_parts(values: Array, totals: Array, possible: Mask) -> Array:
    """Returns the nearest nonnegative numbers whose rows have given sums.

    Args:
        values: Shape (rows, parts).
        totals: Of each row, nonnegative; 0 where no part is possible.
        possible: Which parts may be above 0, of the values' shape.

    >>> nearest_parts(np.array([[5.0, -3, 2]]), np.array([5.0]), np.ones((1, 3), bool)).tolist()
    [[4.0, 0.0, 1.0]]
    """
    open_values = np.where(possible, values, -np.inf)
    ordered = -np.sort(-open_values, axis=1)
    is_possible = np.isfinite(ordered)
    running = np.cumsum(np.where(is_possible, ordered, 0.0), axis=1)
    shifts = (running - totals[:, None]) / np.arange(1, values.shape[1] + 1)
    above = is_possible & (ordered > shifts)
    last = values.shape[1] - 1 - np.argmax(above[:, ::-1], axis=1)
    shift = shifts[np.arange(len(values)), last]
    parts: Array = np.where(possible, np.maximum(values - shift[:, None], 0.0), 0.0)
    kept: Array = np.where(totals[:, None] > 0, parts, 0.0)
    return kept


def round_parts(parts: Array, totals: Array) -> Array:
    """Returns whole numbers with the totals' sums: rounded down, the largest remainders up.

    >>> round_parts(np.array([[1.4, 0.0, 2.6]]), np.array([4.0])).tolist()
    [[1.0, 0.0, 3.0]]
    """
    low: Array = np.floor(parts + 1e-9)
    missing = totals - low.sum(axis=1)
    rank = np.argsort(np.argsort(low - parts, axis=1, kind="stable"), axis=1, kind="stable")
    low += rank < missing[:, None]
    return low


def _split(
    parent: tuple[tuple[int, ...], Array] | None, keys: tuple[int, ...], noised: Array, open_: Mask
) -> Array:
    """Returns a level's whole counts, under those of the level above, of which `parent` has the
    keys and the counts; None at the top, whose own sum is the total."""
    if parent is None:
        parent = (), np.asarray(max(float(np.rint(np.where(open_, noised, 0.0).sum())), 0.0))
    above, totals = parent
    if not keys:
        return totals
    order = [keys.index(k) for k in above] + [i for i, k in enumerate(keys) if k not in above]
    shape = tuple(noised.shape[i] for i in order)
    rows = math.prod(shape[: len(above)])
    values = noised.transpose(order).reshape(rows, -1)
    possible = open_.transpose(order).reshape(rows, -1)
    flat = totals.reshape(rows)
    whole = round_parts(nearest_parts(values, flat, possible), flat).reshape(shape)
    return whole.transpose(np.argsort(order))


def _possible_cells(output: Output, finest: GroupingSet) -> Mask:
    """Returns which cells of the finest level may hold rows, by the rows of public tables."""
    sizes = [len(output.groups[k].values) for k in finest.keys]
    possible = np.ones(sizes, dtype=np.bool_)
    for places, rows in output.existing:
        at = [finest.keys.index(place) for place in places if place in finest.keys]
        kept = {
            tuple(row[n] for n, place in enumerate(places) if place in finest.keys) for row in rows
        }
        values = [output.groups[finest.keys[axis]].values for axis in at]
        listed = np.array([cell in kept for cell in itertools.product(*values)], dtype=np.bool_)
        table = listed.reshape([sizes[axis] for axis in at])
        order = np.argsort(at)
        shape = [sizes[axis] if axis in at else 1 for axis in range(len(sizes))]
        possible &= table.transpose(order).reshape(shape)
    return possible


def _sum_out(possible: Mask, levels: list[GroupingSet], level: GroupingSet) -> Mask:
    """Returns which cells of a coarser level have a possible one below."""
    over = tuple(i for i, key in enumerate(levels[-1].keys) if key not in level.keys)
    return np.asarray(possible.any(axis=over))
