"""The cells of a statement: strata and grouping keys, each with the public list of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.cells.dimensions import Dimension, belongs_to_one_unit, bind_dimension
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.pricing.googlesql_options import asks_for_threshold
from sqlpriv.plan.pricing.tuned_constants import MAX_CELLS
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import as_literal, with_aliases

SelectedKeys = tuple[tuple[Value, ...], ...]
"""Selected values: of each undeclared key of a statement, in the order of GROUP BY."""


Combinations = Callable[[str, tuple[str, ...]], Collection[tuple[Value, ...]]]
"""Which values of columns stand in one row of a public table, by its name and theirs."""


class GroupBy(NamedTuple):
    """GROUP BY: its keys, and the sets of them as positions; one set of all without ROLLUP."""

    keys: tuple[Dimension, ...]
    sets: tuple[tuple[int, ...], ...]


def bind_strata(
    select: t.Select, binder: Binder, aliases: Mapping[str, t.Node]
) -> tuple[Dimension, ...]:
    """Returns the dimensions of STRATIFY BY: declared columns, each once.

    Raises:
        Refused: Not a column, no public list of values, or too many strata.
    """
    if select.stratify is None:
        return ()
    dimensions: list[Dimension] = []
    for node in select.stratify.by:
        column = node if binder.names_column(node) else with_aliases(node, aliases)
        if not isinstance(column, t.Name):
            raise refuse(
                node,
                "STRATIFY BY takes columns of the table",
                "put expressions in GROUP BY: strata are declared columns",
            )
        dimensions.append(bind_dimension(column, node, binder, "STRATIFY BY"))
    _refuse_repeated(dimensions, select.stratify.by)
    return tuple(dimensions)


def bind_groups(
    select: t.Select,
    binder: Binder,
    aliases: Mapping[str, t.Node],
    strata: Sequence[Dimension],
    selected: SelectedKeys | None = None,
) -> GroupBy:
    """Returns the dimensions of GROUP BY: ordinals and aliases resolved, GROUP BY ALL spelt out.

    Args:
        select, binder, aliases, strata: The statement, and what was read of it.
        selected: The values that undeclared keys take; None where none may be there.

    Raises:
        Refused: An aggregate or a stratum among them, or a key without a finite public list.
    """
    nodes = _group_by_nodes(select, strata, binder)
    dimensions: list[Dimension] = []
    keys = [_resolve_alias(node, select, binder, aliases) for node in nodes]
    for call in (call for key in keys for call in aggregate_calls(key)):
        raise refuse(call, "GROUP BY cannot hold an aggregate", "use HAVING to filter groups")
    if asks_for_threshold(select.options) and any(belongs_to_one_unit(key, binder) for key in keys):
        return _groups_of_one_unit(keys, binder)
    for node, resolved in zip(nodes, keys, strict=True):
        before = list(dict.fromkeys(d.node for d in dimensions if d.selected))
        normal = binder.normal_form(resolved)
        place = before.index(normal) if normal in before else len(before)
        key_values = (values[place] for values in selected or () if place < len(values))
        alone = None if selected is None else tuple(dict.fromkeys(key_values))
        dimension = bind_dimension(resolved, node, binder, "GROUP BY", alone)
        if dimension.node in [d.node for d in strata]:
            raise refuse(node, "this key of GROUP BY is a stratum already", "leave it out here")
        dimensions.append(dimension)
    unique = list(dict.fromkeys(dimensions))
    if not select.sets and math.prod(len(d.values) for d in (*strata, *unique)) > MAX_CELLS:
        unique = _without_computed(unique)
    sets = [tuple(range(len(unique)))]
    if select.sets:
        at = [unique.index(dimension) for dimension in dimensions]
        sets = [tuple(sorted({at[i] for i in one})) for one in select.sets]
    return GroupBy(tuple(unique), tuple(sets))


def _without_computed(groups: Sequence[Dimension]) -> list[Dimension]:
    """Returns the keys less those that are made of others: `x - 1` beside `x` tells no more groups
    apart, and its values are computed of the answer's x."""
    columns = {d.key.expr.name.lower() for d in groups if isinstance(d.key.expr, a.Col)}
    return [
        d
        for d in groups
        if isinstance(d.key.expr, a.Col) or not columns_read(d.key.expr) <= columns
    ]


def _group_by_nodes(
    select: t.Select, strata: Sequence[Dimension], binder: Binder
) -> tuple[t.Node, ...]:
    """Returns what is grouped by as written; for GROUP BY ALL every item without an aggregate."""
    if not select.group_all:
        return select.group_by
    return tuple(
        item.expr
        for item in select.items
        if not any(aggregate_calls(item.expr))
        and binder.normal_form(item.expr) not in [d.node for d in strata]
        and as_literal(item.expr) is None
        and not (
            isinstance(item.expr, t.FunctionCall) and item.expr.name in ("grouping", "grouping_id")
        )
    )


def _resolve_alias(
    node: t.Node, select: t.Select, binder: Binder, aliases: Mapping[str, t.Node]
) -> t.Node:
    ordinal = as_literal(node)
    if ordinal is None:
        return with_aliases(node, {k: v for k, v in aliases.items() if k not in binder.names})
    if type(ordinal.value) is int and 1 <= ordinal.value <= len(select.items):
        return select.items[ordinal.value - 1].expr
    raise refuse(node, "GROUP BY has no such output", f"outputs are 1 to {len(select.items)}")


def _groups_of_one_unit(keys: Sequence[t.Node], binder: Binder) -> GroupBy:
    """Returns keys without values, one of which tells units apart.

    A threshold lets a group pass that enough units have. These groups have one unit each, whatever
    the rows are, so that the list of those that pass is empty in public: nothing has to be asked.
    """
    dimensions = [
        Dimension(
            binder.normal_form(key),
            a.Key(expr := binder.bind(key), ()),
            binder.shape(key, expr).type,
            one_unit=belongs_to_one_unit(key, binder),
        )
        for key in keys
    ]
    unique = tuple(dict.fromkeys(dimensions))
    return GroupBy(unique, (tuple(range(len(unique))),))


def _refuse_repeated(dimensions: Sequence[Dimension], nodes: Sequence[t.Node]) -> None:
    for i, dimension in enumerate(dimensions):
        if dimension in dimensions[:i]:
            raise refuse(nodes[i], "a stratum column is named twice", "name it once")
