"""Sessions of clients: what one SET holds for, and the statements that a client has prepared.

A session belongs to one user. A client that keeps cookies names it by the cookie that it was given;
of any other client all calls over one connection are one session. A session runs one statement
after another, as a connection to any database does.

A cookie of a session that is not open here, because it was idle for long, or another server gave
it, is told so once: what was SET in it is gone, a price among it.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlpriv.errors import InterfaceError
from sqlpriv.interfaces.server.users import User
from sqlpriv.session.session import Session

IDLE_SECONDS = 1_800.0
MOST_SESSIONS = 64
"""Of one user: a new one ends the one that was idle for longest."""
LOST_SESSION = (
    "this session is not open here: it was idle for half an hour, or the server was started again,"
    " or another server answers now; what was SET and prepared in it is gone, and nothing was run;"
    " SET it again, then ask again"
)
MOST_STATEMENTS = 256
"""Prepared statements and unused tickets of one session: a new one drops the oldest."""


@dataclass(frozen=True)
class Statement:
    """A text to be run, and the values of its parameters, once they are bound.

    Args:
        sql: The text.
        names: Of its parameters, in order.
        values: Theirs; None before they are bound.
    """

    sql: str
    names: tuple[str, ...] = ()
    values: Sequence[Any] | Mapping[str, Any] | None = None


@dataclass(eq=False)
class Client:
    """One session; `lock` is held while a statement of it runs."""

    user: User
    session: Session
    peer: str
    lock: threading.Lock = field(default_factory=threading.Lock)
    last_used: float = field(default_factory=time.monotonic)
    ended: bool = False
    statements: OrderedDict[bytes, Statement] = field(default_factory=OrderedDict)

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
    """

    def __init__(self, vault: Path) -> None:
        self._vault, self._lock = vault, threading.Lock()
        self._open: dict[tuple[int, str], Client] = {}
        self._of_handle: dict[bytes, Client] = {}
        self._closed = False

    def client(
        self, user: User, cookie: str | None, fresh: str, peer: str, dialect: str = "duckdb"
    ) -> Client:
        """Returns the session of a call; a new one where there is none yet.

        Args:
            user: Who calls.
            cookie: The name of the session, if the client sent one.
            fresh: The name that this call's answer offers.
            peer: The connection's other end.
            dialect: The SQL dialect that a new session's statements are read in.

        Raises:
            InterfaceError: The cookie names no session that is open here; from now on it does.
        """
        with self._lock:
            self._end_idle(time.monotonic())
            client = self._find(user, cookie, peer)
        if client is not None:
            return client
        # opening a vault and its ledger takes a while, in which others' calls go on
        session = Session(self._vault, user.role, user.name, files=False, dialect=dialect)
        if user.rules.epsilon is not None and user.role != "owner":
            session.execute(f"SET privacy_epsilon = {user.rules.epsilon!r}")
        with self._lock:
            if self._closed or (client := self._find(user, cookie, peer)) is not None:
                session.close()
            if self._closed:
                raise InterfaceError("the server is closing: connect again later")
            if client is None:
                self._make_room(user)
                client = self._open[user.id, cookie or fresh] = Client(user, session, peer)
                if cookie not in (None, fresh):
                    raise InterfaceError(LOST_SESSION)
            return client

    def end(self, client: Client) -> None:
        """Ends a session: its settings and prepared statements are gone."""
        with self._lock:
            self._end(client)

    def close(self) -> None:
        """Ends all sessions."""
        with self._lock:
            self._closed = True
            for client in tuple(self._open.values()):
                self._end(client)

    def keep_statement(
        self, client: Client, statement: Statement, handle: bytes | None = None
    ) -> bytes:
        """Keeps a statement for later, under a new handle or anew under an old one."""
        handle = handle or secrets.token_bytes(16)
        with self._lock:
            client.statements[handle], self._of_handle[handle] = statement, client
            while len(client.statements) > MOST_STATEMENTS:
                oldest, _ = client.statements.popitem(last=False)
                self._of_handle.pop(oldest, None)
        return handle

    def find_statement(
        self, user: User, handle: bytes, *, once: bool = False
    ) -> tuple[Client, Statement]:
        """Returns the statement of a handle, and its session; with `once` the handle is used up.

        Raises:
            InterfaceError: There is none, or it is another user's.
        """
        with self._lock:
            client = self._of_handle.get(handle)
            if client is None or client.user.id != user.id:
                raise InterfaceError(
                    "there is no such statement here: its ticket was used, its session has ended,"
                    " or another server gave it; ask for another: an answer that was given before"
                    " is free"
                )
            statement = client.statements[handle]
            if once:
                self._forget(client, handle)
            client.last_used = time.monotonic()
            return client, statement

    def forget_statement(self, user: User, handle: bytes) -> bool:
        """Drops a statement; tells whether there was one of that handle and user."""
        with self._lock:
            client = self._of_handle.get(handle)
            if client is None or client.user.id != user.id:
                return False
            self._forget(client, handle)
            return True

    def _forget(self, client: Client, handle: bytes) -> None:
        client.statements.pop(handle, None)
        self._of_handle.pop(handle, None)

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
        for handle in tuple(client.statements):
            self._forget(client, handle)
        client.ended = True
        client.close_if_ended()
