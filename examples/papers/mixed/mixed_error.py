"""Errors of queries over categories and numbers by a target: CM, MM and LT.

Vietri et al. 2022, "Private Synthetic Data for Multitask Learning and Marginal Queries"
(arXiv:2209.07400), section 5.1. With C the categories, R the numbers and L the targets:

- CM, class-conditional marginals: the tables of two columns of C by one of L;
- MM, mixed marginals: how many rows lie below thresholds of two columns of R, by one of L;
- LT, linear thresholds: how many rows lie above a threshold of a random linear form of R, by one
  of L.

The paper draws 200,000 random queries of each of the last two kinds. Here MM's thresholds are a
grid of quantiles of the private rows, so that nothing is random, and one direction of LT serves
many thresholds. Numbers are standardised by the private rows: for the owner's eyes alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
THRESHOLDS = 32
"""Of a column in MM; a pair has as many squared."""
DIRECTIONS = 200
"""Of LT, each with THRESHOLDS thresholds."""


@dataclass(frozen=True, eq=False)
class MixedTable:
    """Rows of a table, by column: all arrays have shape (rows,).

    Args:
        categories, targets: Level numbers, counted from 0 in both tables alike.
        numbers: Values, NULL being the lower end of the column's domain.
    """

    categories: Mapping[str, Ints]
    numbers: Mapping[str, Floats]
    targets: Mapping[str, Ints]


@dataclass(frozen=True)
class MixedError:
    """Mean errors in shares of the rows; NaN where there are no such queries.

    Attributes:
        cm: Mean over tables of half the L1 distance (total variation).
        mm: Mean over queries of the absolute difference.
        lt: The same.
    """

    cm: float
    mm: float
    lt: float


def mixed_error(real: MixedTable, synthetic: MixedTable, seed: int = 0) -> MixedError:
    """Returns the three errors.

    Args:
        real, synthetic: With the same columns.
        seed: Of the directions and thresholds of LT.

    Raises:
        DataError: One of the tables has no row, or there is no target.
    """
    if not real.targets:
        raise DataError("errors by a target need one target column at least")
    if not all(len(next(iter(t.targets.values()))) for t in (real, synthetic)):
        raise DataError("a table has no rows to compare")
    return MixedError(
        _marginal_error(real, synthetic),
        _threshold_error(real, synthetic),
        _linear_error(real, synthetic, np.random.default_rng(seed)),
    )


def _mean(errors: Sequence[float]) -> float:
    return float(np.mean(errors)) if errors else float("nan")


def _marginal_error(real: MixedTable, synthetic: MixedTable) -> float:
    errors = []
    for target in real.targets:
        for pair in itertools.combinations(real.categories, 2):
            columns = [
                (t.categories[pair[0]], t.categories[pair[1]], t.targets[target])
                for t in (real, synthetic)
            ]
            shape = [int(max(a.max(), b.max())) + 1 for a, b in zip(*columns, strict=True)]
            tables = [_shares(np.ravel_multi_index(c, shape), int(np.prod(shape))) for c in columns]
            errors.append(float(np.abs(tables[0] - tables[1]).sum() / 2))
    return _mean(errors)


def _threshold_error(real: MixedTable, synthetic: MixedTable) -> float:
    at = np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1)
    errors = []
    for target, left, right in (
        (t, *pair) for t in real.targets for pair in itertools.combinations(real.numbers, 2)
    ):
        edges = [np.quantile(real.numbers[c], at, method="inverted_cdf") for c in (left, right)]
        sizes = THRESHOLDS + 1, THRESHOLDS + 1, _levels(real, synthetic, target)
        running = []
        for table in (real, synthetic):
            cells = [
                np.searchsorted(e, table.numbers[c], side="left")
                for c, e in zip((left, right), edges, strict=True)
            ]
            number = np.ravel_multi_index((*cells, table.targets[target]), sizes)
            counts = _shares(number, int(np.prod(sizes))).reshape(sizes)
            running.append(counts.cumsum(axis=0).cumsum(axis=1)[:-1, :-1])
        errors.append(float(np.abs(running[0] - running[1]).mean()))
    return _mean(errors)


def _linear_error(real: MixedTable, synthetic: MixedTable, rng: np.random.Generator) -> float:
    names = [c for c, x in real.numbers.items() if x.std() > 0]
    if not names:
        return float("nan")
    standard = []
    for table in (real, synthetic):
        columns = [
            (table.numbers[c] - real.numbers[c].mean()) / real.numbers[c].std() for c in names
        ]
        standard.append(np.stack(columns, axis=1))
    errors = []
    for _ in range(DIRECTIONS):
        theta = rng.normal(size=len(names)) / np.sqrt(len(names))
        edges = np.sort(rng.normal(size=THRESHOLDS))
        for target in real.targets:
            sizes = THRESHOLDS + 1, _levels(real, synthetic, target)
            above = []
            for table, values in zip((real, synthetic), standard, strict=True):
                bins = np.searchsorted(edges, values @ theta, side="right")
                number = np.ravel_multi_index((bins, table.targets[target]), sizes)
                counts = _shares(number, int(np.prod(sizes))).reshape(sizes)
                above.append(counts[::-1].cumsum(axis=0)[:-1])
            errors.append(float(np.abs(above[0] - above[1]).mean()))
    return _mean(errors)


def _levels(real: MixedTable, synthetic: MixedTable, target: str) -> int:
    return int(max(real.targets[target].max(), synthetic.targets[target].max())) + 1


def _shares(cells: Ints, size: int) -> Floats:
    return np.bincount(cells, minlength=size) / len(cells)
