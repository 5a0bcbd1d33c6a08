"""Outputs, HAVING, ORDER BY, LIMIT over a table of cells, in a DuckDB with nothing else in it."""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from sqlpriv.errors import Refused
from sqlpriv.plan.cells.computed_columns import GROUP, POPULATION, STRATUM, SUMMED, aggregates_in
from sqlpriv.plan.output_half_widths import half_width, number_ends, number_parts
from sqlpriv.plan.plan import Output
from sqlpriv.statements import sql
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import walk
from sqlpriv.system import arrow
from sqlpriv.system.quiet_engine import SANDBOX, open_utc_engine

POSITION, TABLE = "position", "cells"
ASK_AGAIN = "its numbers are sealed, and in another expression they cost nothing"
_REHEARSED = (1000, 1, 0, 60, -3, 9)
"""What outputs are rehearsed on; each aggregate has another multiple, so that none are equal."""


MOST_REHEARSALS = 256
_REHEARSALS: dict[object, pa.Table] = {}
"""What outputs gave when they were rehearsed, without rows: the same outputs, over the same made-up
cells, give the same at every price. All of it is public."""


class NeverComputable(Refused):
    """An output fails on all numbers: no part of its statement can do better."""


def engine_of_cells(cells: pa.Table) -> duckdb.DuckDBPyConnection:
    """Returns a connection to a DuckDB in memory that sees the cells and nothing else.

    What is registered is the connection's own. All share one engine, which takes tens of
    milliseconds to start and has nothing stored in it.
    """
    connection = _engine().cursor()
    connection.register(TABLE, cells)
    return connection


@cache
def _engine() -> duckdb.DuckDBPyConnection:
    return open_utc_engine({**SANDBOX, "memory_limit": "1GB"})


os.register_at_fork(after_in_child=_engine.cache_clear)  # threads do not survive a fork


def rehearse_outputs(nothing: pa.Table, output: Output) -> pa.Table:
    """Returns the columns that `evaluate_outputs` would, of no rows, from a run over a few made-up
    cells; once for the same outputs and cells.

    Args:
        nothing: The table of no cell.
        output: What is evaluated.

    Raises:
        Refused: An unknown function, types that do not fit, or an expression that fails on all of
            the numbers.
    """
    cells = rehearsed_cells(nothing, output)
    key = _text_of_outputs(output, [], sql), cells.schema, repr(cells.to_pydict())
    if (columns := _REHEARSALS.get(key)) is not None:
        return columns
    with engine_of_cells(cells) as engine:
        try:
            rows = evaluate_outputs(engine, output, [])
        except Refused:
            engine.register(TABLE, nothing)
            rows = evaluate_outputs(engine, output, [])  # what cannot be bound is refused
            engine.register(TABLE, cells)
            refuse_never_computable(engine, output)
    if len(_REHEARSALS) >= MOST_REHEARSALS:
        _REHEARSALS.clear()
    return _REHEARSALS.setdefault(key, rows.slice(0, 0))


def rehearsed_cells(cells: pa.Table, output: Output) -> pa.Table:
    """Returns a few cells whose aggregates are made up: small numbers, large ones and one below 0.

    Args:
        cells: The table of no cell: its columns and their types.
        output: Whose keys have lists of values, of which the first are taken.
    """
    dimensions = {f"{STRATUM}{i}": d for i, d in enumerate(output.strata)}
    dimensions |= {f"{GROUP}{i}": d for i, d in enumerate(output.groups)}
    columns = []
    for place, field in enumerate(cells.schema):
        dimension = dimensions.get(field.name)
        values: Sequence[Any] = [n * (2 * place + 1) for n in _REHEARSED]
        if dimension is not None:
            first = list(itertools.islice(dimension.values, len(_REHEARSED))) or [None]
            values = [first[i % len(first)] for i in range(len(_REHEARSED))]
        elif field.name.startswith(SUMMED) or field.name == POPULATION:
            values = [0] * len(_REHEARSED)
        elif not (pa.types.is_integer(field.type) or pa.types.is_floating(field.type)):
            values = [None] * len(_REHEARSED)
        columns.append(arrow.array(values, field.type))
    return pa.table(columns, schema=cells.schema)


def evaluate_outputs(
    engine: duckdb.DuckDBPyConnection, output: Output, halves: list[int]
) -> pa.Table:
    """Returns columns c0, c1, … of the outputs, h… of the half-widths asked for, then s… of the
    outputs that are keys: 1 where the row is of all values of the key.

    Raises:
        Refused: An expression fails on a row, or cannot be bound.
    """
    return _run(engine, _text_of_outputs(output, halves, sql))


def evaluate_where_possible(
    engine: duckdb.DuckDBPyConnection, output: Output, halves: list[int]
) -> tuple[pa.Table, tuple[str, ...]]:
    """Returns what `evaluate_outputs` would, NULL wherever an expression fails on a row, and a
    sentence on each that does: these numbers are paid for."""
    failures: dict[t.Node, str] = {}

    def without_failures(node: t.Node) -> str:
        text, reason = _computable_text(engine, node, _shown_cells(output))
        if reason:
            failures[node] = reason
        return text

    rows = _run(engine, _text_of_outputs(output, halves, without_failures))
    names = dict(zip(output.items, output.names, strict=True))
    notes = [
        f'"{names[node]}" is NULL where it cannot be computed: {reason}; {ASK_AGAIN}'
        for node, reason in failures.items()
        if node in names
    ]
    if output.having in failures:
        notes.append(f"HAVING leaves out where it cannot be computed: {failures[output.having]}")
    return rows, tuple(notes)


