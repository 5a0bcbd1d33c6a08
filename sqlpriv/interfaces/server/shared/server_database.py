"""The schema of PostgreSQL in which servers of one vault keep what another of them must know.

It stands in the ledger's database, beside the ledger's own schema. Logins and sessions are no part
of the privacy claim. A server that loses its connection connects again for the next statement.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Sequence
from importlib import resources
from typing import Any

import psycopg

from sqlpriv.errors import OperationalError

NAME = "sqlpriv_servers"
"""The schema, in the database that the ledger's URL names."""
VERSION = 1
_SCHEMA = resources.files("sqlpriv.interfaces.server.shared").joinpath("server_schema.sql")
_NO_RIGHT = (
    f"this login may not use the schema {NAME} of the ledger's database, where servers keep"
    " logins and sessions: let the owner's login run `sqlpriv user list` once, which makes it, and"
    " grant what docs/how-to/operations.md lists"
)


class ServerDatabase:
    """A connection to the schema; threads may share it. The schema is made where there is none.

    Args:
        url: The ledger's.

    Attributes:
        key: 32 random bytes that all servers of the schema have in common.

    Raises:
        OperationalError: PostgreSQL cannot be reached, this login may not use the schema, or the
            schema is of another version. Every statement may raise it as well.
    """

    def __init__(self, url: str) -> None:
        self._url, self._lock = url, threading.RLock()
        self._connect()
        self.key: bytes = self.execute("SELECT key FROM common").fetchone()[0]

    def connect(self) -> psycopg.Connection[Any]:
        """Returns another connection, which the caller closes.

        Raises:
            psycopg.Error: There is none to be had.
        """
        return psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=10,
            target_session_attrs="read-write",
            application_name="sqlpriv",
            options=f"-c search_path={NAME}",
        )

    def execute(self, sql: str, values: Sequence[Any] = ()) -> Any:
        """Runs one statement, `?` for its values, and commits it unless a transaction is open.

        Returns its cursor, of psycopg.
        """
        with self._lock:
            if self._db.closed or self._db.broken:
                self._connect()
            try:
                return self._db.execute(sql.replace("?", "%s").encode(), values or None)
            except psycopg.Error as error:
                raise _operational(error) from None

    def close(self) -> None:
        """Closes the connection."""
        self._db.close()

    def _connect(self) -> None:
        """Connects; a connection that the schema cannot be used by is closed again."""
        try:
            self._db = self.connect()
        except psycopg.Error as error:
            raise _operational(error) from None
        try:
            self._prepare()
        except psycopg.Error as error:
            self._db.close()
            raise _operational(error) from None
        except BaseException:  # Ctrl-C, too, leaves no connection open
            self._db.close()
            raise

    def _prepare(self) -> None:
        """Makes the schema unless there is one.

        Raises:
            OperationalError: It is of another version.
        """
        with self._db.transaction():
            self._db.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [NAME])
            schema = self._db.execute("SELECT FROM pg_namespace WHERE nspname = %s", [NAME])
            if not schema.rowcount:
                self._db.execute(f"CREATE SCHEMA {NAME}; {_SCHEMA.read_text()}".encode())
                common = "INSERT INTO common (version, key) VALUES (%s, %s)"
                self._db.execute(common, [VERSION, secrets.token_bytes(32)])
            version = self._db.execute("SELECT version FROM common").fetchone()
        if version != (VERSION,):
            raise OperationalError(f"the schema {NAME} is of another version: upgrade sqlpriv")


def _operational(error: psycopg.Error) -> OperationalError:
    """Returns what is said of an error of PostgreSQL's, whose own text is not shown."""
    if error.sqlstate in ("42501", "42P01"):  # a schema without rights hides its tables
        return OperationalError(_NO_RIGHT)
    state = error.sqlstate or "no connection"
    return OperationalError(f"logins and sessions in PostgreSQL cannot be used just now ({state})")
