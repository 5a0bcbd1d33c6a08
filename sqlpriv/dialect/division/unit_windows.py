"""Windows inside a unit: a subquery's windows over rows become joins of these rows with themselves.

    SELECT ward, ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) AS i FROM stays
    ──► SELECT ward, __window0.__value0 AS i
        FROM stays JOIN (
            SELECT r.person AS __key0, r.id AS __row, COUNT(*) FILTER (WHERE s ≤ r) AS __value0
            FROM stays AS r JOIN stays AS s ON r.person = s.person GROUP BY r.person, r.id
        ) AS __window0 ON stays.person = __window0.__key0 AND stays.id = __window0.__row

Rows are told apart by a PRIMARY KEY or UNIQUE column, `id`. It also decides between rows that ORDER
BY does not tell apart, where DuckDB takes them in any order. Whoever plans the join checks that it
is one inside a unit. NULLs are one key of PARTITION BY.

Windows that have a key in common share a join, so that two orders read no more rows than one; what
else they partition by is compared in their FILTER. A row's value depends on its unit's rows alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlglot import exp

from sqlpriv.dialect.common_tables import bare_name, common_table
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.division.window_values import OrderedRows, column_of, qualify_columns, text_of
from sqlpriv.errors import Refused

ROW = "__row"
NO_ROW = Refused(
    "nothing tells the rows of a unit apart that this window puts in order",
    hint="the owner runs ALTER TABLE t ADD PRIMARY KEY (id), and declares t again; it is read of a "
    "table, not of a subquery",
)
OF_OTHER_UNITS = Refused(
    "this window puts rows of different units in order",
    hint="PARTITION BY the unit's key; ranks of groups are windows over a query with GROUP BY",
)
_OTHER = ("group", "having", "distinct", "limit", "offset", "windows", "joins", "laterals")


def with_windows_joined(root: exp.Expr, tables: StoredTables) -> Refused | None:
    """Rewrites the subqueries below a query that have windows over private rows: its own windows
    are over groups. Returns why a window was left as it is; None where nothing can be done about
    it."""
    refusal = None
    for select, table, windows in queries_with_windows(root):
        if not windows or not tables.reads_private(table):
            continue
        stored = common_table(table) is None
        row, units = tables.row_names(bare_name(table)) if stored else ("", frozenset[str]())
        if units and any(_is_of_other_units(window, units) for window in windows):
            refusal = OF_OTHER_UNITS
            continue
        try:
            select.replace(_with_joins(select, table, row, units))
        except NotDivisible:
            continue
        except Refused as reason:
            refusal = reason
    return refusal


def _is_of_other_units(window: exp.Window, units: frozenset[str]) -> bool:
    keys = window.args.get("partition_by") or ()
    of_unit = any(isinstance(key, exp.Column) and key.name.lower() in units for key in keys)
    return bool(window.args.get("order")) and not of_unit


def queries_with_windows(
    root: exp.Expr,
) -> Iterator[tuple[exp.Select, exp.Table, list[exp.Window]]]:
    """Yields the subqueries below a query that are over rows of one table: with the table, and
    their windows."""
    for select in list(root.find_all(exp.Select)):
        write_named_windows(select)
        source = select.args.get("from_")
        table = source.this if source is not None else None
        if not isinstance(table, exp.Table) or select.find_ancestor(exp.Select, exp.Pivot) is None:
            continue
        if not any(select.args.get(name) for name in _OTHER) and not table.args.get("joins"):
            yield select, table, [x for x in own_nodes(select) if isinstance(x, exp.Window)]


def write_named_windows(select: exp.Select) -> None:
    """Writes the windows of WINDOW w AS (…) out where they are named."""
    named = {one.name.lower(): one for one in select.args.get("windows") or ()}
    for window in [node for node in own_nodes(select) if isinstance(node, exp.Window)]:
        definition = named.get(str(window.args.get("alias") or "").lower())
        if definition is None or window.args.get("partition_by") or window.args.get("order"):
            continue
        window.set("alias", None)
        for part in ("partition_by", "order", "spec"):
            value = definition.args.get(part)
            copied = [x.copy() for x in value] if isinstance(value, list) else value
            window.set(part, copied.copy() if isinstance(copied, exp.Expr) else copied)
    if named and not any(w.args.get("alias") for w in select.find_all(exp.Window)):
        select.set("windows", None)


def _with_joins(
    select: exp.Select, table: exp.Table, row: str, units: frozenset[str]
) -> exp.Select:
    """Returns a query with columns of joined subqueries in the places of its windows."""
    written = select.copy()
    alias = table.alias_or_name
    windows = [node for node in own_nodes(written) if isinstance(node, exp.Window)]
    joins = []
    for number, (keys, members) in enumerate(_joined_together(windows, row)):
        name = f"__window{number}"
        values = [rows.value(window) for window, rows in members]
        joins.append(_join(written, table, keys, members, values, name, units))
        for i, (window, _) in enumerate(members):
            window.replace(exp.column(f"__value{i}", table=name))
    set_joins(written, alias, joins)
    return written


def set_joins(select: exp.Select, alias: str, joins: list[exp.Join]) -> None:
    """Joins subqueries to a query's one table: * stays that table's, and WHERE tests what QUALIFY
    did, which is a column of theirs now."""
    outputs = [
        exp.Column(this=exp.Star(), table=exp.to_identifier(alias))
        if isinstance(x, exp.Star)
        else x
        for x in select.expressions
    ]
    select.set("expressions", outputs)
    select.set("joins", joins)
    if (qualify := select.args.get("qualify")) is not None:
        select.set("qualify", None)
        select.where(qualify.this, copy=False)


_Members = list[tuple[exp.Window, OrderedRows]]


def _joined_together(
    windows: Sequence[exp.Window], row: str
) -> list[tuple[Sequence[exp.Expr], _Members]]:
    """Returns the keys of each join, and the windows whose values it gives.

    Each join reads the table twice where rows are told apart, so that one serves all windows that
    have a key in common: what else they partition by is compared in FILTER.
    """
    members = [(window, _rows_of(window, row)) for window in windows]
    texts = [{text_of(key) for key in rows.keys} for _, rows in members]
    common = set.intersection(*texts)
    if row and common and any(rows.order for _, rows in members):
        keys = [key for key in members[0][1].keys if text_of(key) in common]
        together = []
        for window, rows in members:
            others = [key for key in rows.keys if text_of(key) not in common]
            together.append((window, replace(rows, row=row, compared=others)))
        return [(keys, together)]
    groups: dict[str, _Members] = {}
    for window, rows in members:
        groups.setdefault(str(sorted(map(text_of, rows.keys))), []).append((window, rows))
    return [(group[0][1].keys, group) for group in groups.values()]


def _join(
    select: exp.Select,
    table: exp.Table,
    keys: Sequence[exp.Expr],
    members: _Members,
    values: Sequence[exp.Expr],
    name: str,
    units: frozenset[str],
) -> exp.Join:
    """Returns the JOIN of the subquery that has the values of some windows."""
    row = next((rows.row for _, rows in members if rows.order), "")
    alias = table.alias_or_name
    rows = ("r", "s") if row else ("s",)
    titles = [f"__key{i}" for i in range(len(keys))]
    inner_keys = [qualify_columns(key, rows[0]) for key in keys]
    if row:
        titles, inner_keys = [*titles, ROW], [*inner_keys, column_of("r", row)]
    columns = [*titles, *(f"__value{i}" for i in range(len(values)))]
    named = zip(columns, [*inner_keys, *values], strict=True)
    inner = exp.Select(expressions=[exp.alias_(x.copy(), n, quoted=True) for n, x in named])
    inner = inner.from_(_as(table, rows[0]), copy=False)
    if row:
        same = [same_key(k, qualify_columns(k, "r"), qualify_columns(k, "s"), units) for k in keys]
        inner.set("joins", [exp.Join(this=_as(table, "s"), on=exp.and_(*same))])
    if (where := select.args.get("where")) is not None:
        for one in rows:
            inner = inner.where(qualify_columns(where.this, one), copy=False)
    inner.set("group", exp.Group(expressions=[key.copy() for key in inner_keys]))
    equal = [
        same_key(
            key, qualify_columns(key, alias), exp.column(title, table=name, quoted=True), units
        )
        for key, title in zip(keys, titles, strict=False)
    ]
    if row:
        there = exp.column(ROW, table=name, quoted=True)
        equal.append(exp.EQ(this=column_of(alias, row), expression=there))
    subquery = exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier(name)))
    return exp.Join(this=subquery, on=exp.and_(*equal))


def same_key(key: exp.Expr, one: exp.Expr, other: exp.Expr, units: frozenset[str]) -> exp.Expr:
    """Returns whether two rows have one key: NULL is one, but no unit is NULL."""
    is_unit = isinstance(key, exp.Column) and (not units or key.name.lower() in units)
    return (exp.EQ if is_unit else exp.NullSafeEQ)(this=one, expression=other)


def _rows_of(window: exp.Window, row: str) -> OrderedRows:
    keys, order = window.args.get("partition_by") or [], window.args.get("order")
    if not keys or window.args.get("over") not in (None, "OVER"):
        raise NotDivisible("a window over all rows")
    terms = order.expressions if order is not None else []
    spec = window.args.get("spec")
    if spec is not None and not terms:
        raise NotDivisible("a frame without an order")
    if terms and not row:
        raise NO_ROW
    nulls_first = frozenset(i for i, term in enumerate(terms) if term.args.get("nulls_first"))
    order = [(term.this, bool(term.args.get("desc"))) for term in terms]
    return OrderedRows(keys, order, row, nulls_first=nulls_first)


def _as(table: exp.Table, alias: str) -> exp.Table:
    written = table.copy()
    written.set("alias", exp.TableAlias(this=exp.to_identifier(alias)))
    return written
