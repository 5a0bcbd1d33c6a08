"""What a login can make a server hold: answers that nobody reads, parameters, kept statements."""

from __future__ import annotations

import gc
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight
from support.child_processes import ChildPython

from sqlpriv.errors import DataError, VaultBusy
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.protocol import prepared, unread_answers
from sqlpriv.interfaces.server.protocol.unread_answers import UnreadAnswers
from sqlpriv.interfaces.server.shared.statement_handles import (
    MOST_CHARACTERS,
    Statement,
    StatementHandles,
)
from sqlpriv.session.session import Result

LARGE = "SELECT a.income, repeat('x', 1000) AS s FROM made a, made b LIMIT 100000"
"""A hundred megabytes in ten messages: gRPC takes the first ones off the server's hands before
somebody reads."""


def ticket(sql: str) -> flight.Ticket:
    return flight.Ticket(m.wrap("CommandStatementQuery", query=sql))


def test_answers_that_are_not_read_are_held_up_to_a_limit(
    serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another user is answered meanwhile; once they are closed, the first one is, too."""
    monkeypatch.setattr(unread_answers, "MOST_BYTES", 250_000_000)
    served = serve()
    client, call = served.flight("ada")
    held = [client.do_get(ticket(LARGE), call) for _ in range(2)]
    with pytest.raises(flight.FlightUnavailableError, match="2 answers are not read to their end"):
        client.do_get(ticket(LARGE), call)
    other, others = served.flight("bob")
    assert other.do_get(ticket(LARGE), others).read_all().num_rows == 100_000
    assert held.pop().read_all().num_rows == 100_000
    held.pop().cancel()
    until = time.monotonic() + 20
    while True:
        try:
            assert client.do_get(ticket(LARGE), call).read_all().num_rows == 100_000
            break
        except flight.FlightUnavailableError:
            assert time.monotonic() < until, "an answer that was given up is still held"
            time.sleep(0.1)


def test_a_server_ends_though_somebody_does_not_read(serve: Any, tmp_path: Path) -> None:
    """SIGTERM ends the process in time: it waited for the stream, for as long as its client did."""
    served = serve()
    command = [sys.executable, "-m", "sqlpriv", "serve", str(served.vault)]
    listen = ["--listen", "grpc://127.0.0.1:0", "--audit", str(tmp_path / "audit")]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, *listen], stderr=pipe, text=True) as process:
        try:
            assert process.stderr is not None
            place = process.stderr.readline().split(" on ")[1].split(";")[0]
            bearer = (b"authorization", f"Bearer {served.tokens['ada']}".encode())
            with flight.connect(place) as client:
                stream = client.do_get(ticket(LARGE), flight.FlightCallOptions(headers=[bearer]))
                process.terminate()
                assert process.wait(60) == 0
                stream.cancel()
        finally:
            process.kill()


def test_no_user_holds_more_than_so_many_answers() -> None:
    """One answer that takes more than the limit is given: it was read whole once."""
    answers, result = UnreadAnswers(), Result(pa.table({"a": [1, 2, 3]}))
    held = [answers.stream(1, result) for _ in range(unread_answers.MOST_UNREAD)]
    with pytest.raises(VaultBusy, match="64 answers"):
        answers.stream(1, result)
    assert len([*answers.stream(2, result)]) == 1
    assert len([*held.pop()]) == 1
    gc.collect()
    assert len([*answers.stream(1, result)]) == 1


CHILD = """
import resource
import pyarrow as pa
from sqlpriv.interfaces.server.protocol import prepared

text = pa.array(["x" * 15_000_000])
rows = pa.table({"1": pa.DictionaryArray.from_arrays(pa.array([0] * 500, pa.int32()), text)})
resource.setrlimit(resource.RLIMIT_AS, (6 * 2**30, 6 * 2**30))
print(sum(len(value) for (value,) in prepared.parameter_sets(("1",), rows)))
"""


def test_rows_that_share_a_text_are_made_one_at_a_time() -> None:
    """A message of 15 MB, all of whose sets take 7.5 GB at once; the process has 6."""
    child = ChildPython(CHILD)
    assert child.communicate()[0] == "7500000000\n"
    assert child.wait() == 0


SHARED = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int32()), pa.array(["x" * 1000]))


@pytest.mark.parametrize(
    "column",
    [
        pa.ListArray.from_arrays(pa.array([0, 1000], pa.int32()), SHARED),
        pa.array([["x"]], pa.list_(pa.string_view())),
        pa.array([["x"]], pa.list_view(pa.string())),
        pa.array([{"a": "x"}]),
        pa.array([[["x"]]]),
    ],
)
def test_no_value_is_a_list_whose_texts_are_shared(column: pa.Array) -> None:
    with pytest.raises(DataError, match="a parameter is of type"):
        next(prepared.parameter_sets(("1",), pa.table({"1": column})))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        (pa.array([7]), 7),
        (pa.array([None]), None),
        (pa.array(["a"], pa.string_view()), "a"),
        (pa.array(["a"]).dictionary_encode(), "a"),
        (pa.array([[1, 2]]), [1, 2]),
        (pa.array([["a"]], pa.large_list(pa.large_string())), ["a"]),
    ],
)
def test_twin_plain_values_and_lists_of_them_are_taken(column: pa.Array, value: Any) -> None:
    assert [*prepared.parameter_sets(("1",), pa.table({"1": column}))] == [(value,)]
    assert [*prepared.parameter_sets(("a",), pa.table({"a": column}))] == [{"a": value}]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([2**62], pa.timestamp("s")),
        pa.array([2**31 - 1], pa.date32()),
        pa.array([2**62], pa.duration("s")),
        pa.array([1], pa.timestamp("us", tz="Nowhere/No")),
    ],
)
def test_a_moment_that_python_does_not_have_is_refused_in_our_words(
    served: Any, column: pa.Array
) -> None:
    """It was an internal error, whose traceback filled the server's log."""
    client, call = served.flight()
    body = m.wrap("ActionCreatePreparedStatementRequest", query="SELECT ? AS a")
    (made,) = client.do_action(("CreatePreparedStatement", body), call)
    handle = m.unwrap(made.body.to_pybytes())[1].prepared_statement_handle
    command = m.wrap("CommandPreparedStatementQuery", prepared_statement_handle=handle)
    rows = pa.record_batch({"1": column})
    writer, _ = client.do_put(flight.FlightDescriptor.for_command(command), rows.schema, call)
    with pytest.raises(flight.FlightServerError, match="does not exist here"), closing(writer):
        writer.write_batch(rows)


def test_the_price_of_no_statement_is_refused_in_our_words(served: Any) -> None:
    client, call = served.flight()
    for body in (b"", m.wrap("CommandGetTables"), m.wrap("TicketStatementQuery")):
        with pytest.raises(flight.FlightServerError, match="is no statement"):
            list(client.do_action(("sqlpriv.Quote", body), call))


def test_statements_of_long_texts_are_kept_up_to_a_limit() -> None:
    """The newest is kept whatever it takes; another session's are not dropped for it."""
    handles, half = StatementHandles(), "x" * (MOST_CHARACTERS // 2)
    handles.keep(1, "other", b"o", Statement("SELECT ?", ("1",), (half,)))
    for name in (b"a", b"b"):
        handles.keep(1, "mine", name, Statement("SELECT ?", ("1",), [half]))
    assert not handles.forget(1, b"a")
    handles.keep(1, "mine", b"c", Statement("SELECT ?", ("1",), {"1": [half, half, half]}))
    assert handles.find(1, b"c")[0] == "mine"
    assert not handles.forget(1, b"b")
    assert handles.forget(1, b"o")