def refuse_never_computable(engine: duckdb.DuckDBPyConnection, output: Output) -> None:
    """Refuses an expression that fails on each of some rows of very different numbers, unless these
    are out of a type's range: others may be within it.

    Raises:
        NeverComputable: It would be NULL, and paid for, in every row.
    """
    nodes = [*output.items, *(term.expr for term in output.order_by)]
    for node in (*nodes, *([] if output.having is None else [output.having])):
        text, reason = _computable_text(engine, node, _shown_cells(output))
        if reason and not re.search("out of range|overflow", reason, re.IGNORECASE):
            values = _run(engine, f"SELECT {text} FROM {_shown_cells(output)}")
            if values.column(0).null_count == values.num_rows:
                raise _refusal(reason, NeverComputable)


def _text_of_outputs(output: Output, halves: list[int], write: Callable[[t.Node], str]) -> str:
    ends: dict[t.Node, t.Name] = {}
    selected = [f"{write(item)} AS c{i}" for i, item in enumerate(output.items)]
    for i in halves:
        width = half_width(output.items[i], output.shared)
        if width is not None:
            text = sql(number_ends(width, ends)) if write is sql else write(width)
            selected.append(f"{text} AS h{i}")
    selected += [f"{mark} AS s{i}" for i, mark in marks_of_sums(output)]
    cells = _shown_cells(output)
    parts: dict[t.Node, t.Name] = {}
    ends = {number_parts(end, parts): name for end, name in ends.items()}
    for level in (parts, ends):
        columns = ", ".join(f"{sql(node)} AS {name.name}" for node, name in level.items())
        cells = f"(SELECT *, {columns} FROM {cells})" if columns else cells
    text = f"SELECT {', '.join(selected)} FROM {cells}"
    if output.having is not None:
        text += f" WHERE {write(output.having)}"
    terms = (_order(term, write(term.expr)) for term in output.order_by)
    text += f" ORDER BY {', '.join([*terms, POSITION])}"
    text += f" LIMIT {sql(output.limit)}" if output.limit else ""
    text += f" OFFSET {sql(output.offset)}" if output.offset else ""
    return text


def _run(engine: duckdb.DuckDBPyConnection, text: str) -> pa.Table:
    try:
        rows: pa.Table = engine.sql(text).to_arrow_table()
    except (duckdb.Error, OSError) as error:
        raise _refusal(str(error)) from None
    return rows


def _refusal(error: str, kind: type[Refused] = Refused) -> Refused:
    return kind(
        f"the outputs cannot be computed from the released numbers: {_reason(error)}",
        hint="DuckDB's scalar functions over keys and aggregates can be used",
    )


def _reason(error: str) -> str:
    """Returns DuckDB's message without the names of the columns that cells have here."""
    return re.sub(r" when casting from source column \w+$", "", error.split("\n", 1)[0])


def _computable_text(
    engine: duckdb.DuckDBPyConnection, node: t.Node, cells: str
) -> tuple[str, str]:
    """Returns an expression as SQL that fails on none of the cells, and why it failed as written;
    '' where it did not. An expression that cannot stand in TRY, as random() cannot, is NULL."""
    written, reason = sql(node), ""
    if isinstance(node, t.Name):
        return written, ""
    for text in (written, f"TRY({written})"):
        try:
            engine.sql(f"SELECT {text} FROM {cells}").to_arrow_table()
        except (duckdb.Error, OSError) as error:
            reason = reason or _reason(str(error))
        else:
            return text, reason
    return f"CASE WHEN FALSE THEN {written} END", reason


def marks_of_sums(output: Output) -> list[tuple[int, str]]:
    """Returns, of each output that is made of keys alone, its place and the SQL that marks rows in
    which one of these keys is of all values: a column, where the output is a key itself."""
    marks = []
    for i, item in enumerate(output.items):
        names = {part.name for part in walk(item) if isinstance(part, t.Name)}
        groups = sorted(name for name in names if name.startswith(GROUP))
        summed = [f"{SUMMED}{name.removeprefix(GROUP)}" for name in groups]
        if any(name.startswith(STRATUM) for name in names):
            summed.append(POPULATION)
        if summed and not aggregates_in(item):
            marks.append((i, summed[0] if len(summed) == 1 else f"greatest({', '.join(summed)})"))
    return marks


def _shown_cells(output: Output) -> str:
    """Returns the table of cells, with ENUMs, DECIMALs and TIMESTAMPTZs as such: they sort so."""
    named = [(f"{STRATUM}{i}", d.sql_type) for i, d in enumerate(output.strata)]
    named += [(f"{GROUP}{i}", d.sql_type) for i, d in enumerate(output.groups)]
    casts = [f"CAST({name} AS {type_}) AS {name}" for name, type_ in named if type_]
    return f"(SELECT * REPLACE ({', '.join(casts)}) FROM {TABLE})" if casts else TABLE


def _order(term: t.Order, text: str) -> str:
    nulls = "" if term.nulls_first is None else f" NULLS {'FIRST' if term.nulls_first else 'LAST'}"
    return f"({text}) {'DESC' if term.descending else 'ASC'}{nulls}"
