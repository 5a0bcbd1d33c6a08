"""Casts and types of other dialects: where they mean the same in DuckDB."""

from __future__ import annotations

import re

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlpriv.dialect.foreign.text_casts import (
    moment_in_style,
    text_in_style,
    write_listed_text,
    write_text_cast,
)
from sqlpriv.dialect.foreign.tree_rewriter import TreeRewriter
from sqlpriv.dialect.foreign.value_kinds import (
    FRACTIONAL,
    MAYBE_WHOLE,
    NUMERIC,
    REAL_TYPES,
    WHOLE_TYPES,
    dtype,
    is_whole,
)
from sqlpriv.dialect.marks import duckdb_call, function_name
from sqlpriv.statements.keywords import SAME_WHOLE

_SAME_TYPES = (exp.DType.BOOLEAN, exp.DType.DATE, exp.DType.TIME)
_WIDE_FLOAT = ("postgres", "tsql", "snowflake", "bigquery", "sqlite")
"""Dialects whose FLOAT has eight bytes, as DuckDB's DOUBLE has."""
_PLAIN_TIMESTAMP = {
    "postgres": {exp.DType.TIMESTAMP},
    "bigquery": {exp.DType.DATETIME, exp.DType.TIMESTAMP},
    "snowflake": {exp.DType.TIMESTAMPNTZ, exp.DType.DATETIME, exp.DType.TIMESTAMP},
    "mysql": {exp.DType.DATETIME},
    "tsql": {exp.DType.DATETIME, exp.DType.DATETIME2},
    "spark": {exp.DType.TIMESTAMPNTZ},
    "trino": {exp.DType.TIMESTAMP},
    "oracle": {exp.DType.TIMESTAMP},
    "sqlite": set(),
}
"""Dialect → sqlglot's types that have neither a time zone nor anything else of their own."""
_ZONED = ("postgres", "bigquery", "spark", "trino")
"""Dialects with a type of moments that have a zone."""
_PARTS_OF_FORMAT = {
    "%Y": "year",
    "%m": "month",
    "%d": "day",
    "%H": "hour",
    "%M": "minute",
    "%j": "dayofyear",
    "%w": "dayofweek",
}
"""What SQLite's CAST(strftime('%Y', x) AS INTEGER) is."""
_WHOLE_BY = {"bigquery": "round", "snowflake": "round", "tsql": "trunc", "spark": "trunc"}
_WHOLE_BY |= {"trino": "round", "sqlite": "trunc", "oracle": "round"}
"""Dialect → what makes a fraction whole in a cast; postgres does as DuckDB's own casts do."""
_AS_TYPED = ("postgres", "mysql")
"""Dialects where halves of a NUMERIC go away from zero in such a cast, and of a double to the even
neighbour, as in DuckDB. A quotient of whole numbers is a NUMERIC there, and a DOUBLE in DuckDB."""
_MONEY = {exp.DType.MONEY: 19, exp.DType.SMALLMONEY: 10}
"""SQL Server's types of money → their digits, of which four stand behind the point."""
_CUTTING = {
    "postgres": {exp.DType.VARCHAR},
    "tsql": {exp.DType.VARCHAR, exp.DType.NVARCHAR},
    **{name: {exp.DType.VARCHAR} for name in ("trino", "oracle")},
    "mysql": {exp.DType.CHAR, exp.DType.VARCHAR},
}
"""Dialect → text types of a length to which a cast cuts a text, and fills none up."""


