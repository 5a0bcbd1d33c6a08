"""Interval arithmetic: the bounds of a result from the bounds of its arguments.

A `Shape` says what is publicly known of an expression's values: type, lower and upper end (None:
unbounded), whether it may be NULL, digits behind the point. Ends may be wider than need be, never
narrower: the noise of a sum is for the widest value that its shape allows.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable
from dataclasses import replace

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.operations import MAX_SCALE
from sqlpriv.plan.expressions.facts.value_facts import Shape

MOST = sys.float_info.max
"""The largest double, which is what values are computed in. Products of whole ends go beyond."""


def _numbers(shapes: tuple[Shape, ...], operation: str) -> Type:
    """Returns INTEGER where all arguments are whole numbers, else REAL.

    Raises:
        Refused: An argument is no number.
    """
    if any(s.type not in (Type.INTEGER, Type.REAL) for s in shapes):
        raise Refused(
            f"{operation} needs numbers, not {' and '.join(sorted({s.type for s in shapes}))}"
        )
    return Type.INTEGER if all(s.type is Type.INTEGER for s in shapes) else Type.REAL


def arithmetic_shape(op: str, left: Shape, right: Shape) -> Shape:
    """Returns the shape of `left op right`: + - * / // %, computed as DuckDB does.

    >>> age, one = Shape(Type.INTEGER, 0, 90, False), Shape(Type.INTEGER, 1, 2, False)
    >>> ends = lambda shape: (shape.type.value, shape.lower, shape.upper, shape.nullable)
    >>> ends(arithmetic_shape("-", age, one)), ends(arithmetic_shape("*", age, age))
    (('integer', -2, 89, False), ('integer', 0, 8100, False))
    >>> ends(arithmetic_shape("/", one, age)), ends(arithmetic_shape("%", age, one))
    (('real', 0.011111111111111112, 2.0, True), ('integer', 0, 1, False))
    """
    type_ = _numbers((left, right), op)
    nullable = left.nullable or right.nullable
    by_zero = right.lower is None or right.lower <= 0 <= right.upper
    bounded = left.lower is not None and right.lower is not None
    corners = list(itertools.product((left.lower, left.upper), (right.lower, right.upper)))
    match op:
        case "+" | "-" | "*":
            table = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}
            ends = [table[op](x, y) for x, y in corners] if bounded else []
        case "/" | "//" if op == "/" or type_ is Type.REAL:  # `//` of doubles does not cut
            type_, nullable = Type.REAL, nullable or by_zero
            if by_zero and right.type is Type.INTEGER and bounded:
                # x / 0 is NULL, so the whole divisors that are nearest to 0 are 1 and -1
                near = [y for y in (-1, 1) if right.lower <= y <= right.upper]
                divisors = [*near, *(y for y in (right.lower, right.upper) if y)]
                corners = list(itertools.product((left.lower, left.upper), divisors))
                by_zero = not divisors
            ends = [x / y for x, y in corners] if bounded and not by_zero else []
        case "//":
            nullable |= by_zero
            reach = max(abs(left.lower), abs(left.upper)) if left.lower is not None else None
            ends = [-reach, reach] if reach is not None else []
            if bounded and not by_zero:
                ends = [int_divide(x, y) for x, y in corners]
        case "%":
            nullable |= by_zero
            reach = max(abs(right.lower), abs(right.upper)) if right.lower is not None else None
            if reach is not None and type_ is Type.INTEGER:
                reach = max(reach - 1, 0)
            low = 0 if left.lower is not None and left.lower >= 0 else -(reach or 0)
            ends = [low, reach] if reach is not None else []
        case _:
            raise Refused(f"the operator {op} is not for {type_} values")
    scale = decimal_scale(op, left, right) if type_ is Type.REAL else None
    if not ends or not all(-MOST <= end <= MOST for end in ends):
        return Shape(type_, nullable=nullable, scale=scale)
    return Shape(type_, min(ends), max(ends), nullable, scale=scale)


def decimal_scale(op: str, left: Shape, right: Shape) -> int | None:
    """Returns how many digits behind the point a result has; None where it is a DOUBLE.

    As in DuckDB a sum has as many as the longer side, and a product as many as both sides together.
    The result is a DOUBLE if it is a quotient, if one side is a DOUBLE, or if it has more digits
    than the kernel rounds to.
    """
    if left.digits is None or right.digits is None or op not in ("+", "-", "*", "%"):
        return None
    scale = left.digits + right.digits if op == "*" else max(left.digits, right.digits)
    return scale if scale <= MAX_SCALE else None


def int_divide(x: int, y: int) -> int:
    """Returns x // y as DuckDB computes it: truncated towards zero.

    >>> int_divide(7, 2), int_divide(-7, 2), -7 // 2
    (3, -3, -4)
    """
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def function_shape(name: str, arg: Shape) -> Shape:
    """Returns the shape of a function of one number.

    >>> function_shape("abs", Shape(Type.REAL, -3.5, 2.0, True)).upper
    3.5
    """
    type_ = _numbers((arg,), name)
    if name == "integer":
        if arg.lower is None:
            return Shape(Type.INTEGER, nullable=arg.nullable)
        return Shape(Type.INTEGER, math.floor(arg.lower), math.ceil(arg.upper), arg.nullable)
    if name == "real":  # a DOUBLE, no DECIMAL: its values are the same
        values = arg.values if arg.type is Type.REAL else None
        return replace(arg, type=Type.REAL, values=values, scale=None)
    if name in _MONOTONE:
        return _monotone_shape(name, arg)
    if name == "sign":
        return Shape(Type.INTEGER, -1, 1, arg.nullable)
    if name.startswith("scale "):
        return _rounded_shape(int(name.removeprefix("scale ")), arg)
    if arg.lower is None:
        return Shape(type_, nullable=arg.nullable, scale=_scale_of(name, arg))
    low, high = arg.lower, arg.upper
    match name:
        case "neg":
            ends = (-high, -low)
        case "abs":
            ends = (0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
        case "floor" | "ceil" | "round" | "trunc" if type_ is Type.INTEGER:
            ends = (low, high)
        case "floor" | "ceil" | "trunc":
            whole = _WHOLE[name]
            ends = (whole(_at_scale(low, arg.scale)), whole(_at_scale(high, arg.scale)))
        case "round":
            ends = (math.floor(low), math.ceil(high))
        case _:
            raise Refused(f"there is no row function {name}")
    return Shape(type_, *ends, arg.nullable, scale=_scale_of(name, arg))


_WHOLE: dict[str, Callable[[float], int]] = {
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
}
_MONOTONE: dict[str, tuple[Callable[[float], float], float]] = {
    "sqrt": (math.sqrt, 0.0),
    "cbrt": (math.cbrt, -math.inf),
    "ln": (math.log, math.ulp(0.0)),
    "log10": (math.log10, math.ulp(0.0)),
    "log2": (math.log2, math.ulp(0.0)),
    "exp": (math.exp, -math.inf),
}
"""Increasing functions, and the least number that they take."""


def _monotone_shape(name: str, arg: Shape) -> Shape:
    """Returns the shape of an increasing function of a number.

    The ends are moved by one double: the engine may round otherwise than Python does.

    >>> _monotone_shape("sqrt", Shape(Type.INTEGER, 0, 16, False)).upper
    4.000000000000001
    """
    function, least = _MONOTONE[name]
    nullable = arg.nullable or arg.lower is None or arg.lower < least  # NaN is no value
    if arg.lower is None or arg.lower < least:
        return Shape(Type.REAL, nullable=nullable)
    try:
        low, high = function(arg.lower), function(arg.upper)
    except OverflowError:
        return Shape(Type.REAL, nullable=nullable)
    return Shape(
        Type.REAL, math.nextafter(low, -math.inf), math.nextafter(high, math.inf), nullable
    )


def two_number_shape(op: str, left: Shape, right: Shape) -> Shape:
    """Returns the shape of `left & right`, `left | right` or pow(left, right).

    Bits of a negative number are not bounded here. A power is NULL or NaN where a negative number
    has a root taken, or 0 a negative power.

    Raises:
        Refused: An argument is no number, or of & and | no whole number.
    """
    nullable = left.nullable or right.nullable
    bounded = left.lower is not None and right.lower is not None
    if op == "pow":
        _numbers((left, right), op)
        is_whole = bounded and right.lower == right.upper and float(right.lower).is_integer()
        if not bounded or (left.lower <= 0 and right.lower < 0):
            return Shape(Type.REAL, nullable=True)
        if left.lower < 0 and not is_whole:  # a root of a negative number is NaN
            return Shape(Type.REAL, nullable=True)
        bases = (left.lower, left.upper, *((0,) if left.lower < 0 < left.upper else ()))
        try:
            ends = [float(x) ** y for x in bases for y in (right.lower, right.upper)]
        except OverflowError:
            return Shape(Type.REAL, nullable=nullable)
        low, high = math.nextafter(min(ends), -math.inf), math.nextafter(max(ends), math.inf)
        return Shape(Type.REAL, low, high, nullable)
    if _numbers((left, right), op) is not Type.INTEGER:
        raise Refused(f"{op} needs whole numbers")
    if not bounded or min(left.lower, right.lower) < 0:
        return Shape(Type.INTEGER, nullable=nullable)
    top = (
        min(left.upper, right.upper)
        if op == "&"
        else 2 ** max(left.upper, right.upper).bit_length() - 1
    )
    return Shape(Type.INTEGER, 0, top, nullable)


def _at_scale(end: float, scale: int | None) -> float:
    """Returns an end of a DECIMAL's interval as a multiple of its last digit: 0.29 * 100 is 29."""
    return end if scale is None else round(end, scale)


def _scale_of(name: str, arg: Shape) -> int | None:
    """Returns how many digits a function's value has behind the point; None for a DOUBLE."""
    return arg.scale if name in ("neg", "abs") or arg.scale is None else 0


def _rounded_shape(scale: int, arg: Shape) -> Shape:
    """Returns the shape of a number rounded to so many digits behind the point."""
    if arg.lower is None:
        return Shape(Type.REAL, nullable=arg.nullable, scale=max(scale, 0))
    if scale < 0:
        step = 10**-scale
        low, high = math.floor(arg.lower / step) * step, math.ceil(arg.upper / step) * step
        return Shape(Type.REAL, float(low), float(high), arg.nullable, scale=0)
    unit = 10**scale
    low, high = math.floor(arg.lower * unit) / unit, math.ceil(arg.upper * unit) / unit
    ends = (max(low, arg.lower), min(high, arg.upper)) if arg.digits == scale else (low, high)
    return Shape(Type.REAL, float(ends[0]), float(ends[1]), arg.nullable, scale=scale)
