"""Patterns of other dialects: those that DuckDB's regular expressions match alike.

PostgreSQL's `~` finds a match anywhere, where DuckDB's asks for one of the whole text. Its patterns
are POSIX's: of what they share with RE2's, letters, sets, groups, alternatives, repetitions and
ends of the text mean the same. A dot is any character, line ends among them.
"""

from __future__ import annotations

import re

from sqlglot import exp

from sqlpriv.dialect.foreign.tree_rewriter import TreeRewriter
from sqlpriv.dialect.marks import duckdb_call

_ANY = r"[\s\S]"
_PARTS = re.compile(r"\[\^?\]?[^\]\[\\]*\]|[^\[\]\\]", re.DOTALL)
_UNALIKE = re.compile(r"\(\?|^\*|[*+?}]\+|\\")
"""Look-aheads, options in front, possessive repetitions, escapes."""


def write_pattern(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Writes PostgreSQL's `x ~ 'a'`, `x ~* 'a'` and `x SIMILAR TO 'a%'`, and Spark's `x RLIKE 'a'`.

    Raises:
        Refused: The pattern is no text, or has what the two do not read alike.
    """
    rewriter.check_arguments(node, "this expression")
    is_spark = rewriter.dialect == "spark" and isinstance(node, exp.RegexpLike)
    if rewriter.dialect != "postgres" and not is_spark:
        raise rewriter.refuse_unknown(node, "a regular expression")
    pattern, is_similar = node.args["expression"], isinstance(node, exp.SimilarTo)
    text = pattern.this if isinstance(pattern, exp.Literal) and pattern.is_string else None
    regex = None if text is None else _in_re2(text, is_similar)
    if regex is None or (is_spark and "." in regex):  # there a dot is no line's end
        hint = "letters, sets, groups, |, * + ? {m,n} and, behind ~, ^ $ . are; or write LIKE 'a%'"
        raise rewriter.refuse(pattern, "this pattern is not known to match alike in DuckDB", hint)
    options = [exp.Literal.string("i")] if isinstance(node, exp.RegexpILike) else []
    return duckdb_call("regexp_matches", node.this, exp.Literal.string(regex), *options)


def _in_re2(pattern: str, is_similar: bool) -> str | None:
    """Returns RE2's pattern that matches the same texts; None of what may match others.

    >>> _in_re2("^a.[b.]", False), _in_re2("(U|K)%_", True), _in_re2("(?=a)", False)
    ('^a[\\\\s\\\\S][b.]', '^(?:(U|K)[\\\\s\\\\S]*[\\\\s\\\\S])$', None)
    """
    parts = _PARTS.findall(pattern)
    if "".join(parts) != pattern or _UNALIKE.search(pattern):
        return None
    if is_similar:
        signs = {"%": f"{_ANY}*", "_": _ANY, ".": "[.]", "^": "[\\^]", "$": "[$]"}
        return f"^(?:{''.join(signs.get(part, part) for part in parts)})$"
    return "".join(_ANY if part == "." else part for part in parts)
