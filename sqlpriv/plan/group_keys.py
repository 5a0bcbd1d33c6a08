"""The cells of a statement: strata and grouping keys, each with the public list of its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.aggregates.calls import aggregate_calls
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.columns import is_zoned
from sqlpriv.plan.expressions.facts import dates
from sqlpriv.plan.expressions.facts.conditions import (
    whole_identities,
    within_open_ends,
)
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS, Shape
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.expressions.public_evaluation import evaluate_over_lists, results_of
from sqlpriv.plan.pricing.cell_count import check_cell_count
from sqlpriv.plan.pricing.googlesql_options import asks_for_threshold
from sqlpriv.plan.pricing.tuned_constants import MAX_CELLS
from sqlpriv.statements import alter_text, default_name, written_name
from sqlpriv.statements import tree as t
from sqlpriv.statements.traverse import as_literal, with_aliases

SelectedKeys = tuple[tuple[Value, ...], ...]
"""Selected values: of each undeclared key of a statement, in the order of GROUP BY."""


Combinations = Callable[[str, tuple[str, ...]], Collection[tuple[Value, ...]]]
"""Which values of columns stand in one row of a public table, by its name and theirs."""


@dataclass(frozen=True)
class Dimension:
    """One key of the answer's cells.

    Args:
        node: The key as the statement names it, normal form: items that equal it show it.
        key: The kernel's key: a row expression and the list of its values.
        type: Type of the values.
        sql_type: DuckDB's type in which they are shown: of an ENUM, a DECIMAL or a
            TIMESTAMPTZ; '' for `type`'s.
        selected: No list is declared: the values are selected first (`plan.Selection`).
        complete: By the owner's word every row has one of the values.
        one_unit: Each value belongs to one unit: no group of it is ever shown.
    """

    node: t.Node
    key: a.Key
    type: Type
    selected: bool = False
    complete: bool = False
    sql_type: str = ""
    one_unit: bool = False

    @property
    def title(self) -> str:
        """What the statement calls the key."""
        return default_name(t.Item(self.node))

    @property
    def values(self) -> tuple[Value, ...]:
        """The public list of the key's values, in its declared order."""
        return self.key.values


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
        dimensions.append(_bind_dimension(column, node, binder, "STRATIFY BY"))
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
    if asks_for_threshold(select.options) and any(_is_one_units(key, binder) for key in keys):
        return _groups_of_one_unit(keys, binder)
    for node, resolved in zip(nodes, keys, strict=True):
        before = list(dict.fromkeys(d.node for d in dimensions if d.selected))
        normal = binder.normal_form(resolved)
        place = before.index(normal) if normal in before else len(before)
        key_values = (values[place] for values in selected or () if place < len(values))
        alone = None if selected is None else tuple(dict.fromkeys(key_values))
        dimension = _bind_dimension(resolved, node, binder, "GROUP BY", alone)
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
    lists = [[d.values for d in (*strata, *(unique[i] for i in one))] for one in sets]
    check_cell_count(lists, select)
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


def _bind_dimension(
    node: t.Node,
    place: t.Node,
    binder: Binder,
    clause: str,
    selected: tuple[Value, ...] | None = None,
) -> Dimension:
    """Returns the key; refusals point at the place where it was written."""
    expr = binder.bind(node)
    shape = replace(binder, scope=within_open_ends(binder.scope, binder.conditions)).shape(
        place, expr
    )
    if shape.values is None and _is_one_units(node, binder):
        raise refuse(
            place,
            "each value of this key belongs to one unit: a group would show it",
            "group by what many share; COUNT(DISTINCT key) counts units",
        )
    values = shape.values
    if expr in binder.evaluated and values is not None:
        values = tuple(value for value in values if value is not None)
    if expr in binder.listed:  # WHERE leaves these alone
        demanded = binder.listed[expr]
        values = demanded if values is None else tuple(v for v in values if v in demanded) or values
    elif _is_of_demanded(expr, binder) and (of_few := evaluate_over_lists(binder, node)):
        expr, nullable = of_few
        values = (*results_of(expr), *((None,) if nullable else ()))
    elif values is not None and clause == "GROUP BY" and expr in binder.excluded:
        excluded = binder.excluded[expr]
        values = tuple(value for value in values if value not in excluded) or values
    if values is None and shape.type is Type.BOOLEAN:
        values = (False, True, None)[: 3 if shape.nullable else 2]
    if values is None and shape.type is Type.DATE:
        values = dates.days_of_interval(shape)
    if values is None and isinstance(expr, a.Call) and expr.op == "midnight":
        values = dates.midnights_of_interval(shape)
    if values is None and shape.type is Type.REAL:
        values = _listed_decimals(shape)
    if values is None and selected is not None and shape.type in (Type.INTEGER, Type.TEXT):
        return Dimension(binder.normal_form(node), a.Key(expr, selected), shape.type, selected=True)
    if values is None and (evaluated := evaluate_over_lists(binder, node)) is not None:
        expr, nullable = evaluated
        shape = binder.shape(place, expr)
        values = (*results_of(expr), *((None,) if nullable else ()))
    if values is None:
        raise refuse(
            place,
            f"{clause} needs a public list of this key's values",
            _listing_hint(node, binder, shape.type),
        )
    if len(values) > MAX_LEVELS:
        raise refuse(place, f"this key has more than {MAX_LEVELS} values", "use wider bins")
    complete = None in values or expr in binder.listed or binder.is_present(expr)
    key = a.Key(expr, values)
    return Dimension(
        binder.normal_form(node),
        key,
        shape.type,
        complete=complete,
        sql_type=_shown_type(shape, values) or _zoned_type(binder, node, shape),
    )


