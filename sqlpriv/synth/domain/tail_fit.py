"""How many rows lie in each part of a column's tail, where noise is larger than what is there.

The parts beyond the body are wide, few rows are in them, and a count cannot be below 0: kept where
it is positive, noise fills an empty tail, and a hundred rows too many at the far end are several
times a column's standard deviation. So a tail is fitted as a whole: beyond a threshold values are
taken to follow a generalized Pareto distribution (Pickands 1975): the rows beyond each end are the
median over the scales and shapes that the noised counts make likely, the noise's covariance being
known. What is fitted
has no sign of its own: the estimates that it is fitted to are those that may be below 0.
Post-processing of noised histograms alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHARE = 0.05
"""Of all rows, in the tail; more where so few could not be told from noise."""
SURE = 6.0
"""Standard deviations of noise that the tail's rows must be."""
SEEN = 3.0
"""The same, of a tail that lies behind equal values: nothing of the body says that there is one."""
CLUMP = 4.5
"""Standard deviations above the fitted tail from which on a run of parts is no part of it: a heap,
or other values than those of the body. The tail begins with them then. Some thousand runs,
which overlap, are looked at; noise alone passes it in one run of 300,000."""
SHAPES = np.array([-0.5, -0.25, 0.0, 0.15, 0.3, 0.5, 0.75])
"""Of the distribution: below 0 it ends, 0 is exponential, above 0.5 its variance has no end."""
USUAL, SPREAD = 0.1, 0.25
"""Mean and standard deviation of the shapes that are expected before counts are seen."""
SCALES = 48
FLAT = 8.0
"""The largest scale, by the width of the tail: about even."""
LEAST = 0.5
"""Rows beyond a part, below which there are none: a row alone would be drawn anywhere in it."""
LOOSE = 0.5
"""How far the rows of a part are from the fitted ones, as a share of them: what the part's own
count may say beside the fit."""


def fit_upper_tail(ends: Ints, free: Floats, covariance: Floats) -> tuple[int, Floats]:
    """Returns the part at which the tail begins and the rows of the parts from there on.

    Args:
        ends: Of the parts, ascending whole numbers, shape (parts + 1,).
        free: Estimated rows, which may be below 0, shape (parts,).
        covariance: Of the estimates, shape (parts, parts).

    >>> ends = np.array([0, 10, 20, 40, 80, 1000])
    >>> begin, rows = fit_upper_tail(ends, np.array([900.0, 100, 5, -20, 30]), 400 * np.eye(5))
    >>> begin, bool(rows[0] > 800), bool(rows[-1] < 10)
    (0, True, True)
    """
    beyond, spread = _rows_beyond(free, covariance)
    begin = _tail_begin(ends, free, beyond, spread)
    if begin and beyond[begin] < SEEN * spread[begin]:
        return begin, np.zeros(len(free) - begin)
    while True:
        far = (ends[begin:] - ends[begin]).view(np.uint64)  # of an interval of 2^63 numbers, too
        rows = _fit(far.astype(np.float64), free[begin:], covariance[begin:, begin:])
        left, noise = free[begin:] - rows, covariance[begin:, begin:]
        clump = _clump_begin(left, noise)
        if not clump:
            break
        begin += clump
    loose, variance = (LOOSE * rows) ** 2, np.maximum(np.diag(noise), 1e-12)
    return begin, np.maximum(rows + loose / (loose + variance) * left, 0.0)


def _tail_begin(ends: Ints, free: Floats, rows: Floats, spread: Floats) -> int:
    """Returns the last part from which on the rows are SHARE of all and SURE to be there; the part
    after it where most of them are equal values, which say nothing of a tail's scale."""
    enough = np.flatnonzero(rows >= np.maximum(SHARE * max(float(free.sum()), 0.0), SURE * spread))
    begin = int(enough[-1]) if enough.size else 0
    is_atom = ends[begin + 1] - ends[begin] == 1 and free[begin] > rows[begin] / 2
    return begin + 1 if is_atom and begin + 1 < len(free) else begin


