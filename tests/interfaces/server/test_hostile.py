"""Who is not let in, what is not taken, and clients that hang up."""

import json
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from pyarrow import flight

import sqlpriv
from sqlpriv.interfaces.server import running_statements, users
from sqlpriv.interfaces.server.audit_log import Audit
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.session.session import Session

PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)"
ENDLESS = """SELECT SUM(sin(a.income + b.income + c.income + d.income)) AS s
FROM made a, made b, made c, made d"""
"""Free, and not done within the hour: 500^4 rows."""


def asked(sql):
    return flight.FlightDescriptor.for_command(m.wrap("CommandStatementQuery", query=sql))


# --- at the door ---


def test_nobody_is_let_in_who_does_not_prove_who_they_are(served):
    past = datetime.now(UTC) - timedelta(seconds=1)
    expired = users.add_user(served.vault, "late", "analyst", "test", expires=past)
    users.add_user(served.vault, "gone", "analyst", "test", secret="a password of gone's")
    users.remove_user(served.vault, "gone", "test")
    name, _, secret = served.tokens["ada"].partition(".")
    told = set()
    for token in (
        f"{name}.wrong",
        f"nobody.{secret}",
        f"late.{expired}",
        "gone.a password of gone's",
        f"bob.{secret}",
        secret,
        "",
        "a.b.c.d",
        f"{name}.1.9999999999.{'0' * 64}",
        (name, "wrong"),
        ("nobody", secret),
        ("", ""),
    ):
        with pytest.raises(sqlpriv.OperationalError) as refused:
            sqlpriv.connect(served.url, token=token, ca=served.ca)
        told.add(str(refused.value))
    assert told == {users.DENIED}, "the same words, whatever was wrong"
    client, _ = served.flight()
    for call in (
        lambda: client.get_flight_info(asked("SELECT 1")),
        lambda: client.do_get(flight.Ticket(b"x")).read_all(),
        lambda: list(client.do_action(flight.Action("CloseSession", b""))),
        lambda: list(client.list_actions()),
        lambda: list(client.list_flights()),
    ):
        with pytest.raises(flight.FlightUnauthenticatedError):
            call()
    audit = served.vault.with_suffix(".audit").read_text()
    assert secret not in audit
    assert {json.loads(line)["event"] for line in audit.splitlines()} == {"denied"}


def test_who_is_removed_is_out_at_once_and_their_pass_with_them(served):
    password = "correct horse battery"
    users.add_user(served.vault, "carl", "analyst", "test", secret=password)
    inside = sqlpriv.connect(served.url, token=("carl", password), ca=served.ca)
    assert inside.execute("SELECT COUNT(*) FROM made").fetchone() == (500,)
    users.remove_user(served.vault, "carl", "test")
    with pytest.raises(sqlpriv.OperationalError, match="revoked"):
        inside.execute("SELECT 1")
    users.add_user(served.vault, "carl", "owner", "test", secret=password)  # another carl, maybe
    with pytest.raises(sqlpriv.OperationalError, match="revoked"):
        inside.execute("SELECT 1")
    inside.close()


def test_a_client_without_tls_or_without_trust_gets_nowhere(served):
    plain = served.url.replace("grpc+tls", "grpc")
    for url, ca in ((plain, None), (served.url, None)):
        with pytest.raises(sqlpriv.OperationalError):
            sqlpriv.connect(url, token=served.tokens["ada"], ca=ca)
    assert served.connect().execute("SELECT 1 AS a").fetchall() == [(1,)]


# --- what is sent ---


