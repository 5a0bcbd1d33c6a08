"""How far the rows of a unit multiply: never beyond the claim, and refused where that is far."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.vaults import EXACT, Engine, ask, declare, write

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.proof.unit_rows import MAX_SCANS, check_work, reach_of
from sqlpriv.kernel.sql.relations import Scope, partner_count
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import (
    UNDECLARED,
    Column,
    TableContract,
    TableFacts,
    Type,
    contracts_in_force,
)
from sqlpriv.kernel.terms.operations import type_of
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.pricing.predictions import predict_measurements

MakeKernel = Callable[..., Kernel]
TABLES = {
    "people": {"id": "INTEGER", "age": "INTEGER"},
    "orders": {"num": "INTEGER", "person": "INTEGER", "shop": "INTEGER", "x": "DOUBLE"},
    "shops": {"shop": "INTEGER", "town": "VARCHAR"},
}
UNIQUE = {"people": {"id"}, "orders": {"num", "x"}}
BODIES: dict[str, dict[str, Any]] = {
    "people": {"key": "id", "unit": True},
    "orders": {"links": [["person", "people", "id"]], "bound": [3, 2]},
    "shops": {"public": True},
}


def contracts(orders: tuple[int, int] = (3, 2)) -> dict[str, TableContract]:
    catalog = [
        TableContract(
            table,
            tuple(Column(c, type_of(t), t) for c, t in columns.items()),
            unique=frozenset(UNIQUE.get(table, ())),
        )
        for table, columns in TABLES.items()
    ]
    bodies = {t: {**UNDECLARED, **BODIES[t]} for t in TABLES}
    bodies["orders"]["bound"] = [*orders]
    return contracts_in_force(catalog, json.loads(json.dumps(bodies)), {}, 1)


MADE = contracts()
YES = a.Lit(True, Type.BOOLEAN)
PEOPLE, SHOPS = a.Scan("people"), a.Scan("shops", "s.")
ORDERS, P, Q = (a.Scan("orders", prefix) for prefix in ("o.", "p.", "q."))


def same(left: str, right: str) -> a.Call:
    return a.Call("=", (a.Col(left), a.Col(right)))


def where(source: a.Relation, column: str, value: int) -> a.Where:
    return a.Where(source, a.Call("=", (a.Col(column), a.Lit(value, Type.INTEGER))))


def copies(number: int, name: str) -> a.Union:
    return a.Union((name,), ((where(PEOPLE, "id", 42), (a.Col("id"),)),) * number)


ONE_EACH = a.PerUnit(ORDERS, (), (a.Fold("n", "count", reach=6),))
PAIRS = a.Join(ORDERS, P, YES)
BY_SHOP = a.PerUnit(ORDERS, (("k", a.Col("o.shop")),), ())


def by(*columns: str, kind: str = "inner") -> a.PerUnit:
    """Groups of pairs of a unit's orders."""
    keys = tuple((f"k{i}", a.Col(column)) for i, column in enumerate(columns))
    return a.PerUnit(a.Join(ORDERS, P, YES, kind), keys)


SAME_U = same("u", "o.num")

