"""Rows that are weighted, and drawn, so that their one-way tables are given ones (raking: iterative
proportional fitting of weights, Deming and Stephan 1940)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.inference.one_way_tables import Floats

SWEEPS = 12
"""Of iterative proportional fitting."""
BALANCING = 2
HEAVIEST = 20.0
"""The weight of a row at most, the mean being 1: a level of few drawn rows is not to be met by
copies of one row."""


def raked_weights(
    levels: NDArray[np.int64], targets: Mapping[int, Floats], initial_weights: Floats | None = None
) -> Floats:
    """Returns weights that add up to 1, with which the rows' one-way shares are the targets' as
    nearly as rows of HEAVIEST weight at most can make them.

    Args:
        levels: Of the rows, shape (rows, columns).
        targets: By column, the shares of its levels.
        initial_weights: What they are before, which adds up to 1; None for even ones.

    >>> rows = np.array([[0], [0], [0], [1]])
    >>> raked_weights(rows, {0: np.array([0.5, 0.5])}).round(3).tolist()
    [0.167, 0.167, 0.167, 0.5]
    """
    if initial_weights is None:
        initial_weights = np.full(len(levels), 1 / len(levels))
    weights = initial_weights
    for _ in range(SWEEPS if targets else 0):
        for column, shares in targets.items():
            now = np.bincount(levels[:, column], weights, minlength=len(shares))
            times = np.where(now > 0, shares / np.maximum(now, 1e-300), 0.0)
            weights = weights * times[levels[:, column]]
            whole = float(weights.sum())
            if whole <= 0:
                return initial_weights
            weights = np.minimum(weights / whole, HEAVIEST / len(levels))
    return weights / float(weights.sum())


def balance_margins(
    levels: NDArray[np.int64], weights: Floats, at: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Returns a sample of rows whose one-way tables are nearer to those of all rows by weight.

    Column by column, rows of levels that came too often give way to rows of the pool that have a
    level that came too seldom (GUM's duplicating: Zhang et al. 2021, arXiv:2012.15128). Whole rows
    are exchanged, so what columns have to do with one another stays. A sample of n rows has chances
    of sqrt(n) in every level, which beside the noise of n = 7,000 rows at epsilon = 1 are as large
    as that; BALANCING sweeps leave about a tenth of them.

    Args:
        levels: Of all rows, shape (rows, columns).
        weights: Of all rows; they add up to 1.
        at: Row numbers of the sample, in any order.
        rng: For rows of a level.
    """
    sample = at.copy()
    for _ in range(BALANCING if len(sample) else 0):
        for column in levels.T:
            length = int(column.max()) + 1
            wanted = np.bincount(column, weights, minlength=length) * len(sample)
            excess = np.bincount(column[sample], minlength=length) - wanted
            order = rng.permutation(len(sample))
            mine = column[sample[order]]
            sorted_rows = order[np.argsort(mine, kind="stable")]
            starts = np.searchsorted(np.sort(mine), np.arange(length))
            surplus = np.floor(np.maximum(excess, 0.0)).astype(np.int64)
            leaving = np.concatenate(
                [
                    sorted_rows[b : b + n]
                    for b, n in zip(starts.tolist(), surplus.tolist(), strict=True)
                ]
            )
            scarce = (
                np.maximum(-excess, 0.0)[column] / np.maximum(wanted / len(sample), 1e-300)[column]
            )
            ends = np.cumsum(weights * scarce)
            if leaving.size and ends[-1] > 0:
                points = (np.arange(leaving.size) + rng.random()) * (ends[-1] / leaving.size)
                new = np.searchsorted(ends, points, side="right")
                sample[leaving] = np.minimum(new, len(column) - 1)
    return sample
