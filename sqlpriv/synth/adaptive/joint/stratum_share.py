"""One stratum of a model of everybody, with one-way marginals of the stratum's own.

Rows are drawn from the joint model and those of the stratum are weighted until their one-way
tables are those that were measured in the stratum (raking: iterative proportional fitting of
weights, Deming and Stephan 1940). So relations between columns are everybody's, given the stratum,
and means are the stratum's own. Post-processing of released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats
from sqlpriv.synth.inference.shrinkage import shrunk
from sqlpriv.synth.models.tree_model import Noisy

MOST_ROWS = 400_000
"""Rows drawn of everybody at most, of which the strata's are taken."""
MARGIN = 4
"""How many times the noised rows are drawn, where that is fewer."""
SWEEPS = 12
BALANCING = 2
HEAVIEST = 20.0
"""The weight of a row at most, the mean being 1: a level of few drawn rows is not to be met by
copies of one row."""


class Joint(Protocol):
    """A model of everybody, the strata's columns being the last ones."""

    @property
    def size(self) -> float:
        """The noised number of rows."""

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels, shape (rows, columns)."""


@dataclass(eq=False)
class StrataPool:
    """Rows drawn from one model of everybody, by stratum: with a fixed seed, so that they do not
    depend on who asks first, and the table's error is a question that can be repeated.

    Args:
        joint: The model of everybody.
        sizes: Levels of the columns.
        strata_shape: Levels of the strata's columns.
        rows: Of each stratum, above 0, shape (strata,).
        ones: By column, the noised one-way table of each stratum, shape (strata, levels).
        sigmas: By column, their noise.
    """

    joint: Joint
    sizes: tuple[int, ...]
    strata_shape: tuple[int, ...]
    rows: Floats
    ones: Mapping[int, Floats]
    sigmas: Mapping[int, float]
    drawn: NDArray[np.int64] | None = None
    members: list[NDArray[np.int64]] = field(default_factory=list)
    weights: dict[int, Floats] = field(default_factory=dict)

    def __getstate__(self) -> dict[str, object]:
        """Returns what is kept in a file: the rows can be drawn again."""
        return self.__dict__ | {"drawn": None, "members": [], "weights": {}}

    def stratum(self, stratum: int) -> tuple[NDArray[np.int64], Floats]:
        """Returns the rows of a stratum, shape (rows, columns), or of everybody where it has none,
        and their weights, which add up to 1."""
        drawn = self._joint_rows()
        members = self.members[stratum]
        rows: NDArray[np.int64] = drawn[members] if members.size else drawn
        if stratum not in self.weights:
            self.weights[stratum] = raked_weights(rows, self._targets(stratum, rows))
        return rows, self.weights[stratum]

    def sizes_beside_joint(self, counts: Floats, sigma: float) -> Floats:
        """Returns the rows of each stratum, above 0: their noised counts, moved towards what the
        joint model says of strata, and of its number of rows. The sum of S noised counts has
        sqrt(S) times their noise: at epsilon = 1 a hundred of them told 532 rows, or 1, for 400.

        Args:
            counts: Noised, shape (strata,).
            sigma: Their noise.
        """
        self._joint_rows()
        whole = max(self.joint.size, 1.0)
        drawn = np.array([float(m.size) for m in self.members]).reshape(self.strata_shape)
        clique = tuple(range(drawn.ndim))
        table = Noisy(counts.reshape(drawn.shape), np.full(drawn.shape, sigma**2))
        moved = shrunk({clique: table}, {clique: drawn * (whole / drawn.sum())}, doubt=1.0)[clique]
        positive: Floats = np.maximum(moved.values.ravel(), 1e-3)
        positive *= whole / positive.sum()
        return positive

    def _joint_rows(self) -> NDArray[np.int64]:
        """Returns rows of everybody, shape (rows, columns), and finds those of each stratum."""
        if self.drawn is None:
            count = int(min(max(self.joint.size, 1.0) * MARGIN, MOST_ROWS))
            whole = (*self.sizes, *self.strata_shape)
            drawn = self.joint.sample(whole, count, np.random.default_rng(0))
            drawn = drawn[np.lexsort(drawn.T[::-1])]
            columns = len(self.sizes)
            code = np.ravel_multi_index(tuple(drawn[:, columns:].T), self.strata_shape)
            every = range(math.prod(self.strata_shape))
            self.members = [np.flatnonzero(code == s) for s in every]
            self.drawn = drawn[:, :columns]
        return self.drawn

    def _targets(self, stratum: int, rows: NDArray[np.int64]) -> dict[int, Floats]:
        """Returns the shares of the levels of each column in a stratum: as measured there, moved
        towards those of the joint model's rows as far as cells say."""
        size = float(self.rows[stratum])
        expected: dict[tuple[int, ...], Floats] = {}
        measured: dict[tuple[int, ...], Noisy] = {}
        for column, tables in self.ones.items():
            counts = np.bincount(rows[:, column], minlength=self.sizes[column])
            expected[(column,)] = counts.astype(np.float64) * (size / len(rows))
            variance = max(self.sigmas[column], LEAST_SIGMA) ** 2
            measured[(column,)] = Noisy(tables[stratum], np.full(len(counts), variance))
        doubt = (size / max(float(self.rows.sum()), 1.0)) ** 2
        targets = {}
        for (column,), noisy in shrunk(measured, expected, doubt).items():
            positive = np.maximum(noisy.values, 0.0)
            if positive.sum() > 0:
                targets[column] = positive / positive.sum()
        return targets


