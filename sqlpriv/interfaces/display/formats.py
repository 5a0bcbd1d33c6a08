"""Results in the forms that programs read, and those that people paste: one function a form."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from typing import IO, TextIO

import pyarrow as pa
import pyarrow.parquet as pq
from rich.cells import cell_len

from sqlpriv.interfaces.display.footnote import cell_text, half_width
from sqlpriv.interfaces.display.html import html_table
from sqlpriv.interfaces.display.values import (
    batches,
    escape_controls,
    numeric,
    plain,
    rows,
    shown_half_width,
)
from sqlpriv.session.session import Result

BATCH = 10_000
"""Rows that are Python objects at a time."""


def write_text(result: Result, form: str, out: TextIO) -> None:
    """Writes the rows of a result in one of the forms of `TEXT`; nothing where it has no rows.

    csv, tsv, json and jsonl hold values alone; markdown, vertical and html are for people and hold
    half-widths as well.
    """
    if result.table is not None:
        TEXT[form](result, result.table, out)


def write_binary(result: Result, form: str, out: IO[bytes]) -> None:
    """Writes the rows of a result in one of the forms of `BINARY`; nothing where it has no rows."""
    if result.table is not None:
        BINARY[form](result.table, out)


def _write_csv(_: Result, table: pa.Table, out: TextIO, delimiter: str = ",") -> None:
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\n")
    writer.writerow(table.column_names)
    for batch in batches(table, BATCH):
        writer.writerows([_csv_value(value) for value in row] for row in batch)


def _write_tsv(result: Result, table: pa.Table, out: TextIO) -> None:
    _write_csv(result, table, out, "\t")


def _csv_value(value: object) -> object:
    """NULL is an empty field; everything else is written as JSON would, text without quotes."""
    plain_value = plain(value)
    if isinstance(plain_value, bool | list | dict):
        return json.dumps(plain_value, ensure_ascii=False)
    return plain_value


def _write_json(_: Result, table: pa.Table, out: TextIO) -> None:
    """Writes an array of objects, one row a line; of columns of one name the last one counts."""
    out.write("[")
    for number, line in enumerate(_objects(table)):
        out.write(("," if number else "") + "\n" + line)
    out.write("\n]\n")


def _write_jsonl(_: Result, table: pa.Table, out: TextIO) -> None:
    out.writelines(f"{line}\n" for line in _objects(table))


def _objects(table: pa.Table) -> Iterator[str]:
    names = table.column_names
    for batch in batches(table, BATCH):
        for row in batch:
            record = dict(zip(names, map(plain, row), strict=True))
            yield json.dumps(record, ensure_ascii=False)


def _write_markdown(result: Result, table: pa.Table, out: TextIO) -> None:
    """Writes a table of GitHub's Markdown; half-widths stand in their cells."""
    right = [numeric(kind) for kind in table.schema.types]
    _line([_escape_cell(name) for name in table.column_names], out)
    _line(["---:" if flush else "---" for flush in right], out)
    for row in rows_as_text(result, table):
        _line([_escape_cell(cell) for cell in row], out)


def _line(cells: list[str], out: TextIO) -> None:
    out.write(f"| {' | '.join(cells)} |\n")


def _escape_cell(cell: str) -> str:
    return cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>")


def _write_vertical(result: Result, table: pa.Table, out: TextIO) -> None:
    """Writes a line for each value, rows parted by their number."""
    names = [*map(escape_controls, table.column_names)]
    width = max(map(cell_len, names), default=0)
    for number, row in enumerate(rows_as_text(result, table), 1):
        out.write(f"─[ row {number} ]{'─' * width}\n")
        for name, cell in zip(names, row, strict=True):
            further = cell.replace("\n", f"\n{' ' * width} │ ")
            out.write(f"{name}{' ' * (width - cell_len(name))} │ {further}\n")


def _write_html(result: Result, table: pa.Table, out: TextIO) -> None:
    out.write(html_table(result, table, table.num_rows) + "\n")


def rows_as_text(result: Result, table: pa.Table) -> Iterator[list[str]]:
    """Yields the rows as people read them: `67593 ±34`."""
    names = table.column_names
    for start in range(0, table.num_rows, BATCH):
        for at, row in enumerate(rows(table, start, BATCH), start):
            yield [
                _with_error(cell_text(result, name, at, value), value, half_width(result, name, at))
                for name, value in zip(names, row, strict=True)
            ]


def _with_error(text: str, value: object, width: float | None) -> str:
    error = shown_half_width(width) if value is not None else ""
    return f"{text} {error}" if error else text


def _write_parquet(table: pa.Table, out: IO[bytes]) -> None:
    pq.write_table(table, out)


def _write_arrow(table: pa.Table, out: IO[bytes]) -> None:
    """Writes Arrow's file format, which is Feather's second version."""
    with pa.ipc.new_file(out, table.schema) as file:
        file.write_table(table)


TEXT: dict[str, Callable[[Result, pa.Table, TextIO], None]] = {
    "csv": _write_csv,
    "tsv": _write_tsv,
    "json": _write_json,
    "jsonl": _write_jsonl,
    "markdown": _write_markdown,
    "vertical": _write_vertical,
    "html": _write_html,
}
BINARY: dict[str, Callable[[pa.Table, IO[bytes]], None]] = {
    "arrow": _write_arrow,
    "parquet": _write_parquet,
}
FORMATS = ("table", *TEXT, *BINARY)
