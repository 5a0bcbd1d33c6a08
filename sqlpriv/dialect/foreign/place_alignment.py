"""Places in a text that was written for the user, led back to the user's own text.

The two texts hold nearly the same names, numbers and strings in nearly the same order. They are
compared as sequences of tokens, and only when an error has to be told: reading pays nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from sqlpriv.dialect.tokens import Kind, Token, lex
from sqlpriv.statements.tree import Pos


def original_place(line: int, column: int, written: str, text: str, dialect: str) -> Pos:
    """Returns the place in the user's text that a place in the written one stands for.

    Args:
        line, column: A place in the written text, both from 1.
        written: What was read, in DuckDB's SQL.
        text: What the user wrote.
        dialect: The dialect of `text`.

    >>> original_place(1, 20, 'SELECT COUNT(*), SUM("x") FROM t', "SELECT COUNT(*),\\n SUM(`x`)"
    ...                " FROM t", "mysql")
    Pos(line=2, column=2)
    """
    later, own = lex(written), lex(text, dialect)
    at = _index_at(later, line, column)
    partners = _partners(later, own)
    while at > 0 and at not in partners:
        at -= 1
    return own[partners.get(at, 0)].pos


def _index_at(tokens: Sequence[Token], line: int, column: int) -> int:
    """Returns the index of the last token that begins at or before a place."""
    before = [i for i, t in enumerate(tokens) if (t.pos.line, t.pos.column) <= (line, column)]
    return before[-1] if before else 0


def _partners(later: Sequence[Token], own: Sequence[Token]) -> dict[int, int]:
    """Returns which token of the user's text each token of the written text comes from."""
    keys, own_keys = [list(map(_key, tokens)) for tokens in (later, own)]
    matcher = SequenceMatcher(None, keys, own_keys, autojunk=False)
    return {
        block.a + i: block.b + i
        for block in matcher.get_matching_blocks()
        for i in range(block.size)
    }


def _key(token: Token) -> str:
    """Returns what two spellings of one token have in common."""
    if token.kind in (Kind.WORD, Kind.QUOTED):
        return token.value.upper()
    return f"'{token.value}" if token.kind is Kind.STRING else token.text


def place_of_part(line: int, column: int, part: str, whole: str, start: Pos) -> Pos:
    """Returns where a place in a query that was cut out of a statement stands in the user's text.

    Args:
        line, column: The place in the query, both from 1.
        part: The query's text.
        whole: The statement's.
        start: Where the statement begins in the user's text.

    >>> whole = "SELECT n,\\n RANK() OVER () FROM (SELECT COUNT(x) AS n FROM t)"
    >>> place_of_part(1, 14, "SELECT COUNT(x) AS n FROM t", whole, Pos(3, 5))
    Pos(line=4, column=36)
    """
    place = original_place(line, column, part, whole, "duckdb")
    if place.line > 1:
        return Pos(start.line + place.line - 1, place.column)
    return Pos(start.line, start.column + place.column - 1)
