"""Where a server listens, and how it is started and ended."""

from __future__ import annotations

import ipaddress
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sqlpriv.errors import InterfaceError, OperationalError
from sqlpriv.interfaces.server.audit_log import Audit
from sqlpriv.interfaces.server.authentication import Door, NoHandshake
from sqlpriv.interfaces.server.cancels import Cancels
from sqlpriv.interfaces.server.endpoints.monitor import Monitor
from sqlpriv.interfaces.server.flight_sql.flight_service import Service
from sqlpriv.interfaces.server.postgresql.pg_server import PostgreSqlServer
from sqlpriv.interfaces.server.protocol.unread_answers import UnreadAnswers
from sqlpriv.interfaces.server.running_statements import Runner
from sqlpriv.interfaces.server.sessions import Sessions
from sqlpriv.interfaces.server.shared.common_state import common_state
from sqlpriv.interfaces.server.tls_certificate import tls_context
from sqlpriv.interfaces.server.users import Doorkeeper
from sqlpriv.system.database_files import refuse_other_file

ENCRYPTED, PLAIN = "grpc+tls", "grpc"
_GRACE = 10.0
"""Seconds that streams, and then statements under way, are given when the server ends."""
_LOOK = 0.2
"""Seconds after which it is seen that a signal came."""


@dataclass(frozen=True)
class Limits:
    """What one user may ask for at once, where `sqlpriv user add` set nothing else.

    Args:
        timeout: Seconds that a statement may take.
        concurrency: Statements at once.
        exact_times: Analysts' answers leave when they are there; by default they wait for a time
            on a public grid, because how long an answer takes depends on private rows.
        readers: Private statements at once, of all users.
    """

    timeout: float = 300.0
    concurrency: int = 4
    exact_times: bool = False
    readers: int = 16


