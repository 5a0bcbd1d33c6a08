"""Statements that Ctrl-C ends: the engine turns it into a failed read, which looks like another."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from sqlpriv import errors
from sqlpriv.interfaces.display.progress_bar import reporting
from sqlpriv.session.session import Progress, Result
from sqlpriv.session.session_like import SessionLike

INTERRUPTED = (
    "Interrupted. What was charged stays charged. Asked again, what was answered is free, and a"
    " read that was cut off is charged again."
)


def run_interruptibly(session: SessionLike, statement: str) -> Result:
    """Returns a statement's result, its progress shown meanwhile.

    Python drops an exception that is raised inside a callback of a library, such as JAX's callback
    for garbage collection. So every report of progress asks again for Ctrl-C.

    Raises:
        KeyboardInterrupt: Ctrl-C was pressed, whatever the statement made of it.
        sqlpriv.Error: As the session raises it.
    """
    with noticing_interrupts() as interrupted, reporting() as report:

        def report_or_stop(progress: Progress) -> None:
            if interrupted():
                raise KeyboardInterrupt
            report(progress)

        try:
            return session.execute(statement, progress=report_or_stop)
        except errors.Error:
            if interrupted():
                raise KeyboardInterrupt from None
            raise


@contextmanager
def noticing_interrupts() -> Iterator[Callable[[], bool]]:
    """Yields what tells whether Ctrl-C was pressed so far; it raises KeyboardInterrupt as ever.

    Outside the main thread, where no signal arrives, it tells of none.
    """
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    pressed = threading.Event()

    def notice(_number: int, _frame: FrameType | None) -> None:
        pressed.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, before)