REACHES: dict[str, tuple[a.Relation, int, int]] = {
    "a table, in each of its strata": (ORDERS, 6, 6),
    "a filter adds nothing": (a.Derive(where(ORDERS, "o.shop", 1), "d", a.Col("o.x")), 6, 6),
    "every pair of a unit": (a.Join(ORDERS, P, YES), 36, 48),
    "three times": (a.Join(a.Join(ORDERS, P, YES), Q, YES), 216, 48 + 6 + 216),
    "one on the right": (a.Join(ORDERS, P, same("o.shop", "p.num")), 6, 18),
    "one on the left": (a.Join(ORDERS, P, same("o.num", "p.shop")), 6, 18),
    "left rows without one stay": (a.Join(ORDERS, P, same("o.num", "p.shop"), "left"), 12, 18),
    "left rows with one at most": (a.Join(ORDERS, P, same("o.shop", "p.num"), "left"), 6, 18),
    "who has a partner": (a.Join(ORDERS, P, YES, "semi"), 6, 48),
    "who has none": (a.Join(ORDERS, P, YES, "anti"), 6, 48),
    "unique, but in doubles": (a.Join(ORDERS, P, same("o.x", "p.x")), 36, 48),
    "an equality on one side alone": (a.Join(ORDERS, P, same("p.num", "p.shop")), 36, 48),
    "an integer and a double": (a.Join(ORDERS, P, same("o.x", "p.num")), 36, 48),
    "either equality": (
        a.Join(ORDERS, P, a.Call("or", (same("o.num", "p.num"), same("o.shop", "p.shop")))),
        36,
        48,
    ),
    "both equalities": (
        a.Join(ORDERS, P, a.Call("and", (same("o.num", "p.num"), same("o.shop", "p.shop")))),
        6,
        18,
    ),
    "one partner of each row of a union": (
        a.Join(a.Union(("u",), ((P, (a.Col("p.shop"),)), (Q, (a.Col("q.num"),)))), ORDERS, SAME_U),
        12,
        24 + 6 + 12,
    ),
    "a union of a column and what is computed": (
        a.Join(
            a.Union(("u",), ((P, (a.Col("p.num"),)), (Q, (a.Call("abs", (a.Col("q.num"),)),)))),
            ORDERS,
            SAME_U,
        ),
        72,
        24 + 6 + 72,
    ),
    "a union of doubles": (
        a.Join(a.Union(("u",), ((P, (a.Col("p.x"),)),) * 2), ORDERS, same("u", "o.x")),
        72,
        24 + 6 + 72,
    ),
    "unique no more after a union": (
        a.Join(a.Union(("u",), ((P, (a.Col("p.num"),)),) * 2), ORDERS, same("u", "o.shop")),
        72,
        24 + 6 + 72,
    ),
    "unique no more after a join": (
        a.Join(a.Join(ORDERS, P, YES), Q, same("o.num", "q.shop")),
        216,
        48 + 6 + 216,
    ),
    "unique still after a join": (
        a.Join(a.Join(ORDERS, PEOPLE, same("o.person", "id")), Q, same("o.num", "q.shop")),
        6,
        13 + 6 + 6,
    ),
    "parts add up": (copies(5, "c"), 5, 10),
    "one row of a unit": (a.Join(ORDERS, ONE_EACH, YES), 6, 18),
    "rows of a unit by key": (BY_SHOP, 6, 6),
    "no more groups than rows of a side": (by("o.num", "o.shop"), 6, 48),
    "a group for each pair of rows": (by("o.num", "p.num"), 36, 48),
    "a group for a computed key": (
        a.PerUnit(a.Join(ORDERS, P, YES), (("k", a.Call("abs", (a.Col("o.num"),))),)),
        36,
        48,
    ),
    "a group for a computed key of a column's name": (
        a.PerUnit(PAIRS, (("o.shop", a.Call("+", (a.Col("o.shop"), a.Col("p.shop")))),)),
        36,
        48,
    ),
    "groups of groups by a key that has another column's name": (
        a.PerUnit(
            a.PerUnit(PAIRS, (("o.shop", a.Col("p.num")), ("k", a.Col("o.num")))),
            (("k", a.Col("o.shop")),),
        ),
        36,
        48,
    ),
    "groups by a column that is called as one of the partners": (
        a.PerUnit(
            a.Derive(a.Join(PAIRS, Q, YES, "semi"), "q.shop", a.Col("o.num")),
            (("k", a.Col("q.shop")), ("k1", a.Col("q.shop"))),
        ),
        36,
        48 + 6 + 36 * 6,
    ),
    "unique among groups": (a.Join(Q, by("o.num", "o.shop"), same("q.shop", "k0")), 6, 6 + 48 + 6),
    "no more unique among groups": (
        a.Join(Q, by("o.num", "o.shop"), same("q.shop", "k1")),
        36,
        6 + 48 + 36,
    ),
    "groups of rows that may be missing": (by("p.num", kind="left"), 42, 48),
    "groups by public rows": (
        a.PerUnit(a.Join(ORDERS, SHOPS, same("o.shop", "s.shop")), (("k", a.Col("s.shop")),)),
        42,
        48,
    ),
    "public, of 7 partners": (a.Join(ORDERS, SHOPS, same("o.shop", "s.shop")), 42, 48),
    "public, kept without": (a.Join(ORDERS, SHOPS, same("o.shop", "s.shop"), "left"), 48, 48),
    "public tables alone": (
        a.Join(PEOPLE, a.Join(SHOPS, a.Scan("shops", "t."), YES), YES),
        7,
        8,
    ),
}


