"""A DuckDB without tables, which computes expressions of literals: it has no row to read."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import duckdb

from sqlpriv.kernel.sql.queries import MACROS
from sqlpriv.system.quiet_engine import SANDBOX, open_utc_engine

_OF_TYPES = frozenset(
    (
        "typeof",
        "hash",
        "hex",
        "to_hex",
        "bin",
        "to_binary",
        "bit_count",
        "alias",
        "stats",
        "vector_type",
        "getvariable",
    )
)
"""Functions that give different values for equal values of different types (or bytes). A list of
values keeps neither, so what they would give of its rows cannot be told from it."""


def public_value(text: str) -> Any:
    """Returns the value of an expression of literals; None where DuckDB has none."""
    try:
        rows = public_engine().cursor().execute(f"SELECT {text}").fetchall()
    except duckdb.Error:
        return None
    return rows[0][0]


def is_function(name: str) -> bool:
    """Returns whether DuckDB has a function of that name, of any kind."""
    text = """SELECT count(*) FROM duckdb_functions()
    WHERE internal AND lower(function_name) = lower(?)"""
    return bool(public_engine().cursor().execute(text, [name]).fetchall()[0][0])


@cache
def scalar_functions() -> frozenset[str]:
    """Returns the names of scalar functions whose value follows from their arguments alone.

    A name that also is that of an aggregate or of a function in FROM is left out, but for `repeat`.
    So are functions of moments with a zone, which no list holds: DuckDB 2.0.1 computes them by the
    session's zone.
    """
    text = """SELECT function_name FROM duckdb_functions()
    WHERE NOT coalesce(regexp_matches(parameter_types::VARCHAR, 'TIME ZONE|TZ'), false)
    GROUP BY function_name
    HAVING function_name = 'repeat'
        OR bool_and(function_type = 'scalar' AND stability = 'CONSISTENT')"""
    return (
        frozenset(name.lower() for (name,) in public_engine().execute(text).fetchall()) - _OF_TYPES
    )


@cache
def public_engine() -> duckdb.DuckDBPyConnection:
    """Returns this process's one engine without tables; each call takes a cursor of it. It has the
    kernel's macros, which the texts of the kernel's expressions call."""
    return open_utc_engine({**SANDBOX, "memory_limit": "256MB"}).execute(MACROS)


os.register_at_fork(after_in_child=public_engine.cache_clear)  # threads do not survive a fork
