"""What a ledger asks of the database that keeps it: SQLite's file, or a schema of PostgreSQL's."""

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from sqlpriv import errors
from sqlpriv.kernel.terms.budget import Price

COUNTED = "SELECT " + " + ".join(
    f"(SELECT coalesce(max(id), 0) FROM {table})" for table in ("charge", "budget", "declaration")
)
"""How many there are: rows are numbered upwards and never deleted."""


class RecordRows(Protocol):
    """What a statement returned."""

    @property
    def description(self) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Transaction(Protocol):
    """Runs one statement; `?` stands for its values."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> RecordRows: ...


class Store(Protocol):
    """Keeps records; threads may share it.

    Claim of every store. What a transaction of `begin` wrote is durable when the block has ended,
    or undone; one begun as IMMEDIATE is the only one that writes, of all processes and machines,
    from before it reads to after its end; rows are numbered in the order in which their
    transactions end; no row is ever changed or removed; a store with fewer rows than were once seen
    is refused.

    Attributes:
        holds_new_charge: Whether the open transaction has written a charge, which could be undone.
    """

    holds_new_charge: bool

    def begin(self, mode: str = "") -> AbstractContextManager[Transaction]: ...
    def close(self) -> None: ...


def now() -> datetime:
    """Returns the time of the machine's clock in UTC; tests set it."""
    return datetime.now(UTC)


def insert(db: Transaction, table: str, price: Price | None = None, /, **row: Any) -> int:
    """Appends a row, with its price and the time in UTC; returns its number."""
    row["at"] = now().isoformat(timespec="milliseconds")
    if price:
        row |= {"kind": price.kind, "nano": price.nano}
    columns, marks = ", ".join(row), ", ".join("?" * len(row))
    sql = f"INSERT INTO {table} ({columns}) VALUES ({marks}) RETURNING id"
    return int(db.execute(sql, tuple(row.values())).fetchall()[0][0])


def raise_mark(beside: Path, count: Callable[[], int], ledger: str = "") -> None:
    """Raises a mark, kept in a file, to what the ledger counts.

    Args:
        beside: The file; made, for its owner alone, if there is none.
        count: Returns how many charges, budgets and declarations there are; called under a lock.
        ledger: The ledger's own name; '' where the file lies beside it.

    Raises:
        LedgerError: The ledger counts less than the mark, or is another one.
    """
    with open(os.open(beside, os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        name, _, number = file.read().rpartition(" ")
        marked, there = int(number or 0), count()
        if marked and name != ledger:
            raise errors.LedgerError(f"this is another ledger than that of {beside.name}")
        if there < marked:
            raise errors.LedgerError("the ledger is older than its mark: a copy was put back")
        if there > marked:
            file.seek(0)
            # of one length: no state in between is a number
            file.write(f"{ledger} {there:020}" if ledger else f"{there:020}")
            file.flush()
            os.fsync(file.fileno())
