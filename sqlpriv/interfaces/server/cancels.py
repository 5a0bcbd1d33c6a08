"""Giving up a statement that runs here, or at another server of the same vault.

PostgreSQL's protocol cancels over a connection of its own, and a balancer may send that, or any
call of Flight SQL, to another server. A server that does not know the statement tells the others.
"""

from __future__ import annotations

import hmac
import secrets
import struct
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from sqlpriv.interfaces.server.running_statements import Runner

if TYPE_CHECKING:
    from sqlpriv.interfaces.server.shared.cancel_channel import CancelChannel

_HANDLE_BYTES = 16
"""Bytes of a ticket's handle: no other is told to servers."""


class Cancels:
    """Gives up statements by what their clients show; threads may share it.

    Args:
        runner: Runs the statements of this server.
        key: Signs the keys of PostgreSQL's protocol; that of all servers of the vault.
    """

    def __init__(self, runner: Runner, key: bytes) -> None:
        self._runner, self._key, self._lock = runner, key, threading.Lock()
        self._connections: dict[bytes, tuple[int, bytes]] = {}
        self.channel: CancelChannel | None = None

    def new_connection(self, user_id: int, handle: bytes) -> tuple[int, bytes]:
        """Returns the number and the secret that cancel a connection's statements.

        The secret is the number's signature, so that every server knows a right one.

        Args:
            user_id: Whose connection it is.
            handle: What the runner names the connection's statements by.
        """
        number = secrets.randbits(31)
        secret = self._sign(number)
        with self._lock:
            self._connections[_connection_key(number, secret)] = (user_id, handle)
        return number, secret

    def end_connection(self, number: int, secret: bytes) -> None:
        """Forgets a connection, and gives its statement up."""
        with self._lock:
            user_id, handle = self._connections.pop(_connection_key(number, secret), (0, b""))
        self._runner.cancel(user_id, handle)

    def cancel_connection(self, shown: bytes) -> None:
        """Gives up the statement of a connection, if these eight bytes are its number and secret.

        Raises:
            OperationalError: The other servers cannot be told.
        """
        if self._cancel_here(shown) or self.channel is None or len(shown) != 8:
            return
        (number,) = struct.unpack("!i", shown[:4])
        if number >= 0 and hmac.compare_digest(self._sign(number), shown[4:]):
            self.channel.send(connection=shown.hex())

    def cancel(self, user_id: int, handle: bytes) -> bool | None:
        """Gives up the statement of a ticket: True where it ran here, False where other servers are
        told, None where there is none.

        Raises:
            OperationalError: The other servers cannot be told.
        """
        if self._runner.cancel(user_id, handle):
            return True
        if self.channel is None or len(handle) != _HANDLE_BYTES:
            return None
        self.channel.send(user=str(user_id), handle=handle.hex())
        return False

    def cancel_session(self, user_id: int, session: str) -> None:
        """Gives up every statement of a session, here and at other servers.

        Raises:
            OperationalError: The other servers cannot be told.
        """
        self._runner.cancel_all(user_id, session)
        if self.channel is not None:
            self.channel.send(user=str(user_id), session=session)

    def hear(self, message: Mapping[str, str]) -> None:
        """Does what another server was asked for; a message of another kind does nothing."""
        with suppress(ValueError):  # somebody else's message
            match message:
                case {"connection": shown}:
                    self._cancel_here(bytes.fromhex(shown))
                case {"user": user_id, "handle": handle}:
                    self._runner.cancel(int(user_id), bytes.fromhex(handle))
                case {"user": user_id, "session": session}:
                    self._runner.cancel_all(int(user_id), session)

    def _cancel_here(self, shown: bytes) -> bool:
        with self._lock:
            connection = self._connections.get(shown)
        if connection is None:
            return False
        self._runner.cancel(*connection)
        return True

    def _sign(self, number: int) -> bytes:
        return hmac.digest(self._key, b"cancel %d" % number, "sha256")[:4]


def _connection_key(number: int, secret: bytes) -> bytes:
    """Returns what a CancelRequest shows, as it is sent."""
    return struct.pack("!i", number) + secret
