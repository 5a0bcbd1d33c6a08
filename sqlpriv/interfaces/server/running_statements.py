"""Statements under way: how many at once, for how long, and how they are given up.

A statement runs in a thread of its own, so that its client can be told in time. Giving up stops
plain SQL in the engine and synthesis between two of its steps. A private question that is paid for
is left to itself and the kernel's own limit: its answer is sealed, and asking again is free. Until
it has ended it counts as running, so that giving up buys nobody more than their share of the
machine.

How long an answer takes depends on private rows. So what a statement of an analyst answers, or says
instead, waits for the next time on a public grid: a tenth of a second, and twice as long each time.
A statement whose time on the grid lies beyond its time limit is given up at the limit, in the words
that one hears which has not read anything by then. One that is cancelled holds its session and its
place until its own time, too: else whoever cancels at a moment of their choice would learn, by when
the next statement begins, whether the answer was there by then.
"""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from sqlpriv.errors import OperationalError, VaultBusy
from sqlpriv.interfaces.server.protocol.wire_errors import Cancelled, TimedOut
from sqlpriv.interfaces.server.sessions import Client
from sqlpriv.session.session import Progress, Session
from sqlpriv.system.count_text import count_text
from sqlpriv.system.daemon_thread import start_daemon

_R = TypeVar("_R")
_GIVEN_UP = "the statement was given up; what was charged stays charged, and its answer is kept"
_POLL = 0.05
LONGEST_WAIT = 30.0
"""Seconds that a statement waits for a place among its user's: a dashboard sends many at once."""
LONGEST_LINE = 64
"""Statements of one user that wait at most: each holds a thread."""
FIRST_TIME = 0.1
"""Seconds: the first time on the grid; each of the others is twice the one before."""
Work = Callable[[Session, Callable[[Progress], None]], _R]


@dataclass(eq=False)
class _Job:
    """One statement under way or in line. Its user may run so many as `places`. `hold` says until
    when, in seconds from its beginning, it holds its session where it took so many; or is None.
    `reads` says that it may read private rows."""

    client: Client
    work: Work[Any]
    places: int
    reads: bool
    hold: Callable[[float], float] | None = None
    stopped: threading.Event = field(default_factory=threading.Event)
    done: threading.Event = field(default_factory=threading.Event)
    running: bool = False
    entered: float = field(default_factory=time.monotonic)
    result: Any = None
    error: Exception | None = None

    def report(self, _: Progress) -> None:
        """Takes a synthesizer's progress; raises Cancelled where nobody waits for it any more."""
        if self.stopped.is_set():
            raise Cancelled(_GIVEN_UP)


