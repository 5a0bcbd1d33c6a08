"""PREPARE, EXECUTE and DEALLOCATE as SQL: the same prepared statements as the protocol's Parse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlpriv.interfaces.server.postgresql.encoding import type_numbers as types
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import SqlToken, StatementScan

_SYNONYMS = {
    "int": types.INT8,
    "int4": types.INT8,
    "int8": types.INT8,
    "float8": types.FLOAT8,
    "bool": types.BOOL,
}


@dataclass(frozen=True)
class Preparation:
    """What a PREPARE says.

    Args:
        name: Of the prepared statement.
        oids: The types named for its parameters; 0 for one that is not known by that name.
        query: The text behind AS.
    """

    name: str
    oids: Sequence[int]
    query: str


def parse_preparation(scan: StatementScan) -> Preparation | None:
    """Returns what a PREPARE says; None for another statement.

    >>> parse_preparation(StatementScan("PREPARE p (bigint) AS SELECT $1")).query
    'SELECT $1'

    Raises:
        SqlStateError: The statement is of no such form.
    """
    if not scan.starts("PREPARE"):
        return None
    if "AS" not in scan.words or not scan.tokens[1].name or scan.words[1] == "TRANSACTION":
        raise SqlStateError("42601", "write PREPARE name [(type, …)] AS SELECT …")
    at = scan.words.index("AS")
    parts = _parts(scan.tokens[3 : at - 1])
    names = [" ".join(token.name for token in part) for part in parts if part]
    oids = {name: oid for oid, name in types.NAMES.items()} | _SYNONYMS
    query = scan.sql[scan.tokens[at].start + len("AS") :].strip()
    return Preparation(scan.tokens[1].name, [oids.get(name, 0) for name in names], query)


def parse_execution(scan: StatementScan) -> tuple[str, str] | None:
    """Returns the name that an EXECUTE says, and its values as they are written; None for others.

    >>> parse_execution(StatementScan("EXECUTE p (30, 'a')"))
    ('p', "30, 'a'")
    """
    if not scan.starts("EXECUTE") or len(scan.tokens) < 2 or not scan.tokens[1].name:
        return None
    if len(scan.tokens) == 2:
        return scan.tokens[1].name, ""
    if scan.words[2] != "(" or scan.words[-1] != ")":
        raise SqlStateError("42601", "write EXECUTE name (value, …)")
    return scan.tokens[1].name, scan.sql[scan.tokens[2].start + 1 : scan.tokens[-1].start]


def parse_deallocation(scan: StatementScan) -> str | None:
    """Returns the name that a DEALLOCATE says, or '' for all; None for another statement.

    >>> parse_deallocation(StatementScan("DEALLOCATE PREPARE p"))
    'p'
    """
    if scan.starts("DISCARD"):
        return "" if scan.words[1:2] in (("ALL",), ("PLANS",)) else None
    if not scan.starts("DEALLOCATE"):
        return None
    names = [token for token in scan.tokens[1:] if token.upper != "PREPARE"]
    if not names or names[0].upper == "ALL":
        return ""
    return names[0].name


def _parts(tokens: Sequence[SqlToken]) -> list[list[SqlToken]]:
    parts: list[list[SqlToken]] = [[]]
    for token in tokens:
        if token.text == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
