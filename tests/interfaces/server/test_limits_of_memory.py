"""What one login's statements can make a server take, and what its answers hold after they end."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import time
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from pyarrow import flight

from sqlpriv.errors import OperationalError
from sqlpriv.interfaces.cli.serve import serve as serve_command
from sqlpriv.interfaces.server.endpoints import listen, memory_limit
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import error_message
from sqlpriv.interfaces.server.postgresql.statements.portals import PreparedStatement
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.protocol import unread_answers
from sqlpriv.interfaces.server.protocol.unread_answers import HeldAnswer
from sqlpriv.interfaces.server.protocol.wire_errors import guard_handler

psycopg = pytest.importorskip("psycopg")
LARGE = "SELECT a.income, repeat('x', 1000) AS s FROM made a, made b LIMIT 40000"
"""Forty megabytes."""
CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (4 * 10**9, 4 * 10**9))  # the machine lives, come what may
sys.argv[0] = "sqlpriv"
from sqlpriv.interfaces.cli.main import main
main()
"""


@contextmanager
def serving(served: Any, folder: Path, *more: str) -> Iterator[tuple[Any, str]]:
    """A server in a process of its own, and where it listens."""
    listen = ["--listen", "grpc://127.0.0.1:0", "--audit", str(folder / "audit"), *more]
    command = [sys.executable, "-c", CHILD, "serve", str(served.vault), *listen]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process, process.stderr.readline().split(" on ")[1].split(";")[0]
        finally:
            process.kill()


def held_bytes(process: Any, kind: str) -> int:
    """VmRSS is what the process holds, VmHWM the most that it has held; VmData is what counts for
    its limit."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split(f"{kind}:")[1].split()[0]) * 1024


def call(served: Any) -> flight.FlightCallOptions:
    bearer = (b"authorization", f"Bearer {served.tokens['ada']}".encode())
    return flight.FlightCallOptions(headers=[bearer])


def ticket(sql: str) -> flight.Ticket:
    return flight.Ticket(m.wrap("CommandStatementQuery", query=sql))


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory is Linux's")
@pytest.mark.parametrize(
    ("memory", "is_small", "returns"),
    [("1.0", True, True), ("3.0", False, True), ("3.0", False, False)],
)
def test_a_statement_that_takes_too_much_memory_fails_and_the_server_lives(
    served: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    memory: str,
    is_small: bool,
    returns: bool,
) -> None:
    """Its texts take 20 GB, which are outside of DuckDB's limit; the server may take one GiB.
    Whatever ended the statement says the same words: the most that the process held tells which.
    What it took is there for the next statements; with the allocators' own settings it is not."""
    if not returns:
        monkeypatch.setenv("DUCKDB_JE_MALLOC_CONF", "retain:true")
    text = "repeat(repeat('y', 1000), CAST(10000 * a.sex AS INTEGER))"
    hungry = f"SELECT length({text}) AS n FROM made a, made b LIMIT 2000"
    with serving(served, tmp_path, "--memory", memory) as (process, place):
        line = process.stderr.readline()
        assert line == f"it may take {memory} GiB of memory (--memory)\n"
        before, data = held_bytes(process, "VmRSS"), held_bytes(process, "VmData")
        with flight.connect(place) as client:
            with pytest.raises(flight.FlightError, match="Out of Memory"):
                client.do_get(ticket(hungry), call(served)).read_all()
            stays = held_bytes(process, "VmData") - data
            assert (stays < float(memory) * 2**29) is returns, stays
            for _ in range(3 if returns else 0):
                assert client.do_get(ticket("SELECT 1 AS a"), call(served)).read_all().num_rows == 1
        assert process.poll() is None
        more = held_bytes(process, "VmHWM") - before
        assert (more < 0.8e9) is is_small, more


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory is Linux's")
@pytest.mark.parametrize("kind", ["-Sd", "-d"])
def test_a_lower_limit_that_the_process_was_started_with_stays(kind: str) -> None:
    code = f"from {memory_limit.__name__} import limit_memory as limit; print(limit(9 * 2**30))"
    limited = ["bash", "-c", f'ulimit {kind} 3000000; "$0" -c "$1"', sys.executable, code]
    assert int(subprocess.check_output(limited)) < 3_000_000 * 1024
    assert int(subprocess.check_output([sys.executable, "-c", code])) == 9 * 2**30


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory is Linux's")
def test_a_process_that_may_take_too_little_serves_nothing(served: Any) -> None:
    """With half of a GiB the first statements were charged, and OpenBLAS ended the process."""
    serve = [sys.executable, "-m", "sqlpriv", "serve", str(served.vault)]
    limited = [
        "bash",
        "-c",
        'ulimit -d 900000; "$0" "$@"',
        *serve,
        "--listen",
        "grpc://127.0.0.1:0",
    ]
    done = subprocess.run(limited, capture_output=True, text=True)
    assert done.returncode == 1
    assert re.search(r"needs 1: write --memory 1 or more, .*\(ulimit -d\) of 1\.", done.stderr)


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory is Linux's")
def test_the_least_limit_answers_what_several_users_ask_at_once(
    served: Any, tmp_path: Path
) -> None:
    """Each of eight statements at once is answered and charged once; OpenBLAS, to which nobody had
    given its buffers, ended the process before."""
    sql = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.001) sex, AVG(income), COUNT(*)"
        " FROM people WHERE income > {} STRATIFY BY sex"
    )
    with serving(served, tmp_path, "--memory", "1") as (process, place):
        with ThreadPoolExecutor(8) as pool, flight.connect(place) as client:
            tables = pool.map(
                lambda i: client.do_get(ticket(sql.format(i)), call(served)).read_all(), range(8)
            )
            assert all(table.num_rows > 1 for table in tables)
        assert process.poll() is None


