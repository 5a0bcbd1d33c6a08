"""Public rows with or without private partners: SEMI and ANTI JOIN, LEFT JOIN … IS NULL, as EXISTS.

    SELECT c.course FROM courses c ANTI JOIN grades g ON g.course = c.course
    SELECT c.course FROM courses c LEFT JOIN grades g ON g.course = c.course WHERE g.course IS NULL
    ──► SELECT c.course FROM courses c
        WHERE NOT EXISTS (SELECT 1 FROM grades g WHERE g.course = c.course)

A private column that ON equates is NULL beside a public row only where that row has no partner.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sqlpriv.dialect.division.outer_keys import ColumnsOf
from sqlpriv.dialect.division.parts import NotDivisible
from sqlpriv.dialect.division.rewrites.column_owners import (
    alias_of,
    column_names,
    columns_in,
    conjuncts_of,
)
from sqlpriv.dialect.division.rewrites.existence import sources_of
from sqlpriv.dialect.division.rewrites.lateral_rows import take_joins_out


def with_partners_tested(
    root: exp.Expr, reads_private: Callable[[exp.Expr], bool], columns_of: ColumnsOf
) -> None:
    """Rewrites joins that pick public rows by private ones.

    Args:
        root: Holds the query.
        reads_private: Whether a part reads private rows.
        columns_of: The columns of a stored table.
    """

    def write(select: exp.Select, join: exp.Join) -> None:
        if [x for x in sources_of(select) if reads_private(x)] != [join.this]:
            raise NotDivisible("public rows and one private source")
        _write_test(select, join, columns_of)

    for select in list(root.find_all(exp.Select)):
        take_joins_out(select, write)


def _write_test(select: exp.Select, join: exp.Join, columns_of: ColumnsOf) -> None:
    kind, side = (str(join.args.get(name) or "").upper() for name in ("kind", "side"))
    tests = _tests(select, join, columns_of)
    alias = alias_of(join.this)
    if not tests or not all(column.table for test in tests for column in columns_in(test)):
        raise NotDivisible("columns without their tables")
    negated = kind == "ANTI"
    if side == "LEFT" and kind in ("", "OUTER"):
        negated = True
        _drop_null_test(select, alias, tests)
    elif kind not in ("SEMI", "ANTI"):
        raise NotDivisible("another join")
    partner = exp.select("1").from_(join.this.copy())
    for test in tests:
        partner = partner.where(test.copy(), copy=False)
    join.pop()
    exists = exp.Exists(this=partner)
    select.where(exp.Not(this=exists) if negated else exists, copy=False)


def _tests(select: exp.Select, join: exp.Join, columns_of: ColumnsOf) -> list[exp.Expr]:
    """Returns the conditions of a join; NotDivisible where USING has several tables."""
    tests = conjuncts_of(join.args.get("on"))
    others = [source for source in sources_of(select) if source is not join.this]
    for name in join.args.get("using") or ():
        holders = [x for x in others if name.name.lower() in (column_names(x, columns_of) or ())]
        if len(holders) != 1:
            raise NotDivisible("USING of several tables")
        sides = [
            exp.column(name.name, table=alias_of(source), quoted=True)
            for source in (join.this, holders[0])
        ]
        tests.append(exp.EQ(this=sides[0], expression=sides[1]))
    return tests


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
    column = test.this if isinstance(test, exp.Is) else None
    is_null = isinstance(test, exp.Is) and isinstance(test.expression, exp.Null)
    is_key = isinstance(column, exp.Column) and column.table.lower() == alias
    return is_null and is_key and column.name.lower() in keys  # type: ignore[union-attr]  # a column
