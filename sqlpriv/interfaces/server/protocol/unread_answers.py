"""Answers that clients have not read to their end, which a server holds until they do.

A stream of Arrow Flight waits for its reader for as long as the connection stands, as do cursors
and portals of PostgreSQL's protocol. One answer may take two gigabytes, so a login that asks again
and again and reads nothing took all of the memory. Both protocols count into one sum for each user.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

from sqlpriv.errors import VaultBusy
from sqlpriv.interfaces.server.protocol import results
from sqlpriv.session.session import Result
from sqlpriv.system.quiet_engine import MOST_BYTES

MOST_UNREAD = 64
"""Streams of one user: each may hold a thread of gRPC's."""


class HeldAnswer:
    """An answer that is counted for as long as somebody holds this object.

    Args:
        release: Takes it off the count.
    """

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release

    def __del__(self) -> None:
        self._release()


class UnreadAnswers:
    """Counts the answers of all users; threads may share it."""

    def __init__(self) -> None:
        # A collection of garbage may release an answer in the midst of counting another one.
        self._lock = threading.RLock()
        self._answers, self._streams, self._bytes = Counter[int](), Counter[int](), Counter[int]()

    def hold(self, user_id: int, table: pa.Table | None, *, streams: int = 0) -> HeldAnswer:
        """Counts an answer until the returned object is gone.

        Args:
            user_id: Who asked.
            table: What was answered; None for no rows.
            streams: Streams of Flight that it takes, each of which may hold a thread.

        Raises:
            VaultBusy: With it, the user would have more than `MOST_UNREAD` streams to read, or
                several answers of more than `MOST_BYTES` in all.
        """
        size = 0 if table is None else table.nbytes
        with self._lock:
            held = self._bytes[user_id]
            if (streams and self._streams[user_id] + streams > MOST_UNREAD) or (
                held and held + size > MOST_BYTES
            ):
                raise VaultBusy(
                    f"{self._answers[user_id]} answers are not read to their end, and no more may"
                    " be held for one user: read or close them, and ask again; what was charged"
                    " is kept and free"
                )
            self._count(user_id, 1, streams, size)
        return HeldAnswer(lambda: self._count(user_id, -1, -streams, -size))

    def stream(self, user_id: int, result: Result) -> Iterator[Any]:
        """Returns the batches of an answer, which is held until they end or are given up.

        Args:
            user_id: Who asked.
            result: What was answered.

        Raises:
            VaultBusy: As `hold` does.
        """
        return _Stream(results.batches(result), self.hold(user_id, result.table, streams=1))

    def _count(self, user_id: int, answers: int, streams: int, size: int) -> None:
        with self._lock:
            self._answers[user_id] += answers
            self._streams[user_id] += streams
            self._bytes[user_id] += size


class _Stream:
    """Batches that hold their answer until they are gone: a generator that was never begun would
    not let it go."""

    def __init__(self, batches: Iterator[Any], held: HeldAnswer) -> None:
        self._batches, self._held = batches, held

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self._batches)
