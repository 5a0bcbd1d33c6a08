"""Locks by number that processes share through a file, or sessions through a PostgreSQL server.

A process that ends, however it ends, gives up its locks: the operating system, or the PostgreSQL
server, releases them. So nothing has to be cleared up after a `kill -9`.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.ledger.store import Store

NUMBERS = 2**62
"""All numbers are below this one: each is an offset in a file, and fits a BIGINT."""
_TAKE = "SELECT n, pg_try_advisory_lock(n) FROM unnest(CAST(? AS BIGINT[])) AS t(n)"
_GIVE_BACK = "SELECT count(pg_advisory_unlock(n)) FROM unnest(CAST(? AS BIGINT[])) AS t(n)"
_NOTICE_LOST_MACHINES = (
    "SET tcp_keepalives_idle = 60; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3"
)
"""A machine that lost its power closes no connection. With PostgreSQL's own settings the server
would notice after two hours, and keep the locks till then; with these it notices in 90 seconds."""


class NumberLocks(Protocol):
    """What can be locked by number; each number by one holder at a time."""

    def take(self, numbers: Sequence[int]) -> bool:
        """Takes all of the locks, or none where somebody else holds one; does not wait."""
        ...

    def give_back(self, numbers: Sequence[int]) -> None:
        """Gives up locks that were taken."""
        ...


class DatabaseLocks:
    """Advisory locks of PostgreSQL's, which it keeps for a connection.

    Args:
        store: The ledger, whose connection holds the locks: threads that share it share them.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def take(self, numbers: Sequence[int]) -> bool:
        """See `NumberLocks`."""
        with self._store.begin() as db:
            db.execute(_NOTICE_LOST_MACHINES)
            rows = db.execute(_TAKE, (list(numbers),)).fetchall()
        if all(locked for _, locked in rows):
            return True
        self.give_back([number for number, locked in rows if locked])
        return False

    def give_back(self, numbers: Sequence[int]) -> None:
        """See `NumberLocks`. With a lost connection the locks are lost, too."""
        with suppress(OperationalError), self._store.begin() as db:
            db.execute(_GIVE_BACK, (list(numbers),))


@dataclass
class _SharedFile:
    descriptor: int
    held: set[int] = field(default_factory=set)


class FileLocks:
    """Bytes of a file beside the ledger, which stays empty.

    POSIX keeps such locks for a process, and drops all of them when the process closes any
    descriptor of the file. So one descriptor serves all threads of a process, and is open as long
    as one of them holds a lock.

    Args:
        path: The file; made, for its owner alone, where there is none.
    """

    _lock = threading.Lock()
    _files: dict[Path, _SharedFile] = {}  # noqa: RUF012 - of the process, as the locks are

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    def take(self, numbers: Sequence[int]) -> bool:
        """See `NumberLocks`."""
        with self._lock:
            if (file := self._files.get(self._path)) is None:
                descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                file = self._files[self._path] = _SharedFile(descriptor)
            numbers_taken: list[int] = []
            try:
                for number in numbers:
                    if number in file.held:
                        break
                    fcntl.lockf(file.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
                    file.held.add(number)
                    numbers_taken.append(number)
            except (BlockingIOError, PermissionError):  # EAGAIN or EACCES: another process has it
                pass
            finally:
                if len(numbers_taken) < len(numbers):
                    self._unlock(numbers_taken)
            return len(numbers_taken) == len(numbers)

    def give_back(self, numbers: Sequence[int]) -> None:
        """See `NumberLocks`."""
        with self._lock:
            self._unlock(numbers)

    def _unlock(self, numbers: Sequence[int]) -> None:
        file = self._files[self._path]
        for number in numbers:
            fcntl.lockf(file.descriptor, fcntl.LOCK_UN, 1, number)
            file.held.discard(number)
        if not file.held:
            os.close(self._files.pop(self._path).descriptor)

    @classmethod
    def forget(cls) -> None:
        """Forgets, in a process that was forked, the locks that its parent holds."""
        cls._files.clear()
        cls._lock = threading.Lock()


os.register_at_fork(after_in_child=FileLocks.forget)
