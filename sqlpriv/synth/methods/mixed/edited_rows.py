"""Rows that are edited, a value at a time, until they agree with noised tables.

Liu, Vietri and Wu 2023 ("Generating Private Synthetic Data with Genetic Algorithms",
arXiv:2306.03257) mutate whole data sets and keep the best. Here one data set is kept, and of every
row the number of its cell in every measured table. Changing one value moves the row from cell a to
cell b of the tables over that column alone, so the change of the objective, the sum over tables of
w (M - Y)^2 with M the rows' counts, Y the noised ones and w = 1 / sigma^2, is the sum over those
tables of w (2 s (R_b - R_a) + 2 s^2), where R = M - Y and s is how many people a row stands for.
An edit is made where that is below 0. All of it is post-processing of releases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats

Ints = NDArray[np.int64]
Cells = NDArray[np.int32]
PROPOSED = 4_096
"""Edits that are looked at together."""
CHECKED = 48
"""Edits that are made together, at most: each was found better by itself, and of those that were
proposed together many fill the same cell. They are looked at again in portions, so that a portion
sees what the ones before have changed; a portion is at most a thousandth of the rows, so that what
its edits do to each other is small."""


@dataclass(frozen=True, eq=False)
class GroupAxis:
    """An axis of a table: a column and the cell number of each of its levels, shape (levels,)."""

    column: int
    groups: Ints


@dataclass(frozen=True, eq=False)
class FormAxis:
    """An axis of a table: a linear form of columns, in bins.

    Args:
        terms: By column, what the mean of each of its levels adds to the form, and what a place
            inside the level at its upper end adds to that, shape (levels, 2).
        edges: Ascending, shape (bins - 1,).
    """

    terms: Mapping[int, Floats]
    edges: Floats


@dataclass(frozen=True, eq=False)
class FittedTable:
    """A noised table that rows are fitted to.

    Args:
        axes: Of the table; a form, if there is one, comes first.
        counts: Noised, shape (cells of axis 1, cells of axis 2, …).
        sigma: The noise's standard deviation.
    """

    axes: tuple[GroupAxis | FormAxis, ...]
    counts: Floats
    sigma: float

    def columns(self) -> set[int]:
        """Returns the columns that a row's cell depends on."""
        return {
            column
            for axis in self.axes
            for column in (axis.terms if isinstance(axis, FormAxis) else (axis.column,))
        }


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Rows of levels, and where inside its level each value lies.

    A level of a number is a range of values. Were all its rows at one value, a slice finer than
    levels could not be met; so each row has a place in every level that it may be moved to.

    Args:
        levels: Shape (rows, columns).
        places: From -1, the lower end, to 1, of that shape.
    """

    levels: Ints
    places: Floats

    def __len__(self) -> int:
        return len(self.levels)

    def take(self, at: Ints) -> PlacedRows:
        """Returns a copy of some rows."""
        return PlacedRows(self.levels[at], self.places[at])


def cells_of(axes: Sequence[GroupAxis | FormAxis], shape: Sequence[int], rows: PlacedRows) -> Ints:
    """Returns the row-major cell number of each row, shape (rows,)."""
    cell = np.zeros(len(rows), dtype=np.int64)
    for axis, size in zip(axes, shape, strict=True):
        cell = cell * size + positions_on(axis, rows)
    return cell


def positions_on(axis: GroupAxis | FormAxis, rows: PlacedRows) -> Ints:
    """Returns the position of each row on an axis, shape (rows,)."""
    if isinstance(axis, GroupAxis):
        return axis.groups[rows.levels[:, axis.column]]
    return np.searchsorted(axis.edges, form_values(axis.terms, rows), side="right")


def form_values(terms: Mapping[int, Floats], rows: PlacedRows) -> Floats:
    """Returns the linear form of each row, shape (rows,)."""
    form = np.zeros(len(rows))
    for column, term in terms.items():
        parts = term[rows.levels[:, column]]
        form += parts[:, 0] + parts[:, 1] * rows.places[:, column]
    return form


class EditedRows:
    """Rows and the tables that they are fitted to.

    Args:
        rows: To begin with; their levels are edited in place.
        total: How many people they stand for, above 0.
        proposals: By column, the shares of levels that new values are drawn by.
    """

    def __init__(self, rows: PlacedRows, total: float, proposals: Mapping[int, Floats]) -> None:
        self.rows, self.scale = rows, total / max(len(rows), 1)
        self._running = {c: np.cumsum(p / p.sum()) for c, p in proposals.items()}
        self._tables: list[FittedTable] = []
        self._cells = np.zeros((len(rows), 0), dtype=np.int32)
        self._residuals, self._ends = np.zeros(0), [0]
        self._moves: dict[int, _Moves] = {}

    def fit_tables(self, tables: Sequence[FittedTable]) -> None:
        """Adds tables to those that the rows are fitted to."""
        residuals, columns = [self._residuals], [self._cells]
        for table in tables:
            cell = cells_of(table.axes, table.counts.shape, self.rows)
            counts = np.bincount(cell, minlength=table.counts.size) * self.scale
            residuals.append(counts - table.counts.ravel())
            columns.append((cell + self._ends[-1]).astype(np.int32)[:, None])
            self._ends.append(self._ends[-1] + table.counts.size)
        self._tables += tables
        self._residuals = np.concatenate(residuals)
        self._cells = np.concatenate(columns, axis=1)
        self._moves = {}

    def counts(self, axes: Sequence[GroupAxis | FormAxis], shape: Sequence[int]) -> Floats:
        """Returns how many people the rows stand for in each cell of a table, of its shape."""
        cell = cells_of(axes, shape, self.rows)
        counts = np.bincount(cell, minlength=int(np.prod(shape))).astype(np.float64)
        return counts.reshape(shape) * self.scale

    def loss(self) -> float:
        """Returns the sum over tables of w (M - Y)^2."""
        parts = (
            float(np.sum(self._residuals[begin:end] ** 2)) / max(t.sigma, LEAST_SIGMA) ** 2
            for t, begin, end in zip(self._tables, self._ends, self._ends[1:], strict=False)
        )
        return sum(parts)

    def edit(self, proposals: int, rng: np.random.Generator) -> int:
        """Proposes so many edits and returns how many were made."""
        if not len(self.rows) or not self._tables:
            return 0
        self._moves = self._moves or self._plan_moves()
        columns = [c for c in self._running if c in self._moves]
        edits = 0
        for _ in range(max(1, -(-proposals // PROPOSED)) if columns else 0):
            column = columns[int(rng.integers(len(columns)))]
            at = rng.integers(len(self.rows), size=min(PROPOSED, len(self.rows)))
            drawn = np.searchsorted(self._running[column], rng.random(at.size), side="right")
            new = np.minimum(drawn, len(self._running[column]) - 1)
            better = np.flatnonzero(self._gains(column, at, new)[0] < 0)
            _, first = np.unique(at[better], return_index=True)  # one edit of a row
            better = better[np.sort(first)]
            portion = min(CHECKED, max(1, len(self.rows) // 1_000))
            for begin in range(0, better.size, portion):
                part = better[begin : begin + portion]
                edits += self._make(column, at[part], new[part])
        return edits

    def _plan_moves(self) -> dict[int, _Moves]:
        """Returns, by column, what an edit of it changes."""
        columns = sorted(set().union(*(t.columns() for t in self._tables)))
        return {c: _Moves(c, self._tables, self._ends) for c in columns}

    def _gains(self, column: int, at: Ints, new: Ints) -> tuple[Floats, Cells, Cells]:
        """Returns by how much each edit changes the loss, and cells before and after."""
        moves, rows = self._moves[column], self.rows.take(at)
        old_cells = self._cells[at][:, moves.tables]
        new_cells = moves.cells_after(rows, new, old_cells)
        slope = self._residuals[new_cells] - self._residuals[old_cells]
        slope += (new_cells != old_cells) * self.scale
        return slope @ moves.weights, old_cells, new_cells

    def _make(self, column: int, at: Ints, new: Ints) -> int:
        gains, old_cells, new_cells = self._gains(column, at, new)
        better = gains < 0
        at, new = at[better], new[better]
        old_cells, new_cells = old_cells[better], new_cells[better]
        np.add.at(self._residuals, new_cells.ravel(), self.scale)
        np.add.at(self._residuals, old_cells.ravel(), -self.scale)
        self._cells[at[:, None], self._moves[column].tables] = new_cells
        self.rows.levels[at, column] = new
        return at.size


class _Moves:
    """What a new level in one column does to the cells of a row in the tables over it."""

    def __init__(self, column: int, tables: Sequence[FittedTable], ends: Sequence[int]) -> None:
        self.column = column
        over = [i for i, t in enumerate(tables) if column in t.columns()]
        plain = [i for i in over if not _is_form(tables[i])]
        self.forms = [i for i in over if _is_form(tables[i])]
        self.tables = np.array([*plain, *self.forms], dtype=np.int64)
        self.weights = np.array([1 / max(tables[i].sigma, LEAST_SIGMA) ** 2 for i in self.tables])
        self.weights /= self.weights.max()
        self._all, self._ends, self._plain = tables, ends, len(plain)
        steps = [_steps(tables[i], column) for i in plain]
        self._steps = np.stack(steps, axis=1).astype(np.int32) if steps else None

    def cells_after(self, rows: PlacedRows, new: Ints, old_cells: Cells) -> Cells:
        """Returns the cells of these rows (a copy, which is changed) with the new levels, shape
        (rows, tables)."""
        cells = old_cells.copy()
        if self._steps is not None:
            cells[:, : self._plain] += self._steps[new] - self._steps[rows.levels[:, self.column]]
        rows.levels[:, self.column] = new
        for k, i in enumerate(self.forms, self._plain):
            table = self._all[i]
            cells[:, k] = cells_of(table.axes, table.counts.shape, rows) + self._ends[i]
        return cells


def _is_form(table: FittedTable) -> bool:
    return isinstance(table.axes[0], FormAxis)


def _steps(table: FittedTable, column: int) -> Ints:
    """Returns what each level of a column adds to the cell's number, shape (levels,)."""
    stride = 1
    step: Ints | None = None
    for axis, size in zip(reversed(table.axes), reversed(table.counts.shape), strict=True):
        assert isinstance(axis, GroupAxis)
        if axis.column == column:
            step = axis.groups * stride if step is None else step + axis.groups * stride
        stride *= size
    assert step is not None
    return step
