"""DuckDB's own lexical rules: what is blank or comment, and what opens and never closes."""

from __future__ import annotations

import re
from collections.abc import Iterator

_OPAQUE = re.compile(
    r"""--[^\n]* | (?P<comment>/\*) | [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*"
    | (?P<dollar>\$(?:[^\W\d]\w*)?\$) | (?P<parameter>\$\w+) | (?P<open>[eE]?['"])
    | (?:[^\W\d]|[^\x00-\x7f\s])[\w$]* | .""",
    re.VERBOSE | re.DOTALL,
)
_COMMENT = re.compile(r"/\*|\*/")


def is_gap(text: str, start: int, end: int) -> bool:
    """Whether text between tokens is blanks and comments only, as DuckDB reads it."""
    at = start
    while at < end:
        if text[at].isspace():
            at += 1
        elif text.startswith("--", at):
            line_end = text.find("\n", at)
            at = end if line_end < 0 else line_end
        elif text.startswith("/*", at):
            at = _comment_end(text, at)
            if at < 0:
                return False
        else:
            return False
    return at == end


def _comment_end(text: str, start: int) -> int:
    """Returns where a comment that begins at `start` ends, comments inside it counted; else -1."""
    depth = 0
    for mark in _COMMENT.finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return -1


def with_other_signs(text: str) -> str:
    """Returns the text, as long as it was, with `?` for the sign of each parameter `$1` or `$name`.

    sqlglot takes `$1,$` of `($1,$2)` for the beginning of a text.

    >>> with_other_signs("a IN ($1,$low) AND b = '$1' AND c = $$ $2 $$")
    "a IN (?1,?low) AND b = '$1' AND c = $$ $2 $$"
    """
    signs = {mark.start() for mark, _ in _opaque_parts(text) if mark["parameter"]}
    return "".join("?" if i in signs else sign for i, sign in enumerate(text)) if signs else text


def unclosed_opening(text: str) -> tuple[int, str]:
    """Returns where a comment or quote opens that never closes, and what it is."""
    for mark, end in _opaque_parts(text):
        if mark["open"]:
            return mark.start(), "quoted name" if mark["open"] == '"' else "string"
        if end < 0:
            return mark.start(), "comment" if mark["comment"] else "string"
    return 0, "text"


def _opaque_parts(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yields what stands in a text, and where it ends; -1, at last, where it never closes."""
    at = 0
    while 0 <= at < len(text):
        mark = _OPAQUE.match(text, at)
        assert mark  # the last alternative matches any character
        at = mark.end()
        if mark["comment"]:
            at = _comment_end(text, mark.start())
        elif mark["dollar"]:
            close = text.find(mark["dollar"], at)
            at = close if close < 0 else close + len(mark["dollar"])
        yield mark, at
