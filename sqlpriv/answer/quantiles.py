"""Quantiles and modes out of releases: levels that the kernel chose, or a noised histogram.

A cell whose noised count of values is not above 0 has no quantile: it is NULL, as over no rows.

Half-widths are unknown: how far the neighbouring ranks lie apart is itself private.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.rewrites import Recipe

Array = NDArray[np.float64]


def cells(recipe: Recipe, releases: Mapping[Asked, Release]) -> list[Any]:
    """Returns the value of every cell, row-major: (strata, key 1, key 2, …)."""
    if recipe.level is not None:
        present = _size(recipe, releases) > 0
        return _values(recipe, releases[recipe.level].values, present)
    counts = _histogram(recipe, releases)
    return _values(recipe, best(recipe, counts), counts.sum(axis=-1) > 0)


def population(
    recipe: Recipe, releases: Mapping[Asked, Release], weights: Array | None
) -> list[Any]:
    """Returns the value over all strata, row-major: (key 1, key 2, …).

    With public weights, shape (strata,), the strata's histograms are brought to those shares.
    """
    if recipe.whole is not None:
        present = _size(recipe, releases).sum(axis=0) > 0
        return _values(recipe, releases[recipe.whole].values, present)
    counts = _histogram(recipe, releases)
    if weights is not None:
        shares = weights.reshape(-1, *([1] * (counts.ndim - 1)))
        size = counts.sum(axis=-1, keepdims=True)
        counts = np.where(size > 0, shares * counts / np.where(size > 0, size, 1.0), 0.0)
    total = counts.sum(axis=0)
    return _values(recipe, best(recipe, total), total.sum(axis=-1) > 0)


def best(recipe: Recipe, counts: Array) -> NDArray[np.intp]:
    """Returns the position of the best level: the score of `kernel.sensitivity.level_scores`."""
    if recipe.rank is None:
        return np.asarray(counts.argmax(axis=-1))
    q = recipe.rank[0] / recipe.rank[1]
    up_to = counts.cumsum(axis=-1)
    total = up_to[..., -1:]
    over = np.maximum((up_to - counts) - q * total, q * total - up_to)
    return np.asarray(over.argmin(axis=-1))


def _histogram(recipe: Recipe, releases: Mapping[Asked, Release]) -> Array:
    assert recipe.count is not None  # as `plan.levels.chosen` sees to
    return releases[recipe.count].values


def _size(recipe: Recipe, releases: Mapping[Asked, Release]) -> Array:
    """Returns the noised counts of values, of shape (strata, key 1, key 2, …)."""
    assert recipe.size is not None  # as `rewrites.expand_level` sees to
    return releases[recipe.size].values


def _values(recipe: Recipe, positions: NDArray[Any], present: NDArray[np.bool_]) -> list[Any]:
    """Returns the levels' values; None where the noised count says that there is no row."""
    cells = zip(positions.ravel(), np.asarray(present).ravel(), strict=True)
    return [recipe.values[int(position)] if any_row else None for position, any_row in cells]