def _clump_begin(left: Floats, noise: Floats) -> int:
    """Returns the part at which the run of parts begins, not the first one, that hold most more
    than was fitted, by CLUMP standard deviations at least; 0 where none do.

    Args:
        left: Estimated rows less the fitted ones, shape (parts,).
        noise: Their covariance, shape (parts, parts).
    """
    if len(left) < 2:
        return 0
    sums = np.concatenate([[0.0], np.cumsum(left)])
    both = np.zeros((len(sums), len(sums)))
    both[1:, 1:] = noise.cumsum(axis=0).cumsum(axis=1)
    own = both.diagonal()
    variance = own[None, :] + own[:, None] - 2 * both
    begin, end = np.triu_indices(len(sums), 1)
    inside = begin > 0
    begin, end = begin[inside], end[inside]
    surplus = (sums[end] - sums[begin]) / np.sqrt(np.maximum(variance[begin, end], 1e-12))
    most = int(np.argmax(surplus))
    return int(begin[most]) if surplus[most] > CLUMP else 0


def _rows_beyond(rows: Floats, covariance: Floats) -> tuple[Floats, Floats]:
    """Returns by part the rows of it and of all that follow, and the sum's standard deviation."""
    added = covariance.diagonal() + 2 * np.triu(covariance, 1).sum(axis=1)
    variance = np.cumsum(added[::-1])[::-1]
    return np.cumsum(rows[::-1])[::-1], np.sqrt(np.maximum(variance, 0.0))


def _fit(ends: Floats, free: Floats, covariance: Floats) -> Floats:
    """Returns the rows of the parts: medians, by likelihood, of the rows beyond each end.

    Args:
        ends: Of the parts, from 0 on.
        free, covariance: See `fit_upper_tail`.
    """
    if len(free) < 2:
        return np.maximum(free, 0.0)
    widths = np.diff(ends)
    smallest = max(widths[0] / 4, ends[-1] * 1e-12)
    scales = np.geomspace(smallest, FLAT * ends[-1], SCALES)
    beyond = _survival(ends[None, None, :], scales[:, None, None], SHAPES[None, :, None])
    shares = beyond[..., :-1] - beyond[..., 1:]
    shares = (shares / np.maximum(shares.sum(axis=-1, keepdims=True), 1e-300)).reshape(
        -1, len(free)
    )
    weights = np.linalg.pinv(covariance, hermitian=True)
    precision = ((shares @ weights) * shares).sum(axis=1)
    mass = np.maximum(shares @ (weights @ free) / precision, 0.0)
    gain = mass * (shares @ (weights @ free)) - mass**2 * precision / 2
    prior = -(((SHAPES - USUAL) / SPREAD) ** 2) / 2
    likely = gain + np.tile(prior, SCALES)
    posterior = np.exp(likely - likely.max())
    beyond = mass[:, None] * np.cumsum(shares[:, ::-1], axis=1)[:, ::-1]
    rows = _median(beyond, posterior / posterior.sum())
    rows = np.where(rows >= LEAST, rows, 0.0)
    fitted: Floats = rows - np.append(rows[1:], 0.0)
    return fitted


def _median(values: Floats, weights: Floats) -> Floats:
    """Returns the weighted median of each column, shape (columns,)."""
    order = np.argsort(values, axis=0, kind="stable")
    below = np.cumsum(weights[order], axis=0)
    at = np.argmax(below >= 0.5, axis=0)
    columns = np.arange(values.shape[1])
    medians: Floats = values[order[at, columns], columns]
    return medians


def _survival(values: Floats, scales: Floats, shapes: Floats) -> Floats:
    """Returns the share of a generalized Pareto distribution that lies above these values."""
    flat = np.abs(shapes) < 1e-9
    safe = np.where(flat, 1.0, shapes)
    base = np.maximum(1 + safe * values / scales, 0.0)
    with np.errstate(divide="ignore"):
        beyond: Floats = np.where(flat, np.exp(-values / scales), base ** (-1 / safe))
    return beyond
