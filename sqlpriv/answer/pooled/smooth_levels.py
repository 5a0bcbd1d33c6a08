"""Where the rows of a noised histogram are: few runs of levels, and nothing between them.

Of a histogram's k levels most may hold no row: a domain is often many times as wide as its values,
and the noise of all levels adds up. The rows are taken to be spread evenly over runs of levels, of
lengths that are powers of two, of which the one with the least squares of what is left is taken,
each run adding a price (dyadic CART: Donoho 1997, "CART and best-ortho-basis"). The price is the
square of what noise exceeds in one of all runs with a chance of `CHANCE`, so that runs of noise
alone are rare: one of them far out would move every high quantile there. A run's ends depend on
where the runs of powers of two begin, so the mean over `SHIFTS` beginnings is taken.

Rows that are counted and seen nowhere, beyond two deviations of noise, may be anywhere, and are
spread over all levels where they are more than those that are seen. Without them strata whose
values lay about evenly, but for some at the end of the domain, were taken to have all of their rows
there (intervals held .38).
"""

from __future__ import annotations

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.intervals.level_intervals import NoisedLevels, deviations_of_sums
from sqlpriv.kernel.terms.budget import Rho

CHANCE = 0.02
"""Of any run of noise that is taken for rows."""
LOOSER = (10.0, 100.0)
"""How many times as likely such runs may be near rows that are seen, while rows are missing."""
SHIFTS = 3
"""Beginnings of the runs."""


def smooth_levels(of: NoisedLevels, noises: int) -> Array:
    """Returns the shares of the levels, adding up to 1, or all 0 where nothing stands out.

    Args:
        of: One cell, of shape (levels,) or (1, levels).
        noises: How many independent noises each count is the sum of.

    >>> counts = np.zeros(16)
    >>> counts[:3], counts[9] = (99, 101, 100), 2.0
    >>> of = NoisedLevels(counts, 1.0, float("inf"), Rho(1))
    >>> smooth_levels(of, 1)[[0, 1, 2, 9]].round(2).tolist()
    [0.33, 0.33, 0.33, 0.0]
    """
    counts, sigma = of.counts.ravel(), float(np.sqrt(np.asarray(of.variance).max()))
    is_gaussian = isinstance(of.price, Rho)
    all_rows, of_rows = float(np.sum(of.rows)), float(np.max(of.rows_deviation))

    def smooth(part: slice, chance: float) -> Array:
        rows = np.zeros(len(counts))
        rows[part] = _mean_of_shifts(counts[part], sigma, noises, is_gaussian, chance)
        return rows

    rows = smooth(slice(None), CHANCE)
    with_rows = np.flatnonzero(rows)
    if not with_rows.size:
        return rows
    first, end = int(with_rows[0]), int(with_rows[-1]) + 1
    near = slice(max(2 * first - end, 0), 2 * end - first)
    for times in (*LOOSER, None):
        noise = np.hypot(of_rows, sigma * np.count_nonzero(rows) ** 0.5)
        missing = all_rows - rows.sum() - 2 * noise
        if missing < 0:
            break
        if times is not None:
            rows = np.maximum(rows, smooth(near, CHANCE * times))
        elif missing > rows.sum():
            rows = rows + missing / len(rows)
    return np.asarray(rows / rows.sum())


def _mean_of_shifts(
    counts: Array, sigma: float, noises: int, is_gaussian: bool, chance: float
) -> Array:
    """Returns the rows of each level, the mean over the beginnings of runs."""
    size = 2 ** max((len(counts) - 1).bit_length(), 0)
    together = np.zeros(len(counts))
    for shift in range(SHIFTS):
        begin = shift * size // SHIFTS
        at = slice(begin, begin + len(counts))
        padded, real = np.zeros((2, 2 * size))
        padded[at], real[at] = counts, 1.0
        together += _best_runs(padded, real, sigma, noises, is_gaussian, chance)[at]
    return together / SHIFTS


def _best_runs(
    counts: Array, real: Array, sigma: float, noises: int, is_gaussian: bool, chance: float
) -> Array:
    """Returns the rows of each level, of shape (levels,), a power of two."""
    depth = (len(counts) - 1).bit_length()
    tail = min(chance / len(counts), 0.02)
    sums, lengths = counts, real
    saved, ways, tree = np.zeros(len(counts)), [], []
    for at in range(depth + 1):
        if at:
            sums, lengths, saved = (x.reshape(-1, 2).sum(axis=1) for x in (sums, lengths, saved))
        length = np.maximum(lengths, 1.0)
        reach = sigma * deviations_of_sums(is_gaussian, 3.0 / (noises * length), tail)
        as_run = np.maximum(sums, 0.0) ** 2 / length - reach**2
        ways.append(as_run > saved)
        saved = np.maximum(saved, as_run)
        tree.append((sums, length))
    rows, is_open = np.zeros(len(counts)), np.ones(1, bool)
    for at in range(depth, -1, -1):
        is_run = is_open & ways[at]
        sums, length = tree[at]
        rows += np.repeat(np.where(is_run, sums / length, 0.0), 2**at)
        is_open = np.repeat(is_open & ~is_run, 2) if at else is_open
    return np.asarray(rows * real)
