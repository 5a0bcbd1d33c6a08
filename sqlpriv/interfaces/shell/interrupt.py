"""Whether Ctrl-C was pressed: the engine turns it into a failed read, which looks like another."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


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
