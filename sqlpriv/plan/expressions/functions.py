"""Functions and casts of row expressions: each becomes a total expression or is refused.

A function enters when its result on every value is known not to raise an error and its bounds can
be told from its arguments' bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlpriv.dialect import tree as t
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.dates import DATE_PARTS, UNITS
from sqlpriv.plan.expressions.literal_types import coerce_literal, refuse
from sqlpriv.plan.expressions.traverse import as_literal
from sqlpriv.plan.expressions.value_facts import column_scale

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder

MAX_BUCKETS = 1000
ONE_NUMBER = {"abs": "abs", "@": "abs", "floor": "floor", "ceil": "ceil", "ceiling": "ceil"}
OPERATORS = {"mod": "%", "fmod": "%", "divide": "//", "add": "+", "subtract": "-", "multiply": "*"}
PART_NAMES = {
    **{name: name for name in DATE_PARTS},
    "dayofmonth": "day", "dayofweek": "dow", "dayofyear": "doy", "weekofyear": "week",
    "weekday": "dow", "years": "year", "months": "month", "days": "day",
}  # fmt: skip

_PATTERN = "the pattern is a literal, as in name LIKE 'a%'"
_TEXT = "compare whole values: region IN ('north', 'south'), or CASE region WHEN 'north' THEN …"
HINTS = {
    **dict.fromkeys(
        ("||", "concat", "lower", "upper", "regexp_matches", "suffix", "length", "trim", "replace",
         "left", "right", "~", "similar_to", "glob"), _TEXT),
    **dict.fromkeys(("like", "ilike", "contains", "starts_with", "prefix"), _PATTERN),
    **dict.fromkeys(("substring", "substr"), "write SUBSTRING(x, start, length) with numbers"),
    "date_trunc": "write date_trunc('month', d)",
    **dict.fromkeys(("date_diff", "datediff"), "write date_diff('day', first, last)"),
    "random": "noise is added by the kernel, never by the statement",
    "sqrt": "apply it to an aggregate: sqrt(AVG(x))",
    "ln": "apply it to an aggregate: ln(AVG(x))",
    "log": "apply it to an aggregate: log(AVG(x))",
    "exp": "apply it to an aggregate: exp(AVG(x))",
    "pow": "write x * x", "power": "write x * x", "^": "write x * x", "**": "write x * x",
}  # fmt: skip
_KNOWN = (
    "row expressions know + - * / // %, comparisons, AND/OR/NOT, IN, BETWEEN, IS NULL, CASE, IF, "
    "COALESCE, NULLIF, LEAST, GREATEST, abs, floor, ceil, round, date parts"
)


def function_hint(name: str) -> str:
    """Returns what to write instead of a function or operator that rows cannot have."""
    return HINTS.get(name, _KNOWN)


def bind_call(binder: Binder, node: t.FunctionCall) -> a.Expr:
    """Returns the row expression of a scalar function call.

    Raises:
        Refused: The function is not one of the total ones, or its arguments do not fit.
    """
    match node.name, node.args:
        case name, (arg,) if name in ONE_NUMBER:
            return a.Call(ONE_NUMBER[name], (binder.bind(arg),))
        case "round", (arg,) | (arg, t.Literal(0)):
            return a.Call("round", (binder.bind(arg),))
        case name, (left, right) if name in OPERATORS:
            return a.Call(OPERATORS[name], (binder.bind(left), binder.bind(right)))
        case "coalesce" | "ifnull", (_, *_):
            return a.Call("coalesce", binder.bind_together(node.args))
        case "least" | "greatest", (_, *_):
            return a.Call(node.name, binder.bind_together(node.args))
        case "nullif", (left, right):
            return _nullif(binder, left, right)
        case "if" | "iff", (test, then, otherwise):
            return binder.bind(t.CaseWhen(((test, then),), otherwise, pos=node.pos))
        case "width_bucket", (arg, *ends):
            return _bucket(binder, node, arg, ends)
        case "like" | "ilike", (arg, t.Literal(str(pattern)), *rest) if _is_text(rest):
            sign = str(rest[0].value) if rest and isinstance(rest[0], t.Literal) else ""
            return a.Like(binder.bind(arg), pattern, sign, node.name == "ilike")
        case "substring" | "substr", (arg, t.Literal(int(start)), t.Literal(int(length))):
            return a.Substring(binder.bind(arg), start, length)
        case "starts_with" | "prefix", (arg, t.Literal(str(text))):
            return a.Like(binder.bind(arg), escape_pattern(text) + "%", "!")
        case "contains", (arg, t.Literal(str(text))):
            return a.Like(binder.bind(arg), f"%{escape_pattern(text)}%", "!")
        case "date_part" | "datepart" | "extract", (t.Literal(str(part)), arg):
            return _date_part(binder, node, part.lower(), arg)
        case "date_trunc" | "datetrunc", (t.Literal(str(unit)), arg) if unit.lower() in UNITS:
            return a.Call(f"trunc {unit.lower()}", (binder.bind(arg),))
        case "date_diff" | "datediff", (t.Literal("day" | "days"), first, last):
            return days_between(binder.bind(first), binder.bind(last))
        case part, (arg,) if part in PART_NAMES:
            return _date_part(binder, node, part, arg)
    raise refuse(
        node, f"the function {node.name} cannot be used on private rows", function_hint(node.name)
    )


def bind_cast(binder: Binder, node: t.Cast) -> a.Expr:
    """Returns a cast that no row can make fail; others are refused.

    To a number from a number (to integer by rounding, when bounded), from a boolean to 0 or 1, and
    to a type that the expression has already; literals to whatever they can be read as.
    """
    target = _cast_type(node.type)
    if isinstance(node.arg, t.Literal) and target in (Type.DATE, Type.TIMESTAMP):
        return coerce_literal(node.arg, target)
    if isinstance(node.arg, t.Literal) and node.arg.value is None and target:
        return a.Lit(None, target)
    arg = binder.bind(node.arg)
    shape = binder.shape(node.arg, arg)
    source, scale = shape.type, column_scale(node.type)
    if scale is not None and source in (Type.INTEGER, Type.REAL):
        return arg if shape.scale == scale else a.Call(f"scale {scale}", (arg,))
    if target is Type.REAL and shape.scale is not None:  # a DECIMAL becomes a DOUBLE
        return a.Call("real", (arg,))
    if target is source and not (target is Type.INTEGER and node.type not in _WHOLE):
        return arg
    if target is Type.REAL and source is Type.INTEGER:
        return a.Call("real", (arg,))
    if target is Type.INTEGER and source is Type.REAL:
        # a DECIMAL's half goes away from zero, a DOUBLE's to the even neighbour
        return a.Call("integer", (arg if shape.scale is None else a.Call("round", (arg,)),))
    if target is Type.INTEGER and source is Type.BOOLEAN:
        one, none = a.Lit(1, Type.INTEGER), a.Lit(0, Type.INTEGER)
        return a.Case(((arg, one), (a.Call("not", (arg,)), none)), a.Lit(None, Type.INTEGER))
    raise refuse(
        node,
        f"a cast from {source} to {node.type} could fail on some row",
        "casts between INTEGER or BIGINT and DOUBLE, and from BOOLEAN, can be used",
    )


_WHOLE = {"INTEGER", "INT", "BIGINT", "HUGEINT", "INT4", "INT8", "INT32", "INT64"}


def _cast_type(name: str) -> Type | None:
    """Returns the target's type; narrow integers are left out: a value might not fit them."""
    base = name.upper().split("(")[0].strip()
    types = {
        **dict.fromkeys(_WHOLE, Type.INTEGER), **dict.fromkeys(("VARCHAR", "TEXT"), Type.TEXT),
        **dict.fromkeys(("DOUBLE", "FLOAT8"), Type.REAL),
        **dict.fromkeys(("BOOLEAN", "BOOL"), Type.BOOLEAN),
        "DATE": Type.DATE, "TIMESTAMP": Type.TIMESTAMP,
    }  # fmt: skip
    return types.get(base)