class Server:
    """A vault that is served; use it in `with`, or close it.

    It listens from the moment it is made, on `location`, whose port is the one that was taken where
    0 was asked for.

    Args:
        vault: The DuckDB file.
        listen: grpc+tls://HOST:PORT, also written HOST:PORT; or grpc://, which is not encrypted,
            on this machine alone.
        tls: The certificate chain and the private key, in PEM; None for grpc://.
        audit: The file of the audit log; beside the vault by default.
        limits: For users without limits of their own.
        postgresql: HOST:PORT where PostgreSQL's protocol is spoken as well; None for nowhere.
        previews: Private table → the synthetic table whose rows previews of it show there.
        monitor: HOST:PORT where /healthz and /metrics are answered over HTTP; None for nowhere.

    Attributes:
        location: Where it listens.
        is_held: It was closed, and clients hold streams that they do not read: gRPC waits for them,
            and the process ends by `os._exit` alone.

    Raises:
        InterfaceError: The address is none, or it asks for passwords in clear over a network; or
            the certificate cannot be used.
        OperationalError: The vault is not there, or the address cannot be listened on.
    """

    def __init__(
        self,
        vault: Path,
        listen: str,
        tls: tuple[bytes, bytes] | None = None,
        audit: Path | None = None,
        limits: Limits | None = None,
        postgresql: str | None = None,
        previews: Mapping[str, str] | None = None,
        monitor: str | None = None,
    ) -> None:
        scheme, host, port = address(listen)
        if (scheme == ENCRYPTED) != (tls is not None):
            raise InterfaceError(_CERTIFICATE if tls is None else f"{listen} takes no certificate")
        if tls is not None:
            tls_context(tls)  # gRPC says of an unusable one only that it could not start
        if not vault.exists():
            raise OperationalError(f"there is no vault at {vault}")
        refuse_other_file(vault)
        limits = limits or Limits()
        self.is_held = self._is_closed = False
        self._common = common_state(vault)
        self._keeper = Doorkeeper(vault, self._common.key)
        self._audit = Audit(audit or vault.with_suffix(".audit"), self._common.server_name)
        self._sessions = Sessions(vault, self._common.sessions, self._common.handles)
        self._runner = Runner(
            limits.timeout, limits.concurrency, limits.readers, exact_times=limits.exact_times
        )
        self._cancels = Cancels(self._runner, self._common.key)
        self._cancels.channel = self._common.open_channel(self._cancels.hear)
        unread = UnreadAnswers()
        try:
            self._service = Service(
                self._sessions,
                self._runner,
                self._audit,
                self._cancels,
                unread=unread,
                location=f"{scheme}://{host}:{port}",
                auth_handler=NoHandshake(),
                tls_certificates=[tls] if tls else None,
                middleware={"door": Door(self._keeper, self._audit)},
            )
        except Exception as error:  # Arrow and gRPC raise many kinds where a port is taken
            self._end()
            raise OperationalError(f"{listen} cannot be listened on: {error}") from None
        self._has_ended = False
        self.location = f"{scheme}://{host}:{self._service.port}"
        self.postgresql: PostgreSqlServer | None = None
        self.monitor: Monitor | None = None
        try:
            if postgresql is not None:
                parts = (self._keeper, self._sessions, self._runner, self._audit, self._cancels)
                self.postgresql = PostgreSqlServer(postgresql, tls, *parts, unread, previews or {})
            if monitor is not None:
                self.monitor = Monitor(monitor, vault, self._audit.outcomes)
        except BaseException:  # Ctrl-C, too, leaves no server running
            self.close()
            raise

    def serve(self) -> None:
        """Serves until `close` is called elsewhere or a SIGINT or SIGTERM comes, and closes.

        It is called in the main thread. Arrow's own `serve` ends no sooner than the last stream:
        somebody who does not read an answer would keep the server from ever ending.
        """
        with _signals_go_to(self._note_signal):
            try:
                while not self._has_ended:
                    time.sleep(_LOOK)
            finally:
                self.close()

    def _note_signal(self, *_: object) -> None:
        self._has_ended = True

    def close(self) -> None:
        """Ends it: no more calls, a moment for the statements and the streams under way.

        Meanwhile SIGINT and SIGTERM are ignored: who sends a second one would interrupt what has to
        be closed, and Python's own end waits for streams.
        """
        if self._is_closed:
            return
        self._has_ended = self._is_closed = True
        with _signals_go_to(signal.SIG_IGN):
            self._close()

    def _close(self) -> None:
        if self.monitor is not None:
            self.monitor.close()
        if self.postgresql is not None:
            self.postgresql.close()
        ending = threading.Thread(target=self._service.shutdown, daemon=True)
        ending.start()
        ending.join(_GRACE)
        self.is_held = ending.is_alive()
        self._runner.wait(_GRACE)
        self._end()

    def _end(self) -> None:
        self._sessions.close()
        self._keeper.close()
        self._audit.close()
        self._common.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def _signals_go_to(handler: Any) -> Iterator[None]:
    """Has a handler take SIGINT and SIGTERM, if this is the main thread, which alone can."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = signal.SIGINT, signal.SIGTERM
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier or signal.SIG_DFL)


_CERTIFICATE = """\
grpc+tls:// takes a certificate and its key (--certificate, --key). One for trying out is made by
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \\
    -keyout key.pem -out cert.pem -subj /CN=localhost \\
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1"""


def address(listen: str) -> tuple[str, str, int]:
    """Returns scheme, host (IPv6 in brackets) and port of an address to listen on.

    Raises:
        InterfaceError: It is none; or it is not encrypted and can be reached from elsewhere.

    >>> address("data.example.org:31337")
    ('grpc+tls', 'data.example.org', 31337)
    """
    try:
        parts = urlsplit(listen if "://" in listen else f"{ENCRYPTED}://{listen}")
        scheme, host, port = parts.scheme, parts.hostname or "", parts.port
    except ValueError:
        scheme, host, port = "", "", None
    if scheme not in (ENCRYPTED, PLAIN) or not host or port is None or parts.path.strip("/"):
        raise InterfaceError(f"listen on grpc+tls://HOST:PORT, not on {listen}")
    if scheme == PLAIN and not _loopback(host):
        raise InterfaceError(
            f"grpc:// sends passwords in clear, so {host} must be this machine (127.0.0.1);"
            f" listen on grpc+tls://{host}:{port}"
        )
    return scheme, f"[{host}]" if ":" in host else host, port


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
