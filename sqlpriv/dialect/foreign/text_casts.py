"""Casts to text, and texts that are cast: where they mean the same in DuckDB.

Whole numbers, dates and texts are written alike everywhere; numbers with a point, moments and truth
values are not. Of a column no type is known here: `same_text(x)` is a cast to text that is refused
where names are bound, if `x` is none of these.
"""

from __future__ import annotations

import datetime as dt
import re
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlpriv.dialect.foreign.value_kinds import (
    MAYBE_WHOLE,
    WHOLE_TYPES,
    dtype,
    is_fractional,
    is_whole,
)
from sqlpriv.dialect.foreign.writers.function_writers import Arguments, Writer, is_number
from sqlpriv.dialect.marks import duckdb_call, function_name
from sqlpriv.statements.keywords import SAME_TEXT

if TYPE_CHECKING:
    from sqlpriv.dialect.foreign.tree_rewriter import TreeRewriter

_LIST = re.compile(r"\{([^{}\"'\\]*)\}")
_NUMBER = r"\s*-?\d+(\.\d+)?\s*"
_WHOLE_NUMBER = r"\s*-?\d+\s*"
_STYLES = """1=%m/%d/%y 2=%y.%m.%d 3=%d/%m/%y 4=%d.%m.%y 5=%d-%m-%y 10=%m-%d-%y 11=%y/%m/%d
    12=%y%m%d 23=%Y-%m-%d 101=%m/%d/%Y
    102=%Y.%m.%d 103=%d/%m/%Y 104=%d.%m.%Y 105=%d-%m-%Y 106=%d_%b_%Y
    107=%b_%d,_%Y 110=%m-%d-%Y 111=%Y/%m/%d 112=%Y%m%d 8=%H:%M:%S 24=%H:%M:%S 108=%H:%M:%S
    20=%Y-%m-%d_%H:%M:%S 120=%Y-%m-%d_%H:%M:%S 21=%Y-%m-%d_%H:%M:%S 121=%Y-%m-%d_%H:%M:%S
    25=%Y-%m-%d_%H:%M:%S 126=%Y-%m-%dT%H:%M:%S"""
_FORMATS = {
    style: form.replace("_", " ")
    for style, _, form in (entry.partition("=") for entry in _STYLES.split())
}
"""SQL Server's style of CONVERT → strftime's format of it, without fractions of a second."""
_LETTERS = {"%Y": 4, "%b": 3}
"""How many letters a directive writes; all others write 2."""
_WITH_CLOCK = 17
"""Letters of a day and a time of day: a DATE has no time to write."""
_ROUNDED = {"floor", "ceil", "ceiling", "round"}
_WRITTEN = "dialects write numbers and dates as texts in different ways"
CONVERSIONS = ("convert", "try_convert")
"""SQL Server's functions whose first argument is a type."""


def write_text_cast(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Writes a cast to text.

    Raises:
        Refused: Of a noised number that may have a point.
    """
    arg = node.this
    if is_whole(arg):
        node.set("this", _without_point(rewriter, arg))
        return node
    if dtype(arg) is exp.DType.DATE or (isinstance(arg, exp.Literal) and arg.is_string):
        return node
    calls = {function_name(call) for call in arg.find_all(exp.Anonymous)}
    if calls & {"avg", *MAYBE_WHOLE} or arg.find(exp.Subquery, exp.Window) is not None:
        raise rewriter.refuse(node, _WRITTEN, "leave it out")
    return duckdb_call(SAME_TEXT, arg)


def _without_point(rewriter: TreeRewriter, number: exp.Expr) -> exp.Expr:
    """Returns a whole number as it is written without a point: FLOOR(x) is a DOUBLE in DuckDB.

    Raises:
        Refused: FLOOR(x) is of the type of x in this dialect, and has a point if x has one.
    """
    outside_of_casts = number.walk(prune=lambda part: isinstance(part, exp.Cast))
    if not {*map(function_name, outside_of_casts)} & _ROUNDED:
        return number
    if rewriter.dialect in ("trino", "sqlite"):
        raise rewriter.refuse(number, _WRITTEN, "write CAST(CAST(x AS BIGINT) AS VARCHAR)")
    return exp.cast(number, "BIGINT")


def joined_number(rewriter: TreeRewriter, value: exp.Expr) -> exp.Expr:
    """Returns a value that is joined to texts, a whole number without a point.

    Raises:
        Refused: It is a number that has one.
    """
    if isinstance(value, exp.Literal):
        return value
    if is_whole(value):
        return _without_point(rewriter, value)
    inside = value.unnest()
    is_rounded = function_name(inside) == "round" and len(inside.expressions) > 1
    if is_rounded or is_fractional(value, rewriter.dialect):
        raise rewriter.refuse(value, _WRITTEN, "leave the text out, or cut the number off")
    return value


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


def moment_in_style(text: str, style: str, kind: exp.DType | None) -> exp.Expr | None:
    """Returns the moment that SQL Server's CONVERT(DATE, '31/12/2024', 103) is; None of another."""
    pattern = _FORMATS.get(style, "")
    for ending in ("", ".%f") if "%S" in pattern else ("", " %H:%M:%S"):
        try:
            moment = dt.datetime.strptime(text, pattern + ending)
        except ValueError:
            continue
        if kind is exp.DType.DATE:
            return exp.cast(exp.Literal.string(moment.date().isoformat()), "DATE")
        return exp.cast(exp.Literal.string(moment.isoformat(" ")), "TIMESTAMP")
    return None


def text_in_style(moment: exp.Expr, style: str, length: int) -> exp.Expr | None:
    """Returns the text of CONVERT(VARCHAR(7), moment, 120); None of a style that is not known, a
    part that is cut in the middle, or a length that tells a DATE from a moment."""
    whole, written, size = _FORMATS.get(style, ""), "", 0
    for part in re.findall("%.|.", whole):
        size += _LETTERS.get(part, 2) if part.startswith("%") else 1
        if size > length:
            break
        written += part
        if size == length:
            break
    else:
        size = length
    has_both = "%d" in whole and "%H" in whole
    if not written or size != length or (has_both and length >= _WITH_CLOCK):
        return None
    return duckdb_call("strftime", moment, exp.Literal.string(written))
