"""The noised counts and centred sums that means and variances are made of.

Notation for one cell: N the count, S the sum of x - μ (μ the interval's middle, w its width), Q the
sum of (x - μ)² - w²/8. All are noised; noise is independent between cells and queries, with
standard deviations σ_N, σ_S, σ_Q.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.kernel.terms.algebra import Asked
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.pricing.statement import half_width


@dataclass(frozen=True, eq=False)
class Moments:
    """Noised N, S and Q, strata along axis 0, and the variances of their noise.

    Args:
        n, s, q: Noised.
        var_n, var_s, var_q: Of their noise: numbers, but var_s may differ from cell to cell.
        z: The 95 % half-width in standard deviations.
        centre: What S is centred at in each cell, from the interval's middle: m = centre + S / N.
        drift: Variance of a cell's mean that is not noise: what clipping may have left. Cells share
            its cause, so it does not average out over them.
        clumped: Variance of the mean over all strata because rows of one kind may all be in one of
            them, which is clipped or is not; of shape (key 1, …), or 0.
        unseen: By how much tails without a finite variance, or rows far out, which a noised
            histogram allows, may move each cell's mean, of N's shape; the half-widths hold if there
            are none. 0 where half-widths rest on nothing but the noise.
        scatter: Variance of the values of all cells, 0 where nothing is known of it.
        everybody: The moments of all strata together, as one, whose sum was measured besides; N is
            that of the strata. None where it was not.
    """

    n: Array
    s: Array
    q: Array
    var_n: float
    var_s: Array | float
    var_q: float
    z: float
    centre: Array | float = 0.0
    drift: Array | float = 0.0
    clumped: Array | float = 0.0
    unseen: Array | float = 0.0
    scatter: float = 0.0
    everybody: Moments | None = None


def read_moments(recipe: Recipe, releases: Mapping[Asked, Release]) -> Moments:
    """Returns the moments that a recipe is made of, of shape (strata, key 1, key 2, …).

    What a recipe does without (S of a constant, N of a sum around 0) is an exact zero.
    """
    parts = [releases.get(q) if q else None for q in (recipe.count, recipe.total, recipe.square)]
    measured = [release for release in parts if release is not None]
    blank = np.zeros_like(measured[0].values)
    n, s, q = (blank if r is None else r.values for r in parts)
    var_n, var_s, var_q = (0.0 if r is None else r.sigma**2 for r in parts)
    unit = recipe.square_unit
    return Moments(n, s, unit * q, var_n, var_s, unit**2 * var_q, half_width(measured[0].price))


def add_strata(m: Moments) -> Moments:
    """Returns the moments of all strata as of one, of shape (1, key 1, …); none was clipped."""
    k = len(m.n)
    n, s, q = (of.sum(axis=0, keepdims=True) for of in (m.n, m.s, m.q))
    return replace(m, n=n, s=s, q=q, var_n=k * m.var_n, var_s=k * m.var_s, var_q=k * m.var_q)


def noise_of_strata(m: Moments) -> tuple[Array | float, ...]:
    """Returns the variances of the noise of Σ N_i, Σ S_i and Σ Q_i."""
    of_sums = np.broadcast_to(m.var_s, m.n.shape).sum(axis=0)
    return len(m.n) * m.var_n, of_sums, len(m.n) * m.var_q
