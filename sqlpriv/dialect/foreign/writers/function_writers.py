"""How DuckDB writes functions of other dialects whose names, arguments or NULLs differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from sqlpriv.dialect.marks import duckdb_call

Arguments = Sequence[exp.Expr]
Writer = Callable[[Arguments], exp.Expr | None]
"""Returns DuckDB's expression for a call with these arguments; None where it is not the same."""


def parenthesize(node: exp.Expr) -> exp.Expr:
    """Returns an operand that stays together wherever it is put."""
    simple = (
        exp.Column | exp.Literal | exp.Anonymous | exp.Paren | exp.Null | exp.Boolean | exp.Cast
    )
    return node if isinstance(node, simple) else exp.Paren(this=node)


def is_number(node: exp.Expr) -> bool:
    """Returns whether a number is written here, without a sign."""
    return isinstance(node, exp.Literal) and not node.is_string


def rename(name: str) -> Writer:
    return lambda args: duckdb_call(name, *args)


def either(first: Writer, second: Writer) -> Writer:
    return lambda args: first(args) or second(args)


def one_or_several(aggregate: str, function: str) -> Writer:
    """SQLite's MAX(x), an aggregate, and MAX(x, y), which is NULL where one of them is."""
    several = null_if_any(function)
    return lambda args: several(args) if len(args) > 1 else duckdb_call(aggregate, *args)


def null_if_any(name: str) -> Writer:
    """LEAST and GREATEST that are NULL where one argument is; DuckDB's skip NULL."""

    def write(args: Arguments) -> exp.Expr | None:
        tests = [
            exp.Not(
                this=exp.Paren(this=exp.Is(this=parenthesize(arg.copy()), expression=exp.Null()))
            )
            for arg in args
            if not isinstance(arg, exp.Literal)
        ]
        call = duckdb_call(name, *args)
        return exp.Case(ifs=[exp.If(this=exp.and_(*tests), true=call)]) if tests else call

    return write


def joined_texts(args: Arguments) -> exp.Expr | None:
    """CONCAT that is NULL where one argument is, as `||` is in DuckDB."""
    if not args:
        return None
    joined = parenthesize(args[0])
    for arg in args[1:]:
        joined = exp.DPipe(this=joined, expression=parenthesize(arg))
    return exp.Paren(this=joined)


def print_call(args: Arguments) -> exp.Expr | None:
    """FORMAT of whole numbers and texts, `'%d-%s'`, which is DuckDB's printf."""
    pattern = args[0] if args else None
    if not isinstance(pattern, exp.Literal) or not re.fullmatch(r"([^%]|%[%ds])*", pattern.name):
        return None
    return duckdb_call("printf", *args)


def bucket_between(args: Arguments) -> exp.Expr | None:
    """BigQuery's RANGE_BUCKET(x, [10, 20]): how many of the ends are not above x."""
    edges = args[1].expressions if len(args) == 2 and isinstance(args[1], exp.Array) else []
    if not edges:
        return None
    ifs = [exp.If(this=exp.Is(this=parenthesize(args[0]), expression=exp.Null()), true=exp.Null())]
    for place, edge in enumerate(edges):
        below = exp.LT(this=parenthesize(args[0].copy()), expression=parenthesize(edge))
        ifs.append(exp.If(this=below, true=exp.Literal.number(place)))
    return exp.Case(ifs=ifs, default=exp.Literal.number(len(edges)))


def texts_without_null(args: Arguments) -> exp.Expr | None:
    """Oracle's a || b: NULL is an empty text there, and an empty one NULL."""
    joined = duckdb_call("concat", *args)
    return duckdb_call("nullif", joined, exp.Literal.string("")) if args else None


def texts_joined_by(args: Arguments) -> exp.Expr | None:
    """Snowflake's CONCAT_WS, which is NULL where one argument is."""
    if len(args) < 2:
        return None
    separated = [part for text in args[1:] for part in (args[0].copy(), text)]
    return joined_texts(separated[1:])


def list_without_null(args: Arguments) -> exp.Expr | None:
    """ARRAY_AGG of Snowflake and Spark, and COLLECT_LIST, which leave NULL out."""
    if len(args) != 1:
        return None
    value = args[0]
    bare = value.expressions[0] if isinstance(value, exp.Distinct) else value
    is_there = exp.Not(this=exp.Is(this=parenthesize(bare.copy()), expression=exp.Null()))
    return exp.Filter(this=duckdb_call("array_agg", value), expression=exp.Where(this=is_there))


def joined_list(args: Arguments) -> exp.Expr | None:
    """Snowflake's LISTAGG; one without a separator is not DuckDB's, which takes a comma."""
    parts = [part for arg in args for part in (arg.expressions if arg is args[0] else [arg])]
    is_distinct = bool(args) and isinstance(args[0], exp.Distinct)
    count = len(parts) if is_distinct else len(args)
    return duckdb_call("string_agg", *args) if count == 2 else None


def place_in_list(args: Arguments) -> exp.Expr | None:
    """MySQL's FIELD(x, 'a', 'b'): 1 of 'a', 2 of 'b', 0 of all others and of NULL."""
    if len(args) < 2:
        return None
    ifs = [
        exp.If(this=value, true=exp.Literal.number(place))
        for place, value in enumerate(args[1:], 1)
    ]
    return exp.Case(this=args[0], ifs=ifs, default=exp.Literal.number(0))


def item_in_list(args: Arguments) -> exp.Expr | None:
    """SQL Server's CHOOSE(n, 'a', 'b'), MySQL's ELT: 'a' of 1, 'b' of 2, else NULL."""
    if len(args) < 2:
        return None
    ifs = [
        exp.If(this=exp.Literal.number(place), true=value)
        for place, value in enumerate(args[1:], 1)
    ]
    return exp.Case(this=args[0], ifs=ifs)


def decode(args: Arguments) -> exp.Expr | None:
    """DECODE(x, a, 1, b, 2, 0): what belongs to the value that x is, NULL being one."""
    if len(args) < 3:
        return None
    pairs = zip(args[1::2], args[2::2], strict=False)
    ifs = [
        exp.If(
            this=exp.NullSafeEQ(this=parenthesize(args[0].copy()), expression=parenthesize(value)),
            true=result,
        )
        for value, result in pairs
    ]
    return exp.Case(ifs=ifs, default=args[-1] if len(args) % 2 == 0 else None)
