"""Public rows with or without private partners: SEMI and ANTI JOIN, LEFT JOIN … IS NULL, as EXISTS.

    SELECT c.course FROM courses c ANTI JOIN grades g ON g.course = c.course
    SELECT c.course FROM courses c LEFT JOIN grades g ON g.course = c.course WHERE g.course IS NULL
    ──► SELECT c.course FROM courses c
        WHERE NOT EXISTS (SELECT 1 FROM grades g WHERE g.course = c.course)

A private column that ON equates is NULL beside a public row only where that row has no partner.
"""

from __future__ import annotations

from sqlglot import exp

from sqlpriv.dialect.common_tables import alias_of, sources_of
from sqlpriv.dialect.division.joins.column_owners import columns_in, using_columns
from sqlpriv.dialect.division.terms.named_terms import conjuncts_of
from sqlpriv.dialect.division.terms.parts import NotDivisible
from sqlpriv.dialect.division.terms.stored_tables import StoredTables


def write_partner_test(select: exp.Select, join: exp.Join, tables: StoredTables) -> None:
    """Writes a join that picks public rows by private ones as a condition."""
    if [x for x in sources_of(select) if tables.reads_private(x)] != [join.this]:
        raise NotDivisible("other than public rows and one private source")
    pairs = using_columns(select, join, tables)
    equalities = [exp.EQ(this=joined, expression=other) for joined, other in pairs]
    tests = [*conjuncts_of(join.args.get("on")), *equalities]
    alias = alias_of(join.this)
    if not tests or not all(column.table for test in tests for column in columns_in(test)):
        raise NotDivisible("columns without their tables")
    negated = join.kind == "ANTI"
    if join.side == "LEFT" and join.kind in ("", "OUTER"):
        negated = True
        _drop_null_test(select, alias, tests)
    elif not join.is_semi_or_anti_join:
        raise NotDivisible("another join")
    partner = exp.select("1").from_(join.this.copy())
    for test in tests:
        partner = partner.where(test.copy(), copy=False)
    join.pop()
    exists = exp.Exists(this=partner)
    select.where(exp.Not(this=exists) if negated else exists, copy=False)


def _drop_null_test(select: exp.Select, alias: str, tests: list[exp.Expr]) -> None:
    """Takes `private.key IS NULL` out of WHERE.

    Raises:
        NotDivisible: WHERE has no such condition, or private columns are read elsewhere.
    """
    keys = {
        column.name.lower()
        for test in tests
        if isinstance(test, exp.EQ)
        for column in (test.this, test.expression)
        if isinstance(column, exp.Column) and column.table.lower() == alias
    }
    where = select.args.get("where")
    conditions = conjuncts_of(where.this if where is not None else None)
    null_tests = [test for test in conditions if _tests_null(test, alias, keys)]
    rest = [test for test in conditions if not _tests_null(test, alias, keys)]
    clauses = (select.args.get(name) for name in ("group", "having", "order", "qualify"))
    other_parts = [*rest, *select.expressions, *filter(None, clauses)]
    read = [column for part in other_parts for column in columns_in(part)]
    if not null_tests or any(column.table.lower() in ("", alias) for column in read):
        raise NotDivisible("private columns beside public rows")
    select.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)


def _tests_null(test: exp.Expr, alias: str, keys: set[str]) -> bool:
    match test:
        case exp.Is(this=exp.Column() as column, expression=exp.Null()):
            return column.table.lower() == alias and column.name.lower() in keys
    return False
