"""ARG_MIN and ARG_MAX inside a unit: the value in the unit's first or last row.

The kernel has MIN and MAX inside a unit, so rows are joined with their unit's first (or last) day:

    SELECT person, ARG_MIN(ward, day) AS w FROM stays WHERE p GROUP BY person
    ──►
    SELECT person, MIN(ward) FILTER (WHERE day = e0) AS w
    FROM stays JOIN (SELECT person AS k, MIN(day) FILTER (WHERE ward IS NOT NULL) AS e0
                     FROM stays WHERE p GROUP BY person) AS e ON person = k
    WHERE p GROUP BY person

Where several rows of a unit have that day, the least of their values is taken; DuckDB takes any.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.statements import default_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import as_literal, rebuild, with_aliases

_EXTREMES = {
    "arg_min": "min",
    "argmin": "min",
    "min_by": "min",
    "arg_max": "max",
    "argmax": "max",
    "max_by": "max",
}
_KEY, _END = "sqlpriv_unit_key", "sqlpriv_extreme"


def join_extremes(query: t.Select, aliases: Mapping[str, t.Node], alias: str) -> t.Select:
    """Returns a query without ARG_MIN and ARG_MAX: its rows are joined with their units' extremes.

    Args:
        query: One that aggregates inside a unit.
        aliases: Its outputs' names, lower case → their expressions.
        alias: A name for the joined table of extremes that the query does not use.

    Raises:
        Refused: The query groups by more than the unit, or an argument is missing.
    """
    nodes = [*(item.expr for item in query.items), *([query.having] if query.having else [])]
    calls = [c for node in nodes for c in aggregate_calls(node) if c.name in _EXTREMES]
    if not calls:
        return query
    for call in calls:
        _check_form(call, query)
    key = _unit_key(query, aliases)
    extremes = [
        t.FunctionCall(_EXTREMES[c.name], c.args[1:], filter=_with_value(c), pos=c.pos)
        for c in dict.fromkeys(calls)
    ]
    names = {call: f"{_END}{i}" for i, call in enumerate(dict.fromkeys(calls))}
    items = [t.Item(key, _KEY), *map(t.Item, extremes, names.values())]
    inner = replace(query, items=tuple(items), group_by=(key,), having=None, order_by=())
    source = query.source or t.Table(query.table, query.alias, query.pos)
    equal = t.Binary("=", key, t.Name(_KEY, alias, query.pos), query.pos)
    joined = t.Joined(source, t.Derived(inner, alias, query.pos), "inner", equal, (), query.pos)

    def value_at_extreme(node: t.Node) -> t.Node | None:
        """Returns MIN of the value over the rows at the extreme; None for another node."""
        if not (isinstance(node, t.FunctionCall) and node in names):
            return None
        at_end = t.Binary("=", node.args[1], t.Name(names[node], alias, node.pos), node.pos)
        test = at_end if node.filter is None else t.Binary("and", at_end, node.filter, node.pos)
        return t.FunctionCall("min", node.args[:1], filter=test, pos=node.pos)

    outputs = [
        replace(
            item, expr=rebuild(item.expr, value_at_extreme), alias=item.alias or default_name(item)
        )
        for item in query.items
    ]
    having = query.having and rebuild(query.having, value_at_extreme)
    return replace(query, items=tuple(outputs), source=joined, group_by=(key,), having=having)


def _check_form(call: t.FunctionCall, query: t.Select) -> None:
    """Refuses a call without two arguments, and one whose query groups by more than the unit."""
    if len(call.args) != 2 or call.distinct:
        raise refuse(call, f"{call.name.upper()} takes two arguments", "write ARG_MIN(x, day)")
    if len(query.group_by) != 1:
        raise refuse(
            call,
            f"{call.name.upper()} is computed of a unit's rows",
            "GROUP BY the unit's key alone",
        )


def _unit_key(query: t.Select, aliases: Mapping[str, t.Node]) -> t.Node:
    """Returns the key of GROUP BY as an expression of columns: `GROUP BY 1` and an alias mean an
    output."""
    (key,) = query.group_by
    number = as_literal(key)
    if number is not None and type(number.value) is int and 0 < number.value <= len(query.items):
        key = query.items[number.value - 1].expr
    return with_aliases(key, {k: v for k, v in aliases.items() if v != t.Name(k)})


def _with_value(call: t.FunctionCall) -> t.Node:
    """Returns the condition on the rows that a call looks at: the value is there, and the row
    passes the call's FILTER."""
    present: t.Node = t.IsNull(call.args[0], True, call.pos)
    return present if call.filter is None else t.Binary("and", present, call.filter, call.pos)
