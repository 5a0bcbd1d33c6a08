"""What is surely known of a value's type from the expression alone."""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.marks import function_name
from sqlpriv.statements.keywords import words

NUMERIC = "numeric"
"""Of a part of a moment, in its `meta`: it is a NUMERIC, as EXTRACT of PostgreSQL is."""
_FRACTIONAL_IN_POSTGRES = words("date_part floor ceil ceiling round trunc pow power")
_SUMS_ARE_NUMERIC = ("postgres", "redshift")
"""Where SUM of a BIGINT is a NUMERIC, whose quotients have digits."""
FRACTIONAL = words(
    """var_pop var_samp stddev_pop stddev_samp stddev variance stdev stdevp var varp std sqrt exp ln
    log10 percent_rank cume_dist percentile_cont median epoch"""
)
"""Functions whose value is no whole number's type, whatever their arguments are."""
LOOSE = (
    *(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.Is, exp.In, exp.Between, exp.Like, exp.ILike, exp.Not, exp.And, exp.Or),
    *(exp.NullSafeEQ, exp.NullSafeNEQ),
)
"""Operators that bind loosely, and not in the same order in every dialect."""
WHOLE_TYPES = {exp.DType.INT, exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT}
REAL_TYPES = {exp.DType.DOUBLE, exp.DType.FLOAT, exp.DType.DECIMAL}
_KEEPS = words(
    "sum avg min max abs floor ceil ceiling round coalesce nullif lag lead first_value last_value"
)
"""Functions whose value is of their argument's type."""
_WHOLE = words("count count_if floor ceil ceiling year quarter month day date_part date_diff")


MAYBE_WHOLE = words("count sum min max mode count_if percentile_disc quantile_disc")
"""Aggregates whose type in another dialect follows from their argument's; noised numbers have
types of their own."""


def is_nonzero(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string and float(node.this) != 0


def is_fractional(node: exp.Expr | None, dialect: str) -> bool:
    """Returns whether a value is surely of a type with digits behind the point."""
    match node:
        case exp.Literal():
            return not node.is_string and not str(node.this).isdecimal()
        case exp.Cast() | exp.TryCast():
            return dtype(node) in REAL_TYPES
        case exp.Paren() | exp.Neg() | exp.Filter() | exp.Window() | exp.WithinGroup():
            return is_fractional(node.this, dialect)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.Mod():
            return is_fractional(node.this, dialect) or is_fractional(node.expression, dialect)
        case exp.Case():
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            return any(is_fractional(x, dialect) for x in (*branches, node.args.get("default")))
        case exp.Anonymous():
            name, first = function_name(node), next(iter(node.expressions), None)
            if name in FRACTIONAL or (name == "avg" and dialect != "tsql"):
                return True
            if dialect == "postgres" and name in _FRACTIONAL_IN_POSTGRES:
                return True
            if dialect in _SUMS_ARE_NUMERIC and name == "sum" and _is_bigint(first):
                return True
            return name in _KEEPS and is_fractional(first, dialect)
    return False


def _is_bigint(node: exp.Expr | None) -> bool:
    """Returns whether a value is surely a BIGINT or wider in PostgreSQL, so that SUM of it is a
    NUMERIC. A literal or an INTEGER beside a BIGINT makes no difference to it."""
    match node:
        case exp.Cast() | exp.TryCast():
            return dtype(node) is exp.DType.BIGINT
        case exp.Paren() | exp.Neg() | exp.Filter() | exp.Window():
            return _is_bigint(node.this)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Mod():
            return _is_bigint(node.this) or _is_bigint(node.expression)
        case exp.Anonymous():
            return function_name(node) in ("count", "sum", "row_number", "rank", "dense_rank")
    return False


def is_whole(node: exp.Expr) -> bool:
    """Returns whether a value is surely a whole number, or true or false."""
    match node:
        case exp.Literal():
            return str(node.this).lstrip("-").isdecimal()
        case exp.Paren() | exp.Neg() | exp.Filter() | exp.Window():
            return is_whole(node.this)
        case exp.Add() | exp.Sub() | exp.Mul() | exp.IntDiv() | exp.Mod():
            return is_whole(node.this) and is_whole(node.expression)
        case exp.Cast() | exp.TryCast():
            return dtype(node) in WHOLE_TYPES
        case exp.Anonymous():
            name, first = function_name(node), next(iter(node.expressions), exp.Null())
            of_whole = name in ("sum", "min", "max") and is_whole(first)
            return of_whole or name in _WHOLE or (name == "round" and len(node.expressions) == 1)
        case exp.Case():
            branches = [branch.args["true"] for branch in node.args["ifs"]]
            default = node.args.get("default") or branches[0]
            return all(map(is_whole, (*branches, default)))
    return isinstance(node, (*LOOSE, exp.Boolean))


def dtype(node: exp.Expr) -> exp.DType | None:
    type_ = node.args.get("to")
    return type_.this if isinstance(type_, exp.DataType) else None
