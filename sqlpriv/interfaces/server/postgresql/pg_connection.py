"""One connection of PostgreSQL's protocol: message after message, and the simple query protocol.

The order of answers is the protocol's: every query of the simple protocol, and every Sync of the
extended one, is answered by exactly one ReadyForQuery; after an error in the extended protocol
everything up to the next Sync is left unread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sqlpriv.errors import DataError, Error, PermissionDenied
from sqlpriv.interfaces.server.postgresql.encoding import type_numbers as types
from sqlpriv.interfaces.server.postgresql.encoding import wire
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError, error_message
from sqlpriv.interfaces.server.postgresql.extended_protocol import ExtendedProtocol
from sqlpriv.interfaces.server.postgresql.message_sender import ROWS_AT_ONCE, MessageSender
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan, split
from sqlpriv.interfaces.server.postgresql.statements.answering import Answerer
from sqlpriv.interfaces.server.postgresql.statements.client_settings import ERROR_COLUMNS
from sqlpriv.interfaces.server.postgresql.statements.copy_out import CopyOut, parse_copy
from sqlpriv.interfaces.server.postgresql.statements.portals import Portal, PreparedStatement
from sqlpriv.interfaces.server.postgresql.statements.prepared_texts import (
    parse_deallocation,
    parse_preparation,
)
from sqlpriv.interfaces.server.postgresql.statements.statement_answer import StatementAnswer
from sqlpriv.interfaces.server.sessions import Client
from sqlpriv.session.session import Result, Session

if TYPE_CHECKING:
    from sqlpriv.interfaces.server.postgresql.pg_server import PostgreSqlServer

_R = TypeVar("_R")
_ABOUT_SESSION = ("SET", "RESET", "SHOW", "DISCARD", "COMMIT", "END", "ROLLBACK", "ABORT")
"""How statements begin that no time limit of the client's own gives up: they may wait for one that
was given up, and the limit could not be changed."""


class ConnectionEnds(Exception):
    """The connection is over; what the client is told was sent."""


class PostgreSqlConnection:
    """A client that has proved who it is.

    Args:
        server: Whose connection it is.
        reader, writer: Its stream.
        client: Its session.
        key: What cancels its statements.

    Attributes:
        answerer: Answers its statements.
        status: I where no transaction is open, T in one, E in one that has failed.
        failing: The statement that an error is about.
    """

    def __init__(
        self,
        server: PostgreSqlServer,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        client: Client,
        key: bytes,
    ) -> None:
        self._server, self._reader = server, reader
        self._client, self._key = client, key
        rules = client.user.rules
        hold = partial(server.unread.hold, client.user.id)
        self.answerer = Answerer(client.session, self._write_audit, rules, server.previews, hold)
        if rules.error_columns:
            self.answerer.settings.set(ERROR_COLUMNS, "on")
        self._sender = MessageSender(writer, self.answerer.settings)
        self._extended = ExtendedProtocol(self, self._sender)
        self.status = "I"
        self.failing = PreparedStatement("")
        self._skips = False

    def let_go(self) -> None:
        """Lets go of every answer that was bound and every text that was prepared: a collection of
        garbage may come late."""
        self._extended.close_portals()
        self._extended.deallocate("")

    async def serve(self) -> None:
        """Answers messages until the client ends the connection, or loses it."""
        self._sender.send(wire.ready(self.status))
        await self._sender.drain()
        while True:
            letter, body = await wire.read_message(self._reader, wire.LONGEST_MESSAGE)
            if letter == b"X":
                return
            if self._client.ended:
                self._sender.send(wire.error("FATAL", "57P05", "the session was idle for too long"))
                await self._sender.drain()
                return
            await self._handle(letter, body)

    async def _handle(self, letter: bytes, body: wire.Body) -> None:
        if letter == b"Q":
            self._skips = False
            await self._simple_query(body.text())
            return
        if letter == b"S":
            self._skips = False
            if self.status != "T":
                self._extended.close_portals()
            self._sender.send(wire.ready(self.status))
            await self._sender.drain()
            return
        if self._skips:
            return
        handlers = self._extended.handlers
        try:
            if letter in (b"d", b"c", b"f"):  # of a COPY from the client that was refused
                return
            if letter == b"F":
                raise SqlStateError("0A000", "functions are called in SQL here")
            if letter not in handlers:
                raise wire.ProtocolViolation(f"there is no message {letter!r}")
            await handlers[letter](body)
        except wire.ProtocolViolation:
            raise
        except (Error, ValueError, OverflowError, RecursionError) as error:
            self._fail(error, self.failing)
            self._skips = True
            await self._sender.drain()

    # --- the simple protocol ---

    async def _simple_query(self, sql: str) -> None:
        statements = split(sql)
        if not statements:
            self._sender.send(wire.EMPTY_QUERY)
        behind = 0
        for statement in statements:
            start = max(behind, sql.find(statement, behind))
            behind = start + len(statement)
            try:
                await self._answer_simply(statement)
            except wire.ProtocolViolation:
                raise
            except (Error, ValueError, OverflowError, RecursionError) as error:
                self._fail(error, PreparedStatement(statement, start=start))
                break
        self._sender.send(wire.ready(self.status))
        await self._sender.drain()

    async def _answer_simply(self, sql: str) -> None:
        if copy := parse_copy(StatementScan(sql)):
            await self.copy(copy, sql)
            return
        answer = await self.answer(sql, ())
        if answer.table is None:
            self._sender.complete(answer)
            return
        fields = types.fields(answer.table.schema)
        formats = [0] * len(fields)
        self._sender.send(wire.row_description(fields, formats))
        portal = Portal(PreparedStatement(sql), (), formats, answer.table)
        await self._sender.send_rows(portal, fields, formats, answer.table.num_rows)
        self._sender.complete(answer)

    # --- running, and sending ---

    async def answer(self, sql: str, values: Sequence[Any]) -> StatementAnswer:
        """Runs a statement, unless a transaction has failed; follows what it does to that."""
        first = (*StatementScan(sql).words[:1], "")[0]
        ends = first in ("COMMIT", "END", "ROLLBACK", "ABORT")
        if self.status == "E" and not ends:
            raise SqlStateError("25P02", "a statement before failed: send ROLLBACK first")
        if self.status == "E" and "TO" not in StatementScan(sql).words:
            sql = "ROLLBACK"  # as what COMMIT says then is answered, too
        if preparation := parse_preparation(StatementScan(sql)):
            await self._extended.prepare(preparation)
            return StatementAnswer(tag="PREPARE")
        if (name := parse_deallocation(StatementScan(sql))) is not None:
            self._extended.deallocate(name)
        sql, values = await self._extended.resolve(sql, values)
        patience = None if first in _ABOUT_SESSION else self.answerer.settings.patience
        answer = await self.run(
            lambda _, report: self.answerer.answer(sql, values, report),
            on_grid=True,
            patience=patience,
        )
        if first in ("BEGIN", "START"):
            self.status = "T"
        elif ends and "TO" not in StatementScan(sql).words:
            self.status = "I"
        elif ends:
            self.status = "T"
        return answer

    async def run(
        self,
        work: Callable[[Session, Callable[[Any], None]], _R],
        *,
        on_grid: bool = False,
        patience: float | None = None,
    ) -> _R:
        """Runs work on the session, in a thread, within the user's limits, while they are one."""
        server, client = self._server, self._client

        def run() -> _R:
            client.user = server.keeper.refresh(client.user)
            client.last_used = server.now()
            return server.runner.run(
                client,
                work,
                self._reader.at_eof,
                self._key,
                on_grid=on_grid,
                patience=patience,
            )

        try:
            return await asyncio.get_running_loop().run_in_executor(server.threads, run)
        except PermissionDenied as error:
            if error.line or error.hint:  # an owner's statement, of somebody who is still a user
                raise
            self._sender.send(error_message(SqlStateError("28000", str(error)), severity="FATAL"))
            await self._sender.drain()
            raise ConnectionEnds from None

    async def copy(self, copy: CopyOut, sql: str, values: Sequence[Any] = ()) -> None:
        """Sends the rows of COPY (query) TO STDOUT."""
        answer = await self.answer(copy.query, values)
        if answer.table is None:
            raise DataError("COPY takes a query that has rows")
        fields = types.fields(answer.table.schema)
        self._sender.send(copy.start(len(fields)))
        head = copy.head(fields)
        if head and copy.form != "binary":
            self._sender.send(wire.copy_data(head))
            head = b""
        portal = Portal(PreparedStatement(sql), (), (), answer.table)
        while not portal.is_done:
            for line in copy.rows(fields, portal.take_rows(ROWS_AT_ONCE)):
                self._sender.send(wire.copy_data(head + line))  # clients expect both in one message
                head = b""
            await self._sender.drain()
        if tail := head + copy.tail():
            self._sender.send(wire.copy_data(tail))
        self._sender.send(wire.COPY_DONE)
        self._sender.complete(
            StatementAnswer(None, f"COPY {answer.table.num_rows}", answer.notices)
        )

    def _fail(self, error: Exception, statement: PreparedStatement) -> None:
        if self.status == "T":
            self.status = "E"
        self._sender.send(error_message(error, statement.sql, start=statement.start))

    def _write_audit(self, sql: str, values: int, outcome: Result | BaseException) -> None:
        client = self._client
        self._server.audit.statement(client.user, client.peer, sql, values, outcome)

    async def start_settings(self, settings: dict[str, str]) -> None:
        """Sets what the client asked for in its first message.

        Raises:
            sqlpriv.Error: A setting of the session is none, or its value.
        """

        def set_all(_: Session, __: object) -> None:
            for name, value in settings.items():
                if name.lower().startswith("privacy_") and name.lower() != "privacy_error_columns":
                    self.answerer.setting_statements.set_privacy(name, value)
                else:
                    self.answerer.settings.set(name, value)
            self.answerer.setting_statements.keep_start()

        await self.run(set_all)
