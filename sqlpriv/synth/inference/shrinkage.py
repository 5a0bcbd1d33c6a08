"""Noisy tables moved towards what was believed of them: empirical Bayes, cell by cell.

A stratum's cell is taken to lie around the count m that its prior expects with a standard deviation
of scale * m (and a little for cells that nobody is expected in). How far strata go from their prior
differs from cell to cell - most are close to it, some relation of theirs is their own - so the
scale is a mixture (`scale_mixture`). The rows that a stratum has are a sample, too, of what it is
like: a cell of m rows lies sqrt(m) off by that alone, and a row is no error. To that comes the
noise that m itself was measured with. A cell's estimate is its posterior mean. Only noised numbers
are looked at.

Cells of one column are not off by themselves alone: where a stratum is older than others, all cells
of its ages are a little off, each by less than its noise. Moved cell by cell they would all stay
where the prior has them, and so would the mean. So the mean level of a one-way table is moved
first, by the same rule: the prior is tilted (p_l to p_l exp(theta l), the least change in relative
entropy: Csiszar 1975) until its mean level is the posterior mean of the stratum's.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, reduce

import numpy as np

from sqlpriv.synth.graph.embedding import row_sums
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference.one_way_tables import Floats
from sqlpriv.synth.inference.scale_mixture import kept_shares
from sqlpriv.synth.inference.strata_constants import (
    AS_CELLS,
    AS_MOMENTS,
    EMPTY,
    KEPT,
)
from sqlpriv.synth.models.tree_model import Noisy

MOST_TILT = 20.0
"""The logarithm of what a tilt multiplies the outermost level by, at most."""
NEWTON, NEAR = 8, 1e-8
"""Steps to a tilt, at most; after one so small, as a share of the largest tilt, the error of
Newton's method is below that of doubles."""


def shrunk(
    tables: Mapping[Clique, Noisy], expected: Mapping[Clique, Floats], doubt: float = 0.0
) -> dict[Clique, Noisy]:
    """Returns the tables moved towards what was expected of them, with the posterior's variance.

    Args:
        tables: Of one stratum.
        expected: For each of them, of its shape: counts, at least 0.
        doubt: The variance of the noise in what is expected over that of the tables' own.
    """
    if not tables:
        return {}
    expected, aims = _with_mean_levels(tables, expected, doubt)
    reach = _concatenate([_reach(expected[c]) for c in tables])
    apart = _concatenate([noisy.values - expected[c] for c, noisy in tables.items()])
    noise = _concatenate([noisy.variance for noisy in tables.values()])
    sampled = _concatenate([expected[c] for c in tables])
    keep = kept_shares((reach, apart, noise, sampled), doubt, AS_CELLS)
    ends = np.cumsum([noisy.values.size for noisy in tables.values()])[:-1]
    return {
        c: _move_towards(noisy, expected[c], k.reshape(noisy.values.shape), aims.get(c))
        for (c, noisy), k in zip(tables.items(), np.split(keep, ends), strict=True)
    }


def _with_mean_levels(
    tables: Mapping[Clique, Noisy], expected: Mapping[Clique, Floats], doubt: float
) -> tuple[dict[Clique, Floats], dict[Clique, _Aim]]:
    """Returns what is expected, with the posterior means of mean levels: of each column, then of
    each column inside every combination of the others' levels; and these of columns' own tables,
    which a tilt may have missed."""
    moved = {c: table for c, table in expected.items() if c in tables}
    aims: dict[Clique, _Aim] = {}
    widest = max(table.ndim for table in moved.values())
    for of_lines, axis in itertools.product((False, True), range(widest)):
        wide = {c: t for c, t in moved.items() if t.ndim > max(axis, int(of_lines))}
        if wide:
            tilted, aimed_at = _with_moved_levels(tables, wide, axis, of_lines, doubt)
            moved |= tilted
            aims |= {c: aim for c, aim in aimed_at.items() if moved[c].ndim == 1}
    return moved, aims


@dataclass(frozen=True)
class _Aim:
    """The posterior mean of a column's first moment.

    Args:
        centred: Levels less a centre, shape (levels,).
        moment: The sum of counts times those.
    """

    centred: Floats
    moment: float


