"""What one side of a join holds decides nothing about the work on the other, and no row is lost.

The engine's own counters tell what each operator handled: rows read, rows passed on. Unlike times
they are the same on every machine, so that a difference of one row shows.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.handled_rows import rows_handled
from support.vaults import Engine

from sqlpriv.kernel import engine as settings
from sqlpriv.kernel.sql.dialect import DUCKDB
from sqlpriv.kernel.sql.queries import render
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import (
    UNDECLARED,
    Column,
    TableContract,
    Type,
    contracts_in_force,
)
from sqlpriv.kernel.terms.operations import type_of

COLUMNS = {"id": "VARCHAR", "x": "INTEGER", "t": "VARCHAR"}
UNITS = 3000


def contract(**bound: Any) -> TableContract:
    columns = tuple(Column(c, type_of(t), t) for c, t in COLUMNS.items())
    tables = [TableContract(t, columns) for t in ("people", "pub")]
    declared = {"people": {"key": "id", "unit": True, **bound}, "pub": {"public": True}}
    bodies = {t: {**UNDECLARED, **declared[t]} for t in declared}
    return contracts_in_force(tables, json.loads(json.dumps(bodies)), {}, 1)["people"]


def scan(prefix: str, table: str = "people") -> a.Scan:
    return a.Scan(table, prefix)


def lit(value: Any) -> a.Lit:
    return a.Lit(value, Type.TEXT if isinstance(value, str) else Type.INTEGER)


def both(*tests: a.Expr) -> a.Expr:
    return a.Call("and", tests)


def is_target(prefix: str) -> a.Expr:
    return a.Call("=", (a.Col(f"{prefix}id"), lit("u42")))


def likes(prefix: str) -> a.Expr:
    return a.Like(a.Col(f"{prefix}t"), "%1%")


def equal(one: str, other: str) -> a.Expr:
    return a.Call("=", (a.Col(one), a.Col(other)))


TRUE = a.Lit(True, Type.BOOLEAN)
TARGET = {p: a.Where(scan(p), is_target(p)) for p in ("a.", "b.", "c.")}
MANY = {p: a.Where(scan(p), likes(p)) for p in ("a.", "b.", "c.")}
BEYOND = a.Where(scan("a."), a.Call(">", (a.Col("a.t"), lit("z"))))
A_OR_B = a.Call(
    "or", tuple(both(is_target("b."), a.Call("=", (a.Col("a.x"), lit(n)))) for n in range(1, 4))
)
FORMS: dict[str, a.Relation] = {
    **{
        f"{kind}, left": a.Join(TARGET["a."], MANY["b."], equal("a.x", "b.x"), kind)
        for kind in ("inner", "left", "semi", "anti")
    },
    **{
        f"{kind}, right": a.Join(MANY["a."], TARGET["b."], TRUE, kind)
        for kind in ("inner", "left", "semi", "anti")
    },
    "equated": a.Join(MANY["a."], TARGET["b."], both(equal("a.x", "b.x"), likes("b."))),
    "equated, the other way": a.Join(MANY["a."], TARGET["b."], equal("b.x", "a.x"), "semi"),
    "compared": a.Join(MANY["a."], TARGET["b."], a.Call("<=", (a.Col("a.x"), a.Col("b.x")))),
    "above": a.Where(a.Join(scan("a."), scan("b."), TRUE), both(likes("a."), is_target("b."))),
    "above, left": a.Where(a.Join(scan("a."), scan("b."), TRUE, "left"), is_target("b.")),
    "in ON": a.Join(scan("a."), scan("b."), both(is_target("b."), likes("a."))),
    "in ON of semi": a.Join(scan("a."), scan("b."), both(is_target("b."), likes("a.")), "semi"),
    "in a disjunction": a.Join(MANY["a."], scan("b."), A_OR_B),
    "in a disjunction above": a.Where(a.Join(MANY["a."], scan("b."), TRUE), A_OR_B),
    "derived": a.Where(
        a.Derive(a.Join(MANY["a."], scan("b."), TRUE), "who", a.Col("b.id")),
        a.Call("=", (a.Col("who"), lit("u42"))),
    ),
    "nested left": a.Where(
        a.Join(a.Join(MANY["a."], scan("b."), TRUE), MANY["c."], TRUE), is_target("b.")
    ),
    "nested right": a.Join(MANY["c."], a.Join(MANY["a."], TARGET["b."], TRUE), TRUE),
    "public right": a.Join(TARGET["a."], scan("p.", "pub"), equal("a.x", "p.x")),
    "public right, a range": a.Join(
        TARGET["a."], scan("p.", "pub"), a.Call(">=", (a.Col("a.x"), a.Col("p.x")))
    ),
    **{
        f"{kind}, beyond all other values": a.Join(BEYOND, MANY["b."], TRUE, kind)
        for kind in ("inner", "left", "semi", "anti")
    },
    **{
        f"{kind}, right beyond all other values": a.Join(MANY["b."], BEYOND, TRUE, kind)
        for kind in ("inner", "left", "semi", "anti")
    },
    "public right, beyond all other values": a.Join(
        BEYOND, scan("p.", "pub"), a.Call(">=", (a.Col("a.x"), a.Col("p.x")))
    ),
    "joined before a public side": a.Join(
        a.Join(TARGET["a."], MANY["b."], TRUE), scan("p.", "pub"), equal("b.x", "p.x")
    ),
    "joined after a public side": a.Join(
        a.Join(TARGET["a."], scan("p.", "pub"), equal("a.x", "p.x")), MANY["b."], TRUE
    ),
    "left, then above": a.Where(
        a.Join(a.Join(MANY["a."], scan("b."), TRUE, "left"), MANY["c."], TRUE), is_target("b.")
    ),
    "a disjunction over a public side": a.Where(
        a.Join(a.Join(MANY["a."], scan("b."), TRUE), scan("p.", "pub"), equal("a.x", "p.x")),
        a.Call(
            "or",
            tuple(both(is_target("b."), a.Call("=", (a.Col("p.x"), lit(n)))) for n in range(1, 4)),
        ),
    ),
    "grouped inside the unit": a.Where(
        a.PerUnit(
            a.Join(MANY["a."], scan("b."), TRUE), (("who", a.Col("b.id")),), (a.Fold("n", "count"),)
        ),
        a.Call("=", (a.Col("who"), lit("u42"))),
    ),
    "a union of joins": a.Where(
        a.Union(("who",), ((a.Join(MANY["a."], scan("b."), TRUE), (a.Col("b.id"),)),) * 2),
        a.Call("=", (a.Col("who"), lit("u42"))),
    ),
}
STRATIFIED = (a.Key(a.Case(((is_target("b."), lit(1)),), lit(0)), (1,)),)


@pytest.fixture
def tables(engine: Engine) -> Iterator[Engine]:
    """Without the target. Every eleventh x is NULL, and of every unit there are two rows."""
    engine.duckdb.execute(
        "CREATE OR REPLACE TABLE people AS SELECT 'u' || i AS id,"
        " CASE WHEN i % 11 <> 0 THEN i % 7 END::INTEGER AS x, 'text ' || hash(i, j) AS t"
        f" FROM range({UNITS}) r(i), range(2) s(j) WHERE i <> 42;"
        "CREATE OR REPLACE TABLE pub AS SELECT 'p' || i AS id, i::INTEGER AS x, 'text' AS t"
        " FROM range(20000) r(i)"
    )
    yield engine
    engine.duckdb.execute("DROP TABLE people; DROP TABLE pub")


def add_target(engine: Engine, rows: int = 2) -> None:
    values = "('u42', 3, 'zest 1'), ('u42', NULL, 'zest 1')" + ", ('u42', 4, 'zest 1')" * (rows - 2)
    engine.duckdb.execute(f"INSERT INTO people VALUES {values}")


def moved_rows(
    engine: Engine,
    source: a.Relation,
    strata: tuple[a.Key, ...] = (),
    *,
    skipped: int = 0,
    rows: int = 2,
) -> int:
    """How many more rows any operator handles if the target is there, but for `skipped` scans."""
    counted = a.Count(source, strata)
    asked = render([counted], contract(bound=[2, 1]), 7)
    without = rows_handled(engine, engine.with_lists(asked).sql)
    add_target(engine, rows)
    present = rows_handled(engine, engine.with_lists(asked).sql)
    assert [kind for kind, *_ in without] == [kind for kind, *_ in present]
    pairs = [*zip(without, present, strict=True)]
    passed_on = [abs(x - y) for (_, x, _), (_, y, _) in pairs]
    scanned = sorted(abs(x - y) for (_, _, x), (_, _, y) in pairs)
    return max(*passed_on, *scanned[: len(scanned) - skipped])


def listed_rows(engine: Engine, rows: int) -> int:
    """How many more rows any operator handles that lists units beyond, if the target is there."""
    asked = render([a.Count(MANY["a."])], contract(bound=[2, 1]), 7)
    (select,) = asked.lists.values()
    without = rows_handled(engine, select)
    add_target(engine, rows)
    present = rows_handled(engine, select)
    assert [kind for kind, *_ in without] == [kind for kind, *_ in present]
    pairs = zip(without, present, strict=True)
    return max(max(abs(x - y), abs(m - n)) for (_, x, m), (_, y, n) in pairs)


@pytest.mark.parametrize("form", FORMS)
def test_a_unit_moves_the_work_by_its_own_rows_alone(form: str, tables: Engine) -> None:
    """Its two rows have at most six partners each. Thousands were spared without the target. Of an
    input two scans, of rows of units beyond and of all others, may each skip the row group whose
    least and largest value its filter rules out."""
    assert moved_rows(tables, FORMS[form], skipped=2 * ("beyond" in form)) <= 12


def test_strata_hide_no_side(tables: Engine) -> None:
    assert moved_rows(tables, a.Join(MANY["a."], scan("b."), TRUE), STRATIFIED) <= 12


SOURCES = {
    "a table": MANY["a."],
    "a table, and another bound": a.Bounded(MANY["a."], 3, 1),
    "an input": a.Join(MANY["a."], scan("b."), TRUE, "semi"),
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("strata", [(), (a.Key(a.Col("a.x"), (3, 4)),)])
def test_the_first_unit_beyond_its_bound_is_no_reason_to_meet_the_others(
    source: str, strata: tuple[a.Key, ...], tables: Engine
) -> None:
    """The target has four rows, of which two are kept; all others are within their bound of two."""
    assert moved_rows(tables, SOURCES[source], strata, rows=4) <= 12


@pytest.mark.parametrize("rows", [2, 4])
def test_the_first_unit_beyond_its_bound_is_listed_as_if_there_were_others(
    rows: int, tables: Engine
) -> None:
    """The list itself is made of the same scans, and joins, whoever is beyond."""
    assert listed_rows(tables, rows) <= 12


def test_twin_nobody_is_listed(tables: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    without_nulls = DUCKDB.forms["links"].replace(" OR unit IS NULL", "", 1)
    monkeypatch.setitem(DUCKDB.forms, "links", without_nulls)  # type: ignore[arg-type]  # its Mapping is a dict
    assert listed_rows(tables, 4) > 1000


def test_twin_the_others_meet_the_first_unit_beyond_its_bound(
    tables: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_nulls = DUCKDB.forms["kept"].replace(" UNION ALL SELECT NULL{1}", "", 1)
    monkeypatch.setitem(DUCKDB.forms, "kept", without_nulls)  # type: ignore[arg-type]  # its Mapping is a dict
    assert moved_rows(tables, a.Bounded(MANY["a."], 3, 1), rows=4) > 1000


def test_twin_the_optimizer_spares_a_side(tables: Engine) -> None:
    tables.duckdb.execute("SET disabled_optimizers = 'top_n_window_elimination'")
    try:
        assert moved_rows(tables, FORMS["public right"]) > 100
    finally:
        tables.duckdb.execute(f"SET disabled_optimizers = '{','.join(settings.OPTIMIZERS_OFF)}'")


def test_twin_without_the_row_of_nulls(tables: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scope, "never_empty", Scope.as_select)
    assert moved_rows(tables, FORMS["inner, right"]) > 1000


def test_twin_a_filter_reaches_the_row_of_nulls(
    tables: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Scope, "hide", lambda _, test: test)
    assert moved_rows(tables, FORMS["in a disjunction above"]) > 1000


@pytest.mark.parametrize("form", FORMS)
def test_hiding_predicates_changes_no_row(
    form: str, tables: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same counts, by a public key, as where the optimizer sees what a predicate reads."""
    add_target(tables)
    named = {"nested right": "c.x", "grouped inside the unit": "n", "a union of joins": "who"}
    column = named.get(form, "b.x" if ", right beyond" in form else "a.x")
    values = ("u42",) if column == "who" else (None, *range(7))
    counted = a.Count(FORMS[form], (), (a.Key(a.Col(column), values),))
    hidden = tables.exact([counted], contract(bound=[2, 1]))
    monkeypatch.setattr(Scope, "hide", lambda _, test: test)
    as_written = tables.exact([counted], contract(bound=[2, 1]))
    assert hidden[0].tolist() == as_written[0].tolist()
    assert hidden[0].sum() > 0 or form == "anti, beyond all other values"


def test_null_equals_nothing(tables: Engine) -> None:
    """The target's x are 3 and NULL, on both sides."""
    add_target(tables)
    counted = a.Count(FORMS["equated"], (), (a.Key(a.Col("a.x"), (3, None)),))
    assert tables.exact([counted], contract(bound=[2, 1]))[0].tolist() == [[1, 0]]
