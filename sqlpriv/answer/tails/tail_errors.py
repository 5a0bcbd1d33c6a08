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

An output has no half-width either where it may be infinite, as an exponential may, where it rests
on several numbers whose noise may be shared, where it changes with a number whose own half-width is
unknown, and where its row cannot be found again. Nor has a key that the tail passes on: where other
rows come first, their keys are other names, not a number that is off. A row is found again by such
keys, if they name it.

Nothing here is private: noised answers are all that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    moves_of_one_number,
    of_several,
    passed_on_widths,
    random_patterns,
)
from sqlpriv.answer.tails.noised_columns import (
    NoisedColumn,
    TailInput,
    as_floats,
    measure_apart,
    named_key_values,
    noised_columns,
)
from sqlpriv.answer.tails.stable_rows import (
    NamedValues,
    holds_numbers,
    key_columns,
    named_rows,
    passes_on_keys,
    stable_columns,
)
from sqlpriv.errors import Error
from sqlpriv.system import arrow

Array = NDArray[np.float64]
RunTail = Callable[[Mapping[str, pa.Table]], pa.Table]
RunTogether = Callable[[Sequence[Mapping[str, pa.Table]]], Sequence[pa.Table]]

MOST_NUMBERS, MOST_COLUMNS, MOST_BYTES = 2_000, 8, 2**26
"""Of answers of more numbers, or more bytes, nothing is run again; of more columns no output of
several numbers has a half-width."""


def tail_half_widths(
    table: pa.Table,
    answers: Mapping[str, TailInput],
    run: RunTail,
    run_together: RunTogether | None = None,
) -> dict[str, list[float | None]]:
    """Returns the half-widths of 95 % intervals of a tail's columns, by name, in every row.

    Args:
        table: What the tail gave.
        answers: What the tail reads, by name.
        run: Runs the tail, with these tables in the place of answers.
        run_together: Does so for several at once, the rows of each in no order.
    """
    noised = [column for name, answer in answers.items() for column in noised_columns(name, answer)]
    halves = np.concatenate([column.half_widths for column in noised]) if noised else np.zeros(0)
    numbers = _numeric_columns(table)
    is_large = len(halves) > MOST_NUMBERS or table.nbytes > MOST_BYTES
    if not numbers or not np.isfinite(halves).any() or is_large:
        return {}
    keys = [key for answer in answers.values() for key in named_key_values(answer)]
    moves = _TailMoves(table, numbers, noised, keys, answers, run, run_together)
    with np.errstate(over="ignore", invalid="ignore"):  # of infinite numbers, and their squares
        widths, runs = _move_widths(moves)
    ended = [table, *(rows for rows in runs if rows is not None)]
    return {
        table.column_names[at]: [float(width) if width > 0 else None for width in column]
        for at, column in zip(numbers, widths.T, strict=True)
        if (column > 0).any() and not passes_on_keys(at, ended, keys)
    }


def _move_widths(moves: _TailMoves) -> tuple[Array, list[pa.Table | None]]:
    """Returns the half-widths of a tail's numbers, of shape (rows, columns), NaN where unknown, and
    the tail's rows by random patterns."""
    noised = moves.noised
    halves = np.concatenate([column.half_widths for column in noised])
    patterns = random_patterns(len(halves))
    runs = moves.run_patterns(patterns)
    moved = moves.from_table(runs, by_place=True)
    widths = moves_of_one_number(moved, patterns)
    widths = np.where(np.isnan(widths), passed_on_widths(moved, patterns, halves), widths)
    several = np.isnan(widths) & (np.abs(np.nan_to_num(moved)).max(axis=0, initial=0.0) > 0)
    if several.any() and measure_apart(moves.answers.values()) and len(noised) <= MOST_COLUMNS:
        several &= moves.numbers_of_one_column(patterns[0])
        widths = np.where(several, moves.of_several(several), widths)
    return np.where(moves.numbers_of_unknown() | np.isinf(widths), np.nan, widths), runs


def _numeric_columns(table: pa.Table) -> list[int]:
    return [at for at, column in enumerate(table.columns) if holds_numbers(column.type)]


