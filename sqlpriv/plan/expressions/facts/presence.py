"""Which expressions are surely there: neither NULL nor NaN, whatever a row holds."""

from __future__ import annotations

from collections.abc import Mapping, Set
from functools import partial

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.plan.expressions.facts.inference import infer_shape
from sqlpriv.plan.expressions.facts.value_facts import Shape


def is_present(expr: a.Expr, scope: Mapping[str, Shape], required: Set[str]) -> bool:
    """Returns whether an expression is surely neither NULL nor NaN, whatever the row holds.

    Args:
        expr: The expression.
        scope: Lower-case name → what is publicly known of the column's values.
        required: Lower-case names of columns without NULL and NaN, by the owner's promise.
    """
    present = partial(is_present, scope=scope, required=required)
    match expr:
        case a.Col(name):
            return name.lower() in required
        case a.Lit(value):
            return value is not None
        case a.Call("is null"):
            return True
        case a.Call("coalesce" | "least" | "greatest", args):
            return any(map(present, args))
        case a.Call(op, args) if op in ("days", "date", "midnight") or " " in op:  # not of all
            has_ends = op.startswith("scale ") or infer_shape(expr, scope).lower is not None
            return has_ends and all(map(present, args))
        case a.Call("/" | "//" | "%", args):
            return all(map(present, args)) and not infer_shape(expr, scope).nullable
        case a.Call("sqrt" | "ln" | "log10" | "log2" | "pow" | "&" | "|", args):  # NaN, say
            return infer_shape(expr, scope).lower is not None and all(map(present, args))
        case a.Call(_, args):
            return all(map(present, args))
        case a.Shift(arg):
            return present(arg) and infer_shape(expr, scope).lower is not None
        case a.In(arg) | a.Bin(arg) | a.Like(arg) | a.Substring(arg):
            return present(arg)
        case a.Case(whens, otherwise):
            return all(map(present, [otherwise, *(then for _, then in whens)]))
        case a.Pick():
            return False
