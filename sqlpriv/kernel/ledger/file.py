"""The ledger's file: made whole, opened only if it is ours and undamaged, committed or undone.

It is the `Store` of a ledger that one machine uses:

* Nothing is forgotten. WAL with synchronous=FULL syncs before COMMIT returns (sqlite.org/pragma):
  what a transaction of `LedgerFile.begin` wrote survives the process and the machine.
* Nothing is guessed. A file whose schema is not, to the letter, that of a version is refused; an
  older one is brought up, which changes no record. No crash leaves an empty file, which would read
  as an untouched budget.
* An older copy put back is noticed. The mark beside the file (`.mark`) holds the number of charges,
  budgets and declarations that there were; a ledger with fewer is refused. It is raised after each
  commit, so a crash in between leaves it low, never high.
"""

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlpriv import errors
from sqlpriv.kernel.ledger.store import COUNTED, Transaction, raise_mark

BUSY_SECONDS = 30.0
SCHEMAS = tuple(
    resources.files("sqlpriv.kernel.ledger").joinpath(f"{name}.sql").read_text("utf-8")
    for name in ("schema_1", "schema_2", "schema_3", "schema_4")
)
"""What makes a ledger: the first version, then what each later one adds."""
_PASSING = {"PERM", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "FULL", "CANTOPEN"}


class LedgerFile:
    """An open file, made for its owner alone (0600) where there is none; threads may share it. All
    raise LedgerError for a file that is damaged or not ours, OperationalError for a busy one."""

    def __init__(self, path: Path | str) -> None:
        path = Path(path)
        with _translate_errors():
            if not path.exists():
                _create(path)
            self._lock, self._db = threading.RLock(), _connect(path)
            self._beside = path.with_name(path.name + ".mark")
            self.holds_new_charge = False
            self._mark()

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    @contextmanager
    def begin(self, mode: str = "") -> Iterator[Transaction]:
        """Runs the block in one transaction, nested ones included: synced at its end, or undone."""
        with _translate_errors(), self._lock:
            if self._db.in_transaction:
                yield self._db
                return
            self._db.execute(f"BEGIN {mode}")
            self.holds_new_charge = False
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            if mode:
                self._mark()

    def _mark(self) -> None:
        raise_mark(self._beside, lambda: int(self._db.execute(COUNTED).fetchone()[0]))


def _connect(path: Path) -> sqlite3.Connection:
    """Opens a file; LedgerError unless it is ours, of this version, and whole where money is."""
    uri = f"file:{quote(str(path.resolve()))}?mode=rw"
    db = sqlite3.connect(uri, BUSY_SECONDS, 0, None, check_same_thread=False, uri=True)
    try:
        for pragma in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
            db.execute(f"PRAGMA {pragma}")
        _bring_up(db)
        for table in ("declaration", "budget", "charge"):
            if db.execute(f"PRAGMA quick_check({table})").fetchone() != ("ok",):
                raise errors.LedgerError("the ledger is damaged")
        if db.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise errors.OperationalError("SQLite cannot keep a write-ahead log beside the ledger")
    except BaseException:
        db.close()
        raise
    return db


def closed_count(path: Path) -> int | None:
    """Returns how many records a file holds that `moving` closed; None for any other file."""
    if not path.exists():
        return None
    with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro", uri=True)) as db:
        sql = "SELECT count(*) FROM sqlite_master WHERE name = 'moved_charge'"
        with suppress(sqlite3.DatabaseError):  # no SQLite file: who opens it says so
            if db.execute(sql).fetchone()[0]:
                return int(db.execute(COUNTED).fetchone()[0])
    return None


def _bring_up(db: sqlite3.Connection) -> None:
    """Adds what later versions added; LedgerError unless the file is, to the letter, of one."""
    with closing(sqlite3.connect(":memory:")) as model:
        schemas = [_schema(model) for script in SCHEMAS if model.executescript(script)]
    if (schema := _schema(db)) in schemas:
        for script in SCHEMAS[schemas.index(schema) + 1 :]:
            with suppress(sqlite3.OperationalError):  # another process is faster
                db.executescript(f"BEGIN IMMEDIATE; {script} COMMIT")
            if db.in_transaction:
                db.execute("ROLLBACK")
    if _schema(db) != schemas[-1]:
        raise errors.LedgerError("this is no ledger, or its guards are not as made")


def _schema(db: sqlite3.Connection) -> list[Any]:
    """Returns the version and the letter of all that the kernel uses: not the logins, which ledgers
    of an earlier program hold, and no statement of the kernel names."""
    objects = "SELECT sql FROM sqlite_master WHERE tbl_name NOT IN ('login', 'user') ORDER BY name"
    return [db.execute(sql).fetchall() for sql in ("PRAGMA user_version", objects)]


def _create(path: Path) -> None:
    """Makes a whole empty ledger beside `path` and links it there, unless another was faster."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as db:
            db.executescript(f"PRAGMA synchronous = FULL; BEGIN; {''.join(SCHEMAS)} COMMIT")
            db.execute("PRAGMA journal_mode = WAL")
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turns SQLite's errors, and those of records that cannot be read, into ours, without data."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "SQLITE_UNKNOWN")
        if name.split("_")[1] in _PASSING:
            raise errors.OperationalError(f"the ledger cannot be used just now ({name})") from error
        raise errors.LedgerError(f"the ledger is damaged or refused a record ({name})") from error
    except OSError as error:
        raise errors.OperationalError(f"the ledger cannot be made: {error.strerror}") from error
    except (ValueError, errors.DataError) as error:
        raise errors.LedgerError("the ledger holds a record that cannot be read") from error
