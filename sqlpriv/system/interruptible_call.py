"""A call of a library that does not notice Ctrl-C, made so that Ctrl-C ends the wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

_R = TypeVar("_R")
LONGEST_SECONDS = 1e6
"""No limit of time is longer: a thread cannot wait for a time that is infinite."""
_SECONDS = 5.0
"""How long a call that was given up may take to end."""


def call_interruptibly(work: Callable[[], _R], give_up: Callable[[], None]) -> _R:
    """Returns what `work` returns, or raises what it raises.

    gRPC waits in C, where no signal arrives, and so does DuckDB now and then: of five tables
    counted together, Ctrl-C ended one query of two. So in the main thread `work` runs in a thread
    of its own; elsewhere, where no signal arrives anyway, it is simply called.

    Args:
        work: The call.
        give_up: Ends it; called after Ctrl-C, from the main thread, while `work` still runs.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed.
    """
    if threading.current_thread() is not threading.main_thread():
        return work()
    outcome: Future[_R] = Future()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:  # the main thread raises whatever it is
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        return outcome.result()
    except KeyboardInterrupt:
        with suppress(Exception):  # Ctrl-C is what is raised, whatever ends the work
            give_up()
            outcome.result(_SECONDS)
        raise
