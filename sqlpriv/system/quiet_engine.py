"""DuckDB engines above the kernel, which print nothing.

DuckDB draws a progress bar on stdout for what takes two seconds where Python is interactive: a
notebook, `python -c`, a program read from stdin. Stdout may be a server's log, or a file of rows.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

import duckdb

Config = Mapping[str, str | bool | int | float | list[str]]
MOST_IDLE = 2
_IDLE: list[duckdb.DuckDBPyConnection] = []  # each to an engine of its own
os.register_at_fork(after_in_child=_IDLE.clear)  # threads do not survive a fork


def open_engine(path: str = ":memory:", config: Config | None = None) -> duckdb.DuckDBPyConnection:
    """Opens a DuckDB database as `duckdb.connect` does, without a progress bar.

    Args:
        path: The database's file; one in memory by default.
        config: Settings that it begins with.

    Raises:
        duckdb.Error: The file cannot be opened, or there is no such setting.
    """
    # Only a first connection has a bar. It cannot be SET off where the configuration is locked.
    return duckdb.connect(path, config=dict(config or {})).cursor()


def take_idle_engine() -> duckdb.DuckDBPyConnection:
    """Returns a connection to a DuckDB in memory that has default settings and no tables.

    To start one takes 15 ms of processor time, in which DuckDB lists its functions; to attach a
    database to one that runs takes 0.3 ms. So engines are kept: see `keep_idle_engine`.
    """
    with suppress(IndexError):
        return _IDLE.pop()
    return open_engine()


def keep_idle_engine(connection: duckdb.DuckDBPyConnection) -> None:
    """Keeps a connection and its engine for the next `take_idle_engine`.

    Args:
        connection: The only one to its engine. Both have default settings, no secrets, no tables
            and no attached database.
    """
    if len(_IDLE) < MOST_IDLE:
        _IDLE.append(connection)
    else:
        connection.close()
