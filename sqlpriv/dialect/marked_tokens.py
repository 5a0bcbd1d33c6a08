"""What sqlglot's parser is to see of each token: marks for what it would read as its own."""

from __future__ import annotations

import re
from collections.abc import Callable

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect.marks import MARK
from sqlpriv.dialect.token_cursor import TokenCursor, number_refusal
from sqlpriv.dialect.tokens import Kind, Token, replacement_token
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import RESERVED, words

CLAUSES = "WHERE, GROUP BY, STRATIFY BY, HAVING, ORDER BY, LIMIT or the end of the statement"
_CALLABLE = Dialect.get_or_raise("duckdb").parser_class.FUNC_TOKENS | {Type.ROLLUP, Type.CUBE}
_OWN_GRAMMAR = RESERVED | words(
    """CAST TRY_CAST EXTRACT SUBSTRING OVER WITHIN FILTER SETS MATERIALIZED EXCLUDE KEY VALUES
    RECURSIVE LIKE ILIKE GLOB RLIKE ISNULL XOR INSERT MERGE OFFSET WINDOW EXISTS INTERVAL STRUCT
    MAP UNNEST ROW BETWEEN TRIM POSITION OVERLAY NULLS"""
)
"""Words before a parenthesis that are no function, or one with words among its arguments."""
_OWN_ELSEWHERE = words(
    """RLIKE REGEXP MINUS APPLY TOP SAFE_CAST BINARY ORDINAL SAFE_OFFSET SAFE_ORDINAL GROUP_CONCAT
    STUFF"""
)
"""The same in other dialects; DIV and MOD are operators there behind an operand."""
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\r": "\r", r"\b": "\b", r"\f": "\f", "\\\\": "\\"}
"""What is read behind a backslash of `E'…'`: the same in PostgreSQL and DuckDB."""
_OF_STAR = words("EXCLUDE EXCEPT REPLACE RENAME LIKE ILIKE")
"""Words that change a star before them, or before another change in parentheses; any other call
behind `*` is a factor."""


def marked_tokens(c: TokenCursor, refuse: Callable[[Refused], None]) -> list[GlotToken]:
    """Goes past one token, and returns what sqlglot's parser is to see of it."""
    before = c.tokens[c.index - 1] if c.index else c.tokens[-1]
    sets = c.at("GROUPING", "SETS", "(")
    token = c.next()
    glot, following = token.glot, c.peek()
    if glot is None:
        return []
    if sets:
        c.next()
        return [replacement_token(glot, Type.VAR, f"grouping sets{MARK}")]
    if token.upper == "," and following.upper == ")":
        refuse(c.refuse_unexpected("an expression"))
    match token.kind:
        case Kind.PARAMETER:
            return [replacement_token(glot, Type.IDENTIFIER, MARK + c.parameter_text(token))]
        case Kind.ESCAPE if c.dialect != "duckdb" and glot.token_type is Type.NATIONAL_STRING:
            return [replacement_token(glot, Type.STRING, glot.text)]
        case Kind.ESCAPE:
            text = _without_escapes(c.text[token.start : token.end])
            if text is not None and before.kind is not Kind.STRING:
                return [replacement_token(glot, Type.STRING, text)]
            hint = "write the text as it is, in '…'"
            refuse(Refused.at(token, "such escapes in texts are not read", hint))
        case Kind.STRING if before.upper == "AS" and token.value:
            return [replacement_token(glot, Type.IDENTIFIER, token.value)]
        case Kind.STRING:
            if before.kind is Kind.STRING:
                refuse(Refused.at(token, f"expected {CLAUSES}, found {token.shown}"))
            return [replacement_token(glot, Type.STRING, token.value)]
        case Kind.NUMBER:
            if (unread := number_refusal(token, following)) is not None:
                refuse(unread)
        case Kind.WORD if (token.upper, following.upper) == ("APPROXIMATE", "COUNT"):
            return []  # Redshift's, which counts exactly here
        case Kind.WORD if token.upper in ("NULL", "TRUE", "FALSE"):
            if before.upper not in ("IS", "NOT"):
                return [replacement_token(glot, Type.IDENTIFIER, f"{MARK}{token.upper}")]
        case Kind.WORD | Kind.QUOTED if following.upper == "(":
            factor = before.upper == "*" and _is_operand(c.peek(-3))
            of_star = before.upper in ("*", ")") and token.upper in _OF_STAR and not factor
            special = token.upper in _OWN_GRAMMAR or before.upper in ("::", "AS") or of_star
            if c.dialect in ("spark", "databricks"):
                special = special and token.upper != "WINDOW"
            if c.dialect != "duckdb":
                operator = token.upper in ("DIV", "MOD") and _is_operand(before)
                special = (special and token.upper != "ISNULL") or operator
                special = special or token.upper in _OWN_ELSEWHERE
            if glot.token_type in _CALLABLE and not special:
                return [replacement_token(glot, Type.VAR, token.value + MARK)]
    return [glot]


def _without_escapes(written: str) -> str | None:
    r"""Returns the text that `E'…'` stands for; None of another prefix, or of other escapes.

    >>> _without_escapes(r"E'it''s\tone\\'")
    "it's\tone\\"
    """
    if written[:2] not in ("E'", "e'"):
        return None
    parts = re.split(r"(\\.)", written[2:-1].replace("''", "'"), flags=re.DOTALL)
    if not all(part in _ESCAPES for part in parts[1::2]):
        return None
    return "".join(_ESCAPES.get(part, part) for part in parts)


def _is_operand(token: Token) -> bool:
    """Returns whether an operator may stand behind a token: it ends a value."""
    is_name = token.kind is Kind.QUOTED or (token.kind is Kind.WORD and token.upper not in RESERVED)
    return is_name or token.kind in (Kind.NUMBER, Kind.STRING) or token.upper in (")", "]")
