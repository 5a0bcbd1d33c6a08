"""How much longer functions make a text, as the statement says: `repeat(x, 1000)` a thousand times.

Functions that are computed over public lists may grow a text beyond any memory before the result is
found to be too long. DuckDB does not count these bytes against its limit, and it cannot be
interrupted meanwhile.
"""

from __future__ import annotations

import math
import re

from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import walk

LONGEST = 1_000
"""The most characters that a computed text may have. It is also the growth that is assumed where
the text that replaces another is no literal."""
_LENGTHS = ("repeat", "lpad", "rpad", "bitstring")
"""Functions whose text is as long as a number says."""
_FORMATS = ("printf", "format")
_ENDLESS = re.compile(r"\*|\{[^}]*\{")
"""Formats whose widths are other arguments: %*d and {:{}}."""


def text_growth(node: t.Node) -> float:
    """Returns how many times longer an expression's text may be than the texts in it, which `||`
    and concat may still add up; infinite where the statement sets no bound.

    >>> from sqlpriv.statements.tree import FunctionCall, Literal, Name
    >>> cut = FunctionCall("replace", (Name("x"), Literal("ab"), Literal("")))
    >>> text_growth(cut), text_growth(FunctionCall("repeat", (cut, Literal(20))))
    (1.0, 20.0)
    >>> text_growth(FunctionCall("repeat", (Name("x"), Name("n"))))
    inf
    """
    return math.prod(_factor(part) for part in walk(node))


def _factor(node: t.Node) -> float:
    match node:
        case t.FunctionCall("replace", (_, t.Literal(str(old)), t.Literal(str(new)))):
            return max(1.0, len(new) / max(1, len(old)))
        case t.FunctionCall("regexp_replace", (_, _, t.Literal(str(new)), *_)):
            return len(new) + 1.0  # an empty match has no length; \0 stands for a whole one
        case t.FunctionCall("replace" | "regexp_replace"):
            return LONGEST
        case t.FunctionCall(name, (_, t.Literal(int(length)), *_)) if name in _LENGTHS:
            return max(1.0, length)
        case t.FunctionCall(name, (t.Literal(str(pattern)), *_)) if name in _FORMATS:
            widths = sum(map(int, re.findall(r"\d+", pattern)))
            return math.inf if _ENDLESS.search(pattern) else 1.0 + widths
        case t.FunctionCall(name) if name in (*_LENGTHS, *_FORMATS):
            return math.inf
    return 1.0
