"""Giving up long work, ending a session under it, and the time at which answers leave."""

import _thread
import threading
import time
from collections import defaultdict
from types import SimpleNamespace

import pytest

import sqlpriv
from sqlpriv.errors import VaultBusy
from sqlpriv.interfaces.server import running_statements
from sqlpriv.interfaces.server.endpoints.listen import Limits
from sqlpriv.interfaces.server.protocol.wire_errors import Cancelled, TimedOut
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


def test_a_statement_without_a_thread_gives_its_place_back(client, monkeypatch):
    """Where no memory was left for a thread, the user had one place less for ever."""
    runner = Runner(60, 1)
    with monkeypatch.context() as patched:

        def fail(*_):
            raise RuntimeError("can't start new thread")

        patched.setattr(_thread, "start_new_thread", fail)
        with pytest.raises(VaultBusy, match="no memory for another statement"):
            runner.run(client, lambda *_: 1, lambda: False)
    assert runner.run(client, lambda *_: 1, lambda: False) == 1


def test_private_statements_of_all_users_have_places_and_others_need_none(client, monkeypatch):
    """Each takes memory; how many run is a number, since what memory is free depends on rows."""
    monkeypatch.setattr(running_statements, "LONGEST_WAIT", 0.2)
    runner, begun, end = Runner(60, 4, 1, exact_times=True), threading.Event(), threading.Event()
    other = Client(SimpleNamespace(**{**vars(client.user), "name": "bob"}), FakeSession(), "b")

    def read(*_):
        begun.set()
        end.wait(60)

    reading = threading.Thread(
        target=runner.run, args=(client, read, lambda: False), kwargs={"on_grid": True}
    )
    reading.start()
    begun.wait(60)
    with pytest.raises(VaultBusy, match="1 private statement may run at once on this server"):
        runner.run(other, lambda *_: 1, lambda: False, on_grid=True)
    assert runner.run(other, lambda *_: 1, lambda: False) == 1
    end.set()
    reading.join()
    assert runner.run(other, lambda *_: 1, lambda: False, on_grid=True) == 1


class LongWork:
    """Statements that run until they are told to end, in the order in which they began."""

    def __init__(self, runner, client):
        self.runner, self.client = runner, client
        self.begun, self.outcomes, self.threads = [], {}, {}
        self.ends = defaultdict(threading.Event)

    def start(self, name):
        def work(*_):
            self.begun.append(name)
            self.ends[name].wait(60)

        def run():
            client = Client(self.client.user, FakeSession(), name)
            try:
                self.runner.run(client, work, lambda: False, name.encode())
                self.outcomes[name] = "answered"
            except sqlpriv.Error as error:
                self.outcomes[name] = type(error).__name__

        self.threads[name] = threading.Thread(target=run)
        self.threads[name].start()

    def start_line(self, first, *others):
        """Starts one that runs, and others that wait for it in this order."""
        self.start(first)
        until = time.monotonic() + 60
        while not self.begun:
            assert time.monotonic() < until
            time.sleep(0.01)
        for place, name in enumerate(others, 1):
            self.start(name)
            self.wait_for_line(place)

    def finish(self, name):
        self.ends[name].set()
        self.threads[name].join(60)

    def wait_for_line(self, length):
        until = time.monotonic() + 60
        while len(self.runner._lines["ada"]) != length:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_who_runs_as_much_as_they_may_waits_in_line(client):
    """A dashboard of many charts: all of them were refused but the first four."""
    work = LongWork(Runner(60, 1), client)
    work.start_line(*"abc")
    assert work.begun == ["a"]
    for name in "abc":
        work.finish(name)
    assert work.begun == ["a", "b", "c"]
    assert work.outcomes == dict.fromkeys("abc", "answered")


def test_what_is_cancelled_before_it_begins_is_told_so(client, monkeypatch):
    """A statement that had its place already answered nothing at all, an internal error."""
    runner = Runner(60, 1)

    def start_late(work):
        assert runner.cancel(client.user.id, b"a")
        work()

    monkeypatch.setattr(running_statements, "start_daemon", start_late)
    with pytest.raises(Cancelled):
        runner.run(client, lambda *_: 1, lambda: False, b"a")
    assert client.session.done == []
    assert runner.wait(5)


def test_who_waits_in_line_can_be_cancelled(client):
    runner = Runner(60, 1)
    work = LongWork(runner, client)
    work.start_line(*"abc")
    assert runner.cancel(client.user.id, b"b")
    work.threads["b"].join(60)
    for name in "ac":
        work.finish(name)
    assert work.outcomes == {"a": "answered", "b": "Cancelled", "c": "answered"}
    assert runner.wait(5)


@pytest.mark.parametrize("limit", ["LONGEST_WAIT", "LONGEST_LINE"])
def test_no_line_is_endless(client, monkeypatch, limit):
    work = LongWork(Runner(60, 1), client)
    work.start_line("a")
    monkeypatch.setattr(running_statements, limit, 0)
    work.start("b")
    work.threads["b"].join(60)
    work.finish("a")
    assert work.outcomes == {"a": "answered", "b": "VaultBusy"}


