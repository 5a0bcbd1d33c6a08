"""DuckDB engines above the kernel, which print nothing.

DuckDB draws a progress bar on stdout for what takes two seconds where Python is interactive: a
notebook, `python -c`, a program read from stdin. Stdout may be a server's log, or a file of rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from weakref import WeakSet

import duckdb
import pyarrow as pa

from sqlpriv.errors import ProgrammingError
from sqlpriv.system.idle_engines import IdleEngines, never_free

Config = Mapping[str, str | bool | int | float | list[str]]
SANDBOX: Config = {
    "enable_external_access": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    "threads": "1",
    "lock_configuration": "true",
}
"""Settings of an engine that reaches nothing but what it is given, in one thread."""
BATCH_ROWS = 10_000
MOST_BYTES = 2**31
"""Of an answer that is given as a whole. DuckDB's limit of memory is not one of what it hands over:
15,000 rows joined with themselves took all that a machine had, and others' sessions with it."""
_OPENED: WeakSet[duckdb.DuckDBPyConnection] = WeakSet()
os.register_at_fork(after_in_child=lambda: never_free([*_OPENED]))  # see `idle_engines`
_IDLE = IdleEngines[duckdb.DuckDBPyConnection](most=2)


def open_engine(path: str = ":memory:", config: Config | None = None) -> duckdb.DuckDBPyConnection:
    """Opens a DuckDB database as `duckdb.connect` does, without a progress bar.

    Args:
        path: The database's file; one in memory by default.
        config: Settings that it begins with.

    Raises:
        duckdb.Error: The file cannot be opened, or there is no such setting.
    """
    # Only a first connection has a bar. It cannot be SET off where the configuration is locked.
    engine = duckdb.connect(path, config=dict(config or {})).cursor()
    _OPENED.add(engine)
    return engine


def open_utc_engine(config: Config) -> duckdb.DuckDBPyConnection:
    """Opens a DuckDB in memory whose clock is UTC, as the kernel's is, and not the machine's.

    Args:
        config: Settings that it begins with; a locked configuration is locked last.

    Raises:
        duckdb.Error: There is no such setting.
    """
    settings = {name: value for name, value in config.items() if name != "lock_configuration"}
    engine = open_engine(config=settings)
    engine.execute("SET GLOBAL TimeZone = 'UTC'")  # of cursors, too
    if "lock_configuration" in config:
        engine.execute("SET lock_configuration = true")
    return engine


def take_idle_engine() -> duckdb.DuckDBPyConnection:
    """Returns a connection to a DuckDB in memory that has default settings and no tables.

    To start one takes 15 ms of processor time, in which DuckDB lists its functions; to attach a
    database to one that runs takes 0.3 ms. So engines are kept: see `keep_idle_engine`.
    """
    return _IDLE.take() or open_engine()


def keep_idle_engine(connection: duckdb.DuckDBPyConnection) -> None:
    """Keeps a connection and its engine for the next `take_idle_engine`.

    Args:
        connection: The only one to its engine. Both have default settings, no secrets, no tables
            and no attached database.
    """
    _IDLE.keep(connection)


def read_whole(relation: duckdb.DuckDBPyRelation, most_bytes: int | None = None) -> pa.Table:
    """Returns all rows of a query, as far as they are not too many.

    Args:
        relation: The query.
        most_bytes: Of all rows together; `MOST_BYTES` where it is None.

    Raises:
        ProgrammingError: They take more than that.
        duckdb.Error: The query fails on one of them.
    """
    most = MOST_BYTES if most_bytes is None else most_bytes
    reader = relation.to_arrow_reader(BATCH_ROWS)
    batches, size = [], 0
    try:
        for batch in reader:
            batches.append(batch)
            size += batch.nbytes
            if size > most:
                raise ProgrammingError(
                    f"an answer takes at most {most / 2**30:g} GiB: ask for fewer rows or"
                    " columns (LIMIT 1000000), or in parts; a released table is in its file as a"
                    " whole"
                )
    except OSError as error:  # of Arrow's: texts of two gigabytes, say
        raise ProgrammingError(str(error).split("\n", 1)[0]) from None
    return pa.Table.from_batches(batches, schema=reader.schema)