def raked_weights(levels: NDArray[np.int64], targets: Mapping[int, Floats]) -> Floats:
    """Returns weights that add up to 1, with which the rows' one-way shares are the targets' as
    nearly as rows of HEAVIEST weight at most can make them.

    >>> rows = np.array([[0], [0], [0], [1]])
    >>> raked_weights(rows, {0: np.array([0.5, 0.5])}).round(3).tolist()
    [0.167, 0.167, 0.167, 0.5]
    """
    weights = np.full(len(levels), 1 / len(levels))
    for _ in range(SWEEPS if targets else 0):
        for column, shares in targets.items():
            now = np.bincount(levels[:, column], weights, minlength=len(shares))
            times = np.where(now > 0, shares / np.maximum(now, 1e-300), 0.0)
            weights = weights * times[levels[:, column]]
            whole = float(weights.sum())
            if whole <= 0:
                return np.full(len(levels), 1 / len(levels))
            weights = np.minimum(weights / whole, HEAVIEST / len(levels))
    return weights / float(weights.sum())


@dataclass(frozen=True, eq=False)
class StratumShare:
    """One stratum of everybody's model; a `Model`.

    Args:
        pool: Rows of everybody.
        stratum: Its number.
        size: The noised number of rows.
    """

    pool: StrataPool
    stratum: int
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels; see `method.Model`. Every row of the pool comes as often as its weight
        says, but for a random rest (systematic sampling, Madow and Madow 1944), and each column's
        levels as often as the pool's weights say, but for the last row (`balance_margins`)."""
        assert len(sizes) == len(self.pool.sizes)
        levels, weights = self.pool.stratum(self.stratum)
        ends = np.cumsum(weights) * rows / weights.sum()
        at = np.searchsorted(ends, np.arange(rows) + rng.random(), side="right")
        at = balance_margins(levels, weights, np.minimum(at, len(levels) - 1), rng)
        drawn: NDArray[np.int64] = levels[rng.permutation(at)]
        return drawn


def balance_margins(
    levels: NDArray[np.int64], weights: Floats, at: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """Returns a sample of rows whose one-way tables are nearer to those of all rows by weight.

    Column by column, rows of levels that came too often give way to rows of the pool that have a
    level that came too seldom (GUM's duplicating: Zhang et al. 2021, arXiv:2012.15128). Whole rows
    are exchanged, so what columns have to do with one another stays. A sample of n rows has chances
    of sqrt(n) in every level, which beside the noise of n = 7,000 rows at epsilon = 1 are as large
    as that; BALANCING sweeps leave about a tenth of them.

    Args:
        levels: Of all rows, shape (rows, columns).
        weights: Of all rows; they add up to 1.
        at: Row numbers of the sample, in any order.
        rng: For rows of a level.
    """
    sample = at.copy()
    for _ in range(BALANCING if len(sample) else 0):
        for column in levels.T:
            length = int(column.max()) + 1
            wanted = np.bincount(column, weights, minlength=length) * len(sample)
            excess = np.bincount(column[sample], minlength=length) - wanted
            order = rng.permutation(len(sample))
            mine = column[sample[order]]
            sorted_rows = order[np.argsort(mine, kind="stable")]
            starts = np.searchsorted(np.sort(mine), np.arange(length))
            surplus = np.floor(np.maximum(excess, 0.0)).astype(np.int64)
            leaving = np.concatenate(
                [
                    sorted_rows[b : b + n]
                    for b, n in zip(starts.tolist(), surplus.tolist(), strict=True)
                ]
            )
            scarce = (
                np.maximum(-excess, 0.0)[column] / np.maximum(wanted / len(sample), 1e-300)[column]
            )
            ends = np.cumsum(weights * scarce)
            if leaving.size and ends[-1] > 0:
                points = (np.arange(leaving.size) + rng.random()) * (ends[-1] / leaving.size)
                new = np.searchsorted(ends, points, side="right")
                sample[leaving] = np.minimum(new, len(column) - 1)
    return sample
