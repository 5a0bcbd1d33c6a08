"""A look at PostgreSQL's SQL, word by word, before it is read: which statement it is, and of what.

Nothing here decides what may be read: a statement on private tables goes to the session, which
parses and prices it. What is decided is which statements PostgreSQL's clients send on their own
(SET, BEGIN, a look at the catalog, a preview), and what they write before a name (`public.`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

_TOKEN = re.compile(
    r"""(?P<space>\s+|--[^\n]*)
    |(?P<comment>/\*)
    |(?P<string>[eE]'(?:[^'\\]|\\.|'')*'|[bBxXnN]?'(?:[^']|'')*'|(?P<dollar>\$(?:[A-Za-z_]\w*)?\$))
    |(?P<quoted>"(?:[^"]|"")*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<parameter>\$\d+)
    |(?P<word>[^\W\d]\w*\$?\w*)
    |(?P<other>::|<=|>=|<>|!=|.)""",
    re.VERBOSE | re.DOTALL,
)
_ENDS_LIST = {"WHERE", "GROUP", "ORDER", "LIMIT", "HAVING", "UNION", "STRATIFY", "ON", "USING"}

_ROW_CALLS = {"SUBSTRING", "SUBSTR", "LEFT", "CAST", "SYSTEM", "BERNOULLI"}
"""Functions of one row that tools show columns by (Metabase cuts long texts short), and samples."""

_LONGEST_CALL = 50
"""Tokens that are looked back over for the function that a FROM may stand in."""


@dataclass(frozen=True)
class SqlToken:
    """One word, string or sign of a text.

    Args:
        kind: The name of its group above: word, quoted, string, number, parameter or other.
        text: As it is written.
        start: Where it begins in the text.
    """

    kind: str
    text: str
    start: int

    @property
    def upper(self) -> str:
        """The word in capitals; '' for what is no bare word."""
        return (
            self.text.upper() if self.kind == "word" else self.text if self.kind == "other" else ""
        )

    @property
    def name(self) -> str:
        """The identifier that it is, folded as PostgreSQL folds it; '' where it is none."""
        if self.kind == "quoted":
            return self.text[1:-1].replace('""', '"')
        return self.text.lower() if self.kind == "word" else ""


def tokens(sql: str) -> Iterator[SqlToken]:
    """Yields the tokens of a text, without spaces and comments, in time linear in its length.

    >>> [token.text for token in tokens("SELECT /* a /* b */ */ 'it''s'::text -- end")]
    ['SELECT', "'it''s'", '::', 'text']
    """
    at = 0
    while at < len(sql):
        match = _TOKEN.match(sql, at)
        assert match is not None
        kind, end = match.lastgroup or "other", match.end()
        if match["comment"]:
            kind, end = "space", _comment_end(sql, at)
        elif match["dollar"]:
            close = sql.find(match["dollar"], end)
            kind, end = "string", len(sql) if close < 0 else close + len(match["dollar"])
        elif match["other"] in ("'", '"'):  # it has no end
            kind, end = "string", len(sql)
        if kind != "space":
            yield SqlToken(kind, sql[at:end], at)
        at = end


def _comment_end(sql: str, start: int) -> int:
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(sql, start):
        depth += 1 if match.group() == "/*" else -1
        if depth == 0:
            return match.end()
    return len(sql)


def split(sql: str) -> list[str]:
    """Returns the statements of a text, the empty ones left out.

    >>> split("BEGIN; SELECT ';' ;; ")
    ['BEGIN', "SELECT ';'"]
    """
    statements, start, last = [], 0, 0
    for token in tokens(sql):
        if token.upper == ";":
            statements.append(sql[start:last].strip())
            start = token.start + 1
        last = token.start + len(token.text)
    statements.append(sql[start:last].strip())
    return [statement for statement in statements if statement]


@dataclass(frozen=True)
class StatementScan:
    """What can be told of one statement by its words."""

    sql: str

    @cached_property
    def tokens(self) -> Sequence[SqlToken]:
        """The statement's tokens."""
        return tuple(tokens(self.sql))

    @cached_property
    def words(self) -> Sequence[str]:
        """Bare words and signs in capitals; '' for names in quotes, strings and numbers."""
        return tuple(token.upper for token in self.tokens)

    def starts(self, *words: str) -> bool:
        """Tells whether the statement begins with these words."""
        return tuple(self.words[: len(words)]) == words

    @cached_property
    def sources(self) -> Sequence[tuple[str, ...]]:
        """What stands after FROM, JOIN and their commas, in parts: ('public', 'people')."""
        sources, at, depth, from_depths = [], 0, 0, set[int]()
        while at < len(self.tokens):
            word = self.words[at]
            depth += (word == "(") - (word == ")")
            if word == ")":
                from_depths.discard(depth + 1)
            starts_source = word in ("FROM", "JOIN") or (word == "," and depth in from_depths)
            if word in _ENDS_LIST or word == "SELECT":
                from_depths.discard(depth)
            at += 1
            if not starts_source or self._is_call_of(at, depth):
                continue
            from_depths.add(depth)
            parts, at = self._name_at(at)
            if parts:
                sources.append(parts)
        return sources

    def _is_call_of(self, at: int, depth: int) -> bool:
        """Tells whether a FROM stands inside a function: EXTRACT(year FROM x)."""
        if self.words[at - 1] != "FROM" or depth == 0:
            return False
        back, inner = at - 2, 0
        while back >= max(0, at - _LONGEST_CALL):
            inner += (self.words[back] == ")") - (self.words[back] == "(")
            if inner < 0:
                return self.words[back - 1] in ("EXTRACT", "SUBSTRING", "TRIM", "OVERLAY")
            back -= 1
        return False

    def _name_at(self, at: int) -> tuple[tuple[str, ...], int]:
        parts = []
        while at < len(self.tokens) and self.tokens[at].name:
            parts.append(self.tokens[at].name)
            if at + 1 >= len(self.tokens) or self.words[at + 1] != ".":
                return tuple(parts), at + 1
            at += 2
        return tuple(parts), at

    @cached_property
    def is_listing(self) -> bool:
        """Whether rows are asked for as they are: columns of one table, with no condition.

        That is what BI tools send to show what a table holds: `SELECT * FROM people LIMIT 100`,
        also around another such query: `SELECT * FROM (SELECT * FROM people) t LIMIT 100`, and with
        texts cut short. A condition that holds for no row (`WHERE 1 = 0`) they send, too.
        """
        words = self.words
        if not self.starts("SELECT") or "FROM" not in words or len(self.sources) != 1:
            return False
        if set(words) & {"GROUP", "HAVING", "STRATIFY", "UNION", "WITH", "JOIN", "DISTINCT"}:
            return False
        for at, (word, opened) in enumerate(pairwise(words)):
            is_query = word == "FROM" and words[at + 2 : at + 3] == ("SELECT",)
            if opened == "(" and not is_query and word not in _ROW_CALLS and word != "WHERE":
                return False
            if word == "WHERE" and not self._is_never(at + 1):
                return False
        return True

    def _is_never(self, at: int) -> bool:
        """Tells whether a condition that begins there holds for no row."""
        condition = "".join(t.text.upper() for t in self.tokens[at : at + 4]).lstrip("(")
        return re.match(r"(1=0|0=1|1<>1|1=2|FALSE)", condition) is not None


