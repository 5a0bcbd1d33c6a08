"""Sessions of clients: what one SET holds for, and the statements that a client has prepared.

A session belongs to one user. A client that keeps cookies names it by the cookie that it was given;
of any other client all calls over one connection are one session. A session runs one statement
after another, as a connection to any database does.

Servers that share a ledger in PostgreSQL share their sessions, too: whichever answers goes on with
what was SET and prepared. A cookie of a session that has ended, because it was idle for long or its
server was started again, is told so once: what was SET in it is gone, a price among it.
"""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from sqlpriv.errors import InterfaceError
from sqlpriv.interfaces.server.shared.shared_sessions import (
    IDLE_SECONDS,
    MOST_SESSIONS,
    SessionRow,
    SharedSessions,
)
from sqlpriv.interfaces.server.shared.statement_handles import Statement, StatementHandles
from sqlpriv.interfaces.server.users import User
from sqlpriv.session.session import Session

LOST_SESSION = (
    "this session is not open here: it was idle for half an hour, or the server was started again,"
    " or another server answers now; what was SET and prepared in it is gone, and nothing was run;"
    " SET it again, then ask again"
)


ENDED_SESSION = "this session has ended: connect again"
_ELSEWHERE = "another server"
"""The other end of a session that this server goes on with by a ticket, until a client names it."""


@dataclass(eq=False)
class Client:
    """One session; `lock` is held while a statement of it runs.

    Args:
        user: Whose.
        session: The open one.
        peer: The connection's other end.
        name: What the client names the session by.
        shared: Where its settings are kept for other servers; None for this server's alone.
        row: What was kept last.
    """

    user: User
    session: Session
    peer: str
    name: str = ""
    shared: SharedSessions | None = None
    row: SessionRow | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    last_used: float = field(default_factory=time.monotonic)
    ended: bool = False

    def load_settings(self) -> None:
        """Takes over what was SET at another server; whoever calls holds `lock`.

        Raises:
            InterfaceError: The session has ended, here or there.
        """
        if self.ended or not self._agree():
            raise InterfaceError(ENDED_SESSION)

    def keep_settings(self) -> None:
        """Keeps what a statement SET, for other servers; whoever calls holds `lock`."""
        if self.shared is not None:
            self.row = self.shared.keep(self.user.id, self.name, self.session, self.row)

    def goes_on(self) -> bool:
        """Tells whether the session has not ended at another server. What was SET there is taken
        over, unless a statement runs, which does so in its turn."""
        if not self.lock.acquire(blocking=False):
            return True
        try:
            return self._agree()
        finally:
            self.lock.release()

    def _agree(self) -> bool:
        """Has the session agree with what is kept of it; tells whether it has not ended there."""
        if self.shared is None:
            return True
        row = self.shared.find(self.user.id, self.name)
        if row is not None and row != self.row:
            row.restore(self.session)
            self.row = row
        return row is not None

    def close_if_ended(self) -> None:
        """Closes the session, once it has ended and nothing of it runs any more."""
        if self.ended and self.lock.acquire(blocking=False):
            try:
                self.session.close()
            finally:
                self.lock.release()


