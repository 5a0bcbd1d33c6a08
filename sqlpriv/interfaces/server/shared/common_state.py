"""What a server shares with others of its vault: nothing, or what PostgreSQL keeps for them."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sqlpriv.kernel.ledger.pointer import pointer_of

if TYPE_CHECKING:
    from sqlpriv.interfaces.server.shared.cancel_channel import CancelChannel
    from sqlpriv.interfaces.server.shared.server_database import ServerDatabase
    from sqlpriv.interfaces.server.shared.shared_sessions import SharedHandles, SharedSessions


@dataclass
class CommonState:
    """What one server shares.

    Args:
        key: Signs what one server gives and another takes.
        server_name: Who writes an audit log's records; '' where no other server does.
        database: Where it stands; None for a server of its own.
        sessions, handles: Sessions and prepared statements of all servers.
    """

    key: bytes
    server_name: str = ""
    database: ServerDatabase | None = None
    sessions: SharedSessions | None = None
    handles: SharedHandles | None = None
    channel: CancelChannel | None = None

    def open_channel(self, hear: Callable[[Mapping[str, str]], None]) -> CancelChannel | None:
        """Returns the way to the other servers, whose cancels `hear` is told; None without any."""
        if self.database is not None:
            from sqlpriv.interfaces.server.shared.cancel_channel import CancelChannel

            self.channel = CancelChannel(self.database, hear)
        return self.channel

    def close(self) -> None:
        """Closes the connections."""
        if self.channel is not None:
            self.channel.close()
        if self.database is not None:
            self.database.close()


def common_state(vault: Path) -> CommonState:
    """Returns what the servers of a vault share: where its ledger is in PostgreSQL, all but rows.

    Raises:
        OperationalError: See `ServerDatabase`.
    """
    url = pointer_of(vault.with_suffix(".ledger"))
    if not url:
        return CommonState(secrets.token_bytes(32))
    from sqlpriv.interfaces.server.shared.server_database import ServerDatabase
    from sqlpriv.interfaces.server.shared.shared_sessions import SharedHandles, SharedSessions

    database = ServerDatabase(url)
    name = f"{socket.gethostname()}:{os.getpid()}"
    shared = SharedSessions(database), SharedHandles(database)
    return CommonState(database.key, name, database, *shared)
