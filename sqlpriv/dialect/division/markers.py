"""Our own clauses carried through sqlglot's parser: each is a marked name where it stood.

`SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (…) a` becomes `SELECT __price0__, a`, `GROUP BY a
STRATIFY BY b` becomes `GROUP BY a, __strata0__`, and `AVG(x USING laplace)` becomes
`AVG(x ORDER BY __using0__)`. What sqlglot writes afterwards has the marks in the same places, so
the clauses can be put back as text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from sqlglot.dialects.dialect import Dialect
from sqlglot.tokenizer_core import Token, TokenType

from sqlpriv.dialect.constructs import PRICED

PRICE, STRATA, ESTIMATOR = "__price", "__strata", "__using"
_QUOTED = (TokenType.STRING, TokenType.IDENTIFIER)
_ENDS = (
    "HAVING", "LIMIT", "OFFSET", "QUALIFY", "WINDOW", "UNION", "EXCEPT", "INTERSECT",
)  # fmt: skip
_MARK = re.compile(rf"({PRICE}|{STRATA}|{ESTIMATOR})(\d+)__", re.IGNORECASE)


@dataclass
class Marks:
    """What the marks of a text stand for.

    Args:
        clauses: The text of each clause, by its mark.
        parameters: Values by name: `?` is numbered from 1, as `$1` is.
    """

    clauses: dict[str, str] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)

    def restore(self, text: str) -> str:
        """Returns a text that sqlglot wrote with the clauses in the place of their marks.

        >>> marks = Marks({"__strata0__": "STRATIFY BY sex"})
        >>> marks.restore("SELECT COUNT(*) FROM t GROUP BY educ, __strata0__")
        'SELECT COUNT(*) FROM t GROUP BY educ STRATIFY BY sex'
        """
        for mark, clause in self.clauses.items():
            if mark.startswith(PRICE):
                text = text.replace(f"{mark}, ", f"{clause} ")
            elif mark.startswith(STRATA):
                text = text.replace(f", {mark}", f" {clause}").replace(f"GROUP BY {mark}", clause)
            else:
                text = text.replace(f"ORDER BY {mark}", clause)
        return text

    def values_of(self, text: str) -> dict[str, object]:
        """Returns the parameters that a text names."""
        tokens = _tokens(text)
        names = {
            after.text for sign, after in pairwise(tokens) if sign.token_type is TokenType.PARAMETER
        }
        return {name: value for name, value in self.parameters.items() if name in names}


Values = Sequence[object] | Mapping[str, object]


def mark_clauses(text: str, parameters: Values) -> tuple[str, Marks]:
    """Returns a statement that sqlglot can parse, and what its marks stand for.

    Args:
        text: One query of DuckDB's SQL with our clauses.
        parameters: Values of its `?` as a sequence, of `$1` and `$name` as a mapping.

    >>> mark_clauses("SELECT a FROM t GROUP BY a STRATIFY BY b HAVING a > 1", ())[0]
    'SELECT a FROM t GROUP BY a, __strata0__ HAVING a > 1'
    """
    marks = Marks(parameters=_by_name(parameters))
    words = _tokens(text)
    cuts: list[tuple[int, int, str]] = []
    i = question_marks = 0
    while i < len(words):
        end = 0
        priced = _word(words, i) == "WITH" and _word(words, i + 1) in PRICED
        if priced and _word(words, i - 1) != ",":
            end = i + 2
            if _reads(words, end, "OPTIONS", "("):
                end = _closing(words, end + 1) + 1
            cuts.append(_cut_clause(text, words, i, end, marks, PRICE, "{},"))
        elif _reads(words, i, "STRATIFY", "BY"):
            end = _end_of_strata(words, i)
            form = ", {}" if _is_grouped(words, i) else "GROUP BY {}"
            cuts.append(_cut_clause(text, words, i, end, marks, STRATA, form))
        elif _word(words, i) == "USING" and _is_estimator(words, i):
            end = i + 2
            cuts.append(_cut_clause(text, words, i, end, marks, ESTIMATOR, "ORDER BY {}"))
        elif words[i].token_type is TokenType.PLACEHOLDER and words[i].text == "?":
            question_marks += 1
            cuts.append((words[i].start, words[i].end + 1, f"${question_marks}"))
        i = max(i + 1, end)
    for start, stop, mark in reversed(cuts):
        before = text[:start].rstrip() if mark.startswith(",") else text[:start]
        text = f"{before}{mark}{text[stop:]}"
    return text, marks


def is_mark(name: str, kind: str) -> bool:
    """Returns whether a name is a mark of that kind: PRICE, STRATA or ESTIMATOR."""
    match = _MARK.fullmatch(name)
    return match is not None and match[1].lower() == kind


def _by_name(parameters: Sequence[object] | Mapping[str, object]) -> Mapping[str, object]:
    if isinstance(parameters, Mapping):
        return parameters
    return {str(number): value for number, value in enumerate(parameters, 1)}


def _tokens(text: str) -> list[Token]:
    return list(Dialect.get_or_raise("duckdb").tokenize(text))


def _word(words: Sequence[Token], i: int) -> str:
    """Returns the keyword or sign at a place, in upper case; '' for a quoted one and outside."""
    if not 0 <= i < len(words) or words[i].token_type in _QUOTED:
        return ""
    return words[i].text.upper()


def _reads(words: Sequence[Token], i: int, *expected: str) -> bool:
    return all(_word(words, i + n) == word for n, word in enumerate(expected))


def _closing(words: Sequence[Token], opening: int) -> int:
    """Returns the place of the bracket that closes the one at `opening`."""
    depth = 0
    for i in range(opening, len(words)):
        depth += (_word(words, i) == "(") - (_word(words, i) == ")")
        if depth == 0:
            return i
    return len(words) - 1


def _end_of_strata(words: Sequence[Token], start: int) -> int:
    """Returns the place behind a STRATIFY BY clause."""
    i, depth = start + 2, 0
    while i < len(words):
        sign = _word(words, i)
        depth += (sign == "(") - (sign == ")")
        ends = sign in _ENDS or words[i].token_type is TokenType.ORDER_BY
        if depth < 0 or (depth == 0 and ends):
            break
        i += 1
    return i


def _is_grouped(words: Sequence[Token], start: int) -> bool:
    """Returns whether GROUP BY stands before a STRATIFY BY in the same SELECT."""
    depth = 0
    for i in range(start - 1, -1, -1):
        sign = _word(words, i)
        depth += (sign == ")") - (sign == "(")
        if depth < 0 or (depth == 0 and sign == "SELECT"):
            return False
        if depth == 0 and words[i].token_type is TokenType.GROUP_BY:
            return True
    return False


def _is_estimator(words: Sequence[Token], i: int) -> bool:
    """Returns whether USING names the estimator of an aggregate: `AVG(x USING laplace)`."""
    return _word(words, i + 1) not in ("", "(") and _word(words, i + 2) == ")"


def _cut_clause(
    text: str, words: Sequence[Token], first: int, end: int, marks: Marks, kind: str, form: str
) -> tuple[int, int, str]:
    """Returns which part of the text a mark replaces, and keeps what it stands for."""
    mark = f"{kind}{len(marks.clauses)}__"
    start, stop = words[first].start, words[end - 1].end + 1
    marks.clauses[mark] = text[start:stop]
    return start, stop, form.format(mark)
