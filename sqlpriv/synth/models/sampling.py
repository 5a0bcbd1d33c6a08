"""From a model to rows: down the tree, by rounded counts, spread evenly inside parent cells.

All of this is post-processing of released numbers: it needs no budget, and its randomness no
secrecy. A column's counts under each parent level are rounded at random (unbiased, never more than
one off), which is less noisy than drawing each row by itself.

The rows of a parent level are dealt out in an order of chance: dealt in order, the children of one
parent would all start with their first levels in the same rows and be comonotone. But chance makes
columns that are independent given their parents depend on each other, by some root of the rows in
every cell, which of 10,000 rows is as much as noise at epsilon = 1. So the rows of a parent level
are sorted by the columns that were drawn before, as many as make cells of about a row, in another
order each time; and of a level that has n rows, one stands at random in every n-th of that order
(stratified sampling). Any run of the order, such as the rows of one level of the first column, has
every level as often as its rows say, but for a row or two at its ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.models.tree_model import TreeModel

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
MOST_SPREAD = 1_000_000
"""Rows whose levels are spread over columns that were drawn before: of more, chance is nothing
beside noise, and sorting them takes long."""
CELLS_A_ROW = 4
"""Cells of the columns by which rows are sorted, at most about, for each row: many are empty."""


def round_systematically(expected: Floats, totals: Codes, rng: np.random.Generator) -> Codes:
    """Returns whole counts, shape (groups, levels), each row adding up to its total.

    Systematic rounding: level j of a row scaled to its total T gets floor(C_j + u) -
    floor(C_{j-1} + u) with C the running sum and u uniform, which has the scaled count for its
    mean and is within one of it. A row without mass is spread evenly.
    """
    mass = expected.sum(axis=1, keepdims=True)
    shares = np.where(mass > 0, expected / np.where(mass > 0, mass, 1.0), 1 / expected.shape[1])
    running = np.cumsum(shares, axis=1) * totals[:, None]
    running[:, -1] = totals
    ends = np.floor(running + rng.random((len(totals), 1))).astype(np.int64)
    ends[:, -1] = totals  # u < 1 leaves it there but for rounding
    ends = np.maximum.accumulate(np.minimum(ends, totals[:, None]), axis=1)
    return np.diff(ends, axis=1, prepend=0)


def dealt(
    parents: Codes, expected: Floats, rng: np.random.Generator, earlier: Sequence[Codes] = ()
) -> Codes:
    """Returns a level for each row, given the level of its parent.

    Args:
        parents: Shape (rows,): numbers of rows of `expected`.
        expected: Shape (levels of the parent, levels): counts or shares.
        rng: Any generator.
        earlier: Levels of columns that were drawn before, each of shape (rows,): of which the new
            one is independent given the parent, as nearly as whole rows can be.
    """
    groups, levels = expected.shape
    held = round_systematically(expected, np.bincount(parents, minlength=groups), rng).ravel()
    sequence = np.repeat(np.tile(np.arange(levels), groups), held)
    shuffled = rng.permutation(parents.size)
    key = parents[shuffled]
    if earlier and parents.size <= MOST_SPREAD:
        place = np.arange(parents.size) - np.repeat(np.cumsum(held) - held, held)
        at = (place + rng.random(parents.size)) / np.repeat(held, held)
        sequence = sequence[np.lexsort((at, np.repeat(np.arange(held.size) // levels, held)))]
        key = _nested_key(key, [codes[shuffled] for codes in earlier], rng)
    by_parent = shuffled[np.argsort(key, kind="stable")]
    result = np.empty(parents.size, dtype=np.int64)
    result[by_parent] = sequence
    return result


def _nested_key(parents: Codes, earlier: Sequence[Codes], rng: np.random.Generator) -> Codes:
    """Returns numbers that sort rows by parent, then by the first of the earlier columns in a
    random order, and so on while cells have more than about a row."""
    key, cells = parents, int(parents.max(initial=0)) + 1
    for i in rng.permutation(len(earlier)).tolist():
        if cells > CELLS_A_ROW * len(key):
            break
        levels = int(earlier[i].max(initial=0)) + 1
        key, cells = key * levels + rng.permutation(levels)[earlier[i]], cells * levels
    return key


def draw(model: TreeModel, rows: int, rng: np.random.Generator) -> dict[int, Codes]:
    """Returns the levels of every column of the model, shape (rows,) each."""
    drawn: dict[int, Codes] = {}
    for column in model.forest.order:
        above = model.forest.parent[column]
        table = model.tables[column]
        earlier = [codes for other, codes in drawn.items() if other != above]
        if above is None:
            drawn[column] = dealt(np.zeros(rows, dtype=np.int64), table[None, :], rng, earlier)
        else:
            drawn[column] = dealt(drawn[above], table, rng, earlier)
    return drawn


def strata_rows(
    totals: Sequence[float], rows: int, weights: Floats | None, rng: np.random.Generator
) -> Codes:
    """Returns how many rows to draw in each stratum; public weights are met as nearly as whole
    numbers can, exactly where they come to whole numbers.

    Args:
        totals: The noised sizes of the strata; negative ones count as 0.
        rows: How many in all.
        weights: Shares of the strata, nonnegative and not all 0; None for shares by size.
        rng: Any generator.
    """
    if weights is not None:
        return apportion(weights, rows)
    sizes = np.maximum(np.asarray(totals, dtype=np.float64), 0.0)
    counts: Codes = round_systematically(sizes[None, :], np.array([rows]), rng)[0]
    return counts


def apportion(weights: Floats, rows: int) -> Codes:
    """Returns whole numbers in proportion to weights that add up to `rows`, by largest remainders:
    each is its share rounded down or up. Computed in exact fractions."""
    exact = [Fraction(w) for w in np.asarray(weights, dtype=np.float64).tolist()]
    shares = [rows * w / sum(exact) for w in exact]
    counts = [int(share) for share in shares]
    order = sorted(range(len(shares)), key=lambda i: (counts[i] - shares[i], i))
    for i in order[: rows - sum(counts)]:
        counts[i] += 1
    return np.array(counts, dtype=np.int64)
