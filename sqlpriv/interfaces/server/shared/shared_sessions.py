"""Sessions that go on at whichever server answers: their settings, prepared statements and tickets.

A session's row says what was SET in it, and a version that each change raises; each server makes
its own open session agree before a statement, and writes back what the statement changed. Two
statements of one session that two servers run at the same moment do not wait for each other, and of
two that change settings then the later one counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from sqlpriv.errors import DataError, InterfaceError
from sqlpriv.interfaces.server.shared.statement_handles import (
    MOST_STATEMENTS,
    NO_STATEMENT,
    Statement,
    StatementHandles,
)
from sqlpriv.session.session import Session

if TYPE_CHECKING:
    from sqlpriv.interfaces.server.shared.server_database import ServerDatabase

IDLE_SECONDS = 1_800.0
"""After which a session that nobody used has ended."""
MOST_SESSIONS = 64
"""Of one user: a new one ends the one that was idle for longest."""
_REFRESH = 60.0
"""Seconds after which a session that is used is recorded as used."""


@dataclass(frozen=True)
class SessionRow:
    """What is kept of a session.

    Args:
        version: How often it changed.
        settings: What was SET, and the dialect, as JSON.
    """

    version: int
    settings: str

    def restore(self, session: Session) -> None:
        """Has a session agree with what was kept of it."""
        dialect, settings = json.loads(self.settings)
        session.restore(dialect, settings)


class SharedSessions:
    """The rows of all servers' sessions; threads may share it.

    Args:
        database: Where they stand.
    """

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def find(self, user_id: int, name: str) -> SessionRow | None:
        """Returns the session of that name, if it has not ended."""
        row = self._database.execute(
            "SELECT version, settings, extract(epoch FROM now() - last_used) FROM session"
            " WHERE user_id = ? AND name = ?",
            [user_id, name],
        ).fetchone()
        if row is None or row[2] > IDLE_SECONDS:
            return None
        if row[2] > _REFRESH:
            self._database.execute(
                "UPDATE session SET last_used = now() WHERE user_id = ? AND name = ?",
                [user_id, name],
            )
        return SessionRow(row[0], row[1])

    def begin(self, user_id: int, name: str, session: Session) -> SessionRow:
        """Keeps a new session; ends those of all users that were idle for long, and the user's that
        are too many."""
        self._database.execute(
            "DELETE FROM session WHERE last_used < now() - ? * interval '1 second'", [IDLE_SECONDS]
        )
        self._database.execute(
            "DELETE FROM session WHERE user_id = ? AND name IN (SELECT name FROM session"
            " WHERE user_id = ? ORDER BY last_used DESC OFFSET ?)",
            [user_id, user_id, MOST_SESSIONS - 1],
        )
        row = SessionRow(0, _settings_text(session))
        self._database.execute(
            "INSERT INTO session (user_id, name, settings) VALUES (?, ?, ?)"
            " ON CONFLICT (user_id, name) DO UPDATE SET last_used = now()",
            [user_id, name, row.settings],
        )
        return row

    def keep(
        self, user_id: int, name: str, session: Session, row: SessionRow | None
    ) -> SessionRow | None:
        """Keeps what was SET in an open session since `row` was kept; returns what is kept now."""
        settings = _settings_text(session)
        if row is not None and settings == row.settings:
            return row
        version = self._database.execute(
            "UPDATE session SET settings = ?, version = version + 1, last_used = now()"
            " WHERE user_id = ? AND name = ? RETURNING version",
            [settings, user_id, name],
        ).fetchone()
        return SessionRow(version[0], settings) if version else row

    def end(self, user_id: int, name: str) -> None:
        """Ends a session at all servers: its settings and prepared statements are gone."""
        self._database.execute(
            "DELETE FROM session WHERE user_id = ? AND name = ?", [user_id, name]
        )


class SharedHandles(StatementHandles):
    """Prepared statements and unused tickets that every server knows; threads may share it.

    Args:
        database: Where they stand.
    """

    def __init__(self, database: ServerDatabase) -> None:
        super().__init__()
        self._database = database

    def keep(self, user_id: int, session: str, handle: bytes, statement: Statement) -> None:
        """Keeps a statement under a handle; the oldest of many is dropped."""
        body = json.dumps([statement.sql, statement.names]).encode()
        self._database.execute(
            "INSERT INTO handle (handle, user_id, session, body, parameters)"
            " SELECT ?, user_id, name, ?, ? FROM session WHERE user_id = ? AND name = ?"
            " ON CONFLICT (handle) DO UPDATE SET parameters = excluded.parameters"
            " WHERE handle.user_id = excluded.user_id",
            [handle, body, _to_bytes(statement), user_id, session],
        )
        self._database.execute(
            "DELETE FROM handle WHERE user_id = ? AND session = ? AND number IN (SELECT number"
            " FROM handle WHERE user_id = ? AND session = ? ORDER BY number DESC OFFSET ?)",
            [user_id, session, user_id, session, MOST_STATEMENTS],
        )

    def find(self, user_id: int, handle: bytes, *, once: bool = False) -> tuple[str, Statement]:
        """Returns the name of a handle's session, and the statement; `once` uses the handle up."""
        columns, mine = "session, body, parameters", "handle = ? AND user_id = ?"
        row = self._database.execute(
            f"DELETE FROM handle WHERE {mine} RETURNING {columns}"
            if once
            else f"SELECT {columns} FROM handle WHERE {mine}",
            [handle, user_id],
        ).fetchone()
        if row is None:
            raise InterfaceError(NO_STATEMENT)
        session, body, parameters = row
        sql, names = json.loads(body)
        return session, Statement(sql, tuple(names), _from_bytes(tuple(names), parameters))

    def forget(self, user_id: int, handle: bytes) -> bool:
        """Drops a statement; tells whether there was one of that handle and user."""
        delete = "DELETE FROM handle WHERE handle = ? AND user_id = ?"
        return bool(self._database.execute(delete, [handle, user_id]).rowcount)

    def forget_session(self, user_id: int, session: str) -> None:
        """Does nothing: another server may go on with the session, whose end drops its handles."""


def _settings_text(session: Session) -> str:
    return json.dumps([session.dialect, dict(session.settings)], sort_keys=True)


def _to_bytes(statement: Statement) -> bytes | None:
    """Returns bound values as an Arrow stream of one row; None before values are bound.

    Raises:
        DataError: A value is of no type that Arrow has.
    """
    if statement.values is None:
        return None
    values = statement.values
    named = values.items() if isinstance(values, Mapping) else enumerate(values)
    try:
        columns = {str(name): pa.array([value]) for name, value in named}
    except (pa.ArrowException, OverflowError):
        raise DataError("a parameter is of no type that can be kept") from None
    batch = pa.record_batch(columns) if columns else pa.record_batch([], schema=pa.schema([]))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _from_bytes(names: tuple[str, ...], data: bytes | None) -> Any:
    """Returns the values that `_to_bytes` wrote: by name where names were written, or in order."""
    if data is None:
        return None
    with pa.ipc.open_stream(data) as reader:
        rows = reader.read_all()
    values = [column[0].as_py() for column in rows.columns]
    if all(name.isdecimal() for name in names):
        return tuple(values)
    return dict(zip(rows.column_names, values, strict=True))
