"""Which tables and slices a method of mixed columns may ask, and how rows answer them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.api.grid_queries import Axis, LevelGroups, Slice, axis_size
from sqlpriv.synth.api.method import Space, named_columns
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.inference.one_way_tables import Floats
from sqlpriv.synth.methods.mixed.edited_rows import (
    FormAxis,
    GroupAxis,
    PlacedRows,
    form_values,
)

GROUPS = 16
"""Groups that the levels of a number are put in, in tables of three columns."""
BINS = 32
"""Of a slice."""
DIRECTIONS = 50
"""Slices that may be chosen, of each target. The kernel reads them together: as rows in a slice
differ from row to row, each is a group by itself, and a hundred of them are a wide table."""
MOST_CELLS = 20_000
"""Of a table that may be chosen."""
MOST_TABLES = 1_500
"""Where there are more triples of columns than this, pairs are taken instead."""


@dataclass(frozen=True, eq=False)
class CandidateTable:
    """A table that may be measured.

    Args:
        axes: As the gate is asked.
        fitted: The same axes, as rows of levels answer them.
    """

    axes: tuple[Axis, ...]
    fitted: tuple[GroupAxis | FormAxis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each axis has."""
        return tuple(map(axis_size, self.axes))

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return math.prod(self.shape)


def target_columns(space: Space, text: str | None) -> tuple[int, ...]:
    """Returns the columns that `target = 'label, other'` names. Raises Refused for no column."""
    return named_columns(space, text, "target")


def whole_tables(
    space: Space, targets: Sequence[int], rows: NDArray[np.int64]
) -> list[CandidateTable]:
    """Returns tables of three columns, one a target if there are any; of two where three columns
    make too many, or there are only two; of one where all others have more than MOST_CELLS cells.

    Args:
        space: Of the columns.
        targets: Numbers of columns.
        rows: Levels that say how a number's levels are grouped, shape (rows, columns).
    """
    columns = modelled_columns(space.sizes)
    axes = {c: _grouped_axis(space, c, rows) for c in columns}
    ways = 3 if len(columns) > 2 else 2
    cliques = _cliques(columns, targets, ways)
    if len(cliques) > MOST_TABLES:
        cliques = _cliques(columns, targets, 2)
    tables = [_table([axes[c] for c in clique]) for clique in cliques]
    small = [table for table in tables if table.cells <= MOST_CELLS]
    return small or [_table([axis]) for axis in axes.values()]


def slices(
    space: Space, targets: Sequence[int], rows: PlacedRows, rng: np.random.Generator
) -> list[CandidateTable]:
    """Returns histograms of random linear forms of the numbers, by each target.

    A direction has independent normal weights for columns in units of their standard deviation,
    and its bins are of equal numbers of these rows; both say nothing but what was released.
    """
    columns = [c for c in space.values if space.sizes[c] > 1 and c not in targets]
    if not columns or not len(rows):
        return []
    spread = {c: float(space.values[c][rows.levels[:, c], 0].std()) for c in columns}
    columns = [c for c in columns if spread[c] > 0]
    tables = []
    for _ in range(DIRECTIONS if len(columns) > 1 else 1 if columns else 0):
        weights = [float(rng.normal() / spread[c]) for c in columns]
        terms = {c: w * space.values[c] for c, w in zip(columns, weights, strict=True)}
        edges = np.unique(np.quantile(form_values(terms, rows), np.arange(1, BINS) / BINS))
        axis = Slice(tuple(columns), tuple(weights), tuple(edges.tolist()))
        for target in targets or (None,):
            label = [] if target is None else [_grouped_axis(space, target, rows.levels)]
            whole = _table(label)
            tables.append(
                CandidateTable((axis, *whole.axes), (FormAxis(terms, edges), *whole.fitted))
            )
    return [table for table in tables if table.cells <= MOST_CELLS]


def _cliques(columns: Sequence[int], targets: Sequence[int], ways: int) -> list[tuple[int, ...]]:
    subsets = itertools.combinations(columns, ways)
    return [s for s in subsets if not targets or {*s} & {*targets}]


def _table(axes: Sequence[tuple[LevelGroups, GroupAxis]]) -> CandidateTable:
    return CandidateTable(tuple(a for a, _ in axes), tuple(g for _, g in axes))


def _grouped_axis(
    space: Space, column: int, rows: NDArray[np.int64]
) -> tuple[LevelGroups, GroupAxis]:
    """Returns a column as an axis: a number in at most GROUPS groups of neighbouring levels, of
    about as many rows each, any other column by its levels."""
    size = space.sizes[column]
    starts = np.arange(size)
    if column in space.values and size > GROUPS:
        counts = np.bincount(rows[:, column], minlength=size) + 1e-9
        running = (np.cumsum(counts) - counts / 2) / counts.sum()
        group = np.minimum((running * (GROUPS - 1)).astype(np.int64), GROUPS - 2)
        group[-1] = GROUPS - 1  # the last level may be that of NULL
        starts = np.flatnonzero(np.diff(group, prepend=-1))
    groups = np.searchsorted(starts, np.arange(size), side="right") - 1
    return LevelGroups(column, tuple(starts.tolist())), GroupAxis(column, groups)


def one_way_shares(rows: NDArray[np.int64], sizes: Sequence[int]) -> Mapping[int, Floats]:
    """Returns the shares of the levels of each column of several, a little for levels of no row."""
    shares: dict[int, Floats] = {}
    for c in modelled_columns(tuple(sizes)):
        counts = np.bincount(rows[:, c], minlength=sizes[c]).astype(np.float64)
        shares[c] = counts + 1e-3 * max(len(rows), 1) / sizes[c]
    return shares
