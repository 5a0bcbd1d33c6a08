"""Statements that a client gives up, named by the FlightInfo that it has of them."""

from __future__ import annotations

from pyarrow import flight

from sqlpriv.errors import DataError
from sqlpriv.interfaces.server.cancels import Cancels
from sqlpriv.interfaces.server.flight_sql.flight_requests import LONGEST
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.sessions import Client, Sessions

_CANCELLED, _CANCELLING, _NOT_CANCELLABLE = 1, 2, 3
"""Flight's CancelStatus."""


def cancel_flight_info(data: bytes, client: Client, sessions: Sessions, cancels: Cancels) -> int:
    """Gives up the statements of a FlightInfo, under way or not yet asked for.

    Args:
        data: The FlightInfo, as Flight writes it.
        client: Whose they are; those of others are left alone.
        sessions: Keep the statements that wait.
        cancels: Gives up those that run, on whatever server.

    Returns:
        The first of Flight's CancelStatus, in their order, that one of the statements has.

    Raises:
        DataError: The message is too long.
    """
    if len(data) > LONGEST:
        raise DataError(f"the message is longer than {LONGEST} bytes")
    statuses = {_NOT_CANCELLABLE}
    for endpoint in flight.FlightInfo.deserialize(data).endpoints:
        name, command = m.unwrap(endpoint.ticket.ticket)
        if name == "TicketStatementQuery":
            handle = command.statement_handle
            if sessions.forget_statement(client.user, handle):
                statuses.add(_CANCELLED)
            elif (is_here := cancels.cancel(client.user.id, handle)) is not None:
                statuses.add(_CANCELLED if is_here else _CANCELLING)
    return min(statuses)