def _is_of_demanded(expr: a.Expr, binder: Binder) -> bool:
    """Returns whether an expression is made of columns alone of each of which WHERE leaves listed
    values: `age / 10` under `age IN (20, 30)`."""
    demanded = {of.name.lower() for of in binder.listed if isinstance(of, a.Col)}
    return isinstance(expr, a.Call | a.Case) and columns_read(expr) <= demanded != set()


def _is_one_units(key: t.Node, binder: Binder) -> bool:
    """Returns whether each value of a key belongs to one unit, as a customer's number does."""
    column = binder.column_of(key).lower() if isinstance(key, t.Name) else ""
    return (
        bool(whole_identities(binder.named.get(column, ()))) and binder.scope[column].values is None
    )


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
            one_unit=_is_one_units(key, binder),
        )
        for key in keys
    ]
    unique = tuple(dict.fromkeys(dimensions))
    return GroupBy(unique, (tuple(range(len(unique))),))


def _shown_type(shape: Shape, values: Sequence[Value]) -> str:
    """Returns DuckDB's type of an ENUM or a DECIMAL key; '' where its kind says enough."""
    if shape.type is Type.REAL:
        return "" if shape.scale is None else f"DECIMAL(38,{shape.scale})"
    if not shape.sql_type:
        return ""
    labels = ["'" + str(value).replace("'", "''") + "'" for value in values if value is not None]
    return shape.sql_type if all(label in shape.sql_type for label in labels) else ""


def _zoned_type(binder: Binder, node: t.Node, shape: Shape) -> str:
    """Returns DuckDB's type of a key that is a moment with a time zone; '' of any other."""
    return "TIMESTAMPTZ" if shape.type is Type.TIMESTAMP and is_zoned(binder, node) else ""


def _listed_decimals(shape: Shape) -> tuple[Value, ...] | None:
    """Returns the values of a DECIMAL between its ends; None where they are too many to list."""
    if shape.scale is None or shape.lower is None:
        return None
    unit = 10**shape.scale
    low, high = math.ceil(shape.lower * unit), math.floor(shape.upper * unit)
    if high - low >= MAX_LEVELS:
        return None
    values = (number / unit for number in range(low, high + 1))
    return (*values, *((None,) if shape.nullable else ()))


def _listing_hint(node: t.Node, binder: Binder, type_: Type) -> str:
    """Returns how to get a finite list for such a key."""
    bins = "group by bins of a column with declared bounds: CAST(floor(x / 10) AS INTEGER)"
    if not isinstance(node, t.Name):
        if type_ is Type.TIME:
            return "group by hour(x), or write CASE … END"
        if type_ in (Type.DATE, Type.TIMESTAMP):
            return "group by date_trunc('month', d), or parts: year(d), month(d)"
        return bins if type_ is Type.REAL else "declare bounds of its columns, or write CASE … END"
    table, column = binder.home_of(binder.column_of(node))
    alter = alter_text(table, column)
    key = written_name(node.name)
    match type_:
        case Type.INTEGER:
            return f"the owner runs {alter} SET PRIVACY DOMAIN BETWEEN (low, high)"
        case Type.REAL:
            return f"use GROUP BY with bins of it: CAST(floor({key} / 10) AS INTEGER)"
        case Type.DATE:
            days = f"its days, in WHERE {key} BETWEEN … AND … (at most ten years)"
            parts = f"date_trunc('month', {key}), parts: year({key})"
            return f"use GROUP BY {parts}, or {days}"
        case Type.TIME:
            return f"use GROUP BY hour({key}), or CASE … END"
        case Type.TIMESTAMP:
            return f"use GROUP BY date_trunc('month', {key}), or parts: year({key})"
    budget = f"the budget of {binder.table}"
    keys_delta = f"keeps keys_delta in {budget}, from which keys are selected"
    return f"the owner runs {alter} SET PRIVACY DOMAIN IN ('a', 'b'), or {keys_delta}"


def _refuse_repeated(dimensions: Sequence[Dimension], nodes: Sequence[t.Node]) -> None:
    for i, dimension in enumerate(dimensions):
        if dimension in dimensions[:i]:
            raise refuse(nodes[i], "a stratum column is named twice", "name it once")
