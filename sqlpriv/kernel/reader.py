"""The engine, opened read-only for one statement. Only `kernel.gate` may import this.

Claim: nothing that the engine says leaves this file but exact integers for the gate, the catalog
(names and types: public), rows of tables declared public, and errors of fixed text. DuckDB's own
error texts quote values; they are dropped, chain and all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.errors import OperationalError, ReadFailed, VaultBusy
from sqlpriv.kernel.contract import CatalogTable, Column
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


class Reader:
    """One read-only connection to the vault. While it is open no process can write the file."""

    def __init__(self, vault: Path) -> None:
        if not vault.exists():
            raise OperationalError(
                f"there is no vault {vault.name}; an owner's connection makes one"
            )
        try:
            self._duckdb = duckdb.connect(str(vault), read_only=True, config=SEALED_CONFIG)
        except duckdb.Error as error:
            busy = "lock" in str(error).lower() or "different configuration" in str(error)
            failure = VaultBusy if busy else OperationalError
            why = "is being written" if busy else "cannot be opened as a DuckDB file"
            raise failure(f"the vault {vault.name} {why}; nothing was read or charged") from None
        self.fingerprint = fingerprint(vault)
        for macro in macros():
            self._duckdb.execute(macro)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._duckdb.close()

    def catalog(self) -> tuple[CatalogTable, ...]:
        """Returns the base tables of schema main: names and types only."""
        with _silenced("the catalog could not be read"):
            rows = self._duckdb.execute(
                "SELECT table_name, column_name, data_type FROM duckdb_columns() "
                "WHERE schema_name = 'main' AND database_name = current_database() "
                "AND table_name IN (SELECT table_name FROM duckdb_tables()) "
                "ORDER BY table_name, column_index"
            ).fetchall()
            keys = self._duckdb.execute(
                "SELECT table_name, constraint_column_names[1] FROM duckdb_constraints() "
                "WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE') "
                "AND len(constraint_column_names) = 1"
            ).fetchall()
        tables: dict[str, list[Column]] = {}
        for table, column, sql_type in rows:
            tables.setdefault(table, []).append(Column(column, type_of(sql_type), sql_type))
        return tuple(
            CatalogTable(t, tuple(cs), frozenset(c.lower() for owner, c in keys if owner == t))
            for t, cs in tables.items()
        )

    def cells(self, sql: str, queries: int) -> list[tuple[NDArray[np.int64], list[int]]]:
        """Returns, for each query of a rendered statement, cell numbers and exact integers."""
        with _silenced("the engine could not finish reading; the charge stays"):
            result = self._duckdb.execute(sql)
            if result.description[2][1] == duckdb.sqltypes.BIGINT:
                columns = result.fetchnumpy()
                rows = np.stack([np.asarray(columns[c]) for c in ("query", "cell", "value")])
                numbers, cells, values = rows[0], rows[1], rows[2].tolist()
            else:
                fetched = result.fetchall()
                numbers = np.array([row[0] for row in fetched], dtype=np.int64)
                cells = np.array([row[1] for row in fetched], dtype=np.int64)
                values = [row[2] for row in fetched]
        found = []
        for number in range(queries):
            at = np.flatnonzero(numbers == number)
            found.append((cells[at].astype(np.int64), [values[i] for i in at]))
        return found

    def truths(self, sql: str) -> tuple[Any, ...]:
        """Returns the one row of a verifying query (owner's declarations only)."""
        with _silenced("the declaration could not be verified"):
            row = self._duckdb.execute(sql).fetchone()
        return row or ()

    def rows(self, table: str) -> pa.Table:
        """Returns all rows of a table; the gate calls this for public tables alone."""
        with _silenced("the public table could not be read"):
            result = self._duckdb.execute(f"SELECT * FROM main.{name(table)}")
            return result.to_arrow_table()  # type: ignore[return-value]  # the stub says Optional


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


@contextmanager
def _silenced(text: str) -> Iterator[None]:
    """Replaces the engine's error, whose text may quote rows, by one of fixed text."""
    failed = False
    try:
        yield
    except (duckdb.Error, MemoryError):
        failed = True
    if failed:  # raised outside the handler: no __context__ holds the engine's text
        raise ReadFailed(text)
