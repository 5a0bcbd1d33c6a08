"""Databases that a process closes before it is forked, so that no child inherits a connection."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cache
from threading import RLock
from typing import Protocol
from weakref import WeakSet


class Reopening(Protocol):
    """A database that connects anew when it is used again.

    Attributes:
        lock: Who uses the database holds it.
        in_transaction: Whether a transaction is open.
    """

    lock: RLock
    in_transaction: bool

    def close(self) -> None:
        """Closes the connection."""


_CLOSED_AT_FORKS: WeakSet[Reopening] = WeakSet()
_HELD = ExitStack()
"""The locks of the databases while the process is forked: no thread connects meanwhile."""


def close_at_forks(database: Reopening) -> None:
    """Has a database closed whenever this process is forked.

    Where the thread that forks the process is in the midst of a transaction, the database stays
    open.
    """
    _register()
    _CLOSED_AT_FORKS.add(database)


@cache
def _register() -> None:
    """Has forks close databases before anything else: of what is registered, the last comes first.
    A thread that waits for a lock of the kernel in a transaction then still gets that lock."""
    os.register_at_fork(before=_close, after_in_parent=_HELD.close, after_in_child=_HELD.close)


def _close() -> None:
    for database in [*_CLOSED_AT_FORKS]:
        _HELD.enter_context(database.lock)
        if not database.in_transaction:
            database.close()