@dataclass(frozen=True)
class _TailMoves:
    """Runs a tail over moved answers, and tells how far each of its numbers moves."""

    table: pa.Table
    numbers: list[int]
    noised: list[NoisedColumn]
    keys: list[NamedValues]
    answers: Mapping[str, TailInput]
    run: RunTail
    run_together: RunTogether | None

    def moves_by_pattern(self, patterns: Array) -> Array:
        """Returns d, of shape (patterns, rows, columns): NaN where a row is not found again.

        Args:
            patterns: Of shape (patterns, numbers).
        """
        return self.from_table(self.run_patterns(patterns), by_place=False)

    def run_patterns(self, patterns: Array) -> list[pa.Table | None]:
        """Returns the tail's rows of each pattern; None where it fails."""
        halves = np.concatenate([column.half_widths for column in self.noised])
        return self._run_moved(np.nan_to_num(patterns * halves))

    def from_table(self, runs: Sequence[pa.Table | None], by_place: bool) -> Array:
        """Returns how far the numbers of each run are from the table's, of shape (runs, rows,
        columns): NaN where a row is not found again.

        Args:
            runs: Of `run_patterns`.
            by_place: Rows that nothing names are those at the same place.
        """
        return self._values(runs, by_place) - self._values([self.table], True)

    def of_several(self, wanted: NDArray[np.bool_]) -> Array:
        """Returns the half-widths of outputs of several numbers, of shape (rows, columns).

        Args:
            wanted: Which of the outputs they are; nothing is run again for others.
        """
        numbers = sum(len(column.values) for column in self.noised)
        signs = balanced_signs(numbers)
        ahead, back = self.moves_by_pattern(signs), self.moves_by_pattern(-signs)
        widths = of_several(ahead, back, numbers)
        is_bent = bends_back(ahead, back)
        chosen = is_bent & wanted
        if chosen.any():
            chosen &= self._are_numbers(signs, ahead) & self._are_numbers(-signs, back)
            widths = widths + np.where(chosen, mean_bend(ahead, back), 0.0)
        if (is_bent & wanted).any():
            halfway = self.moves_by_pattern(signs / 2), self.moves_by_pattern(-signs / 2)
            widths = np.where(is_bent & has_pole(ahead, back, *halfway), np.nan, widths)
        return widths

    def _are_numbers(self, patterns: Array, moves: Array) -> NDArray[np.bool_]:
        """Returns which outputs are a number of an answer, or how far two are apart, in every run
        where they are there; of shape (rows, columns). `moves` are those of `moves_by_pattern`."""
        values = np.concatenate([column.values for column in self.noised])
        halves = np.concatenate([column.half_widths for column in self.noised])
        outputs = moves + self._values([self.table], True)
        chosen = np.ones(outputs.shape[1:], bool)
        for pattern, output in zip(patterns, outputs, strict=True):
            moved = values + np.nan_to_num(pattern * halves)
            chosen &= are_numbers_or_apart(output, moved) | ~np.isfinite(output)
        return chosen

    def numbers_of_one_column(self, pattern: Array) -> NDArray[np.bool_]:
        """Returns which numbers are made of at most one column of each answer, of shape (rows,
        columns): two figures of one cell may share the noise of its count."""
        owners = np.concatenate(
            [np.full(len(c.values), number) for number, c in enumerate(self.noised)]
        )
        alone = np.where(owners == np.arange(len(self.noised))[:, None], pattern, 0.0)
        moves = self.moves_by_pattern(alone) != 0  # a row that is not found moves, too
        answers = [column.answer for column in self.noised]
        counts = [
            sum(moved for moved, of in zip(moves, answers, strict=True) if of == answer)
            for answer in set(answers)
        ]
        return np.asarray(np.max(counts, axis=0) <= 1)

    def numbers_of_unknown(self) -> NDArray[np.bool_]:
        """Returns which numbers change, or are not found again, where those of unknown half-widths
        are others, of shape (rows, columns)."""
        halves = np.concatenate([column.half_widths for column in self.noised])
        values = np.concatenate([column.values for column in self.noised])
        if not np.isnan(halves).any():
            return np.zeros((self.table.num_rows, len(self.numbers)), bool)
        step = np.where(np.isnan(halves), 0.1 * np.abs(np.nan_to_num(values)) + 1.0, 0.0)
        (moved,) = self.from_table(self._run_moved(step[None]), by_place=True)
        return np.asarray(moved != 0)

    def _run_moved(self, steps: Array) -> list[pa.Table | None]:
        """Returns the tail's rows with the noised numbers moved by each step; None where it fails.

        Args:
            steps: Of shape (steps, numbers).
        """
        changes = [self._move_answers(step) for step in steps]
        return self._runs_together(changes) or [self._run_alone(change) for change in changes]

    def _runs_together(self, changes: Sequence[Mapping[str, pa.Table]]) -> list[pa.Table | None]:
        """Returns the tail's rows for each of some changed answers; none where they cannot be had
        together: where a run fails, where nothing but the place tells a row, or where answers that
        are not changed give other numbers than the table's, as random() does."""
        if self.run_together is None or len(changes) * self.table.nbytes > MOST_BYTES:
            return []
        nowhere = np.zeros(sum(len(column.values) for column in self.noised))
        try:
            *runs, same = self.run_together([*changes, self._move_answers(nowhere)])
        except (Error, pa.ArrowInvalid):
            return []
        every, names = (self.table, *runs, same), self.table.column_names
        if same.column_names != names or same.num_rows != self.table.num_rows:
            return []
        if {rows.num_rows for rows in every} != {1} and not self._named_by(every[1:]):
            return []
        alone, together = self._values([self.table], True), self._values([same], False)
        return runs if np.allclose(together, alone, rtol=1e-9, atol=0.0, equal_nan=True) else []

    def _move_answers(self, step: Array) -> dict[str, pa.Table]:
        """Returns the answers with the noised numbers moved."""
        changed = {name: answer.table for name, answer in self.answers.items()}
        start = 0
        for column in self.noised:
            rows, end = changed[column.answer], start + len(column.values)
            moved = column.values + step[start:end]
            at = rows.column_names.index(column.name)
            array = arrow.numbers(moved, np.isnan(moved))
            changed[column.answer] = rows.set_column(at, column.name, array)
            start = end
        return changed

    def _run_alone(self, changed: Mapping[str, pa.Table]) -> pa.Table | None:
        """Returns the tail's rows for changed answers; None where it fails."""
        try:
            rows = self.run(changed)
        except (Error, pa.ArrowInvalid):  # a cast or a division that these numbers do not allow
            return None
        return rows if rows.column_names == self.table.column_names else None  # PIVOT makes others

    def _named_by(self, runs: Sequence[pa.Table]) -> list[int] | None:
        """Returns the columns that name the rows of the table and of runs; None if none do."""
        return key_columns(self.table, runs, self.keys) or stable_columns(self.table, runs)

    def _values(self, runs: Sequence[pa.Table | None], by_place: bool) -> Array:
        """Returns the numbers of each run in the rows of the table, of shape (runs, rows, columns):
        NaN where a run has no such row."""
        values = np.full((len(runs), self.table.num_rows, len(self.numbers)), np.nan)
        ended = [rows for rows in runs if rows is not None]
        keys = self._named_by(ended)
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
                    values[number, to, c] = as_floats(rows.column(at))[of]
        return values
