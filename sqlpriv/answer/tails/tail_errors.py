"""Half-widths of what plain SQL makes of noised answers, found by running it over moved answers.

The tail of a program is any SQL, so its derivatives cannot be read off its text. The tail is run
again for each of a few patterns, with every noised number x_i moved by p_ki h_i, where h_i is its
half-width and p_ki the pattern's number. An output f moves, to first order, by

    d_k = Σ_i p_ki h_i ∂f/∂x_i.

1. **Of one number.** `PATTERNS` random patterns: where d is c times the column p_i of one number i,
   the output is made of that number alone, and its half-width is |c|, whatever noise is shared with
   others. This is so where a subquery's numbers are passed on, by a client's `SELECT * FROM (…)`.
2. **Of several.** Where their noises are independent, `BALANCED` patterns of signs follow, that are
   orthogonal for as many numbers (balanced repeated replication: McCarthy 1969,
   "Pseudo-replication"), and their opposites. The mean of d_k² is Σ_i (h_i ∂f/∂x_i)² then, and with
   more numbers an estimate of it, which Student's t with `BALANCED` degrees of freedom makes
   longer. Of outputs that are not linear, a maximum or a quotient, the two opposite moves differ,
   and the farther one counts, as for expressions over aggregates (`output_half_widths`).
3. **Divisors.** The text of a tail does not say what is divided by what. A quotient whose divisor
   may be 0 moves farther at half of a pattern than at its end (`has_pole`): it may be anything, as
   Fieller's interval is all numbers there, and has no half-width.

An output has no half-width either where it rests on several numbers whose noise may be shared,
where it changes with a number whose own half-width is unknown, and where its row cannot be found
again. Nor has a key that the tail passes on: where other rows come first, their keys
are other names, not a number that is off. A row is found again by such keys, if they name it.

Nothing here is private: noised answers are all that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.answer.tails.move_patterns import (
    are_numbers_or_apart,
    balanced_signs,
    bends_back,
    has_pole,
    mean_bend,
    of_one_number,
    of_several,
    passed_on_widths,
    random_patterns,
)
from sqlpriv.answer.tails.stable_rows import (
    NamedValues,
    hashable_values,
    holds_numbers,
    key_columns,
    named_rows,
    passes_on_keys,
    stable_columns,
)
from sqlpriv.errors import Error
from sqlpriv.plan.output_half_widths import has_half_width
from sqlpriv.plan.plan import Plan

Array = NDArray[np.float64]
RunTail = Callable[[Mapping[str, pa.Table]], pa.Table]

MOST_NUMBERS, MOST_COLUMNS, MOST_BYTES = 2_000, 8, 2**26
"""Of answers of more numbers, or more bytes, nothing is run again; of more columns no output of
several numbers has a half-width."""


@dataclass(frozen=True)
class TailInput:
    """The answer to one private query, which a tail reads.

    Args:
        plan: Of the query.
        table: The answer's rows.
        half_widths: As those of an `Answer`.
    """

    plan: Plan
    table: pa.Table
    half_widths: Mapping[str, list[float | None]]


@dataclass(frozen=True)
class _NoisedColumn:
    """A column of an answer that is made of aggregates."""

    answer: str
    name: str
    values: Array
    half_widths: Array
    """NaN where unknown."""


def tail_half_widths(
    table: pa.Table, answers: Mapping[str, TailInput], run: RunTail
) -> dict[str, list[float | None]]:
    """Returns the half-widths of 95 % intervals of a tail's columns, by name, in every row.

    Args:
        table: What the tail gave.
        answers: What the tail reads, by name.
        run: Runs the tail, with these tables in the place of answers.
    """
    noised = [
        column for name, answer in answers.items() for column in _noised_columns(name, answer)
    ]
    halves = np.concatenate([column.half_widths for column in noised]) if noised else np.zeros(0)
    numbers = _numeric_columns(table)
    is_large = len(halves) > MOST_NUMBERS or table.nbytes > MOST_BYTES
    if not numbers or not np.isfinite(halves).any() or is_large:
        return {}
    keys = [key for answer in answers.values() for key in _key_columns(answer)]
    moves = _TailMoves(table, numbers, noised, keys, answers, run)
    patterns = random_patterns(len(halves))
    runs = moves.run_patterns(patterns)
    moved = moves.from_table(runs, by_place=True)
    widths = of_one_number(moved, patterns)
    widths = np.where(np.isnan(widths), passed_on_widths(moved, patterns, halves), widths)
    several = np.isnan(widths) & (np.abs(np.nan_to_num(moved)).max(axis=0, initial=0.0) > 0)
    if several.any() and _measure_apart(answers.values()) and len(noised) <= MOST_COLUMNS:
        several &= moves.of_one_column_each(patterns[0])
        widths = np.where(several, moves.of_several(several), widths)
    widths = np.where(moves.by_unknown(), np.nan, widths)
    ended = [table, *(rows for rows in runs if rows is not None)]
    return {
        table.column_names[at]: [float(width) if width > 0 else None for width in column]
        for at, column in zip(numbers, widths.T, strict=True)
        if (column > 0).any() and not passes_on_keys(at, ended, keys)
    }


def _key_columns(answer: TailInput) -> list[NamedValues]:
    """Returns the columns of an answer that are not made of aggregates."""
    names = zip(answer.plan.output.names, answer.plan.output.items, strict=True)
    keys = {name for name, item in names if not has_half_width(item)}
    return [
        (name, frozenset(hashable_values(answer.table.column(name))))
        for name in answer.table.column_names
        if name in keys
    ]


def _noised_columns(answer_name: str, answer: TailInput) -> list[_NoisedColumn]:
    """Returns the numeric columns of an answer that are made of aggregates."""
    columns = []
    for name, item in zip(answer.plan.output.names, answer.plan.output.items, strict=True):
        if name in answer.table.column_names and has_half_width(item):
            values = answer.table.column(name)
            if holds_numbers(values.type):
                widths = answer.half_widths.get(name) or [None] * len(values)
                halves = np.array(widths, float)
                columns.append(_NoisedColumn(answer_name, name, _as_floats(values), halves))
    return columns


def _as_floats(column: pa.ChunkedArray) -> Array:
    return np.array([np.nan if x is None else float(x) for x in column.to_pylist()], float)


def _numeric_columns(table: pa.Table) -> list[int]:
    return [at for at, column in enumerate(table.columns) if holds_numbers(column.type)]


def _measure_apart(answers: Collection[TailInput]) -> bool:
    """Whether two cells' noises are independent: there are no totals beside the cells, nothing is
    drawn together, and no two queries measure the same, as far as that is known before keys are
    selected."""
    if sum(answer.plan.selection is not None for answer in answers) > 1:
        return False
    queries = [m.query for answer in answers for m in answer.plan.measurements]
    apart = all(_has_cells_alone(answer.plan) for answer in answers)
    return apart and all(query not in queries[:at] for at, query in enumerate(queries))


def _has_cells_alone(plan: Plan) -> bool:
    output, options = plan.output, plan.options
    pooled = options.smooth or any(recipe.pooled for recipe in output.recipes)
    return not output.strata and len(output.marginals) == 1 and not pooled and not options.integers


@dataclass(frozen=True)
class _TailMoves:
    """Runs a tail over moved answers, and tells how far each of its numbers moves."""

    table: pa.Table
    numbers: list[int]
    noised: list[_NoisedColumn]
    keys: list[NamedValues]
    answers: Mapping[str, TailInput]
    run: RunTail

    def by_patterns(self, patterns: Array) -> Array:
        """Returns d, of shape (patterns, rows, columns): NaN where a row is not found again.

        Args:
            patterns: Of shape (patterns, numbers).
        """
        return self.from_table(self.run_patterns(patterns), by_place=False)

    def run_patterns(self, patterns: Array) -> list[pa.Table | None]:
        """Returns the tail's rows of each pattern; None where it fails."""
        halves = np.concatenate([column.half_widths for column in self.noised])
        return [self._run_moved(step) for step in np.nan_to_num(patterns * halves)]

    def from_table(self, runs: Sequence[pa.Table | None], by_place: bool) -> Array:
        """Returns how far the numbers of each run are from the table's, of shape (runs, rows,
        columns): NaN where a row is not found again.

        Args:
            runs: Of `run_patterns`.
            by_place: Rows that nothing names are those at the same place.
        """
        with np.errstate(invalid="ignore"):  # of infinite numbers
            return self._values(runs, by_place) - self._values([self.table], True)

    def of_several(self, wanted: NDArray[np.bool_]) -> Array:
        """Returns the half-widths of outputs of several numbers, of shape (rows, columns).

        Args:
            wanted: Which of the outputs they are; nothing is run again for others.
        """
        numbers = sum(len(column.values) for column in self.noised)
        signs = balanced_signs(numbers)
        ahead, back = self.by_patterns(signs), self.by_patterns(-signs)
        widths = of_several(ahead, back, numbers)
        is_bent = bends_back(ahead, back)
        chosen = is_bent & wanted
        if chosen.any():
            chosen &= self._are_numbers(signs, ahead) & self._are_numbers(-signs, back)
            widths = widths + np.where(chosen, mean_bend(ahead, back), 0.0)
        if (is_bent & wanted).any():
            halfway = self.by_patterns(signs / 2), self.by_patterns(-signs / 2)
            widths = np.where(is_bent & has_pole(ahead, back, *halfway), np.nan, widths)
        return widths

    def _are_numbers(self, patterns: Array, moves: Array) -> NDArray[np.bool_]:
        """Returns which outputs are a number of an answer, or how far two are apart, in every run
        where they are there; of shape (rows, columns). `moves` are those of `by_patterns`."""
        values = np.concatenate([column.values for column in self.noised])
        halves = np.concatenate([column.half_widths for column in self.noised])
        outputs = moves + self._values([self.table], True)
        chosen = np.ones(outputs.shape[1:], bool)
        for pattern, output in zip(patterns, outputs, strict=True):
            moved = values + np.nan_to_num(pattern * halves)
            chosen &= are_numbers_or_apart(output, moved) | ~np.isfinite(output)
        return chosen

    def of_one_column_each(self, pattern: Array) -> NDArray[np.bool_]:
        """Returns which numbers are made of at most one column of each answer, of shape (rows,
        columns): two figures of one cell may share the noise of its count."""
        owners = np.concatenate(
            [np.full(len(c.values), number) for number, c in enumerate(self.noised)]
        )
        alone = np.where(owners == np.arange(len(self.noised))[:, None], pattern, 0.0)
        moves = self.by_patterns(alone) != 0  # a row that is not found moves, too
        answers = [column.answer for column in self.noised]
        counts = [
            sum(moved for moved, of in zip(moves, answers, strict=True) if of == answer)
            for answer in set(answers)
        ]
        return np.asarray(np.max(counts, axis=0) <= 1)

    def by_unknown(self) -> NDArray[np.bool_]:
        """Returns which numbers change, or are not found again, where those of unknown half-widths
        are others, of shape (rows, columns)."""
        halves = np.concatenate([column.half_widths for column in self.noised])
        values = np.concatenate([column.values for column in self.noised])
        if not np.isnan(halves).any():
            return np.zeros((self.table.num_rows, len(self.numbers)), bool)
        step = np.where(np.isnan(halves), 0.1 * np.abs(np.nan_to_num(values)) + 1.0, 0.0)
        with np.errstate(invalid="ignore"):
            (moved,) = self.from_table([self._run_moved(step)], by_place=True)
        return np.asarray(moved != 0)

    def _run_moved(self, step: Array) -> pa.Table | None:
        """Returns the tail's rows with the noised numbers moved; None where it fails."""
        changed = {name: answer.table for name, answer in self.answers.items()}
        start = 0
        for column in self.noised:
            rows, end = changed[column.answer], start + len(column.values)
            moved = column.values + step[start:end]
            at = rows.column_names.index(column.name)
            array = pa.array(moved, pa.float64(), mask=np.isnan(moved))
            changed[column.answer] = rows.set_column(at, column.name, array)
            start = end
        try:
            rows = self.run(changed)
        except (Error, pa.ArrowInvalid):  # a cast or a division that these numbers do not allow
            return None
        return rows if rows.column_names == self.table.column_names else None  # PIVOT makes others

    def _values(self, runs: Sequence[pa.Table | None], by_place: bool) -> Array:
        """Returns the numbers of each run in the rows of the table, of shape (runs, rows, columns):
        NaN where a run has no such row."""
        values = np.full((len(runs), self.table.num_rows, len(self.numbers)), np.nan)
        ended = [rows for rows in runs if rows is not None]
        keys = key_columns(self.table, ended, self.keys) or stable_columns(self.table, ended)
        lengths = {rows.num_rows for rows in (self.table, *ended)}
        if keys is None and lengths != {1} and (len(lengths) > 1 or not by_place):
            return values
        places = {row: at for at, row in enumerate(named_rows(self.table, keys))}
        for number, rows in enumerate(runs):
            if rows is not None:
                pairs = [(places.get(row), i) for i, row in enumerate(named_rows(rows, keys))]
                to = [place for place, _ in pairs if place is not None]
                of = [i for place, i in pairs if place is not None]
                for c, at in enumerate(self.numbers):
                    values[number, to, c] = _as_floats(rows.column(at))[of]
        return values
