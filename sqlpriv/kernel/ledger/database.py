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

A connection that is lost is made again for the next transaction. Where it is lost in a COMMIT, the
charge may stand and no answer leaves.
"""

import hashlib
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

import psycopg
from psycopg import sql as compose
from psycopg.pq import TransactionStatus

from sqlpriv import errors
from sqlpriv.kernel.ledger.store import COUNTED, RecordRows, raise_mark

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


class LedgerDatabase:
    """A ledger in PostgreSQL, made where there is none.

    Args:
        url: `postgresql://user@host[,host]/database`; a password comes from the environment or
            from libpq's own files.
        mark: The file of this machine that says how much was seen.

    Raises:
        OperationalError: The server cannot be reached, or is no primary.
        LedgerError: The schema is not as made, or the ledger is older than the mark, or another.
    """

    def __init__(self, url: str, mark: Path) -> None:
        self._url, self._beside, self.holds_new_charge = url, mark, False
        self._lock, self._open = threading.RLock(), False
        self._db: psycopg.Connection[Any] | None = None
        self._connect()

    def close(self) -> None:
        """Closes the connection."""
        if self._db is not None:
            self._db.close()

    @contextmanager
    def begin(self, mode: str = "") -> Iterator["LedgerDatabase"]:
        """Runs the block in one transaction, nested ones included: durable at its end, or undone.

        Raises:
            OperationalError: The server was lost; whether the block's records stand is unknown.
        """
        with self._lock:
            if self._open:
                yield self
                return
            with _translate_errors():
                if self._db is None or self._db.closed or self._db.broken:
                    self._connect()
                self.execute("BEGIN" if mode else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
                if mode:
                    self.execute("SELECT one FROM guard FOR UPDATE")
                self._open, self.holds_new_charge = True, False
                try:
                    yield self
                    self.execute("COMMIT")
                finally:
                    self._open = False
                    self._roll_back()
                if mode:
                    self._mark()

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> RecordRows:
        """Runs one statement in the open transaction."""
        assert self._db is not None
        text = _VIEW.sub(lambda view: f"FROM ({VIEWS[view[1]]}) AS {view[1]}", sql)
        return self._db.execute(text.replace("?", "%s").encode(), values or None)

    def _roll_back(self) -> None:
        db = self._db
        if db and not db.closed and db.info.transaction_status is not TransactionStatus.IDLE:
            db.execute("ROLLBACK")

    def _connect(self) -> None:
        with _translate_errors():
            self._db = psycopg.connect(
                self._url, autocommit=True, connect_timeout=10, target_session_attrs="read-write",
                application_name="sqlpriv",
            )  # fmt: skip
            self.execute("SET synchronous_commit = on")
            self.execute("SET lock_timeout = '30s'")
            schema = compose.Identifier(NAME)
            self._db.execute(compose.SQL("SET search_path = {}").format(schema))
            if not self._is_made():
                self._make(schema)
            try:
                if shape_of(self) != SHAPE:
                    raise errors.LedgerError("this is no ledger, or its guards are not as made")
                self._mark()
            except BaseException:
                self._db.close()
                raise

    def _make(self, schema: compose.Identifier) -> None:
        """Makes an empty ledger in one transaction, unless another server was faster."""
        assert self._db is not None
        with self._db.transaction():
            self.execute("SELECT pg_advisory_xact_lock(hashtext(?))", [NAME])
            if not self._is_made():
                self._db.execute(compose.SQL("CREATE SCHEMA {}").format(schema))
                self._db.execute(SCHEMA.encode())

    def _is_made(self) -> bool:
        # read from the table: what PostgreSQL caches of names may be older than the lock
        sql = "SELECT count(*) FROM pg_namespace WHERE nspname = ?"
        return bool(self.execute(sql, [NAME]).fetchone()[0])

    def _mark(self) -> None:
        ledger = self.execute("SELECT ledger FROM guard").fetchone()[0]
        raise_mark(self._beside, lambda: int(self.execute(COUNTED).fetchone()[0]), ledger)


def shape_of(ledger: LedgerDatabase) -> str:
    """Returns the SHA-256 of all that keeps the ledger's claims, as PostgreSQL's catalog tells it.

    Sequences' names and the like differ from server to server, and keep nothing: they are left out.
    """
    rows = [ledger.execute(sql, [NAME]).fetchall() for sql in _SHAPES]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turns PostgreSQL's errors into ours, without data."""
    try:
        yield
    except psycopg.Error as error:
        state = error.sqlstate or "no connection"
        if isinstance(error, _LOST) or state[:2] in ("08", "40", "53", "55", "57"):
            raise errors.OperationalError(f"the ledger cannot be used just now ({state})") from None
        raise errors.LedgerError(f"the ledger is damaged or refused a record ({state})") from None
    except OSError as error:
        raise errors.OperationalError(f"the mark cannot be kept: {error.strerror}") from error
    except (ValueError, errors.DataError) as error:
        raise errors.LedgerError("the ledger holds a record that cannot be read") from error
