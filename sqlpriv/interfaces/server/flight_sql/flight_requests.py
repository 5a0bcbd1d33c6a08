"""What a call of Flight SQL asks for: who calls, which command, which statement."""

from __future__ import annotations

from typing import Any, TypeAlias

from sqlpriv.errors import DataError, InterfaceError, NotSupportedError
from sqlpriv.interfaces.server.audit_log import Audit
from sqlpriv.interfaces.server.authentication import Caller
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.sessions import Client, Sessions
from sqlpriv.interfaces.server.shared.statement_handles import Statement
from sqlpriv.system.count_text import count_text

LONGEST = 2_000_000
"""Bytes of a command: twice what a statement may have."""
Context: TypeAlias = Any
"""pyarrow's ServerCallContext: it ships no types."""


class Requests:
    """Reads what callers send.

    Args:
        sessions: Of the clients.
        audit: Is told of what cannot be read.
    """

    def __init__(self, sessions: Sessions, audit: Audit) -> None:
        self._sessions, self._audit = sessions, audit

    def find_client(self, context: Context) -> Client:
        """Returns who calls, with their session."""
        caller: Caller = context.get_middleware("door")
        return self._sessions.client(caller.user, caller.cookie, caller.fresh, context.peer())

    def read_descriptor(self, context: Context, descriptor: Any) -> tuple[Client, str, Any]:
        """Returns who calls, and the name and the message of the command that they send."""
        client = self.find_client(context)
        name, command = self.read_command(context, client, descriptor.command or b"")
        return client, name, command

    def read_command(self, context: Context, client: Client, data: bytes) -> tuple[str, Any]:
        """Returns the name and the message of a command.

        Raises:
            DataError: It is too long or cannot be read; the audit log says so.
        """
        if len(data) > LONGEST:
            raise self.record_unreadable(
                context, client, f"the command is longer than {LONGEST} bytes"
            )
        try:
            return m.unwrap(data)
        except ValueError as error:
            raise self.record_unreadable(context, client, str(error)) from None

    def record_unreadable(self, context: Context, client: Client, reason: str) -> DataError:
        """Records that somebody sent what cannot be read; returns the error that tells them."""
        self._audit.unreadable(client.user, context.peer(), reason)
        return DataError(reason)

    def find_statement(self, client: Client, name: str, command: Any) -> tuple[Client, Statement]:
        """Returns the statement that a command names, and the session that it is of.

        Raises:
            NotSupportedError: The command is none for a statement.
            InterfaceError: The statement has parameters without values.
        """
        if name == "CommandStatementQuery":
            return client, Statement(command.query)
        if name != "CommandPreparedStatementQuery":
            raise NotSupportedError(f"{name or 'an unknown command'} is no statement")
        owner, statement = self._sessions.find_statement(
            client.user, command.prepared_statement_handle
        )
        if statement.values is None and statement.names:
            raise InterfaceError(
                f"the statement has {count_text(len(statement.names), 'parameter')}:"
                " bind values to them first"
            )
        return owner, statement
