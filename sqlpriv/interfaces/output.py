"""Results as text or files: a table for people, CSV, JSON and Parquet for programs."""

from __future__ import annotations

import csv
import json
from typing import IO, TextIO

import pyarrow as pa
import pyarrow.parquet as pq
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from sqlpriv.interfaces.footnote import half_width
from sqlpriv.interfaces.rows import batches, numeric, plain, rows, shown, shown_half_width
from sqlpriv.session import Result

TEXT_FORMATS = ("table", "csv", "json")
FORMATS = (*TEXT_FORMATS, "parquet")
PIPE_WIDTH = 100_000
"""Columns of what is no terminal: rows are not fitted to a screen."""
SHOWN = 100
"""Rows that a table shows on a terminal; every other form, and a pipe, has them all."""
TEXT_WIDTH = 80
"""Where a table cuts long text, with an ellipsis."""


def write_text(result: Result, form: str, out: TextIO) -> None:
    """Writes the rows of a result as csv or json; a result without rows writes nothing."""
    if result.table is not None:
        {"csv": _write_csv, "json": _write_json}[form](result.table, out)


def write_parquet(result: Result, out: IO[bytes]) -> None:
    """Writes the rows of a result as a Parquet file."""
    if result.table is not None:
        pq.write_table(result.table, out)


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
    names = result.table.column_names
    # No text takes more than a third of a terminal, so that the numbers beside it have room.
    longest = min(TEXT_WIDTH, max(12, console.width // 3))
    for columns in range(len(names), 0, -1):
        grid = _grid(result, result.table.select(range(columns)).slice(0, limit), longest)
        if Measurement.get(console, _wide(console), grid).minimum <= console.width:
            break
    console.print(grid, soft_wrap=not console.is_terminal)
    if hidden := names[columns:]:
        console.print(Text(f"too narrow to show {', '.join(hidden)} (csv and json have all)"))


def console_for(out: TextIO) -> Console:
    """Returns a console on a stream; what is no terminal is as wide as its text needs."""
    return Console(file=out, highlight=False, width=None if out.isatty() else PIPE_WIDTH)


def _grid(result: Result, table: pa.Table, longest: int) -> Table:
    grid = Table(box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name, kind in zip(table.column_names, table.schema.types, strict=True):
        # The name goes in as Text: a column may be called [red], which is no markup.
        right = numeric(kind)
        grid.add_column(Text(name), justify="right" if right else "left", no_wrap=right)
        if _has_error(result, name):
            grid.add_column(Text("±"), style="cyan", no_wrap=True)
    for at, row in enumerate(rows(table)):
        grid.add_row(*_cells(result, table.column_names, at, row, longest))
    return grid


def _wide(console: Console) -> ConsoleOptions:
    return console.options.update(max_width=PIPE_WIDTH)


def _has_error(result: Result, name: str) -> bool:
    return any(width is not None for width in result.half_widths.get(name, ()))


def _cells(
    result: Result, names: list[str], at: int, row: tuple[object, ...], longest: int
) -> list[Text]:
    cells = []
    for name, value in zip(names, row, strict=True):
        width = half_width(result, name, at)
        text = _one_line(shown(value, width), longest)
        style = "dim" if value is None else ""
        cells.append(Text(text, style=style, overflow="ellipsis", no_wrap=True))
        if _has_error(result, name):
            cells.append(Text("" if value is None else shown_half_width(width)))
    return cells


def _one_line(text: str, longest: int) -> str:
    """Text as a table has it; the other formats have it whole."""
    line = text.replace("\n", "\\n")
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _write_csv(table: pa.Table, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in batches(table):
        writer.writerows([_csv_value(value) for value in row] for row in batch)


def _csv_value(value: object) -> object:
    """NULL is an empty field; everything else is written as JSON would, text without quotes."""
    found = plain(value)
    if isinstance(found, bool | list | dict):
        return json.dumps(found, ensure_ascii=False)
    return found


def _write_json(table: pa.Table, out: TextIO) -> None:
    """Writes an array of objects, one row a line; of columns of one name the last one counts."""
    names, first = table.column_names, True
    out.write("[")
    for batch in batches(table):
        for row in batch:
            record = dict(zip(names, map(plain, row), strict=True))
            out.write(("" if first else ",") + "\n" + json.dumps(record, ensure_ascii=False))
            first = False
    out.write("\n]\n")
