"""Clamped contributions: `SUM(x, contribution_bounds_per_row => (0, 10))`, as in GoogleSQL.

A clamp is made of LEAST and GREATEST before the aggregate is read: what the kernel is asked is the
same as if they had been written. A clamp may narrow what the owner declared, never widen it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from sqlpriv.kernel.terms.contract import PrivacyUnit
from sqlpriv.plan.aggregates.aggregate_names import KINDS
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import default_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import rebuild, walk

_PER_ROW = "write contribution_bounds_per_row => (low, high), which clamps each value"


def clamp_contributions(select: t.Select, binder: Binder, unit: PrivacyUnit) -> t.Select:
    """Returns a SELECT in which clamps are written out.

    Args:
        select: The statement.
        binder: What names mean in it.
        unit: How many rows of a unit count, in how many groups.

    Raises:
        Refused: A clamp is wider than the owner's bound, or of a unit's several rows together.

    >>> item = t.Item(t.FunctionCall("sum", (t.Name("x"),)))
    >>> clamp_contributions(t.Select((item,), "t"), None, None).items == (item,)
    True
    """
    if not any(map(_is_clamped, _calls(select))):
        return select

    def change(node: t.Node) -> t.Node | None:
        return _clamped_call(node, binder, unit) if _is_clamped(node) else None

    items = tuple(
        replace(item, expr=rebuild(item.expr, change), alias=item.alias or default_name(item))
        for item in select.items
    )
    order = tuple(replace(term, expr=rebuild(term.expr, change)) for term in select.order_by)
    having = rebuild(select.having, change) if select.having is not None else None
    return replace(select, items=items, order_by=order, having=having)


def _calls(select: t.Select) -> Iterator[t.Node]:
    outputs = (item.expr for item in select.items)
    orders = (term.expr for term in select.order_by)
    for expr in (*outputs, *orders, *((select.having,) if select.having is not None else ())):
        yield from walk(expr)


def _is_clamped(node: t.Node) -> bool:
    return isinstance(node, t.FunctionCall) and node.bounds is not None


def _clamped_call(node: t.Node, binder: Binder, unit: PrivacyUnit) -> t.FunctionCall:
    """Returns an aggregate call whose argument is clamped."""
    assert isinstance(node, t.FunctionCall)
    assert node.bounds is not None
    bounds, kind = node.bounds, KINDS.get(node.name)
    if kind == "count" and bounds.per == "group":
        return _clamped_count(node, bounds, unit)
    if kind not in ("sum", "mean", "variance", "stddev", "level") or not node.args:
        raise refuse(node, f"{node.name.upper()} has no values to clamp", "leave the bounds out")
    if bounds.per == "group" and unit.rows_per_unit > 1:
        raise refuse(
            node,
            f"{unit.rows_per_unit} rows of a unit count in a group, and are not clamped together",
            f"{_PER_ROW}, or OPTIONS (max_rows_contributed = 1)",
        )
    arg = node.args[0]
    shape = binder.shape(arg, binder.bind(arg))
    wider = (shape.lower is not None and bounds.lower < shape.lower) or (
        shape.upper is not None and bounds.upper > shape.upper
    )
    if wider:
        raise refuse(
            node,
            f"the bounds ({bounds.lower}, {bounds.upper}) go beyond the owner's, which are"
            f" ({shape.lower}, {shape.upper})",
            f"write ({shape.lower}, {shape.upper}), or narrower ones",
        )
    low, high = t.Literal(bounds.lower, arg.pos), t.Literal(bounds.upper, arg.pos)
    raised = t.FunctionCall("greatest", (arg, low), pos=arg.pos)
    lowered = t.FunctionCall("least", (raised, high), pos=arg.pos)
    # LEAST and GREATEST skip NULL: what is not there is not clamped to an end.
    is_there = t.IsNull(arg, True, arg.pos)
    clamped = t.CaseWhen(((is_there, lowered),), pos=arg.pos)
    return replace(node, args=(clamped, *node.args[1:]), bounds=None)


def _clamped_count(
    call: t.FunctionCall, bounds: t.ContributionBounds, unit: PrivacyUnit
) -> t.FunctionCall:
    """A unit adds as many rows to a group as the bound says: the same number is no clamp."""
    most = unit.rows_per_unit
    if bounds.upper > most:
        raise refuse(
            call,
            f"the bounds ({bounds.lower}, {bounds.upper}) go beyond the owner's, which are"
            f" (0, {most}): so many rows of a unit count",
            f"write (0, {most})",
        )
    if bounds.lower > 0 or bounds.upper < most:
        raise refuse(
            call,
            f"a count is clamped to (0, {most}), the number of a unit's rows",
            f"write OPTIONS (max_rows_contributed = {max(1, int(bounds.upper))}) for fewer rows",
        )
    return replace(call, bounds=None)
