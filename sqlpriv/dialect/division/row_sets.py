"""UNION, INTERSECT and EXCEPT of private rows, DISTINCT ON as queries with groups.

    SELECT person FROM a INTERSECT SELECT person FROM b
    ──► SELECT person FROM (
            SELECT l.person, 0 AS __side FROM (SELECT person FROM a) AS l (person) UNION ALL
            SELECT r.person, 1 AS __side FROM (SELECT person FROM b) AS r (person)
        ) AS __both GROUP BY person
        HAVING COUNT(*) FILTER (WHERE __side = 0) > 0 AND COUNT(*) FILTER (WHERE __side = 1) > 0

    SELECT DISTINCT ON (person) ward FROM stays ORDER BY person, day
    ──► SELECT ward FROM stays QUALIFY ROW_NUMBER() OVER (PARTITION BY person ORDER BY day) = 1

    SELECT DISTINCT educ, MEDIAN(age) OVER (PARTITION BY educ) FROM people
    ──► SELECT educ, MEDIAN(age) FROM people GROUP BY educ

GROUP BY takes NULLs together as set operations do. Whether the groups are of one unit each, and so
may be made, is for the planner to tell. Set operations of answers are left to the tail.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlpriv.dialect.common_tables import common_table
from sqlpriv.dialect.division.terms.named_terms import (
    common_text,
    distinct_output_names,
    is_aggregate,
)
from sqlpriv.dialect.division.terms.parts import has_distinct_rows, own_nodes
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import copied_clauses, duckdb_call, row_count

_SIDE = "__side"
_ENDS = ("limit", "offset", "qualify", "group", "having", "windows")


def with_rows_grouped(root: exp.Expr, tables: StoredTables) -> None:
    """Rewrites what stands below a query: the query itself is over groups."""
    grouped: set[int] = set()
    for node in reversed(list(root.find_all(exp.SetOperation))):
        if _is_outermost(node, root) or not tables.reads_private(node):
            continue
        if not any(has_raw_rows(side) or id(side) in grouped for side in (node.left, node.right)):
            continue
        if (written := _as_groups(node)) is not None:
            grouped.add(id(written))
            node.replace(written)
    for select in list(root.find_all(exp.Select)):
        if tables.reads_private(select):
            _write_windows_as_groups(select)
            if not _is_outermost(select, root):
                _write_distinct_on(select)
                _write_distinct_windows(select)


def _is_outermost(node: exp.Expr, root: exp.Expr) -> bool:
    """Returns whether a query gives the statement's own rows, alone or as a side of UNION."""
    while isinstance(node.parent, exp.SetOperation):
        node = node.parent
    return node.parent is root or node is root


def select_keys_alone(query: exp.Expr) -> None:
    """Writes rows as they are stored as DISTINCT ones where repeated rows count once: behind IN and
    EXISTS, and as sides of UNION, INTERSECT and EXCEPT without ALL."""
    select = query.unnest() if isinstance(query, exp.Subquery) else query
    around = query.parent
    once = isinstance(around, exp.In | exp.Exists) or (
        isinstance(around, exp.SetOperation) and around.args.get("distinct")
    )
    if not (once and isinstance(select, exp.Select) and has_raw_rows(select)):
        return
    if isinstance(around, exp.Exists):
        select.set("expressions", [*copied_clauses(select), exp.Literal.number(1)])
    elif not any(select.args.get(name) for name in ("limit", "offset", "distinct", "qualify")):
        select.set("distinct", exp.Distinct())


def needs_keys_of_rows(query: exp.Expr) -> bool:
    """Returns whether it counts which keys a query has: behind IN and EXISTS, beside INTERSECT and
    EXCEPT, and under an aggregate. There a declared list is no answer: it may name what no row
    has."""
    around = query.parent
    while isinstance(around, exp.Subquery):
        around = around.parent
    readers = [around.parent] if isinstance(around, exp.From) else []
    if isinstance(around, exp.CTE):
        named = query.root().find_all(exp.Table)
        readers = [table.parent_select for table in named if common_table(table) is around]
    return isinstance(around, exp.In | exp.Exists | exp.Intersect | exp.Except) or any(
        isinstance(reader, exp.Select) and any(map(is_aggregate, own_nodes(reader)))
        for reader in readers
    )


def has_raw_rows(query: exp.Expr) -> bool:
    """Returns whether a query gives rows as they are stored, or a side of it does."""
    query = query.unnest() if isinstance(query, exp.Subquery) else query
    if isinstance(query, exp.SetOperation):
        return has_raw_rows(query.left) or has_raw_rows(query.right)
    own = own_nodes(query)
    return isinstance(query, exp.Select) and not (
        query.args.get("group") or any(map(is_aggregate, own))
    )


# --- set operations ---


