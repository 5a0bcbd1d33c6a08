"""Parts of queries: of PIVOT, the nodes of one query alone, and the stored tables of a tail."""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot import exp

from sqlpriv.dialect.common_tables import bare_name, common_table
from sqlpriv.dialect.marks import duckdb_call, function_name

_TABLE_FUNCTIONS = ("generate_series", "range", "unnest")
"""Table functions that a tail may call: they read nothing."""


class NotDivisible(Exception):
    """A query is not of a form that can be parted; the text says what stands in the way."""


def pivot_parts(pivot: exp.Pivot) -> tuple[exp.Select, list[exp.Expr]]:
    """Returns the query for the aggregates of a PIVOT, and what stands for each over its answer.

    Raises:
        NotDivisible: It has no GROUP BY or no aggregates.
    """
    source, group = pivot.this, pivot.args.get("group")
    using = pivot.args.get("using") or []
    if group is None or not using or not isinstance(source, exp.Table | exp.Subquery):
        raise NotDivisible("PIVOT over private rows without GROUP BY")
    pivoted = (on.this if isinstance(on, exp.In) else on for on in pivot.expressions)
    keys: list[exp.Expr] = [*group.expressions, *pivoted]  # x of `ON x IN ('a', 'b')`
    titles = [key if isinstance(key, exp.Column) else None for key in keys]
    values = [item.unalias() for item in using]
    outputs = [exp.alias_(v.copy(), f"value{i}", quoted=True) for i, v in enumerate(values)]
    named = [
        key.copy() if title else exp.alias_(key.copy(), f"__key{i}")
        for i, (key, title) in enumerate(zip(keys, titles, strict=True))
    ]
    select = exp.select(*named, *outputs).from_(source.copy())
    by = [key.copy() for key in keys]
    for i, key in enumerate(keys):
        if titles[i] is None and i >= len(group.expressions):
            key.replace(exp.column(f"__key{i}"))
    firsts: list[exp.Expr] = []
    for i, item in enumerate(using):
        column = duckdb_call("first", exp.column(f"value{i}"))
        title = item.alias if isinstance(item, exp.Alias) else ""
        firsts.append(exp.alias_(column, title, quoted=True) if title else column)
    return select.group_by(*by), firsts


def stored_tables(tail: exp.Expr) -> Iterator[str]:
    """Yields the stored tables that plain SQL names.

    Raises:
        NotDivisible: It calls a table function that may read something.
    """
    for table in tail.find_all(exp.Table):
        if not isinstance(table.this, exp.Identifier):
            if not isinstance(table.this, exp.Unnest) and (
                function_name(table.this) not in _TABLE_FUNCTIONS
            ):
                raise NotDivisible("table functions are out of reach")
        elif table.args.get("db") or table.args.get("catalog"):
            raise NotDivisible("a schema of its own")
        elif common_table(table) is None:
            yield bare_name(table)


def own_nodes(select: exp.Expr) -> list[exp.Expr]:
    """Returns the nodes of a query: of a query inside it, its root alone."""
    nested = (exp.Query, exp.With)
    return list(select.walk(prune=lambda node: node is not select and isinstance(node, nested)))


def has_distinct_rows(select: exp.Select) -> bool:
    """Returns whether SELECT DISTINCT was written, and not DISTINCT ON."""
    distinct = select.args.get("distinct")
    return distinct is not None and distinct.args.get("on") is None
