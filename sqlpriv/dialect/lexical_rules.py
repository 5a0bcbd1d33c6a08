"""DuckDB's own lexical rules: what is blank or comment, and what opens and never closes."""

from __future__ import annotations

import re

_OPAQUE = re.compile(
    r"""--[^\n]* | (?P<comment>/\*) | [eE]'(?:[^'\\]|\\.|'')*' | '(?:[^']|'')*' | "(?:[^"]|"")*"
    | (?P<dollar>\$(?:[^\W\d]\w*)?\$) | (?P<open>[eE]?['"])
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


def unclosed_opening(text: str) -> tuple[int, str]:
    """Returns where a comment or quote opens that never closes, and what it is."""
    at = 0
    while at < len(text):
        mark = _OPAQUE.match(text, at)
        assert mark  # the last alternative matches any character
        at = mark.end()
        if mark["comment"]:
            at = _comment_end(text, mark.start())
        elif mark["dollar"]:
            close = text.find(mark["dollar"], at)
            at = close if close < 0 else close + len(mark["dollar"])
        elif mark["open"]:
            return mark.start(), "quoted name" if mark["open"] == '"' else "string"
        if at < 0:
            return mark.start(), "comment" if mark["comment"] else "string"
    return 0, "text"
