"""PEP 249's type objects and constructors: light, so that `import sqlpriv` stays light."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class TypeObject:
    """Equals the name of every DuckDB type of its group, as PEP 249 asks of `type_code`.

    Args:
        name: Of the group.
        members: Names of DuckDB types, without what stands in brackets: DECIMAL, not DECIMAL(9,2).
            A list of numbers, DECIMAL(9,2)[], is no number.
    """

    name: str
    members: frozenset[str]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return not other.endswith("]") and other.partition("(")[0].upper() in self.members
        return self is other

    def __hash__(self) -> int:
        return hash(self.name)


STRING = TypeObject("STRING", frozenset({"VARCHAR", "UUID", "ENUM"}))
BINARY = TypeObject("BINARY", frozenset({"BLOB"}))
NUMBER = TypeObject(
    "NUMBER",
    frozenset(
        {
            "BOOLEAN",
            "TINYINT",
            "SMALLINT",
            "INTEGER",
            "BIGINT",
            "HUGEINT",
            "UTINYINT",
            "USMALLINT",
            "UINTEGER",
            "UBIGINT",
            "FLOAT",
            "DOUBLE",
            "DECIMAL",
        }
    ),
)
DATETIME = TypeObject(
    "DATETIME",
    frozenset({"DATE", "TIME", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "INTERVAL"}),
)
ROWID = TypeObject("ROWID", frozenset())
"""No column of ours is a row's address."""

Date = dt.date
Time = dt.time
Timestamp = dt.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> dt.date:  # noqa: N802 (PEP 249 fixes the name)
    """Returns the local date of a number of seconds since 1970."""
    return dt.date.fromtimestamp(ticks)


def TimeFromTicks(ticks: float) -> dt.time:  # noqa: N802 (PEP 249 fixes the name)
    """Returns the local time of day of a number of seconds since 1970."""
    return dt.datetime.fromtimestamp(ticks).time()


def TimestampFromTicks(ticks: float) -> dt.datetime:  # noqa: N802 (PEP 249 fixes the name)
    """Returns the local date and time of a number of seconds since 1970."""
    return dt.datetime.fromtimestamp(ticks)
