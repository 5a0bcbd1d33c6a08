"""What is publicly known of a row expression before it is asked: its bounds and finite values.

Interval arithmetic over the declared domains. Nothing here carries a privacy proof: the kernel
checks types again and clamps every sum to the bounds that it is given. A prediction that is too
narrow would cost accuracy, one that is too wide costs noise.
"""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlpriv.errors import Refused
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.contract import Categories, Interval, TableContract, Type, Value
from sqlpriv.kernel.operations import OPERATIONS, check_literal

MAX_LEVELS = 100_000
DATE_PARTS: Mapping[str, tuple[int, int]] = {
    "year": (-5_877_641, 5_881_580), "quarter": (1, 4), "month": (1, 12), "week": (1, 53),
    "day": (1, 31), "dow": (0, 6), "isodow": (1, 7), "doy": (1, 366), "hour": (0, 23),
    "minute": (0, 59),
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """What is publicly known of an expression's values.

    Args:
        type: Its type.
        lower, upper: Ends of a closed interval, or None where unbounded or not ordered.
        nullable: False when the contract says that NULL is not among its values.
        values: Every value it can have, `None` last if nullable, when that list is known.
    """

    type: Type
    lower: Any = None
    upper: Any = None
    nullable: bool = True
    values: tuple[Value, ...] | None = None

    def within(self, low: Any, high: Any) -> Shape:
        """Returns the shape of those values that lie between the ends; None is an open end.

        Ends that miss the declared interval leave it as it is: values beyond are clamped to it.
        """
        moment = self.type in (Type.DATE, Type.TIMESTAMP)
        if self.type is Type.TIMESTAMP or (self.lower is None and not (moment and low and high)):
            return self
        if self.values is not None and self.type is not Type.INTEGER:
            return self
        lower = self.lower if low is None or (self.lower is not None and low < self.lower) else low
        upper = (
            self.upper if high is None or (self.upper is not None and high > self.upper) else high
        )
        if lower > upper or (self.type is Type.INTEGER and {type(lower), type(upper)} != {int}):
            return self
        if self.type is Type.DATE and {type(lower), type(upper)} != {dt.date}:
            return self
        values = self.values and tuple(v for v in self.values if v is None or lower <= v <= upper)
        return replace(self, lower=lower, upper=upper, values=values)


def scope_of(contract: TableContract) -> dict[str, Shape]:
    """Returns the shape of each column that expressions can use, by lower-case name."""
    scope = {}
    for column in contract.columns:
        if column.type is None:
            continue
        shape = Shape(column.type)
        if isinstance(column.domain, Interval):
            shape = Shape(
                column.type, column.domain.lower, column.domain.upper, column.domain.nullable
            )
        elif isinstance(column.domain, Categories):
            shape = _of_values(column.type, column.domain.labels)
        scope[column.name.lower()] = _enumerated(shape)
    return scope


def check(expr: a.Expr, scope: Mapping[str, Shape]) -> Shape:
    """Returns the shape of a row expression, or refuses it.

    Raises:
        Refused: An unknown column, or mixed types. The message has no place in the text: only the
            caller knows it.
    """
    match expr:
        case a.Col(name):
            if name.lower() not in scope:
                raise Refused(f'there is no usable column "{name}"')
            return scope[name.lower()]
        case a.Lit(value, type_):
            return _literal(value, type_)
        case a.Call("least" | "greatest", args) if args:
            union = _union([check(x, scope) for x in args])
            low, high, nullable = _reach(expr, scope)
            if low is None or high is None:
                return Shape(union.type, nullable=nullable)
            return _enumerated(Shape(union.type, low, high, nullable))
        case a.Call(op, args):
            return _call(op, [check(x, scope) for x in args])
        case a.In(arg, values):
            shape = check(arg, scope)
            for value in values:
                numeric = shape.type in (Type.INTEGER, Type.REAL)
                _literal(value, Type.REAL if numeric else shape.type)
            return _boolean(shape.nullable)
        case a.Case(whens, otherwise):
            for predicate, _ in whens:
                _expect(check(predicate, scope), Type.BOOLEAN, "CASE WHEN")
            return _union([*(check(then, scope) for _, then in whens), check(otherwise, scope)])
        case a.Bin(arg, edges):
            shape = check(arg, scope)
            if list(edges) != sorted(set(edges)):
                raise Refused("the edges of bins ascend")
            numeric = shape.type in (Type.INTEGER, Type.REAL)
            for edge in edges:
                of = _literal(edge, Type.REAL if numeric else shape.type)
                _one_type((shape, of), "the edges of bins")
            return _enumerated(Shape(Type.INTEGER, 0, len(edges), shape.nullable))
        case a.Like(arg, _, _, _):
            return _boolean(_expect(check(arg, scope), Type.TEXT, "LIKE").nullable)
        case a.Substring(arg, _, _):
            shape = _expect(check(arg, scope), Type.TEXT, "SUBSTRING")
            known = shape.values and dict.fromkeys(_substring(v, expr) for v in shape.values)
            return replace(shape, values=tuple(known) if known else None)
        case a.Pick(_, numbers):
            return Shape(Type.REAL, min(numbers), max(numbers))
    raise Refused(f"{type(expr).__name__} is not a row expression")


def _substring(value: Value, expr: a.Substring) -> Value:
    return value[expr.start - 1 :][: expr.length] if isinstance(value, str) else value


def _call(op: str, args: list[Shape]) -> Shape:
    """Returns the shape of an operation; its types are checked as the kernel will check them."""
    if op not in OPERATIONS or not args or OPERATIONS[op].arity not in (0, len(args)):
        raise Refused(f"there is no row function {op} of {len(args)} argument(s)")
    operation = OPERATIONS[op]
    if not {s.type for s in args} <= operation.takes:
        names = " or ".join(sorted(operation.takes))
        raise Refused(
            f"{op.upper()} needs {names}, not {' and '.join(sorted({s.type for s in args}))}"
        )
    _one_type(tuple(args), op.upper())
    nullable = any(s.nullable for s in args)
    match op:
        case "is null":
            return _boolean(False)
        case "coalesce":
            return _coalesce(args)
        case "+" | "-" | "*" | "/" | "//" | "%":
            return _enumerated(_arith(op, *args))
        case part if part in DATE_PARTS:
            low, high = DATE_PARTS[part]
            if part == "year" and args[0].lower is not None:
                low, high = args[0].lower.year, args[0].upper.year
            return _enumerated(Shape(Type.INTEGER, low, high, nullable))
    if operation.gives is Type.BOOLEAN:
        return _boolean(nullable)
    return _enumerated(_function(op, args[0]))


def _coalesce(args: list[Shape]) -> Shape:
    union, nullable = _union(args), all(s.nullable for s in args)
    if nullable or union.values is None:
        return replace(union, nullable=nullable)
    return _of_values(union.type, tuple(v for v in union.values if v is not None))


def union_of(shapes: list[Shape]) -> Shape:
    """Returns the shape of what is one of several; Refused where their types do not mix."""
    return _union(shapes)


def enumerated(shape: Shape) -> Shape:
    """Returns an integer shape with its values, where they are few enough to list."""
    return _enumerated(shape)


def _boolean(nullable: bool) -> Shape:
    return Shape(Type.BOOLEAN, None, None, nullable, (False, True, None)[: 3 if nullable else 2])


def _literal(value: Value, type_: Type) -> Shape:
    check_literal(value, type_)
    if value is None:
        return Shape(type_, None, None, True, (None,))
    ordered = type_ in (Type.INTEGER, Type.REAL, Type.DATE, Type.TIMESTAMP)
    ends: tuple[Any, Any] = (value, value) if ordered else (None, None)
    return Shape(type_, *ends, nullable=False, values=(value,))


def _of_values(type_: Type, values: tuple[Value, ...]) -> Shape:
    """Returns the shape of a listed domain; NULL, if listed, is moved to the end."""
    known: list[Any] = [v for v in values if v is not None]
    for value in known:
        _literal(value, type_)
    ordered = type_ in (Type.INTEGER, Type.REAL, Type.DATE, Type.TIMESTAMP) and known
    ends: tuple[Any, Any] = (min(known), max(known)) if ordered else (None, None)
    nullable = len(known) < len(values)
    return Shape(type_, *ends, nullable, (*known, *((None,) if nullable else ())))


def _enumerated(shape: Shape) -> Shape:
    """Lists the values of an integer interval that is short enough."""
    if shape.values is not None or shape.type is not Type.INTEGER or shape.lower is None:
        return shape
    if shape.upper - shape.lower >= MAX_LEVELS:
        return shape
    span = range(shape.lower, shape.upper + 1)
    return replace(shape, values=(*span, *((None,) if shape.nullable else ())))


def _expect(shape: Shape, type_: Type, where: str) -> Shape:
    if shape.type is not type_:
        raise Refused(f"{where} needs a {type_} value, not {shape.type}")
    return shape


def _one_type(shapes: tuple[Shape, ...], where: str) -> tuple[Shape, ...]:
    types = {s.type for s in shapes}
    if len(types) > 1 and types != {Type.INTEGER, Type.REAL}:
        raise Refused(f"{where} mixes the types {' and '.join(sorted(types))}")
    return shapes


def _union(shapes: list[Shape]) -> Shape:
    """Returns the shape of a value that is one of several: CASE, COALESCE, LEAST."""
    typed = [s for s in shapes if s.values != (None,)] or shapes
    _one_type(tuple(typed), "CASE, COALESCE, LEAST or GREATEST")
    type_ = Type.REAL if Type.REAL in {s.type for s in typed} else typed[0].type
    nullable = any(s.nullable for s in shapes)
    ends: tuple[Any, Any] = (None, None)
    if all(s.lower is not None for s in typed):
        ends = (min(s.lower for s in typed), max(s.upper for s in typed))
    values = None
    if all(s.values is not None for s in shapes) and type_ is not Type.REAL:
        seen = dict.fromkeys(itertools.chain.from_iterable(s.values or () for s in shapes))
        values = (*(v for v in seen if v is not None), *((None,) if nullable else ()))
    return Shape(type_, *ends, nullable, values)


def _reach(expr: a.Expr, scope: Mapping[str, Shape]) -> tuple[Any, Any, bool]:
    """Returns lower end, upper end (None where open) and nullability: LEAST clamps from above.

    NULL arguments are passed over, so only an argument that is never NULL is sure to clamp.
    """
    if not (isinstance(expr, a.Call) and expr.op in ("least", "greatest")):
        shape = check(expr, scope)
        return shape.lower, shape.upper, shape.nullable
    parts = [_reach(x, scope) for x in expr.args]
    loose: list[Any] = []
    for side, pick in enumerate((min, max)):
        ends = [part[side] for part in parts]
        loose.append(pick(ends) if None not in ends else None)
    clamping, pick = (0, max) if expr.op == "greatest" else (1, min)
    sure = [part[clamping] for part in parts if not part[2] and part[clamping] is not None]
    if sure:
        loose[clamping] = pick(sure)
    return loose[0], loose[1], all(part[2] for part in parts)


def _numbers(shapes: tuple[Shape, ...], what: str) -> Type:
    if any(s.type not in (Type.INTEGER, Type.REAL) for s in shapes):
        raise Refused(f"{what} needs numbers, not {' and '.join(sorted({s.type for s in shapes}))}")
    return Type.INTEGER if all(s.type is Type.INTEGER for s in shapes) else Type.REAL


def _arith(op: str, left: Shape, right: Shape) -> Shape:
    type_ = _numbers((left, right), op)
    nullable = left.nullable or right.nullable
    by_zero = right.lower is None or right.lower <= 0 <= right.upper
    known = left.lower is not None and right.lower is not None
    corners = list(itertools.product((left.lower, left.upper), (right.lower, right.upper)))
    match op:
        case "+" | "-" | "*":
            table = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}
            ends = [table[op](x, y) for x, y in corners] if known else []
        case "/":
            type_, nullable = Type.REAL, nullable or by_zero
            ends = [x / y for x, y in corners] if known and not by_zero else []
        case "//" if type_ is Type.INTEGER:
            nullable |= by_zero
            reach = max(abs(left.lower), abs(left.upper)) if left.lower is not None else None
            ends = [-reach, reach] if reach is not None else []
            if known and not by_zero:
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
    if not ends or not all(math.isfinite(end) for end in ends):
        return Shape(type_, nullable=nullable)
    return Shape(type_, min(ends), max(ends), nullable)


def int_divide(x: int, y: int) -> int:
    """Returns x // y as DuckDB computes it: truncated towards zero."""
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


def _function(name: str, arg: Shape) -> Shape:
    type_ = _numbers((arg,), name)
    if name == "integer":
        if arg.lower is None:
            return Shape(Type.INTEGER, nullable=arg.nullable)
        return Shape(Type.INTEGER, math.floor(arg.lower), math.ceil(arg.upper), arg.nullable)
    if name == "real":
        return replace(arg, type=Type.REAL, values=None)
    if arg.lower is None:
        return Shape(type_, nullable=arg.nullable)
    low, high = arg.lower, arg.upper
    match name:
        case "neg":
            ends = (-high, -low)
        case "abs":
            ends = (0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high)))
        case "floor" | "ceil" | "round":
            ends = (low, high) if type_ is Type.INTEGER else (math.floor(low), math.ceil(high))
        case _:
            raise Refused(f"there is no row function {name}")
    return Shape(type_, *ends, arg.nullable)
