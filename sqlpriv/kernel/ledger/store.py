"""What a ledger asks of the database that keeps it: SQLite's file, or a schema of PostgreSQL's."""

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from sqlpriv import errors
from sqlpriv.kernel.terms.budget import Price

COUNTED = "SELECT " + " + ".join(
    f"(SELECT coalesce(max(id), 0) FROM {table})" for table in ("charge", "budget", "declaration")
)
"""How many there are: rows are numbered upwards and never deleted."""
POINTS = b"postgresql://"
"""What a pointer begins with: a SQLite file does not."""


class Rows(Protocol):
    """What a statement returned."""

    @property
    def description(self) -> Any: ...
    def fetchone(self) -> Any: ...
    def fetchall(self) -> list[Any]: ...
    def __iter__(self) -> Iterator[Any]: ...


class Transaction(Protocol):
    """Runs one statement; `?` stands for its values."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows: ...


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


def insert(db: Transaction, table: str, price: Price | None = None, /, **row: Any) -> int:
    """Appends a row, with its price and the time in UTC; returns its number."""
    row["at"] = datetime.now(UTC).isoformat(timespec="milliseconds")
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
        known, there = int(number or 0), count()
        if known and name != ledger:
            raise errors.LedgerError(f"this is another ledger than that of {beside.name}")
        if there < known:
            raise errors.LedgerError("the ledger is older than its mark: a copy was put back")
        if there > known:
            file.seek(0)
            # of one length: no state in between is a number
            file.write(f"{ledger} {there:020}" if ledger else f"{there:020}")
            file.flush()
            os.fsync(file.fileno())


def mark_beside(path: Path) -> Path:
    """Returns where a machine keeps the mark of the ledger that a pointer at `path` names."""
    return path.with_name(path.name + ".postgresql.mark")


def pointer_of(path: Path) -> str:
    """Returns the URL that the file at a ledger's place names; '' for a ledger or no file.

    Raises:
        OperationalError: The file cannot be read.
    """
    try:
        if not path.exists():
            return ""
        with open(path, "rb") as file:
            start = file.read(len(POINTS))
            return (start + file.read()).decode().strip() if start == POINTS else ""
    except OSError as error:
        raise errors.OperationalError(f"the ledger cannot be read: {error.strerror}") from error


def write_pointer(path: Path, url: str) -> None:
    """Makes a file that names a ledger in PostgreSQL; whoever opens the vault opens that one.

    Raises:
        OperationalError: There is a file by that name, or the URL is none of PostgreSQL's, or holds
            a password, which many may read here.
    """
    if not url.encode().startswith(POINTS) or "\n" in url:
        raise errors.OperationalError("a ledger's URL is postgresql://user@host/database")
    if urlsplit(url).password or "password=" in url:
        hint = "put it into the environment (PGPASSWORD) or into ~/.pgpass"
        raise errors.OperationalError(f"the ledger's URL holds a password: {hint}")
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(url + "\n")
            file.flush()
            os.fsync(file.fileno())
    except FileExistsError:
        raise errors.OperationalError(f"{path.name} is there already") from None
    except OSError as error:
        raise errors.OperationalError(f"{path.name} cannot be made: {error.strerror}") from error
