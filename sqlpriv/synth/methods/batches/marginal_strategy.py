"""What each marginal is worth measuring at, so that a workload's error is least."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Clique = tuple[int, ...]
ROUNDS = 1_000
LEAST = 2e-3
"""Marginals of a smaller part of the price than this, over their number, are not measured: their
part goes to the others."""
MOST_CELLS = 100_000
"""Of a marginal that is measured."""


def workload_of(columns: Sequence[int], degree: int) -> list[Clique]:
    """Returns all marginals of at most `degree` columns.

    >>> workload_of((0, 2), 2)
    [(0,), (2,), (0, 2)]
    """
    return [
        clique
        for ways in range(1, min(degree, len(columns)) + 1)
        for clique in itertools.combinations(columns, ways)
    ]


def strategy_shares(
    workload: Sequence[Clique], candidates: Sequence[Clique], sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Returns the part of the price of each candidate, shape (candidates,); they add up to 1.

    A marginal q is had from every measured S that contains it: a cell of q is a sum of |S| / |q|
    cells, so at the part p_S it is known with precision p_S |q| / |S|, in units of the price, and
    independent noise makes precisions add up. The workload's expected squared error, every marginal
    counted once per cell, is the sum over q of |q| / (sum over S of p_S |q| / |S|): convex in p.
    The minimum is found by p_S <- p_S sqrt(-gradient_S), scaled to 1, which never goes up (Yu 2010,
    arXiv:0911.0108).

    Under pure privacy noise's variance falls with the square of the price, and the same parts are
    taken: they are then no optimum, and as private.
    """
    cells = np.array([math.prod(sizes[c] for c in s) for s in candidates], dtype=np.float64)
    of_query = np.array([math.prod(sizes[c] for c in q) for q in workload], dtype=np.float64)
    inside = np.array([[{*q} <= {*s} for s in candidates] for q in workload], dtype=np.float64)
    precision = inside * of_query[:, None] / cells[None, :]
    parts = np.full(len(candidates), 1 / len(candidates))
    for _ in range(ROUNDS):
        precisions = precision @ parts
        parts *= np.sqrt((of_query / precisions**2) @ precision)
        parts /= parts.sum()
    kept = np.where(parts >= LEAST / len(candidates), parts, 0.0)
    if not ((precision @ kept) > 0).all():
        return parts
    shares: NDArray[np.float64] = kept / kept.sum()
    return shares


def expected_error(
    parts: NDArray[np.float64],
    workload: Sequence[Clique],
    candidates: Sequence[Clique],
    sizes: Sequence[int],
) -> float:
    """Returns the sum of squared errors of a workload, in units of the noise of the whole price."""
    total = 0.0
    for q in workload:
        of_query = math.prod(sizes[c] for c in q)
        precision = sum(
            part * of_query / math.prod(sizes[c] for c in s)
            for part, s in zip(parts, candidates, strict=True)
            if {*q} <= {*s}
        )
        total += of_query / precision if precision else math.inf
    return total
