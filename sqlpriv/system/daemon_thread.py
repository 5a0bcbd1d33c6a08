"""Threads that begin or are said not to: where memory is short, Python's start may never end."""

from __future__ import annotations

import _thread
import os
import threading
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

BEGINS_WITHIN = 5.0
"""Seconds."""
CORES = min(os.cpu_count() or 1, 8)
LEAST = 4_000
"""Items of a part. OpenDP draws as much noise in 20 ms, and a thread begins in .1 ms."""
_Item = TypeVar("_Item")


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


def run_in_parts(run: Callable[[int], list[_Item]], items: int) -> list[_Item]:
    """Returns what `run` gives for so many items, which it is given in parts of about one size.

    Each part is run in a thread of its own; one of them is the caller's, which also runs the parts
    for which no thread can be started. An error of a part is raised here.

    Args:
        run: Takes how many items to give. Which thread gives which of them does not matter.
        items: How many are asked for in all; with less than two times `LEAST` no thread is started.
    """
    if not items:
        return []
    count = max(1, min(CORES, items // LEAST))
    sizes = [items * (i + 1) // count - items * i // count for i in range(count)]
    answers: SimpleQueue[list[_Item] | Exception] = SimpleQueue()

    def run_part(size: int) -> None:
        try:
            answers.put(run(size))
        except Exception as error:  # whatever it is, the caller raises it
            answers.put(error)

    begun = 0
    for size in sizes[1:]:
        try:
            start_daemon(partial(run_part, size))
        except RuntimeError:
            break
        begun += 1
    whole = run(sizes[0] + sum(sizes[begun + 1 :]))
    for _ in range(begun):
        part = answers.get()
        if isinstance(part, Exception):
            raise part
        whole += part
    return whole