class StandingClock:
    """A clock whose sleepers sleep until the end of the test."""

    def __init__(self, monkeypatch):
        self.waits, self.time_has_come = threading.Event(), threading.Event()
        clock = SimpleNamespace(monotonic=time.monotonic, sleep=self.sleep)
        monkeypatch.setattr(running_statements, "time", clock)

    def sleep(self, _):
        self.waits.set()
        self.time_has_come.wait(60)


def measure_seconds(runner, client, work):
    """How long a statement of the client takes, and what came of it."""
    begun = time.monotonic()
    try:
        outcome = runner.run(client, work, lambda: False, on_grid=True)
    except (KeyError, TimedOut) as error:
        outcome = error
    return time.monotonic() - begun, outcome


def test_an_analysts_answers_and_errors_leave_at_a_time_on_the_grid(client):
    def fail(*_):
        raise KeyError("x")

    runner = Runner(60, 1)
    for work, least in ((lambda *_: 7, 0.1), (lambda *_: time.sleep(0.12), 0.2), (fail, 0.1)):
        assert measure_seconds(runner, client, work)[0] >= least
    assert runner.wait(0)


def test_twin_an_owner_or_exact_times_wait_for_nothing(client, monkeypatch):
    clock = StandingClock(monkeypatch)
    owner = Client(User(2, "eve", "owner"), FakeSession(), "here")
    for runner, who in ((Runner(60, 1), owner), (Runner(60, 1, exact_times=True), client)):
        assert runner.run(who, lambda *_: 7, lambda: False, on_grid=True) == 7
    assert not clock.waits.is_set()


def test_an_answer_whose_time_on_the_grid_is_beyond_the_limit_is_not_given(client):
    """It was there after 0.25 s, of 0.3: it says what one says that never ended."""
    runner = Runner(0.3, 1)
    _, late = measure_seconds(runner, client, lambda *_: time.sleep(0.25))
    assert runner.wait(5)
    ended = threading.Event()
    _, endless = measure_seconds(runner, client, lambda *_: ended.wait(2))
    ended.set()
    assert type(late) is type(endless) is TimedOut
    assert str(late) == str(endless)


def test_a_statement_that_waits_for_its_time_counts_as_running(client, monkeypatch):
    clock, runner = StandingClock(monkeypatch), Runner(600, 1)
    asking = threading.Thread(target=measure_seconds, args=(runner, client, lambda *_: 7))
    asking.start()
    assert clock.waits.wait(60)
    monkeypatch.setattr(running_statements, "LONGEST_WAIT", 0)
    with pytest.raises(VaultBusy):
        runner.run(client, lambda *_: 1, lambda: False)
    clock.time_has_come.set()
    assert runner.wait(60)
    asking.join(60)


@pytest.mark.parametrize("patience", [None, 0.01])
def test_a_statement_that_is_cancelled_holds_its_place_until_its_time(
    client, monkeypatch, patience
):
    """Its answer was there when it was cancelled, or when its client's own limit was over: neither
    that, nor when its session is free, says so."""
    clock, runner, outcomes = StandingClock(monkeypatch), Runner(600, 1), []

    def ask():
        try:
            limits = {"on_grid": True, "patience": patience}
            outcomes.append(runner.run(client, lambda *_: 7, lambda: False, b"it", **limits))
        except (Cancelled, TimedOut) as error:
            outcomes.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    assert clock.waits.wait(60)
    if patience is None:
        assert runner.cancel(client.user.id, b"it")
    asking.join(60)
    expected = Cancelled if patience is None else TimedOut
    assert [type(outcome) for outcome in outcomes] == [expected]
    monkeypatch.setattr(running_statements, "LONGEST_WAIT", 0)
    with pytest.raises(VaultBusy):
        runner.run(client, lambda *_: 1, lambda: False)
    clock.time_has_come.set()
    assert runner.wait(60)


def test_what_ends_after_its_limit_ends_on_the_grid():
    """Nobody waits for it any more; its session is free at a time that says nothing."""
    ends = [running_statements.end_of_hold(seconds, 0.3) for seconds in (0.05, 0.25, 0.5)]
    assert ends == [0.1, 0.3, 0.8]


def test_by_default_an_analyst_waits_for_the_grid_on_every_way_in(serve):
    """A replay takes some hundredths of a second; the twin above shows that it need not wait."""
    served = serve(exact_times=Limits().exact_times)
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.01) COUNT(*) FROM people"
    cursors = [served.connect().cursor(), served.psycopg().cursor()]
    for cursor in cursors:
        cursor.execute(asked)
        cursor.fetchall()
        start = time.monotonic()
        cursor.execute(asked)
        cursor.fetchall()
        assert time.monotonic() - start > running_statements.FIRST_TIME - 0.01
