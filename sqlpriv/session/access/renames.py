"""Tables and columns followed through an owner's statements, so that protection moves with them.

DuckDB keeps a table's number (oid) while the vault is open, whatever the table is called: two
tables that change names are told apart, and a rename that is rolled back is none. A column has no
number, so columns are compared after every statement that could rename one: a statement renames at
most one column, and changes nothing else of its table.

What is not followed fails to the safe side: a table whose past is not known is undeclared, and a
column that is not there any more has no domain. A budget never starts anew with a name: the account
of a renamed table goes with it (`account` of a declaration), and a name that had an account keeps
it for whatever table is called so next.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from typing import Any

import duckdb

from sqlpriv.kernel.terms.contract import UNDECLARED, Declared, key_columns, link_of

MAY_RENAME = re.compile(r"\b(alter|import)\b", re.IGNORECASE)
"""Words without one of which no statement renames; `EXPLAIN ANALYZE ALTER …` does."""
_TABLES = """SELECT table_oid, table_name FROM duckdb_tables()
WHERE database_name = $1 AND schema_name = 'main' AND NOT internal
UNION ALL SELECT view_oid, view_name FROM duckdb_views()
WHERE database_name = $1 AND schema_name = 'main' AND NOT internal"""
_COLUMNS = """SELECT table_oid, column_name FROM duckdb_columns()
WHERE database_name = ? AND schema_name = 'main' ORDER BY column_index"""


@dataclass(frozen=True)
class StoredTable:
    """A table as it is now: its lower-case name and its columns, in order."""

    name: str
    columns: tuple[str, ...] = ()


StoredTables = Mapping[int, StoredTable]
"""The tables of schema main, by their number."""


@dataclass(frozen=True)
class Past:
    """What a table was called when the vault was opened: '' for a table that was not there.

    Attributes:
        columns: Its columns now (lower case) → what they were called then; '' for new ones.
    """

    name: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)


def stored_tables(engine: duckdb.DuckDBPyConnection, database: str) -> dict[int, StoredTable]:
    """Returns the tables and views of a database's schema main by their numbers.

    Some views are tables: those whose rows lie in files.
    """
    columns: dict[int, tuple[str, ...]] = {}
    for number, column in engine.execute(_COLUMNS, [database]).fetchall():
        columns[number] = (*columns.get(number, ()), column.lower())
    tables = engine.execute(_TABLES, [database]).fetchall()
    return {number: StoredTable(n.lower(), columns.get(number, ())) for number, n in tables}


@dataclass(frozen=True)
class FollowedTables:
    """The tables of a vault between its opening and now.

    Attributes:
        first: The tables when the vault was opened.
        now: The tables after the last statement that was noted.
        pasts: What each of `now` was called in `first`, by number.
    """

    first: StoredTables
    now: StoredTables
    pasts: Mapping[int, Past]

    @property
    def first_names(self) -> frozenset[str]:
        """The names of the tables when the vault was opened."""
        return frozenset(table.name for table in self.first.values())

    @classmethod
    def begin(cls, first: StoredTables) -> FollowedTables:
        """Returns the tables of a vault that was just opened."""
        pasts = {n: Past(t.name, {c: c for c in t.columns}) for n, t in first.items()}
        return cls(first, first, pasts)

    def note(self, now: StoredTables) -> FollowedTables:
        """Returns the same tables one statement later.

        >>> before = FollowedTables.begin({7: StoredTable("people", ("id", "sex"))})
        >>> after = before.note({7: StoredTable("persons", ("id", "gender"))})
        >>> after.pasts[7]
        Past(name='people', columns={'id': 'id', 'gender': 'sex'})
        """
        return FollowedTables(
            self.first, now, {n: self._past(n, table.columns) for n, table in now.items()}
        )

    def _past(self, number: int, columns: tuple[str, ...]) -> Past:
        if number not in self.pasts:
            return Past("", dict.fromkeys(columns, ""))
        past, before = self.pasts[number], self.now[number].columns
        names = {column: past.columns.get(column, "") for column in columns if column in before}
        renamed = [(new, old) for new, old in zip(columns, before, strict=False) if new != old]
        if len(columns) == len(before) and len(renamed) == 1 and renamed[0][0] not in before:
            ((new, old),) = renamed
            names[new] = past.columns.get(old, "")
        return Past(past.name, {column: names.get(column, "") for column in columns})


def carry_over(
    tables: FollowedTables,
    there: Container[str],
    declared: Mapping[str, Declared],
    accounts: frozenset[str],
) -> dict[str, Declared]:
    """Returns the declarations that have to be appended, by lower-case table.

    Args:
        tables: The tables and views, followed from the vault's opening to its closing.
        there: The lower-case names of those that are tables.
        declared: The declarations in force, by lower-case table.
        accounts: Unit tables (lower case) that have a budget in the ledger.
    """
    moved_to = {past.name: number for number, past in tables.pasts.items() if past.name}
    bodies: dict[str, Declared] = {}
    for number, table in tables.now.items():
        past = tables.pasts[number]
        if table.name not in there:
            continue
        if past.name:
            body = _carried_body(declared.get(past.name, UNDECLARED), past)
            if table.name != past.name and body["account"] is None and past.name in accounts:
                body = {**body, "account": past.name}
        elif table.name in moved_to:  # another table, under the name that one went away from
            body = UNDECLARED
        else:  # replaced, or dropped and made anew
            body = declared.get(table.name, UNDECLARED)
            if table.name not in tables.first_names:  # of one that was gone before
                body = set_aside(body)
        links = [_carried_link(link, tables, moved_to) for link in body["links"]]
        bodies[table.name] = {**body, "links": links}
    for name, body in declared.items():  # what was dropped is nobody's; its account stays its own
        if name not in bodies:
            bodies[name] = set_aside(body)
    return {n: body for n, body in bodies.items() if body != declared.get(n, UNDECLARED)}


def set_aside(body: Declared) -> Declared:
    """Returns what is left of a declaration whose table is gone, or is being renamed: whose account
    it is, and who may use a table of that name.

    >>> set_aside({**UNDECLARED, "public": True})["public"]
    False
    """
    return {**UNDECLARED, "account": body["account"], "grants": body["grants"]}


def _carried_body(body: Declared, past: Past) -> Declared:
    """Returns a declaration with its columns under their new names."""
    now = {old: new for new, old in past.columns.items() if old}
    columns = [_new_name(column, now) for column in key_columns(body)]
    key = columns if len(columns) > 1 else next(iter(columns), None)
    domains = {now[column]: domain for column, domain in body["domains"].items() if column in now}
    links = [_renamed_link(link, lambda column: _new_name(column, now)) for link in body["links"]]
    window = body["window"]
    if window:  # a time column that was dropped leaves none
        of = now.get(window[0].lower())
        window = [_new_name(window[0], now), *window[1:]] if of else None
    return {**body, "key": key, "domains": domains, "links": links, "window": window}


def _new_name(column: str, now: Mapping[str, str]) -> str:
    """Returns a column's new name, and the old one, as it was written, where that stayed."""
    name = now.get(column.lower(), column.lower())
    return column if name == column.lower() else name


def _carried_link(
    stored: list[Any], tables: FollowedTables, moved_to: Mapping[str, int]
) -> list[Any]:
    """Returns a link whose parent goes by its new names."""
    if (number := moved_to.get(link_of(stored).table.lower())) is None:
        return stored
    now = {old: new for new, old in tables.pasts[number].columns.items() if old}
    return _renamed_link(
        stored, parent=tables.now[number].name, theirs=lambda column: _new_name(column, now)
    )


def _renamed_link(
    stored: list[Any],
    mine: Callable[[str], str] = str,
    parent: str = "",
    theirs: Callable[[str], str] = str,
) -> list[Any]:
    """Returns a link, as a declaration's body holds it, with its columns under new names.

    Args:
        stored: The link.
        mine: Renames the columns of its own table.
        parent: The new name of its parent; '' for the old one.
        theirs: Renames the columns of its parent.
    """
    link = link_of(stored)
    (column, key), *further = ([mine(here), theirs(there)] for here, there in link.pairs)
    return [column, parent or link.table, key, *further]
