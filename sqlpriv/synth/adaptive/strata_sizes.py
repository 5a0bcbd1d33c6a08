"""How many rows each stratum has, estimated from all noised tables and never below zero.

1. A table that was measured of the population counts every stratum, or sums over several strata.
   `count_strata` combines all such tables by weighted least squares. The result is unbiased.
2. For a stratum of almost nobody the least-squares estimate is mostly noise, and often below zero.
   No rows could be drawn of such a size. `nonnegative` replaces each estimate by a posterior mean.

The prior of step 2: sizes are nonnegative and differ by orders of magnitude, so a size is |X|, with
X normal around 0 at one of 40 scales. The scales' weights are estimated from all strata (empirical
Bayes, as in `shrinkage`). A posterior mean is above zero for every stratum, and for a stratum far
above the noise it is what was measured. Only noised numbers are looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats, erfc, positive_means
from sqlpriv.synth.inference.scale_mixture import component_probabilities
from sqlpriv.synth.inference.strata_constants import AS_STRATA
from sqlpriv.synth.models.tree_model import Noisy


def count_strata(
    tables: Mapping[Clique, Noisy], strata: Clique, shape: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Returns the unbiased sizes of least variance of all strata, and their variances.

    Args:
        tables: Noised tables of the population, by the columns that they count. One of them has
            all columns of `strata` and no other, so that every stratum is counted.
        strata: The numbers of the columns that tell strata apart, ascending.
        shape: How many levels each of these columns has; strata are numbered row by row.

    Returns:
        Sizes in rows and variances in rows squared, both of shape (strata,).
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
    """Returns the sizes of strata in rows, all above 0, of shape (strata,), from a noised count of
    each stratum."""
    values = release.values.ravel()
    return nonnegative(values, np.full(values.shape, max(release.sigma, LEAST_SIGMA) ** 2))


def nonnegative(sizes: Floats, variance: Floats) -> Floats:
    """Returns the posterior means of sizes, all above 0.

    They are scaled to add up to the sum of `sizes`, or to 1 where that sum is smaller.

    With X ~ N(0, s²) and a measurement of variance v, X given the measurement m is normal around
    m s² / (s² + v) with variance s² v / (s² + v); a size is that distribution cut at 0.

    Args:
        sizes: Unbiased estimates with normal errors, in rows, of shape (strata,).
        variance: Of each of them, in rows squared, of shape (strata,).
    """
    scales = np.geomspace(1.0, max(2.0, 2 * float(np.abs(sizes).max())), 40) ** 2
    whole = scales + variance[:, None]
    shrunk, spread = sizes[:, None] * scales / whole, np.sqrt(scales * variance[:, None] / whole)
    above = np.maximum(shrunk / spread, -30.0)  # far below, erfc would underflow to 0
    inside = erfc(-above / math.sqrt(2)) / 2
    logs = np.log(inside) - 0.5 * (np.log(whole) + sizes[:, None] ** 2 / whole)
    means = positive_means(shrunk, spread)
    posterior_means = (component_probabilities(logs, np.full(40, AS_STRATA / 40)) * means).sum(
        axis=1
    )
    scaled: NDArray[np.float64] = posterior_means * (
        max(float(sizes.sum()), 1.0) / posterior_means.sum()
    )
    return scaled
