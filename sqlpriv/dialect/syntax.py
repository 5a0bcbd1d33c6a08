"""sqlglot's stock parser over tokens of ours, and its errors as refusals with their place."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token as GlotToken

from sqlpriv.dialect.bracket_parts import PART, TooDeep, nested_parts
from sqlpriv.dialect.constructs import MISPLACED
from sqlpriv.dialect.marked_tokens import CLAUSES
from sqlpriv.dialect.token_cursor import TokenCursor
from sqlpriv.dialect.tokens import Token
from sqlpriv.errors import Refused
from sqlpriv.statements.keywords import words

logging.getLogger("sqlglot").addHandler(logging.NullHandler())
"""sqlglot warns of text that it does not read, which is refused in words of ours: not on stderr."""
MAX_NESTING = 100
"""How deep brackets, CASE, NOT and signs may nest together."""
MAX_CHAIN = 250
"""How deep operators may nest: `a + b + c` nests two. Walks over trees recurse, and the stack of
Python is finite."""
MAX_OPEN_JOINS = 8
"""Joins whose ON has not come yet: sqlglot tries each of them both ways, 2^n in all."""
_PREFIXES = words("NOT - + ~ @ INTERVAL EXISTS -> DISTINCT JOIN ALL ANY")
_RUNS = (exp.And, exp.Or, exp.SetOperation)
_ODD = (SqlglotError, ValueError, TypeError, AttributeError, LookupError, AssertionError)
"""What sqlglot meets odd text with, beside its own errors."""


def tree(glots: Sequence[GlotToken], c: TokenCursor) -> exp.Expr:
    """Returns what sqlglot's parser makes of the tokens of one query.

    Raises:
        Refused: It cannot read them; the place is that of its complaint.
        TooDeep: Operators nest too deeply in one another.
    """
    outer, parts = nested_parts(glots, c)
    whole = _parse(outer, c)
    expressions = [_parse(part, c).expressions[0] for part in parts]
    for within in (whole, *expressions):
        for column in list(within.find_all(exp.Column)):
            name = str(column.name)
            if name.startswith(PART):
                column.replace(expressions[int(name.removeprefix(PART))])
    _check_depth(whole, c)
    return whole


def _check_depth(whole: exp.Expr, c: TokenCursor) -> None:
    """Refuses a tree that is too deep. A run of AND, OR or UNION counts one level."""
    waiting = [(whole, 0)]
    while waiting:
        node, depth = waiting.pop()
        if depth > MAX_CHAIN:
            starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
            at = next((t for t in c.tokens if t.start in starts), c.tokens[0])
            message = f"the expression nests deeper than {MAX_CHAIN} levels"
            hint = "write x IN (…), concat(…) or list_sum([…]) for a long run of operators"
            raise TooDeep.at(at.pos, message, hint)
        for part in node.iter_expressions():
            is_run = isinstance(part, _RUNS) and type(part) is type(node)
            waiting.append((part, depth + (not is_run)))


def _parse(glots: Sequence[GlotToken], c: TokenCursor) -> exp.Expr:
    try:
        trees = Dialect.get_or_raise(c.dialect).parser().parse(list(glots), c.text)
    except ParseError as error:
        raise _parse_refusal(error, c) from None
    except _ODD:
        raise c.refuse("this statement cannot be read") from None
    if len(trees) != 1 or trees[0] is None:
        raise c.refuse_unexpected("a query")
    return trees[0]


def _parse_refusal(error: ParseError, c: TokenCursor) -> Refused:
    first = error.errors[0] if error.errors else {}
    line, column, words = first.get("line"), first.get("col"), first.get("description") or ""
    places = ((token.glot.line, token.glot.col) if token.glot else None for token in c.tokens)
    at = next((i for i, place in enumerate(places) if place == (line, column)), None)
    if at is None:
        return c.refuse("this statement cannot be read")
    expected = CLAUSES
    if wanted := re.match(r"Expecting (\S+)", words):
        expected = wanted[1]
    elif "Required keyword" in words:
        expected = "an expression"
    elif "table name" in words:
        expected = "the name of a table"
    if at == len(c.tokens) - 2 and expected != CLAUSES:
        at += 1
    c.index = at
    return c.refuse_unexpected(expected)


_RANKS = "| FROM JOIN | WHERE | GROUP | HAVING | WINDOW QUALIFY | ORDER | LIMIT OFFSET FETCH"
_CLAUSE_ORDER = {
    word: rank for rank, clauses in enumerate(_RANKS.split("|")) for word in clauses.split()
}
"""Word → when its clause comes in a SELECT; sqlglot reads them in any order."""
PRICE_PLACE = "write SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) … FROM …"
_NEW_SELECT = words("SELECT UNION INTERSECT EXCEPT |>")


def misplaced_clause(tokens: Sequence[Token]) -> Refused | None:
    """Returns the refusal of a clause behind one that comes later, as in `LIMIT 1 WHERE a`."""
    reached = [("", 0)]
    for i, token in enumerate(tokens):
        word = token.upper
        if word in ("(", "[", "{"):
            reached.append(("", 0))
        elif word in (")", "]", "}"):
            reached = reached[:-1] or [("", 0)]
        elif word in _NEW_SELECT:
            reached[-1] = ("", 0)
        elif reached[-1][1] and (word == "WITH" or word == "OPTIONS") and i + 1 < len(tokens):
            if tokens[i + 1].upper == ("PRIVACY" if word == "WITH" else "("):
                return Refused.at(token, "the price stands behind SELECT", PRICE_PLACE)
        elif word == "WINDOW" and i + 1 < len(tokens) and tokens[i + 1].upper in ("(", "."):
            continue  # Spark's function, and what it gives
        elif word in _CLAUSE_ORDER:
            before, after = tokens[i - 1].upper, tokens[i + 1].upper if i + 1 < len(tokens) else ""
            two_words = word in ("GROUP", "ORDER")
            is_other = word == "FROM" and before in ("DISTINCT", "WEIGHTS")
            if (two_words and after != "BY") or is_other or before == ".":
                continue
            last, rank = reached[-1]
            if _CLAUSE_ORDER[word] < rank:
                return Refused.at(token, f"{word} comes before {last}", MISPLACED[1])
            reached[-1] = (word, _CLAUSE_ORDER[word])
    return None


def check_nesting(tokens: Sequence[Token]) -> None:
    """Refuses a statement that nests too deeply to be read, before anything recurses over it.

    Raises:
        Refused: At the first bracket or word that is too deep.
    """
    brackets = cases = run = 0
    joins = [0]
    for token in tokens:
        word = token.upper
        if word in ("(", "[", "{"):
            brackets += 1
            joins.append(0)
        elif word in (")", "]", "}"):
            brackets -= 1
            joins = joins[:-1] or [0]
        cases += (word == "CASE") - (word == "END" and cases > 0)
        run = run + 1 if word in _PREFIXES else 0
        joins[-1] += (word == "JOIN") - (word in ("ON", "USING", "CROSS", "NATURAL", "POSITIONAL"))
        joins[-1] = max(joins[-1], -1)
        if brackets + cases + run > MAX_NESTING:
            raise Refused.at(
                token, f"brackets nest deeper than {MAX_NESTING} levels", "simplify it"
            )
        if joins[-1] > MAX_OPEN_JOINS:
            raise Refused.at(token, "these joins nest too deeply", "write ON behind each JOIN")
