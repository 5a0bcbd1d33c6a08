"""The release file: tables that anyone may have, published whole or not at all.

`people.release.duckdb` is written in DuckDB's storage format of v1.2.0, which DuckDB 1.2 and later
read. Publishing never writes to it: a new file is built beside it (a copy, changed) and renamed
over it, as `whole_files` does. One publisher at a time holds a lock (`….lock`).
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from sqlpriv.errors import OperationalError, Refused, VaultBusy
from sqlpriv.system import whole_files
from sqlpriv.system.database_files import RELEASE
from sqlpriv.system.quiet_engine import open_engine, open_utc_engine

STORAGE_VERSION = "v1.2.0"
"""Old enough for the DuckDB 1.x inside BI tools."""

MARK = "differentially private"
"""Every comment of a released table holds it; a table without it is not ours to replace."""

NO_EXTENSIONS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "python_enable_replacements": False,
    "memory_limit": "50%",
}
SEALED = ("SET enable_external_access = false", "SET lock_configuration = true")


def empty_engine() -> duckdb.DuckDBPyConnection:
    """Returns a DuckDB connection that sees no table, and cannot reach any."""
    return _seal_engine(open_utc_engine(NO_EXTENSIONS))


def _seal_engine(engine: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    for setting in SEALED:
        engine.execute(setting)
    return engine


class _Listing(NamedTuple):
    """What one release file holds.

    Args:
        state: Of the file, as `ReleaseStore.state` says it.
        tables: The released tables, each with the names of its columns.
        comments: What each of them says of itself.
    """

    state: tuple[int, ...]
    tables: dict[str, tuple[str, ...]]
    comments: dict[str, str]


NO_FILE = _Listing((), {}, {})


class ReleaseStore:
    """The released tables of one vault.

    Args:
        path: The file; it need not exist yet. Beside it lie the lock and, while publishing, the
            file that is being built.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listed = NO_FILE

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
        casts = (
            f"CAST({quote_identifier(c)} AS {types[c]}) AS {quote_identifier(c)}"
            for c in table.column_names
        )
        columns = ", ".join(casts)

        def change(engine: duckdb.DuckDBPyConnection) -> bool:
            if not replace and name.lower() in map(str.lower, _tables(engine)):
                raise Refused(
                    f'there is a released table "{name}" already',
                    hint="CREATE OR REPLACE SYNTHETIC TABLE …",
                )
            engine.register("sqlpriv_rows", table)
            target = f"release.main.{quote_identifier(name)}"
            engine.execute(
                f"CREATE OR REPLACE TABLE {target} AS SELECT {columns} FROM sqlpriv_rows"
            )
            engine.execute(f"COMMENT ON TABLE {target} IS {_text(comment)}")
            return True

        self._rebuild(change)

    def drop(self, name: str) -> bool:
        """Removes a table; returns whether there was one. Raises as `publish` does."""

        def change(engine: duckdb.DuckDBPyConnection) -> bool:
            existed = name.lower() in map(str.lower, _tables(engine))
            if existed:
                engine.execute(f"DROP TABLE release.main.{quote_identifier(name)}")
            return existed

        return self._rebuild(change) if self.path.exists() else False

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Returns the names of the released tables, each with those of its columns."""
        return dict(self._list().tables)

    def comments(self) -> dict[str, str]:
        """Returns what each released table says of itself: method, price, strata, when, whence."""
        return dict(self._list().comments)

    def _list(self) -> _Listing:
        """Returns what one file holds, which is read once: it is never changed, only replaced."""
        state = self.state()
        if not state:
            return NO_FILE
        if self._listed.state != state:
            with self.connect_read_only() as engine:
                self._listed = _Listing(state, _tables(engine), _comments(engine))
        return self._listed

    def state(self) -> tuple[int, ...]:
        """Returns what tells the file from one that is published later; () where there is none."""
        try:
            at = self.path.stat()
        except FileNotFoundError:
            return ()
        return at.st_dev, at.st_ino, at.st_mtime_ns, at.st_size

    def connect_read_only(self) -> duckdb.DuckDBPyConnection:
        """Returns a DuckDB connection that sees the released tables and nothing else.

        The tables are in its default schema, read-only; files, the network, extensions and settings
        are out of reach. It keeps seeing the file of now, whatever is published later.
        """
        engine = open_utc_engine(NO_EXTENSIONS)
        if self.path.exists():
            self.attach(engine)
        return _seal_engine(engine)

    def attach(self, engine: duckdb.DuckDBPyConnection) -> None:
        """Has an engine of `connect_read_only` that let go of the file see it again, as it is now.

        Raises:
            duckdb.Error: There is no such file any more, or it is open for writing elsewhere.
        """
        engine.execute(f"ATTACH {_text(str(self.path))} AS release (READ_ONLY); USE release")

    def detach(self, engine: duckdb.DuckDBPyConnection) -> None:
        """Has an engine of `connect_read_only` let go of the file, which others may write then."""
        engine.execute("USE memory; DETACH DATABASE IF EXISTS release")

    def take(self, source: ReleaseStore, names: Sequence[str]) -> None:
        """Puts tables of another release file here, comments and all.

        Tables of those names are replaced if they were released, all others stay. Raises as
        `publish` does; Refused also where a table of that name is somebody else's.
        """

        def change(engine: duckdb.DuckDBPyConnection) -> bool:
            theirs = _comments(engine)
            engine.execute(f"ATTACH {_text(str(source.path))} AS source (READ_ONLY)")
            comments = _comments(engine, "source")
            for name in names:
                refuse_foreign(name, theirs)
                target = f"release.main.{quote_identifier(name)}"
                rows = f"source.main.{quote_identifier(name)}"
                engine.execute(f"CREATE OR REPLACE TABLE {target} AS FROM {rows}")
                engine.execute(f"COMMENT ON TABLE {target} IS {_text(comments[name])}")
            engine.execute("DETACH source")
            return True

        self._rebuild(change)

    def _rebuild(self, change: Callable[[duckdb.DuckDBPyConnection], bool]) -> bool:
        """Applies a change to a copy and renames that over the file; returns what it returned."""
        with whole_files.lock_folder(Path(f"{self.path}.lock")):
            whole_files.clear(self.path.parent, self.path.name)
            if Path(f"{self.path}.wal").exists():
                raise VaultBusy(f"{self.path.name} is open for writing elsewhere; close it there")
            building = whole_files.building(self.path)
            try:
                if self.path.exists():
                    shutil.copyfile(self.path, building)
                changed = _apply_change(building, change)
                if changed:
                    whole_files.into_place(building, self.path)
            finally:
                whole_files.clear(self.path.parent, self.path.name)
            return changed


def _apply_change(building: Path, change: Callable[[duckdb.DuckDBPyConnection], bool]) -> bool:
    try:
        with open_engine(config=NO_EXTENSIONS) as engine:
            version = f"(STORAGE_VERSION '{STORAGE_VERSION}')"
            engine.execute(f"ATTACH {_text(str(building))} AS release {version}")
            changed = change(engine)
            engine.execute("CHECKPOINT release")
            engine.execute("DETACH release")
            return changed
    except duckdb.Error as error:
        if "storage version" in str(error):
            raise OperationalError(
                f"the file there is in a newer storage format than {STORAGE_VERSION}, which the"
                " DuckDB inside BI tools reads; publish to a new file"
            ) from None
        raise OperationalError(f"the release file could not be written: {error}") from None


def beside(vault: Path) -> ReleaseStore:
    """Returns the released tables of a vault; their file lies beside it."""
    return ReleaseStore(vault.with_suffix(RELEASE))


def refuse_foreign(name: str, comments: Mapping[str, str | None]) -> None:
    """Raises Refused where a table of that name is there (case counts not) and was not released.

    Args:
        name: Of the table to be written.
        comments: Of the tables that are there.
    """
    there = {table.lower(): comment or "" for table, comment in comments.items()}
    if MARK not in there.get(name.lower(), MARK):
        raise Refused(
            f'there is a table "{name}" already, and it is not one that was released',
            hint="drop or rename it there, or publish elsewhere",
        )


def _tables(engine: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, ...]]:
    columns_by_table: dict[str, list[str]] = {}
    rows = engine.execute(
        "SELECT table_name, column_name FROM duckdb_columns()"
        " WHERE database_name = 'release' AND schema_name = 'main' AND NOT internal"
        " ORDER BY table_name, column_index"
    ).fetchall()
    for table, column in rows:
        columns_by_table.setdefault(table, []).append(column)
    return {table: tuple(columns) for table, columns in columns_by_table.items()}


def _comments(engine: duckdb.DuckDBPyConnection, database: str = "release") -> dict[str, str]:
    rows = engine.execute(
        "SELECT table_name, comment FROM duckdb_tables()"
        " WHERE database_name = ? AND schema_name = 'main' AND NOT internal ORDER BY table_name",
        [database],
    ).fetchall()
    return {table: comment or "" for table, comment in rows}


def quote_identifier(identifier: str) -> str:
    """Returns an identifier as SQL has it."""
    return '"' + identifier.replace('"', '""') + '"'


def _text(literal: str) -> str:
    return "'" + literal.replace("'", "''") + "'"