@dataclass(frozen=True, eq=False)
class _Lines:
    """Tables of one column each, of as many levels: parts of larger tables, or their sums.

    They are moved together: of tables of a few cells, numpy takes longer to begin than to compute.

    Args:
        values, variance, expected: Shape (lines, levels).
    """

    values: Floats
    variance: Floats
    expected: Floats

    @cached_property
    def centred(self) -> Floats:
        """Levels less the mean level that is expected, shape (lines, levels)."""
        rows = np.maximum(row_sums(self.expected), 1e-9)
        levels = np.arange(self.expected.shape[1], dtype=np.float64)
        centred: Floats = levels - (self.expected @ levels / rows)[:, None]
        return centred

    @property
    def reach(self) -> Floats:
        """How far first moments may be off at scale 1, shape (lines,)."""
        reach: Floats = np.sqrt(row_sums(self.expected) * row_sums(self.expected * self.centred**2))
        return reach

    @property
    def sampled(self) -> Floats:
        """Variances of the first moments of rows that are drawn as is expected, shape (lines,)."""
        sampled: Floats = row_sums(self.expected * self.centred**2)
        return sampled

    @property
    def apart(self) -> Floats:
        """First moments less what is expected of them, shape (lines,)."""
        return row_sums((self.values - self.expected) * self.centred)

    @property
    def noise(self) -> Floats:
        """Variances of the first moments' noise, shape (lines,)."""
        noise: Floats = np.maximum(row_sums(self.variance * self.centred**2), 1e-12)
        return noise


def _gather_lines(tables: Sequence[Floats], axis: int, of_lines: bool) -> Floats:
    """Returns the tables' lines along an axis, or each table's sum; shape (lines, levels)."""
    lines = [
        table.transpose(_axis_last(axis, table.ndim)).reshape(-1, table.shape[axis])
        for table in tables
    ]
    return np.concatenate(lines if of_lines else [x.sum(axis=0, keepdims=True) for x in lines])


@cache
def _axis_last(axis: int, axes: int) -> tuple[int, ...]:
    """Returns the order of a table's axes in which one is the last. `np.moveaxis` works it out for
    every table, which took a tenth of the time of AIM in strata."""
    return (*range(axis), *range(axis + 1, axes), axis)


@cache
def _last_axis_to(axis: int, axes: int) -> tuple[int, ...]:
    """Returns the order that undoes `_axis_last`."""
    return (*range(axis), axes - 1, *range(axis, axes - 1))


def _with_moved_levels(
    tables: Mapping[Clique, Noisy],
    expected: Mapping[Clique, Floats],
    axis: int,
    of_lines: bool,
    doubt: float,
) -> tuple[dict[Clique, Floats], dict[Clique, _Aim]]:
    """Returns what is expected, with the mean levels of the tables' lines along an axis moved, and
    where the first line of each was to be moved."""
    by_levels: dict[int, list[Clique]] = {}
    for clique, table in expected.items():
        by_levels.setdefault(table.shape[axis], []).append(clique)
    alike = [
        _Lines(
            _gather_lines([tables[c].values for c in cliques], axis, of_lines),
            _gather_lines([tables[c].variance for c in cliques], axis, of_lines),
            _gather_lines([expected[c] for c in cliques], axis, of_lines),
        )
        for cliques in by_levels.values()
    ]
    reach, apart, noise, sampled = (
        np.concatenate(parts)
        for parts in zip(*((x.reach, x.apart, x.noise, x.sampled) for x in alike), strict=True)
    )
    few = all(table.values.ndim == 1 for table in tables.values())
    prior = AS_MOMENTS if few else AS_CELLS
    moments = kept_shares((reach, apart, noise, sampled), doubt, prior) * apart
    ends = np.cumsum([len(x.values) for x in alike])[:-1]
    moved: dict[Clique, Floats] = {}
    aims: dict[Clique, _Aim] = {}
    for cliques, lines, of_each in zip(
        by_levels.values(), alike, np.split(moments, ends), strict=True
    ):
        times, first = tilt(lines.expected, lines.centred, of_each), 0
        for clique in cliques:
            last = expected[clique].transpose(_axis_last(axis, expected[clique].ndim))
            size = last.size // last.shape[-1] if of_lines else 1
            factors = times[first : first + size]
            aims[clique] = _Aim(lines.centred[first], float(of_each[first]))
            first += size
            tilted = last * (factors.reshape(last.shape) if of_lines else factors[0])
            moved[clique] = tilted.transpose(_last_axis_to(axis, tilted.ndim))
    return moved, aims