class Runner:
    """Runs the statements of all users; threads may share it.

    Args:
        timeout: Seconds that a statement may take, of users without a limit of their own.
        concurrency: Statements that one user may run at once here, likewise. Servers behind one
            address count each for itself: the limit guards a machine, which each has of its own.
        readers: Statements at once that may read private rows, of all users: so many have memory.
            It is a number, and not the memory that is free, which depends on rows that are read.
        exact_times: Answers leave when they are there, and not at a time on the grid.
    """

    def __init__(
        self, timeout: float, concurrency: int, readers: int = 16, *, exact_times: bool = False
    ) -> None:
        self._timeout, self._concurrency = timeout, concurrency
        self._readers, self._reading, self._exact_times = readers, 0, exact_times
        self._lock, self._running = threading.Lock(), Counter[str]()
        self._lines = defaultdict[str, list[_Job]](list)
        self._jobs, self._all_jobs = dict[bytes, _Job](), set[_Job]()

    def run(
        self,
        client: Client,
        work: Work[_R],
        gone: Callable[[], bool],
        handle: bytes = b"",
        *,
        on_grid: bool = False,
        patience: float | None = None,
    ) -> _R:
        """Runs work on a client's session and returns what it returns.

        It waits for a place first where the user runs as many statements as they may.

        Args:
            client: Whose; another statement of the same session is waited for.
            work: Takes the session, and a place to report progress to.
            gone: Tells whether the client has hung up.
            handle: What `cancel` may name it by.
            on_grid: It may read private rows: it ends at a time on the grid, unless an owner asks.
            patience: Seconds that the client waits, of its own choice: then it is given up as a
                statement that is cancelled, and holds its session until its own time.

        Raises:
            VaultBusy: No place was free for `LONGEST_WAIT`, or `LONGEST_LINE` statements wait, or
                no thread could be started.
            TimedOut, Cancelled: It took too long, or was given up.
            Exception: What the work raised.
        """
        limit = client.user.timeout or self._timeout
        waits = on_grid and client.user.role != "owner" and not self._exact_times
        hold = partial(end_of_hold, limit=limit) if waits else None
        job = _Job(client, work, client.user.concurrency or self._concurrency, on_grid, hold)
        waited_until = time.monotonic() + (patience or math.inf)
        self._enter(job, handle)
        try:
            while not self._take_place(job):
                if job.stopped.is_set() or gone():
                    raise Cancelled(_GIVEN_UP)
                if time.monotonic() > waited_until:
                    raise _impatient(patience)
                job.stopped.wait(_POLL)
        except Exception:
            with self._lock:
                self._lines[client.user.name].remove(job)
                self._forget(job, handle)
            raise
        until = time.monotonic() + limit
        try:
            start_daemon(partial(self._run, job, handle))
        except RuntimeError:  # there is no memory for its stack, or no more threads
            self._end(job, handle)
            raise VaultBusy(
                "the server has no memory for another statement just now; nothing was read or"
                " charged: ask again"
            ) from None
        too_late = TimedOut(f"the statement took longer than {limit:g} s and {_GIVEN_UP[14:]}")
        while not job.done.wait(_POLL):
            if job.stopped.is_set() or gone():
                self._stop(job)
                raise Cancelled(_GIVEN_UP)
            if time.monotonic() > until:
                self._stop(job)
                raise too_late
            if time.monotonic() > waited_until:
                self._stop(job)
                raise _impatient(patience)
        if job.hold is not None and time.monotonic() >= until:  # it was held until its limit
            raise too_late
        if job.error is not None:
            raise job.error
        result: _R = job.result
        return result

    def cancel(self, user_id: int, handle: bytes) -> bool:
        """Gives up the statement of that handle and user; tells whether it was under way here."""
        with self._lock:
            job = self._jobs.get(handle)
        if job is None or job.client.user.id != user_id:
            return False
        job.stopped.set()
        return True

    def cancel_all(self, user_id: int, session: str) -> None:
        """Gives up every statement of the session of that user and name."""
        with self._lock:
            clients = [(job, job.client) for job in self._all_jobs]
        for job, client in clients:
            if (client.user.id, client.name) == (user_id, session):
                job.stopped.set()

    def wait(self, seconds: float) -> bool:
        """Waits until nothing runs, for so long at most; tells whether it came to that."""
        until = time.monotonic() + seconds
        while self._running.total() and time.monotonic() < until:
            time.sleep(_POLL)
        return not self._running.total()

    def _enter(self, job: _Job, handle: bytes) -> None:
        """Puts a job at the end of its user's line, where `cancel` reaches it.

        Raises:
            VaultBusy: The line is as long as it may be.
        """
        with self._lock:
            line = self._lines[job.client.user.name]
            if len(line) >= LONGEST_LINE:
                raise self._busy(job)
            line.append(job)
            self._all_jobs.add(job)
            if handle:
                self._jobs[handle] = job

    def _take_place(self, job: _Job) -> bool:
        """Tells whether a job that waits has a place now: it is the first in line, and one is free.

        Raises:
            VaultBusy: It has waited for `LONGEST_WAIT`.
        """
        name = job.client.user.name
        with self._lock:
            is_free = not job.reads or self._reading < self._readers
            if self._lines[name][0] is job and self._running[name] < job.places and is_free:
                self._lines[name].pop(0)
                self._running[name] += 1
                self._reading += job.reads
                return True
        if time.monotonic() > job.entered + LONGEST_WAIT:
            if not is_free:
                raise VaultBusy(
                    f"{count_text(self._readers, 'private statement')} may run at once on this"
                    " server; nothing was read or charged: wait for one of them"
                )
            raise self._busy(job)
        return False

    def _forget(self, job: _Job, handle: bytes) -> None:
        self._jobs.pop(handle, None)
        self._all_jobs.discard(job)

    def _busy(self, job: _Job) -> VaultBusy:
        return VaultBusy(
            f"{job.client.user.name} runs {count_text(job.places, 'statement')}, and no more may"
            " run at once on this server; nothing was read or charged: wait for one of them"
        )

    def _run(self, job: _Job, handle: bytes) -> None:
        try:
            with job.client.lock:
                job.client.load_settings()
                job.running = True
                begun = time.monotonic()
                try:
                    if job.stopped.is_set():  # after it had a place, and before it began
                        raise Cancelled(_GIVEN_UP)
                    job.result = _run_and_settle(job.client.session, job.work, job.report)
                finally:
                    job.running = False
                    try:
                        job.client.keep_settings()
                    finally:
                        if job.hold is not None:  # with the session's lock, and counted as running
                            taken = time.monotonic() - begun
                            time.sleep(job.hold(taken) - taken)
        except Exception as error:  # raised to the client that waits for the job
            job.error = error
        finally:
            job.running = False
            self._end(job, handle)

    def _end(self, job: _Job, handle: bytes) -> None:
        """Gives a job's place to the next in line."""
        job.client.close_if_ended()
        with self._lock:
            self._running[job.client.user.name] -= 1
            self._reading -= job.reads
            self._forget(job, handle)
        job.done.set()

    def _stop(self, job: _Job) -> None:
        """Interrupts until it has ended: an interrupt between two queries is lost."""
        job.stopped.set()

        def insist() -> None:
            while not job.done.wait(_POLL):
                if job.running:
                    job.client.session.interrupt()

        with suppress(RuntimeError):  # it then ends by itself
            start_daemon(insist)


