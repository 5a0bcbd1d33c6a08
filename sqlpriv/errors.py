"""Every error that sqlpriv raises.

The tree (PEP 249 names on the left, ours indented below the one they refine)::

    Error                       root of everything
    ├── InterfaceError          the API was used wrongly (a closed cursor, say)
    └── DatabaseError
        ├── DataError
        ├── IntegrityError
        │   └── LedgerError         the ledger holds a record that we refuse to guess at
        ├── InternalError
        │   └── KernelError         an invariant of the kernel did not hold; nothing leaves
        ├── NotSupportedError
        ├── OperationalError
        │   ├── BudgetExhausted     the price is more than what is left; nothing was read
        │   ├── ReadFailed          the engine failed while reading; its text is withheld
        │   └── VaultBusy           another process holds the vault, or we hold it for writing
        └── ProgrammingError
            ├── DeclarationError    the owner's declaration does not fit the table
            └── Refused             the statement cannot be answered; nothing read or charged
                └── PermissionDenied    the statement is the owner's to run

A message says what happened, how much it was about, and whether anything was read or charged.
It never quotes data: literals of the user's own statement are the only values that it may name.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Protocol

    class Place(Protocol):
        """A place in a statement's text: line and column from 1, both 0 where it is unknown."""

        @property
        def line(self) -> int: ...

        @property
        def column(self) -> int: ...


class Warning(Exception):  # PEP 249 fixes the name.
    """An important warning (PEP 249); sqlpriv raises none of its own."""


class Error(Exception):
    """The root of every error that sqlpriv raises.

    Attributes:
        REMEDY: What to do about it, for the page of errors; '' for kinds that have finer ones.
    """

    REMEDY = ""


class InterfaceError(Error):
    """The programming interface was used wrongly."""

    REMEDY = "as its text says: a closed cursor, no token, a bad address or option"


class DatabaseError(Error):
    """Something about the database or the statement."""


class DataError(DatabaseError):
    """A value given by the caller does not fit."""

    REMEDY = "change the value, or CAST it"


class OperationalError(DatabaseError):
    """The database could not do its work just now."""

    REMEDY = "as its text says: the vault, the server or a file cannot be reached just now"


class IntegrityError(DatabaseError):
    """Stored state is not what it must be."""


class InternalError(DatabaseError):
    """A bug in sqlpriv."""


class ProgrammingError(DatabaseError):
    """The statement is wrong."""


class NotSupportedError(DatabaseError):
    """PEP 249: a method that this database does not have."""

    REMEDY = "use another method, or install what its text names"


class LedgerError(IntegrityError):
    """The ledger is damaged, of an unknown version, or holds an unknown record."""

    REMEDY = (
        "restore a backup (`sqlpriv restore`); a ledger of a newer version needs a newer sqlpriv"
    )


class KernelError(InternalError):
    """An invariant of the kernel did not hold: the answer is withheld, the charge stays."""

    REMEDY = "report it: it is a bug"


class BudgetExhausted(OperationalError):
    """The price of a statement exceeds what is left of the budget; nothing was read."""

    REMEDY = (
        "ask at a lower price, ask what was asked before, or wait where an allowance is of a period"
    )


class ReadFailed(OperationalError):
    """The engine failed while reading private rows; its text is withheld, the charge stays."""

    REMEDY = "ask again; tell the owner"


class VaultBusy(OperationalError):
    """The vault file is held by a writer."""

    REMEDY = "try again: somebody writes the vault, or you run as many statements as you may"

    SIGNS = ("lock", "different configuration", "already attached", "temporarily unavailable")
    """What the error of DuckDB, or of the system, has in it then, in lower case."""


class DeclarationError(ProgrammingError):
    """The owner's declaration does not fit the table or contradicts another."""

    REMEDY = "change the declaration"


class Refused(ProgrammingError):
    """The statement is refused before anything is read or charged.

    Args:
        message: What is wrong, in the user's own terms.
        hint: What to write instead, or None.
        line: Line of the offending place in the statement, from 1; 0 when unknown.
        column: Column of it, from 1; 0 when unknown.
    """

    REMEDY = "write what its hint says"

    def __init__(
        self, message: str, *, hint: str | None = None, line: int = 0, column: int = 0
    ) -> None:
        self.message, self.hint, self.line, self.column = message, hint, line, column
        where = f"line {line}, column {column}: " if line else ""
        advice = f"\nHint: {hint}" if hint else ""
        super().__init__(f"{where}{message}{advice}")

    @classmethod
    def at(cls, place: Place, message: str, hint: str | None = None) -> Self:
        """Returns the refusal that points at a place in the statement.

        Args:
            place: Anything that has a line and a column.
            message: What is wrong, in the user's own terms.
            hint: What to write instead, or None.

        >>> from types import SimpleNamespace
        >>> print(Refused.at(SimpleNamespace(line=2, column=8), "there is no column x", "write y"))
        line 2, column 8: there is no column x
        Hint: write y
        """
        return cls(message, hint=hint, line=place.line, column=place.column)


class PermissionDenied(Refused):
    """The statement may only be run on an owner's connection."""

    REMEDY = 'ask the owner, or connect with `role="owner"`'


def meant_among(name: str, names: Iterable[str]) -> str:
    """Returns the question, for the beginning of a hint, whether one of the names that are like a
    wrong one was meant; '' where none is.

    Args:
        name: The wrong one.
        names: Those that there are; a qualifier before the last point is not compared.

    >>> meant_among("peple", ["people", "visits"])
    'did you mean people? '
    """
    bare = {other.rpartition(".")[2].lower(): other for other in names}
    near = [bare[match] for match in get_close_matches(name.lower(), bare, 3, 0.6)]
    return f"did you mean {' or '.join(near)}? " if near else ""
