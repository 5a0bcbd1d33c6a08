"""A limit of time for calls of a library that another thread can have given up."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import SimpleQueue

from sqlpriv.errors import OperationalError
from sqlpriv.system.daemon_thread import start_daemon

_Call = tuple[threading.Event, float, Callable[[], object]]


class TimeLimit:
    """Has calls given up that take too long, one call at a time.

    Claim: one thread is the clock of all of these calls, so where it was started, no later call
    fails for want of a thread. It holds no process up at its end.
    """

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._runs = False

    def start(self) -> None:
        """Starts the clock, unless it runs.

        Raises:
            OperationalError: The system has no thread left, or no memory for one.
        """
        if self._runs:
            return
        try:  # a daemon: a second Ctrl-C may come before a call is said to have ended
            start_daemon(partial(_give_up_late_calls, self._calls))
        except RuntimeError:
            raise OperationalError(
                "no thread can be started just now; nothing was read or charged: ask again"
            ) from None
        self._runs = True

    @contextmanager
    def limit(self, seconds: float, give_up: Callable[[], object]) -> Iterator[None]:
        """Calls `give_up`, in another thread, if the block takes longer than `seconds`."""
        self.start()
        ended = threading.Event()
        try:
            self._calls.put((ended, seconds, give_up))
            yield
        finally:
            ended.set()

    def close(self) -> None:
        """Ends the clock, once the last call has ended."""
        self._calls.put(None)


def _give_up_late_calls(calls: SimpleQueue[_Call | None]) -> None:
    for ended, seconds, give_up in iter(calls.get, None):
        if not ended.wait(seconds):
            with suppress(Exception):  # the next call has its limit, too
                give_up()
