"""LAG, LEAD and FIRST_VALUE of any column inside a unit: the row at a place in the order.

    SELECT ward, LAG(ward) OVER (PARTITION BY person ORDER BY day) AS before FROM stays
    ──► SELECT stays.ward, __at0.ward AS before
        FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS __place FROM stays)
            AS stays
        LEFT JOIN (the same) AS __at0
            ON stays.person = __at0.person AND __at0.__place = stays.__place - 1

`unit_windows` then writes ROW_NUMBER. A value that is the first of ORDER BY is read there without
these joins.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.common_tables import bare_name
from sqlpriv.dialect.division.row_sets import row_number, subquery_of
from sqlpriv.dialect.division.terms.parts import own_nodes
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.division.unit_windows import queries_with_windows, same_key, set_joins
from sqlpriv.dialect.division.window_values import qualify_columns, text_of
from sqlpriv.dialect.marks import function_name, marked_name

_PLACE = "__place"
_AT = ("lag", "lead", "first_value")


def with_neighbours_joined(root: exp.Expr, tables: StoredTables) -> None:
    """Rewrites the subqueries below a query that look at other rows of a unit by their place."""
    for select, table, windows in queries_with_windows(root):
        others = [window for window in windows if _looks_elsewhere(window)]
        if not others or not tables.reads_private(table) or len({*map(_frame_text, windows)}) != 1:
            continue
        if all(
            window in others or function_name(window.this) == "row_number" for window in windows
        ):
            _join_neighbours(select, table, windows, tables.row_names(bare_name(table))[1])


def _looks_elsewhere(window: exp.Window) -> bool:
    """Returns whether a window gives a column that its ORDER BY does not begin with."""
    call, order = window.this, window.args.get("order")
    if function_name(call) not in _AT or order is None or not window.args.get("partition_by"):
        return False
    arguments = call.expressions
    if window.args.get("spec") is not None or not isinstance(
        next(iter(arguments), None), exp.Column
    ):
        return False
    first = order.expressions[0]
    is_first = text_of(arguments[0]) == text_of(first.this) and len(arguments) == 1
    is_first = is_first and not first.args.get("nulls_first")
    return not is_first and (len(arguments) < 2 or str(arguments[1]).strip("0").isdecimal())


def _frame_text(window: exp.Window) -> str:
    keys = window.args.get("partition_by") or []
    return f"{[*map(text_of, keys)]} {window.args.get('order')}"


def _join_neighbours(
    select: exp.Select, table: exp.Table, windows: list[exp.Window], units: frozenset[str]
) -> None:
    """Writes the windows of a query as columns of joined subqueries."""
    alias = table.alias_or_name
    keys = [key.copy() for key in windows[0].args["partition_by"]]
    numbered = row_number(keys, windows[0].args["order"].expressions)
    rows = exp.select("*", exp.alias_(numbered, _PLACE, quoted=True)).from_(table.copy())
    rows.set("where", select.args.get("where") and select.args["where"].copy())
    for node in own_nodes(select):
        if isinstance(node, exp.Column) and not node.table and not marked_name(node):
            node.set("table", exp.to_identifier(alias))
    joins: dict[str, exp.Join] = {}
    for window in windows:
        name, arguments = function_name(window.this), window.this.expressions
        if name == "row_number":
            window.replace(exp.column(_PLACE, table=alias, quoted=True))
            continue
        place = _place_of(name, arguments, alias)
        at = f"__at{len(joins)}"
        if (text := text_of(place)) in joins:
            at = joins[text].alias_or_name
        else:
            joins[text] = _join(rows, keys, place, alias, at, units)
        value: exp.Expr = exp.column(arguments[0].name, table=at)
        if name in ("lag", "lead") and len(arguments) == 3:
            there = exp.column(_PLACE, table=at, quoted=True)
            missing = exp.Is(this=there, expression=exp.Null())
            value = exp.Case(ifs=[exp.If(this=missing, true=arguments[2].copy())], default=value)
        window.replace(value)
    select.set("where", None)
    select.set("from_", exp.From(this=subquery_of(rows, alias)))
    set_joins(select, alias, list(joins.values()))


def _place_of(name: str, arguments: list[exp.Expr], alias: str) -> exp.Expr:
    """Returns the place of the row that a window looks at, counted from 1."""
    distance = arguments[1].copy() if len(arguments) > 1 else exp.Literal.number(1)
    if name == "first_value":
        return distance
    mine = exp.column(_PLACE, table=alias, quoted=True)
    return (exp.Sub if name == "lag" else exp.Add)(this=mine, expression=distance)


def _join(
    rows: exp.Select,
    keys: list[exp.Expr],
    place: exp.Expr,
    alias: str,
    name: str,
    units: frozenset[str],
) -> exp.Join:
    tests = [
        same_key(key, qualify_columns(key, alias), qualify_columns(key, name), units)
        for key in keys
    ]
    side = "LEFT" if place.find(exp.Column) else None  # there is a first row wherever there is one
    tests.append(exp.EQ(this=exp.column(_PLACE, table=name, quoted=True), expression=place))
    return exp.Join(this=subquery_of(rows, name), on=exp.and_(*tests), side=side)