def test_messages_that_are_too_large_or_none_are_refused(served):
    client, call = served.flight()
    huge = "SELECT '" + "x" * 3_000_000 + "'"
    for descriptor in (
        asked(huge),
        asked("SELECT '" + "x" * 1_100_000 + "'"),
        asked("SELECT 1 \x00"),
        flight.FlightDescriptor.for_command(b"\xff\xff\xff"),
        flight.FlightDescriptor.for_command(b""),
        flight.FlightDescriptor.for_path("a", "b"),
        flight.FlightDescriptor.for_command(m.wrap("DoPutUpdateResult", record_count=1)),
        flight.FlightDescriptor.for_command(
            m.wrap("CommandPreparedStatementQuery", prepared_statement_handle=b"?")
        ),
    ):
        refused(lambda descriptor=descriptor: client.get_flight_info(descriptor, call))
        with pytest.raises(pa.ArrowException) as told:  # pyarrow adds a traceback to this call's
            client.get_schema(descriptor, call)
        assert "/sqlpriv/" not in str(told.value)
        assert "raise" not in str(told.value)
    for ticket in (b"", b"\x00" * 99, m.wrap("TicketStatementQuery", statement_handle=b"?")):
        refused(lambda ticket=ticket: client.do_get(flight.Ticket(ticket), call).read_all())
    wrong = m.wrap("ActionClosePreparedStatementRequest", prepared_statement_handle=b"?")
    for name, body in (
        ("CreatePreparedStatement", b"\xff"),
        ("CreatePreparedStatement", wrong),
        ("CreatePreparedStatement", huge.encode()),
        ("CancelFlightInfo", b"\xff"),
        (
            "CancelFlightInfo",
            m.message("CancelFlightInfoRequest", m.FLIGHT, info=b"?").SerializeToString(),
        ),
        ("SetSessionOptions", b"\xff"),
        ("BeginTransaction", b""),
        ("x" * 1000, b""),
    ):
        refused(lambda name=name, body=body: list(client.do_action((name, body), call)))
    assert served.connect().execute("SELECT 1 AS a").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "mark",
    ["\x00", "\x1b", "\x7f", "\x85", "\x9b", "\u061c", "\u200f", "\u2028", "\u202e", "\u2066"],
)
def test_a_line_of_the_audit_shows_what_was_sent(tmp_path, mark):
    """A control character cleared the terminal of who read the log, or turned a text around."""
    sql = f"SELECT 'é{mark}2J' -- 日本"
    with closing(Audit(tmp_path / "audit")) as audit:
        audit.write("statement", sql=sql)
    (line,) = (tmp_path / "audit").read_bytes().decode().rstrip("\n").split("\n")
    assert mark not in line
    assert json.loads(line)["sql"] == sql
    assert "é" in line


def test_text_that_is_no_utf_8_is_refused_and_in_the_audit(served):
    client, call = served.flight()
    for name in ("CommandStatementQuery", "CommandStatementUpdate"):
        broken = m.wrap(name, query="SELECT 'abc'").replace(b"abc", b"\xff\xfe\xfd")
        descriptor = flight.FlightDescriptor.for_command(broken)
        refused(lambda descriptor=descriptor: client.get_flight_info(descriptor, call))
        refused(lambda broken=broken: client.do_get(flight.Ticket(broken), call).read_all())
        with pytest.raises(flight.FlightServerError, match="not UTF-8"):
            put(client, descriptor, pa.record_batch({"1": [1]}), call)
    body = m.wrap("ActionCreatePreparedStatementRequest", query="SELECT 'abc'")
    action = ("CreatePreparedStatement", body.replace(b"abc", b"\xff\xfe\xfd"))
    refused(lambda: list(client.do_action(action, call)))
    lines = served.vault.with_suffix(".audit").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    assert [(r["event"], r["who"], r["reason"]) for r in records] == [
        ("unreadable", "ada", "query is not UTF-8")
    ] * 7


def refused(call):
    """Asserts that a call is refused in our words alone: no traceback, no path, no crash."""
    with pytest.raises((flight.FlightError, pa.ArrowException)) as told:
        call()
    assert isinstance(told.value, flight.FlightServerError), told.value
    assert "Traceback" not in str(told.value)
    assert ".py" not in str(told.value)