def write_cast(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    rewriter.check_arguments(node, "this to safe requires_string probe_date_format")
    node.set("requires_string", None)
    node.set("probe_date_format", None)
    kind, arg, sizes = dtype(node), node.this, node.args["to"].expressions
    if rewriter.dialect == "sqlite" and kind in WHOLE_TYPES and function_name(arg) == "strftime":
        part = _PARTS_OF_FORMAT.get(arg.expressions[1].name)
        return duckdb_call(part, arg.expressions[0]) if part else node
    if kind in WHOLE_TYPES and rewriter.written in _AS_TYPED:
        if isinstance(arg.unnest(), exp.Div) and not _has_doubles(arg):
            node.set("this", duckdb_call(SAME_WHOLE, arg))
        return node
    if kind in (exp.DType.DATE, exp.DType.TIMESTAMP) and _is_undashed(arg):
        day = str(arg.this)
        node.set("this", exp.Literal.string(f"{day[:4]}-{day[4:6]}-{day[6:]}"))
    if kind in WHOLE_TYPES and not is_whole(arg):
        if rewriter.dialect not in _WHOLE_BY:
            raise rewriter.refuse(
                node,
                f"{rewriter.written} makes a whole number of a fraction in another way than DuckDB",
                "write FLOOR(x), CEIL(x) or ROUND(x) inside the CAST",
            )
        number = exp.Cast(this=arg, to=exp.DataType(this=exp.DType.DOUBLE))
        node.set("this", duckdb_call(_WHOLE_BY[rewriter.dialect], number))
        return node
    if kind is exp.DType.INTERVAL:
        return exp.Interval(this=arg.unnest())
    if kind is exp.DType.SMALLDATETIME:  # to the minute
        half = exp.Interval(this=exp.Literal.string("30"), unit=exp.Var(this="second"))
        moment = exp.Add(this=exp.cast(arg, "TIMESTAMP"), expression=half)
        return duckdb_call("date_trunc", exp.Literal.string("minute"), moment)
    if kind is exp.DType.DATE and rewriter.dialect == "oracle" and not isinstance(arg, exp.Literal):
        message = "a DATE has a time of day in oracle"
        raise rewriter.refuse(node, message, "write TRUNC(x) for the day of x")
    if kind is exp.DType.TEXT and sizes:
        node.args["to"].set("expressions", [])
        return duckdb_call("left", write_text_cast(rewriter, node), sizes[0].this)
    if kind is exp.DType.TEXT:
        return write_text_cast(rewriter, node)
    return write_listed_text(rewriter, node) if kind is exp.DType.ARRAY else node


def _has_doubles(node: exp.Expr) -> bool:
    """Returns whether a value is made of noised numbers, or by functions whose value is a double,
    as DATE_PART's of PostgreSQL is and EXTRACT's is not."""
    for call in node.find_all(exp.Anonymous):
        name = function_name(call)
        if name in ("avg", *MAYBE_WHOLE, *FRACTIONAL):
            return True
        if name == "date_part" and not call.meta.get(NUMERIC):
            return True
    return node.find(exp.Subquery, exp.Window) is not None


def _is_undashed(node: exp.Expr) -> bool:
    """Returns whether a text is a day without signs, '20241231'; Spark reads none."""
    text = str(node.this) if isinstance(node, exp.Literal) and node.is_string else ""
    return bool(re.fullmatch(r"(19|20)\d{6}", text))


def write_conversion(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Writes SQL Server's CONVERT(type, x) and CONVERT(type, x, style).

    Raises:
        Refused: The type or the style is not known, or a text is cut in the middle of a part.
    """
    word, value, *styles = node.expressions
    sizes = ", ".join(size.name for size in word.expressions)
    name = word.name.lower() if isinstance(word, exp.Column) else function_name(word)
    is_text = name in ("varchar", "nvarchar", "char", "nchar")
    written: exp.Expr | None = None
    if styles and is_text:
        written = text_in_style(value, styles[0].name, int(sizes or 30) if sizes != "max" else 30)
    elif styles and isinstance(value, exp.Literal) and value.is_string:
        kind = exp.DType.DATE if name == "date" else None
        written = moment_in_style(value.name, styles[0].name, kind)
    elif len(styles) < 2:
        try:
            type_ = exp.DataType.build(f"{name}({sizes})" if sizes else name, rewriter.dialect)
        except SqlglotError:
            raise rewriter.refuse_unknown(node, f"the type {name}") from None
        cast = exp.Cast(this=value, to=type_)
        cast.set("to", write_data_type(rewriter, type_))
        written = write_cast(rewriter, cast)
    if written is None:
        raise rewriter.refuse_unknown(node, f"{function_name(node)} with these arguments")
    return written


def write_data_type(rewriter: TreeRewriter, node: exp.Expr) -> exp.Expr:
    """Types by a table: FLOAT has four or eight bytes, DECIMAL alone another number of digits."""
    rewriter.check_arguments(node, "this expressions nested")
    kind, sizes = node.this, node.expressions
    if kind is exp.DType.ARRAY and _is_behind_quantifier(node):
        return node
    if kind in _MONEY and rewriter.dialect == "tsql":
        digits = [exp.DataTypeParam(this=exp.Literal.number(n)) for n in (_MONEY[kind], 4)]
        return exp.DataType(this=exp.DType.DECIMAL, expressions=digits)
    if kind is exp.DType.INTERVAL and _is_of_literal(node) and rewriter.dialect == "postgres":
        return node  # '1 month'::interval
    if kind is exp.DType.SMALLDATETIME and rewriter.dialect == "tsql":
        return node
    if kind is exp.DType.TIMESTAMPTZ and rewriter.dialect in _ZONED:
        return node  # moments are read in UTC, and so a server's clients are told
    if kind is exp.DType.FLOAT and rewriter.dialect in _WIDE_FLOAT:
        node.set("this", exp.DType.DOUBLE)
    elif kind in (exp.DType.VARCHAR, exp.DType.TEXT, exp.DType.CHAR, exp.DType.NVARCHAR):
        cuts = isinstance(node.parent, exp.Cast) and kind in _CUTTING.get(rewriter.dialect, ())
        if sizes and not (cuts and len(sizes) == 1):
            raise rewriter.refuse(
                node, "a text type with a length cuts texts off", "write SUBSTRING"
            )
        node.set("this", exp.DType.TEXT)
    elif kind in _PLAIN_TIMESTAMP[rewriter.dialect]:
        node.set("this", exp.DType.TIMESTAMP)
        if sizes and isinstance(getattr(node.parent, "this", None), exp.Literal):
            node.set("expressions", [])  # as many digits as are written
    elif kind is exp.DType.DECIMAL and not sizes and _keeps_all_digits(rewriter, node):
        node.set("this", exp.DType.DOUBLE)
    elif kind is exp.DType.DECIMAL and (len(sizes) != 2 or rewriter.dialect == "sqlite"):
        raise rewriter.refuse(
            node,
            f"DECIMAL alone has other digits in {rewriter.written}",
            "write DECIMAL(18, 3)",
        )
    elif kind not in WHOLE_TYPES | REAL_TYPES | {*_SAME_TYPES}:
        raise rewriter.refuse_unknown(node, f"the type {getattr(kind, 'value', kind)}")
    return node


def _keeps_all_digits(rewriter: TreeRewriter, type_: exp.Expr) -> bool:
    """Returns whether a DECIMAL without digits has as many as there are: in PostgreSQL, and of a
    noised number, which has no last digit to keep."""
    cast = type_.parent
    calls = cast.this.find_all(exp.Anonymous) if isinstance(cast, exp.Cast) else ()
    is_noised = any(function_name(x) in ("count", "sum", "avg", "min", "max") for x in calls)
    return is_noised or rewriter.written == "postgres"


def _is_of_literal(type_: exp.Expr) -> bool:
    cast = type_.parent
    of = cast.this.unnest() if isinstance(cast, exp.Cast) else None
    return isinstance(of, exp.Literal) and bool(of.is_string)


def _is_behind_quantifier(type_: exp.Expr) -> bool:
    """Returns whether a type is that of the list of `x = ANY ($1::INTEGER[])`."""
    cast = type_.parent
    holder = cast.parent if isinstance(cast, exp.Cast) else None
    holder = holder.parent if isinstance(holder, exp.Paren) else holder
    is_all = isinstance(holder, exp.Anonymous) and function_name(holder) == "all"
    return is_all or isinstance(holder, exp.Any | exp.All)
