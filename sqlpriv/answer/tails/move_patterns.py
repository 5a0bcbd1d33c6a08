"""By what patterns noised numbers are moved, and what their half-widths are by how an output moves.

See `tail_errors`, which moves them.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

PATTERNS, FEWEST, BALANCED, DRAWS = 6, 4, 16, 256
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

    Beyond, numbers of one block of BALANCED are orthogonal, and the rows of each block are turned
    by random signs. Each number is turned by a random sign, too, which changes no product of two
    squares: of `DRAWS` draws that is taken for which totals, trends and totals of either half come
    out best, and move least in the worst pattern. Without it one pattern moves all numbers up, and
    a total by the sum of all half-widths; a quotient by a total is bent there as it never is.

    >>> signs = balanced_signs(16)
    >>> bool((signs.T @ signs == 16 * np.eye(16)).all()), float(abs(signs.sum(axis=1)).max())
    (True, 4.0)
    """
    hadamard: Array = np.ones((1, 1))
    while len(hadamard) < BALANCED:
        hadamard = np.kron(np.array([[1.0, 1.0], [1.0, -1.0]]), hadamard).astype(np.float64)
    blocks = -(-numbers // BALANCED)
    signs = np.tile(hadamard, blocks)[:, :numbers]
    at = np.linspace(-1, 1, numbers)
    weights = np.stack([np.ones(numbers), at, at <= 0, at > 0]).astype(float)
    weights = weights[np.abs(weights).any(axis=1)]
    rng = np.random.default_rng(SEED)
    of_rows = rng.choice([-1.0, 1.0], (DRAWS, BALANCED, blocks))
    of_numbers = rng.choice([-1.0, 1.0], (DRAWS, numbers))

    def draw(number: int) -> Array:
        turned = np.repeat(of_rows[number], BALANCED, axis=1)[:, :numbers]
        return np.asarray(signs * turned * of_numbers[number])

    def imbalance(number: int) -> float:
        squares = ((draw(number) @ weights.T) ** 2) / (weights**2).sum(axis=1)
        return float(np.abs(np.log(squares.mean(axis=0))).max() + np.log(squares.max()) / 4)

    return draw(min(range(DRAWS), key=imbalance))


def moves_of_one_number(moved: Array, patterns: Array) -> Array:
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


def passed_on_widths(moved: Array, patterns: Array, halves: Array) -> Array:
    """Returns h_i where an output moves exactly as one number i, in every run that has its row; NaN
    elsewhere, of shape (rows, columns).

    Of the three largest groups few are so in `FEWEST` runs; one run tells a number that is passed
    on, as no other of a few thousand moves alike to nine digits.

    Args:
        moved: d, of shape (patterns, rows, columns); NaN where a row is not found.
        patterns: Of shape (patterns, numbers).
        halves: The numbers' half-widths, NaN where unknown.

    >>> moved = np.array([[[2.0]], [[np.nan]]])
    >>> passed_on_widths(moved, np.array([[1.0, 3.0], [5.0, 2.0]]), np.array([2.0, 7.0])).tolist()
    [[2.0]]
    """
    steps = patterns * halves
    is_there = np.isfinite(moved)
    near = 1e-9 * np.abs(np.nan_to_num(steps)).max(initial=0.0)
    widths = np.full(moved.shape[1:], np.nan)
    for place in zip(*np.nonzero(is_there.any(axis=0)), strict=True):
        runs = is_there[(slice(None), *place)]
        output = moved[(slice(None), *place)][runs]
        (alike,) = np.nonzero((np.abs(steps[runs] - output[:, None]) <= near).all(axis=0))
        if len(alike) == 1:
            widths[place] = halves[alike[0]]
    return widths


def _lengths_along(d: Array, patterns: Array) -> Array:
    lengths = np.linalg.norm(patterns, axis=0)
    along = np.abs((patterns / lengths).T @ d)  # (numbers, outputs)
    best = along.argmax(axis=0)
    nearest, length = along.max(axis=0), np.linalg.norm(d, axis=0)
    aside = np.sqrt(np.maximum(length**2 - nearest**2, 0.0))
    is_one = (length > 0) & (aside <= ALIKE * length)
    return np.where(is_one, nearest / lengths[best], np.nan)


def of_several(ahead: Array, back: Array, numbers: int) -> Array:
    """Returns the root of the mean of squared moves, NaN where a row is found in less than three of
    four patterns. Of each pattern and its opposite the farther move counts.

    Args:
        ahead, back: d of balanced patterns and of the opposite ones, of shape (BALANCED, rows,
            columns); NaN where a row is not found.
        numbers: How many numbers were moved.
    """
    farther = np.maximum(np.abs(ahead), np.abs(back))
    runs = np.isfinite(farther).sum(axis=0)
    mean = np.nansum(farther**2, axis=0) / np.maximum(runs, 1)
    longer = 1.0 if numbers <= BALANCED else LONGER
    return np.where(is_frequent(~np.isfinite(farther)), np.nan, longer * np.sqrt(mean))


def bends_back(ahead: Array, back: Array) -> NDArray[np.bool_]:
    """Returns which outputs both ends of a pattern move to one side, in a fourth of the patterns,
    of shape (rows, columns)."""
    with np.errstate(invalid="ignore"):
        return is_frequent(ahead * back > 0)


def mean_bend(ahead: Array, back: Array) -> Array:
    """Returns how far both ends of the patterns move an output on average, of shape (rows,
    columns).

    It estimates by how much noise has moved an output already (the bootstrap's bias, Efron 1979).
    What k noised numbers with one true value have as their largest, or as their range, is c σ of
    the noise's deviation σ where 0 is right. Moved once more by √3 σ they have the deviation 2 σ,
    and it is 2 c σ: the move is as large as the error. Half-widths are moves of 1.96 to 2.12 σ. Of
    numbers that differ by far more than the noise the bend is nearly 0.

    Args:
        ahead, back: Of `of_several`.
    """
    both = (ahead + back) / 2
    is_there = np.isfinite(both)
    sums = np.abs(np.where(is_there, both, 0.0).sum(axis=0))
    return np.asarray(sums / np.maximum(is_there.sum(axis=0), 1))


def are_numbers_or_apart(outputs: Array, numbers: Array) -> NDArray[np.bool_]:
    """Returns which outputs are one of the numbers, or how far two of them are apart.

    >>> are_numbers_or_apart(np.array([[7.0, 4.5], [1.0, 3.0]]), np.array([2.5, 7.0])).tolist()
    [[True, True], [False, False]]
    """
    distinct = np.unique(outputs[np.isfinite(outputs)])
    targets = numbers[np.isfinite(numbers)]
    near = 1e-9 * max(float(np.abs(targets).max(initial=0.0)), 1e-300)
    ordered = np.sort(targets)

    def any_is_number(values: Array) -> bool:
        at = np.searchsorted(ordered, values - near)
        padded = np.append(ordered, np.inf)
        return bool((padded[at] <= values + near).any())

    chosen = [value for value in distinct if any_is_number(np.append(targets + value, value))]
    return np.isin(outputs, chosen)


def has_pole(ahead: Array, back: Array, half_ahead: Array, half_back: Array) -> NDArray[np.bool_]:
    """Returns which outputs move farther half-way than at both ends, in a fourth of the patterns.

    No function that is monotone, convex or concave along a pattern does (of a convex f with f(0) =
    0, -f(-t) <= f(t) <= max(f(1), f(-1)) for 0 <= t <= 1). What does is a quotient whose divisor
    may be 0 within its half-width: near it the quotient may be anything.
    """
    ends = np.maximum(np.abs(ahead), np.abs(back))
    inside = np.maximum(np.abs(half_ahead), np.abs(half_back))
    return is_frequent(~(inside <= ends * (1 + 1e-9)))


def is_frequent(of_patterns: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Returns what holds in more than a fourth of the patterns, along axis 0."""
    return np.asarray(4 * of_patterns.sum(axis=0) > len(of_patterns))
