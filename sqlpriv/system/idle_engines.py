"""Engines that nobody uses just now, kept for who needs one next, and what a fork does to engines.

An engine has threads, and a process that is forked has none of them. To destroy an engine there, or
to use it, waits for them or crashes. So a forked process forgets its parent's engines and lets them
live on to its end: they share the parent's memory, and nobody works in them.
"""

from __future__ import annotations

import ctypes
import os
from threading import Lock
from typing import Generic, Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> None: ...


_Engine = TypeVar("_Engine", bound=_Closable)


def never_free(value: object) -> None:
    """Has Python never destroy an object, also not when the process ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


class IdleEngines(Generic[_Engine]):
    """Idle engines of one kind, for all threads of a process.

    Args:
        most: How many are kept. Where there would be more, the one that has waited longest is
            closed.
    """

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._kept: list[tuple[object, _Engine]] = []
        os.register_at_fork(after_in_child=self._leave_to_parent)

    def __len__(self) -> int:
        return len(self._kept)

    def take(self, made_of: object = None) -> _Engine | None:
        """Returns the engine that was kept last of those made of the same; None where there is
        none. It is the caller's alone until it is kept again."""
        with self._lock:
            for place in reversed(range(len(self._kept))):
                if self._kept[place][0] == made_of:
                    return self._kept.pop(place)[1]
        return None

    def keep(self, engine: _Engine, made_of: object = None) -> None:
        """Keeps an engine for the next `take`.

        Args:
            engine: Nobody uses it any more.
            made_of: What has to be the same for who takes it.
        """
        with self._lock:
            self._kept.append((made_of, engine))
            unused = self._kept[: -self._most]
            del self._kept[: -self._most]
        for _, each in unused:
            each.close()

    def _leave_to_parent(self) -> None:
        never_free(self._kept)
        self._kept, self._lock = [], Lock()  # another thread of the parent may have held it