@pytest.mark.parametrize("which", REACHES)
def test_reach_of_every_operator(which: str) -> None:
    relation, rows, work = REACHES[which]
    reach = reach_of(relation, MADE["people"], lambda *_: 7)
    assert (reach.rows, reach.work) == (rows, work)


def test_private_rows_that_met_an_empty_public_table_are_private_still() -> None:
    """A right side without rows was taken for a public one, and its partners were to be counted."""
    met_none = a.Join(P, SHOPS, same("p.shop", "s.shop"))
    asked: list[a.Relation] = []

    def partners(_: TableContract, relation: a.Relation, __: tuple[str, ...]) -> int:
        asked.append(relation)
        return 0

    reach = reach_of(a.Join(ORDERS, met_none, same("o.shop", "p.shop")), MADE["people"], partners)
    assert (reach.rows, reach.work, asked) == (0, 12, [SHOPS])


def test_the_day_of_a_moment_meets_that_day_alone_and_computed_text_may_meet_more() -> None:
    """Text that is computed may be of a collation: one text of it equals several others."""
    tables = {
        "visits": {"id": "INTEGER", "at": "TIMESTAMP", "town": "VARCHAR"},
        "days": {"day": "DATE", "place": "VARCHAR"},
    }
    catalog = [
        TableContract(table, tuple(Column(c, type_of(t), t) for c, t in columns.items()))
        for table, columns in tables.items()
    ]
    bodies = {
        "visits": {**UNDECLARED, "key": "id", "unit": True, "bound": [3, 1]},
        "days": {**UNDECLARED, "public": True},
    }
    both = contracts_in_force(catalog, json.loads(json.dumps(bodies)), {}, 1)
    counted: list[tuple[str, ...]] = []

    def partners(_: TableContract, __: a.Relation, columns: tuple[str, ...]) -> int:
        counted.append(columns)
        return 2 if columns else 700

    def reach(op: str, of: str, column: str) -> int:
        derived = a.Derive(a.Scan("visits"), "made", a.Call(op, (a.Col(of),)))
        equal = a.Call("=", (a.Col("made"), a.Col(column)))
        joined = a.Join(derived, a.Scan("days", "d."), equal, "inner")
        return reach_of(joined, both["visits"], partners).rows

    assert reach("date", "at", "d.day") == 3 * 2
    assert reach("lower", "town", "d.place") == 3 * 700
    assert counted == [("d.day",), ()]


def test_equated_columns_say_which_partners_are_counted() -> None:
    met: list[tuple[str, ...]] = []

    def partners(_: TableContract, __: a.Relation, columns: tuple[str, ...]) -> int:
        met.append(columns)
        return 1

    for on in (same("o.shop", "s.shop"), same("s.shop", "o.shop"), same("o.x", "s.shop"), YES):
        reach_of(a.Join(ORDERS, SHOPS, on), MADE["people"], partners)
    assert met == [("s.shop",), ("s.shop",), (), ()]


def rows_of_units(engine: Engine, relation: a.Relation, made: TableContract) -> Counter[Any]:
    """How many rows each unit has in a relation, as an input of a join is written."""
    written = Scope(relation, made).as_select()
    found = engine.duckdb.execute(f"SELECT sqlpriv_unit, count(*) FROM ({written}) GROUP BY 1")
    return Counter(dict(found.fetchall()))


shop = st.sampled_from([0, 1, 2])
orders = st.lists(st.tuples(st.sampled_from([1, 1, 1, 2]), shop), max_size=24)
PRIVATE = [which for which in REACHES if not which.startswith("public")]


@settings(max_examples=60)
@given(st.sampled_from(PRIVATE), orders)
def test_no_unit_has_more_rows_than_claimed(engine: Engine, which: str, orders: Any) -> None:
    """However many rows are stored of a unit: person 1 has up to 24 orders, of 6 that count."""
    relation, rows, _ = REACHES[which]
    engine.fill(MADE["people"], [(1, 30), (2, 40), (42, 50)])
    engine.fill(MADE["orders"], [(i, *row, float(i)) for i, row in enumerate(orders)])
    engine.fill(MADE["shops"], [])
    assert max(rows_of_units(engine, relation, MADE["people"]).values(), default=0) <= rows