def test_parameters_without_end_are_not_taken(served):
    client, call = served.flight()
    body = m.wrap("ActionCreatePreparedStatementRequest", query="SELECT ? AS a")
    (made,) = client.do_action(("CreatePreparedStatement", body), call)
    handle = m.unwrap(made.body.to_pybytes())[1].prepared_statement_handle
    for name, count in (
        ("CommandPreparedStatementQuery", 2),
        ("CommandPreparedStatementUpdate", 20_000),
    ):
        command = m.wrap(name, prepared_statement_handle=handle)
        rows = pa.record_batch({"1": list(range(count))})
        descriptor = flight.FlightDescriptor.for_command(command)
        with pytest.raises(flight.FlightServerError, match=r"one set|in parts"):
            put(client, descriptor, rows, call)


def put(client, descriptor, rows, call):
    writer, _ = client.do_put(descriptor, rows.schema, call)
    with writer:
        writer.write_batch(rows)


def test_a_ticket_is_good_once_and_for_its_user(served):
    client, call = served.flight("ada")
    other, others = served.flight("bob")
    ticket = client.get_flight_info(asked(f"{PRICED} COUNT(*) FROM people"), call).endpoints[0]
    before = served.account()
    refused(lambda: other.do_get(ticket.ticket, others).read_all())
    assert served.account() == before
    assert client.do_get(ticket.ticket, call).read_all().num_rows == 1
    once = served.account()
    assert once[0] == before[0] + 1
    refused(lambda: client.do_get(ticket.ticket, call).read_all())
    again = client.get_flight_info(asked(f"{PRICED} COUNT(*) FROM people"), call).endpoints[0]
    assert client.do_get(again.ticket, call).read_all().num_rows == 1
    assert served.account() == once, "a retry costs nothing"


def test_an_error_that_is_not_ours_keeps_its_text_to_itself(served, monkeypatch):
    def fail(*_):
        try:
            raise ValueError("row 7 of /srv/people.duckdb")
        except ValueError as error:
            raise RuntimeError("hidden-7") from error

    monkeypatch.setattr(Session, "describe", fail)
    client, call = served.flight()
    with pytest.raises(flight.FlightInternalError) as told:
        client.get_flight_info(asked("SELECT 1"), call)
    assert str(told.value).startswith("an internal error of the server; its text is withheld")
    assert not {"hidden", "row 7", "Traceback"} & set(str(told.value).split())


def test_strangers_learn_nothing_of_an_error_at_the_door(served, monkeypatch):
    """pyarrow would send them the traceback: of a ledger that somebody locks, say."""

    def fails(*_):
        raise sqlite3.OperationalError("database is locked: hidden-7")

    monkeypatch.setattr(users.Doorkeeper, "bearer", fails)
    client, options = served.flight()
    with pytest.raises(flight.FlightInternalError) as told:
        list(client.list_actions(options))
    assert "its text is withheld" in str(told.value)
    for word in ("hidden-7", "Traceback", ".py", "locked"):
        assert word not in str(told.value)


def test_who_cannot_be_looked_up_is_not_told_that_they_are_nobody(served, monkeypatch):
    """Nor is the owner, in the audit."""

    def busy(*_):
        raise sqlpriv.OperationalError("the ledger cannot be used just now")

    monkeypatch.setattr(users.Doorkeeper, "bearer", busy)
    client, options = served.flight()
    with pytest.raises(flight.FlightServerError, match="cannot be used just now"):
        list(client.list_actions(options))
    assert "denied" not in served.vault.with_suffix(".audit").read_text()


def test_long_errors_in_any_script_arrive(served):
    sql = "SELECT " + "ж" * 5_000 + " FROM made"
    with pytest.raises(sqlpriv.ProgrammingError, match="ж"):
        served.connect().execute(sql)


# --- giving up ---


