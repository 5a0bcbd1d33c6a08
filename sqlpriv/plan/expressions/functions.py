"""Functions and casts of row expressions: each becomes a total expression or is refused.

A function enters when its result on every value is known not to raise an error and its bounds can
be told from its arguments' bounds.
"""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.operations import MAX_SCALE
from sqlpriv.plan.expressions.dates import DATE_PARTS, DISTANCES, UNITS
from sqlpriv.plan.expressions.literal_types import coerce_literal, refuse
from sqlpriv.plan.expressions.traverse import as_literal
from sqlpriv.plan.expressions.value_facts import column_scale
from sqlpriv.statements import tree as t

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder

MAX_BUCKETS = 1000
ONE_NUMBER = {
    **{name: name for name in ("abs", "floor", "ceil", "sqrt", "cbrt", "ln", "log10", "log2", "exp",
                               "trunc", "sign")},
    "@": "abs", "ceiling": "ceil", "log": "log10",
}  # fmt: skip
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
}  # fmt: skip
_KNOWN = (
    "row expressions know + - * / // %, comparisons, AND/OR/NOT, IN, BETWEEN, IS NULL, CASE, IF, "
    "COALESCE, NULLIF, LEAST, GREATEST, abs, floor, ceil, round, sqrt, ln, exp, pow, date parts; "
    "any function of columns with declared lists of values"
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
        case "round", (arg, digits) if (places := _whole_number(digits)) is not None:
            return _round_to(binder, node, arg, places)
        case "pow" | "power" | "**" | "^", (base, exponent):
            return a.Call("pow", (binder.bind(base), binder.bind(exponent)))
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
        case "date_part" | "datepart" | "extract", (
            t.Literal(str(part)),
            t.FunctionCall("age", (last, first)),
        ) if part.lower().removesuffix("s") == "year":
            return _distance(binder, node, "year", (first, last), whole=True)
        case "date_part" | "datepart" | "extract", (t.Literal(str(part)), arg):
            return _date_part(binder, node, part.lower(), arg)
        case "date_trunc" | "datetrunc", (t.Literal(str(unit)), arg) if unit.lower() in UNITS:
            return a.Call(f"trunc {unit.lower()}", (binder.bind(arg),))
        case ("date_diff" | "datediff", (t.Literal("day" | "days"), first, last)):
            return days_between(binder.bind(first), binder.bind(last))
        case "date_diff" | "datediff" | "date_sub" | "datesub", (t.Literal(str(unit)), first, last):
            return _distance(binder, node, unit.lower().removesuffix("s"), (first, last))
        case "last_day", (arg,):
            return a.Call("date", (a.Shift(a.Call("trunc month", (binder.bind(arg),)), 1, -1, 0),))
        case "dayname" | "monthname", (arg,):
            return _name_of(binder, node.name, arg)
        case "decade", (arg,):
            return a.Call("//", (a.Call("year", (binder.bind(arg),)), a.Lit(10, Type.INTEGER)))
        case part, (arg,) if part in PART_NAMES:
            return _date_part(binder, node, part, arg)
    raise refuse(
        node, f"the function {node.name} cannot be used on private rows", function_hint(node.name)
    )


def _whole_number(node: t.Node) -> int | None:
    number = as_literal(node)
    return number.value if number is not None and type(number.value) is int else None


def _round_to(binder: Binder, node: t.Node, arg: t.Node, places: int) -> a.Expr:
    """round(x, n): of a DOUBLE it is a DOUBLE, of a DECIMAL one of n digits, of an integer one."""
    expr = binder.bind(arg)
    shape = binder.shape(arg, expr)
    if abs(places) > MAX_SCALE:
        raise refuse(node, f"ROUND takes from -{MAX_SCALE} to {MAX_SCALE} digits", "round(x, 2)")
    if shape.type is Type.INTEGER:
        rounded = a.Call("integer", (a.Call(f"scale {places}", (expr,)),))
        return expr if places >= 0 else rounded
    if shape.scale is not None and places >= shape.scale:
        return expr
    rounded = a.Call(f"scale {places}", (expr,))
    return rounded if shape.scale is not None else a.Call("real", (rounded,))


def _distance(
    binder: Binder,
    node: t.FunctionCall,
    unit: str,
    ends: tuple[t.Node, t.Node],
    *,
    whole: bool = False,
) -> a.Expr:
    """date_diff(unit, first, last), which counts beginnings of units between two moments; date_sub
    counts whole units."""
    whole = whole or node.name in ("date_sub", "datesub")
    units = (*DISTANCES[1:], "day") if whole else DISTANCES
    if unit not in units:
        raise refuse(node, f"there is no distance in {unit}", f"one of: {', '.join(units)}")
    first, last = binder.bind_together(ends)
    return a.Call(f"{'sub' if whole else 'diff'} {unit}", (first, last))


def _name_of(binder: Binder, function: str, arg: t.Node) -> a.Expr:
    """dayname(d) and monthname(d): English, as the engine has them, whatever the locale."""
    names = calendar.day_name if function == "dayname" else calendar.month_name
    part = a.Call("isodow" if function == "dayname" else "month", (binder.bind(arg),))
    first = 1 if function == "dayname" else 0
    tests = tuple(
        (a.Call("=", (part, a.Lit(number + first, Type.INTEGER))), a.Lit(str(name), Type.TEXT))
        for number, name in enumerate(names)
        if name
    )
    name = a.Case(tests, a.Lit(None, Type.TEXT))
    if not binder.shape(arg, part).nullable:
        binder.evaluated.add(name)
    return name


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
    if source in (Type.DATE, Type.TIMESTAMP) and target in (Type.DATE, Type.TIMESTAMP):
        conversion = "date" if target is Type.DATE else "midnight"
        return arg if source is target else a.Call(conversion, (arg,))
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
