"""What FROM reads, and which query of WITH a table's name means where it stands, as in DuckDB.

Inside the WITH itself those written before are in scope; a recursive one also in the second half of
its own UNION. Elsewhere the name is a stored table's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from sqlglot import exp

from sqlpriv.dialect.marks import MARK


def bare_name(node: exp.Expr) -> str:
    """Returns the lower-case name of a table, or of a query of WITH, without marks."""
    name = node.alias if isinstance(node, exp.CTE) else node.name
    return str(name).partition(MARK)[0].lower()


def alias_of(source: exp.Expr) -> str:
    """Returns the lower-case alias of a part of FROM, or its name; '' where it has none."""
    return source.alias_or_name.partition(MARK)[0].lower()


def common_table(table: exp.Table) -> exp.CTE | None:
    """Returns the query of WITH that a table's name means; None where it is a stored table's."""
    if table.args.get("db"):
        return None
    name = bare_name(table)
    for outer, inside in _outwards(table):
        for cte in _tables_in_scope(outer, inside):
            if bare_name(cte) == name and cte is not inside:
                return cte
        own, second = outer.parent, isinstance(outer, exp.SetOperation) and outer.expression
        in_union = inside is second and isinstance(own, exp.CTE) and _is_recursive(own)
        if in_union and isinstance(own, exp.CTE) and bare_name(own) == name:
            return own
    return None


def is_stored_table(source: exp.Expr | None) -> TypeGuard[exp.Table]:
    """Returns whether a part of FROM names a stored table, and no query of WITH."""
    if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier):
        return False
    return common_table(source) is None


def query_in_from(source: exp.Expr) -> exp.Select | None:
    """Returns the SELECT that a part of FROM is, or names in WITH; None of another part, and where
    an alias names its columns anew."""
    query = source.this if isinstance(source, exp.Subquery) else None
    if isinstance(source, exp.Table) and (cte := common_table(source)) is not None:
        query = None if cte.args["alias"].columns else cte.this
    alias = source.args.get("alias")
    if not isinstance(query, exp.Expr) or (alias is not None and alias.columns):
        return None
    inner = query.unnest()
    return inner if isinstance(inner, exp.Select) else None


def sources_of(select: exp.Select) -> list[exp.Expr]:
    """Returns the parts of a query's FROM."""
    source = select.args.get("from_")
    first = [] if source is None else [source.this]
    joined = [join.this for join in select.args.get("joins") or ()]
    return [*first, *joined, *(select.args.get("laterals") or ())]


def with_of_used(place: exp.Expr, query: exp.Expr) -> exp.With | None:
    """Returns the WITH that a query needs by itself: the queries of WITH around its place, and of
    its own, that it uses, those that they use before them; None where it uses none."""
    own = query.args.get("with_")
    tables = query.find_all(exp.Table)
    names = {bare_name(x) for x in tables if own is None or x.find_ancestor(exp.With) is not own}
    visible: list[exp.CTE] = own.expressions if own is not None else []
    for outer, inside in _outwards(place):
        visible = [*_tables_in_scope(outer, inside), *visible]
    used: list[exp.CTE] = []
    for cte in reversed(visible):
        if bare_name(cte) in names:
            names |= set(map(bare_name, cte.find_all(exp.Table)))
            used.insert(0, cte.copy())
    if not used:
        return None
    recursive = any(with_.args.get("recursive") for with_ in place.root().find_all(exp.With))
    return exp.With(expressions=used, recursive=recursive)


def _tables_in_scope(outer: exp.Expr, inside: exp.Expr) -> Iterator[exp.CTE]:
    """Yields the queries of WITH that `outer` brings to its part `inside`: that part itself, too,
    where it is a recursive one of them."""
    if isinstance(outer, exp.With):
        for cte in outer.expressions:
            if cte is inside and not _is_recursive(cte):
                return
            yield cte
            if cte is inside:
                return
    with_ = outer.args.get("with_")
    if with_ is not None and with_ is not inside:
        yield from with_.expressions


def _outwards(node: exp.Expr) -> Iterator[tuple[exp.Expr, exp.Expr]]:
    inside = node
    while (outer := inside.parent) is not None:
        yield outer, inside
        inside = outer


def _is_recursive(cte: exp.Expr) -> bool:
    return isinstance(cte.parent, exp.With) and bool(cte.parent.args.get("recursive"))


def has_outputs_alone(node: exp.Expr) -> bool:
    """Returns whether a part is `SELECT a, b` and nothing behind it: one row of values."""
    clauses = {name for name, value in node.args.items() if value}
    return isinstance(node, exp.Select) and clauses <= {"expressions", "kind"}
