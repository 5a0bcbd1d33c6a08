"""LATERAL subqueries of one row: each of their columns stands where it is used.

    SELECT AVG(x.total) FROM bookings b, LATERAL (SELECT b.adults + b.children AS total) x
    ──► SELECT AVG((b.adults + b.children)) FROM bookings b

    SELECT AVG(c.n) FROM patients p,
        LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.pid = p.pid) c
    ──► SELECT AVG((SELECT COUNT(*) FROM visits v WHERE v.pid = p.pid)) FROM patients p

    SELECT sex, q.n FROM patients CROSS JOIN (SELECT COUNT(*) AS n FROM patients) q GROUP BY 1, 2
    ──► SELECT sex, (SELECT COUNT(*) FROM patients) AS n FROM patients GROUP BY 1, 2

A query without FROM gives one row, and so does one of aggregates without GROUP BY: the join keeps
every row of the left side once. A subquery without LATERAL is an answer of its own. Whether a
subquery is of the row's own unit is for the planner to tell.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.common_tables import alias_of, is_stored_table
from sqlpriv.dialect.division.joins.column_owners import (
    column_name,
    columns_in,
    identifier_names,
    others_names,
)
from sqlpriv.dialect.division.joins.joins_taken_out import write_values
from sqlpriv.dialect.division.row_sources.rows_in_from import as_in_column
from sqlpriv.dialect.division.terms.named_terms import conjuncts_of, is_aggregate
from sqlpriv.dialect.division.terms.parts import NotDivisible, own_nodes
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import function_name

_MORE_ROWS = ("group", "having", "qualify", "limit", "offset", "distinct", "windows", "with_")


def write_lateral_columns(select: exp.Select, join: exp.Join, tables: StoredTables) -> None:
    """Takes a LATERAL subquery of one row out of a query over private rows."""
    if not tables.reads_private(select.args["from_"].this):
        raise NotDivisible("a query over public rows")
    alias, source = alias_of(join.this), join.this
    query = source.this.unnest() if isinstance(source, exp.Lateral | exp.Subquery) else None
    if not isinstance(query, exp.Select) or not alias:
        raise NotDivisible("no subquery")
    if any(query.args.get(clause) for clause in _MORE_ROWS):
        raise NotDivisible("other than one row")
    is_counted = query.args.get("from_") is not None
    if is_counted and not all(any(map(is_aggregate, own_nodes(x))) for x in query.expressions):
        raise NotDivisible("other than one row")
    is_answer = is_counted and not isinstance(source, exp.Lateral)
    if is_answer and not (tables.reads_private(query) and _is_over_groups(select)):
        raise NotDivisible("no answer beside private rows")
    if not is_counted and (query.args.get("where") or any(map(_makes_rows, query.walk()))):
        raise NotDivisible("a condition may leave no row, or a list be several")
    if join.side not in ("", "LEFT") or join.args.get("using") or join.method:
        raise NotDivisible("another join")
    tests = conjuncts_of(join.args.get("on"))
    if tests and join.side:
        raise NotDivisible("a row may have no partner")
    values = _values(query, source, is_counted)
    write_values(select, join, alias, values, others_names(select, join, tables), tests)
    if is_answer:
        _drop_constant_keys(select)


def _drop_constant_keys(select: exp.Select) -> None:
    """Takes answers out of a query's keys, where it has others: they are one number."""
    group = select.args.get("group")
    terms = [] if group is None else group.expressions
    others = [term for term in terms if not isinstance(term.unnest(), exp.Subquery)]
    if group is not None and others:
        group.set("expressions", others)


def _is_over_groups(select: exp.Select) -> bool:
    """Returns whether a query takes stored rows together, and not answers."""
    has_groups = select.args.get("group") is not None or any(map(is_aggregate, own_nodes(select)))
    return has_groups and is_stored_table(select.args["from_"].this)


def _makes_rows(node: exp.Expr) -> bool:
    """Returns whether a node may make other than one row of a row, or looks at several."""
    lists = ("unnest", "generate_series", "range", "generate_subscripts", "regexp_split_to_table")
    return isinstance(node, exp.Window | exp.Unnest) or function_name(node) in lists


def _subquery_of_aggregate(node: exp.Expr, query: exp.Select) -> exp.Expr:
    """Returns an aggregate as a subquery of its own; another node as it is."""
    if not is_aggregate(node):
        return node
    counted = query.copy()
    counted.set("expressions", [node.copy()])
    return exp.Subquery(this=counted)


def _values(query: exp.Select, source: exp.Expr, is_counted: bool) -> dict[str, exp.Expr]:
    """Returns what stands for each column, by its lower-case name."""
    names = identifier_names(source.args["alias"].columns) or list(
        map(column_name, query.expressions)
    )
    if len(names) != len(query.expressions) or len({*names}) != len(names):
        raise NotDivisible("columns without names of their own")
    if any(item.is_star or is_aggregate(item) for item in query.expressions) and not is_counted:
        raise NotDivisible("no row of the left side's own")
    values: dict[str, exp.Expr] = {}
    for name, item in zip(names, query.expressions, strict=True):
        one = item.unalias().copy()
        if is_counted:
            one = one.transform(lambda node: _subquery_of_aggregate(node, query))
        values[name] = exp.Paren(this=one) if columns_in(one) else as_in_column(one)
    return values
