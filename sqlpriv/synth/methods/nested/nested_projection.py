"""The nearest nonnegative table, and whole numbers, under what is already known of its parts.

A *block* is one place's table, split over its children: values x of shape (children, cells). Known
are the place's own table (the sum over children, cell by cell) and sometimes the size of each child
(the sum over cells), where that is public. Some cells cannot hold anybody.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import Refused

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
SWEEPS = 2_000
NEAR = 1e-6
"""Dykstra's sweeps at most, and how far, in rows, the last may be from the children's sizes."""


def onto_simplices(values: Floats, totals: Floats, possible: Mask) -> Floats:
    """Returns the nearest nonnegative values whose columns have given sums.

    Args:
        values: Shape (children, cells).
        totals: Of each cell, shape (cells,), nonnegative.
        possible: Which may be above 0, of the values' shape; a cell with none has the total 0.

    Minimises the sum of squared differences: max(v - c, 0) with c by column, found by sorting.
    """
    lowered = np.where(possible, values, -np.inf)
    ordered = -np.sort(-lowered, axis=0)
    count = np.arange(1, len(values) + 1)[:, None]
    running = np.cumsum(np.where(np.isfinite(ordered), ordered, 0.0), axis=0)
    shifts = (running - totals) / count
    inside = np.isfinite(ordered) & (ordered > shifts)
    last = np.maximum(len(values) - 1 - np.argmax(inside[::-1], axis=0), 0)
    shift = shifts[last, np.arange(values.shape[1])]
    projected = np.where(possible, np.maximum(values - shift, 0.0), 0.0)
    sums = projected.sum(axis=0)
    return projected * np.where(sums > 0, totals / np.where(sums > 0, sums, 1.0), 0.0)


def nearest_block(values: Floats, totals: Floats, sizes: Floats | None, possible: Mask) -> Floats:
    """Returns the nearest nonnegative block whose columns have given sums and, where children's
    sizes are public, whose rows have, too.

    With sizes it is a point of a transport polytope, found by Dykstra's alternating projections
    (Boyle and Dykstra 1986), which end at the nearest point of two convex sets.
    """
    if sizes is None:
        return onto_simplices(values, totals, possible)
    x, correction = values, np.zeros_like(values)
    for _ in range(SWEEPS):
        y = onto_simplices(x + correction, totals, possible)
        correction = x + correction - y
        off = sizes - y.sum(axis=1)
        if np.abs(off).max() < NEAR:
            return y
        room = np.maximum(possible.sum(axis=1), 1)
        x = np.where(possible, y + (off / room)[:, None], 0.0)
    return y


def whole_block(
    values: Floats, totals: Floats, sizes: Floats | None, possible: Mask
) -> NDArray[np.int64]:
    """Returns whole numbers near the values, with whole sums kept exactly.

    Each is its value rounded down or up, so that the sum of differences is least. The constraints
    are those of a transport problem, whose matrix is totally unimodular: the relaxed program has a
    whole solution. Without sizes the columns are apart, and largest remainders solve it.

    Raises:
        Refused: No whole numbers meet the sums: public sizes contradict each other or zeros.
    """
    low = np.floor(values + NEAR).astype(np.int64)
    part = np.where(possible, values - low, -1.0)
    missing = np.rint(totals).astype(np.int64) - low.sum(axis=0)
    if sizes is None:
        rank = np.argsort(np.argsort(-part, axis=0, kind="stable"), axis=0, kind="stable")
        if ((missing >= 0) & (missing <= possible.sum(axis=0))).all():
            rounded: NDArray[np.int64] = low + (rank < missing)
            return rounded
    # Every session lists the methods, and scipy.optimize takes a third of a second to load.
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import coo_array

    children, cells = values.shape
    at = np.flatnonzero(possible.ravel())
    child, cell = at // cells, at % cells
    ones, order = np.ones(at.size), np.arange(at.size)
    columns = coo_array((ones, (cell, order)), shape=(cells, at.size)).tocsr()
    limits = [LinearConstraint(columns, totals, totals)]
    if sizes is not None:
        rows = coo_array((ones, (child, order)), shape=(children, at.size)).tocsr()
        limits.append(LinearConstraint(rows, sizes, sizes))
    base = low.ravel()[at]
    for reach in (1, 2, np.inf):
        bounds = Bounds(np.maximum(base - (reach - 1), 0), base + reach)
        cost = 1 - 2 * part.ravel()[at] if reach == 1 else np.ones(at.size) - part.ravel()[at]
        solved = milp(cost, constraints=limits, bounds=bounds, integrality=ones)
        if solved.x is not None:
            whole = np.zeros(children * cells, dtype=np.int64)
            whole[at] = np.rint(solved.x)
            return whole.reshape(children, cells)
    raise Refused(
        "no table of whole numbers meets the invariants",
        hint="sizes of places add up to those above them, and zeros leave a cell to each",
    )
