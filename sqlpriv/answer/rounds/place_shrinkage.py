"""Noised numbers of cells, shrunk towards what the cells' keys say of them: empirical Bayes.

Laplace noise is beyond four deviations fifty times as often as normal noise. A number that far out
is believed if its noise is taken for normal, and makes the cells seem to differ besides: of 10,000
uniform values in four strata at epsilon .1, everybody's error was twice as large. Laplace noise is
a mixture of normal noises whose variances are distributed exponentially; for each of these the
posterior of a cell's number is normal, and `shrink` takes the mean over them, weighted by how
likely each makes the number.
"""

from __future__ import annotations

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.rounds.histogram.tail_constants import FAR

NORMAL_PARTS, PART_WEIGHTS = np.polynomial.laguerre.laggauss(12)
"""Variances of the normal noises that Laplace noise of variance 1 is made of, and their parts."""
TURNS = 20
"""Of the variance of the cells' own numbers, each of which makes them likelier (EM: Dempster, Laird
and Rubin 1977), from what is left of their squares."""
LAPLACE_SQUARES = 2.5**0.5
"""The deviation of the square of Laplace noise, by that of normal noise: √(5 / 2)."""


def shrink(
    own: Array,
    noise: Array,
    sizes: tuple[int, ...],
    most: float = np.inf,
    laplace: Array | float = 0.0,
) -> tuple[Array, Array]:
    """Returns each cell's number, shrunk towards its fit, and the variance that is left.

    A number moves towards its fit by the part of its variance that is noise (empirical Bayes). The
    fit is a ridge regression on the keys' levels; the prior variance of these is that of the cells'
    numbers beyond their noise, so that all fits are 0 where noise explains everything. What is left
    is the variance of both, the number's own and that of its fit. By one key a fit is made of the
    number itself, so that numbers with Laplace noise have none there.

    Args:
        own: Noised numbers around 0, of shape (cells,): row-major, a cell for each combination.
        noise: Variances of their normal noise, of shape (cells,).
        sizes: How many levels each key has.
        most: The largest variance of the cells' numbers where the noise says nothing of it.
        laplace: Variances of Laplace noise besides, of shape (cells,); 0 where there is none.

    A precise number stays, and one that is all noise takes what its keys predict:

    >>> own, noise = np.array([4.0, 4.0, -4.0, 30.0]), np.array([0.01, 0.01, 0.01, 900.0])
    >>> shrink(own, noise, (2, 2))[0].round(1).tolist()
    [4.0, 4.0, -4.0, -0.4]

    One number of five is far out. Normal noise would hardly be so, Laplace noise may:

    >>> far, ones = np.array([0.5, -0.3, 0.2, 0.4, -6.0]), np.ones(5)
    >>> [shrink(far, (1 - part) * ones, (5,), 0.25, part * ones)[0][-1].round(1).item()
    ...  for part in (0.0, 1.0)]
    [-3.2, -1.6]
    """
    total = noise + laplace
    unnoticed = _noise_of_spread(total) * (LAPLACE_SQUARES if np.any(laplace) else 1.0)

    def within(variance: float) -> float:
        """Returns a variance of at most `most`, or the least that noise does not explain."""
        return max(min(variance, most), variance - FAR * unnoticed)

    fitted, of_fit = np.zeros_like(own), np.zeros_like(own)
    if len(sizes) > 1 or not np.any(laplace):
        spread = within(_beyond_noise(own, total)) + 1e-12
        fitted, of_fit = fit_main_effects(own, 1 / (total + spread), sizes, spread)
    apart = own - fitted
    signal = _beyond_noise(apart, total)
    for _ in range(TURNS if np.any(laplace) else 0):
        kept, left = _posterior(apart, noise, laplace, signal)
        signal = float(np.average((apart * kept) ** 2 + left, weights=1 / total))
    kept, left = _posterior(apart, noise, laplace, within(signal + unnoticed))
    return np.asarray(fitted + apart * kept), np.asarray(left + (1 - kept) ** 2 * of_fit)


def _posterior(
    apart: Array, noise: Array, laplace: Array | float, signal: float
) -> tuple[Array, Array]:
    """Returns which part of a number's distance from its fit is its own, and the variance left.

    Args:
        apart: The distances, of shape (cells,).
        noise, laplace: See `shrink`.
        signal: Variance of the cells' numbers around their fits.
    """
    parts = noise + NORMAL_PARTS[:, None] * laplace
    total = np.maximum(signal + parts, 1e-300)
    fit = -(np.log(total) + apart**2 / total) / 2
    weight = PART_WEIGHTS[:, None] * np.exp(fit - fit.max(axis=0))
    weight /= weight.sum(axis=0)
    of_parts = signal / total
    kept = (weight * of_parts).sum(axis=0)
    left = weight * (of_parts * parts + (of_parts - kept) ** 2 * apart**2)
    return np.asarray(kept), np.asarray(left.sum(axis=0))


def fit_main_effects(
    own: Array, weight: Array, sizes: tuple[int, ...], prior: float
) -> tuple[Array, Array]:
    """Returns the ridge regression of cells on their keys' levels, and the fit's variances.

    With the levels that a cell has as a row of ones and zeros, X, the fit is X β with
    (X' W X + I / prior) β = X' W y, and its variances are the diagonal of X (X' W X + I / prior)⁻¹
    X'. Two levels of one key share no cell: the block of the key with the most levels is diagonal
    and is eliminated (Schur), so that memory and time grow with the cells and not with the square
    or cube of a key's levels.

    Args:
        own: Numbers of shape (cells,), row-major.
        weight: Of each, of the same shape.
        sizes: How many levels each key has.
        prior: Variance of the levels' effects.
    """
    shape = sizes or (1,)
    levels = np.indices(shape).reshape(len(shape), -1)
    largest = max(range(len(shape)), key=lambda key: shape[key])
    of_cell = levels[largest]
    others = [levels[key] for key in range(len(shape)) if key != largest]
    firsts = np.cumsum([0, *(shape[key] for key in range(len(shape)) if key != largest)])
    diagonal = np.bincount(of_cell, weight) + 1 / prior
    cross, inner = np.zeros((shape[largest], firsts[-1])), np.eye(firsts[-1]) / prior
    toward = np.zeros(firsts[-1])
    placed = [level + first for level, first in zip(others, firsts, strict=False)]
    for mine in placed:
        np.add.at(cross, (of_cell, mine), weight)
        np.add.at(toward, mine, weight * own)
        for theirs in placed:
            np.add.at(inner, (mine, theirs), weight)
    scaled = cross / diagonal[:, None]
    inverse = np.linalg.inv(inner - cross.T @ scaled)
    through = scaled @ inverse
    alone = np.bincount(of_cell, weight * own) / diagonal
    beta = inverse @ (toward - cross.T @ alone)
    fitted = (alone - scaled @ beta)[of_cell]
    variance = (1 / diagonal + (through * scaled).sum(axis=1))[of_cell]
    for mine in placed:
        fitted = fitted + beta[mine]
        variance = variance - 2 * through[of_cell, mine]
        for theirs in placed:
            variance = variance + inverse[mine, theirs]
    return fitted, variance


def _beyond_noise(apart: Array, noise: Array) -> float:
    """Returns the variance that noise does not explain, not negative; exact cells count most."""
    weight = 1 / noise
    return max(float((weight * (apart**2 - noise)).sum() / weight.sum()), 0.0)


def _noise_of_spread(noise: Array) -> float:
    """Returns the standard deviation of `_beyond_noise`: cells may differ by as much unnoticed."""
    return float(np.sqrt(2 * noise.size) / (1 / noise).sum())