SPILLS = f"""
import duckdb
from {memory_limit.__name__} import limit_memory
from sqlpriv.kernel.engine import CONFIG

limit_memory(2 * 2**30)
engine = duckdb.connect(config=CONFIG)
print(engine.execute("SELECT current_setting('memory_limit')").fetchone()[0])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="a limit of memory is Linux's")
@pytest.mark.parametrize(("slurm", "most"), [("", 1.0), ("300", 0.15), ("0", 1.0)])
def test_duckdb_spills_beyond_half_of_the_limit(slurm: str, most: float) -> None:
    """Its limit was half of the machine's memory, and a read met the process's limit before."""
    environment = {**os.environ, "SLURM_MEM_PER_NODE": slurm}
    told = subprocess.check_output([sys.executable, "-c", SPILLS], env=environment, text=True)
    amount, unit = told.split()
    gib = float(amount) * {"GiB": 1, "MiB": 2**-10}[unit]
    assert most * 0.9 < gib <= most


@pytest.mark.parametrize(
    ("platform", "memory", "words"),
    [
        ("darwin", "2", "is for Linux"),
        *(
            ("linux", wrong, "write --memory 8")
            for wrong in ("0.01", "0.9", "nan", "inf", "-1", "1e300")
        ),
    ],
)
def test_a_limit_that_cannot_be_set_is_refused(
    served: Any, monkeypatch: pytest.MonkeyPatch, platform: str, memory: str, words: str
) -> None:
    monkeypatch.setattr(sys, "platform", platform)
    told = CliRunner().invoke(serve_command, [str(served.vault), "--memory", memory])
    assert (told.exit_code, words in told.output) == (2, True)


class Unread:
    """A server that ends while somebody does not read."""

    location, postgresql, monitor, is_held = "", None, None, True
    error: Exception | None = None

    def __init__(self, *_: object) -> None: ...

    def serve(self) -> None:
        if self.error:
            raise self.error

    def close(self) -> None: ...


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (None, 0, "serving"),
        (OperationalError("it broke"), 1, "it broke"),
        (KeyError("what"), 1, "KeyError: 'what'"),
    ],
)
def test_a_server_that_breaks_says_so_though_somebody_does_not_read(
    served: Any, monkeypatch: pytest.MonkeyPatch, error: Exception | None, code: int, words: str
) -> None:
    """The exit code was 0, and nothing was printed."""
    monkeypatch.setattr(Unread, "error", error)
    monkeypatch.setattr(listen, "Server", Unread)
    monkeypatch.setattr(memory_limit, "limit_memory", lambda _: None)
    monkeypatch.setattr(gc, "freeze", lambda: None)
    ends: list[int] = []
    monkeypatch.setattr(os, "_exit", ends.append)
    told = CliRunner().invoke(serve_command, [str(served.vault)])
    assert (ends[0], words in told.output) == (code, True)


def test_the_limit_is_the_control_groups_where_that_is_less(
    tmp_path: Path,
) -> None:
    """systemd's MemoryMax= stands in the group that the process is in; another says "max"."""
    assert memory_limit.machine_bytes() > 1_000_000
    inner = tmp_path / "system.slice" / "sqlpriv.service"
    inner.mkdir(parents=True)
    (tmp_path / "system.slice" / "memory.max").write_text("max\n")
    (inner / "memory.max").write_text("1000000\n")
    found = memory_limit._group_limits(tmp_path, "/system.slice/sqlpriv.service")
    assert found == [1_000_000]