def run_endless(served, **options):
    client, call = served.flight()
    info = client.get_flight_info(asked(ENDLESS), call)
    call = flight.FlightCallOptions(
        headers=[(b"authorization", f"Bearer {served.tokens['ada']}".encode())], **options
    )
    return client, info, call


def under_way(served, within=60.0):
    """Waits until the server runs a statement."""
    until = time.monotonic() + within
    while not served.server._runner._running.total():
        assert time.monotonic() < until
        time.sleep(0.02)


def free_again(served, within=20.0):
    """Asserts that a user who may run one statement at a time may run another before long."""
    until = time.monotonic() + within
    while True:
        try:
            with served.connect() as connection:
                return connection.execute("SELECT COUNT(*) FROM made").fetchone()
        except sqlpriv.VaultBusy:
            assert time.monotonic() < until, "the statement that was given up still runs"
            time.sleep(0.1)


def test_a_client_that_vanishes_leaves_nothing_running(serve):
    served = serve(concurrency=1)
    program = f"""
import sqlpriv
con = sqlpriv.connect({served.url!r}, token={served.tokens["ada"]!r}, ca={str(served.ca)!r})
con.execute({ENDLESS!r})
"""
    child = subprocess.Popen([sys.executable, "-c", program])
    under_way(served)
    child.kill()
    child.wait()
    assert free_again(served) == (500,)
    assert '"outcome": "Cancelled"' in served.vault.with_suffix(".audit").read_text()


def test_a_deadline_of_the_client_ends_its_statement(serve):
    served = serve(concurrency=1)
    client, info, call = run_endless(served, timeout=2.0)
    with pytest.raises(flight.FlightTimedOutError):
        client.do_get(info.endpoints[0].ticket, call).read_all()
    assert free_again(served) == (500,)


def test_a_statement_may_not_take_longer_than_its_user_may(serve):
    served = serve(concurrency=1, timeout=4.0)
    client, info, call = run_endless(served)
    with pytest.raises(flight.FlightTimedOutError, match="took longer than 4 s"):
        client.do_get(info.endpoints[0].ticket, call).read_all()
    users.add_user(
        served.vault,
        "ada",
        "analyst",
        "test",
        timeout=600.0,
        secret=served.tokens["ada"].partition(".")[2],
    )
    assert free_again(served) == (500,)


def test_a_statement_is_cancelled_by_its_flight_info(serve):
    served = serve(concurrency=1)
    client, info, call = run_endless(served)
    body = m.message("CancelFlightInfoRequest", m.FLIGHT, info=info.serialize())
    said = []

    def cancel():
        under_way(served)
        (found,) = client.do_action(("CancelFlightInfo", body.SerializeToString()), call)
        said.append(m.parse("CancelFlightInfoResult", found.body.to_pybytes()).status)

    thread = threading.Thread(target=cancel)
    thread.start()
    with pytest.raises(flight.FlightCancelledError, match="given up"):
        client.do_get(info.endpoints[0].ticket, call).read_all()
    thread.join()
    assert said == [1]
    assert free_again(served) == (500,)


def test_nobody_runs_more_at_once_than_they_may_and_others_are_not_held_up(serve, monkeypatch):
    monkeypatch.setattr(running_statements, "LONGEST_WAIT", 0.1)
    served = serve(concurrency=1)
    client, info, call = run_endless(served, timeout=8.0)
    thread = threading.Thread(target=ended, args=(client, info, call))
    thread.start()
    under_way(served)
    with pytest.raises(
        sqlpriv.VaultBusy, match="ada runs 1 statement, and no more may run at once"
    ):
        served.connect("ada").execute("SELECT 1")
    assert served.connect("bob").execute("SELECT 1 AS a").fetchall() == [(1,)]
    thread.join(30)
    assert free_again(served) == (500,)


def ended(client, info, call):
    with pytest.raises((flight.FlightError, pa.ArrowException)):
        client.do_get(info.endpoints[0].ticket, call).read_all()