def escape_pattern(text: str) -> str:
    """Returns the text as a pattern that it alone matches, with ! as its ESCAPE.

    >>> escape_pattern("50%!")
    '50!%!!'
    """
    return "".join(f"!{c}" if c in "!%_" else c for c in text)


def _is_text(rest: list[t.Node]) -> bool:
    return not rest or (isinstance(rest[0], t.Literal) and isinstance(rest[0].value, str))


def _nullif(binder: Binder, left: t.Node, right: t.Node) -> a.Expr:
    whole, other = binder.bind_together((left, right))
    nothing = a.Lit(None, binder.shape(left, whole).type)
    return a.Case(((a.Call("=", (whole, other)), nothing),), whole)


def _bucket(binder: Binder, node: t.FunctionCall, arg: t.Node, ends: Sequence[t.Node]) -> a.Expr:
    """width_bucket(x, low, high, n): 0 below low, 1 to n in between, n + 1 from high on."""
    numbers = [number.value for end in ends if (number := as_literal(end))]
    match numbers:
        case [int() | float() as low, int() | float() as high, int() as n] if (
            len(ends) == 3 and low < high and 1 <= n <= MAX_BUCKETS
        ):
            edges = [low + (high - low) * i / n for i in range(n + 1)]
            return a.Bin(binder.bind(arg), tuple(map(float, edges)))
    message = f"width_bucket takes numbers low < high and from 1 to {MAX_BUCKETS} buckets"
    raise refuse(node, message, "write width_bucket(age, 0, 100, 10)")


def days_between(first: a.Expr, last: a.Expr) -> a.Expr:
    """Returns how many midnights lie between two moments."""
    return a.Call("-", (a.Call("days", (last,)), a.Call("days", (first,))))


def _date_part(binder: Binder, node: t.FunctionCall, part: str, arg: t.Node) -> a.Expr:
    if part not in PART_NAMES:
        raise refuse(
            node, f"there is no date part {part}", f"one of: {', '.join(sorted(DATE_PARTS))}"
        )
    return a.Call(PART_NAMES[part], (binder.bind(arg),))