def test_cursors_of_one_user_are_held_up_to_a_limit_in_both_protocols(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cursors of two connections and a stream count into one sum; another user has one of their
    own, and what is closed counts no more."""
    monkeypatch.setattr(unread_answers, "MOST_BYTES", 100_000_000)
    served = serve()
    connections = [served.psycopg(), served.psycopg()]
    for at, connection in enumerate(connections):
        connection.execute(f"DECLARE c{at} CURSOR WITH HOLD FOR {LARGE}")
    with pytest.raises(psycopg.OperationalError, match="2 answers are not read to their end"):
        connections[0].execute(f"DECLARE more CURSOR WITH HOLD FOR {LARGE}")
    client, options = served.flight()
    with pytest.raises(flight.FlightUnavailableError, match="not read to their end"):
        client.do_get(ticket(LARGE), options)
    assert len(served.psycopg("bob").execute(LARGE).fetchall()) == 40_000
    assert len(connections[0].execute("FETCH 30000 FROM c0").fetchall()) == 30_000
    connections[0].execute("CLOSE c0")
    connections[0].execute(f"DECLARE more CURSOR WITH HOLD FOR {LARGE}")


def test_facts_that_are_not_read_count_as_answers(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Flight's lists of tables waited for their readers without being counted."""
    monkeypatch.setattr(unread_answers, "MOST_BYTES", 1_000_000)
    served = serve()
    client, options = served.flight()
    tables = flight.Ticket(m.wrap("CommandGetTables", include_schema=True))
    connection = served.psycopg()
    connection.execute(f"DECLARE c CURSOR WITH HOLD FOR {LARGE}")
    with pytest.raises(flight.FlightUnavailableError, match="not read to their end"):
        client.do_get(tables, options)
    connection.execute("CLOSE c")
    assert client.do_get(tables, options).read_all().num_rows >= 2


@pytest.mark.parametrize("ends", ["close", "reset"])
def test_a_connection_that_ends_holds_no_answer(
    served: Any, monkeypatch: pytest.MonkeyPatch, ends: str
) -> None:
    """Cursor and portal go with it: they stayed until a collection of garbage; none comes here."""
    held = weakref.WeakSet[HeldAnswer]()
    begin = HeldAnswer.__init__
    monkeypatch.setattr(
        HeldAnswer, "__init__", lambda self, release: (begin(self, release), held.add(self))[0]
    )
    gc.disable()
    try:
        connection = served.psycopg()
        connection.execute(f"DECLARE c CURSOR WITH HOLD FOR {LARGE}")
        if ends == "close":
            connection.execute("SELECT income FROM made WHERE income > %s", (1,))
            assert held
            connection.close()
        else:  # in the midst of its rows
            connection.pgconn.send_query(LARGE.encode())
            time.sleep(1)
            assert len(held) == 2
            connection.pgconn.finish()
        until = time.monotonic() + 20
        while held:
            assert time.monotonic() < until, f"{len(held)} answers are held"
            time.sleep(0.1)
    finally:
        gc.enable()


def test_a_connection_that_ends_holds_no_prepared_text(served: Any) -> None:
    """A cycle kept the texts until a collection of garbage; none comes here."""
    gc.disable()
    try:
        connection = served.psycopg()
        text = "SELECT income FROM made WHERE income > 12321"
        connection.execute(f"PREPARE p AS {text}")
        kept = [o for o in gc.get_objects() if isinstance(o, PreparedStatement)]
        objects = [o for o in kept if o.sql == text]
        del kept
        assert objects
        held = [weakref.ref(o) for o in objects]
        del objects
        connection.close()
        until = time.monotonic() + 20
        while any(statement() for statement in held):
            assert time.monotonic() < until, f"{len(held)} statements are held"
            time.sleep(0.1)
    finally:
        gc.enable()


def test_a_server_that_is_told_twice_ends_though_somebody_does_not_read(
    served: Any, tmp_path: Path
) -> None:
    """The second signal interrupted what closes, and Python's end then waited for the stream."""
    with serving(served, tmp_path) as (process, place), flight.connect(place) as client:
        stream = client.do_get(ticket(LARGE), call(served))
        process.send_signal(signal.SIGINT)
        for _ in range(2):
            time.sleep(1)
            process.terminate()
        assert process.wait(60) == 0
        stream.cancel()


@pytest.mark.parametrize(
    ("error", "told", "state"),
    [
        (MemoryError("of 7 rows"), "Out of Memory Error", b"53200"),
        (pa.ArrowMemoryError("of 7 rows"), "Out of Memory Error", b"53200"),
        (ValueError("of 7 rows"), "an internal error", b"XX000"),
    ],
)
def test_want_of_memory_is_told_as_such_in_both_protocols(
    error: Exception, told: str, state: bytes
) -> None:
    """The last is the twin, of another error; no text of any leaves, which may quote a row."""

    @guard_handler
    def fail() -> None:
        raise error

    with pytest.raises(flight.FlightError, match=told) as failure:
        fail()
    assert "7 rows" not in str(failure.value)
    message = error_message(error)
    assert state in message
    assert told.encode() in message
    assert b"7 rows" not in message
