"""The Flight service: which call of the protocol does what.

GetFlightInfo, GetSchema and CreatePreparedStatement tell columns: they plan, and neither run nor
charge anything. What they give back is a ticket, good for one DoGet, which runs the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import pyarrow as pa
from pyarrow import flight

from sqlpriv import dialect
from sqlpriv.errors import DataError, NotSupportedError
from sqlpriv.interfaces.server.audit_log import Audit, run_audited
from sqlpriv.interfaces.server.cancels import Cancels
from sqlpriv.interfaces.server.flight_sql.flight_cancels import cancel_flight_info
from sqlpriv.interfaces.server.flight_sql.flight_requests import LONGEST, Context, Requests
from sqlpriv.interfaces.server.protocol import catalog, info, prepared, quote_message, results
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.protocol.options import (
    CANCEL_RUNNING,
    get_options,
    session_closed_message,
    set_options,
)
from sqlpriv.interfaces.server.protocol.unread_answers import UnreadAnswers
from sqlpriv.interfaces.server.protocol.wire_errors import guard_handler
from sqlpriv.interfaces.server.running_statements import Runner
from sqlpriv.interfaces.server.sessions import Client, Sessions
from sqlpriv.interfaces.server.shared.statement_handles import Statement
from sqlpriv.interfaces.server.spending_rules import run_within_rules
from sqlpriv.session.session import Quote, Result, Session


class Service(flight.FlightServerBase):  # type: ignore[misc]  # pyarrow ships no types
    """A vault over Arrow Flight SQL.

    Args:
        sessions: Of the clients; closed by who made them.
        runner: Runs their statements.
        audit: Is told of every statement that is run.
        cancels: Gives up statements, wherever they run.
        unread: Counts the answers that are not read.
        options: Of `FlightServerBase`: location, middleware with the `Door` as "door", …
    """

    def __init__(
        self,
        sessions: Sessions,
        runner: Runner,
        audit: Audit,
        cancels: Cancels,
        unread: UnreadAnswers,
        **options: Any,
    ) -> None:
        self._sessions, self._runner, self._audit = sessions, runner, audit
        self._cancels, self._unread = cancels, unread
        self._requests = Requests(sessions, audit)
        super().__init__(**options)

    # --- what there is to get, without getting it ---

    @guard_handler
    def get_flight_info(self, context: Context, descriptor: Any) -> flight.FlightInfo:
        """Tells the columns of a command's answer, and gives the ticket for it."""
        client, name, command = self._requests.read_descriptor(context, descriptor)
        columns, ticket = self._plan_command(context, client, name, command, descriptor.command)
        endpoint = flight.FlightEndpoint(ticket, [])
        # ADBC's drivers put off the DoGet of a schema that they know: of what gives no rows, SET
        # or CREATE, none is told, so that it is done when execute() returns.
        return flight.FlightInfo(columns if len(columns) else None, descriptor, [endpoint], -1, -1)

    @guard_handler
    def get_schema(self, context: Context, descriptor: Any) -> flight.SchemaResult:
        """Tells the columns of a command's answer."""
        client, name, command = self._requests.read_descriptor(context, descriptor)
        return flight.SchemaResult(self._columns(context, client, name, command))

    def _plan_command(
        self, context: Context, client: Client, name: str, command: Any, data: bytes
    ) -> tuple[pa.Schema, bytes]:
        columns = self._columns(context, client, name, command)
        if not name.endswith("StatementQuery"):
            return columns, data  # facts about tables are simply asked for again
        owner, statement = self._requests.find_statement(client, name, command)
        handle = self._sessions.keep_statement(owner, statement)
        return columns, m.wrap("TicketStatementQuery", statement_handle=handle)

    def _columns(self, context: Context, client: Client, name: str, command: Any) -> pa.Schema:
        if not name.endswith("StatementQuery"):
            return self._facts(context, client, name, command).schema
        owner, statement = self._requests.find_statement(client, name, command)
        return self._describe_statement(context, owner, statement)

    def _describe_statement(
        self, context: Context, client: Client, statement: Statement
    ) -> pa.Schema:
        def describe(session: Session, _: object) -> pa.Schema:
            return session.describe(statement.sql, statement.values)

        return self._runner.run(client, describe, context.is_cancelled)

    def _facts(self, context: Context, client: Client, name: str, command: Any) -> pa.Table:
        if name == "CommandGetSqlInfo":
            return info.sql_info(command.info)
        if name == "CommandGetXdbcTypeInfo":
            return info.type_info(command.data_type if command.HasField("data_type") else None)
        if name not in catalog.CALLS:
            raise NotSupportedError(f"{name or 'an unknown command'} is not spoken here")
        call = catalog.CALLS[name]
        return self._runner.run(
            client, lambda session, _: call(command, session), context.is_cancelled
        )

    # --- getting it ---

    @guard_handler
    def do_get(self, context: Context, ticket: flight.Ticket) -> flight.FlightDataStream:
        """Runs the statement of a ticket, once, and streams its rows.

        A command is a ticket, too: who needs no columns beforehand spares the call for them.
        """
        client, handle = self._requests.find_client(context), b""
        name, command = self._requests.read_command(context, client, ticket.ticket)
        if name == "TicketStatementQuery":
            handle = command.statement_handle
            owner, statement = self._sessions.find_statement(client.user, handle, once=True)
        elif name.endswith("StatementQuery"):
            owner, statement = self._requests.find_statement(client, name, command)
        else:
            return self._stream(client, Result(self._facts(context, client, name, command)))
        return self._stream(client, self._run(context, owner, statement, handle))

    def _stream(self, client: Client, result: Result) -> flight.FlightDataStream:
        unread = self._unread.stream(client.user.id, result)
        return flight.GeneratorStream(results.schema(result), unread)

    def _run(
        self, context: Context, client: Client, statement: Statement, handle: bytes = b""
    ) -> Result:
        def execute(session: Session, report: Callable[[Any], None]) -> Result:
            rules = client.user.rules
            return run_within_rules(session, rules, statement.sql, statement.values, report)

        def record(outcome: Result | BaseException) -> None:
            count = len(statement.values or ())
            self._audit.statement(client.user, context.peer(), statement.sql, count, outcome)

        stopped = context.is_cancelled
        return run_audited(
            lambda: self._runner.run(client, execute, stopped, handle, on_grid=True), record
        )

    @guard_handler
    def do_put(self, context: Context, descriptor: Any, reader: Any, writer: Any) -> None:
        """Binds parameters to a prepared statement, or runs a statement for its effect."""
        client, name, command = self._requests.read_descriptor(context, descriptor)
        match name:
            case "CommandPreparedStatementQuery":
                handle = command.prepared_statement_handle
                owner, statement = self._sessions.find_statement(client.user, handle)
                rows = prepared.receive_rows(reader)
                if rows.num_rows != 1:
                    raise DataError("a query takes one set of parameters at a time")
                (values,) = prepared.parameter_sets(statement.names, rows)
                bound = Statement(statement.sql, statement.names, values)
                self._sessions.keep_statement(owner, bound, handle)
            case "CommandStatementUpdate":
                result = self._run(context, client, Statement(command.query))
                _count(writer, result.changed)
            case "CommandPreparedStatementUpdate":
                _count(writer, self._update(context, client, command, reader))
            case _:
                raise NotSupportedError(f"{name or 'an unknown command'} takes no rows here")

    def _update(self, context: Context, client: Client, command: Any, reader: Any) -> int:
        """Runs a prepared statement once for each set of parameters; returns the rows changed."""
        handle = command.prepared_statement_handle
        owner, statement = self._sessions.find_statement(client.user, handle)
        sets: Iterable[prepared.Values | None] = [statement.values]
        if statement.names:
            sets = prepared.parameter_sets(statement.names, prepared.receive_rows(reader))
        counts = []
        for values in sets:
            each = Statement(statement.sql, statement.names, values)
            counts.append(self._run(context, owner, each).changed)
        return -1 if min(counts, default=0) < 0 else sum(counts)

    # --- all else ---

    @guard_handler
    def do_action(self, context: Context, action: flight.Action) -> list[flight.Result]:
        """Prepares and closes statements, cancels them, and keeps a session's options."""
        client, body = self._requests.find_client(context), action.body.to_pybytes()
        if len(body) > LONGEST:
            raise self._requests.record_unreadable(
                context, client, f"the message is longer than {LONGEST} bytes"
            )
        act = self._ACTIONS.get(action.type)
        if act is None:
            raise NotSupportedError(f"there is no action {action.type[:100]}")
        try:
            return [flight.Result(answer) for answer in act(self, context, client, body)]
        except ValueError as error:
            raise self._requests.record_unreadable(context, client, str(error)) from None

    def _prepare(self, context: Context, client: Client, body: bytes) -> Iterator[bytes]:
        sql = m.unwrap_as(body, "ActionCreatePreparedStatementRequest").query
        statement = Statement(sql, dialect.parameter_names(sql, client.session.dialect))
        schemas = {}
        if statement.names:
            schemas["parameter_schema"] = _ipc(prepared.parameter_schema(statement.names))
        else:  # with parameters, the columns are told once there are values: none is made up
            schemas["dataset_schema"] = _ipc(self._describe_statement(context, client, statement))
        handle = self._sessions.keep_statement(client, statement)
        yield m.wrap(
            "ActionCreatePreparedStatementResult", prepared_statement_handle=handle, **schemas
        )

    def _close_prepared(self, _: Context, client: Client, body: bytes) -> Iterator[bytes]:
        command = m.unwrap_as(body, "ActionClosePreparedStatementRequest")
        self._sessions.forget_statement(client.user, command.prepared_statement_handle)
        yield from ()

    def _cancel_info(self, _: Context, client: Client, body: bytes) -> Iterator[bytes]:
        status = self._cancel(client, m.parse("CancelFlightInfoRequest", body).info)
        yield m.message("CancelFlightInfoResult", m.FLIGHT, status=status).SerializeToString()

    def _cancel_query(self, _: Context, client: Client, body: bytes) -> Iterator[bytes]:
        status = self._cancel(client, m.unwrap_as(body, "ActionCancelQueryRequest").info)
        yield m.wrap("ActionCancelQueryResult", result=status)

    def _cancel_running(self, _: Context, client: Client, _body: bytes) -> Iterator[bytes]:
        """Gives up what runs in this session: our own client has no ticket to name it by."""
        self._cancels.cancel_session(client.user.id, client.name)
        yield from ()

    def _cancel(self, client: Client, data: bytes) -> int:
        return cancel_flight_info(data, client, self._sessions, self._cancels)

    def _set(self, context: Context, client: Client, body: bytes) -> Iterator[bytes]:
        yield self._runner.run(
            client, lambda session, _: set_options(session, body), context.is_cancelled
        )

    def _get(self, _: Context, client: Client, _body: bytes) -> Iterator[bytes]:
        yield get_options(client.session)

    def _quote(self, context: Context, client: Client, body: bytes) -> Iterator[bytes]:
        """Tells what a statement would cost; it is not run, and nothing is charged."""
        name, command = self._requests.read_command(context, client, body)
        owner, statement = self._requests.find_statement(client, name, command)

        def quote(session: Session, _: object) -> Quote:
            return session.quote(statement.sql, statement.values)

        yield quote_message.to_bytes(self._runner.run(owner, quote, context.is_cancelled))

    def _close(self, _: Context, client: Client, _body: bytes) -> Iterator[bytes]:
        self._sessions.end(client)
        yield session_closed_message()

    _ACTIONS: ClassVar[dict[str, Callable[[Service, Context, Client, bytes], Iterator[bytes]]]] = {
        "CreatePreparedStatement": _prepare,
        "ClosePreparedStatement": _close_prepared,
        "CancelFlightInfo": _cancel_info,
        "CancelQuery": _cancel_query,
        "SetSessionOptions": _set,
        "GetSessionOptions": _get,
        "CloseSession": _close,
        quote_message.ACTION: _quote,
        CANCEL_RUNNING: _cancel_running,
    }

    @guard_handler
    def list_actions(self, context: Context) -> list[tuple[str, str]]:
        """Names the actions."""
        self._requests.find_client(context)  # of which the headers have told a name
        ours = {
            quote_message.ACTION: "what a command would cost, as JSON; nothing is run",
            CANCEL_RUNNING: "gives up what runs in this session",
        }
        return [(name, ours.get(name, "as in Arrow Flight SQL")) for name in self._ACTIONS]

    @guard_handler
    def list_flights(self, context: Context, _criteria: bytes) -> Iterator[flight.FlightInfo]:
        """Has no flights to list: results are asked for in SQL."""
        self._requests.find_client(context)
        return iter(())

    @guard_handler
    def do_exchange(self, context: Context, _d: Any, _reader: Any, _writer: Any) -> None:
        """Exchanges nothing."""
        self._requests.find_client(context)
        raise NotSupportedError("there is nothing to exchange: send SQL")


def _count(writer: Any, changed: int) -> None:
    counted = m.message("DoPutUpdateResult", record_count=changed)
    writer.write(pa.py_buffer(counted.SerializeToString()))


def _ipc(columns: pa.Schema) -> bytes:
    written: bytes = columns.serialize().to_pybytes()
    return written
