"""Giving up long work that reports its progress, and ending a session under it."""

import threading
from types import SimpleNamespace

import pytest

from sqlpriv.interfaces.server.protocol.wire_errors import Cancelled
from sqlpriv.interfaces.server.running_statements import Runner
from sqlpriv.interfaces.server.sessions import Client
from sqlpriv.interfaces.server.users import User
from sqlpriv.session.session import Progress


class FakeSession:
    """A session that remembers what was done to it."""

    def __init__(self):
        self.done = []

    def __getattr__(self, name):
        return lambda: self.done.append(name)


@pytest.fixture
def client():
    return Client(User(1, "ada", "analyst"), FakeSession(), "here")


def test_long_work_is_given_up_between_two_of_its_steps(client):
    runner, steps, begun = Runner(60, 1), [], threading.Event()

    def work(_, report):
        while len(steps) < 10_000:
            begun.set()
            steps.append(1)
            threading.Event().wait(0.01)
            report(Progress("fit", 0, 1))
        raise AssertionError("nobody stopped it")

    with pytest.raises(Cancelled):
        runner.run(client, work, begun.is_set)
    assert runner.wait(20)
    assert 0 < len(steps) < 10_000
    assert "rollback" in client.session.done


def test_a_session_that_ends_under_its_statement_is_closed_after_it(client):
    runner, seen = Runner(60, 1), SimpleNamespace(closed=None)

    def work(session, _):
        client.ended = True
        client.close_if_ended()
        seen.closed = "close" in session.done
        return 7

    assert runner.run(client, work, lambda: False) == 7
    assert seen.closed is False
    assert client.session.done[-1] == "close"


def test_what_a_statement_raises_is_raised_and_its_place_is_free_again(client):
    runner = Runner(60, 1)

    def fail(*_):
        raise KeyError("x")

    for _ in range(3):
        with pytest.raises(KeyError):
            runner.run(client, fail, lambda: False)
    assert runner.run(client, lambda *_: 1, lambda: False) == 1
