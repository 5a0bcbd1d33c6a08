"""LATERAL subqueries of one row: each of their columns stands where it is used.

    SELECT AVG(x.total) FROM bookings b, LATERAL (SELECT b.adults + b.children AS total) x
    ──► SELECT AVG((b.adults + b.children)) FROM bookings b

    SELECT AVG(c.n) FROM patients p,
        LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.pid = p.pid) c
    ──► SELECT AVG((SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid)) FROM patients p

A query without FROM gives one row, and so does one of aggregates without GROUP BY: the join keeps
every row of the left side once. Whether a subquery is of the row's own unit is for the planner to
tell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from sqlglot import exp

from sqlpriv.dialect.division.named_terms import common_text, is_aggregate, output_name
from sqlpriv.dialect.division.outer_keys import ColumnsOf
from sqlpriv.dialect.division.parts import NotDivisible, own_nodes
from sqlpriv.dialect.division.rewrites.column_owners import (
    alias_of,
    column_names,
    columns_in,
    conjuncts_of,
    identifier_names,
)
from sqlpriv.dialect.division.rewrites.existence import sources_of
from sqlpriv.dialect.marks import MARK, clauses_mark, function_name, marked_name

_MORE_ROWS = ("group", "having", "qualify", "limit", "offset", "distinct", "windows", "with_")
_PARTS = ("expressions", "joins", "where", "group", "having", "qualify", "order", "windows")


def with_lateral_columns(
    root: exp.Expr, reads_private: Callable[[exp.Expr], bool], columns_of: ColumnsOf
) -> None:
    """Takes LATERAL subqueries of one row out of queries over private rows."""
    for select in list(root.find_all(exp.Select)):
        first = select.args.get("from_")
        if first is None or not reads_private(first.this):
            continue

        def write(select: exp.Select, join: exp.Join) -> None:
            _write_columns(select, join, columns_of)

        take_joins_out(select, write)


def take_joins_out(select: exp.Select, write: Callable[[exp.Select, exp.Join], None]) -> None:
    """Takes out of a query each join for which `write` does so; it raises NotDivisible if not."""
    left = 0
    while left < len(select.args.get("joins") or ()):
        try:
            write(select, select.args["joins"][left])
        except NotDivisible:
            left += 1


def _write_columns(select: exp.Select, join: exp.Join, columns_of: ColumnsOf) -> None:
    alias, source = alias_of(join.this), join.this
    query = source.this.unnest() if isinstance(source, exp.Lateral | exp.Subquery) else None
    if not isinstance(query, exp.Select) or not alias:
        raise NotDivisible("no subquery")
    if any(query.args.get(clause) for clause in _MORE_ROWS):
        raise NotDivisible("other than one row")
    is_counted = query.args.get("from_") is not None
    if is_counted and not (
        isinstance(source, exp.Lateral)
        and all(any(map(is_aggregate, own_nodes(item))) for item in query.expressions)
    ):
        raise NotDivisible("other than one row")
    if not is_counted and (query.args.get("where") or any(map(_makes_rows, query.walk()))):
        raise NotDivisible("a condition may leave no row, or a list be several")
    side = str(join.args.get("side") or "").upper()
    if side not in ("", "LEFT") or join.args.get("using") or join.args.get("method"):
        raise NotDivisible("another join")
    tests = conjuncts_of(join.args.get("on"))
    if tests and side:
        raise NotDivisible("a row may have no partner")
    values = _values(query, source, is_counted)
    others = [column_names(one, columns_of) for one in sources_of(select) if one is not source]
    hidden = {name for names in others for name in names or ()}
    write_values(select, join, alias, values, None if None in others else hidden, tests)


def write_values(
    select: exp.Select,
    join: exp.Join,
    alias: str,
    values: Mapping[str, exp.Expr],
    hidden: Collection[str] | None,
    tests: Sequence[exp.Expr],
) -> None:
    """Takes a join out of a query, with an expression where each of its columns stands.

    Args:
        select: The query; it is changed as a whole, or not at all.
        join: One of its joins.
        alias: That of what is joined.
        values: What stands for each column, by its lower-case name.
        hidden: Names that columns of other parts of FROM have, too; None where they are unknown.
        tests: What WHERE tests besides.

    Raises:
        NotDivisible: A name may be that of another part's column.
    """
    if any(item.is_star for item in select.expressions):
        raise NotDivisible("* has its columns")

    def value(node: exp.Expr) -> exp.Expr:
        if not isinstance(node, exp.Column) or marked_name(node):
            return node
        name, table = node.name.lower(), node.table.lower()
        if table == alias and name not in values:
            raise NotDivisible("a column that is not told")
        if name not in values or table not in ("", alias):
            return node
        if not table and (hidden is None or name in hidden):
            raise NotDivisible("a name that may be of another part of FROM")
        return values[name].copy()

    written = select.copy()
    joins = written.args["joins"]
    del joins[next(i for i, one in enumerate(select.args["joins"]) if one is join)]
    written.set("joins", joins or None)
    written.set("expressions", [_output(item, value) for item in written.expressions])
    for part in _PARTS[1:]:
        held = written.args.get(part)
        if isinstance(held, list):
            written.set(part, [node.transform(value) for node in held])
        elif held is not None:
            written.set(part, held.transform(value))
    for test in tests:
        written.where(test.transform(value), copy=False)
    _name_subquery_keys(select, written)
    for part in _PARTS:
        select.set(part, written.args.get(part))


def _name_subquery_keys(select: exp.Select, written: exp.Select) -> None:
    """Writes keys of GROUP BY that became subqueries as the names of the outputs that they are: the
    planner joins the subqueries of outputs."""
    names = {
        common_text(item.unalias()): item.alias_or_name
        for item in select.expressions
        if not clauses_mark(item)
    }
    before, after = select.args.get("group"), written.args.get("group")
    if before is None or after is None:
        return
    for old, new in zip(before.expressions, list(after.expressions), strict=True):
        if new.find(exp.Query) and not old.find(exp.Query) and common_text(old) in names:
            new.replace(exp.column(names[common_text(old)], quoted=True))


def _makes_rows(node: exp.Expr) -> bool:
    """Returns whether a node may make other than one row of a row, or looks at several."""
    lists = ("unnest", "generate_series", "range", "generate_subscripts", "regexp_split_to_table")
    return isinstance(node, exp.Window | exp.Unnest) or function_name(node) in lists


def _output(item: exp.Expr, value: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    changed = item.transform(value)
    if clauses_mark(item) or not isinstance(item, exp.Column):
        return changed
    return exp.alias_(changed, item.name, quoted=True)


def _of_query(node: exp.Expr, query: exp.Select) -> exp.Expr:
    """Returns an aggregate as a subquery of its own; another node as it is."""
    if not is_aggregate(node):
        return node
    counted = query.copy()
    counted.set("expressions", [node.copy()])
    return exp.Subquery(this=counted)


def _values(query: exp.Select, source: exp.Expr, is_counted: bool) -> dict[str, exp.Expr]:
    """Returns what stands for each column, by its lower-case name."""
    names = identifier_names(source.args["alias"].columns) or [
        output_name(item).partition(MARK)[0].lower() for item in query.expressions
    ]
    if len(names) != len(query.expressions) or len({*names}) != len(names):
        raise NotDivisible("columns without names of their own")
    if any(item.is_star or is_aggregate(item) for item in query.expressions) and not is_counted:
        raise NotDivisible("no row of the left side's own")
    values: dict[str, exp.Expr] = {}
    for name, item in zip(names, query.expressions, strict=True):
        one = item.unalias().copy()
        if is_counted:
            one = one.transform(lambda node: _of_query(node, query))
        values[name] = exp.Paren(this=one) if columns_in(one) else one
    return values