def _impatient(patience: float | None) -> TimedOut:
    return TimedOut(f"the client's limit of {patience or 0:g} s is over: {_GIVEN_UP}")


def time_on_grid(seconds: float) -> float:
    """Returns the first time on the grid that is not before `seconds`.

    >>> [time_on_grid(seconds) for seconds in (0.0, 0.1, 0.11, 0.39, 5.0)]
    [0.1, 0.1, 0.2, 0.4, 6.4]
    """
    doublings = max(0, math.ceil(math.log2(max(seconds, FIRST_TIME) / FIRST_TIME)))
    return float(FIRST_TIME * 2**doublings)


def end_of_hold(seconds: float, limit: float) -> float:
    """Returns until when a statement holds its session that took so many seconds: its time on the
    grid, or its time limit where that comes first.

    >>> [end_of_hold(seconds, 0.3) for seconds in (0.05, 0.25, 0.5)]
    [0.1, 0.3, 0.8]
    """
    return min(time_on_grid(seconds), limit if seconds < limit else math.inf)


def _run_and_settle(session: Session, work: Work[_R], report: Callable[[Progress], None]) -> _R:
    """Runs work and lets go of the vault, which an owner's statement may have opened for writing.

    Raises:
        OperationalError: A transaction was left open: it is rolled back.
    """
    try:
        result = work(session, report)
    except BaseException:  # Ctrl-C, too, leaves no transaction open
        session.rollback()
        session.settle()
        raise
    try:
        session.settle()
    except OperationalError:
        session.rollback()
        session.settle()
        raise OperationalError(
            "a transaction is not kept from one call to the next: it was rolled back;"
            " send BEGIN, the statements and COMMIT as one text"
        ) from None
    return result
