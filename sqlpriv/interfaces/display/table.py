"""Results as a table for people: fitted to a terminal, whole in a pipe."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TextIO

import pyarrow as pa
from rich.cells import cell_len, set_cell_size
from rich.console import Console
from rich.text import Text

from sqlpriv.interfaces.display.footnote import cell_text, half_width
from sqlpriv.interfaces.display.values import (
    escape_controls,
    numeric,
    rows,
    shown_half_width,
)
from sqlpriv.session.session import Result

PIPE_WIDTH = 100_000
"""Columns of what is no terminal: rows are not fitted to a screen."""
SHOWN = 100
"""Rows that a table shows on a terminal; every other form, and a pipe, has them all."""
TEXT_WIDTH = 80
"""Where a table on a terminal cuts long text, with an ellipsis; text that stands alone is only cut
at the terminal's edge."""
NARROWEST = 16
"""Text is not cut shorter than that to make room for further columns."""
_GAP = 2
EXPLAIN_COLUMNS = (
    "measurement",
    "cells",
    "expected_error",
    "epsilon",
    "relative_error",
    "epsilon_for_10_percent",
    "rho",
    "sigma",
    "mechanism",
)
"""The columns of EXPLAIN PRIVACY that a table shows, what an asker looks for first: a narrow
terminal loses the last ones. The other forms have `sensitivity` and the engine's SQL as well."""
PLAN_COLUMNS = ["explain_key", "explain_value"]
"""What DuckDB's own EXPLAIN gives: a picture of several lines, which is printed as it is."""
Piece = tuple[str, str]
"""A part of a line and its style."""


@dataclass
class TextColumn:
    """A column as it is shown.

    Args:
        name: Its head.
        cells: Its values as people read them, one line each.
        right: Whether they stand flush right.
        narrows: Whether a value may be cut: it is text, and no number and no moment.
        errors: Half-widths beside the values; none where all of them are exact.
        width: Of the values, in terminal cells.
        error_width: Of the half-widths and the gap behind them; 0 without any.
    """

    name: str
    cells: list[str]
    right: bool
    narrows: bool
    errors: list[str]
    width: int
    error_width: int

    def error(self, row: int) -> str:
        """Returns the half-width in a row."""
        return self.errors[row] if self.errors else ""

    @property
    def whole_width(self) -> int:
        """Half-widths included, and the gap to the next column."""
        return self.width + _GAP + self.error_width


def row_limit(console: Console) -> int | None:
    """Returns how many rows of a table are shown there; None for all."""
    return SHOWN if console.is_terminal else None


def print_table(result: Result, console: Console, limit: int | None = None) -> None:
    """Prints the rows of a result, half-widths in a column of their own beside the values.

    A terminal that is too narrow gets long text cut and, if need be, fewer columns, and is told
    so; a number is never cut. A pipe gets every column.

    Args:
        result: One with rows; without rows nothing is printed.
        console: Where to; a terminal gets colour, a pipe gets plain text of any width.
        limit: How many rows to show at most; None for all.
    """
    if result.table is None:
        return
    if result.table.column_names == PLAN_COLUMNS:
        console.file.write("".join(f"{plan}\n" for _, plan in rows(result.table)))
        return
    table = result.table.slice(0, limit)
    if table.column_names[:1] == [EXPLAIN_COLUMNS[0]]:
        table = table.select([name for name in EXPLAIN_COLUMNS if name in table.column_names])
    is_cut = console.is_terminal and table.num_columns > 1
    longest = TEXT_WIDTH if is_cut else console.width
    columns = [_column(result, table, i, longest) for i in range(table.num_columns)]
    fitting = _fit_columns(columns, console.width)
    for line in _lines(fitting, table.num_rows):
        if console.is_terminal:
            shown_line = Text.assemble(*line)
            shown_line.rstrip()
            console.print(shown_line, no_wrap=True, crop=False)
        else:
            console.file.write("".join(text for text, _ in line).rstrip() + "\n")
    if hidden := [column.name for column in columns if column not in fitting]:
        names = ", ".join(hidden)
        console.print(Text(f"too narrow to show {names} (vertical, csv and json have all)"))


