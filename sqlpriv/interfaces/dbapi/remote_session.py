"""A session on a server: what a session on a file does, over Arrow Flight SQL."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, Self

import pyarrow as pa
from pyarrow import flight

from sqlpriv import dialect as sql_dialect
from sqlpriv.errors import DataError, Error, InterfaceError
from sqlpriv.interfaces.server.authentication import COOKIE
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.protocol import quote_message, results
from sqlpriv.interfaces.server.protocol.options import CANCEL_RUNNING
from sqlpriv.interfaces.server.protocol.wire_errors import from_flight
from sqlpriv.session.session import Catalog, Progress, Quote, Result
from sqlpriv.session.session_like import reading_duckdb
from sqlpriv.system.interruptible_call import call_interruptibly

Parameters = Sequence[Any] | Mapping[str, Any] | None


class RemoteSession:
    """One person's way to a vault that somebody else serves.

    Args:
        url: grpc+tls://HOST:PORT, or grpc://127.0.0.1:PORT.
        token: What `sqlpriv user add` showed, or name and password.
        ca: Certificates to trust, in PEM; the system's by default.

    Raises:
        OperationalError: There is no such server, or it does not know the token.
    """

    def __init__(self, url: str, token: str | tuple[str, str], ca: bytes | None = None) -> None:
        with _translate_errors():
            trusted = {"tls_root_certs": ca} if ca else {}
            self._flight = flight.connect(url, middleware=[_Cookies()], **trusted)
            bearer = (b"authorization", f"Bearer {token}".encode())
            if not isinstance(token, str):
                bearer = self._flight.authenticate_basic_token(*token)
            self._call = flight.FlightCallOptions(headers=[bearer])
        options = self._options()
        self.role, self.principal = str(options["role"]), str(options["principal"])
        self.vault = PurePosixPath(str(options["vault"]))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def settings(self) -> Mapping[str, float]:
        """What was SET and not RESET."""
        return {k: float(v) for k, v in self._options().items() if isinstance(v, float)}

    @property
    def dialect(self) -> str:
        """The SQL dialect that the server reads this session's statements in."""
        return str(self._options().get("dialect", "duckdb"))

    def close(self) -> None:
        """Ends the session on the server and lets go of the connection."""
        try:
            with _translate_errors():
                self._act("CloseSession", b"")
        except Error:
            pass  # a server that is gone has ended it, too
        self._flight.close()

    def commit(self) -> None:
        """Does nothing: each call has taken effect already."""

    def rollback(self) -> None:
        """Does nothing: no transaction is kept from one call to the next."""

    def statements(self, sql: str) -> tuple[str, ...]:
        """Returns the statements of a text."""
        return sql_dialect.split(sql, self.dialect)

    def execute(
        self,
        sql: str,
        parameters: Parameters = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> Result:
        """Runs every statement of the text in turn; returns the last one's result."""
        every_result = self.run(sql, parameters, progress)
        return every_result[-1] if every_result else Result(message="nothing to do")

    def run(
        self,
        sql: str,
        parameters: Parameters = None,
        progress: Callable[[Progress], None] | None = None,
    ) -> tuple[Result, ...]:
        """Runs every statement as `execute` does; returns the result of each.

        Progress is not reported over the network.

        Raises:
            sqlpriv.Error: The very error that a session on the file would raise.
        """
        del progress
        shared = sql_dialect.split_with_parameters(sql, parameters, self.dialect)
        return tuple(self._run(part, values) for part, values in shared)

    def interrupt(self) -> None:
        """Tells the server that nobody waits for this session's statement any more; it fails with
        an error. See `Session.interrupt`."""
        self._act(CANCEL_RUNNING, b"")

    def describe(self, sql: str, parameters: Parameters = None) -> pa.Schema:
        """Returns the columns that the last statement would give; runs and charges nothing."""
        with _translate_errors(), self._command(sql, parameters) as command:
            columns = self._flight.get_flight_info(command, self._call).schema
            return pa.schema([]) if columns is None else columns

    def quote(self, sql: str, parameters: Parameters = None) -> Quote:
        """Returns what the last statement would cost, and who would pay; runs and charges nothing.

        Raises:
            sqlpriv.Error: The very error that a session on the file would raise.
        """
        with _translate_errors(), self._command(sql, parameters) as command:
            return quote_message.from_bytes(self._act(quote_message.ACTION, command.command)[0])

    def catalog(self) -> Catalog:
        """Returns the names of tables and columns."""
        ticket = flight.Ticket(m.wrap("CommandGetTables", include_schema=True))
        with _translate_errors():
            table_rows = self._flight.do_get(ticket, self._call).read_all().to_pylist()
        tables: dict[str, tuple[str, ...]] = {}
        released: dict[str, tuple[str, ...]] = {}
        for row in table_rows:
            columns = pa.ipc.read_schema(pa.py_buffer(row["table_schema"])).names
            into = released if row["table_type"] == "TABLE" else tables
            into[row["table_name"]] = tuple(columns)
        return Catalog(tables, released)

    def comments(self) -> dict[str, str]:
        """Returns what each released table says of itself: method, price, strata, when, whence."""
        with reading_duckdb(self):
            table = self.execute("SELECT table_name, comment FROM duckdb_tables()").table
        rows = [] if table is None else table.to_pylist()
        released = self.catalog().released
        return {r["table_name"]: r["comment"] for r in rows if r["table_name"] in released}

    def budgets(self) -> tuple[tuple[str, float, float], ...]:
        """Returns (unit's table, epsilon left, epsilon in all), of a ceiling where that is less."""
        least: dict[str, tuple[str, float, float]] = {}
        table = self.execute("SHOW PRIVACY BUDGET").table
        for row in [] if table is None else table.to_pylist():
            if row["principal"] in (None, self.principal):
                budget_row = (row["unit_table"], row["epsilon_left"], row["epsilon"])
                other = least.get(budget_row[0], budget_row)
                least[budget_row[0]] = min(other, budget_row, key=lambda budget: budget[1])
        return tuple(least.values())

    def _run(self, sql: str, parameters: Parameters) -> Result:
        with _translate_errors(), self._command(sql, parameters) as command:
            # The server takes a command as the ticket that GetFlightInfo would give for it.
            ticket = flight.Ticket(command.command)
            return call_interruptibly(lambda: self._fetch(ticket), self.interrupt)

    def _fetch(self, ticket: flight.Ticket) -> Result:
        reader = self._flight.do_get(ticket, self._call)
        chunks = ((c.data, c.app_metadata and c.app_metadata.to_pybytes()) for c in reader)
        result: Result = results.result(reader.schema, chunks)
        return result

    @contextmanager
    def _command(self, sql: str, parameters: Parameters) -> Iterator[flight.FlightDescriptor]:
        """Yields what stands for a statement with its values; a prepared one while it is needed."""
        if not parameters:
            yield _descriptor("CommandStatementQuery", query=sql)
            return
        request = m.wrap("ActionCreatePreparedStatementRequest", query=sql)
        _, statement = m.unwrap(self._act("CreatePreparedStatement", request)[0])
        handle = statement.prepared_statement_handle
        command = _descriptor("CommandPreparedStatementQuery", prepared_statement_handle=handle)
        try:
            self._bind(command, parameters)
            yield command
        finally:
            done = m.wrap("ActionClosePreparedStatementRequest", prepared_statement_handle=handle)
            self._act("ClosePreparedStatement", done)

    def _bind(self, command: flight.FlightDescriptor, parameters: Parameters) -> None:
        pairs: Iterable[tuple[object, Any]] = enumerate(parameters or ())
        if isinstance(parameters, Mapping):
            pairs = parameters.items()
        try:
            columns = {str(name): pa.array([value]) for name, value in pairs}
        except (pa.ArrowException, TypeError, OverflowError):
            raise DataError("a parameter is of no type that a literal has") from None
        batch = pa.record_batch(columns)
        writer, reader = self._flight.do_put(command, batch.schema, self._call)
        with writer:
            writer.write_batch(batch)
            writer.done_writing()
            reader.read()  # the server has them, or says why not

    def _options(self) -> dict[str, str | float]:
        with _translate_errors():
            body = self._act("GetSessionOptions", b"")[0]
        options = m.parse("GetSessionOptionsResult", body).session_options
        return {o.key: next(v for _, v in o.value.ListFields()) for o in options}

    def _act(self, name: str, body: bytes) -> list[bytes]:
        answers = self._flight.do_action(flight.Action(name, body), self._call)
        return [answer.body.to_pybytes() for answer in answers]


class _Cookies(flight.ClientMiddlewareFactory):  # type: ignore[misc]  # pyarrow ships no types
    """Sends the name of the session back that the server gave it."""

    def __init__(self) -> None:
        self.name = ""

    def start_call(self, _: flight.CallInfo) -> flight.ClientMiddleware:
        """Returns what minds the headers of one call."""
        return _Cookie(self)


class _Cookie(flight.ClientMiddleware):  # type: ignore[misc]  # pyarrow ships no types
    def __init__(self, cookies: _Cookies) -> None:
        self._cookies = cookies

    def sending_headers(self) -> dict[str, str]:
        """Sends the name, once there is one."""
        return {"cookie": self._cookies.name} if self._cookies.name else {}

    def received_headers(self, headers: Mapping[str, Sequence[str]]) -> None:
        """Keeps the first name: what the server offers later is for clients that keep none."""
        for value in headers.get("set-cookie", ()):
            if value.startswith(f"{COOKIE}=") and not self._cookies.name:
                self._cookies.name = value.split(";", 1)[0]


def _descriptor(name: str, **fields: Any) -> flight.FlightDescriptor:
    return flight.FlightDescriptor.for_command(m.wrap(name, **fields))


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Turns Flight's errors into the server's own."""
    try:
        yield
    except (flight.FlightError, pa.ArrowException, OSError) as error:
        raise from_flight(error) from None
    except (StopIteration, IndexError):
        raise InterfaceError("this is no sqlpriv server") from None
