"""Text → tokens: sqlglot cuts the text, and each cut is checked against DuckDB's own lexical rules.

Lexing is total, because `split` and `complete` work on text that is not (yet) a statement: what
cannot be read, such as an open quote, becomes a last token of kind BAD. Text that only one of the
two lexers takes for a comment would be hidden from us and run by DuckDB: a gap between two tokens
that is not blanks and comments as DuckDB knows them is therefore BAD as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect.lexical_rules import is_gap, unclosed_opening, with_other_signs
from sqlpriv.statements.keywords import RESERVED
from sqlpriv.statements.tree import Pos


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
        glot: The same token as sqlglot's parser takes it.
    """

    kind: Kind
    text: str
    value: str
    start: int
    pos: Pos
    glot: GlotToken | None = None

    @property
    def line(self) -> int:
        return self.pos.line

    @property
    def column(self) -> int:
        return self.pos.column

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


_RAW = {
    Kind.STRING: re.compile(r"'(?:[^']|'')*'|(\$\w*\$).*\1", re.DOTALL),
    Kind.ESCAPE: re.compile(r"[eE]'(?:[^'\\]|\\.|'')*'|[xXbBnN]'[^']*'", re.DOTALL),
    Kind.QUOTED: re.compile(r'"(?:[^"]|"")*"'),
    Kind.NUMBER: re.compile(r"(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?"),
}
_NAME = re.compile(r"(?:[^\W\d]|[^\x00-\x7f\s])(?:[\w$]|[^\x00-\x7f\s])*")
_KIND_NAMES = {
    Kind.STRING: "STRING HEREDOC_STRING RAW_STRING",
    Kind.QUOTED: "IDENTIFIER",
    Kind.NUMBER: "NUMBER",
    Kind.PARAMETER: "PLACEHOLDER",
    Kind.ESCAPE: "BYTE_STRING HEX_STRING BIT_STRING NATIONAL_STRING UNICODE_STRING",
}
_KINDS = {Type[name]: kind for kind, names in _KIND_NAMES.items() for name in names.split()}
_COMMANDS = (Type.COMMAND, Type.EXECUTE, Type.FETCH, Type.RENAME, Type.SHOW)
_BEFORE_VALUES = RESERVED - {"END", "NULL", "TRUE", "FALSE"} | {"BETWEEN", "LIKE", "ILIKE", "BY"}


TEXTS_KEPT, LONGEST_KEPT = 16, 10_000
"""How many texts' tokens are kept, and of how many characters at most: some 20 MB in all."""


def lex(text: str, dialect: str = "duckdb") -> tuple[Token, ...]:
    """Returns the tokens of the text, the last one of kind END (before it BAD, maybe).

    An interface parts a text into statements, or looks for its parameters, before a session reads
    it: the tokens of the latest short texts are kept for that.

    Args:
        text: One or more statements, or a part of one.
        dialect: sqlglot's name of the dialect that the text is written in; the check against
            DuckDB's rules is made for DuckDB's own.
    """
    return (_kept_tokens if len(text) <= LONGEST_KEPT else _tokens)(text, dialect)


def _tokens(text: str, dialect: str) -> tuple[Token, ...]:
    bare = text.replace("\r\n", " \n").replace("\r", "\n")  # DuckDB's lines end at each of them
    readable, bad = bare, ""
    signed = with_other_signs(bare) if bare.count("$") > 1 else bare
    try:
        # sqlglot fails on a `$` that is the text's last character, and reads it before a blank.
        glots = _glots(f"{signed} " if bare.endswith("$") else signed, dialect)
    except (TokenError, ValueError, IndexError):
        open_at, bad = unclosed_opening(bare)
        readable = bare[:open_at]
        try:
            glots = _glots(signed[:open_at], dialect)
        except (TokenError, ValueError, IndexError):
            readable, glots, bad = "", [], "text"
    places = _Places(bare)
    tokens: list[Token] = []
    for kind, value, start, end, glot in _pieces(readable, glots, dialect):
        tokens.append(Token(kind, text[start:end], value, start, places.at(start), glot))
        if kind is Kind.BAD:
            break
    else:
        if bad:
            start = len(readable)
            tokens.append(Token(Kind.BAD, text[start:], bad, start, places.at(start)))
    tokens.append(Token(Kind.END, "", "", len(text), places.at(len(text))))
    return tuple(tokens)


_kept_tokens = lru_cache(TEXTS_KEPT)(_tokens)


def _glots(text: str, dialect: str) -> list[GlotToken]:
    """Returns sqlglot's tokens; what it takes for the argument of a command is cut into tokens.

    A parenthesis is put before such an argument while it is cut: a command begins a statement.
    """
    tokenize = Dialect.get_or_raise(dialect).tokenize
    glots: list[GlotToken] = []
    before: GlotToken | None = None
    for glot in tokenize(text):
        if before and before.token_type in _COMMANDS and glot.token_type is Type.STRING:
            start = before.end + 1
            argument = tokenize("(" + text[start : glot.end + 1])[1:]
            glots += [
                replacement_token(part, part.token_type, part.text, start - 1) for part in argument
            ]
        elif glot.token_type is Type.QDCOLON and dialect != "databricks":
            glots += _mark_and_cast(glot)
        else:
            glots.append(glot)
        before = glot
    return glots


