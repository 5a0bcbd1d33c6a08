"""The extended query protocol: statements that are prepared, bound, described and then executed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sqlpriv.interfaces.server.postgresql.encoding import type_numbers as types
from sqlpriv.interfaces.server.postgresql.encoding import wire
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError
from sqlpriv.interfaces.server.postgresql.encoding.wire_parameters import decode
from sqlpriv.interfaces.server.postgresql.message_sender import MessageSender
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan, split
from sqlpriv.interfaces.server.postgresql.statements import portals
from sqlpriv.interfaces.server.postgresql.statements.copy_out import parse_copy
from sqlpriv.interfaces.server.postgresql.statements.portals import Portal, PreparedStatement
from sqlpriv.interfaces.server.postgresql.statements.prepared_texts import (
    Preparation,
    parse_execution,
)
from sqlpriv.interfaces.server.postgresql.statements.statement_answer import StatementAnswer
from sqlpriv.session.session import Session

if TYPE_CHECKING:
    from sqlpriv.interfaces.server.postgresql.pg_connection import PostgreSqlConnection


class ExtendedProtocol:
    """The prepared statements and portals of one connection.

    Args:
        connection: Whose they are; it runs statements.
        sender: Sends what they answer.
    """

    def __init__(self, connection: PostgreSqlConnection, sender: MessageSender) -> None:
        self._connection, self._sender = connection, sender
        self._statements: dict[str, PreparedStatement] = {}
        self._portals: dict[str, Portal] = {}

    @property
    def handlers(self) -> Mapping[bytes, Callable[[wire.Body], Awaitable[None]]]:
        """What answers each message, by its letter."""
        return {
            b"P": self._parse,
            b"B": self._bind,
            b"D": self._describe,
            b"E": self._execute,
            b"C": self._close,
            b"H": self._flush,
        }

    def close_portals(self) -> None:
        """Closes every portal: a Sync ends the transaction that they live in."""
        self._portals.clear()

    async def _parse(self, body: wire.Body) -> None:
        name, sql = body.text(), body.text()
        oids = body.int32s()
        texts = split(sql)
        if len(texts) > 1:
            raise SqlStateError("42601", "one statement is prepared at a time")
        text = texts[0] if texts else ""
        start = max(0, sql.find(text))
        self._connection.failing = PreparedStatement(text, start=start)
        await self.prepare(Preparation(name, oids, text), start)
        self._sender.send(wire.PARSE_COMPLETE)

    async def prepare(self, preparation: Preparation, start: int = 0) -> None:
        """Keeps a prepared statement, of Parse or of PREPARE, with a type for each parameter.

        Args:
            preparation: What the client said.
            start: Where the statement begins in the text that the client sent.

        Raises:
            SqlStateError: There is one of that name, or there are too many.
        """
        name, oids, text = preparation.name, list(preparation.oids), preparation.query
        if name and name in self._statements:
            raise SqlStateError("42P05", "there is a prepared statement of that name already")
        if len(self._statements) >= portals.MOST:
            raise SqlStateError("53400", f"a connection prepares at most {portals.MOST} statements")

        def infer(_: Session, __: object) -> list[int]:
            return self._connection.answerer.parameter_types(text, len(oids))

        if "$" in text or oids:
            inferred = await self._connection.run(infer)
            declared = [*oids, *[0] * (len(inferred) - len(oids))]
            oids = [
                own if own not in (0, types.UNKNOWN) else other
                for own, other in zip(declared, inferred, strict=True)
            ]
        self._statements[name] = PreparedStatement(text, oids, start=start)

    def deallocate(self, name: str) -> None:
        """Forgets a prepared statement, or all of them where the name is ''.

        Raises:
            SqlStateError: There is none of that name.
        """
        if not name:
            self._statements.clear()
            return
        self._statement(name)
        del self._statements[name]

    async def resolve(self, sql: str, values: Sequence[Any]) -> tuple[str, Sequence[Any]]:
        """Returns the statement that an EXECUTE runs, with its values; another one as it is.

        Raises:
            SqlStateError: There is no prepared statement of that name, or it has other parameters.
        """
        scan = StatementScan(sql)
        execution = parse_execution(scan)
        if execution is None:
            return sql, values
        name, written = execution
        statement = self._statement(name)
        constants: list[Any] = []
        if written.strip():
            evaluate = self._connection.answerer.constants
            constants = list(await self._connection.run(lambda _, __: evaluate(written, values)))
        if len(constants) != len(statement.oids):
            raise SqlStateError(
                "42601",
                f"{len(constants)} values for {len(statement.oids)} parameters: give one each",
            )
        typed = (
            decode(value.encode(), oid, 0) if isinstance(value, str) else value
            for value, oid in zip(constants, statement.oids, strict=True)
        )
        return statement.sql, list(typed)

    async def _bind(self, body: wire.Body) -> None:
        name, statement = body.text(), self._statement(body.text())
        if len(self._portals) >= portals.MOST:
            raise SqlStateError("53400", f"a connection has at most {portals.MOST} portals")
        if name and name in self._portals:
            raise SqlStateError("42P03", "there is a portal of that name already")
        self._connection.failing = statement
        self._portals[name] = portals.bind(statement, body)
        self._sender.send(wire.BIND_COMPLETE)

    async def _describe(self, body: wire.Body) -> None:
        kind, name = body.byte(), body.text()
        if kind == b"S":
            statement = self._statement(name)
            self._sender.send(wire.parameter_description(statement.oids))
            values, formats = statement.sample_values(), None
        elif kind == b"P":
            if name not in self._portals and name in self._connection.answerer.cursors.cursors:
                self._describe_cursor(name)
                return
            portal = self._portal(name)
            statement, values, formats = portal.statement, list(portal.values), portal
        else:
            raise wire.ProtocolViolation("what is described is a statement (S) or a portal (P)")
        self._connection.failing = statement
        statement.fields = await self._described_fields(statement, values)
        if not statement.fields:
            self._sender.send(wire.NO_DATA)
            return
        count = len(statement.fields)
        codes = formats.column_formats(count) if formats else [0] * count
        self._sender.send(wire.row_description(statement.fields, codes))

    def _describe_cursor(self, name: str) -> None:
        """Tells the columns of a cursor: to PostgreSQL's clients it is a portal of its name."""
        fields = types.fields(self._connection.answerer.cursors.find(name).table.schema)
        self._sender.send(wire.row_description(fields, [0] * len(fields)))

    async def _described_fields(
        self, statement: PreparedStatement, values: Sequence[Any]
    ) -> list[wire.Field]:
        """Returns the columns of a statement; none for one without rows. Nothing is charged."""
        if (
            not statement.sql
            or parse_copy(StatementScan(statement.sql))
            or self._connection.status == "E"
        ):
            return []
        sql, values = await self.resolve(statement.sql, values)
        columns = await self._connection.run(
            lambda _, __: self._connection.answerer.describe(sql, values)
        )
        return types.fields(columns) if columns is not None else []

    async def _execute(self, body: wire.Body) -> None:
        portal, most = self._portal(body.text()), body.int32()
        self._connection.failing = portal.statement
        sql = portal.statement.sql
        if not sql:
            self._sender.send(wire.EMPTY_QUERY)
            return
        if copy := parse_copy(StatementScan(sql)):
            await self._connection.copy(copy, sql, portal.values)
            return
        if not portal.has_run:
            answer = await self._connection.answer(sql, portal.values)
            portal.table, portal.tag, portal.notices = answer.table, answer.tag, answer.notices
            portal.held, portal.has_run = answer.held, True
            if answer.changed:
                self._sender.send(wire.parameter_status(*answer.changed))
        if portal.table is None:
            self._sender.complete(StatementAnswer(None, portal.tag, portal.notices))
            return
        fields = portal.statement.fields or types.fields(portal.table.schema)
        if len(fields) != portal.table.num_columns:
            raise SqlStateError("0A000", "the columns are not those that were described")
        count = most if most > 0 else portal.table.num_rows
        sent = await self._sender.send_rows(
            portal, fields, portal.column_formats(len(fields)), count
        )
        if not portal.is_done:
            self._sender.send(wire.PORTAL_SUSPENDED)
            return
        tag = f"SELECT {sent}" if portal.tag == "SELECT" else portal.tag
        self._sender.complete(StatementAnswer(None, tag, portal.notices))
        portal.notices = ()

    async def _close(self, body: wire.Body) -> None:
        kind, name = body.byte(), body.text()
        if kind == b"S":
            self._statements.pop(name, None)
        elif kind == b"P":
            self._portals.pop(name, None)
        else:
            raise wire.ProtocolViolation("what is closed is a statement (S) or a portal (P)")
        self._sender.send(wire.CLOSE_COMPLETE)

    async def _flush(self, _: wire.Body) -> None:
        await self._sender.drain()

    def _statement(self, name: str) -> PreparedStatement:
        if name not in self._statements:
            raise SqlStateError("26000", "there is no prepared statement of that name")
        return self._statements[name]

    def _portal(self, name: str) -> Portal:
        if name not in self._portals:
            raise SqlStateError("34000", "there is no portal of that name")
        return self._portals[name]
