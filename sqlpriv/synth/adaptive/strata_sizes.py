"""How many rows strata have: from everything that counts them, and never below zero.

A table that was measured of the population counts every stratum, or sums of some of them: least
squares put these together. What they find of a stratum of almost nobody is noise and often below
zero; its rows could not be drawn. Sizes are nonnegative and differ by orders of magnitude, so a
size is taken for the magnitude of a normal variable of one of many scales, whose weights are
estimated from all strata (empirical Bayes, as in `shrinkage`), and its estimate is the posterior
mean: above zero for every stratum, and for one far above the noise what was measured. Only noised
numbers are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats
from sqlpriv.synth.inference.shrinkage import component_probabilities
from sqlpriv.synth.inference.strata_constants import AS_STRATA
from sqlpriv.synth.models.tree_model import Noisy

erfc = np.vectorize(math.erfc, otypes=[np.float64])


def count_strata(
    tables: Mapping[Clique, Noisy], strata: Clique, shape: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Returns unbiased sizes of all strata of least variance, and their variances.

    Args:
        tables: Of the population, one of which has all columns of `strata` and no other.
        strata: The columns that tell strata apart, ascending.
        shape: Their levels; strata are numbered row by row.
    """
    levels = dict(zip(strata, np.unravel_index(np.arange(math.prod(shape)), shape), strict=True))
    precision: Floats = np.zeros((math.prod(shape),) * 2)
    weighted_sums: Floats = np.zeros(math.prod(shape))
    for clique, noisy in tables.items():
        others = tuple(i for i, column in enumerate(clique) if column not in levels)
        values, variance = noisy.values.sum(axis=others), noisy.variance.sum(axis=others)
        at = tuple(levels[column] for column in clique if column in levels)
        cell = np.broadcast_to(
            np.arange(values.size).reshape(values.shape)[at], weighted_sums.shape
        )
        each = np.broadcast_to(1 / variance[at], weighted_sums.shape)
        precision += np.where(cell[:, None] == cell, each, 0.0)
        weighted_sums += values[at] * each
    covariance = np.linalg.inv(precision)
    return covariance @ weighted_sums, np.diag(covariance).copy()


def measured_sizes(release: Release) -> Floats:
    """Returns the sizes of strata, above 0, shape (strata,), by a noised count of each."""
    values = release.values.ravel()
    return nonnegative(values, np.full(values.shape, max(release.sigma, LEAST_SIGMA) ** 2))


def nonnegative(sizes: Floats, variance: Floats) -> Floats:
    """Returns posterior means of sizes: all above 0, their sum that of `sizes` if it is above 1.

    Args:
        sizes: Unbiased, normal; shape (strata,).
        variance: Of each.
    """
    scales = np.geomspace(1.0, max(2.0, 2 * float(np.abs(sizes).max())), 40) ** 2
    whole = scales + variance[:, None]
    shrunk, spread = sizes[:, None] * scales / whole, np.sqrt(scales * variance[:, None] / whole)
    above = np.maximum(shrunk / spread, -30.0)
    inside = erfc(-above / math.sqrt(2)) / 2
    logs = np.log(inside) - 0.5 * (np.log(whole) + sizes[:, None] ** 2 / whole)
    density = np.exp(-0.5 * above**2) / math.sqrt(2 * math.pi)
    means = spread * (above + density / inside)
    posterior_means = (component_probabilities(logs, np.full(40, AS_STRATA / 40)) * means).sum(
        axis=1
    )
    scaled: NDArray[np.float64] = posterior_means * (
        max(float(sizes.sum()), 1.0) / posterior_means.sum()
    )
    return scaled
