"""EXISTS over private rows, of no row around it: is their noised count above its half-width?

    SELECT EXISTS (SELECT * FROM visits WHERE cost > 900)
    ──► SELECT (SELECT COUNT(*) > ERROR(COUNT(*)) FROM visits WHERE cost > 900)

    SELECT 1 AS one FROM visits WHERE cost > 900 LIMIT 1
    ──► SELECT 1 AS one WHERE (SELECT COUNT(*) > ERROR(COUNT(*)) FROM visits WHERE cost > 900)

    SELECT AVG(age) FROM people WHERE EXISTS (SELECT * FROM visits WHERE cost > 900)
    ──► SELECT AVG(age) FROM people
        WHERE (SELECT COUNT(*) - ERROR(COUNT(*)) FROM visits WHERE cost > 900) > 0

That is how listed values are said to be there, too. Where no row exists the answer is true in one
of 40 statements; where few exist it may be false.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.common_tables import alias_of, is_stored_table, sources_of
from sqlpriv.dialect.division.joins.column_owners import columns_in
from sqlpriv.dialect.division.terms.named_terms import is_aggregate
from sqlpriv.dialect.division.terms.parts import own_nodes
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import copied_clauses, duckdb_call, outputs_of, row_count

_SHAPING = ("group", "having", "qualify", "offset", "windows", "with_")


def with_existence_counted(root: exp.Expr, tables: StoredTables) -> None:
    """Rewrites EXISTS that looks at no row around it, and a statement of constants that gives a row
    if there is one, as Rails and Django ask."""
    _write_first_row(root.this, tables)
    for node in list(root.find_all(exp.Exists)):
        query, around = node.this, node.find_ancestor(exp.Select)
        if not isinstance(query, exp.Select) or around is None or not tables.reads_private(query):
            continue
        if not (_is_of_itself(query) and _gives_rows(query)):
            continue
        of_public = not any(map(tables.reads_private, sources_of(around)))
        if of_public or all(map(is_stored_table, (*sources_of(around), *_sources_inside(query)))):
            # columns around the excess have their tables' names
            test = _count_test(query) if of_public else exp.paren(_excess(query))
            test.meta.update(node.meta)
            node.replace(test)


def _sources_inside(query: exp.Select) -> list[exp.Expr]:
    return [source for select in query.find_all(exp.Select) for source in sources_of(select)]


def _write_first_row(query: exp.Expr, tables: StoredTables) -> None:
    if not isinstance(query, exp.Select) or query.args.get("from_") is None:
        return
    limit = query.args.get("limit")
    constants = all(not item.is_star and not columns_in(item) for item in outputs_of(query))
    is_one = isinstance(limit, exp.Limit) and limit.expression.name == "1"
    if is_one and constants and tables.reads_private(query) and _gives_rows(query):
        test = _count_test(query)
        for clause in ("from_", "joins", "laterals", "where", "order", "limit"):
            query.set(clause, None)
        query.where(test, copy=False)


def _is_of_itself(query: exp.Select) -> bool:
    """Returns whether every column that names its table is of the query, or of one inside it."""
    aliases = set(map(alias_of, _sources_inside(query)))
    return all(column.table.lower() in {"", *aliases} for column in columns_in(query))


def _gives_rows(query: exp.Select) -> bool:
    """Returns whether a query gives a row for each row of its FROM and WHERE."""
    limit = query.args.get("limit")
    is_whole = isinstance(limit, exp.Limit) and limit.expression.name not in ("", "0")
    keeps_some = limit is None or is_whole
    plain = not any(query.args.get(clause) for clause in _SHAPING)
    return keeps_some and plain and not any(map(is_aggregate, own_nodes(query)))


def _count_test(query: exp.Select) -> exp.Expr:
    """Returns whether a query's noised count is above its half-width, as a subquery."""
    return _count_subquery(query, exp.GT)


def _excess(query: exp.Select) -> exp.Expr:
    """Returns the same as a number that is compared: private rows are tested with numbers."""
    return exp.GT(this=_count_subquery(query, exp.Sub), expression=exp.Literal.number(0))


def _count_subquery(query: exp.Select, operator: type[exp.Binary]) -> exp.Expr:
    test = operator(this=row_count(), expression=duckdb_call("error", row_count()))
    counted = query.copy()
    for clause in ("order", "limit", "distinct"):
        counted.set(clause, None)
    counted.set("expressions", [*copied_clauses(query), test])
    return exp.Subquery(this=counted)
