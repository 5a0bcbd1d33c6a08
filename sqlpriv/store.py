"""The release file: tables that anyone may have, published whole or not at all.

`people.release.duckdb` is written in DuckDB's storage format of v1.2.0, which DuckDB 1.2 and later
read. Publishing never writes to it: a new file is built beside it (a copy, changed), synced, and
renamed over it. So whoever holds the old file open keeps reading the old one, a crash leaves the
old or the new one whole, and the directory is synced before success is reported. One publisher at
a time holds a lock (`….lock`), which the system lets go when a process dies; what a dead one left
behind is removed by the next.
"""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa

from sqlpriv.errors import OperationalError, Refused, VaultBusy

STORAGE_VERSION = "v1.2.0"
"""Old enough for the DuckDB 1.x inside BI tools."""

NO_EXTENSIONS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
}
SEALED = ("SET enable_external_access = false", "SET lock_configuration = true")


class ReleaseStore:
    """The released tables of one vault.

    Args:
        path: The file; it need not exist yet. Beside it lie the lock and, while publishing, the
            file that is being built.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def publish(
        self, name: str, table: pa.Table, comment: str, types: Mapping[str, str], replace: bool
    ) -> None:
        """Adds a table and returns when it would survive a power cut.

        Args:
            name: Of the table, any text.
            table: Its rows.
            comment: What the table says of itself (`duckdb_tables().comment`).
            types: SQL type of each column.
            replace: Whether a table of that name may be there already, which then is replaced.

        Raises:
            Refused: There is a table of that name and `replace` is false.
            VaultBusy: Somebody has the file open for writing.
            OperationalError: DuckDB could not write it; the old file is untouched.
        """
        columns = ", ".join(f"CAST({_q(c)} AS {types[c]}) AS {_q(c)}" for c in table.column_names)

        def change(engine: duckdb.DuckDBPyConnection) -> bool:
            if not replace and name.lower() in map(str.lower, _tables(engine)):
                raise Refused(
                    f'there is a released table "{name}" already',
                    hint="CREATE OR REPLACE SYNTHETIC TABLE …",
                )
            engine.register("sqlpriv_rows", table)
            made = f"release.main.{_q(name)}"
            engine.execute(f"CREATE OR REPLACE TABLE {made} AS SELECT {columns} FROM sqlpriv_rows")
            engine.execute(f"COMMENT ON TABLE {made} IS {_text(comment)}")
            return True

        self._rebuild(change)

    def drop(self, name: str) -> bool:
        """Removes a table; returns whether there was one. Raises as `publish` does."""

        def change(engine: duckdb.DuckDBPyConnection) -> bool:
            found = name.lower() in map(str.lower, _tables(engine))
            if found:
                engine.execute(f"DROP TABLE release.main.{_q(name)}")
            return found

        return self._rebuild(change) if self.path.exists() else False

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Returns the names of the released tables, each with those of its columns."""
        if not self.path.exists():
            return {}
        with self.connect_read_only() as engine:
            return _tables(engine)

    def connect_read_only(self) -> duckdb.DuckDBPyConnection:
        """Returns a DuckDB connection that sees the released tables and nothing else.

        The tables are in its default schema, read-only; files, the network, extensions and settings
        are out of reach. It keeps seeing the file of now, whatever is published later.
        """
        engine = duckdb.connect(":memory:", config=NO_EXTENSIONS)
        if self.path.exists():
            engine.execute(f"ATTACH {_text(str(self.path))} AS release (READ_ONLY)")
            engine.execute("USE release")
        for setting in SEALED:
            engine.execute(setting)
        return engine

    def copy(self, to: Path) -> None:
        """Writes a copy of the file of now to another place, atomically. It may be given away."""
        building = to.with_name(f".{to.name}.{os.getpid()}.tmp")
        shutil.copyfile(self.path, building)
        _into_place(building, to)

    def _rebuild(self, change: Callable[[duckdb.DuckDBPyConnection], bool]) -> bool:
        """Applies a change to a copy and renames that over the file; returns what it returned."""
        with self._locked():
            self._clear()
            if Path(f"{self.path}.wal").exists():
                raise VaultBusy(f"{self.path.name} is open for writing elsewhere; close it there")
            building = self.path.with_name(f".{self.path.name}.{os.getpid()}.tmp")
            try:
                if self.path.exists():
                    shutil.copyfile(self.path, building)
                changed = _changed(building, change)
                if changed:
                    _into_place(building, self.path)
            finally:
                self._clear()
            return changed

    def _clear(self) -> None:
        """Removes what publishers left behind: only the holder of the lock has files here."""
        for leftover in self.path.parent.glob(f".{self.path.name}.*.tmp*"):
            leftover.unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with open(f"{self.path}.lock", "ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _changed(building: Path, change: Callable[[duckdb.DuckDBPyConnection], bool]) -> bool:
    try:
        with duckdb.connect(":memory:", config=NO_EXTENSIONS) as engine:
            version = f"(STORAGE_VERSION '{STORAGE_VERSION}')"
            engine.execute(f"ATTACH {_text(str(building))} AS release {version}")
            changed = change(engine)
            engine.execute("CHECKPOINT release")
            engine.execute("DETACH release")
            return changed
    except duckdb.Error as error:
        raise OperationalError(f"the release file could not be written: {error}") from None


def _into_place(building: Path, path: Path) -> None:
    """Syncs a file, renames it, syncs the directory: in this order nothing half can be seen."""
    _sync(building)
    os.replace(building, path)
    _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _tables(engine: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    rows = engine.execute(
        "SELECT table_name, column_name FROM duckdb_columns()"
        " WHERE database_name = 'release' AND schema_name = 'main' AND NOT internal"
        " ORDER BY table_name, column_index"
    ).fetchall()
    for table, column in rows:
        found.setdefault(table, []).append(column)
    return {table: tuple(columns) for table, columns in found.items()}


def _q(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def _text(literal: str) -> str:
    return "'" + literal.replace("'", "''") + "'"
