"""The engine, opened read-only for one statement. Only `kernel.gate` may import this.

Claim: nothing that the engine says leaves this file but exact integers for the gate, the catalog
(names and types: public), rows of tables declared public, and errors of fixed text. DuckDB's own
error texts quote values; they are dropped, chain and all.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from sqlpriv.errors import OperationalError, ReadFailed, VaultBusy
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.contract import Column, TableContract, Type
from sqlpriv.kernel.operations import type_of
from sqlpriv.kernel.render import macros, name

SEALED_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "lock_configuration": True,
}
"""No files but the vault, no network, no extensions, and no way to change that by SQL."""
_HEADERS = 3 * 4096
_P = ParamSpec("_P")
_R = TypeVar("_R")


def _silenced(text: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Replaces the engine's error, whose text may quote rows, by one of fixed text."""

    def decorated(read: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(read)
        def silent(*args: _P.args, **named: _P.kwargs) -> _R:
            with suppress(duckdb.Error, MemoryError):
                return read(*args, **named)
            # Raised when the engine's error is gone: inside a handler, or where a `with` ends, it
            # would stay on as __context__, and a traceback prints that.
            raise ReadFailed(text)

        return silent

    return decorated


class Reader(AbstractContextManager["Reader"]):
    """One read-only connection to the vault. While it is open no process can write the file."""

    def __init__(self, vault: Path) -> None:
        if not vault.exists():
            raise OperationalError(f"there is no vault {vault.name}; an owner's session makes one")
        failure: type[OperationalError] | None = None
        try:
            self._duckdb = duckdb.connect(str(vault), read_only=True, config=SEALED_CONFIG)
        except duckdb.Error as error:
            busy = "lock" in str(error).lower() or "different configuration" in str(error)
            failure = VaultBusy if busy else OperationalError
        if failure:  # raised out here, DuckDB's text is not its context
            why = "is being written" if failure is VaultBusy else "cannot be opened as DuckDB's"
            raise failure(f"the vault {vault.name} {why}; nothing was read or charged")
        self.fingerprint = fingerprint(vault)
        for macro in macros():
            self._duckdb.execute(macro)

    def __exit__(self, *_: object) -> None:
        self._duckdb.close()

    @_silenced("the catalog could not be read")
    def catalog(self) -> list[TableContract]:
        """Returns the base tables of schema main, undeclared: names, types and unique columns."""
        found = self._duckdb.execute(
            "SELECT table_name, column_name, data_type, NOT is_nullable,"
            " EXISTS (FROM duckdb_constraints() k"
            " WHERE k.table_oid = c.table_oid AND k.database_oid = c.database_oid AND"
            " constraint_type IN ('PRIMARY KEY', 'UNIQUE') AND"
            " constraint_column_names = [column_name])"
            " FROM duckdb_columns() c WHERE schema_name = 'main' AND"
            " database_name = current_database() AND table_oid IN"
            " (SELECT table_oid FROM duckdb_tables()) ORDER BY table_name, column_index"
        ).fetchall()
        tables: dict[str, TableContract] = {}
        for table, column, sql_type, not_null, unique in found:
            type_ = type_of(sql_type)
            required = not_null and type_ is not Type.REAL  # a NaN is not NULL
            known = tables.get(table, TableContract(table, ()))
            tables[table] = replace(
                known,
                columns=(*known.columns, Column(column, type_, sql_type, required=required)),
                unique=known.unique | {column.lower()} if unique else known.unique,
            )
        return list(tables.values())

    @_silenced("the engine could not finish reading; the charge stays")
    def cells(self, sql: str, queries: Sequence[a.Query]) -> dict[a.Query, list[int]]:
        """Returns the exact integers of each rendered query, in all its measured cells."""
        result = self._duckdb.execute(sql)
        if result.description[2][1] == duckdb.sqltypes.BIGINT:
            columns = result.fetchnumpy()
            numbers, cells, values = (np.asarray(columns[c]) for c in ("query", "cell", "value"))
        else:  # HUGEINT: numpy would make doubles of it
            numbers, cells, values = np.array(result.fetchall(), dtype=object).reshape(-1, 3).T
        exact = {}
        for number, query in enumerate(queries):
            mine, size = np.flatnonzero(numbers == number), math.prod(a.shape(query)[1:])
            strata, at = np.divmod(cells[mine].astype(np.int64), size)
            dense = np.zeros(math.prod(a.shape(query)), dtype=values.dtype)
            dense[np.searchsorted(a.measured_strata(query), strata) * size + at] = values[mine]
            exact[query] = dense.tolist()
        return exact

    @_silenced("the engine cannot plan this statement; nothing was read or charged")
    def rehearse(self, sql: str) -> None:
        """Plans a statement and reads no row: what cannot be bound fails before it is charged."""
        self._duckdb.execute(f"EXPLAIN {sql}")

    @_silenced("the declaration could not be verified")
    def truths(self, sql: str) -> tuple[Any, ...]:
        """Returns the one row of a verifying query (owner's declarations only)."""
        row = self._duckdb.execute(sql).fetchone()
        return row or ()

    @_silenced("the public table could not be read")
    def rows(self, table: str) -> pa.Table:
        """Returns all rows of a table; the gate calls this for public tables alone."""
        found: pa.Table = self._duckdb.sql(f"SELECT * FROM main.{name(table)}").to_arrow_table()
        return found


def fingerprint(vault: Path) -> str:
    """Returns a name of the vault's contents: equal only while nothing was written to it.

    DuckDB numbers its checkpoints in the file's headers, the first three blocks of 4 KiB; what is
    not yet in the file is in the write-ahead log beside it.
    """
    digest = hashlib.sha256()
    with vault.open("rb") as file:
        digest.update(file.read(_HEADERS))
    log = vault.with_name(vault.name + ".wal")
    if log.exists():
        digest.update(log.read_bytes())
    return digest.hexdigest()
