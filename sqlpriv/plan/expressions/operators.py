"""Operators, IN lists and CASE of row expressions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.operations import MAX_SCALE
from sqlpriv.plan.expressions.facts.conditions import flatten
from sqlpriv.plan.expressions.facts.inference import infer_shape
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.plan.expressions.literal_types import (
    INFINITY,
    NAN,
    cast_beside_floats,
    coerce_literal,
    coerce_uuid,
    natural_type,
    number_in_quotes,
    refuse,
)
from sqlpriv.plan.expressions.moment_functions import bind_duration, days_between
from sqlpriv.plan.expressions.row_functions import function_hint
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import fold_constant, join_terms

if TYPE_CHECKING:
    from sqlpriv.plan.expressions.binder import Binder


def bind_operator(binder: Binder, node: t.Unary | t.Binary) -> a.Expr:
    """Returns NOT, AND, OR, a comparison or arithmetic as a row expression.

    An operation on constants alone is computed here, and is a literal.

    Raises:
        Refused: There is no such operator for private rows, or the types of its sides do not fit.
    """
    number = fold_constant(node)
    if number is not None:
        return coerce_literal(number, natural_type(number.value) or Type.INTEGER)
    match node:
        case t.Unary("not", arg):
            return a.Call("not", (binder.bind_predicate(arg, "NOT"),))
        case t.Unary("-", arg):
            return a.Call("neg", (binder.bind(arg),))
        case t.Binary("and" | "or" as op, left, right):
            sides = [binder.bind_predicate(side, op.upper()) for side in (left, right)]
            return a.Call(op, tuple(x for side in sides for x in flatten(op, side)))
        case t.Binary("=" | "<>" | "<" | "<=" | ">" | ">=" as op, left, right):
            if (comparison := bind_duration(binder, node)) is not None:
                return comparison
            compared = binder.bind_together((left, right), op)
            return a.Call(op, tuple(with_infinity(binder, side) for side in compared))
        case t.Binary("&" | "|" as op, left, right):
            return a.Call(op, (binder.bind(left), binder.bind(right)))
        case t.Binary("+" | "-" | "*" | "/" | "//" | "%" as op, left, right):
            return _bind_arithmetic(binder, op, (left, right))
    raise refuse(
        node,
        f"the operator {node.op} is not for private rows",
        function_hint(node.op),
    )


def _bind_arithmetic(binder: Binder, op: str, nodes: tuple[t.Node, t.Node]) -> a.Expr:
    """Returns + - * / // or % of two values.

    Of dates, a difference is in days, and a literal number of days may be added or subtracted.
    """
    if isinstance(nodes[1], t.Span):
        return _bind_shift(binder, nodes[0], nodes[1], -1 if op == "-" else 1)
    sides = (binder.bind(nodes[0]), binder.bind(nodes[1]))
    shapes = [binder.shape(side, expr) for side, expr in zip(nodes, sides, strict=True)]
    if op == "-" and all(shape.type is Type.DATE for shape in shapes):
        return days_between(sides[1], sides[0])
    if op == "//" and Type.REAL in {shape.type for shape in shapes}:
        return a.Call("/", sides)  # as DuckDB has it: `//` cuts whole numbers alone
    if op in "+-" and shapes[0].type is Type.DATE and isinstance(sides[1], a.Lit):
        days = sides[1].value
        if type(days) is int:
            moved = a.Shift(sides[0], 0, -days if op == "-" else days, 0)
            return a.Call("date", (moved,))
    return a.Call(op, sides)


_OF_NUMBERS = (
    *("+", "-", "*", "/", "neg", "abs", "sign", "real", "coalesce", "least", "greatest"),
    *("round", "floor", "ceil", "trunc", "scale", "sqrt", "cbrt", "ln", "log10", "log2"),
    *("exp", "pow"),
)
"""Operations on numbers that compute with an infinity and NaN as DuckDB does."""


def with_infinity(binder: Binder, side: a.Expr) -> a.Expr:
    """Returns a side of a comparison, with each quotient in it infinite where its divisor is 0.

    DuckDB has an infinity there, and of 0 / 0 NaN, which is above all numbers. The kernel has NULL,
    which a quotient stays that is a value, of an aggregate or a key, or an argument of another
    function. The sign of the zero is not known: -0.0 is read as 0.0. Of quotients in quotients the
    outer ones count, so that the text of a comparison grows fourfold at most.

    The column of a query in FROM that holds such an expression is NULL where another value is
    compared, and the CASE says so: a comparison of it still narrows the column's ends.
    """
    match side:
        case a.Col(name) if name.lower() in binder.infinite:
            is_null = a.Call("is null", (side,))
            return a.Case(((is_null, binder.infinite[name.lower()]),), side)
        case a.Call("/", (_, below)) if may_be_zero(below, binder.scope):
            return _infinite_by_zero(binder, side)
        case a.Call(op, args) if op.split()[0] in _OF_NUMBERS:
            changed = tuple(with_infinity(binder, arg) for arg in args)
            return side if _are_same(changed, args) else a.Call(op, changed)
        case a.Case(whens, otherwise):
            thens = [then for _, then in whens]
            *results, last = (with_infinity(binder, x) for x in (*thens, otherwise))
            if _are_same((*results, last), (*thens, otherwise)):
                return side
            tests = (test for test, _ in whens)
            return a.Case(tuple(zip(tests, results, strict=True)), last)
    return side


def _are_same(changed: Sequence[a.Expr], before: Sequence[a.Expr]) -> bool:
    return all(x is y for x, y in zip(changed, before, strict=True))


def _infinite_by_zero(binder: Binder, quotient: a.Call) -> a.Expr:
    """Returns a quotient as DuckDB has it where its divisor is 0."""
    above, below = quotient.args
    nought, zero = (a.Lit(0, infer_shape(x, binder.scope).type) for x in (above, below))
    is_zero = a.Call("=", (below, zero))
    outcomes = (("<", a.Call("neg", (INFINITY,))), (">", INFINITY), ("=", NAN))
    whens = [
        (a.Call("and", (is_zero, a.Call(op, (above, nought)))), outcome) for op, outcome in outcomes
    ]
    return a.Case(tuple(whens), quotient)


def may_be_zero(expr: a.Expr, scope: Mapping[str, Shape]) -> bool:
    """Returns whether 0 may be among the values of an expression; not of `nullif(x, 0)`."""
    match expr:
        case a.Case(((a.Call("=", (one, a.Lit(0))), a.Lit(None)),), other) if one == other:
            return False
    shape = infer_shape(expr, scope)
    if shape.values is not None:
        return 0 in shape.values
    return shape.lower is None or shape.lower <= 0 <= shape.upper


def _bind_shift(binder: Binder, node: t.Node, span: t.Span, sign: int) -> a.Expr:
    """Returns a date or timestamp moved by an interval, which is a timestamp; back for sign -1."""
    parts = (sign * span.months, sign * span.days, sign * span.micros)
    if any(abs(part) > most for part, most in zip(parts, a.MAX_SHIFT, strict=True)):
        raise refuse(span, "an interval moves by 5000 years at most", "write a shorter one")
    return a.Shift(binder.bind(node), *parts)


def bind_in_list(binder: Binder, node: t.InList) -> a.Expr:
    """Returns x IN (…): literals are read as values of the type of x, and of any other value it is
    asked whether x equals it."""
    folded = [(item, fold_constant(item)) for item in node.items]
    others = [item for item, literal in folded if literal is None]
    items = [literal for _, literal in folded if literal]
    tests: list[t.Node] = [t.Binary("=", node.arg, item, item.pos) for item in others]
    if not folded:  # false, and NULL where x is
        tests = [t.Binary("<>", node.arg, node.arg, node.pos)]
    among = [_bind_literal_list(binder, node.arg, items, others)] if items else []
    equal = flatten("or", binder.bind(join_terms("or", tests))) if tests else ()
    parts = (*among, *equal)
    return negate_if(a.Call("or", parts) if len(parts) > 1 else parts[0], node.negated)


def _bind_literal_list(
    binder: Binder, node: t.Node, items: Sequence[t.Literal], others: Sequence[t.Node]
) -> a.Expr:
    """Returns whether a value is one of literals, which DuckDB casts to the type of all that are
    listed; `others` are the rest."""
    arg = with_infinity(binder, binder.bind(node))
    shape = binder.shape(node, arg)
    read = coerce_uuid if shape.sql_type == "UUID" else coerce_literal
    digits = MAX_SCALE if shape.scale is None else shape.scale
    quoted = [number_in_quotes(item, shape.type, digits) for item in items]
    if not any(item.exponent for item in items):
        shapes = [shape, *(binder.shape(other, binder.bind(other)) for other in others)]
        quoted = [cast_beside_floats(item, shapes) for item in quoted]
    present = [item for item in quoted if item.value is not None]
    values = dict.fromkeys(read(item, shape.type).value for item in present)
    expr: a.Expr = a.In(arg, tuple(values)) if values else a.Lit(None, Type.BOOLEAN)
    if len(present) < len(items):  # a NULL is listed: x IN (1, NULL) is true or NULL, never false
        nothing = a.Lit(None, Type.BOOLEAN)
        expr = a.Call("or", (expr, nothing)) if values else nothing
    return expr


def bind_case(binder: Binder, node: t.CaseWhen) -> a.Expr:
    """Returns a CASE whose results are of one type; `CASE x WHEN 1` is `CASE WHEN x = 1`."""
    tests = [
        t.Binary("=", node.operand, when, when.pos) if node.operand else when
        for when, _ in node.whens
    ]
    last = node.otherwise or t.Literal(None, node.pos)
    *thens, otherwise = binder.bind_together((*(then for _, then in node.whens), last))
    predicates = [binder.bind_predicate(test, "CASE WHEN") for test in tests]
    return a.Case(tuple(zip(predicates, thens, strict=True)), otherwise)


def negate_if(expr: a.Expr, negated: bool) -> a.Expr:
    """Returns an expression, or NOT of it."""
    return a.Call("not", (expr,)) if negated else expr
