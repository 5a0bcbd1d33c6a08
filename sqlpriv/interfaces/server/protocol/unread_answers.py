"""Answers that Flight's clients have not read to their end, which a server holds until they do.

A stream of Arrow Flight waits for its reader for as long as the connection stands. One answer may
take two gigabytes, so a login that asks again and again and reads nothing took all of the memory.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from sqlpriv.errors import VaultBusy
from sqlpriv.interfaces.server.protocol import results
from sqlpriv.session.session import Result
from sqlpriv.system.quiet_engine import MOST_BYTES

MOST_UNREAD = 64
"""Answers of one user: each may hold a thread of gRPC's."""


class UnreadAnswers:
    """Counts the answers of all users; threads may share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers, self._bytes = Counter[int](), Counter[int]()

    def stream(self, user_id: int, result: Result) -> Iterator[Any]:
        """Returns the batches of an answer, which is held until they end or are given up.

        Args:
            user_id: Who asked.
            result: What was answered.

        Raises:
            VaultBusy: With it, the user would have more than `MOST_UNREAD` answers to read, or
                several of more than `MOST_BYTES` in all.
        """
        size = 0 if result.table is None else result.table.nbytes
        with self._lock:
            held = self._bytes[user_id]
            if self._answers[user_id] >= MOST_UNREAD or (held and held + size > MOST_BYTES):
                raise VaultBusy(
                    f"{self._answers[user_id]} answers are not read to their end, and no more may"
                    " be held for one user: read or close them, and ask again; what was charged"
                    " is kept and free"
                )
            self._answers[user_id] += 1
            self._bytes[user_id] += size

        def release() -> None:
            with self._lock:
                self._answers[user_id] -= 1
                self._bytes[user_id] -= size

        return _Held(results.batches(result), release)


class _Held:
    """Batches that call `release` when they end, or when nobody holds them any more: a generator
    that was never begun would not."""

    def __init__(self, batches: Iterator[Any], release: Callable[[], None]) -> None:
        self._batches, self._release = batches, release

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._batches)

    def __del__(self) -> None:
        self._release()
