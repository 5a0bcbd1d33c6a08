"""What is publicly known of a row expression, from what is known of its columns."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.kernel.terms.operations import OPERATIONS
from sqlpriv.plan.expressions.facts import dates
from sqlpriv.plan.expressions.facts.dates import DATE_PARTS
from sqlpriv.plan.expressions.facts.finite_values import with_results_listed
from sqlpriv.plan.expressions.facts.interval_arithmetic import (
    arithmetic_shape,
    function_shape,
    two_number_shape,
)
from sqlpriv.plan.expressions.facts.value_facts import (
    Shape,
    boolean_shape,
    listed_shape,
    literal_shape,
    one_type,
    union_of,
    with_values_listed,
)
from sqlpriv.system.count_text import count_text


def infer_shape(
    expr: a.Expr, scope: Mapping[str, Shape], of_parts: dict[int, Shape] | None = None
) -> Shape:
    """Returns what is publicly known of a row expression's values.

    Args:
        expr: In the kernel's algebra.
        scope: Column, lower case → what is known of its values.
        of_parts: Of parts of a whole by their ids: coalesce(nullif(…, 0), 1) in one another share
            theirs, and twelve of them would be looked at 3^12 times.

    Raises:
        Refused: A column is not in the scope, or types do not fit. The refusal has no line and
            column: only the caller knows where the expression stands in the text.
    """
    of_parts = {} if of_parts is None else of_parts
    if id(expr) not in of_parts:
        shape = _infer(expr, scope, of_parts)
        is_stored = bool(shape.stored) and isinstance(expr, a.Col)
        of_parts[id(expr)] = shape if is_stored or not shape.stored else replace(shape, stored="")
    return of_parts[id(expr)]


def _infer(expr: a.Expr, scope: Mapping[str, Shape], of_parts: dict[int, Shape]) -> Shape:
    match expr:
        case a.Col(name):
            if name.lower() not in scope:
                raise Refused(f'there is no usable column "{name}"')
            return scope[name.lower()]
        case a.Lit(value, type_):
            return literal_shape(value, type_)
        case a.Call("least" | "greatest", args) if args:
            union = union_of([infer_shape(x, scope, of_parts) for x in args])
            low, high, nullable = _clamp_ends(expr, scope, of_parts, {})
            if low is None or high is None:
                return Shape(union.type, nullable=nullable)
            return with_values_listed(Shape(union.type, low, high, nullable))
        case a.Call(op, args):
            return _call(op, [infer_shape(x, scope, of_parts) for x in args])
        case a.In(arg, values):
            shape = infer_shape(arg, scope, of_parts)
            _check_listed(shape, values)
            return boolean_shape(shape.nullable)
        case a.Case(whens, otherwise):
            for predicate, _ in whens:
                if isinstance(predicate, a.In):
                    _check_listed(infer_shape(predicate.arg, scope, of_parts), predicate.values)
                else:
                    _expect(infer_shape(predicate, scope, of_parts), Type.BOOLEAN, "CASE WHEN")
            return union_of(
                [
                    *(infer_shape(then, scope, of_parts) for _, then in whens),
                    infer_shape(otherwise, scope, of_parts),
                ]
            )
        case a.Bin(arg, edges):
            shape = infer_shape(arg, scope, of_parts)
            if list(edges) != sorted(set(edges)):
                raise Refused("the edges of bins ascend")
            numeric = shape.type in (Type.INTEGER, Type.REAL)
            for edge in edges:
                of = literal_shape(edge, Type.REAL if numeric else shape.type)
                one_type((shape, of), "the edges of bins")
            ends: tuple[int, int] = (0, len(edges))
            if numeric and shape.lower is not None:  # the bins that the ends are in
                ends = (bisect_right(edges, shape.lower), bisect_right(edges, shape.upper))
            return with_values_listed(Shape(Type.INTEGER, *ends, shape.nullable))
        case a.Like(arg, _, _, _):
            return boolean_shape(
                _expect(infer_shape(arg, scope, of_parts), Type.TEXT, "LIKE").nullable
            )
        case a.Substring(arg, _, _):
            shape = _expect(infer_shape(arg, scope, of_parts), Type.TEXT, "SUBSTRING")
            prefixes = shape.values and dict.fromkeys(_substring(v, expr) for v in shape.values)
            return replace(shape, values=tuple(prefixes) if prefixes else None, sql_type="")
        case a.Shift(arg, months, days, micros):
            return dates.shifted_shape(infer_shape(arg, scope, of_parts), months, days, micros)
        case a.Pick(_, numbers):
            return Shape(Type.REAL, min(numbers), max(numbers))
    raise Refused(f"{type(expr).__name__} is not a row expression")


def _check_listed(shape: Shape, values: Sequence[Value]) -> None:
    """Refuses values that are of another type than what they are compared with."""
    numeric = shape.type in (Type.INTEGER, Type.REAL)
    for value in values:
        literal_shape(value, Type.REAL if numeric else shape.type)


def _substring(value: Value, expr: a.Substring) -> Value:
    return value[expr.start - 1 :][: expr.length] if isinstance(value, str) else value


def _call(op: str, args: list[Shape]) -> Shape:
    """Returns the shape of an operation; its types are checked as the kernel will check them."""
    if op not in OPERATIONS or not args or OPERATIONS[op].arity not in (0, len(args)):
        raise Refused(f"there is no row function {op} of {count_text(len(args), 'argument')}")
    operation = OPERATIONS[op]
    if not {s.type for s in args} <= operation.takes:
        names = " or ".join(sorted(operation.takes))
        raise Refused(
            f"{op.upper()} needs {names}, not {' and '.join(sorted({s.type for s in args}))}"
        )
    one_type(tuple(args), op.upper())
    nullable = any(s.nullable for s in args)
    match op:
        case "is null":
            return boolean_shape(False)
        case "coalesce":
            return _coalesce(args)
        case "+" | "-" | "*" | "/" | "//" | "%":
            shape = with_results_listed(op, args, arithmetic_shape(op, *args))
            return with_values_listed(shape)
        case "&" | "|" | "pow":
            shape = with_results_listed(op, args, two_number_shape(op, *args))
            return with_values_listed(shape)
        case _ if op.startswith("trunc "):
            return dates.truncated_shape(op.removeprefix("trunc "), args[0])
        case _ if op.startswith(("diff ", "sub ")):
            return with_values_listed(dates.distance_shape(op, *args))
        case "clock":
            return Shape(Type.TIME, nullable=nullable)
        case "date" | "midnight":
            return dates.converted_shape(op, args[0])
        case "micros":
            return dates.micros_shape(args[0])
        case "length" | "strlen":
            return Shape(Type.INTEGER, nullable=nullable)
        case "lower" | "upper":
            return Shape(Type.TEXT, nullable=nullable)
        case "days":
            return dates.day_number_shape(args[0])
        case part if part in DATE_PARTS:
            ends = dates.part_ends(part, args[0])
            return with_values_listed(Shape(Type.INTEGER, *ends, nullable))
    if operation.gives is Type.BOOLEAN:
        return boolean_shape(nullable)
    return with_values_listed(with_results_listed(op, args, function_shape(op, args[0])))


def _coalesce(args: list[Shape]) -> Shape:
    union, nullable = union_of(args), all(s.nullable for s in args)
    if nullable or union.values is None:
        return replace(union, nullable=nullable)
    listed = listed_shape(union.type, tuple(v for v in union.values if v is not None))
    return replace(listed, scale=union.scale)


def _expect(shape: Shape, type_: Type, where: str) -> Shape:
    if shape.type is not type_:
        raise Refused(f"{where} needs a {type_} value, not {shape.type}")
    return shape


_Ends = tuple[Any, Any, bool]


def _clamp_ends(
    expr: a.Expr,
    scope: Mapping[str, Shape],
    of_parts: dict[int, Shape],
    of_clamps: dict[int, _Ends],
) -> _Ends:
    """Returns the lower end, the upper end (None where open) and the nullability of a clamp.

    `least(x, 9)` is at most 9 whatever x is: LEAST clamps from above, GREATEST from below. Both
    pass over NULL arguments, so only an argument that is never NULL is sure to clamp. A literal is;
    a column is not, because its rows may hold NULL whatever is declared. The literal NULL has no
    ends, and opens none.

    Each part is looked at once (`of_parts`, and `of_clamps` for clamps in this one): eight of
    `least(x, greatest(1, x - 1))` in one another, 7 KB, held the planner for minutes.
    """
    if not (isinstance(expr, a.Call) and expr.op in ("least", "greatest")):
        shape = infer_shape(expr, scope, of_parts)
        return shape.lower, shape.upper, shape.nullable
    if id(expr) not in of_clamps:
        args = [x for x in expr.args if not _is_null(x)] or expr.args[:1]
        parts = [_clamp_ends(x, scope, of_parts, of_clamps) for x in args]
        of_clamps[id(expr)] = _ends_of(expr.op, args, parts)
    return of_clamps[id(expr)]


def _ends_of(op: str, args: Sequence[a.Expr], parts: Sequence[_Ends]) -> _Ends:
    widest: list[Any] = []  # the ends of all arguments together
    for side, pick in enumerate((min, max)):
        ends = [part[side] for part in parts]
        widest.append(pick(ends) if None not in ends else None)
    clamping, pick = (0, max) if op == "greatest" else (1, min)
    pairs = zip(args, parts, strict=True)
    sure = [part[clamping] for x, part in pairs if _is_never_null(x) and part[clamping] is not None]
    if sure:
        widest[clamping] = pick(sure)
    return widest[0], widest[1], all(part[2] for part in parts)


def _is_null(expr: a.Expr) -> bool:
    return isinstance(expr, a.Lit) and expr.value is None


def _is_never_null(expr: a.Expr) -> bool:
    match expr:
        case a.Lit(value):
            return value is not None
        case a.Call("coalesce" | "least" | "greatest", args):
            return any(map(_is_never_null, args))
    return False
