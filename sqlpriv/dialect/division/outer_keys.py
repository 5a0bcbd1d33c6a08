"""A query inside another that looks at the row around it, by equalities with its columns.

    SELECT r.region, (SELECT COUNT(*) FROM people p WHERE p.region = r.region) AS n FROM regions r
    ──► private: SELECT p.region AS __group0, COUNT(*) AS "count_star()" FROM people p
                 GROUP BY p.region
        in the tail: (SELECT coalesce(any_value("count_star()"), 0) FROM __answer1
                      WHERE __group0 = r.region)

One private query answers for every row around, at one price.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlpriv.dialect.common_tables import (
    alias_of,
    bare_name,
    is_stored_table,
    sources_of,
)
from sqlpriv.dialect.division.terms.named_terms import conjuncts_of
from sqlpriv.dialect.division.terms.parts import NotDivisible
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import (
    call_of,
    duckdb_call,
    function_name,
    marked_name,
)

_BEHIND = ("where", "qualify", "order", "limit", "offset", "distinct", "windows")
_COUNTS = ("count", "count_if", "countif")
Pairs = list[tuple[exp.Expr, exp.Expr]]
"""An expression over the inner rows, and the column around them that it equals."""


def without_outer_equalities(select: exp.Select) -> tuple[exp.Select, Pairs]:
    """Returns a SELECT without the conditions that equate it with the row around, and their sides.

    A column is one of the row around where its table is one of a query around it, and none of the
    query's own.
    """
    where, around, own = select.args.get("where"), set[str](), _names_in_from(select)
    place = select.parent
    while place is not None:
        around |= _names_in_from(place) - own
        place = place.parent
    if where is None or not around:
        return select, []

    def is_outer(side: exp.Expr) -> bool:
        return any(column.table.lower() in around for column in side.find_all(exp.Column))

    pairs, rest = Pairs(), list[exp.Expr]()
    for part in conjuncts_of(where.this):
        sides = [part.this, part.expression] if isinstance(part, exp.EQ) else []
        outer = [side for side in sides if is_outer(side)]
        if len(outer) == 1 and isinstance(outer[0], exp.Column):
            inner = next(side for side in sides if side is not outer[0])
            pairs.append((inner.copy(), outer[0].copy()))
        else:
            rest.append(part.copy())
    if pairs:
        select = select.copy()
        select.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
    return select, pairs


def with_outer_tables_named(root: exp.Expr, tables: StoredTables) -> None:
    """Writes the table before a column that only a query around its own has."""
    for column in list(root.find_all(exp.Column)):
        if column.table or marked_name(column) or isinstance(column.this, exp.Star):
            continue
        select = column.find_ancestor(exp.Select)
        while isinstance(select, exp.Select):
            sources = {
                source.alias_or_name: tables.columns_of(bare_name(source))
                if is_stored_table(source)
                else None
                for source in sources_of(select)
            }
            if any(columns is None for columns in sources.values()):
                break  # it may be a column of a subquery
            having = [x for x, names in sources.items() if column.name.lower() in (names or ())]
            if having:
                if len(having) == 1 and select is not column.find_ancestor(exp.Select):
                    column.set("table", exp.to_identifier(having[0], quoted=True))
                break
            select = select.find_ancestor(exp.Select)


def _names_in_from(query: exp.Expr) -> set[str]:
    """Returns the lower-case names of what a SELECT reads."""
    return set(map(alias_of, sources_of(query))) if isinstance(query, exp.Select) else set()


def look_up(
    tail: exp.Select,
    columns: Sequence[tuple[exp.Expr | None, exp.Expr]],
    aggregates: Sequence[exp.Expr],
) -> None:
    """Restricts a tail to the keys of the row around it.

    Args:
        tail: Over the answer.
        columns: The answer's column of each key, and the column around that it equals.
        aggregates: Those, named, of a query without GROUP BY. It has one row whatever the key is:
            counts of 0 where the answer has no such key, else NULLs.

    Raises:
        NotDivisible: Clauses stand behind that one row.
    """
    if aggregates:
        if any(tail.args.get(clause) for clause in _BEHIND):
            raise NotDivisible("clauses behind one row of aggregates")
        zeros = {one.alias: _is_count(one.this) for one in aggregates}
        for column in list(tail.find_all(exp.Column)):
            if column.name in zeros:
                value = duckdb_call("any_value", column.copy())
                zero = duckdb_call("coalesce", value, exp.Literal.number(0))
                column.replace(zero if zeros[column.name] else value)
    tests = [exp.EQ(this=column, expression=outer) for column, outer in columns]
    tail.where(*tests, copy=False)


def _is_count(node: exp.Expr) -> bool:
    return function_name(call_of(node)) in _COUNTS
