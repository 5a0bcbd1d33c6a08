"""One connection of PostgreSQL's protocol: who it is, and message after message what is asked.

The order of answers is the protocol's: every query of the simple protocol, and every Sync of the
extended one, is answered by exactly one ReadyForQuery; after an error in the extended protocol
everything up to the next Sync is left unread.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sqlpriv.errors import DataError, Error, PermissionDenied
from sqlpriv.interfaces.server.postgresql.encoding import wire
from sqlpriv.interfaces.server.postgresql.encoding import wire_values as v
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError, error_message
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan, split
from sqlpriv.interfaces.server.postgresql.statements import portals
from sqlpriv.interfaces.server.postgresql.statements.answering import Answerer
from sqlpriv.interfaces.server.postgresql.statements.client_settings import ERROR_COLUMNS
from sqlpriv.interfaces.server.postgresql.statements.copy_out import CopyOut, parse_copy
from sqlpriv.interfaces.server.postgresql.statements.portals import Portal, PreparedStatement
from sqlpriv.interfaces.server.postgresql.statements.statement_answer import StatementAnswer
from sqlpriv.interfaces.server.sessions import Client
from sqlpriv.session.session import Result, Session

if TYPE_CHECKING:
    from sqlpriv.interfaces.server.postgresql.pg_server import PostgreSqlServer

_R = TypeVar("_R")
_ROWS = 500
"""Rows that are made into messages at once; others are served between two such batches."""


class ConnectionEnds(Exception):
    """The connection is over; what the client is told was sent."""


class PostgreSqlConnection:
    """A client that has proved who it is.

    Args:
        server: Whose connection it is.
        reader, writer: Its stream.
        client: Its session.
        key: What cancels its statements.
    """

    def __init__(
        self,
        server: PostgreSqlServer,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        client: Client,
        key: bytes,
    ) -> None:
        self._server, self._reader, self._writer = server, reader, writer
        self._client, self._key = client, key
        rules = client.user.rules
        self.answerer = Answerer(client.session, self._write_audit, rules, server.previews)
        if rules.error_columns:
            self.answerer.settings.set(ERROR_COLUMNS, "on")
        self._statements: dict[str, PreparedStatement] = {}
        self._portals: dict[str, Portal] = {}
        self._status = "I"
        self._skips = False

    async def serve(self) -> None:
        """Answers messages until the client ends the connection, or loses it."""
        self._send(wire.ready(self._status))
        await self._drain()
        while True:
            letter, body = await wire.read_message(self._reader, wire.LONGEST_MESSAGE)
            if letter == b"X":
                return
            if self._client.ended:
                self._send(wire.error("FATAL", "57P05", "the session was idle for too long"))
                await self._drain()
                return
            await self._handle(letter, body)

    async def _handle(self, letter: bytes, body: wire.Body) -> None:
        if letter == b"Q":
            self._skips = False
            await self._simple_query(body.text())
            return
        if letter == b"S":
            self._skips = False
            if self._status != "T":
                self._portals.clear()
            self._send(wire.ready(self._status))
            await self._drain()
            return
        if self._skips:
            return
        handlers = {
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
            b"H": self._flush,
        }
        sql = ""
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
            self._fail(error, sql or self._sql_of_error)
            self._skips = True
            await self._drain()

    _sql_of_error = ""

    # --- the simple protocol ---

    async def _simple_query(self, sql: str) -> None:
        statements = split(sql)
        if not statements:
            self._send(wire.EMPTY_QUERY)
        for statement in statements:
            try:
                await self._answer_simply(statement)
            except wire.ProtocolViolation:
                raise
            except (Error, ValueError, OverflowError, RecursionError) as error:
                self._fail(error, statement)
                break
        self._send(wire.ready(self._status))
        await self._drain()

    async def _answer_simply(self, sql: str) -> None:
        if copy := parse_copy(StatementScan(sql)):
            await self._copy(copy, sql)
            return
        answer = await self._answer(sql, ())
        if answer.table is None:
            self._complete(answer)
            return
        fields = v.fields(answer.table.schema)
        formats = [0] * len(fields)
        self._send(wire.row_description(fields, formats))
        portal = Portal(PreparedStatement(sql), (), formats, answer.table)
        await self._send_rows(portal, fields, formats, answer.table.num_rows)
        self._complete(answer)

    # --- the extended protocol ---

    async def _parse(self, body: wire.Body) -> None:
        name, sql = body.text(), body.text()
        oids = body.int32s()
        if name and name in self._statements:
            raise SqlStateError("42P05", "there is a prepared statement of that name already")
        if len(self._statements) >= portals.MOST:
            raise SqlStateError("53400", f"a connection prepares at most {portals.MOST} statements")
        texts = split(sql)
        if len(texts) > 1:
            raise SqlStateError("42601", "one statement is prepared at a time")
        text = texts[0] if texts else ""
        self._sql_of_error = text

        def infer(_: Session, __: object) -> list[int]:
            return self.answerer.parameter_types(text, len(oids))

        if "$" in text or oids:
            inferred = await self._run(infer)
            declared = [*oids, *[0] * (len(inferred) - len(oids))]
            oids = [
                own if own not in (0, v.UNKNOWN) else other
                for own, other in zip(declared, inferred, strict=True)
            ]
        self._statements[name] = PreparedStatement(text, oids)
        self._send(wire.PARSE_COMPLETE)

    async def _bind(self, body: wire.Body) -> None:
        name, statement = body.text(), self._statement(body.text())
        if len(self._portals) >= portals.MOST:
            raise SqlStateError("53400", f"a connection has at most {portals.MOST} portals")
        if name and name in self._portals:
            raise SqlStateError("42P03", "there is a portal of that name already")
        self._sql_of_error = statement.sql
        self._portals[name] = portals.bind(statement, body)
        self._send(wire.BIND_COMPLETE)

    async def _describe(self, body: wire.Body) -> None:
        kind, name = body.byte(), body.text()
        if kind == b"S":
            statement = self._statement(name)
            self._send(wire.parameter_description(statement.oids))
            values, formats = statement.sample_values(), None
        elif kind == b"P":
            if name not in self._portals and name in self.answerer.cursors.cursors:
                self._describe_cursor(name)
                return
            portal = self._portal(name)
            statement, values, formats = portal.statement, list(portal.values), portal
        else:
            raise wire.ProtocolViolation("what is described is a statement (S) or a portal (P)")
        self._sql_of_error = statement.sql
        statement.fields = await self._described_fields(statement, values)
        if not statement.fields:
            self._send(wire.NO_DATA)
            return
        count = len(statement.fields)
        codes = formats.column_formats(count) if formats else [0] * count
        self._send(wire.row_description(statement.fields, codes))

    def _describe_cursor(self, name: str) -> None:
        """Tells the columns of a cursor: to PostgreSQL's clients it is a portal of its name."""
        fields = v.fields(self.answerer.cursors.find(name).table.schema)
        self._send(wire.row_description(fields, [0] * len(fields)))

    async def _described_fields(
        self, statement: PreparedStatement, values: Sequence[Any]
    ) -> list[wire.Field]:
        """Returns the columns of a statement; none for one without rows. Nothing is charged."""
        if not statement.sql or parse_copy(StatementScan(statement.sql)) or self._status == "E":
            return []
        columns = await self._run(lambda _, __: self.answerer.describe(statement.sql, values))
        return v.fields(columns) if columns is not None else []

    async def _execute(self, body: wire.Body) -> None:
        portal, most = self._portal(body.text()), body.int32()
        sql = self._sql_of_error = portal.statement.sql
        if not sql:
            self._send(wire.EMPTY_QUERY)
            return
        if copy := parse_copy(StatementScan(sql)):
            await self._copy(copy, sql, portal.values)
            return
        if not portal.has_run:
            answer = await self._answer(sql, portal.values)
            portal.table, portal.tag, portal.notices = answer.table, answer.tag, answer.notices
            portal.has_run = True
            if answer.changed:
                self._send(wire.parameter_status(*answer.changed))
        if portal.table is None:
            self._complete(StatementAnswer(None, portal.tag, portal.notices))
            return
        fields = portal.statement.fields or v.fields(portal.table.schema)
        if len(fields) != portal.table.num_columns:
            raise SqlStateError("0A000", "the columns are not those that were described")
        count = most if most > 0 else portal.table.num_rows
        sent = await self._send_rows(portal, fields, portal.column_formats(len(fields)), count)
        if not portal.is_done:
            self._send(wire.PORTAL_SUSPENDED)
            return
        tag = f"SELECT {sent}" if portal.tag == "SELECT" else portal.tag
        self._complete(StatementAnswer(None, tag, portal.notices))
        portal.notices = ()

    async def _close(self, body: wire.Body) -> None:
        kind, name = body.byte(), body.text()
        if kind == b"S":
            self._statements.pop(name, None)
        elif kind == b"P":
            self._portals.pop(name, None)
        else:
            raise wire.ProtocolViolation("what is closed is a statement (S) or a portal (P)")
        self._send(wire.CLOSE_COMPLETE)

    async def _flush(self, _: wire.Body) -> None:
        await self._drain()

    def _statement(self, name: str) -> PreparedStatement:
        if name not in self._statements:
            raise SqlStateError("26000", "there is no prepared statement of that name")
        return self._statements[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise SqlStateError("34000", "there is no portal of that name")
        return self._portals[name]

    # --- running, and sending ---

    async def _answer(self, sql: str, values: Sequence[Any]) -> StatementAnswer:
        """Runs a statement, unless a transaction has failed; follows what it does to that."""
        first = (*StatementScan(sql).words[:1], "")[0]
        ends = first in ("COMMIT", "END", "ROLLBACK", "ABORT")
        if self._status == "E" and not ends:
            raise SqlStateError("25P02", "a statement before failed: send ROLLBACK first")
        answer = await self._run(
            lambda _, report: self.answerer.answer(sql, values, report), on_grid=True
        )
        if first in ("BEGIN", "START"):
            self._status = "T"
        elif ends and "TO" not in StatementScan(sql).words:
            if self._status == "E":
                answer = StatementAnswer(tag="ROLLBACK", notices=answer.notices)
            self._status = "I"
        elif ends:
            self._status = "T"
        return answer

    async def _run(
        self, work: Callable[[Session, Callable[[Any], None]], _R], *, on_grid: bool = False
    ) -> _R:
        """Runs work on the session, in a thread, within the user's limits, while they are one."""
        server, client = self._server, self._client

        def run() -> _R:
            client.user = server.keeper.refresh(client.user)
            client.last_used = server.now()
            return server.runner.run(client, work, self._reader.at_eof, self._key, on_grid=on_grid)

        try:
            return await asyncio.get_running_loop().run_in_executor(server.threads, run)
        except PermissionDenied as error:
            if error.line or error.hint:  # an owner's statement, of somebody who is still a user
                raise
            self._send(error_message(SqlStateError("28000", str(error)), severity="FATAL"))
            await self._drain()
            raise ConnectionEnds from None

    async def _copy(self, copy: CopyOut, sql: str, values: Sequence[Any] = ()) -> None:
        self._sql_of_error = sql
        answer = await self._answer(copy.query, values)
        if answer.table is None:
            raise DataError("COPY takes a query that has rows")
        fields = v.fields(answer.table.schema)
        self._send(copy.start(len(fields)))
        head = copy.head(fields)
        if head and copy.form != "binary":
            self._send(wire.copy_data(head))
            head = b""
        portal = Portal(PreparedStatement(sql), (), (), answer.table)
        while not portal.is_done:
            for line in copy.rows(fields, portal.take_rows(_ROWS)):
                self._send(wire.copy_data(head + line))  # clients expect both in one message
                head = b""
            await self._drain()
        if tail := head + copy.tail():
            self._send(wire.copy_data(tail))
        self._send(wire.COPY_DONE)
        self._complete(StatementAnswer(None, f"COPY {answer.table.num_rows}", answer.notices))

    async def _send_rows(
        self, portal: Portal, fields: Sequence[wire.Field], formats: Sequence[int], count: int
    ) -> int:
        """Sends the next rows of a portal, `count` at most; returns how many there were."""
        start = portal.position
        forms = [(field.oid, form) for field, form in zip(fields, formats, strict=True)]
        while not portal.is_done and portal.position - start < count:
            for row in portal.take_rows(min(_ROWS, count - (portal.position - start))):
                cells = [v.encode(value, *form) for value, form in zip(row, forms, strict=True)]
                self._send(wire.data_row(cells))
            await self._drain()
        return portal.position - start

    def _complete(self, answer: StatementAnswer) -> None:
        for words in answer.notices:
            self._send(wire.notice(words))
        if answer.changed:
            self._send(wire.parameter_status(*answer.changed))
        rows = "" if answer.table is None else f" {answer.table.num_rows}"
        self._send(wire.command_complete(f"{answer.tag}{rows if answer.tag == 'SELECT' else ''}"))

    def _fail(self, error: Exception, sql: str) -> None:
        if self._status == "T":
            self._status = "E"
        self._send(error_message(error, sql))

    def _send(self, data: bytes) -> None:
        self._writer.write(data)

    async def _drain(self) -> None:
        """Waits until the client has taken most of what it was sent.

        Raises:
            TimeoutError: It takes too long: the connection ends.
        """
        async with asyncio.timeout(wire.MESSAGE_SECONDS):
            await self._writer.drain()

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
                    self.answerer.set_privacy(name, value)
                else:
                    self.answerer.settings.set(name, value)

        await self._run(set_all)


def backend_key(number: int, secret: int) -> bytes:
    """Returns what a CancelRequest shows: the process's number and its secret, as they are sent."""
    return struct.pack("!ii", number, secret)
