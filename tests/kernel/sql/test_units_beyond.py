"""Only units beyond their bounds are ranked: the kept rows are those that ranking all keeps."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from support.vaults import Engine, contract

from sqlpriv.kernel.sql.dialect import DUCKDB
from sqlpriv.kernel.sql.queries import render, render_groups
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract, TableFacts, Type

COLUMNS = {"id": "INTEGER", "s": "INTEGER", "t": "VARCHAR"}
SCAN, OTHER, S, T = a.Scan("people"), a.Scan("people", "q."), a.Col("s"), a.Col("t")
YES = a.Lit(True, Type.BOOLEAN)
BY_S, BY_T = a.Key(S, (0, 1, 2)), a.Key(T, tuple(f"t{i}" for i in range(30)))
PAIRS = a.Join(SCAN, OTHER, a.Call("=", (S, a.Col("q.s"))))
RELATIONS: dict[str, a.Relation] = {
    "a table": SCAN,
    "filtered": a.Where(SCAN, a.Call(">", (S, a.Lit(0, Type.INTEGER)))),
    "pairs": PAIRS,
    "with a partner": a.Join(SCAN, OTHER, YES, "semi"),
    "without one": a.Join(
        SCAN, a.Where(OTHER, a.Call("=", (a.Col("q.s"), a.Lit(2, Type.INTEGER)))), YES, "anti"
    ),
    "parts of a union": a.Union(
        ("s", "t"), ((SCAN, (S, T)), (OTHER, (a.Col("q.s"), a.Col("q.t"))))
    ),
    "by key inside the unit": a.Join(
        a.PerUnit(SCAN, (("s", S), ("t", T))), OTHER, a.Call("=", (T, a.Col("q.t")))
    ),
}
RANK_ALL = "SELECT * FROM ({0}) AS sqlpriv_row QUALIFY {5}"


def rank_all(patched: pytest.MonkeyPatch) -> None:
    """Has all rows of all units ranked, and no list of units read."""
    patched.setitem(DUCKDB.forms, "kept", RANK_ALL)  # type: ignore[arg-type]  # its Mapping is a dict
    patched.setattr(Scope, "halves", lambda *_, **__: ("", "", ""))


def fill(engine: Engine, made: TableContract, seed: int) -> None:
    """Units of 1 to 7 rows in one to three strata, two unlisted; and rows of nobody."""
    drawn = random.Random(seed)
    units = [unit for unit in (*range(6), None) for _ in range(drawn.randint(1, 7))]
    engine.fill(made, [(u, drawn.randint(0, 3), f"t{i % 30}") for i, u in enumerate(units)])


@pytest.mark.parametrize("which", RELATIONS)
@pytest.mark.parametrize(("m", "g"), [(1, 1), (3, 1), (2, 2)])
def test_the_rows_kept_are_those_that_ranking_all_keeps(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, which: str, m: int, g: int
) -> None:
    made = contract(COLUMNS, m=m, g=g)
    for seed, strata in enumerate([(), (BY_S,), ()]):
        fill(engine, made, seed)
        queries = [a.Count(RELATIONS[which], strata, (BY_T,)), a.Count(RELATIONS[which], strata)]
        answers = engine.exact(queries, made)
        with monkeypatch.context() as patched:
            rank_all(patched)
            expected = engine.exact(queries, made)
        for answer, ranked in zip(answers, expected, strict=True):
            assert (answer == ranked).all()


@pytest.mark.parametrize("strata", [(), (BY_S,)])
def test_the_rows_themselves_and_none_of_nobody(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, strata: tuple[a.Key, ...]
) -> None:
    """What a selection counts, and the rows of a join's input, NULL among their values."""
    made = contract(COLUMNS, m=2)
    rows = ((None, "a"), (1, None), (2, "b"))
    engine.fill(made, [(u, *row) for u in (1, 2, None) for row in rows[: u or 3]])
    texts = [
        lambda: render_groups(SCAN, (S, T), made, 7),
        lambda: f"SELECT * FROM ({Scope(SCAN, made, hash_key=7).as_select()})",
        lambda: engine.with_lists(render([a.Count(SCAN, strata)], made, 7)).sql,
    ]
    with monkeypatch.context() as patched:
        rank_all(patched)
        expected = [Counter(engine.duckdb.execute(text()).fetchall()) for text in texts]
    assert [Counter(engine.duckdb.execute(text()).fetchall()) for text in texts] == expected


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("levels", [3, 10**6])
def test_of_units_far_beyond_the_same_rows_are_kept(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, m: int, levels: int
) -> None:
    """Units of 1 to 20,000 rows, which share their hashes (three values of s) or do not, filtered
    or not, as a table and as the input of a join."""
    made = contract({"id": "INTEGER", "s": "INTEGER"}, m=m)
    engine.fill(made, [])
    engine.duckdb.execute(
        f"INSERT INTO people SELECT u, hash(u, i) % {levels} FROM (SELECT u, unnest(range(n)) AS i"
        " FROM (VALUES (1, 1), (2, 3), (3, 8), (4, 9), (5, 24), (6, 25), (7, 100), (8, 400),"
        " (9, 3000), (10, 20000), (NULL, 60)) v(u, n))"
    )
    some = a.Where(SCAN, a.Call("<", (S, a.Lit(levels // 3, Type.INTEGER))))
    queries: list[a.Query] = [
        a.Sum(source, S, 0, 10**6, (), (a.Key(a.Col("id"), tuple(range(1, 11))),))
        for source in (SCAN, some, a.Union(("id", "s"), ((SCAN, (a.Col("id"), S)),)))
    ]
    answers = [engine.exact([query], made)[0].tolist() for query in queries]
    rank_all(monkeypatch)
    assert answers == [engine.exact([query], made)[0].tolist() for query in queries]


def test_strata_of_a_unit_are_the_same_whatever_is_read(engine: Engine) -> None:
    """30 units of three rows in three strata each, of which one is kept: were rows ranked by what
    is read, two statements would keep the same with probability 3^-30."""
    made = contract(COLUMNS)
    engine.fill(made, [(u, s, f"t{u}") for u in range(30) for s in range(3)])
    source, by_unit = a.Join(SCAN, OTHER, YES, "semi"), a.Key(a.Col("id"), tuple(range(30)))
    kept = [
        engine.exact([query], made)[0]
        for query in (
            a.Count(source, (BY_S,), (by_unit,)),
            a.Count(source, (BY_S,), (by_unit,), of=T),
        )
    ]
    assert kept[0].sum() == 30
    assert (kept[0] == kept[1]).all()


def test_without_strata_an_input_has_what_is_read_alone() -> None:
    made = contract(COLUMNS)
    sql = render([a.Count(PAIRS, (), (BY_S,))], made, 7).sql
    assert '"t"' not in sql
    assert '"q.t"' not in sql
    assert '"q.t"' in render([a.Count(PAIRS, (BY_S,))], made, 7).sql


def test_a_public_side_of_which_no_column_is_read(engine: Engine) -> None:
    public = replace(contract({"x": "INTEGER"}, table="pub"), unit=None, public=True)
    made = replace(contract(COLUMNS, m=9), others={"pub": public})
    made = replace(made, others={"pub": public, "people": made})
    engine.fill(public, [(1,), (2,)])
    engine.fill(made, [(1, 0, "t1"), (2, 1, "t2")])
    query = a.Count(a.Bounded(a.Join(SCAN, a.Scan("pub"), YES), 18, 1), (), (BY_S,))
    assert engine.exact([query], made)[0].tolist() == [[2, 2, 0]]


@pytest.mark.parametrize(("unique", "low", "high"), [(True, 0.02, 0.18), (False, 0.36, 0.64)])
def test_each_row_of_an_input_is_as_likely_to_be_kept(
    engine: Engine, unique: bool, low: float, high: float
) -> None:
    """n = 500 units of nine rows in level 0 and one in level 1, under one key of hashes: a tenth
    keep level 1, within six standard deviations. Where nothing tells the nine apart, half do."""
    made = contract({"id": "INTEGER", "s": "INTEGER", "row": "INTEGER"})
    made = replace(made, unique=frozenset({"row"} if unique else ()))
    engine.fill(made, [])
    engine.duckdb.execute(
        "INSERT INTO people SELECT u, (i = 9)::INTEGER, 10 * u + i"
        " FROM range(500) a(u), range(10) b(i)"
    )
    kept: Any = engine.exact([a.Count(a.Union(("s",), ((SCAN, (S,)),)), (), (BY_S,))], made)[0][0]
    assert kept.sum() == 500
    assert low < kept[1] / 500 < high


def test_where_all_units_are_within_their_bounds_a_selection_ranks_nothing() -> None:
    sure = contract(COLUMNS, m=2, facts=TableFacts(bounded=True))
    assert "row_number()" not in render_groups(SCAN, (S,), sure, 7)
    assert "row_number()" in render_groups(SCAN, (S,), contract(COLUMNS, m=2), 7)