def _mark_and_cast(glot: GlotToken) -> list[GlotToken]:
    """Returns the two tokens of `?::`, which sqlglot reads as one sign, of Databricks."""
    mark = replacement_token(glot, Type.PLACEHOLDER, "?", end=glot.start)
    return [mark, replacement_token(glot, Type.DCOLON, "::", start=glot.start + 1)]


class _Places:
    """Lines and columns of offsets that are given in ascending order."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._line, self._line_start = text, 0, 1, 0

    def at(self, start: int) -> Pos:
        self._line += self._text.count("\n", self._at, start)
        self._line_start = max(self._line_start, self._text.rfind("\n", self._at, start) + 1)
        self._at = start
        return Pos(self._line, start - self._line_start + 1)


_Piece = tuple[Kind, str, int, int, GlotToken | None]


def _pieces(text: str, glots: Sequence[GlotToken], dialect: str) -> Iterator[_Piece]:
    """Yields kind, value, start, end and sqlglot's own token, for each token of ours."""
    check, signs = dialect == "duckdb", "$:@" if dialect in ("bigquery", "tsql") else "$:"
    at, i, last = 0, 0, ""
    while i < len(glots):
        glot = glots[i]
        start, end = glot.start, glot.end + 1
        if check and start > at and text[at:start].strip() and not is_gap(text, at, start):
            yield Kind.BAD, "comment", at, len(text), None
            return
        raw, follower = text[start:end], glots[i + 1] if i + 1 < len(glots) else None
        kind = _KINDS.get(glot.token_type)
        joined = follower is not None and follower.start == end
        if raw in signs and joined and follower and _binds(raw, follower, text, last):
            kind, end, i = Kind.PARAMETER, follower.end + 1, i + 1
            raw = text[start:end]
        elif (
            raw == "."
            and joined
            and follower
            and follower.token_type is Type.NUMBER
            and last not in ("name", ")", "]")
        ):
            kind, end, i = Kind.NUMBER, follower.end + 1, i + 1
            raw = text[start:end]
            glot = replacement_token(glot, Type.NUMBER, raw.replace("_", ""))
        if kind is None and " " in (words := " ".join(raw.split())):  # GROUP BY is one of sqlglot's
            for part in re.finditer(r"\S+", raw):
                first = start + part.start()
                yield Kind.WORD, part[0], first, start + part.end(), None if part.start() else glot
            last = "(" if words.split()[-1].upper() in _BEFORE_VALUES else "name"
            at, i = end, i + 1
            continue
        if kind is None:
            kind = Kind.WORD if _NAME.fullmatch(raw) else Kind.OP
        if check and kind in _RAW and _RAW[kind].fullmatch(raw) is None:
            yield Kind.BAD, "text", start, len(text), None
            return
        yield kind, _content(kind, raw, glot, check), start, end, glot
        last = raw if kind is Kind.OP else "name"
        if kind is Kind.WORD and raw.upper() in _BEFORE_VALUES:
            last = "("
        at, i = end, i + 1
    if check and text[at:].strip() and not is_gap(text, at, len(text)):
        yield Kind.BAD, "comment", at, len(text), None


def replacement_token(
    glot: GlotToken,
    type_: Type,
    text: str,
    by: int = 0,
    start: int | None = None,
    end: int | None = None,
) -> GlotToken:
    """Returns a token of another type and text in the place of that one, `by` further on, or where
    `start` and `end` say."""
    start = glot.start + by if start is None else start
    end = glot.end + by if end is None else end
    return GlotToken(type_, text, line=glot.line, col=glot.col, start=start, end=end, comments=[])


def _binds(sign: str, follower: GlotToken, text: str, last: str) -> bool:
    """Tells a parameter `:name` or `$1` from the sign of `{'a':b}`, `x[1:n]` and `alias:expr`."""
    name = text[follower.start : follower.end + 1]
    if sign == "$":
        return name.isdecimal() or _NAME.fullmatch(name) is not None
    if sign == "@":
        return _NAME.fullmatch(name) is not None
    return sign == ":" and _NAME.fullmatch(name) is not None and last not in ("name", ")", "]", "}")


def _content(kind: Kind, raw: str, glot: GlotToken, is_duckdb: bool) -> str:
    if kind is Kind.PARAMETER:
        return raw[1:]
    if kind in (Kind.STRING, Kind.QUOTED) and not is_duckdb:
        return str(glot.text)
    if kind is Kind.STRING and raw[0] == "$":
        tag = raw[: raw.index("$", 1) + 1]
        return raw[len(tag) : -len(tag)]
    if kind in (Kind.STRING, Kind.QUOTED):
        return raw[1:-1].replace(raw[0] * 2, raw[0])
    return raw


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
