"""Scores of a column's levels: what stands for them where numbers are needed."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.inference.one_way_tables import Floats, onto_simplex

GROUPS = 32
_NORMAL = NormalDist()


@dataclass(frozen=True, eq=False)
class LevelScores:
    """A column's groups of levels and their scores.

    Args:
        group: The group of each level, shape (levels,).
        score: Of each group, shape (groups,).
        mass: The share of the rows in each group, shape (groups,).
        unordered: Whether the scores say nothing, the groups being categories.
    """

    group: NDArray[np.int64]
    score: Floats
    mass: Floats
    unordered: bool = False


def normal_scores(counts: Floats) -> LevelScores:
    """Returns groups of neighbouring levels of about equal mass, at most GROUPS, each scored by the
    normal quantile of its middle.

    >>> normal_scores(np.array([50.0, 50.0])).score.round(2).tolist()
    [-0.67, 0.67]
    """
    shares = onto_simplex(counts / max(counts.sum(), 1.0), 1.0)
    middle = np.cumsum(shares) - shares / 2
    _, group = np.unique(np.floor(middle * GROUPS).clip(0, GROUPS - 1), return_inverse=True)
    mass = np.bincount(group, shares).astype(np.float64)
    centre = (np.cumsum(mass) - mass / 2).clip(1e-3, 1 - 1e-3)
    return LevelScores(group, np.array([_NORMAL.inv_cdf(p) for p in centre]), mass)


def category_scores(counts: Floats) -> LevelScores:
    """Returns categories, each a group by itself, whose scores are all 0."""
    mass = onto_simplex(counts / max(counts.sum(), 1.0), 1.0)
    return LevelScores(np.arange(mass.size), np.zeros(mass.size), mass, True)
