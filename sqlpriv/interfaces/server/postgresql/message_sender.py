"""What a client of PostgreSQL's protocol is sent: messages, rows, and how a statement ended."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from sqlpriv.interfaces.server.postgresql.encoding import wire
from sqlpriv.interfaces.server.postgresql.encoding import wire_values as v
from sqlpriv.interfaces.server.postgresql.statements.client_settings import ClientSettings
from sqlpriv.interfaces.server.postgresql.statements.portals import Portal
from sqlpriv.interfaces.server.postgresql.statements.statement_answer import StatementAnswer

ROWS_AT_ONCE = 500
"""Rows that are made into messages at once; others are served between two such batches."""


class MessageSender:
    """Sends messages to one client.

    Args:
        writer: Its stream.
        settings: Say which messages it wants.
    """

    def __init__(self, writer: asyncio.StreamWriter, settings: ClientSettings) -> None:
        self._writer, self._settings = writer, settings

    def send(self, data: bytes) -> None:
        """Puts messages into the stream."""
        self._writer.write(data)

    async def drain(self) -> None:
        """Waits until the client has taken most of what it was sent.

        Raises:
            TimeoutError: It takes too long: the connection ends.
        """
        async with asyncio.timeout(wire.MESSAGE_SECONDS):
            await self._writer.drain()

    async def send_rows(
        self, portal: Portal, fields: Sequence[wire.Field], formats: Sequence[int], count: int
    ) -> int:
        """Sends the next rows of a portal, `count` at most; returns how many there were."""
        start = portal.position
        forms = [(field.oid, form) for field, form in zip(fields, formats, strict=True)]
        while not portal.is_done and portal.position - start < count:
            for row in portal.take_rows(min(ROWS_AT_ONCE, count - (portal.position - start))):
                cells = [v.encode(value, *form) for value, form in zip(row, forms, strict=True)]
                self.send(wire.data_row(cells))
            await self.drain()
        return portal.position - start

    def complete(self, answer: StatementAnswer) -> None:
        """Sends a statement's notices and its tag, which end it."""
        if self._settings.takes_notices:
            for words in answer.notices:
                self.send(wire.notice(words))
        if answer.changed:
            self.send(wire.parameter_status(*answer.changed))
        rows = "" if answer.table is None else f" {answer.table.num_rows}"
        self.send(wire.command_complete(f"{answer.tag}{rows if answer.tag == 'SELECT' else ''}"))
