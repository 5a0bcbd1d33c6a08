"""Tables whose rows lie in other files: which files they are, and whether one of them changed.

Such a table is a view of the vault with one of two forms (`FORM`): every row of a fixed list of
Parquet files, or of one table of schema main of another DuckDB file; no column or row left out,
named by whole paths that are no patterns. A view of another form is no table, and is never read.

Claim: the sealed engine can open the vault and exactly these files. Their state is a part of the
fingerprint, which is taken before and after each read: what was read is of the files that were
planned for, or no answer leaves, and what was charged stays charged. DuckDB locks no Parquet file,
and gives up its lock on another DuckDB file as soon as any reader of that has ended, so a file that
changes while it is read is found out only afterwards.

Claim: a table in another DuckDB file has stored columns alone, whose text is equal only where its
bytes are. A view there is none, and a table with a generated column or a COLLATE is refused.
"""

import hashlib
import os
import re
import threading
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import duckdb

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.sql.quoting import literal, name

TEXT, PATH = "'(?:[^']|'')*'", r"'(?:[^'*?\[]|'')*'"
"""Patterns of a quoted text, and of one without the characters of file patterns, which other files
could match later."""
FORM = (
    r'CREATE VIEW (?:main\.)?(?:[a-zA-Z_][a-zA-Z_0-9]*|"(?:[^"]|"")*") AS SELECT \* FROM '
    rf"(read_parquet\(list_value\({PATH}(?:, {PATH})*\)(?:, \(hive_partitioning = false\))?\)"
    rf"|read_duckdb\({PATH}, \(schema_name = 'main'\), \(table_name = {TEXT}\)\));"
)
"""A view as DuckDB prints it, whole; a pattern that Python and DuckDB read alike."""
VIEWS = """SELECT view_name, sql FROM duckdb_views()
WHERE NOT internal AND schema_name = 'main' AND database_name = 'vault'
    AND regexp_full_match(sql, ?) ORDER BY ALL"""
LAYOUTS = """SELECT count(DISTINCT columns) FROM (
SELECT list((name, type, converted_type, logical_type::VARCHAR, num_children)) AS columns
FROM parquet_schema({}) GROUP BY file_name)"""
PLAIN_TABLE = """SELECT count(*) FROM duckdb_tables() WHERE database_name = $alias
AND schema_name = 'main' AND lower(table_name) = lower($table)
AND NOT regexp_matches(lower(sql), 'collate|generated always')"""
MISSING = "missing"
_FOOTERS: dict[tuple[str | int, ...], str] = {}
_FILES: dict[tuple[int, ...], int] = {}  # descriptors by device and inode, which stay theirs
_LOCK = threading.Lock()
os.register_at_fork(after_in_child=_FILES.clear)  # locks on them are the parent's
os.register_at_fork(
    before=_LOCK.acquire, after_in_parent=_LOCK.release, after_in_child=_LOCK.release
)


class Listed(NamedTuple):
    """Where a table's rows lie: Parquet files, or `inside` a DuckDB file, which has one path."""

    paths: tuple[str, ...]
    inside: str = ""

    @property
    def opened(self) -> tuple[str, ...]:
        """All files that are opened to read the rows; for a DuckDB file also its log, which may
        not exist."""
        return (*self.paths, f"{self.paths[0]}.wal") if self.inside else self.paths


Files = dict[str, Listed]
"""By the table's name."""


def files_of(connection: duckdb.DuckDBPyConnection) -> Files:
    """Returns the files of each table of the attached vault that has any."""
    return {view: listed_in(sql) for view, sql in connection.execute(VIEWS, [FORM]).fetchall()}


def listed_in(view: str) -> Listed:
    """Returns where the rows of a view of the `FORM` lie."""
    (called,) = re.findall(rf"\A{FORM}\Z", view)
    texts = [text[1:-1].replace("''", "'") for text in re.findall(TEXT, called)]
    return Listed((texts[0],), texts[2]) if called.startswith("read_d") else Listed((*texts,))


def states_of(files: Files) -> str:
    """Returns a name of the contents of all files."""
    return "".join(
        _state_of(path, bool(listed.inside)) for listed in files.values() for path in listed.paths
    )


def _state_of(path: str, is_database: bool) -> str:
    """Returns a name of a file's contents; `MISSING` stands for one that cannot be read."""
    with suppress(OSError):
        return contents_of(Path(path)) if is_database else contents_of_parquet(path)
    return MISSING


