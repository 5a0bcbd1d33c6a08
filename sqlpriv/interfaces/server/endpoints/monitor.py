"""GET /healthz and /metrics over plain HTTP, for those who watch a server. Public facts alone.

What is told: that the server runs and can read its vault, how many statements were run and how many
refused, and what `SHOW PRIVACY BUDGET` shows everybody. No time of a statement is told,
since times depend on private rows, and nobody's name. There is no login: listen on this machine or
on a network for monitoring.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import sqlpriv
from sqlpriv.errors import Error, InterfaceError, OperationalError, VaultBusy
from sqlpriv.session.session import Session

_SECONDS = 5.0
"""How long a request may take to arrive, and how long what was found out is kept."""
_MOST = 16
"""Requests at once; more are closed unanswered."""
_BUDGETS = {
    "epsilon": "The most that may be spent in a period, of the budget or the ceiling",
    "epsilon_spent": "What has been spent in this period",
    "epsilon_left": "The most that one more statement could ask for",
    "charges": "Charges so far",
}


class Monitor:
    """Answers /healthz and /metrics from the moment it is made until it is closed.

    Args:
        listen: HOST:PORT; port 0 takes a free one.
        vault: The DuckDB file that is served.
        counts: How many statements ended in which way; read at every request.

    Raises:
        InterfaceError: The address is none.
        OperationalError: The address cannot be listened on.
    """

    def __init__(self, listen: str, vault: Path, counts: Mapping[str, int]) -> None:
        host, _, port = listen.rpartition(":")
        if not host or not port.isdecimal() or int(port) > 65_535:
            raise InterfaceError(f"monitor on HOST:PORT, as in 127.0.0.1:9464, not on {listen}")
        facts = ServerFacts(vault, counts)
        try:
            self._server = _MonitorServer((host.strip("[]"), int(port)), facts)
        except OSError as error:
            raise OperationalError(f"{listen} cannot be listened on: {error.strerror}") from None
        self.address: tuple[str, int] = self._server.socket.getsockname()[:2]
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listens no more."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class ServerFacts:
    """What may be told of a server, looked up at most every few seconds.

    Args:
        vault: The DuckDB file.
        counts: Statements by how they ended.
    """

    def __init__(self, vault: Path, counts: Mapping[str, int]) -> None:
        self._vault, self._counts, self._started = vault, counts, time.time()
        self._lock, self._looked_up = threading.Lock(), float("-inf")
        self._budgets: list[dict[str, Any]] = []
        self.problem = ""

    def health(self) -> str:
        """Returns '' where statements can be answered, else why not."""
        self._look_up()
        return self.problem

    def metrics(self) -> Iterator[str]:
        """Yields the lines of Prometheus's text format."""
        self._look_up()
        is_up = int(not self.problem)
        yield from _metric("up", "gauge", "1 where statements can be answered", [({}, is_up)])
        yield from _metric("info", "gauge", "The version", [({"version": sqlpriv.__version__}, 1)])
        started = round(self._started)
        yield from _metric("start_time_seconds", "gauge", "Since when it runs", [({}, started)])
        outcomes = [({"outcome": name}, count) for name, count in sorted(self._counts.items())]
        yield from _metric("statements_total", "counter", "Statements by outcome", outcomes)
        for name, help_ in _BUDGETS.items():
            samples = [
                ({"table": row["unit_table"]}, row[name])
                for row in self._budgets
                if row["principal"] is None and row[name] is not None
            ]
            is_counter = name == "charges"
            kind, total = ("counter", "_total") if is_counter else ("gauge", "")
            yield from _metric(f"budget_{name}{total}", kind, help_, samples)

    def _look_up(self) -> None:
        with self._lock:
            if time.monotonic() - self._looked_up < _SECONDS:
                return
            try:
                with Session(self._vault, principal="monitor") as session:
                    table = session.execute("SHOW PRIVACY BUDGET").table
                self._budgets = [] if table is None else table.to_pylist()
                self.problem = ""
            except VaultBusy:
                pass  # its owner writes: what was known stays, and the server is well
            except Error as error:
                self.problem = type(error).__name__
            self._looked_up = time.monotonic()


def _metric(
    name: str, kind: str, help_: str, samples: Sequence[tuple[Mapping[str, str], float]]
) -> Iterator[str]:
    """Yields the lines of one metric; none without samples.

    >>> list(_metric("up", "gauge", "Runs", [({"table": 'a"b'}, 1)]))[2]
    'sqlpriv_up{table="a\\\\"b"} 1'
    """
    if not samples:
        return
    yield f"# HELP sqlpriv_{name} {help_}"
    yield f"# TYPE sqlpriv_{name} {kind}"
    for labels, value in samples:
        written = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
        yield f"sqlpriv_{name}{'{' + written + '}' if written else ''} {value:.12g}"


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class _MonitorServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], facts: ServerFacts) -> None:
        self.facts, self._free = facts, threading.BoundedSemaphore(_MOST)
        super().__init__(address, _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Starts a thread for a request, while there are few of them."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a request, in its thread."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: what a stranger sends is not for the server's stderr."""


class _Handler(BaseHTTPRequestHandler):
    server: _MonitorServer
    timeout = _SECONDS
    server_version, sys_version = "sqlpriv", ""

    def do_GET(self) -> None:
        """Answers the two paths that there are."""
        if self.path == "/healthz":
            problem = self.server.facts.health()
            self._send(503 if problem else 200, f"{problem or 'ok'}\n")
        elif self.path == "/metrics":
            self._send(200, "".join(f"{line}\n" for line in self.server.facts.metrics()))
        else:
            self._send(404, "/healthz and /metrics are here\n")

    do_HEAD = do_GET  # noqa: N815 (the name that http.server calls)
    """Load balancers and uptime checks ask for the head alone."""

    def _send(self, status: int, text: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Logs nothing: a scrape is no question."""