class Sessions:
    """The open sessions of all users on one vault; threads may share it.

    Args:
        vault: The DuckDB file.
        shared: The sessions of all servers of the vault; None for this server's alone.
        handles: Statements that were prepared; by default in this server's memory.
    """

    def __init__(
        self,
        vault: Path,
        shared: SharedSessions | None = None,
        handles: StatementHandles | None = None,
    ) -> None:
        self._vault, self._lock = vault, threading.Lock()
        self._shared, self._handles = shared, handles or StatementHandles()
        self._open: dict[tuple[int, str], Client] = {}
        self._closed = False

    def client(
        self,
        user: User,
        cookie: str | None,
        fresh: str,
        peer: str,
        dialect: str = "duckdb",
        *,
        of_connection: bool = False,
    ) -> Client:
        """Returns the session of a call; a new one where there is none yet.

        Args:
            user: Who calls.
            cookie: The name of the session, if the client sent one.
            fresh: The name that this call's answer offers.
            peer: The connection's other end.
            dialect: The SQL dialect that a new session's statements are read in.
            of_connection: The session ends with its connection: no other server goes on with it.

        Raises:
            InterfaceError: The cookie names no session that is open; from now on it does.
        """
        with self._lock:
            self._end_idle(time.monotonic())
            client = self._find(user, cookie, peer)
        if client is not None and client.goes_on():
            return client
        if client is not None:
            with self._lock:
                self._end(client)
        shared = None if of_connection else self._shared
        row = shared.find(user.id, cookie) if shared and cookie else None
        is_lost = row is None and cookie not in (None, fresh)
        # opening a vault and its ledger takes a while, in which others' calls go on
        session = Session(self._vault, user.role, user.name, files=False, dialect=dialect)
        if row is None and user.rules.epsilon is not None and user.role != "owner":
            session.execute(f"SET privacy_epsilon = {user.rules.epsilon!r}")
        new_client = Client(user, session, peer, cookie or fresh, shared, row)
        if shared is not None and row is None:
            new_client.row = shared.begin(user.id, new_client.name, session)
        elif row is not None:
            row.restore(session)
        with self._lock:
            if self._closed or (client := self._find(user, cookie, peer)) is not None:
                session.close()
            if self._closed:
                raise InterfaceError("the server is closing: connect again later")
            if client is None:
                self._make_room(user)
                client = self._open[user.id, new_client.name] = new_client
                if is_lost:
                    raise InterfaceError(LOST_SESSION)
            return client

    def end(self, client: Client) -> None:
        """Ends a session, at all servers: its settings and prepared statements are gone."""
        if client.shared is not None:
            client.shared.end(client.user.id, client.name)
        with self._lock:
            self._end(client)

    def close(self) -> None:
        """Ends all sessions of this server; others go on with those that they share."""
        with self._lock:
            self._closed = True
            for client in tuple(self._open.values()):
                self._end(client)

    def keep_statement(
        self, client: Client, statement: Statement, handle: bytes | None = None
    ) -> bytes:
        """Keeps a statement for later, under a new handle or anew under an old one."""
        handle = handle or secrets.token_bytes(16)
        self._handles.keep(client.user.id, client.name, handle, statement)
        return handle

    def find_statement(
        self, user: User, handle: bytes, *, once: bool = False
    ) -> tuple[Client, Statement]:
        """Returns the statement of a handle, and its session; with `once` the handle is used up.

        Raises:
            InterfaceError: There is none, or it is another user's.
        """
        name, statement = self._handles.find(user.id, handle, once=once)
        return self.client(user, name, "", _ELSEWHERE), statement

    def forget_statement(self, user: User, handle: bytes) -> bool:
        """Drops a statement; tells whether there was one of that handle and user."""
        return self._handles.forget(user.id, handle)

    def _find(self, user: User, cookie: str | None, peer: str) -> Client | None:
        """Returns the open session of a call, which is used now."""
        mine = (c for (number, _), c in self._open.items() if number == user.id)
        of_peer = (client for client in mine if client.peer == peer)
        client = self._open.get((user.id, cookie)) if cookie else next(of_peer, None)
        if client is not None:
            client.last_used = time.monotonic()
        return client

    def _end_idle(self, now: float) -> None:
        for client in tuple(self._open.values()):
            if now - client.last_used > IDLE_SECONDS and not client.lock.locked():
                self._end(client)

    def _make_room(self, user: User) -> None:
        mine = [c for (number, _), c in self._open.items() if number == user.id]
        idle = sorted((c for c in mine if not c.lock.locked()), key=lambda c: c.last_used)
        for client in idle[: max(0, len(mine) - MOST_SESSIONS + 1)]:
            self._end(client)

    def _end(self, client: Client) -> None:
        self._open = {key: c for key, c in self._open.items() if c is not client}
        self._handles.forget_session(client.user.id, client.name)
        client.ended = True
        client.close_if_ended()
