"""Casts to text, and texts that are cast: where they mean the same in DuckDB.

Whole numbers, dates and texts are written alike everywhere; numbers with a point, moments and truth
values are not. Of a column no type is known here: `same_text(x)` is a cast to text that is refused
where names are bound, if `x` is none of these.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlpriv.dialect.foreign.value_kinds import MAYBE_WHOLE, WHOLE_TYPES, dtype, is_whole
from sqlpriv.dialect.foreign.writers.function_writers import Arguments, Writer, is_number
from sqlpriv.dialect.marks import as_day, duckdb_call, function_name
from sqlpriv.statements.keywords import SAME_TEXT

if TYPE_CHECKING:
    from sqlpriv.dialect.foreign.tree_rewriter import TreeRewriter

_LIST = re.compile(r"\{([^{}\"'\\]*)\}")
_NUMBER = r"\s*-?\d+(\.\d+)?\s*"
_WHOLE_NUMBER = r"\s*-?\d+\s*"
_DASHED = {4: "%Y", 7: "%Y-%m", 10: "%Y-%m-%d"}
_STYLES = {
    **dict.fromkeys(("23", "120", "121", "126"), _DASHED),
    "112": {4: "%Y", 6: "%Y%m", 8: "%Y%m%d"},
}
"""SQL Server's style of CONVERT → length of the text → what strftime writes of a day alike."""
TEXT_TYPES = ("varchar", "char", "nvarchar", "nchar")
"""SQL Server's words for texts of a length."""


def write_text_cast(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Writes a cast to text.

    Raises:
        Refused: Of a noised number that may have a point.
    """
    arg = node.this
    is_plain = is_whole(arg) or dtype(arg) is exp.DType.DATE
    if is_plain or (isinstance(arg, exp.Literal) and arg.is_string):
        return node
    calls = {function_name(call) for call in arg.find_all(exp.Anonymous)}
    if calls & {"avg", *MAYBE_WHOLE} or arg.find(exp.Subquery, exp.Window) is not None:
        raise rewriter.refuse(
            node, "dialects write numbers and dates as texts in different ways", "leave it out"
        )
    return duckdb_call(SAME_TEXT, arg)


def write_listed_text(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Writes PostgreSQL's `'{1,2}'::int[]` as a list; any other cast to a list stays."""
    text, type_ = node.this, node.args["to"]
    if isinstance(text, exp.Array) and all(isinstance(x, exp.Literal) for x in text.expressions):
        inside = {bool(x.is_string) for x in text.expressions}
        kinds = {inner.this for inner in type_.expressions if isinstance(inner, exp.DataType)}
        if inside == {True} and kinds <= {exp.DType.TEXT, exp.DType.VARCHAR}:
            return text  # ARRAY['a', 'b']::text[]
    if not isinstance(text, exp.Literal) or rewriter.dialect != "postgres":
        return node
    listing, inner = _LIST.fullmatch(str(text.this)), next(iter(type_.expressions), None)
    kind = inner.this if isinstance(inner, exp.DataType) else None
    is_text = kind in (exp.DType.TEXT, exp.DType.VARCHAR)
    of_kind = r".*\S.*" if is_text else _WHOLE_NUMBER if kind in WHOLE_TYPES else _NUMBER
    values = [value.strip() for value in listing[1].split(",")] if listing else [""]
    if not all(re.fullmatch(of_kind, value) and value.upper() != "NULL" for value in values):
        raise rewriter.refuse(
            node, "this text is not read as a list of that type", "write ARRAY['a', 'b']"
        )
    read = exp.Literal.string if is_text else exp.Literal.number
    return exp.Array(expressions=[read(value) for value in values])


def padding(name: str) -> Writer:
    """LPAD and RPAD of a text or a whole number, to a number of characters."""

    def write(args: Arguments) -> exp.Expr | None:
        if len(args) != 3 or not is_number(args[1]):
            return None
        text = exp.DataType(this=exp.DType.TEXT)
        whole = exp.Cast(this=args[0], to=text) if is_whole(args[0]) else args[0]
        return duckdb_call(name, whole, *args[1:])

    return write


def conversion_by_style(args: Arguments) -> exp.Expr | None:
    """SQL Server's CONVERT(date, x), and CONVERT(varchar(7), x, 120) of a day or moment."""
    if len(args) == 2 and isinstance(args[0], exp.Column) and args[0].name.lower() == "date":
        return as_day(args[1])
    if len(args) != 3 or function_name(args[0]) not in TEXT_TYPES:
        return None
    size = ",".join(str(x.this) for x in args[0].expressions)
    formats = _STYLES.get(str(args[2].this), {})
    pattern = formats.get(int(size)) if size.isdecimal() else None
    return duckdb_call("strftime", args[1], exp.Literal.string(pattern)) if pattern else None
