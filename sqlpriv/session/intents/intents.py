"""The same question at the same moment is bought once: who comes second waits for the answer.

A session that is about to buy answers takes a lock for each query in its snapshot, looks among the
seals, pays, and gives the locks up when all is sealed. Another session, in whatever process or on
whatever machine, waits for the lock, and finds the seals.

Nothing of the privacy claim rests on this: the gate charges whoever reads. A lock that is not had,
because it expired, its file cannot be made or its connection was lost, costs a second charge at
most. A holder that ends gives its locks up, so a question whose buyer was killed is bought again,
and the charge of the one that was killed stays.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlpriv.errors import OperationalError
from sqlpriv.kernel.ledger.file import LedgerFile
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.session.intents.number_locks import NUMBERS, DatabaseLocks, FileLocks, NumberLocks

EXPIRY_SECONDS = 600.0
"""Nobody waits for longer: it is the time limit of a read."""
FIRST_PAUSE, LONGEST_PAUSE = 0.005, 0.1
MOST_LOCKS = 16
"""Of one question. Two that are the same take the same ones."""
STOPPED = "stopped while another session was asked the same; nothing was read or charged"


class Intents:
    """What the sessions on one ledger are about to buy; threads may share it.

    Args:
        ledger: Which they share.
        beside: The ledger's path.
    """

    def __init__(self, ledger: Ledger, beside: Path) -> None:
        self._locks: NumberLocks = (
            FileLocks(beside.with_name(beside.name + ".intents"))
            if isinstance(ledger.store, LedgerFile)
            else DatabaseLocks(ledger.store)
        )
        self._waiting: set[threading.Event] = set()

    @contextmanager
    def hold(self, snapshot: int, queries: Iterable[str]) -> Iterator[None]:
        """Waits until nobody else is about to buy one of the queries, and keeps others waiting.

        Args:
            snapshot: The number of the state that is asked.
            queries: Their names, by `algebra.query_hash`.

        Raises:
            OperationalError: It was interrupted, or the ledger cannot be used just now.
        """
        numbers = sorted({_number(snapshot, query) for query in queries})[:MOST_LOCKS]
        has_locks = self._wait(numbers)
        try:
            yield
        finally:
            if has_locks:
                self._locks.give_back(numbers)

    def interrupt(self) -> None:
        """Has whoever waits, in another thread, stop with an error."""
        for stop in tuple(self._waiting):
            stop.set()

    def _wait(self, numbers: list[int]) -> bool:
        """Returns whether the locks were taken before it was too late."""
        stop, pause, end = threading.Event(), FIRST_PAUSE, time.monotonic() + EXPIRY_SECONDS
        self._waiting.add(stop)
        try:
            while not self._locks.take(numbers):
                # by chance, so that two who want two locks each do not take one each for ever
                if stop.wait(pause * (1 + secrets.randbelow(100) / 100)):
                    raise OperationalError(STOPPED)
                if time.monotonic() > end:
                    return False
                pause = min(2 * pause, LONGEST_PAUSE)
        except OSError:  # no such file can be made here
            return False
        finally:
            self._waiting.discard(stop)
        return True


def _number(snapshot: int, query: str) -> int:
    digest = hashlib.sha256(f"{snapshot}:{query}".encode()).digest()
    return int.from_bytes(digest[:8]) % NUMBERS
