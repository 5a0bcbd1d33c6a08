"""DECLARE, FETCH, MOVE and CLOSE: cursors, which psycopg's named cursors and ODBC's fetches use.

A cursor's query is run, and charged, when it is declared; FETCH takes rows of the answer. There are
no transactions, so a cursor is gone with COMMIT or ROLLBACK only because clients count on that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import SqlToken, StatementScan
from sqlpriv.interfaces.server.protocol.unread_answers import HeldAnswer

MOST = 100
"""Cursors of one connection."""
_WORDS_BEFORE_CURSOR = {"ASENSITIVE", "INSENSITIVE", "NO", "SCROLL"}
_ALL = 2**62


@dataclass(frozen=True)
class CursorDeclaration:
    """What a DECLARE says.

    Args:
        name: Of the cursor.
        query: The text behind FOR.
        is_held: Whether the end of a transaction leaves it open (WITH HOLD).
    """

    name: str
    query: str
    is_held: bool


@dataclass(frozen=True)
class CursorMove:
    """What a FETCH or MOVE says.

    Args:
        name: Of the cursor.
        count: How many rows, from where it stands; negative goes back.
        to_row: The row to go to, from 1, where one is named; -1 is the last.
        takes_rows: Whether rows are sent (FETCH).
    """

    name: str
    count: int = 1
    to_row: int | None = None
    takes_rows: bool = True


@dataclass
class OpenCursor:
    """An answer, how many of its rows have been passed, and what counts it as not read."""

    table: pa.Table
    is_held: bool
    position: int = 0
    counted: HeldAnswer | None = None


@dataclass
class CursorSet:
    """The cursors of one connection, by name.

    Attributes:
        before_transaction: Names of those that were open when the transaction began; None where
            none is open.
    """

    cursors: dict[str, OpenCursor] = field(default_factory=dict)
    before_transaction: frozenset[str] | None = None

    def check_new(self, name: str) -> None:
        """Raises SqlStateError where a cursor of that name cannot be declared."""
        if name in self.cursors:
            raise SqlStateError("42P03", f'there is a cursor "{name}" already')
        if len(self.cursors) >= MOST:
            raise SqlStateError("53400", f"a connection has at most {MOST} cursors")

    def find(self, name: str) -> OpenCursor:
        """Returns the cursor of a name. Raises SqlStateError where there is none."""
        if name not in self.cursors:
            raise SqlStateError("34000", f'there is no cursor "{name}"')
        return self.cursors[name]

    def move(self, move: CursorMove) -> pa.Table:
        """Moves a cursor, and returns the rows that it passed.

        Raises:
            SqlStateError: There is no such cursor, or rows are asked for backwards.
        """
        cursor = self.find(move.name)
        total = cursor.table.num_rows
        start, count = cursor.position, move.count
        if move.to_row is not None:
            row = total if move.to_row < 0 else move.to_row
            start, count = max(0, row - 1), min(1, row)
        if count < 0 and move.takes_rows:
            raise SqlStateError(
                "55000", "rows are fetched forwards here: MOVE ABSOLUTE 0 goes back"
            )
        first = min(start, total)
        cursor.position = max(0, min(first + count, total))
        return cursor.table.slice(first, max(0, cursor.position - first))

    def close(self, name: str) -> None:
        """Closes a cursor; all of them where the name is "all"."""
        if name == "all":
            self.cursors.clear()
            return
        self.find(name)
        del self.cursors[name]

    def begin_transaction(self) -> None:
        """Notes which cursors there are: a ROLLBACK closes the later ones, held or not."""
        self.before_transaction = frozenset(self.cursors)

    def end_transaction(self, is_undone: bool) -> None:
        """Closes the cursors without HOLD, and with ROLLBACK those that the transaction declared.

        ODBC declares every cursor WITH HOLD and gives a statement's next one the same name.
        """
        kept = {name: cursor for name, cursor in self.cursors.items() if cursor.is_held}
        if is_undone and self.before_transaction is not None:
            kept = {name: kept[name] for name in kept if name in self.before_transaction}
        self.cursors, self.before_transaction = kept, None


def parse_declaration(scan: StatementScan) -> CursorDeclaration | None:
    """Returns what a DECLARE says; None for another statement.

    >>> parse_declaration(StatementScan('DECLARE "c 1" NO SCROLL CURSOR WITH HOLD FOR SELECT 1'))
    CursorDeclaration(name='c 1', query='SELECT 1', is_held=True)

    Raises:
        SqlStateError: It is written otherwise, or asks for binary rows.
    """
    if not scan.starts("DECLARE"):
        return None
    words, at = list(scan.words), 2
    if words[at : at + 1] == ["BINARY"]:
        raise SqlStateError("0A000", "a cursor has no format of its own: leave BINARY out")
    while at < len(words) and words[at] in _WORDS_BEFORE_CURSOR:
        at += 1
    rest = words[at : at + 4]
    is_held = rest[1:3] == ["WITH", "HOLD"]
    at_for = at + (3 if rest[1:2] in (["WITH"], ["WITHOUT"]) else 1)
    name = scan.tokens[1].name if len(scan.tokens) > 1 else ""
    if rest[:1] != ["CURSOR"] or not name or words[at_for : at_for + 1] != ["FOR"]:
        raise SqlStateError("42601", "write DECLARE name CURSOR [WITH HOLD] FOR SELECT …")
    if at_for + 1 >= len(scan.tokens):
        raise SqlStateError("42601", "a query stands behind FOR")
    return CursorDeclaration(name, scan.sql[scan.tokens[at_for + 1].start :], is_held)


def parse_move(scan: StatementScan) -> CursorMove | None:
    """Returns what a FETCH or MOVE says; None for another statement.

    >>> parse_move(StatementScan("FETCH FORWARD 20 FROM c"))
    CursorMove(name='c', count=20, to_row=None, takes_rows=True)
    >>> parse_move(StatementScan("MOVE ABSOLUTE 0 IN c")).to_row
    0

    Raises:
        SqlStateError: It is written otherwise.
    """
    if not (scan.starts("FETCH") or scan.starts("MOVE")):
        return None
    tokens = scan.tokens[1:]
    name = tokens[-1].name if tokens else ""
    direction = list(tokens[:-1])
    if direction and direction[-1].upper in ("FROM", "IN"):
        direction.pop()
    if not name:
        raise SqlStateError("42601", "write FETCH [FORWARD] 100 FROM name")
    count, to_row = _direction(direction)
    takes_rows = scan.starts("FETCH")
    if takes_rows and direction and direction[0].upper == "RELATIVE":
        raise SqlStateError("0A000", "FETCH takes no RELATIVE here: MOVE RELATIVE comes first")
    return CursorMove(name, count, to_row, takes_rows)


def _direction(tokens: Sequence[SqlToken]) -> tuple[int, int | None]:
    """Returns how many rows, and the row to go to where one is named."""
    words = [token.upper or token.text for token in tokens]
    text = " ".join(words).replace("- ", "-")
    named = {
        "": (1, None),
        "NEXT": (1, None),
        "FORWARD": (1, None),
        "PRIOR": (-1, None),
        "BACKWARD": (-1, None),
        "ALL": (_ALL, None),
        "FORWARD ALL": (_ALL, None),
        "BACKWARD ALL": (-_ALL, None),
        "FIRST": (1, 1),
        "LAST": (1, -1),
    }
    if text in named:
        return named[text]
    kind, _, number = text.rpartition(" ")
    if not number.removeprefix("-").isdecimal() or len(number) > 18:
        raise SqlStateError("42601", "write FETCH [FORWARD] 100 FROM name")
    amount = int(number)
    forms = {
        "": (amount, None),
        "FORWARD": (amount, None),
        "BACKWARD": (-amount, None),
        "ABSOLUTE": (1, amount),
        "RELATIVE": (amount, None),
    }
    if kind not in forms:
        raise SqlStateError("42601", f"FETCH {kind} is not known: write FETCH 100 FROM name")
    return forms[kind]