@pytest.mark.parametrize("which", ["every pair of a unit", "three times", "parts add up"])
def test_a_worst_unit_has_as_many(engine: Engine, which: str) -> None:
    relation, rows, _ = REACHES[which]
    engine.fill(MADE["people"], [(1, 30), (42, 50)])
    engine.fill(MADE["orders"], [(i, 1, 1, float(i)) for i in range(24)])
    assert max(rows_of_units(engine, relation, MADE["people"]).values()) == rows


def test_the_parts_of_a_union_are_bounded_each(engine: Engine) -> None:
    """A union that no join reads, too: 24 orders are stored, 6 count in each part."""
    engine.fill(MADE["people"], [(1, 30)])
    engine.fill(MADE["orders"], [(i, 1, 1, float(i)) for i in range(24)])
    twice = a.Union(("c",), ((ORDERS, (a.Col("o.num"),)), (P, (a.Col("p.num"),))))
    assert rows_of_units(engine, twice, MADE["people"]) == {1: 12}


@settings(max_examples=60)
@given(st.sampled_from(PRIVATE), st.lists(st.tuples(st.sampled_from([1, 2]), shop), max_size=6))
def test_nothing_is_left_out_where_the_bound_holds(engine: Engine, which: str, orders: Any) -> None:
    """Six orders of one person at most: the rows are those of a table known to be bounded."""
    relation, _, _ = REACHES[which]
    engine.fill(MADE["people"], [(1, 30), (2, 40), (42, 50)])
    engine.fill(MADE["orders"], [(i, *row, float(i)) for i, row in enumerate(orders)])
    engine.fill(MADE["shops"], [])
    known = {t: replace(c, facts=TableFacts(bounded=True)) for t, c in MADE.items()}
    sure = replace(known["people"], others=known)
    if relation is not BY_SHOP:  # what is grouped by key is bounded all the same
        assert "QUALIFY" not in Scope(relation, sure).as_select()
    texts = [Scope(relation, made).as_select() for made in (MADE["people"], sure)]
    first, second = (Counter(engine.duckdb.execute(text).fetchall()) for text in texts)
    assert first == second


@settings(max_examples=40)
@given(orders, orders)
def test_which_rows_are_kept_of_a_unit_is_its_own_matter(
    engine: Engine, mine: Any, others: Any
) -> None:
    rows = [(i, 1, x, float(i)) for i, (_, x) in enumerate(mine)]
    more = [(100 + i, 2, x, float(i)) for i, (_, x) in enumerate(others)]
    kept = []
    for stored in (rows, more + rows[::-1]):
        engine.fill(MADE["people"], [(1, 30), (2, 40)])
        engine.fill(MADE["orders"], stored)
        joined = Scope(a.Join(ORDERS, P, YES), MADE["people"], hash_key=9).as_select()
        sql = f"SELECT * FROM ({joined}) WHERE sqlpriv_unit = 1"
        kept.append(Counter(engine.duckdb.execute(sql).fetchall()))
    assert kept[0] == kept[1]


@pytest.mark.parametrize(
    ("bound", "factor"), [((1, 1), 512), ((16, 8), 512), ((64, 4), 256), ((20_000, 1), 8)]
)
def test_work_is_refused_above_its_limit(bound: tuple[int, int], factor: int) -> None:
    """Every row and its n public partners are handled: n + 1 times the bound."""
    made, joined = contracts(bound)["orders"], a.Join(ORDERS, SHOPS, same("o.shop", "s.shop"))
    check_work(joined, made, lambda *_: factor - 1)
    with pytest.raises(Refused, match=f"multiply {factor + 1}-fold .*at most {factor}-fold"):
        check_work(joined, made, lambda *_: factor)


def chain(sides: int) -> a.Relation:
    """The person of `id = 42`, met by herself in one join after another: one row, or none."""
    relation: a.Relation = where(PEOPLE, "id", 42)
    for i in range(1, sides):
        other = where(a.Scan("people", f"t{i}."), f"t{i}.id", 42)
        relation = a.Join(relation, other, same("id", f"t{i}.id"), "semi" if i % 2 else "inner")
    return relation


