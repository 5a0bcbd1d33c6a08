"""Statements that a client has prepared or holds a ticket for, by the handle that it was given."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sqlpriv.errors import InterfaceError

MOST_STATEMENTS = 256
"""Prepared statements and unused tickets of one session: a new one drops the oldest."""
MOST_CHARACTERS = 32_000_000
"""Of all these together, but for the newest: one statement may be bound to a text of 16 MB."""
NO_STATEMENT = (
    "there is no such statement here: its ticket was used, its session has ended, or another server"
    " gave it; ask for another: an answer that was given before is free"
)


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

    @cached_property
    def characters(self) -> int:
        """How long the text is, with the texts that are bound to it."""
        bound = self.values.values() if isinstance(self.values, Mapping) else self.values or ()
        listed = (x for value in bound for x in (value if isinstance(value, list) else [value]))
        return len(self.sql) + sum(len(x) if isinstance(x, str | bytes) else 8 for x in listed)


class StatementHandles:
    """The statements of all sessions of one server, in its memory; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sessions: dict[tuple[int, str], OrderedDict[bytes, Statement]] = {}
        self._session_of: dict[bytes, tuple[int, str]] = {}

    def keep(self, user_id: int, session: str, handle: bytes, statement: Statement) -> None:
        """Keeps a statement under a handle, new or known; the oldest of many, or of much text,
        are dropped.

        Args:
            user_id: Whose session it is.
            session: The session's name.
            handle: 16 random bytes.
            statement: What is kept.
        """
        with self._lock:
            statements = self._sessions.setdefault((user_id, session), OrderedDict())
            statements[handle] = statement
            statements.move_to_end(handle)
            self._session_of[handle] = (user_id, session)
            characters = sum(each.characters for each in statements.values())
            while len(statements) > MOST_STATEMENTS or (
                characters > MOST_CHARACTERS and len(statements) > 1
            ):
                oldest = next(iter(statements))
                characters -= statements[oldest].characters
                self._drop(oldest)

    def find(self, user_id: int, handle: bytes, *, once: bool = False) -> tuple[str, Statement]:
        """Returns the name of a handle's session, and the statement; `once` uses the handle up.

        Raises:
            InterfaceError: There is none, or it is another user's.
        """
        with self._lock:
            number, session = self._session_of.get(handle, (None, ""))
            if number != user_id:
                raise InterfaceError(NO_STATEMENT)
            statement = self._sessions[user_id, session][handle]
            if once:
                self._drop(handle)
            return session, statement

    def forget(self, user_id: int, handle: bytes) -> bool:
        """Drops a statement; tells whether there was one of that handle and user."""
        with self._lock:
            is_mine = self._session_of.get(handle, (None, ""))[0] == user_id
            if is_mine:
                self._drop(handle)
            return is_mine

    def forget_session(self, user_id: int, session: str) -> None:
        """Drops the statements of a session that has ended."""
        with self._lock:
            for handle in self._sessions.pop((user_id, session), ()):
                del self._session_of[handle]

    def _drop(self, handle: bytes) -> None:
        del self._sessions[self._session_of.pop(handle)][handle]
