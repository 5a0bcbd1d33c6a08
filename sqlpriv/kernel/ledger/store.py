"""Where a ledger's records lie: in a file of SQLite (file.py) or a PostgreSQL schema (database.py).

This file holds what both have in common: opening, transactions, undoing, and the mark. A subclass
says in its own SQL how to connect, how a transaction begins, and how its schema is checked.
"""

import fcntl
import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar, Self

from sqlpriv import errors
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.system.forks import close_at_forks

COUNTED = "SELECT " + " + ".join(
    f"(SELECT coalesce(max(id), 0) FROM {table})" for table in ("charge", "budget", "declaration")
)
"""Asks how many records there are: they are numbered upwards, and none is ever deleted."""


class Store(ABC):
    """Keeps records; threads may share it.

    Claim of every store. What a transaction of `begin` wrote is durable when the block has ended,
    or undone; one begun as IMMEDIATE is the only one that writes, of all processes and machines,
    from before it reads to after its end; rows are numbered in the order in which their
    transactions end; no row is ever changed or removed; a store with fewer rows than were once seen
    is refused.

    Claim: a process that is forked leaves its child no connection. SQLite in a child takes locks
    that its parent holds for its own. Where the parent ended first, it took itself for the last
    process, and removed the log that the child went on writing charges to: other processes then
    sold the whole budget once more. So both processes connect anew.

    Args:
        mark: The file that says how much was seen; see `raise_mark`.

    Attributes:
        db: The connection; None where there is none.
        lock: Held during each transaction by the thread whose it is.
        in_transaction: Whether one is open.
        holds_new_charge: Whether the open transaction has written a charge, which could be undone.
        writes: Whether the open transaction is IMMEDIATE: what it reads may be undone.

    Raises:
        LedgerError: The store is damaged, not a ledger, its schema was changed, or it is older
            than its mark.
        OperationalError: It cannot be used just now. Every transaction may raise these two as well.
    """

    ERRORS: ClassVar[type[Exception]]
    NAME_SQL: ClassVar[str] = "SELECT ''"
    """Asks for the ledger's own name, which a copy of it keeps; '' where the mark lies beside."""
    db: Any = None

    def __init__(self, mark: Path) -> None:
        self._beside, self.lock, self.in_transaction = mark, threading.RLock(), False
        self.holds_new_charge, self.writes, self._counted = False, False, -1
        with self._translate_errors():
            self.open()
        close_at_forks(self)

    @abstractmethod
    def connect(self) -> None:
        """Sets `db`, in which no transaction is open."""

    @abstractmethod
    def check(self) -> None:
        """Raises LedgerError unless all that keeps the claims is as it was made."""

    @abstractmethod
    def start(self, mode: str) -> None:
        """Begins a transaction: with a mode, behind the lock of whoever writes."""

    @abstractmethod
    def describe_error(self, error: Any) -> tuple[str, bool]:
        """Returns what an error of the database is called, and whether it may pass."""

    def open(self) -> None:
        """Connects; what is not as made, or older than its mark, is closed again."""
        self.connect()
        try:
            self.check()
            raise_mark(self._beside, self)
        except BaseException:  # whatever it was, also an interrupt: nothing stays open
            self.close()
            raise

    def close(self) -> None:
        """Closes the connection; the next transaction makes another one."""
        if self.db is not None:
            self.db = self.db.close()  # None, of either driver

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Any:
        """Runs one statement in the open transaction, `?` for its values; returns its cursor."""
        return self.db.execute(sql, values)

    @contextmanager
    def begin(self, mode: str = "", outermost: bool = False) -> Iterator[Self]:
        """Runs the block in one transaction, nested ones included: durable at its end, or undone.
        Raises KernelError where an `outermost` one would be nested.

        Where a server is lost in a COMMIT, the block's records may stand, and no answer leaves.
        """
        with self.lock, self._translate_errors():
            if self.in_transaction:
                if outermost:
                    raise errors.KernelError("another transaction could undo this one")
                yield self
                return
            if self.db is None or getattr(self.db, "closed", False):  # by a fork, or a lost server
                self.open()
            try:
                self.start(mode)
                self.in_transaction, self.holds_new_charge, self.writes = True, False, bool(mode)
                yield self
                self.execute("COMMIT")
            except BaseException:  # whatever it was, also an interrupt: nothing of it stands
                with suppress(self.ERRORS):  # of no transaction, or of a lost connection
                    self.execute("ROLLBACK")
                raise
            finally:
                self.in_transaction = False
            if mode and (
                self.holds_new_charge or self.execute(COUNTED).fetchone()[0] != self._counted
            ):
                self._counted = raise_mark(self._beside, self)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        """Turns the database's errors, and those of unreadable records, into ours, without data."""
        try:
            yield
        except self.ERRORS as error:
            code, may_pass = self.describe_error(error)
            if may_pass:
                raise errors.OperationalError(
                    f"the ledger cannot be used just now ({code})"
                ) from None
            raise errors.LedgerError(
                f"the ledger is damaged or refused a record ({code})"
            ) from None
        except OSError as error:
            raise errors.OperationalError(
                f"the ledger, or the mark beside it, cannot be made: {error.strerror}"
            ) from error
        except (ValueError, errors.DataError) as error:
            raise errors.LedgerError("the ledger holds a record that cannot be read") from error


def now() -> datetime:
    """Returns the time of the machine's clock in UTC; tests set it."""
    return datetime.now(UTC)


def insert(store: Store, table: str, price: Price | None = None, /, **row: Any) -> int:
    """Appends a row, with its price and the time in UTC, durably or as a part of the transaction
    that is open; returns its number."""
    row |= {"at": now().isoformat(timespec="milliseconds")} | (
        {"kind": price.kind, "nano": price.nano} if price else {}
    )
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    sql = f"INSERT INTO {table} ({columns}) VALUES ({marks}) RETURNING id"
    with store.begin("IMMEDIATE") as db:
        return int(db.execute(sql, tuple(row.values())).fetchall()[0][0])


def raise_mark(beside: Path, db: Store) -> int:
    """Raises a mark, kept in a file, to the number of charges, budgets and declarations.

    Returns the number.

    The store is asked behind a lock on the file, so that of two who commit none lowers the mark.

    Args:
        beside: The file; made, for its owner alone, if there is none.
        db: What is counted.

    Raises:
        LedgerError: The ledger counts less than the mark, or is another one.
    """
    with open(os.open(beside, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        name, _, number = file.read().rpartition(" ")
        there, ledger = db.execute(f"{COUNTED}, ({db.NAME_SQL})").fetchone()
        marked = int(number or 0)
        if marked and name != ledger:
            raise errors.LedgerError(f"this is another ledger than that of {beside.name}")
        if there < marked:
            raise errors.LedgerError("the ledger is older than its mark: a copy was put back")
        if there > marked:
            # of one length: no state in between is a number
            os.pwrite(file.fileno(), f"{ledger} {there:020}".lstrip().encode(), 0)
            os.fsync(file.fileno())
    return int(there)