@pytest.mark.parametrize(
    "of",
    [
        lambda n: copies(n, "c"),
        chain,
        lambda n: a.PerUnit(a.Derive(chain(n), "d", a.Col("id")), (), ()),
        lambda n: a.Union(
            ("c",), ((copies(n - 4, "d"), (a.Col("d"),)), (chain(4), (a.Col("id"),)))
        ),
        lambda n: a.Join(copies(n, "c"), a.Join(SHOPS, a.Scan("shops", "t."), YES), YES, "left"),
    ],
    ids=["a union", "joins", "inside a unit", "a union of joins", "public tables are not counted"],
)
def test_scans_of_private_tables_are_counted(of: Callable[[int], a.Relation]) -> None:
    """Each sets up memory for its first row, which shows in the time, whatever rows follow."""
    check_work(of(MAX_SCANS), MADE["people"], lambda *_: 1)
    with pytest.raises(Refused, match=f"over {MAX_SCANS + 1} scans"):
        check_work(of(MAX_SCANS + 1), MADE["people"], lambda *_: 1)


def test_a_bound_of_a_table_that_is_not_read_allows_nothing() -> None:
    wide = contracts((1000, 1))
    joined = a.Join(PEOPLE, SHOPS, YES)
    with pytest.raises(Refused, match="514-fold"):
        check_work(joined, wide["people"], lambda *_: 513)


def test_partners_are_counted_in_public_tables_alone(engine: Engine) -> None:
    engine.fill(MADE["shops"], [(1, "a"), (1, "b"), (1, "b"), (2, "a"), (None, "a")])
    for columns, most in (((), 5), (("s.shop",), 3), (("s.shop", "s.town"), 2)):
        sql = partner_count(SHOPS, columns, MADE["people"])
        assert engine.duckdb.execute(sql).fetchall() == [(most,)]
    engine.fill(MADE["shops"], [])
    sql = partner_count(SHOPS, ("s.shop",), MADE["people"])
    assert engine.duckdb.execute(sql).fetchall() == [(0,)]
    with pytest.raises(KernelError):
        partner_count(ORDERS, (), MADE["people"])


def test_public_rows_do_not_multiply_a_unit_either(make_kernel: MakeKernel) -> None:
    """The public side is counted before the charge, and again when the vault has changed."""
    kernel = make_kernel("CREATE TABLE people AS SELECT i AS id FROM range(9) r(i)")
    kernel.close()
    write(kernel.vault, "CREATE TABLE days AS SELECT i % 2 AS odd FROM range(400) r(i)")
    again = Kernel(kernel.vault)
    again.ledger.declare("days", "owner", public=True)
    declare(again)
    joined = a.Join(a.Scan("people"), a.Scan("days", "d."), YES)
    (release,) = ask(again, Measurement(a.Count(joined), EXACT))
    assert release.values.tolist() == [9]  # one row of a unit is kept
    write(again.vault, "INSERT INTO days SELECT 0 FROM range(600)")
    with pytest.raises(Refused, match="1001-fold"):
        ask(again, Measurement(a.Count(joined, of=a.Col("d.odd")), EXACT))
    with pytest.raises(Refused, match="1001-fold"):
        predict_measurements(
            again, [Measurement(a.Count(joined), EXACT)], again.contracts()["people"]
        )
    assert again.ledger.account("people").charges == 1
    again.close()


def test_partners_of_a_table_that_is_public_no_more_are_not_counted(
    make_kernel: MakeKernel,
) -> None:
    """A plan asks for their exact number: never of a table that is private by then."""
    kernel = make_kernel(
        "CREATE TABLE people AS SELECT i AS id FROM range(9) r(i);"
        "CREATE TABLE days AS SELECT i % 2 AS odd FROM range(400) r(i)"
    )
    kernel.ledger.declare("days", "owner", public=True)
    planned = kernel.contracts()["people"]
    assert kernel.most_partners(planned, a.Scan("days"), ("odd",)) == 200
    kernel.ledger.declare("days", "owner", public=False)
    with pytest.raises(Refused, match="no privacy unit"):
        kernel.most_partners(planned, a.Scan("days"), ("odd",))
    kernel.ledger.declare("days", "owner", key="odd", unit=True)
    with pytest.raises(Refused, match="units of one table"):
        kernel.most_partners(planned, a.Scan("days"), ("odd",))
