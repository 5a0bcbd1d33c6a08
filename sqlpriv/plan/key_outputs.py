"""Outputs that keys alone tell: GROUPING, and aggregates of what is one value in each group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from sqlpriv.kernel.terms.contract import Column, Type
from sqlpriv.plan.cells.computed_columns import GROUP, POPULATION, SUMMED
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import tree as t

_MEANS = ("avg", "mean", "median")
_SAME_AS_THE_VALUE = (*_MEANS, "min", "max", "any_value", "arbitrary", "first")


def is_of_one_value(call: t.FunctionCall) -> bool:
    """Whether a call is AVG, MIN, MAX, MEDIAN or the like, without DISTINCT or FILTER.

    Where the argument has one value in each group (a key, or a public column with one value for
    each value of a key), the aggregate is that value. No private row needs to be asked for it.
    """
    plain = replace(call, name="", args=(), pos=t.Pos()) == t.FunctionCall("")
    return call.name in _SAME_AS_THE_VALUE and plain


def key_in_aggregate(
    call: t.FunctionCall, argument: t.Node | None, groups: Sequence[Dimension]
) -> t.Node | None:
    """Returns the key that MIN(key), AVG(key) or the like is; None where the argument is no key.

    Args:
        call: An aggregate of which `is_of_one_value` holds.
        argument: Its argument in normal form.
        groups: The keys of the statement.
    """
    for i, key in enumerate(groups):
        if key.node == argument and key.type in (Type.INTEGER, Type.REAL):
            value = t.Name(f"{GROUP}{i}", pos=call.pos)
            return value if call.name not in _MEANS else t.Cast(value, "DOUBLE", pos=call.pos)
    return None


def in_type_of(call: t.FunctionCall, value: t.Node, column: Column) -> t.Node:
    """Returns a value in the type that the aggregate has: DOUBLE for means and medians."""
    if column.type not in (Type.INTEGER, Type.REAL):
        return value
    kind = "DOUBLE" if call.name in _MEANS else column.sql_type.upper()
    return t.Cast(value, kind, pos=call.pos)


def grouping_bits(
    call: t.FunctionCall,
    binder: Binder,
    strata: Sequence[Dimension],
    groups: Sequence[Dimension],
    has_sets: bool,
) -> t.Node:
    """GROUPING(a, b): a bit per argument, the last the lowest, set where it was summed over;
    without arguments of all keys of GROUP BY.

    Args:
        call, binder, strata, groups: The call, and the keys of the statement that it stands in.
        has_sets: GROUP BY has several sets of keys, as ROLLUP has.

    Raises:
        Refused: An argument is no key.
    """
    strata_nodes, group_nodes = [d.node for d in strata], [d.node for d in groups]
    bits: dict[str, int] = {POPULATION: 0}
    nodes = [binder.normal_form(arg) for arg in call.args] or group_nodes
    for place, node in enumerate(reversed(nodes)):
        if node not in (*strata_nodes, *group_nodes):
            raise refuse(node, "GROUPING takes strata and grouping keys", "GROUPING(sex, race)")
        is_stratum = node in strata_nodes
        column = POPULATION if is_stratum else f"{SUMMED}{group_nodes.index(node)}"
        if is_stratum or has_sets:
            bits[column] = bits.get(column, 0) + 2**place
    terms = [t.Binary("*", t.Name(column), t.Literal(n), call.pos) for column, n in bits.items()]
    return reduce(lambda x, y: t.Binary("+", x, y, call.pos), terms)