def console_for(out: TextIO, width: int | None = None) -> Console:
    """Returns a console on a stream; what is no terminal is as wide as its text needs."""
    return Console(file=out, highlight=False, width=width or (None if out.isatty() else PIPE_WIDTH))


def _column(result: Result, table: pa.Table, at: int, longest: int) -> TextColumn:
    name = table.column_names[at]
    values = [value for (value,) in rows(table.select([at]))]
    widths = [half_width(result, name, i) for i in range(len(values))]
    cells = [
        _one_line(cell_text(result, name, row, value), longest) for row, value in enumerate(values)
    ]
    errors = [
        "" if value is None else shown_half_width(width)
        for value, width in zip(values, widths, strict=True)
    ]
    head = _one_line(name, longest)
    sql_type = table.schema.types[at]
    right = numeric(sql_type)
    narrows = not right and not pa.types.is_temporal(sql_type)
    beside = 0
    if _has_error(result, name):
        beside = max(map(_size, ("±", *errors))) + _GAP
    width = max(map(_size, (head, *cells)))
    return TextColumn(head, cells, right, narrows, errors if beside else [], width, beside)


def _has_error(result: Result, name: str) -> bool:
    return any(width is not None for width in result.half_widths.get(name, ()))


def _fit_columns(columns: list[TextColumn], width: int) -> list[TextColumn]:
    """Returns the first columns, as many as fit.

    Text is narrowed before a column is left out, and columns without any value are left out first.
    """
    if _least_width(columns) > width:
        columns = [c for c in columns if set(c.cells) != {"NULL"}] or columns
    for count in range(len(columns), 0, -1):
        taken = columns[:count]
        excess = sum(column.whole_width for column in taken) - _GAP - width
        spare = sum(_spare(column) for column in taken)
        if excess <= spare or count == 1:
            break
    while excess > 0 and (widest := max(taken, key=_spare)) and _spare(widest) > 0:
        widest.width -= 1
        excess -= 1
    return taken


def _least_width(columns: list[TextColumn]) -> int:
    return sum(column.whole_width - _spare(column) for column in columns) - _GAP


def _spare(column: TextColumn) -> int:
    return max(0, column.width - NARROWEST) if column.narrows else 0


def _lines(columns: list[TextColumn], count: int) -> Iterator[list[Piece]]:
    """Yields the lines of a table: head, rule, rows."""
    yield [piece for column in columns for piece in _pieces(column, column.name, "±", "bold")]
    yield [("─" * (sum(column.whole_width for column in columns) - _GAP), "")]
    for i in range(count):
        yield [piece for c in columns for piece in _pieces(c, c.cells[i], c.error(i))]


def _pieces(column: TextColumn, cell: str, error: str, style: str = "") -> Iterator[Piece]:
    """Yields a cell and the half-width beside it, as wide as the column, and the gap behind."""
    text = cell
    if _size(cell) > column.width:
        text = set_cell_size(cell, column.width - 1) + "…"
    space = " " * (column.width - _size(text) + _GAP)
    style = style or ("dim" if cell == "NULL" else "")
    yield (space[_GAP:] + text + space[:_GAP], style) if column.right else (text + space, style)
    if column.errors:
        yield set_cell_size(error, column.error_width), style or "cyan"


def _one_line(text: str, longest: int) -> str:
    """Text as a table has it; the other formats have it whole."""
    line = escape_controls(text).replace("\n", "\\n").replace("\t", "\\t")
    return line if _size(line) <= longest else f"{set_cell_size(line, longest - 1)}…"


def _size(text: str) -> int:
    """Returns how many cells of a terminal a text takes; quickly, where each sign takes one."""
    return len(text) if text.isascii() else cell_len(text)
