"""Outputs, HAVING, ORDER BY, LIMIT over a table of cells, in a DuckDB with nothing else in it."""

from __future__ import annotations

import os
from functools import cache

import duckdb
import pyarrow as pa

from sqlpriv.errors import Refused
from sqlpriv.plan.computed_columns import GROUP, POPULATION, STRATUM, SUMMED, aggregates_in
from sqlpriv.plan.output_half_widths import half_width
from sqlpriv.plan.plan import Output
from sqlpriv.statements import sql
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import walk
from sqlpriv.system.quiet_engine import open_utc_engine

POSITION, TABLE = "position", "cells"
SANDBOX: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "memory_limit": "1GB",
    "threads": "1",
    "lock_configuration": "true",
}


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
    return open_utc_engine(SANDBOX)


os.register_at_fork(after_in_child=_engine.cache_clear)  # threads do not survive a fork


def evaluate_outputs(
    engine: duckdb.DuckDBPyConnection, output: Output, halves: list[int]
) -> pa.Table:
    """Returns columns c0, c1, … of the outputs, h… of the half-widths asked for, then s… of the
    outputs that are keys: 1 where the row is of all values of the key."""
    selected = [f"{sql(item)} AS c{i}" for i, item in enumerate(output.items)]
    widths = ((i, half_width(output.items[i], output.shared)) for i in halves)
    selected += [f"{sql(width)} AS h{i}" for i, width in widths if width is not None]
    selected += [f"{mark} AS s{i}" for i, mark in marks_of_sums(output)]
    text = f"SELECT {', '.join(selected)} FROM {_shown_cells(output)}"
    if output.having is not None:
        text += f" WHERE {sql(output.having)}"
    text += f" ORDER BY {', '.join([*map(_order, output.order_by), POSITION])}"
    text += f" LIMIT {sql(output.limit)}" if output.limit else ""
    text += f" OFFSET {sql(output.offset)}" if output.offset else ""
    try:
        rows: pa.Table = engine.sql(text).to_arrow_table()
    except duckdb.Error as error:
        reason = str(error).split("\n", 1)[0]
        raise Refused(
            f"the outputs cannot be computed from the released numbers: {reason}",
            hint="DuckDB's scalar functions over keys and aggregates can be used",
        ) from None
    return rows


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


def _order(term: t.Order) -> str:
    nulls = "" if term.nulls_first is None else f" NULLS {'FIRST' if term.nulls_first else 'LAST'}"
    return f"({sql(term.expr)}) {'DESC' if term.descending else 'ASC'}{nulls}"
