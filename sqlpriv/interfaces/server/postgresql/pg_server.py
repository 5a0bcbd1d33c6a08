"""The server of PostgreSQL's protocol: it listens, starts TLS, authenticates users, and cancels."""

from __future__ import annotations

import asyncio
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from traceback import clear_frames

from sqlpriv.errors import Error, OperationalError, PermissionDenied
from sqlpriv.interfaces.server.audit_log import Audit
from sqlpriv.interfaces.server.cancels import Cancels
from sqlpriv.interfaces.server.postgresql.encoding import wire
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError, error_message
from sqlpriv.interfaces.server.postgresql.listening_address import address_family, parse_address
from sqlpriv.interfaces.server.postgresql.pg_connection import ConnectionEnds, PostgreSqlConnection
from sqlpriv.interfaces.server.postgresql.statements.client_settings import (
    REPORTED,
    default_dialect,
    startup_settings,
)
from sqlpriv.interfaces.server.protocol.unread_answers import UnreadAnswers
from sqlpriv.interfaces.server.running_statements import Runner
from sqlpriv.interfaces.server.scram import MECHANISM, ScramExchange
from sqlpriv.interfaces.server.sessions import Client, Sessions
from sqlpriv.interfaces.server.tls_certificate import tls_context
from sqlpriv.interfaces.server.users import DENIED, Doorkeeper, User

LOGIN_SECONDS = 30.0
"""How long a stranger may take to prove who they are."""
MOST_CONNECTIONS = 256
MOST_STRANGERS = 64
"""Connections whose other end has not proved who it is."""
_NO = ("", "false", "off", "no", "0")
_LOST = (asyncio.IncompleteReadError, ConnectionError, TimeoutError, ssl.SSLError, ConnectionEnds)


