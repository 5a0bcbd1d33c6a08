"""A text of many statements, in pieces: each in its dialect, with its own parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from sqlpriv.dialect.foreign.function_names import BY_DIALECT
from sqlpriv.dialect.parameters import Parameters, bind
from sqlpriv.dialect.tokens import Kind, Token, lex
from sqlpriv.errors import Refused

DIALECTS = ("duckdb", *BY_DIALECT)
MAX_BYTES = 1_000_000
_SCOPES = ("session", "global", "local", "=", "to")


def split(sql: str, dialect: str = "duckdb") -> tuple[str, ...]:
    """Returns the texts of the statements, without semicolons and the comments around them.

    What is inside quotes, dollar quotes and comments does not separate; an open one reaches to the
    end of the text.
    """
    parts = (part for part, _ in statement_parts(sql, dialect))
    return tuple(sql[part[0].start : part[-2].end] for part in parts)


def split_with_parameters(
    sql: str, parameters: Parameters = None, dialect: str = "duckdb"
) -> tuple[tuple[str, Parameters], ...]:
    """Returns the statements of a text, each with its share of the values, to be read one by one.

    Before each stand as many blank lines and blanks as put it in its own place of the text.

    Raises:
        Refused, ProgrammingError: The text is too long, or the parameters do not fit it.
    """
    check_text(sql)
    parts = [part for part, _ in statement_parts(sql, dialect)]
    values = bind([token for part in parts for token in part], parameters).by_start
    statements = []
    for part in parts:
        pos, text = part[0].pos, sql[part[0].start : part[-2].end]
        marks = [token for token in part if token.kind is Kind.PARAMETER]
        share: Parameters = [values[mark.start] for mark in marks if not mark.value]
        if marks and marks[0].value:
            numbered = marks[0].value.isdecimal()
            names = {mark.value: values[mark.start] for mark in marks}
            share = list(parameters or ())[: max(map(int, names))] if numbered else names
        statements.append(("\n" * (pos.line - 1) + " " * (pos.column - 1) + text, share or None))
    return tuple(statements)


def complete(sql: str, dialect: str = "duckdb") -> bool:
    """Whether the text needs no further line: it is empty, or ends with a semicolon (comments may
    follow) outside all quotes and comments."""
    tokens = lex(sql, dialect)[:-1]
    return not tokens or tokens[-1].upper == ";"


def check_text(sql: str) -> None:
    """Refuses a text that is too long, or that holds what no text of SQL does."""
    try:
        size = len(sql.encode())
    except UnicodeEncodeError:
        raise Refused("the text holds half a character (a lone surrogate)") from None
    if size > MAX_BYTES:
        hint = "load data with COPY or INSERT … SELECT, as an owner"
        raise Refused(f"the text is longer than {MAX_BYTES} bytes", hint=hint)
    if "\x00" in sql:
        raise Refused("the text holds a NUL character")


def statement_parts(text: str, dialect: str) -> Iterator[tuple[tuple[Token, ...], str]]:
    """Yields each statement's tokens, with an END behind them, and the dialect that it is read in:
    `SET privacy_dialect` changes that of those behind it."""
    start = 0
    while start < len(text):
        blank = re.sub(r"[^\n\r]", " ", text[:start]) + text[start:]
        tokens = lex(blank, dialect)
        start = len(text)
        for part in _split_tokens(tokens):
            yield part, dialect
            following = _dialect_after(part, dialect)
            if following != dialect:
                dialect, start = following, part[-1].start + 1
                break


def _split_tokens(tokens: Sequence[Token]) -> Iterator[tuple[Token, ...]]:
    part: list[Token] = []
    for token in tokens:
        if token.upper != ";" and token.kind is not Kind.END:
            part.append(token)
        elif part:
            yield (*part, Token(Kind.END, "", "", token.start, token.pos))
            part = []


def _dialect_after(part: Sequence[Token], dialect: str) -> str:
    """Returns the dialect of the statements behind one."""
    if part[0].upper not in ("SET", "RESET"):
        return dialect
    words = [token.value.lower() for token in part[:-1]]
    match [word for word in words if word not in _SCOPES]:
        case ["set", "privacy_dialect", name] if name in DIALECTS:
            return name
        case ["reset", "privacy_dialect"]:
            return "duckdb"
    return dialect
