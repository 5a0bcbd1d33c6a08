"""Text → tokens, as DuckDB's own lexer cuts it.

Written out here, because the places of all tokens must be right to the character and because
`split` and `complete` must work on text that is not (yet) a statement. Lexing is total: what cannot
be read, such as an open quote, becomes a last token of kind BAD. Comments nest, as in DuckDB.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from sqlpriv.dialect.keywords import RESERVED
from sqlpriv.dialect.tree import Pos


class Kind(StrEnum):
    WORD = "word"
    QUOTED = "quoted name"
    STRING = "string"
    ESCAPE = "escape string"
    NUMBER = "number"
    PARAMETER = "parameter"
    OP = "sign"
    BAD = "unfinished"
    END = "end"


@dataclass(frozen=True, slots=True)
class Token:
    """One token.

    Args:
        kind: What it is.
        text: Its own text.
        value: A string's or a quoted name's content, a parameter's name ('' for `?`); for BAD,
            what is open; else the text.
        start: Offset of its first character in the text.
        pos: Line and column of it.
    """

    kind: Kind
    text: str
    value: str
    start: int
    pos: Pos

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def upper(self) -> str:
        """The keyword that it may be, in upper case, or the sign; '' for everything else."""
        if self.kind is Kind.WORD:
            return self.text.upper()
        return self.text if self.kind is Kind.OP else ""

    @property
    def shown(self) -> str:
        """How a message names it."""
        return "the end of the statement" if self.kind is Kind.END else self.text[:40]


_LETTER = r"(?:[^\W\d]|[^\x00-\x7f\s])"
_NAME = rf"{_LETTER}(?:[\w$]|[^\x00-\x7f\s])*"
_TAG = r"[^\W\d]\w*"
_TOKEN = re.compile(
    rf"""
      (?P<space>\s+|--[^\n\r]*)
    | (?P<comment>/\*)
    | (?P<ESCAPE>[eE]'(?:[^'\\]|\\.|'')*')
    | (?P<unclosed>[eE]')
    | (?P<STRING>'(?:[^']|'')*')
    | (?P<QUOTED>"(?:[^"]|"")*")
    | (?P<dollar>\$(?:{_TAG})?\$)
    | (?P<NUMBER>(?:[0-9][0-9_]*(?:\.(?!\.)[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?)
    | (?P<PARAMETER>\?|\$\w+)
    | (?P<colon>:{_NAME})
    | (?P<WORD>{_NAME})
    | (?P<open>['"])
    | (?P<OP>::|:=|<>|!=|==|<=|>=|=>|\|\||//|\*\*|->>|->|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")
_BEFORE_VALUES = RESERVED - {"END", "NULL", "TRUE", "FALSE"} | {"BETWEEN", "LIKE", "ILIKE", "BY"}


def lex(text: str) -> tuple[Token, ...]:
    """Returns the tokens of the text, the last one of kind END (before it BAD, maybe)."""
    tokens: list[Token] = []
    at, line, line_start = 0, 1, 0
    for kind, value, start, end in _pieces(text, tokens):
        line += text.count("\n", at, start)
        line_start = max(line_start, text.rfind("\n", at, start) + 1)
        pos = Pos(line, start - line_start + 1)
        tokens.append(Token(kind, text[start:end], value, start, pos))
        at = start
    return tuple(tokens)


def _pieces(text: str, before: list[Token]) -> Iterator[tuple[Kind, str, int, int]]:
    """Yields kind, value, start and end of each token; `before` holds those yielded so far."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        assert found  # The last alternative matches any character.
        group = found.lastgroup or ""
        start, end = at, found.end()
        kind, value = Kind.BAD, ""
        if group == "comment":
            end = _comment_end(text, start)
            value = "comment" if end < 0 else ""
        elif group == "dollar":
            end, kind, value = _dollar(text, found)
        elif group == "colon":
            end, kind, value = _colon(found, before)
        elif group in ("open", "unclosed"):
            end, value = -1, "quoted name" if text[start] == '"' else "string"
        elif group != "space":
            kind, value = Kind[group], _content(group, found.group())
        at = len(text) if end < 0 else end
        if value or kind is not Kind.BAD:
            yield kind, value, start, at
    yield Kind.END, "", len(text), len(text)


def _comment_end(text: str, start: int) -> int:
    """Returns where a comment that begins at `start` ends, comments inside it counted; else -1."""
    depth = 0
    for mark in _COMMENT.finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return -1


def _dollar(text: str, found: re.Match[str]) -> tuple[int, Kind, str]:
    tag = found.group()
    close = text.find(tag, found.end())
    if close < 0:
        return -1, Kind.BAD, "string"
    return close + len(tag), Kind.STRING, text[found.end() : close]


def _colon(found: re.Match[str], before: list[Token]) -> tuple[int, Kind, str]:
    """Tells a parameter `:name` from the sign of `{'a':b}`, `x[1:n]` and `alias:expr`."""
    last = before[-1] if before else None
    if last is None or last.kind is Kind.OP:
        begins = last is None or last.text not in (")", "]", "}")
    else:
        begins = last.upper in _BEFORE_VALUES
    if begins:
        return found.end(), Kind.PARAMETER, found.group()[1:]
    return found.start() + 1, Kind.OP, ":"


def _content(group: str, text: str) -> str:
    if group == "STRING":
        return text[1:-1].replace("''", "'")
    if group == "QUOTED":
        return text[1:-1].replace('""', '"')
    return text[1:] if group == "PARAMETER" else text


def without_literals(text: str) -> str:
    """Returns the text with `?` in the place of every number and string, unfinished ones included.

    For records that may tell what was done, and not with which values.
    """
    parts, at = [], 0
    for token in lex(text):
        if token.kind in (Kind.STRING, Kind.ESCAPE, Kind.NUMBER, Kind.BAD):
            parts += [text[at : token.start], "?"]
            at = token.end
    return "".join([*parts, text[at:]])
