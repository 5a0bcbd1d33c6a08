"""DuckDB engines above the kernel, which print nothing.

DuckDB draws a progress bar on stdout for what takes two seconds where Python is interactive: a
notebook, `python -c`, a program read from stdin. Stdout may be a server's log, or a file of rows.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

Config = Mapping[str, str | bool | int | float | list[str]]


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