def without_schema(sql: str, schemas: frozenset[str], database: str = "") -> str:
    """Returns the text with `public.` blanked out before names: every other place stays.

    Args:
        sql: The text.
        schemas: What is blanked out.
        database: Blanked out as well where it stands before one of them.

    >>> without_schema('SELECT "public"."t"."x" FROM public.t', frozenset({"public"}))
    'SELECT          "t"."x" FROM        t'
    >>> without_schema("SELECT shop.x FROM shop.public.shop", frozenset({"public"}), "shop")
    'SELECT shop.x FROM             shop'
    """
    letters, all_tokens = list(sql), list(tokens(sql))
    for at, (token, dot) in enumerate(pairwise(all_tokens)):
        begins = (
            at == 0 or all_tokens[at - 1].text != "." or _was_blanked(letters, all_tokens[at - 1])
        )
        names = [each.name or each.text for each in all_tokens[at + 2 : at + 4]]
        is_database = token.name == database and names[1:] == ["."] and names[0] in schemas
        is_prefix = token.name in schemas or is_database
        if begins and is_prefix and dot.text == "." and at + 2 < len(all_tokens):
            end = dot.start + 1
            letters[token.start : end] = " " * (end - token.start)
    return "".join(letters)


def _was_blanked(letters: Sequence[str], token: SqlToken) -> bool:
    return letters[token.start] == " "
