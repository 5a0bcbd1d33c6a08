"""The file of users beside a vault: `people.users`, an SQLite file for its owner alone (0600).

The ledger, which the kernel opens, knows nothing of it: who may log in is no part of the privacy
claim. Like the ledger it only grows: the latest record of a name counts, and removing somebody is a
record, too. Until version 0.1 logins stood in the ledger; the first opening of a file of users
copies them over, ids included, because a session's token names the id.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.ledger.pointer import pointer_of
from sqlpriv.session.commands.ledger_place import NEEDS_PSYCOPG

if TYPE_CHECKING:
    from sqlpriv.interfaces.server.shared.users_database import UsersDatabase

BUSY_SECONDS = 30.0
_VERSION = 2
_SCHEMA = """
CREATE TABLE login (
    id INTEGER PRIMARY KEY,
    at TEXT NOT NULL,         -- UTC
    principal TEXT NOT NULL,  -- who said so
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('analyst', 'owner', 'none')),  -- 'none' revokes
    salt BLOB NOT NULL,
    hash BLOB NOT NULL,       -- scrypt
    expires TEXT,             -- UTC; NULL: never
    timeout REAL,             -- seconds a statement may take; NULL: the server's limit
    concurrency INTEGER,      -- statements at once; NULL: the server's limit
    scram TEXT                -- the verifier of SCRAM-SHA-256; NULL: of a login of before it
);
CREATE INDEX login_name ON login (name);
CREATE TRIGGER login_update BEFORE UPDATE ON login
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER login_delete BEFORE DELETE ON login
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER login_replace BEFORE INSERT ON login
WHEN EXISTS (SELECT 1 FROM login WHERE id = NEW.id)
BEGIN SELECT RAISE(ABORT, 'append-only'); END;
"""
# Of the columns see `SpendingRules`; each statement ends a line, because they are run one by one.
_SCHEMA_2 = """
ALTER TABLE login ADD COLUMN epsilon REAL;
ALTER TABLE login ADD COLUMN daily_epsilon REAL;
ALTER TABLE login ADD COLUMN only_asked_before INTEGER NOT NULL DEFAULT 0;
ALTER TABLE login ADD COLUMN error_columns INTEGER NOT NULL DEFAULT 0;
DROP VIEW IF EXISTS user;
CREATE VIEW user AS
SELECT max(id) AS id, name, role, salt, hash, expires, timeout, concurrency, scram,
    epsilon, daily_epsilon, only_asked_before, error_columns
