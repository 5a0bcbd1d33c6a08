"""The correlation of two Gaussian coordinates that columns show through cuts (polychoric).

Under a bivariate normal with correlation r, the mean of the product of two step functions f, g of
the coordinates is the sum over k of r^k f_k g_k, with f_k = E[f(Z) h_k(Z)] and h_k the normalised
Hermite polynomials (Mehler 1866). It grows with r where both functions do (Slepian 1962), so
bisection solves it for r.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.inference.one_way_tables import Floats

TERMS = 100
"""Of Mehler's series."""
LARGEST = 0.99
"""Correlations are looked for within this, where the series has (nearly) converged."""
_NORMAL = NormalDist()


def hermite_terms(shares: Floats, score: Floats) -> Floats:
    """Returns E[f(Z) h_k(Z)] for k < TERMS, where f steps through the scores.

    Args:
        shares: Of the levels, in order, shape (levels,).
        score: The value of f on each level, shape (levels,).
    """
    cuts = np.cumsum(shares)[:-1].clip(1e-9, 1 - 1e-9)
    z = np.array([_NORMAL.inv_cdf(p) for p in cuts])
    jumps = np.diff(score)
    terms = np.zeros(TERMS)
    terms[0] = score @ shares
    density = np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    before, now = np.zeros_like(z), np.ones_like(z)  # h_{-1}, h_0
    for k in range(1, TERMS):
        terms[k] = (jumps * density * now).sum() / np.sqrt(k)
        before, now = now, (z * now - np.sqrt(k - 1) * before) / np.sqrt(k)
    return terms


def solve_correlations(terms: Floats, means: Floats) -> Floats:
    """Returns, for each pair, the r in ±LARGEST at which its series is nearest to its mean.

    Args:
        terms: Products of two columns' `hermite_terms`, shape (pairs, TERMS).
        means: Of the product of two scores, shape (pairs,).
    """
    low, high = np.full(len(means), -LARGEST), np.full(len(means), LARGEST)
    for _ in range(40):
        r = (low + high) / 2
        below = np.polynomial.polynomial.polyval(r, terms.T, tensor=False) < means
        low, high = np.where(below, r, low), np.where(below, high, r)
    return np.asarray((low + high) / 2, dtype=np.float64)


def nearest_correlations(matrix: Floats) -> NDArray[np.float64]:
    """Returns a correlation matrix: eigenvalues below 0 cut off, the diagonal brought back."""
    values, vectors = np.linalg.eigh(matrix)
    cut = (vectors * np.maximum(values, 1e-9)) @ vectors.T
    scale = np.sqrt(np.diag(cut))
    return np.asarray(cut / np.outer(scale, scale), dtype=np.float64)


def shrink_estimates(
    estimates: Floats, noise: Floats, sizes: Floats, prior: float | None = None
) -> Floats:
    """Returns each stratum's numbers, without the share of them that is noise.

    Empirical Bayes, free: those of all strata together are shrunk towards 0, where they are taken
    to lie with variance `prior`, and each stratum's towards those. The variance between strata is
    estimated once for all numbers, as what their spread has beyond their noise.

    Args:
        estimates: Of numbers that are alike, such as correlations, shape (strata, numbers).
        noise: Their noise's standard deviations, of the same shape.
        sizes: Rows of each stratum, above 0, shape (strata,).
        prior: None for what the numbers of all strata together have beyond their noise.
    """
    variance = 0.25 if prior is None else prior
    weights = sizes[:, None] * variance / (variance + noise**2) + 1e-12
    centre = (weights * estimates).sum(axis=0) / weights.sum(axis=0)
    centre_noise = ((weights * noise) ** 2).sum(axis=0) / weights.sum(axis=0) ** 2
    if prior is None:
        variance = max(float((centre**2 - centre_noise).mean()), 0.0) + 1e-12
    centre = centre * variance / (variance + centre_noise)
    if len(estimates) == 1:
        return np.atleast_2d(centre)
    trust = 1 / (0.1**2 + noise**2)
    spread = max(float((trust * ((estimates - centre) ** 2 - noise**2)).sum() / trust.sum()), 0.0)
    return np.asarray(centre + spread / (spread + noise**2) * (estimates - centre))
