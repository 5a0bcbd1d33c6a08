"""One key of the cells: the public list of its values, or how to get one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type, Value
from sqlpriv.kernel.terms.operations import columns_read
from sqlpriv.plan.expressions.binder import Binder
from sqlpriv.plan.expressions.columns import is_zoned
from sqlpriv.plan.expressions.facts import dates
from sqlpriv.plan.expressions.facts.conditions import scope_within_open_ends, whole_identities
from sqlpriv.plan.expressions.facts.value_facts import MAX_LEVELS, Shape, with_values_listed
from sqlpriv.plan.expressions.literal_types import refuse
from sqlpriv.plan.expressions.public_evaluation import evaluate_over_lists, results_of
from sqlpriv.statements import alter_text, default_name, written_name
from sqlpriv.statements import tree as t


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


class UnlistedKey(Refused):
    """A key without a public list of values, of an aggregate over many units."""


def bind_dimension(
    node: t.Node,
    place: t.Node,
    binder: Binder,
    clause: str,
    selected: tuple[Value, ...] | None = None,
) -> Dimension:
    """Returns the key; refusals point at the place where it was written."""
    expr = binder.bind(node)
    scope = scope_within_open_ends(binder.scope, binder.conditions)
    is_unlisted = replace(binder, scope=scope).shape(place, expr).values is None
    if is_unlisted and belongs_to_one_unit(node, binder):
        raise refuse(
            place,
            "each value of this key belongs to one unit: a group would show it",
            "group by what many share; COUNT(DISTINCT key) counts units",
        )
    # WHERE may leave few values of a column's wide interval
    few = {name: with_values_listed(scope[name]) for name in columns_read(expr)}
    narrowed = replace(binder, scope={**scope, **few})
    shape = narrowed.shape(place, expr)
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
    if values is None and (evaluated := evaluate_over_lists(narrowed, node)) is not None:
        expr, nullable = evaluated
        shape = narrowed.shape(place, expr)
        values = (*results_of(expr), *((None,) if nullable else ()))
    if values is None:
        raise UnlistedKey.at(
            place.pos,
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
        sql_type=_shown_type(node, shape, values) or _zoned_type(binder, node, shape),
    )


def _is_of_demanded(expr: a.Expr, binder: Binder) -> bool:
    """Returns whether an expression is made of columns alone of each of which WHERE leaves listed
    values: `age / 10` under `age IN (20, 30)`."""
    demanded = {of.name.lower() for of in binder.listed if isinstance(of, a.Col)}
    return isinstance(expr, a.Call | a.Case) and frozenset() < columns_read(expr) <= demanded


def belongs_to_one_unit(key: t.Node, binder: Binder) -> bool:
    """Returns whether each value of a key belongs to one unit, as a customer's number does."""
    column = binder.column_of(key).lower() if isinstance(key, t.Name) else ""
    return (
        bool(whole_identities(binder.named.get(column, ()))) and binder.scope[column].values is None
    )


def _shown_type(node: t.Node, shape: Shape, values: Sequence[Value]) -> str:
    """Returns DuckDB's type of an ENUM or a DECIMAL key; '' where its kind says enough, and of a
    cast to text, which is sorted as text."""
    if shape.type is Type.REAL:
        return "" if shape.scale is None else f"DECIMAL(38,{shape.scale})"
    if not shape.sql_type or isinstance(node, t.Cast):
        return ""
    labels = ["'" + str(value).replace("'", "''") + "'" for value in values if value is not None]
    declared = labels and all(label in shape.sql_type for label in labels)
    return shape.sql_type if declared else ""


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
        case Type.INTEGER if binder.scope[binder.column_of(node).lower()].lower is not None:
            return f"use GROUP BY with bins of it, {key} // 100, or narrow it in WHERE"
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