def contents_of(database: Path) -> str:
    """Returns a name of what is in a DuckDB file; raises OSError where there is none.

    DuckDB numbers its checkpoints in three headers of 4 KiB; what is newer is in the log beside it.
    Copies of one file, each changed, may have equal headers: when it was written tells them apart.
    """
    file = descriptor_of(database)
    head, written = os.pread(file, 3 * 4096, 0), os.fstat(file).st_mtime_ns
    digest = hashlib.sha256(head + str(written).encode())
    log = database.with_name(database.name + ".wal")
    if log.exists():
        digest.update(log.read_bytes())
    return digest.hexdigest()


def descriptor_of(database: Path) -> int:
    """Returns a descriptor of a DuckDB file; raises OSError where there is none.

    Claim: who has the file open keeps its lock: descriptors of the last files are kept open. Where
    the name moved meanwhile, to a file that is open already, both descriptors of that are kept: to
    close one of them would give up the lock.
    """
    with _LOCK:
        at = database.stat()
        if (file := _FILES.get((at.st_dev, at.st_ino), -1)) < 0:
            for k in [k for k, f in _FILES.items() if not os.fstat(f).st_nlink] or [*_FILES][:-63]:
                os.close(_FILES.pop(k))
            at = os.fstat(file := os.open(database, os.O_RDONLY))  # of another, if its name moved
            place = (at.st_dev, at.st_ino)
            _FILES[(*place, file) if place in _FILES else place] = file
        return file


def contents_of_parquet(path: str) -> str:
    """Returns a name of a file's contents: its place on the disk, size, time and footer; raises
    OSError where it cannot be read.

    The footer, which holds the statistics of each column of each row group, is read once for a
    place, size and time.
    """
    with open(path, "rb") as file:
        at = os.fstat(file.fileno())
        place = (path, at.st_dev, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
        if place not in _FOOTERS:
            for old in [*_FOOTERS][:-99_999]:
                del _FOOTERS[old]
            file.seek(-min(8, at.st_size), os.SEEK_END)
            length = int.from_bytes(file.read(8)[:4], "little") + 8
            file.seek(-min(length, at.st_size), os.SEEK_END)
            _FOOTERS[place] = hashlib.sha256(file.read()).hexdigest()
    return f"{place} {_FOOTERS[place]}"


def bind_views(connection: duckdb.DuckDBPyConnection, files: Files) -> None:
    """Has DuckDB read which columns the files have now.

    Claim: a statement is written for the types that its rows have now. Before DuckDB binds a view
    again, the view tells the types of the files that it was made of. A file that was since written
    with other types would be read by expressions that are not total for them, and a NaN could make
    a statement fail.
    """
    for table in files:
        with suppress(duckdb.Error):  # what cannot be read is refused by `check_files`
            connection.execute(f"SELECT * FROM vault.main.{name(table)} LIMIT 0").fetchall()


def check_files(connection: duckdb.DuckDBPyConnection, files: Files, known: bool = False) -> None:
    """Refuses to go on where a file cannot be read, or has other columns than its table's.

    Args:
        connection: Of a sealed engine, with the vault attached.
        files: Of all tables.
        known: The same contents were checked before, so that only files which somebody may be
            writing now are opened.

    Raises:
        OperationalError: It names the table and what to do; nothing was charged.
    """
    for table, listed in files.items():
        if known and not listed.inside:
            continue
        why = (
            f"finds {listed.paths[0]} locked by a writer, or its table {listed.inside} changed"
            if listed.inside
            else "finds files whose columns differ from each other or from the table's"
        )
        if missing := [p for p in listed.paths if not os.access(p, os.R_OK)]:
            why = f"cannot read {missing[0]}"
        with suppress(duckdb.Error):
            connection.execute(f"SELECT * FROM vault.main.{name(table)} LIMIT 0").fetchall()
            if not missing and (known or _is_as_made(connection, listed)):
                continue
        form = f"DUCKDB '…' TABLE {name(listed.inside)}" if listed.inside else "PARQUET '…'"
        raise OperationalError(
            f"the table {table} {why}; nothing was charged; put the files right, or make the"
            f" table again: CREATE OR REPLACE TABLE {table} FROM {form}"
        )


def _is_as_made(connection: duckdb.DuckDBPyConnection, listed: Listed) -> bool:
    """Returns whether Parquet files have one layout, or a DuckDB file a table of stored columns."""
    if not listed.inside:
        paths = f"[{', '.join(map(literal, listed.paths))}]"
        return connection.execute(LAYOUTS.format(paths)).fetchall() == [(1,)]
    alias = "sqlpriv_seen"
    with _LOCK:  # an engine attaches a file once
        connection.execute(f"ATTACH {literal(listed.paths[0])} AS {alias} (READ_ONLY)")
        try:
            named = {"alias": alias, "table": listed.inside}
            return connection.execute(PLAIN_TABLE, named).fetchall() == [(1,)]
        finally:
            connection.execute(f"DETACH {alias}")
