"""Deeply nested brackets in parts, each of which sqlglot's parser reads by itself.

sqlglot recurses: up to 25 frames of Python's stack for each bracket, in its compiled build on the C
stack. A call, a parenthesis or a CASE that lies MAX_AT_ONCE deep is therefore cut out, with all
that it holds, and read as `SELECT part`; a marked name stands in its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlglot.tokenizer_core import Token as GlotToken
from sqlglot.tokenizer_core import TokenType as Type

from sqlpriv.dialect.marks import MARK
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import replacement_token
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import words

PART = f"{MARK}part "
MAX_AT_ONCE = 15
"""Brackets that one part may have in one another before the next part is cut out."""
MAX_UNCUT = 30
"""The same where nothing can be cut out, as in FROM (SELECT … FROM (SELECT …))."""
_OPERATORS = words(
    "+ - * / // % || = <> != < > <= >= ^ AND OR NOT WHEN THEN ELSE CASE WHERE ON HAVING SELECT BY"
)
_QUERIES = words("SELECT WITH FROM VALUES TABLE PIVOT")


class TooDeep(Refused):
    """A statement cannot be read at all, by us or by sqlglot: its brackets nest too deeply."""


class TooManyCopies(Refused):
    """The queries of WITH are used so often that the plan would grow exponentially."""


@dataclass
class _Open:
    """A bracket or CASE that is open.

    Args:
        holds_values: What stands in it are values: a part may be cut out of it.
        around: The tokens around the part that begins here; None where none does.
        depth: How many brackets of the part around it were open before.
    """

    holds_values: bool
    around: list[GlotToken] | None
    depth: int
    is_case: bool = field(default=False)


def nested_parts(
    glots: Sequence[GlotToken], c: TokenCursor
) -> tuple[Sequence[GlotToken], list[list[GlotToken]]]:
    """Returns a query's tokens with a mark for each part that is cut out, and the parts.

    Raises:
        Refused: Brackets nest too deeply, and nothing of them can be cut out.
    """
    tokens: list[GlotToken] = []
    parts: list[list[GlotToken]] = []
    stack: list[_Open] = []
    depth = 0
    for i, glot in enumerate(glots):
        word = glot.text.upper() if glot.token_type not in (Type.STRING, Type.IDENTIFIER) else ""
        is_case = glot.token_type is Type.CASE
        if is_case or word in ("(", "[", "{"):
            is_call = word == "(" and bool(tokens) and MARK in tokens[-1].text
            values = is_case or is_call or _holds_values(glots, i, stack)
            around = None
            if values and depth >= MAX_AT_ONCE:
                head = [tokens.pop()] if is_call else []
                around, tokens = tokens, head
            stack.append(_Open(values, around, depth, is_case))
            depth = 1 if around is not None else depth + 1
            if depth > MAX_UNCUT:
                at = next((t for t in c.tokens if t.start == glot.start), c.tokens[0])
                message = f"these brackets nest deeper than {MAX_UNCUT} levels"
                raise TooDeep.at(at.pos, message, "simplify it")
        tokens.append(glot)
        closes_case = glot.token_type is Type.END and bool(stack) and stack[-1].is_case
        if stack and (closes_case or (word in (")", "]", "}") and not stack[-1].is_case)):
            opened = stack.pop()
            depth = opened.depth
            if opened.around is not None:
                first = tokens[0]
                select = replacement_token(first, Type.SELECT, "SELECT")
                mark = replacement_token(first, Type.IDENTIFIER, f"{PART}{len(parts)}")
                parts.append([select, *tokens])
                tokens = [*opened.around, mark]
    while stack:  # an open bracket: the parser says so
        opened = stack.pop()
        tokens = [*(opened.around or ()), *tokens]
    return tokens, parts


def _holds_values(glots: Sequence[GlotToken], i: int, stack: Sequence[_Open]) -> bool:
    """Returns whether a parenthesis stands around a value, or a list of values."""
    before = glots[i - 1].text.upper() if i else ""
    after = glots[i + 1].text.upper() if i + 1 < len(glots) else ""
    if glots[i].text != "(" or after in _QUERIES:
        return False
    if before in ("(", ","):
        return bool(stack) and stack[-1].holds_values
    return before in _OPERATORS
