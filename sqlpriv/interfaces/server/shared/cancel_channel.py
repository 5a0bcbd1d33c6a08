"""The way from a server that was asked to cancel to the one that runs the statement: NOTIFY."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping

import psycopg

from sqlpriv.interfaces.server.shared.server_database import ServerDatabase

_CHANNEL = "sqlpriv_cancel"
_POLL = 1.0
"""Seconds after which the listener looks whether it is closed."""


class CancelChannel:
    """Hears the cancels of other servers, from the moment it is made until it is closed.

    Args:
        database: Through whose connections; poolers in transaction mode forward no NOTIFY.
        on_cancel: Is called with every message, in a thread of the channel's own.
    """

    def __init__(
        self, database: ServerDatabase, on_cancel: Callable[[Mapping[str, str]], None]
    ) -> None:
        self._database, self._on_cancel = database, on_cancel
        self._closed, self._hears = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()
        self._hears.wait(10)

    def send(self, **message: str) -> None:
        """Tells every server, this one included.

        Raises:
            OperationalError: PostgreSQL cannot be reached.
        """
        self._database.execute("SELECT pg_notify(?, ?)", [_CHANNEL, json.dumps(message)])

    def close(self) -> None:
        """Hears no more."""
        self._closed.set()
        self._thread.join()

    def _listen(self) -> None:
        """Listens, over a new connection whenever the last one was lost."""
        while not self._closed.is_set():
            try:
                with self._database.connect() as connection:
                    connection.execute(f"LISTEN {_CHANNEL}")
                    self._hears.set()
                    while not self._closed.is_set():
                        for notice in connection.notifies(timeout=_POLL, stop_after=1):
                            self._hear(notice.payload)
            except psycopg.Error:
                time.sleep(_POLL)

    def _hear(self, payload: str) -> None:
        """Passes a message on; what is none is not: anybody in the database may send one."""
        try:
            message = json.loads(payload)
        except ValueError:
            return
        if isinstance(message, dict) and all(isinstance(v, str) for v in message.values()):
            self._on_cancel(message)
