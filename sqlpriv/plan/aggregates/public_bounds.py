"""The finite public bounds of what is added up, and what to declare where there are none."""

from __future__ import annotations

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import MAX_INTEGER, Number, Type
from sqlpriv.plan.aggregates.aggregate_names import COUNT_GROUPS
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.facts.value_facts import Shape
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import alter_text, default_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import walk


def _hint_of_moments(call: t.FunctionCall, arg: t.Node, type_: Type) -> str:
    """Returns what to write for an aggregate of dates or moments that is not answered."""
    name = default_name(t.Item(arg))
    if type_ is Type.TIME:
        minutes = f"hour({name}) * 60 + minute({name})"
        return f"count minutes: {call.name.upper()}({minutes})"
    return f"count from a day on: {call.name.upper()}(date_diff('day', DATE '2024-01-01', {name}))"


def _hint_of_texts(arg: t.Node, binder: Binder) -> str:
    """Returns what to write for numbers of texts: a file's decimals with a comma are texts, too."""
    if not isinstance(arg, t.Name):
        return COUNT_GROUPS
    alter = alter_text(*binder.home_of(binder.column_of(arg)))
    return f"{COUNT_GROUPS}; where the texts are numbers, the owner runs {alter} TYPE DOUBLE"


def public_bounds(
    call: t.FunctionCall, arg: t.Node, of: a.Expr, binder: Binder
) -> tuple[Number, Number]:
    """Returns the finite public bounds of what is added up, or refuses, naming what to declare."""
    shape, name = binder.shape(arg, of), call.name.upper()
    if shape.type is Type.BOOLEAN:
        raise refuse(
            call,
            f"{name} needs numbers, and this is a condition",
            "write COUNT(*) FILTER (WHERE condition)",
        )
    if shape.type not in (Type.INTEGER, Type.REAL):
        is_moment = shape.type in (Type.DATE, Type.TIMESTAMP, Type.TIME)
        hint = _hint_of_moments(call, arg, shape.type) if is_moment else _hint_of_texts(arg, binder)
        raise refuse(call, f"{name} needs numbers, not {shape.type} values", hint)
    if shape.lower is None or shape.upper is None:
        raise refuse(
            call, f"{name} needs public bounds of its argument", _declaration_hint(arg, binder)
        )
    if max(abs(shape.lower), abs(shape.upper)) >= MAX_INTEGER:
        raise refuse(
            call,
            f"the bounds of the argument of {name} go beyond ±2^62",
            "narrow the declared domains, or clamp: LEAST(GREATEST(x, low), high)",
        )
    return shape.lower, shape.upper


def _declaration_hint(arg: t.Node, binder: Binder) -> str:
    """Returns the declaration to run: for the first column without bounds in the argument."""
    for part in walk(arg):
        if isinstance(part, t.Name) and binder.names_column(part):
            column = binder.column_of(part)
            shape, (table, column) = binder.scope.get(column.lower()), binder.home_of(column)
            if shape is None or _lacks_bounds(shape):
                return (
                    f"the owner runs {alter_text(table, column)} "
                    "SET PRIVACY DOMAIN BETWEEN (low, high)"
                )
    return "clamp it: LEAST(GREATEST(x, low), high)"


def _lacks_bounds(shape: Shape) -> bool:
    bounded = (Type.INTEGER, Type.REAL, Type.DATE, Type.TIMESTAMP)
    return shape.type in bounded and shape.lower is None
