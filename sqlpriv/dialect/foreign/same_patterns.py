"""Patterns of other dialects: those that DuckDB's regular expressions match alike.

PostgreSQL's `~` finds a match anywhere, where DuckDB's asks for one of the whole text. Its patterns
are POSIX's: of what they share with RE2's, letters, sets, groups, alternatives, repetitions and
ends of the text mean the same. A dot is any character, line ends among them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlpriv.dialect.foreign.writers.function_writers import Arguments, Writer
from sqlpriv.dialect.marks import duckdb_call

if TYPE_CHECKING:
    from sqlpriv.dialect.foreign.tree_rewriter import TreeRewriter

_ANY = r"[\s\S]"
_DOTS = {
    "snowflake": r"[^\n]",
    "spark": r"[^\n\r\x{85}\x{2028}\x{2029}]",
    **dict.fromkeys(("trino", "oracle"), r"[^\n]"),
    "mysql": r"[^\n\x0b\x0c\r\x{85}\x{2028}\x{2029}]",
}
"""Dialect with RLIKE → what a dot is there: no end of a line."""
_PARTS = re.compile(r"\[\^?\]?[^\]\[\\]*\]|[^\[\]\\]", re.DOTALL)
_UNALIKE = re.compile(r"\(\?|^\*|[*+?}]\+|\\")
"""Look-aheads, options in front, possessive repetitions, escapes."""


def write_pattern(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Writes PostgreSQL's `x ~ 'a'`, `x ~* 'a'` and `x SIMILAR TO 'a%'`, `x RLIKE 'a'` of Spark and
    MySQL, and Snowflake's, which matches the whole text.

    Raises:
        Refused: The pattern is no text, or has what the two do not read alike.
    """
    rewriter.check_arguments(node, "this expression full_match")
    is_plain = isinstance(node, exp.RegexpLike)
    is_whole = rewriter.dialect == "snowflake" and is_plain
    if rewriter.dialect != "postgres" and not (rewriter.dialect in _DOTS and is_plain):
        raise rewriter.refuse_unknown(node, "a regular expression")
    pattern, is_similar = node.args["expression"], isinstance(node, exp.SimilarTo)
    text = pattern.this if isinstance(pattern, exp.Literal) and pattern.is_string else None
    regex = None if text is None else _in_re2(text, is_similar, _DOTS.get(rewriter.dialect, _ANY))
    if regex is None:
        hint = "letters, sets, groups, |, * + ? {m,n} and, behind ~, ^ $ . are; or write LIKE 'a%'"
        raise rewriter.refuse(pattern, "this pattern is not known to match alike in DuckDB", hint)
    options = [exp.Literal.string("i")] if isinstance(node, exp.RegexpILike) else []
    regex = f"^(?:{regex})$" if is_whole else regex
    return duckdb_call("regexp_matches", node.this, exp.Literal.string(regex), *options)


def sets_in_like(pattern: str) -> str | None:
    """Returns RE2's pattern for one of SQL Server's LIKE with sets; None where a set has an odd
    range, or no end.

    >>> sets_in_like("[a-c]_%[^.]"), sets_in_like("[a-]"), sets_in_like("[a")
    ('^[a-c][\\\\s\\\\S][\\\\s\\\\S]*[^\\\\.]$', None, None)
    """
    written = ""
    for part in re.findall(r"\[\^?[^\]]+\]|.", pattern, re.DOTALL):
        if len(part) > 1:
            sign = "^" if part[1] == "^" else ""
            inside = part[1 + len(sign) : -1]
            ranges = re.sub(r"[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]", "", inside)
            if not inside or "-" in ranges:
                return None
            plain = re.sub(r"[^\w\s-]", lambda sign: "\\" + sign[0], inside)
            written += f"[{sign}{plain}]"
        elif part == "[":
            return None
        else:
            written += {"%": f"{_ANY}*", "_": _ANY}.get(part) or re.escape(part)
    return f"^{written}$"


def pattern_call(
    name: str, dialect: str, *, all_matches: bool = False, or_null: bool = False
) -> Writer:
    """Writes a function of a text and a pattern that both read alike; None of another pattern.

    Args:
        name: DuckDB's function.
        dialect: The dialect whose patterns they are.
        all_matches: Whether it is about all matches of a text; PostgreSQL's 'g' says so itself.
        or_null: Whether it is NULL of a text that does not match.
    """

    def write(args: Arguments) -> exp.Expr | None:
        literals = [arg for arg in args[1:] if isinstance(arg, exp.Literal)]
        if len(args) < 2 or len(literals) < len(args) - 1 or not literals[0].is_string:
            return None
        regex = _in_re2(literals[0].name, False, _DOTS.get(dialect, _ANY))
        if regex is None or any(s in x.name for x in literals[1:] for s in "\\$"):
            return None
        options = [exp.Literal.string("g")] if all_matches else []
        call = duckdb_call(name, args[0], exp.Literal.string(regex), *literals[1:], *options)
        if not or_null:
            return call
        matches = duckdb_call("regexp_matches", args[0].copy(), exp.Literal.string(regex))
        return exp.Case(ifs=[exp.If(this=matches, true=call)])

    return write


def _in_re2(pattern: str, is_similar: bool, dot: str = _ANY) -> str | None:
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
    return "".join(dot if part == "." else part for part in parts)