def tilt(counts: Floats, levels: Floats, moments: Floats) -> Floats:
    """Returns by how much to multiply cells so that lines have these first moments, as nearly as a
    tilt within MOST_TILT makes it; sums of lines stay.

    Newton's method on the logarithm of the tilted sum, whose derivatives are the mean and variance.

    Args:
        counts: At least 0, shape (lines, levels).
        levels: Of mean 0 by `counts`, shape (lines, levels).
        moments: Sums of counts times levels, shape (lines,).

    >>> tilt(np.array([[2.0, 2.0]]), np.array([[-0.5, 0.5]]), np.array([1.0])).round(6).tolist()
    [[0.5, 1.5]]
    """
    rows = np.maximum(row_sums(counts), 1e-9)
    most = MOST_TILT / np.maximum(np.abs(levels).max(axis=1), 1e-9)
    theta, times = np.zeros(len(counts)), np.ones_like(counts)
    for _ in range(NEWTON):
        weighted = counts * times
        mean = row_sums(weighted * levels) / rows
        spread = row_sums(weighted * (levels - mean[:, None]) ** 2) / rows
        step = (moments / rows - mean) / np.maximum(spread, 1e-9)
        step = np.minimum(np.maximum(step, -most / 4), most / 4)
        before, theta = theta, np.minimum(np.maximum(theta + step, -most), most)
        times = np.exp(theta[:, None] * levels)
        times *= (rows / np.maximum(row_sums(counts * times), 1e-300))[:, None]
        if (np.abs(theta - before) <= NEAR * most).all():
            break
    return np.where(rows[:, None] > 1e-9, times, 1.0)


def _reach(expected: Floats) -> Floats:
    """Returns how far cells may be off at scale 1. What is near to a cell are those that share a
    level with it, and of its levels the rarest counts: a level that hardly anybody has does not get
    the room of one that many have."""
    axes = range(expected.ndim)
    if len(axes) == 1:
        near = [expected.mean()]
    else:
        near = [expected.mean(axis=tuple({*axes} - {i}), keepdims=True) for i in axes]
    rarest: Floats = reduce(np.minimum, near)
    return expected + EMPTY * rarest


def _move_towards(noisy: Noisy, expected: Floats, keep: Floats, aim: _Aim | None) -> Noisy:
    values = expected + keep * (noisy.values - expected)
    if aim is not None:
        missed = aim.moment - float(expected @ aim.centred)
        values = _without_moment(values, expected, missed)
    return Noisy(values, noisy.variance * np.maximum(keep, KEPT))


def _without_moment(values: Floats, expected: Floats, missed: float) -> Floats:
    """Returns a column's table without what its cells move its mean level by, beyond what the tilt
    missed.

    The tilt has set the mean level already, and cells that keep different parts of their noise
    would move it again. But a tilt is bounded, and moves nobody to where nobody is expected: so
    much of the moment is left to the cells. None passes below 0 by what is taken off.

    Args:
        values: The table, moved towards what is expected, shape (levels,).
        expected: After the tilt, of that shape.
        missed: The first moment that was aimed at less that of `expected`.
    """
    counts = np.maximum(expected, 0.0)
    levels = np.arange(counts.size, dtype=np.float64)
    centred = levels - float(counts @ levels) / max(float(counts.sum()), 1e-9)
    moved = float((values - expected) @ centred)
    beyond = min(max(moved - missed, min(moved, 0.0)), max(moved, 0.0))
    spread, most = float(counts @ centred**2), 1 / max(float(np.abs(centred).max()), 1e-9)
    slope = min(max(beyond / spread, -most), most) if spread > 1e-9 else 0.0
    return np.maximum(values - slope * counts * centred, np.minimum(values, 0.0))


def _concatenate(tables: list[Floats]) -> Floats:
    return np.concatenate([table.ravel() for table in tables])