FROM login GROUP BY name;
CREATE TABLE day_price (
    day TEXT NOT NULL,        -- UTC
    name TEXT NOT NULL,
    unit_table TEXT NOT NULL,
    kind TEXT NOT NULL,       -- of the budget
    nano INTEGER NOT NULL     -- the price that a statement was quoted before it was run
);
CREATE INDEX day_price_day ON day_price (day, name);
"""
_OLD_COLUMNS = "id, at, principal, name, role, salt, hash, expires, timeout, concurrency"


def users_path(vault: Path) -> Path:
    """Returns where the users of a vault are kept.

    >>> users_path(Path("data/people.duckdb")).name
    'people.users'
    """
    return vault.with_suffix(".users")


@contextmanager
def users_file(vault: Path) -> Iterator[sqlite3.Connection | UsersDatabase]:
    """Opens the users of a vault for the block; makes the file where there is none.

    Raises:
        OperationalError: The file cannot be used, or is none of ours.
    """
    try:
        with closing(connect_users(vault)) as db:
            yield db
    except sqlite3.Error as error:
        raise OperationalError(f"{users_path(vault).name} cannot be used just now") from error


def connect_users(vault: Path) -> sqlite3.Connection | UsersDatabase:
    """Opens the users of a vault until it is closed; makes the file where there is none.

    Where the ledger is in PostgreSQL, users stand beside it, for all servers of the vault; a file
    of users that this machine has is taken over by the first to open them.

    Raises:
        OperationalError: The file is none of ours, or cannot be made; or psycopg is missing.
        sqlite3.Error: It cannot be opened.
    """
    path = users_path(vault)
    if url := pointer_of(vault.with_suffix(".ledger")):
        return _connect_database(url, path)
    return _connect_file(vault, path)


def copy_users_home(vault: Path, url: str) -> None:
    """Copies users from PostgreSQL into the file beside a vault whose ledger was moved back.

    A file that this machine still had, whose users did not count, is renamed (`….moved`). If this
    is cut off nobody can log in until users are added.

    Raises:
        OperationalError: PostgreSQL is not reached, or the file cannot be made.
    """
    path = users_path(vault)
    with closing(_open_database(url)) as database:
        if path.exists():
            path.rename(path.with_name(f"{path.name}.moved"))
        with closing(_connect_file(vault, path)) as file:
            file.execute("BEGIN IMMEDIATE")
            database.give_back(file)
            file.execute("COMMIT")


def _open_database(url: str) -> UsersDatabase:
    try:
        from sqlpriv.interfaces.server.shared.users_database import UsersDatabase
    except ImportError:  # there is no psycopg, or no libpq for it
        raise OperationalError(NEEDS_PSYCOPG) from None
    return UsersDatabase(url)


def _connect_database(url: str, path: Path) -> UsersDatabase:
    users = _open_database(url)
    try:
        if path.exists():
            _connect_file(path, path).close()  # brings one of the first version up
            users.take_over(path)
    except BaseException:  # Ctrl-C, too, leaves no connection open
        users.close()
        raise
    return users


def _connect_file(vault: Path, path: Path) -> sqlite3.Connection:
    try:
        if not path.exists():
            _create(path, vault.with_suffix(".ledger"))
    except OSError as error:
        raise OperationalError(f"{path.name} cannot be made: {error.strerror}") from error
    db = sqlite3.connect(_uri(path, "rw"), BUSY_SECONDS, 0, None, check_same_thread=False, uri=True)
    try:
        db.execute("PRAGMA synchronous = FULL")
        _bring_up(db)
        if db.execute("PRAGMA user_version").fetchone() != (_VERSION,):
            raise OperationalError(f"{path.name} is no file of users of this version")
    except BaseException:  # Ctrl-C, too, leaves no file open
        db.close()
        raise
    return db


def _bring_up(db: sqlite3.Connection) -> None:
    """Adds to a file of the first version what the second has more; others stay as they are."""
    if db.execute("PRAGMA user_version").fetchone() != (1,):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        if db.execute("PRAGMA user_version").fetchone() == (1,):  # no other process was faster
            for statement in _SCHEMA_2.split(";\n"):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {_VERSION}")
        db.execute("COMMIT")
    except BaseException:  # Ctrl-C, too, leaves no transaction open
        db.execute("ROLLBACK")
        raise


def _create(path: Path, ledger: Path) -> None:
    """Makes a whole file beside `path` and links it there, unless another process was faster.

    A half-made file never has the name that others open, so a crash leaves no file that reads as
    one without users.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as db:
            db.executescript(
                f"BEGIN; PRAGMA user_version = {_VERSION}; {_SCHEMA}{_SCHEMA_2} COMMIT"
            )
            marks = ", ".join("?" * len(_OLD_COLUMNS.split(", ")))
            db.execute("BEGIN")
            sql = f"INSERT INTO login ({_OLD_COLUMNS}) VALUES ({marks})"
            db.executemany(sql, _logins_of_ledger(ledger))
            db.execute("COMMIT")
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()


def _logins_of_ledger(ledger: Path) -> list[tuple[object, ...]]:
    """Returns the logins that an earlier version kept in the ledger, oldest first; read only."""
    if not ledger.exists() or pointer_of(ledger):
        return []
    with closing(sqlite3.connect(_uri(ledger, "ro"), BUSY_SECONDS, uri=True)) as db:
        there = db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'login'")
        if there.fetchone() is None:
            return []
        return db.execute(f"SELECT {_OLD_COLUMNS} FROM login ORDER BY id").fetchall()


def _uri(path: Path, mode: str) -> str:
    return f"file:{quote(str(path.resolve()))}?mode={mode}"
