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
from contextlib import closing, suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlpriv import errors
from sqlpriv.kernel.ledger.store import Store
from sqlpriv.system.whole_files import sync

BUSY_SECONDS = 30.0
SCHEMAS = tuple(
    resources.files("sqlpriv.kernel.ledger").joinpath(f"{name}.sql").read_text("utf-8")
    for name in ("schema_1", "schema_2", "schema_3", "schema_4", "schema_5")
)
"""What makes a ledger: the first version, then what each later one adds."""
_PASSING = {"PERM", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "FULL", "CANTOPEN"}


class LedgerFile(Store):
    """A file, made for its owner alone (0600) where there is none."""

    ERRORS = sqlite3.Error

    def __init__(self, path: Path) -> None:
        self._path = path
        super().__init__(path.with_name(path.name + ".mark"))

    def connect(self) -> None:
        """Opens the file; a new one is made whole before it has its name."""
        if not self._path.exists():
            _create(self._path)
        self.db = sqlite3.connect(
            f"file:{quote(str(self._path.resolve()))}?mode=rw",
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            uri=True,
        )

    def check(self) -> None:
        """Brings the file up to this version; it must be ours, and whole where money is."""
        self.db.executescript(
            "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON; PRAGMA foreign_keys = ON"
        )
        _bring_up(self.db)
        for table in ("declaration", "budget", "charge"):
            if self.execute(f"PRAGMA quick_check({table})").fetchone() != ("ok",):
                raise errors.LedgerError("the ledger is damaged")
        if self.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise errors.OperationalError("SQLite cannot keep a write-ahead log beside the ledger")

    def start(self, mode: str) -> None:
        """Begins a transaction; SQLite's own lock is that of whoever writes."""
        self.execute(f"BEGIN {mode}")

    def describe_error(self, error: sqlite3.Error) -> tuple[str, bool]:
        """Returns SQLite's name of an error, or what its reader can mend, and whether it may pass.

        Claim: a file that a restore or a move has closed takes no record, and who has it open is
        told to connect again. Its triggers raise 'moved'. A guard of the schema raises
        'append-only', which the kernel never meets: that is damage, and does not pass.
        """
        name = getattr(error, "sqlite_errorname", "SQLITE_UNKNOWN")
        return (
            {
                "moved": "a backup was put back in its place, or it was moved: connect again",
                "database or disk is full": "the disk is full",
            }.get(str(error), name),
            str(error) == "moved" or name.split("_")[1] in _PASSING,
        )


@cache
def _schemas_as_made() -> list[list[Any]]:
    """Returns the `_schema` of every version; to make them took most of the time of opening."""
    with closing(sqlite3.connect(":memory:")) as model:
        return [_schema(model) for script in SCHEMAS if model.executescript(script)]


def _bring_up(db: sqlite3.Connection) -> None:
    """Adds what later versions added; LedgerError unless the file is, to the letter, of one."""
    schemas = _schemas_as_made()
    if (schema := _schema(db)) in schemas:
        for script in SCHEMAS[schemas.index(schema) + 1 :]:
            with suppress(sqlite3.OperationalError):  # another process is faster
                db.executescript(f"BEGIN IMMEDIATE; {script} COMMIT")
            if db.in_transaction:
                db.execute("ROLLBACK")
    if _schema(db) != schemas[-1]:
        raise errors.LedgerError(
            "this is no ledger, its guards are not as made, or it was moved elsewhere"
        )


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
            db.executescript(
                f"PRAGMA synchronous = FULL; BEGIN; {''.join(SCHEMAS)} COMMIT;"
                "PRAGMA journal_mode = WAL"
            )
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    sync(path.parent)
