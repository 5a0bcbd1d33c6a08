"""Operations on operations: the text of a statement tells how much is computed of a row.

A read is delayed by what its text can hold (`proof.delay`), since the engine computes all that
stands behind `WHERE id = 42` for that unit's row alone. The engine makes CASE WHEN x = 0 THEN NULL
ELSE x END of nullif(x, 0). So ten quotients in one another, 81 bytes of SQL, were 2^10 of them for
one row: 21 ms more where unit 42 was there (least of 25), behind a delay of up to 2 ms. By eight of
them 69 of 100 guesses whether unit 42 was there were right. Forms that repeat their argument in the
text were 4^n: eight date_trunc of moved moments took 23 s and 2.4 GB before a row was read.
"""

from __future__ import annotations

import pytest
from support.vaults import Engine, contract, make_lists

from sqlpriv.kernel.sql.queries import render
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.operations import MOMENTS, NUMBERS, OPERATIONS

LEVELS = 12
MADE = contract({"id": "INTEGER", "x": "DOUBLE", "at": "TIMESTAMP"})
ROWS = a.Where(a.Scan("people"), a.Call("=", (a.Col("id"), a.Lit(42, Type.INTEGER))))
TYPED = {op: how for op, how in OPERATIONS.items() if how.takes in (NUMBERS, MOMENTS)}
NESTED = {
    **{op: how for op, how in TYPED.items() if how.takes == NUMBERS},
    **{op: how for op, how in TYPED.items() if how.gives is Type.TIMESTAMP},
    "//": OPERATIONS["//"],
}
"""Operations on numbers or moments that give one."""


def nested(op: str, place: int) -> a.Expr:
    """An operation, twelve times in itself at one of its places."""
    how = NESTED[op]
    of_moment = how.takes == MOMENTS
    expr: a.Expr = a.Col("at" if of_moment else "x")
    if op == "//":
        expr = a.Call("integer", (expr,))
    other = a.Lit(2, Type.INTEGER) if op == "//" else a.Lit(2.5, Type.REAL)
    for _ in range(LEVELS):
        if of_moment:
            expr = a.Shift(expr, 0, 0, 1)
        args = [other] * max(1, how.arity)
        args[place] = expr
        expr = a.Call(op, tuple(args))
    return expr


PLACES = [(op, i) for op, how in NESTED.items() for i in range(max(1, how.arity))]


@pytest.mark.parametrize(("op", "place"), PLACES)
def test_what_is_nested_grows_by_its_depth_and_the_engine_writes_no_more(
    engine: Engine, op: str, place: int
) -> None:
    """Of the engine's plan the expressions are counted that it may leave out for a row."""
    query = a.Count(a.Where(ROWS, a.Call("is null", (nested(op, place),))))
    asked = render([query], MADE, 7)
    sql = asked.sql
    engine.fill(MADE, [(42, 1.5, "2024-01-01 00:00:00"), (43, 0.0, None)])
    make_lists(engine.duckdb, asked)
    plan = str(engine.duckdb.execute(f"EXPLAIN (FORMAT json) {sql}").fetchall())
    assert len(sql) < 20_000
    assert plan.count("CASE") <= sql.count("CASE") + sql.count("sqlpriv_number(")
