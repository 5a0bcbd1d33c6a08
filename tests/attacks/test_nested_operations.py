"""Operations on operations: the text of a statement tells how much is computed of a row.

A read is delayed by what its text can hold (`proof.delay`), since the engine computes all that
stands behind `WHERE id = 42` for that unit's row alone. The engine makes CASE WHEN x = 0 THEN NULL
ELSE x END of nullif(x, 0). So ten quotients in one another, 81 bytes of SQL, were 2^10 of them for
one row: 21 ms more where unit 42 was there (least of 25), behind a delay of up to 2 ms. By eight of
them 69 of 100 guesses whether unit 42 was there were right. Forms that repeat their argument in the
text were 4^n: eight date_trunc of moved moments took 23 s and 2.4 GB before a row was read.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.vaults import Engine, contract, make_lists

from sqlpriv.kernel.sql.queries import render
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableFacts, Type
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


JOINED = a.Join(ROWS, a.Scan("pairs"), a.Call("=", (a.Col("id"), a.Col("key"))))


@pytest.mark.parametrize("source", [ROWS, JOINED], ids=["one table", "a join"])
@pytest.mark.parametrize("kind", ["real", "whole"])
def test_the_value_of_a_sum_is_planned_as_often_as_it_is_written(
    engine: Engine, source: a.Relation, kind: str
) -> None:
    """The engine bound six copies of a sum's value, and found out only then that they are one: a
    hundred and fifty logarithms took .71 s, three hundred 2.8 s, before a row was read."""
    parts = [
        a.Call("ln", (a.Call("+", (a.Col("x"), a.Lit(i + 0.5, Type.REAL))),)) for i in range(16)
    ]
    while len(parts) > 1:
        parts = [a.Call("+", (x, y)) for x, y in zip(parts[::2], parts[1::2], strict=True)]
    value = a.Call("integer", (parts[0],)) if kind == "whole" else parts[0]
    made = replace(MADE, facts=TableFacts(bounded=True))
    public = replace(contract({"key": "INTEGER"}, table="pairs"), unit=None, public=True)
    asked = render([a.Sum(source, value, 0, 9)], replace(made, others={"pairs": public}), 7)
    engine.fill(made, [(42, 1.5, "2024-01-01 00:00:00"), (43, 0.0, None)])
    engine.fill(public, [(42,)])
    make_lists(engine.duckdb, asked)
    serialize = "SELECT json_serialize_plan(?, optimize := false)"
    ((plan,),) = engine.duckdb.execute(serialize, [asked.sql]).fetchall()
    assert plan.count('"ln"') == 16
