"""Casts of row expressions. A cast that some row could make fail is refused: whether a statement
fails would tell of that row."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.plan.expressions.facts.value_facts import column_scale
from sqlpriv.plan.expressions.literal_types import coerce_literal, endless_number, refuse
from sqlpriv.plan.expressions.moment_lists import bind_strftime
from sqlpriv.statements import tree as t

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder


def round_decimal(expr: a.Expr, scale: int, places: int) -> a.Expr:
    """Returns a DECIMAL rounded to fewer digits behind the point, halves away from zero.

    The kernel computes with doubles, and the double next to 8.35 lies below it: rounded at once it
    would be 8.3. So the number of hundredths, 835, is rounded first, which is a whole number and
    exact as a double; a tenth of it, 83.5, is exact as well and rounds to 84.

    Args:
        expr: The DECIMAL.
        scale: Its digits behind the point.
        places: The digits behind the point of the result.
    """
    if 0 < places < scale:
        whole, cut = (a.Lit(10.0**n, Type.REAL) for n in (scale, scale - places))
        units = a.Call("round", (a.Call("*", (expr, whole)),))
        tenths = a.Call("round", (a.Call("/", (units, cut)),))
        expr = a.Call("/", (tenths, a.Lit(10.0**places, Type.REAL)))
    return a.Call(f"scale {places}", (expr,))


def bind_cast(binder: Binder, node: t.Cast) -> a.Expr:
    """Returns a cast that no row can make fail.

    | from | to |
    |---|---|
    | a literal | any type as which it can be read |
    | any type | the same type |
    | a number | a number; a whole one by rounding, where the number is bounded |
    | BOOLEAN | a whole number, 1 or 0 |
    | DATE, TIMESTAMP | each other, and TIME of a TIMESTAMP |
    | DATE | text, where its days are publicly listed |

    Raises:
        Refused: It is another cast.
    """
    target = _cast_type(node.type)
    if isinstance(node.arg, t.Literal) and target in (Type.DATE, Type.TIMESTAMP):
        return coerce_literal(node.arg, target)
    if isinstance(node.arg, t.Literal) and node.arg.value is None and target:
        return a.Lit(None, target)
    if isinstance(node.arg, t.Literal) and isinstance(node.arg.value, str):
        if target is Type.REAL and (number := endless_number(node.arg.value)) is not None:
            return number
        node = replace(node, arg=_number_in_text(node, node.arg.value, target))
    arg = binder.bind(node.arg)
    shape = binder.shape(node.arg, arg)
    source, scale = shape.type, column_scale(node.type)
    if scale is not None and source in (Type.INTEGER, Type.REAL):
        return arg if shape.scale == scale else round_decimal(arg, shape.scale or 0, scale)
    if target is Type.REAL and shape.scale is not None:  # a DECIMAL becomes a DOUBLE
        return a.Call("real", (arg,))
    if source in (Type.DATE, Type.TIMESTAMP) and target in (Type.DATE, Type.TIMESTAMP):
        conversion = "date" if target is Type.DATE else "midnight"
        return arg if source is target else a.Call(conversion, (arg,))
    if (source, target) == (Type.TIMESTAMP, Type.TIME):
        return a.Call("clock", (arg,))
    if target is Type.TEXT and source is Type.DATE:
        return bind_strftime(binder, node, node.arg, "%Y-%m-%d")
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
    if node.type in FLOATS:
        message = "the digits that a FLOAT lacks are not cut off for private rows"
        raise refuse(node, message, "write x::DOUBLE; SUM, AVG and the like take x::FLOAT, too")
    hint = "casts between INTEGER or BIGINT and DOUBLE, and from BOOLEAN, can be used"
    if target is Type.TEXT and source is Type.TIMESTAMP:
        message = "a moment is not written out to its last digit for private rows"
        raise refuse(node, message, "write strftime(x, '%Y-%m-%d %H:00'), or coarser")
    if target is Type.TEXT and source is Type.REAL:
        message = "the digits of a number with a point are not written out for private rows"
        raise refuse(node, message, "compare it with a number, or group by the number itself")
    if target is Type.TEXT:
        message = "a value that has no public list is not written out for private rows"
        raise refuse(node, message, "compare the value itself, or group by it")
    raise refuse(node, f"a cast from {source} to {node.type} could fail on some row", hint)


def _number_in_text(node: t.Cast, text: str, target: Type | None) -> t.Node:
    """Returns the number that a literal text is cast to; the text itself for another type.

    Raises:
        Refused: It is no number, or no whole one for an integer.
    """
    if target not in (Type.INTEGER, Type.REAL) and column_scale(node.type) is None:
        return node.arg
    try:
        value = int(text) if target is Type.INTEGER else float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        message = f"this text is no number of type {node.type}"
        raise refuse(node, message, "write it without quotes")
    return t.Literal(value, node.arg.pos)


FLOATS = ("FLOAT", "FLOAT4", "REAL")
_WHOLE = {"INTEGER", "INT", "BIGINT", "HUGEINT", "INT4", "INT8", "INT32", "INT64"}


def _cast_type(name: str) -> Type | None:
    """Returns the target's type; narrow integers are left out: a value might not fit them."""
    base = name.upper().split("(")[0].strip()
    types = {
        **dict.fromkeys(_WHOLE, Type.INTEGER),
        **dict.fromkeys(("VARCHAR", "TEXT"), Type.TEXT),
        **dict.fromkeys(("DOUBLE", "FLOAT8"), Type.REAL),
        **dict.fromkeys(("BOOLEAN", "BOOL"), Type.BOOLEAN),
        "DATE": Type.DATE,
        "TIME": Type.TIME,
        **dict.fromkeys(("TIMESTAMP", "TIMESTAMPTZ"), Type.TIMESTAMP),
    }
    return types.get(base)