class PostgreSqlServer:
    """A vault over PostgreSQL's protocol, beside Flight SQL. It listens from its creation on.

    Args:
        listen: HOST:PORT; without TLS on this machine alone. Port 0 takes a free one.
        tls: The certificate chain and the private key, in PEM; None for no encryption.
        keeper: Knows the users.
        sessions: Of the clients.
        runner: Runs their statements.
        audit: Is told of every statement that is run, and of whoever was turned away.
        cancels: Gives up statements, wherever they run.
        unread: Counts the answers that are not read to their end.
        previews: Private table → the synthetic table that previews of it show.

    Raises:
        InterfaceError: `listen` is no address, or one that other machines reach without encryption.
        OperationalError: The address cannot be listened on.
    """

    def __init__(
        self,
        listen: str,
        tls: tuple[bytes, bytes] | None,
        keeper: Doorkeeper,
        sessions: Sessions,
        runner: Runner,
        audit: Audit,
        cancels: Cancels,
        unread: UnreadAnswers,
        previews: Mapping[str, str],
    ) -> None:
        self.previews = {table.lower(): synthetic for table, synthetic in previews.items()}
        self.keeper, self.runner, self.audit, self.unread = keeper, runner, audit, unread
        self._sessions, self._cancels = sessions, cancels
        host, port = parse_address(listen, tls is not None)
        self._tls = tls_context(tls) if tls else None
        try:
            self._socket = socket.create_server(
                (host, port), family=address_family(host), backlog=64
            )
        except OSError as error:
            raise OperationalError(f"{listen} cannot be listened on: {error.strerror}") from None
        self.address: tuple[str, int] = self._socket.getsockname()[:2]
        self.threads = ThreadPoolExecutor(MOST_CONNECTIONS, "sqlpriv-postgresql")
        self._tasks: set[asyncio.Task[None]] = set()
        self._strangers = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends every connection and listens no more."""
        self._loop.call_soon_threadsafe(self._stop)
        self._thread.join()
        self.threads.shutdown(wait=False, cancel_futures=True)

    def now(self) -> float:
        """Returns the clock's seconds, by which idle sessions are found."""
        return time.monotonic()

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.set_exception_handler(lambda *_: None)  # nothing of a client's goes to stderr
        self._ended = asyncio.Event()
        try:
            self._loop.run_until_complete(self._listen())
        finally:
            self._loop.close()

    async def _listen(self) -> None:
        server = await asyncio.start_server(self._accept, sock=self._socket)
        await self._ended.wait()
        server.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.sleep(0.05)  # the loop frees closed connections in its next rounds

    def _stop(self) -> None:
        self._ended.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._welcome(reader, writer)
        except _LOST as error:
            clear_frames(error.__traceback__)  # the reader keeps the error, and so what was sent
        except asyncio.CancelledError:
            writer.transport.abort()  # the server ends
        except Exception as error:  # told to the client, without details if it is a bug of ours
            with suppress(*_LOST):
                writer.write(error_message(error, severity="FATAL"))
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Lets a client in and serves it; or cancels a statement, or turns somebody away."""
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if self._strangers >= MOST_STRANGERS or len(self._tasks) > MOST_CONNECTIONS:
            writer.write(wire.error("FATAL", "53300", "there are too many connections"))
            return
        self._strangers += 1
        try:
            async with asyncio.timeout(LOGIN_SECONDS):
                parameters = await self._startup(reader, writer)
                if parameters is None:
                    return
                user = await self._authenticate(parameters.get("user", ""), reader, writer)
        except (Error, ValueError) as error:
            self._turn_away(error, writer)
            return
        finally:
            self._strangers -= 1
        await self._serve_user(user, parameters, reader, writer)

    async def _startup(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> dict[str, str] | None:
        """Returns the parameters of the startup message; None where there is nothing more to do."""
        code, body = await wire.read_startup(reader)
        is_encrypted = False
        while code in (wire.SSL_REQUEST, wire.GSS_REQUEST):
            if code == wire.SSL_REQUEST and self._tls and not is_encrypted:
                if reader._buffer:  # type: ignore[attr-defined]  # no public way to see early bytes
                    raise wire.ProtocolViolation("something was sent before TLS was agreed on")
                writer.write(b"S")
                await writer.start_tls(self._tls)
                is_encrypted = True
            else:
                writer.write(b"N")
                await writer.drain()
            code, body = await wire.read_startup(reader)
        if code == wire.CANCEL_REQUEST:
            in_thread = asyncio.get_running_loop().run_in_executor
            await in_thread(self.threads, self._cancels.cancel_connection, body.rest())
            return None
        if code >> 16 != wire.PROTOCOL >> 16:
            raise wire.ProtocolViolation("only version 3 of PostgreSQL's protocol is spoken")
        if self._tls and not is_encrypted:
            raise SqlStateError(
                "28000", "this server takes no connection without TLS: sslmode=require"
            )
        parameters: dict[str, str] = {}
        while name := body.text():
            parameters[name] = body.text()
        if parameters.get("replication", "").lower() not in _NO:
            raise SqlStateError("0A000", "nothing is replicated from here: leave replication out")
        return parameters

    async def _authenticate(
        self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> User:
        """Returns the user that a client proves to be.

        Raises:
            PermissionDenied: The client proves to be no user. The words are the same for every
            reason.
        """
        in_thread = asyncio.get_running_loop().run_in_executor
        user, verifier = await in_thread(self.threads, self.keeper.scram_verifier, name)
        writer.write(wire.authentication(10, wire.text(MECHANISM) + b"\0"))
        await writer.drain()
        body = await self._password(reader)
        if body.text() != MECHANISM:
            raise PermissionDenied(DENIED)
        exchange = ScramExchange(verifier)
        body.int32()
        writer.write(wire.authentication(11, exchange.challenge(body.rest())))
        await writer.drain()
        proof = exchange.finish((await self._password(reader)).rest())
        if user is None:
            raise PermissionDenied(DENIED)
        user = await in_thread(self.threads, self.keeper.refresh, user)
        writer.write(wire.authentication(12, proof) + wire.authentication(0))
        return user

    async def _password(self, reader: asyncio.StreamReader) -> wire.Body:
        letter, body = await wire.read_message(reader, wire.LONGEST_STARTUP)
        if letter != b"p":
            raise wire.ProtocolViolation("a password message is expected")
        return body

    def _turn_away(self, error: Exception, writer: asyncio.StreamWriter) -> None:
        is_denied = isinstance(error, PermissionDenied)
        reason = DENIED if is_denied else "the messages cannot be read"
        self.audit.write("denied", peer=_peer(writer), reason=reason)
        public_error = SqlStateError("28P01", DENIED) if is_denied else error
        writer.write(error_message(public_error, severity="FATAL"))

    async def _serve_user(
        self,
        user: User,
        parameters: dict[str, str],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        in_thread = asyncio.get_running_loop().run_in_executor
        fresh, peer = secrets.token_urlsafe(16), _peer(writer)
        dialect = default_dialect(user.role)
        open_session = partial(
            self._sessions.client, user, None, fresh, peer, dialect, of_connection=True
        )
        client = await in_thread(self.threads, open_session)
        number, secret = self._cancels.new_connection(user.id, fresh.encode())
        connection = PostgreSqlConnection(self, reader, writer, client, fresh.encode())
        try:
            await connection.start_settings(startup_settings(parameters))
            name = parameters.get("application_name", "")
            for setting, value in (REPORTED | {"application_name": name}).items():
                writer.write(wire.parameter_status(setting, value))
            writer.write(wire.backend_key(number, secret))
            await connection.serve()
        finally:
            self._cancels.end_connection(number, secret)
            await asyncio.shield(in_thread(self.threads, self._end, connection, client))

    def _end(self, connection: PostgreSqlConnection, client: Client) -> None:
        connection.let_go()
        self._sessions.end(client)
        with client.lock:
            connection.answerer.close()


def _peer(writer: asyncio.StreamWriter) -> str:
    host, port, *_ = writer.get_extra_info("peername") or ("?", 0)
    return f"postgresql:{host}:{port}"
