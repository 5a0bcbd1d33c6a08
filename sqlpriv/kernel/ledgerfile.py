"""The SQLite file below the ledger: its schema, its guards, its transactions.

Claims, and why they hold:

* Durable. WAL with synchronous=FULL syncs before COMMIT returns (sqlite.org/pragma.html), so what
  was committed survives the process and the machine.
* Append-only. Triggers refuse UPDATE, DELETE and REPLACE on every table.
* Serial. A writer holds BEGIN IMMEDIATE, SQLite's one write lock for all processes, from its first
  read to its commit.
* Never guessed at. A file whose schema is not, to the letter, the one below is refused. The file is
  created whole, by a link, so that no crash leaves an empty one that reads as an untouched budget.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlpriv.errors import DataError, LedgerError, OperationalError
from sqlpriv.kernel.budget import MAX_NANO

BUSY_SECONDS = 30.0
VERSION = 1

_TABLES = {  # every column is NOT NULL
    "declaration": "principal TEXT, subject TEXT, kind TEXT, body TEXT",
    "budget": "principal TEXT, unit_table TEXT, {price}, delta REAL",
    "snapshot": "fingerprint TEXT, hash_key BLOB",
    "fact": "snapshot_id {of} snapshot, body TEXT",
    "statement": "principal TEXT, text TEXT",
    "charge": "statement_id {of} statement, unit_table TEXT, {price}",
    "seal": "charge_id {of} charge, statement_id {of} statement, snapshot_id {of} snapshot,"
    " query_hash TEXT, {price}, sigma REAL, payload BLOB",
    "replay": "seal_id {of} seal, statement_id {of} statement",
}
_PRICE = (
    "kind TEXT NOT NULL CHECK (kind IN ('zcdp', 'pure')),"
    f" nano INTEGER CHECK (typeof(nano) = 'integer' AND nano BETWEEN 1 AND {MAX_NANO})"
)
_TABLE = "CREATE TABLE {t} (id INTEGER PRIMARY KEY, at TEXT NOT NULL, {columns} NOT NULL)"
_GUARDS = (  # NEW.id is -1 where SQLite is to choose it; a REPLACE must name it
    "CREATE TRIGGER {t}_update BEFORE UPDATE ON {t} BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER {t}_delete BEFORE DELETE ON {t} BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER {t}_replace BEFORE INSERT ON {t} WHEN EXISTS (SELECT 1 FROM {t}"
    " WHERE id = NEW.id) BEGIN SELECT RAISE(ABORT, 'append-only'); END",
)


def _schema() -> Iterator[str]:
    for table, columns in _TABLES.items():
        filled = columns.replace(",", " NOT NULL,").format(price=_PRICE, of="INTEGER REFERENCES")
        yield _TABLE.format(t=table, columns=filled)
        yield from (guard.format(t=table) for guard in _GUARDS)
    yield "CREATE INDEX seal_query ON seal (snapshot_id, query_hash)"
    yield "CREATE INDEX replay_seal ON replay (seal_id)"


class LedgerFile:
    """An open file; made, readable by its owner alone, where there is none.

    Threads may share it and a forked child may go on using it. LedgerError: the file is damaged or
    of another make. OperationalError: SQLite cannot do its work just now.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _translated():
            if not path.exists():
                _create(path)
            self._open()

    def close(self) -> None:
        self._db.close()

    def _open(self) -> None:
        self._pid, self._lock = os.getpid(), threading.Lock()
        self._db = _connect(self.path)
        try:
            _check(self._db)
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Runs the block in one transaction: committed and synced at its end, or undone."""
        with _translated():
            if os.getpid() != self._pid:  # SQLite's connections may not cross a fork, nor be
                self._inherited = self._db  # closed beyond it: that would drop the parent's locks
                self._open()
            with self._lock:
                self._db.execute(begin)
                try:
                    yield self._db
                    self._db.execute("COMMIT")
                finally:
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """One consistent view of the file, which no writer has to wait for."""
        return self._transaction("BEGIN")

    def writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """One transaction that holds the write lock of all processes from its start."""
        return self._transaction("BEGIN IMMEDIATE")


def insert(db: sqlite3.Connection, table: str, **row: Any) -> int:
    """Appends a row, stamped with the time in UTC; returns its number."""
    row["at"] = datetime.now(UTC).isoformat(timespec="milliseconds")
    marks = ", ".join("?" * len(row))
    sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"
    return int(db.execute(sql, tuple(row.values())).lastrowid or 0)


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(str(path.resolve()))}?mode=rw", BUSY_SECONDS, 0, None, False, uri=True
    )
    for pragma in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
        db.execute(f"PRAGMA {pragma}")
    return db


def _create(path: Path) -> None:
    """Makes a whole empty ledger beside `path` and links it there, unless another was faster."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(_connect(draft)) as db:
            script = ";".join(("BEGIN", *_schema(), f"PRAGMA user_version = {VERSION}", "COMMIT"))
            db.executescript(script)
            db.execute("PRAGMA journal_mode = WAL")
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _check(db: sqlite3.Connection) -> None:
    """Raises LedgerError unless the file is ours, of this version, and whole where money is."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise LedgerError(f"this is no ledger of version {VERSION} (the file says {version})")
    found = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master")}
    if found != set(_schema()):
        raise LedgerError("the ledger's tables or their guards are not as they were made")
    for table in ("declaration", "budget", "charge"):
        if (said := db.execute(f"PRAGMA quick_check({table})").fetchone()[0]) != "ok":
            raise LedgerError(f"the ledger is damaged: {said}")
    if db.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise OperationalError("the ledger's folder does not let SQLite keep a write-ahead log")


_PASSING = {"PERM", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "FULL", "CANTOPEN"}


@contextmanager
def _translated() -> Iterator[None]:
    """Turns SQLite's errors, and those of records that cannot be read, into ours."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "SQLITE_UNKNOWN")
        if name.split("_")[1] in _PASSING:
            raise OperationalError(f"the ledger cannot be used just now ({name})") from error
        raise LedgerError(f"the ledger is damaged or refused a record ({name})") from error
    except OSError as error:
        raise OperationalError(f"the ledger cannot be made: {error.strerror}") from error
    except (ValueError, DataError) as error:
        raise LedgerError("the ledger holds a record that cannot be read") from error
