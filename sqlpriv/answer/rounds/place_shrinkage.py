"""Noised numbers of cells, shrunk towards what the cells' keys say of them: empirical Bayes."""

from __future__ import annotations

import numpy as np

from sqlpriv.answer.means import Array

FAR = 6
"""Standard deviations by which cells have to be farther apart than noise explains before they are
taken to be so: squares of Laplace noise vary more than those of normal noise."""


def shrink(own: Array, noise: Array, effects: Array, most: float = np.inf) -> tuple[Array, Array]:
    """Returns each cell's number, shrunk towards its fit, and the variance that is left.

    A number moves towards its fit by the part of its variance that is noise (empirical Bayes). The
    fit is a ridge regression on the effects; their prior variance is that of the cells' numbers
    beyond their noise, so that all fits are 0 where noise explains everything. What is left is the
    variance of both, the number's own and that of its fit.

    Args:
        own: Noised numbers around 0, of shape (cells,).
        noise: Variances of their noise, of shape (cells,).
        effects: Of shape (cells, effects), as `main_effects` returns.
        most: The largest variance of the cells' numbers where the noise says nothing of it.

    A precise number stays, and one that is all noise takes what its keys predict:

    >>> from sqlpriv.answer.means import main_effects
    >>> own, noise = np.array([4.0, 4.0, -4.0, 30.0]), np.array([0.01, 0.01, 0.01, 900.0])
    >>> shrink(own, noise, main_effects((2, 2)))[0].round(1).tolist()
    [4.0, 4.0, -4.0, -0.4]
    """
    unnoticed = _noise_of_spread(noise)

    def within(variance: float) -> float:
        """Returns a variance of at most `most`, or the least that noise does not explain."""
        return max(min(variance, most), variance - FAR * unnoticed)

    spread = within(_beyond_noise(own, noise)) + 1e-12
    weighted = effects.T / (noise + spread)
    inner = weighted @ effects + np.eye(effects.shape[1]) / spread
    fitted = effects @ np.linalg.solve(inner, weighted @ own)
    of_fit = (effects * np.linalg.solve(inner, effects.T).T).sum(axis=1)
    signal = within(_beyond_noise(own - fitted, noise) + unnoticed)
    kept = signal / (signal + noise)
    left = kept * noise + (1 - kept) ** 2 * of_fit
    return np.asarray(fitted + (own - fitted) * kept), np.asarray(left)


def _beyond_noise(apart: Array, noise: Array) -> float:
    """Returns the variance that noise does not explain, not negative; exact cells count most."""
    weight = 1 / noise
    return max(float((weight * (apart**2 - noise)).sum() / weight.sum()), 0.0)


def _noise_of_spread(noise: Array) -> float:
    """Returns the standard deviation of `_beyond_noise`: cells may differ by as much unnoticed."""
    return float(np.sqrt(2 * noise.size) / (1 / noise).sum())
