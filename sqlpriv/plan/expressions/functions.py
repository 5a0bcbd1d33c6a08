"""Functions of row expressions: each becomes a total expression or is refused.

A function enters when its result on every value is known not to raise an error and its bounds can
be told from its arguments' bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.operations import MAX_SCALE
from sqlpriv.plan.expressions import moment_functions
from sqlpriv.plan.expressions.casts import round_decimal
from sqlpriv.plan.expressions.columns import plain_text_casts
from sqlpriv.plan.expressions.facts.dates import UNITS
from sqlpriv.plan.expressions.literal_types import INFINITY, NAN, refuse
from sqlpriv.plan.expressions.moment_lists import (
    bind_moment_of_number,
    bind_name,
    bind_strftime,
    bind_time_bucket,
    format_of_letters,
)
from sqlpriv.plan.expressions.operators import with_infinity
from sqlpriv.plan.expressions.row_functions import (
    ONE_NUMBER,
    OPERATORS,
    WHOLE_VALUES,
    function_hint,
)
from sqlpriv.plan.expressions.time_zones import bind_time_zone
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import (
    REAL_AVERAGE,
    REAL_QUOTIENT,
    TITLES,
    WHOLE_AVERAGE,
    WHOLE_QUOTIENT,
)
from sqlpriv.statements.traverse import as_literal, walk

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder

MAX_BUCKETS = 1000


def bind_call(binder: Binder, node: t.FunctionCall) -> a.Expr:
    """Returns the row expression of a scalar function call.

    Raises:
        Refused: The function is not one of the total ones, or its arguments do not fit.
    """
    match node.name, node.args:
        case "length" | "len" | "strlen" | "lower" | "lcase" | "upper" | "ucase" as name, (arg,):
            return _text_function(binder, node, name, arg)
        case "same_text", (_,):
            return binder.bind(plain_text_casts(binder, node))
        case "timezone", (t.Literal(str(zone)), arg):
            return bind_time_zone(binder, node, zone, arg)
        case "same_whole", (arg,):
            return _rounded_quotient(binder, arg)
        case "same_real", (arg,):
            return _real_number(binder, node, arg)
        case "same_quotient", (left, right):
            return _quotient(binder, node, left, right)
        case "left" | "substring" | "substr", (t.Cast(arg, "VARCHAR"), *place) if (
            pattern := format_of_letters(place)
        ) and _is_moment(binder, arg):
            return bind_strftime(binder, node, arg, pattern)
        case "left", (arg, t.Literal(int(length))) if length >= 0:
            return a.Substring(binder.bind(arg), 1, length)
        case "isnan" | "isinf" | "isfinite", (arg,):
            return _test_of_number(binder, node, arg)
        case "strftime", (arg, t.Literal(str(pattern))) | (t.Literal(str(pattern)), arg):
            return bind_strftime(binder, node, arg, pattern)
        case "time_bucket", (_, _, *_):
            return bind_time_bucket(binder, node)
        case "to_timestamp" | "make_timestamp", (arg,):
            return bind_moment_of_number(binder, node, arg)
        case "epoch" | "epoch_ms" | "epoch_us", (arg,):
            return moment_functions.bind_epoch(binder, node.name, arg)
        case "date_add" | "date_sub", (arg, t.Span() as span):
            op = "+" if node.name == "date_add" else "-"
            return binder.bind(t.Binary(op, arg, span, node.pos))
        case "trunc", (arg,) if _is_moment(binder, arg):  # Oracle's: the day of a moment
            return a.Call("trunc day", (binder.bind(arg),))
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
        case "substring" | "substr", (arg, t.Literal(int(start)), t.Literal(int(length))) if (
            start >= 1 and length >= 0
        ):
            return a.Substring(binder.bind(arg), start, length)
        case "starts_with" | "prefix", (arg, t.Literal(str(text))):
            return a.Like(binder.bind(arg), escape_pattern(text) + "%", "!")
        case "contains", (arg, t.Literal(str(text))):
            return a.Like(binder.bind(arg), f"%{escape_pattern(text)}%", "!")
        case "date_part" | "datepart" | "extract", (
            t.Literal(str(part)),
            t.FunctionCall("age", (last, first)),
        ) if part.lower().removesuffix("s") == "year":
            return moment_functions.bind_years_of_age(binder, first, last)
        case "date_part" | "datepart" | "extract", (
            t.Literal("day"),
            t.Binary("-", last, first),
        ) if moment_functions.are_timestamps(binder, (first, last)):
            return a.Call("sub day", (binder.bind(first), binder.bind(last)))
        case "date_part" | "datepart" | "extract", (t.Literal("epoch"), arg):
            return moment_functions.bind_epoch(binder, "epoch", arg)
        case "date_part" | "datepart" | "extract", (t.Literal("second" | "seconds"), arg):
            return moment_functions.bind_second(binder, arg)
        case "second", (arg,):
            return moment_functions.bind_second(binder, arg)
        case "date_part" | "datepart" | "extract", (t.Literal(str(part)), arg):
            return moment_functions.bind_part(binder, node, part.lower(), arg)
        case "date_trunc" | "datetrunc", (t.Literal(str(unit)), arg) if unit.lower() in UNITS:
            return a.Call(f"trunc {unit.lower()}", (binder.bind(arg),))
        case ("date_diff" | "datediff", (t.Literal("day" | "days"), first, last)):
            return moment_functions.days_between(binder.bind(first), binder.bind(last))
        case "date_diff" | "datediff" | "date_sub" | "datesub", (t.Literal(str(unit)), first, last):
            distance = unit.lower().removesuffix("s")
            return moment_functions.bind_distance(binder, node, distance, (first, last))
        case "make_date" | "make_timestamp", (_, *_) if begun := moment_functions.beginning(node):
            return binder.bind(begun)
        case "last_day", (arg,):
            return a.Call("date", (a.Shift(a.Call("trunc month", (binder.bind(arg),)), 1, -1, 0),))
        case "dayname" | "monthname", (arg,):
            return bind_name(binder, node.name, arg)
        case "date", (arg,):
            return binder.bind(t.Cast(arg, "DATE", pos=node.pos))
        case part, (arg,) if part in (*moment_functions.PART_NAMES, *moment_functions.LONG_PARTS):
            return moment_functions.bind_part(binder, node, part, arg)
    name = "initcap" if node.name in TITLES else node.name
    raise refuse(node, f"the function {name} cannot be used on private rows", function_hint(name))


_TEXTS = {"len": "length", "lcase": "lower", "ucase": "upper"}


def _text_function(binder: Binder, node: t.Node, name: str, arg: t.Node) -> a.Expr:
    """Returns a function of a text without a list; of one with a list it is evaluated over it."""
    expr = binder.bind(arg)
    if (shape := binder.shape(arg, expr)).type is not Type.TEXT:
        raise refuse(node, f"{name} takes text, not {shape.type}", "write the value as it is")
    if shape.values is not None:
        raise refuse(node, f"{name} is evaluated over the list", WHOLE_VALUES)
    return a.Call(_TEXTS.get(name, name), (expr,))


def _real_number(binder: Binder, node: t.Node, arg: t.Node) -> a.Expr:
    expr = binder.bind(arg)
    if binder.shape(arg, expr).type is not Type.REAL:
        raise refuse(node, WHOLE_AVERAGE, REAL_AVERAGE)
    return expr


def _rounded_quotient(binder: Binder, arg: t.Node) -> a.Expr:
    """Returns a quotient whose halves are rounded away from zero, unless a DOUBLE is in it."""
    expr = binder.bind(arg)
    names = [node for node in walk(arg) if isinstance(node, t.Name)]
    shapes = [binder.shape(name, binder.bind(name)) for name in names]
    is_double = any(shape.type is Type.REAL and shape.scale is None for shape in shapes)
    return expr if is_double else a.Call("round", (expr,))


def _quotient(binder: Binder, node: t.Node, left: t.Node, right: t.Node) -> a.Expr:
    """Returns x / y of which one side is no whole number."""
    if all(binder.shape(x, binder.bind(x)).type is Type.INTEGER for x in (left, right)):
        raise refuse(node, WHOLE_QUOTIENT, REAL_QUOTIENT)
    return binder.bind(t.Binary("/", left, right, node.pos))


def _test_of_number(binder: Binder, node: t.FunctionCall, arg: t.Node) -> a.Expr:
    """Returns isnan(x), isinf(x) or isfinite(x), NULL of NULL: a comparison reads what is stored,
    a value has no NaN."""
    number = with_infinity(binder, binder.bind(arg))
    if binder.shape(arg, number).type not in (Type.INTEGER, Type.REAL):
        raise refuse(node, f"{node.name} takes a number", "write isnan(x)")
    ends = (a.Call("neg", (INFINITY,)), INFINITY)
    if node.name == "isnan":  # NULL is among its values as a key, whatever is declared
        nothing = (a.Call("is null", (number,)), a.Lit(None, Type.BOOLEAN))
        return a.Case((nothing,), a.Call("=", (number, NAN)))
    if node.name == "isinf":
        return a.Call("or", tuple(a.Call("=", (number, end)) for end in ends))
    return a.Call("and", (a.Call(">", (number, ends[0])), a.Call("<", (number, ends[1]))))


def _is_moment(binder: Binder, node: t.Node) -> bool:
    return binder.shape(node, binder.bind(node)).type in (Type.DATE, Type.TIMESTAMP)


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
    if shape.scale is not None:
        return round_decimal(expr, shape.scale, places)
    return a.Call("real", (a.Call(f"scale {places}", (expr,)),))


def escape_pattern(text: str) -> str:
    """Returns the text as a pattern that it alone matches, with ! as its ESCAPE.

    >>> escape_pattern("50%!")
    '50!%!!'
    """
    return "".join(f"!{c}" if c in "!%_" else c for c in text)


def _is_text(rest: list[t.Node]) -> bool:
    return not rest or (isinstance(rest[0], t.Literal) and isinstance(rest[0].value, str))


def _nullif(binder: Binder, left: t.Node, right: t.Node) -> a.Expr:
    whole, other = binder.bind_together((left, right), "=")
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
