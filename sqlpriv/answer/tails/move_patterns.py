"""By what patterns noised numbers are moved, and what their half-widths are by how an output moves.

See `tail_errors`, which moves them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PATTERNS, FEWEST, BALANCED, DRAWS = 6, 4, 16, 64
"""Of six random patterns another number's column is within 3 % of an output's direction with a
chance of about (.03)^5 a number, 2e-5 of a thousand numbers."""
ALIKE = 0.03
LONGER = 2.1199 / 1.9600
"""97.5 % quantiles of Student's t with `BALANCED` degrees of freedom and of the normal."""
SEED = 20_260_101
"""Of the patterns: the same answers have the same half-widths."""


def random_patterns(numbers: int) -> Array:
    """Returns normal patterns of shape (PATTERNS, numbers), the same every time."""
    return np.random.default_rng(SEED).standard_normal((PATTERNS, numbers))


@lru_cache(16)
def balanced_signs(numbers: int) -> Array:
    """Returns signs of shape (BALANCED, numbers), orthogonal for up to BALANCED numbers.

    Beyond, each further block of them is turned by random signs: of `DRAWS` draws those for which
    totals, trends and totals of either half come out best.
    """
    hadamard: Array = np.ones((1, 1))
    while len(hadamard) < BALANCED:
        hadamard = np.kron(np.array([[1.0, 1.0], [1.0, -1.0]]), hadamard).astype(np.float64)
    signs = np.tile(hadamard, -(-numbers // BALANCED))[:, :numbers]
    if numbers <= BALANCED:
        return np.asarray(signs)
    at = np.linspace(-1, 1, numbers)
    weights = np.stack([np.ones(numbers), at, at <= 0, at > 0]).astype(float)
    rng = np.random.default_rng(SEED)
    draws = [signs * rng.choice([-1.0, 1.0], signs.shape) for _ in range(DRAWS)]

    def imbalance(drawn: Array) -> float:
        squares = ((drawn @ weights.T) ** 2).mean(axis=0) / (weights**2).sum(axis=1)
        return float(np.abs(np.log(squares)).max())

    return min(draws, key=imbalance)


def of_one_number(moved: Array, patterns: Array) -> Array:
    """Returns |c| where d = c p_i for one i, NaN elsewhere, of shape (rows, columns).

    Rows that some of the runs leave out are judged by the others, where those are `FEWEST`.
    """
    d = moved.reshape(len(moved), -1)
    widths = np.full(d.shape[1], np.nan)
    is_there = np.isfinite(d)
    for runs in np.unique(is_there, axis=1).T:
        if runs.sum() >= FEWEST:
            outputs = np.flatnonzero((is_there == runs[:, None]).all(axis=0))
            widths[outputs] = _lengths_along(d[np.ix_(runs, outputs)], patterns[runs])
    return widths.reshape(moved.shape[1:])


def _lengths_along(d: Array, patterns: Array) -> Array:
    lengths = np.linalg.norm(patterns, axis=0)
    along = np.abs((patterns / lengths).T @ d)  # (numbers, outputs)
    best = along.argmax(axis=0)
    nearest, length = along.max(axis=0), np.linalg.norm(d, axis=0)
    aside = np.sqrt(np.maximum(length**2 - nearest**2, 0.0))
    is_one = (length > 0) & (aside <= ALIKE * length)
    return np.where(is_one, nearest / lengths[best], np.nan)


def of_several(moved: Array, balanced: Array) -> Array:
    """Returns the root of the mean of d², NaN where a row is found in less than three of four."""
    runs = np.isfinite(moved).sum(axis=0)
    mean = np.nansum(moved**2, axis=0) / np.maximum(runs, 1)
    longer = 1.0 if balanced.shape[1] <= BALANCED else LONGER
    return np.where(4 * runs >= 3 * len(moved), longer * np.sqrt(mean), np.nan)
