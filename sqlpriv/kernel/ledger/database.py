"""The ledger in PostgreSQL: one budget for servers on many machines. See `Store` for the claim.

* Nothing is forgotten. `synchronous_commit` is on for every connection: COMMIT returns when the
  record is on the disk, and on that of each standby that the server waits for.
* Nothing is sold twice. Whoever writes holds a lock on the one row of `guard` before it reads, so
  that numbers are given in the order of the commits (READ COMMITTED: each statement behind the lock
  sees all that was committed). Who only reads sees one state (REPEATABLE READ).
* Nothing is undone. Triggers refuse UPDATE, DELETE and TRUNCATE. Columns, constraints and triggers
  are compared to the letter with `SHAPE` when the ledger is opened. There are no views to be made
  anew: their texts stand here.
* An older copy put back is noticed by every machine that saw a newer one: see `raise_mark`.

A connection that is lost is made again for the next transaction.
"""

import hashlib
import re
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import psycopg

from sqlpriv import errors
from sqlpriv.kernel.ledger.store import Store

SCHEMA = resources.files("sqlpriv.kernel.ledger").joinpath("database.sql").read_text("utf-8")
SHAPE = "14939cd5919a837d148b83b82f1aa9e6586425effb944ad7d84a832cb4ada8c1"
"""The SHA-256 of what `_SHAPES` returns of a new ledger."""
_SHAPES = (
    "SELECT table_name, column_name, data_type, is_nullable, is_identity, column_default"
    " FROM information_schema.columns WHERE table_schema = ? ORDER BY 1, ordinal_position",
    "SELECT c.relname, t.tgname, t.tgenabled, t.tgtype, pg_get_functiondef(t.tgfoid)"
    " FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid"
    " WHERE NOT t.tgisinternal AND c.relnamespace = ?::regnamespace ORDER BY 1, 2",
    "SELECT conrelid::regclass::text, pg_get_constraintdef(oid) FROM pg_constraint"
    " WHERE connamespace = ?::regnamespace AND contype IN ('c', 'f', 'p') ORDER BY 1, 2",
)
VIEWS = {
    "declared": "SELECT max(id) AS id, subject, kind, (array_agg(body ORDER BY id DESC))[1] AS body"
    " FROM declaration GROUP BY subject, kind ORDER BY 1",
    "standing": "SELECT unit_table, holder, kind, nano, delta, yocto, per, until, whole FROM budget"
    " WHERE id IN (SELECT max(id) FROM budget GROUP BY unit_table, holder)",
    "state": "SELECT id, fingerprint, hash_key, (SELECT body FROM fact"
    " WHERE snapshot_id = snapshot.id ORDER BY id DESC LIMIT 1) AS facts"
    " FROM snapshot ORDER BY id DESC LIMIT 1",
    "release": "SELECT seal.id, seal.at, statement.principal, statement.text AS statement,"
    " charge.unit_table, seal.kind, seal.nano,"
    " (SELECT count(*) FROM replay WHERE replay.seal_id = seal.id) AS replays FROM seal"
    " JOIN statement ON statement.id = seal.statement_id"
    " JOIN charge ON charge.id = seal.charge_id ORDER BY seal.id",
}
"""The views of the SQLite schema, by name."""
_VIEW = re.compile(rf"\bFROM ({'|'.join(VIEWS)})\b")
NAME = "sqlpriv_ledger"
"""The schema that holds a ledger, in the database that the URL names."""
_LOST = (psycopg.OperationalError, psycopg.InterfaceError)


class LedgerDatabase(Store):
    """A ledger in PostgreSQL, made where there is none.

    Args:
        url: `postgresql://user@host[,host]/database`; a password comes from the environment or
            from libpq's own files. The server is a primary.
        mark: The file of this machine that says how much was seen.
    """

    ERRORS = psycopg.Error
    NAME_SQL = "SELECT ledger FROM guard"

    def __init__(self, url: str, mark: Path) -> None:
        self._url = url
        super().__init__(mark)

    def connect(self) -> None:
        """Connects, and makes an empty ledger in one transaction unless there is one."""
        self.db = psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=10,
            target_session_attrs="read-write",
            application_name="sqlpriv",
        )
        self.execute("SET synchronous_commit = on")
        self.execute(f"SET lock_timeout = '30s'; SET search_path = {NAME}")
        with self.db.transaction():
            self.execute("SELECT pg_advisory_xact_lock(hashtext(?))", [NAME])
            # read from the table: what PostgreSQL caches of names may be older than the lock
            if not self.execute("SELECT FROM pg_namespace WHERE nspname = ?", [NAME]).rowcount:
                self.execute(f"CREATE SCHEMA {NAME}; {SCHEMA}")

    def check(self) -> None:
        """Compares all that keeps the claims, as PostgreSQL's catalog tells it, with what a new
        ledger has. Sequences' names and the like differ from server to server, and keep nothing:
        they are left out."""
        catalog = [self.execute(sql, [NAME]).fetchall() for sql in _SHAPES]
        if hashlib.sha256(repr(catalog).encode()).hexdigest() != SHAPE:
            raise errors.LedgerError(
                "this is no ledger, its guards are not as made, or it was moved elsewhere"
            )

    def start(self, mode: str) -> None:
        """Begins a transaction."""
        # one round trip: all others wait as long as whoever holds the lock waits for the network
        lock = "BEGIN; SELECT one FROM guard FOR UPDATE"
        self.execute(lock if mode else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """Runs one statement; a view's name stands for its text."""
        text = _VIEW.sub(lambda view: f"FROM ({VIEWS[view[1]]}) AS {view[1]}", sql)
        return self.db.execute(text.replace("?", "%s").encode(), values or None)

    def describe_error(self, error: psycopg.Error) -> tuple[str, bool]:
        """Returns PostgreSQL's code of an error, and whether it may pass."""
        state = error.sqlstate or "no connection"
        return (
            {
                "42501": "this login may not write it",
                "55MOV": "it was moved elsewhere: connect again",
            }.get(state, state),
            isinstance(error, _LOST) or state[:2] in ("08", "40", "53", "55", "57"),
        )
