"""Queries that give no row whatever is stored: clients ask so which columns there are.

    SELECT * FROM bills WHERE 1 = 0
    ──► SELECT * FROM (SELECT CAST(NULL AS BIGINT) AS id, … WHERE FALSE) AS bills WHERE 1 = 0

Names and types of columns are public, but for the labels of an ENUM: its columns are texts here.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from sqlglot import exp

from sqlpriv.dialect.common_tables import alias_of, bare_name, is_stored_table, sources_of
from sqlpriv.dialect.division.row_sets import subquery_of
from sqlpriv.dialect.division.terms.named_terms import conjuncts_of
from sqlpriv.dialect.division.terms.stored_tables import StoredTables
from sqlpriv.dialect.marks import marked_name


def without_stored_rows(root: exp.Expr, tables: StoredTables) -> None:
    """Writes tables without rows for private ones, where a statement gives no row of any."""
    query = root.this
    if not isinstance(query, exp.Select):
        return
    limit, where = query.args.get("limit"), query.args.get("where")
    parts: list[exp.Expr] = []
    if isinstance(limit, exp.Limit) and limit.expression.name == "0":
        parts = [query]
    elif where is not None and any(map(_is_false, conjuncts_of(where.this))):
        parts = sources_of(query)
    for part in parts:
        for table in list(part.find_all(exp.Table)):
            types = tables.types_of(bare_name(table)) if is_stored_table(table) else None
            if types is not None:
                table.replace(_empty_table(alias_of(table), types))


def _is_false(test: exp.Expr) -> bool:
    """Returns whether a condition is FALSE as written, or compares two numbers and is not true."""
    test = test.unnest()
    if isinstance(test, exp.Boolean):
        return not test.this
    if marked_name(test)[1:].upper() == "FALSE":
        return True
    sides = (test.this, test.expression) if isinstance(test, exp.EQ | exp.NEQ) else ()
    if not sides or not all(isinstance(x, exp.Literal) and not x.is_string for x in sides):
        return False
    is_equal = Decimal(sides[0].name) == Decimal(sides[1].name)
    return is_equal is isinstance(test, exp.NEQ)


def _empty_table(alias: str, types: Mapping[str, str]) -> exp.Expr:
    built = {n: exp.DataType.build(x, dialect="duckdb", udt=True) for n, x in types.items()}
    nulls = {name: exp.Cast(this=exp.Null(), to=type_) for name, type_ in built.items()}
    columns = [exp.alias_(null, name, quoted=True) for name, null in nulls.items()]
    return subquery_of(exp.select(*columns).where(exp.false()), alias)
