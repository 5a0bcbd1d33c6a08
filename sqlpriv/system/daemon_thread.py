"""Threads that begin or are said not to: where memory is short, Python's start may never end."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable

BEGINS_WITHIN = 5.0
"""Seconds."""


def start_daemon(run: Callable[[], object]) -> None:
    """Runs a function in a thread that the process does not wait for at its end.

    `threading.Thread.start` waits without a limit until the thread has begun. A thread that gets no
    memory for its first object ends before that, and the caller waited for ever.

    Raises:
        RuntimeError: No thread could be started, or it did not begin in `BEGINS_WITHIN`; then it
            runs nothing later either.
    """
    decided, begun = threading.Lock(), threading.Event()

    def begin() -> None:
        if decided.acquire(blocking=False):
            begun.set()
            run()

    _thread.start_new_thread(begin, ())
    if not begun.wait(BEGINS_WITHIN) and decided.acquire(blocking=False):
        raise RuntimeError("no thread began")
