"""Sessions of clients: one for each, opened beside all others."""

import threading
from pathlib import Path

import pytest

from sqlpriv.errors import InterfaceError
from sqlpriv.interfaces.server import sessions as sessions_module
from sqlpriv.interfaces.server.sessions import Sessions
from sqlpriv.interfaces.server.users import User

ADA, BOB = User(1, "ada", "analyst"), User(2, "bob", "analyst")


class SlowSession:
    """A session that is open when it is let to be."""

    opened: list["SlowSession"]
    closed: list["SlowSession"]
    begun, may_open = threading.Event(), threading.Event()

    def __init__(self, _vault, _role, principal, **_options):
        if principal == "bob":
            self.begun.set()
            assert self.may_open.wait(20)
        self.opened.append(self)

    def close(self):
        self.closed.append(self)


@pytest.fixture
def sessions(monkeypatch):
    SlowSession.opened, SlowSession.closed = [], []
    SlowSession.begun.clear()
    SlowSession.may_open.clear()
    monkeypatch.setattr(sessions_module, "Session", SlowSession)
    return Sessions(Path("people.duckdb"))


def call_in_threads(sessions, number, errors=None):
    """Starts calls of bob's over one connection; returns their threads and the clients they get."""
    clients = []

    def call():
        try:
            clients.append(sessions.client(BOB, None, "fresh", "bob's"))
        except InterfaceError as error:
            errors.append(error)

    threads = [threading.Thread(target=call) for _ in range(number)]
    for thread in threads:
        thread.start()
    assert SlowSession.begun.wait(20)
    return threads, clients


def test_nobody_waits_for_a_session_that_is_being_opened(sessions):
    threads, clients = call_in_threads(sessions, 1)
    ada = sessions.client(ADA, None, "cookie", "here")
    assert sessions.client(ADA, "cookie", "fresh", "there") is ada
    assert clients == []
    SlowSession.may_open.set()
    threads[0].join(20)
    assert [client.user for client in clients] == [BOB]


def test_calls_that_open_one_session_at_a_time_get_one(sessions):
    threads, clients = call_in_threads(sessions, 3)
    SlowSession.may_open.set()
    for thread in threads:
        thread.join(20)
    assert len(clients) == 3
    assert len({id(client) for client in clients}) == 1
    assert clients[0].session not in SlowSession.closed
    assert len(SlowSession.closed) == len(SlowSession.opened) - 1


def test_a_session_that_is_opened_while_all_are_closed_is_closed(sessions):
    errors: list[InterfaceError] = []
    threads, clients = call_in_threads(sessions, 1, errors)
    sessions.close()
    SlowSession.may_open.set()
    threads[0].join(20)
    assert clients == []
    assert len(errors) == 1
    assert SlowSession.closed == SlowSession.opened


def test_who_is_answered_by_another_server_is_told_that_settings_are_gone(served):
    """Nothing is paid at another price than what was SET: it is said once, and then goes on."""
    connection, before = served.connect(), served.account()
    connection.execute("SET privacy_epsilon = 0.25")
    for client in tuple(served.server._sessions._open.values()):
        served.server._sessions.end(client)  # it is then as a server that never saw the session
    with pytest.raises(InterfaceError, match="SET it again"):
        connection.execute("SELECT COUNT(*) FROM people")
    assert served.account() == before
    connection.execute("SET privacy_epsilon = 0.5")
    assert connection.session.settings == {"privacy_epsilon": 0.5}
    assert len(served.server._sessions._open) == 1


def test_a_stock_client_goes_on_in_a_new_session(served):
    connection = served.adbc(**{"adbc.flight.sql.rpc.with_cookie_middleware": "true"})
    option = "adbc.flight.sql.session.option.privacy_epsilon"
    connection.adbc_connection.set_options(**{option: "0.25"})
    for client in tuple(served.server._sessions._open.values()):
        served.server._sessions.end(client)
    with pytest.raises(Exception, match="SET it again"):
        connection.adbc_connection.set_options(**{option: "0.5"})
    connection.adbc_connection.set_options(**{option: "0.5"})
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN PRIVACY SELECT COUNT(*) FROM people")
        assert 0.5 in cursor.fetch_arrow_table()["epsilon"].to_pylist()