def _as_groups(node: exp.SetOperation) -> exp.Select | None:
    """Returns a set operation as a query with groups; None where it keeps repeated rows."""
    names = distinct_output_names(node)
    if names is None or not node.args.get("distinct") or node.args.get("by_name"):
        return None
    if any(node.args.get(name) for name in ("order", "limit", "offset", "with_")):
        return None
    columns = [exp.column(name, quoted=True) for name in names]
    if isinstance(node, exp.Union):
        both = exp.Union(this=node.left.copy(), expression=node.right.copy(), distinct=False)
        return exp.select(*columns).from_(subquery_of(both, "__both", names)).group_by(*columns)
    sides = [
        exp.select(
            *(exp.column(name, table=alias, quoted=True) for name in names),
            exp.alias_(exp.Literal.number(number), _SIDE, quoted=True),
        ).from_(subquery_of(side, alias, names))
        for number, (alias, side) in enumerate((("__left", node.left), ("__right", node.right)))
    ]
    both = exp.Union(this=sides[0], expression=sides[1], distinct=False)
    in_left, in_right = map(_rows_of_side, (0, 1))
    second = exp.GT if isinstance(node, exp.Intersect) else exp.EQ
    having = exp.and_(
        exp.GT(this=in_left, expression=exp.Literal.number(0)),
        second(this=in_right, expression=exp.Literal.number(0)),
    )
    select = exp.select(*columns).from_(subquery_of(both, "__both"))
    return select.group_by(*columns).having(having)


def _rows_of_side(number: int) -> exp.Expr:
    here = exp.EQ(this=exp.column(_SIDE, quoted=True), expression=exp.Literal.number(number))
    return exp.Filter(this=row_count(), expression=exp.Where(this=here))


def row_number(keys: Sequence[exp.Expr], order: Sequence[exp.Expr]) -> exp.Window:
    """Returns the place of a row among those of its keys, in that order."""
    return exp.Window(
        this=duckdb_call("row_number"),
        partition_by=[key.copy() for key in keys],
        order=exp.Order(expressions=[term.copy() for term in order]),
        over="OVER",
    )


def subquery_of(query: exp.Expr, alias: str, names: list[str] | None = None) -> exp.Subquery:
    """Returns a copy of a query as a part of FROM, behind an alias with names for its columns."""
    inner = query.unnest() if isinstance(query, exp.Subquery) else query
    columns = [exp.to_identifier(name, quoted=True) for name in names or ()]
    return exp.Subquery(
        this=inner.copy(), alias=exp.TableAlias(this=exp.to_identifier(alias), columns=columns)
    )


# --- DISTINCT ON ---


def _write_distinct_on(select: exp.Select) -> None:
    """Writes DISTINCT ON (keys) … ORDER BY keys, rest as the first row of each key."""
    distinct, order = select.args.get("distinct"), select.args.get("order")
    on = distinct.args.get("on") if distinct is not None else None
    if on is None or order is None or any(select.args.get(name) for name in _ENDS):
        return
    keys = list(on.expressions) if isinstance(on, exp.Tuple) else [on.unnest()]
    first, rest = order.expressions[: len(keys)], order.expressions[len(keys) :]
    if {common_text(term.this) for term in first} != set(map(common_text, keys)) or not rest:
        return
    select.set("distinct", None)
    select.set("order", None)
    is_first = exp.EQ(this=row_number(keys, rest), expression=exp.Literal.number(1))
    select.set("qualify", exp.Qualify(this=is_first))


def _write_windows_as_groups(select: exp.Select) -> None:
    """Writes aggregates OVER (PARTITION BY keys), of which each row of a group has the same, as
    GROUP BY, where one row of each group is shown: by DISTINCT, or of all rows by LIMIT 1."""
    windows = [node for node in own_nodes(select) if isinstance(node, exp.Window)]
    plain = all(is_aggregate(one.this) and not one.args.get("order") for one in windows)
    if not windows or not plain or any(one.args.get("spec") for one in windows):
        return
    if any(select.args.get(name) for name in ("group", "having", "qualify", "windows")):
        return
    keys = windows[0].args.get("partition_by") or []
    texts = set(map(common_text, keys))
    output_texts = {common_text(item.unalias()) for item in select.expressions}
    limit = select.args.get("limit")
    has_one_row = not keys and isinstance(limit, exp.Limit) and limit.expression.name == "1"
    has_one_row = has_one_row and select.args.get("offset") is None
    if not (texts <= output_texts and (has_distinct_rows(select) or has_one_row)):
        return
    if any(set(map(common_text, one.args.get("partition_by") or [])) != texts for one in windows):
        return
    for window in windows:
        window.replace(window.this)
    select.set("distinct", None)
    if keys:
        select.set("group", exp.Group(expressions=[key.copy() for key in keys]))


def _write_distinct_windows(select: exp.Select) -> None:
    """Writes SELECT DISTINCT with windows as the groups of a query that has the windows."""
    names = distinct_output_names(select) if has_distinct_rows(select) else None
    if names is None or not any(isinstance(node, exp.Window) for node in own_nodes(select)):
        return
    if not any(select.args.get(name) for name in ("order", "limit", "offset", "with_")):
        select.set("distinct", None)
        columns = [exp.column(name, quoted=True) for name in names]
        rows = subquery_of(select, "__rows", names)
        select.replace(exp.select(*columns).from_(rows).group_by(*columns))
