"""Relations of several tables: no unit moves an answer further than claimed, and some unit does.

A database of four tables: people (units), orders (linked to people), items (linked to orders) and
shops (public). A neighbour lacks one person with all orders and all items of them.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.vaults import Engine, batch_price

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.checked import check_expressions
from sqlpriv.kernel.proof.sensitivity import bound_of, fold_ends, lattice_of, sensitivity
from sqlpriv.kernel.sql.dialect import DUCKDB
from sqlpriv.kernel.sql.queries import verifying
from sqlpriv.kernel.sql.quoting import levels
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.sql.scanned_tables import unit_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.contract import (
    UNDECLARED,
    Column,
    PrivacyUnit,
    TableContract,
    Type,
    contracts_in_force,
)
from sqlpriv.kernel.terms.operations import type_of
from sqlpriv.kernel.terms.release import Measurement

TABLES = {
    "people": {"id": "INTEGER", "sex": "VARCHAR"},
    "orders": {"num": "INTEGER", "person": "INTEGER", "shop": "INTEGER", "x": "DOUBLE"},
    "items": {"ord": "INTEGER", "kind": "VARCHAR", "y": "INTEGER"},
    "shops": {"shop": "INTEGER", "town": "VARCHAR"},
}
UNIQUE = {"people": {"id"}, "orders": {"num"}}
DECLARED: dict[str, dict[str, Any]] = {
    "people": {"key": "id", "unit": True},
    "orders": {"links": [["person", "people", "id"]], "bound": [2, 2]},
    "items": {"links": [["ord", "orders", "num"]], "bound": [3, 2]},
    "shops": {"public": True},
}
Rows = dict[str, list[tuple[Any, ...]]]


def catalog() -> list[TableContract]:
    return [
        TableContract(
            table,
            tuple(Column(c, type_of(t), t) for c, t in columns.items()),
            unique=frozenset(UNIQUE.get(table, ())),
        )
        for table, columns in TABLES.items()
    ]


def contracts(**changed: dict[str, Any]) -> dict[str, TableContract]:
    bodies = {t: {**UNDECLARED, **DECLARED[t], **changed.get(t, {})} for t in TABLES}
    return contracts_in_force(catalog(), json.loads(json.dumps(bodies)), {}, 1)


MADE = contracts()


def col(name: str) -> a.Col:
    return a.Col(name)


def equal(left: str, right: str) -> a.Call:
    return a.Call("=", (col(left), col(right)))


YES = a.Lit(True, Type.BOOLEAN)
PEOPLE, ORDERS, ITEMS = a.Scan("people"), a.Scan("orders", "o."), a.Scan("items", "i.")
SHOPS = a.Scan("shops", "s.")
LINKED = a.Join(ITEMS, ORDERS, equal("i.ord", "o.num"))
ALL = a.Join(a.Join(PEOPLE, LINKED, equal("id", "o.person")), SHOPS, equal("o.shop", "s.shop"))
OLDER = a.Where(a.Scan("orders", "p."), a.Call(">", (col("p.x"), a.Lit(0.5, Type.REAL))))
SPENT = a.PerUnit(
    ORDERS,
    (),
    (
        a.Fold("n", "count", reach=4),
        a.Fold("d", "distinct", col("o.shop"), reach=4),
        a.Fold("total", "sum", col("o.x"), 0.0, 1.0, reach=2),
        a.Fold("least", "min", col("o.x"), 0.0, 1.0),
        a.Fold("most", "max", col("o.shop"), 0, 3),
    ),
)
RELATIONS: dict[str, a.Relation] = {
    "scan of a table whose unit is two links away": ITEMS,
    "child and parent": LINKED,
    "all four": ALL,
    "left, public, of many partners": a.Join(ORDERS, SHOPS, equal("o.shop", "s.shop"), "left"),
    "public, without a condition, twice the rows": a.Bounded(a.Join(ORDERS, SHOPS, YES), 4, 2),
    "private, without a condition": a.Join(ORDERS, ITEMS, YES),
    "left, private": a.Join(PEOPLE, ORDERS, YES, "left"),
    "semi": a.Join(ORDERS, OLDER, a.Call("<>", (col("o.num"), col("p.num"))), "semi"),
    "anti": a.Join(ORDERS, OLDER, a.Call("<>", (col("o.num"), col("p.num"))), "anti"),
    "anti, public": a.Join(ORDERS, SHOPS, equal("o.shop", "s.shop"), "anti"),
    "union": a.Union(
        ("k", "v"),
        (
            (ORDERS, (col("o.shop"), col("o.x"))),
            (ITEMS, (col("i.y"), a.Lit(1.0, Type.REAL))),
        ),
    ),
    "one row of a unit": SPENT,
    "rows of a unit by shop": a.PerUnit(
        ORDERS, (("k", col("o.shop")),), (a.Fold("n", "count", col("o.x"), reach=3),)
    ),
    "units and what they spent": a.Join(PEOPLE, SPENT, YES, "left"),
}
KEYS = {"o.shop": 4, "i.y": 4, "k": 4, "n": 5}
ADDED = {"o.x": (0.0, 1.0), "i.y": (0, 3), "v": (0.0, 1.0), "total": (0.0, 2.0), "n": (0, 4)}


def asked(relation: a.Relation) -> list[a.Query]:
    """Counts and sums of whatever columns the relation has, with keys and strata."""
    types = Scope(relation, MADE["people"]).types
    keys = [a.Key(col(k), tuple(range(n))) for k, n in KEYS.items() if k in types]
    found: list[a.Query] = [a.Count(relation)]
    found += [a.Count(relation, strata=(key,)) for key in keys[:1]]
    found += [a.Count(relation, keys=(key,)) for key in keys]
    for name, ends in ADDED.items():
        if name in types:
            found += [
                a.Sum(relation, col(name), *ends),
                a.Sum(relation, col(name), *ends, tuple(keys[:1])),
            ]
    return found


def fill(engine: Engine, rows: Rows) -> None:
    for table, made in MADE.items():
        engine.fill(made, rows[table])


def answers(engine: Engine, queries: Sequence[a.Query]) -> list[np.ndarray[Any, Any]]:
    made_lists: set[str] = set()
    return [engine.exact([q], MADE["people"], made_lists=made_lists)[0] for q in queries]


def without(rows: Rows, person: int) -> Rows:
    """The neighbour: a person leaves with all orders, and the items of these."""
    gone = {num for num, owner, *_ in rows["orders"] if owner == person}
    return {
        "people": [row for row in rows["people"] if row[0] != person],
        "orders": [row for row in rows["orders"] if row[1] != person],
        "items": [row for row in rows["items"] if row[0] not in gone],
        "shops": rows["shops"],
    }


small = st.sampled_from([0, 1, 2, 3, None])
orders = st.lists(
    st.tuples(
        st.sampled_from([1, 1, 2, 3, None]), small, st.sampled_from([0.0, 0.3, 1.0, 7.0, None])
    ),
    max_size=7,
)
items = st.lists(
    st.tuples(st.sampled_from([0, 0, 1, 2, 3, 9, None]), st.just("a"), small), max_size=9
)
shops = st.lists(st.tuples(small, st.just("t")), max_size=5)


@settings(max_examples=60)
@given(st.sampled_from(list(RELATIONS)), orders, items, shops)
def test_no_unit_moves_a_relation_further_than_claimed(
    engine: Engine, which: str, orders: Any, items: Any, shops: Any
) -> None:
    relation = RELATIONS[which]
    rows: Rows = {
        "people": [(1, "f"), (2, "m"), (3, "f")],
        "orders": [(number, *row) for number, row in enumerate(orders)],
        "items": items,
        "shops": shops,
    }
    queries = asked(relation)
    fill(engine, rows)
    whole = answers(engine, queries)
    for person in (1, 2, 3):
        fill(engine, without(rows, person))
        for query, with_, less in zip(queries, whole, answers(engine, queries), strict=True):
            change = [abs(int(z)) for z in (with_ - less).ravel()]
            steps = lattice_of(
                query, check_expressions(query, Scope(query.source, MADE["people"]))
            ).steps
            moved = sensitivity(query, bound_of(query.source, MADE["people"]), steps)
            assert sum(change) <= moved.l1
            assert sum(z * z for z in change) <= moved.l2_squared


def worst() -> Rows:
    """Person 1 has as many orders and items as there could be, alike in all that is asked."""
    return {
        "people": [(1, "f"), (2, "m")],
        "orders": [(number, 1, 1, 1.0) for number in range(6)] + [(9, 2, 1, 0.5)],
        "items": [(number, "a", 1) for number in range(6) for _ in range(2)],
        "shops": [(1, "t"), (1, "u")],
    }


@pytest.mark.parametrize("which", [k for k in RELATIONS if k != "anti, public"])
def test_a_worst_unit_attains_the_bound_of_every_operator(engine: Engine, which: str) -> None:
    rows, query = worst(), a.Count(RELATIONS[which])
    if which == "anti":  # nobody else's large order keeps an order from counting
        rows["orders"] = [(number, 1, 1, 0.0) for number in range(6)] + [(9, 2, 1, 1.0)]
    fill(engine, rows)
    (whole,) = answers(engine, [query])
    fill(engine, without(rows, 1))
    (less,) = answers(engine, [query])
    moved = sensitivity(query, bound_of(query.source, MADE["people"]), 1)
    if which == "rows of a unit by shop":  # one row a shop: as many as there are shops
        assert abs(int((whole - less).sum())) == 1
    else:
        assert abs(int((whole - less).sum())) == moved.l1


def test_partners_are_of_the_same_unit_alone(engine: Engine) -> None:
    fill(engine, worst())
    for kind, count in (("inner", 2), ("left", 3), ("semi", 1), ("anti", 1)):
        self_join = a.Join(PEOPLE, OLDER, YES, kind)  # 2 has no order above 0.5
        assert answers(engine, [a.Count(self_join)])[0].sum() == count


def test_what_is_folded_is_what_sql_says(engine: Engine) -> None:
    fill(engine, worst())
    scope = Scope(SPENT, MADE["people"])
    found = engine.duckdb.execute(f"SELECT *{scope.source()} ORDER BY 1").fetchall()
    assert found == [(1, 6, 1, 6.0, 1.0, 1), (2, 1, 1, 0.5, 0.5, 1)]


def test_a_table_of_two_units_protects_neither() -> None:
    both = contracts(items={"links": [["ord", "orders", "num"], ["y", "people", "id"]]})
    assert both["items"].unit is None
    assert not both["items"].public
    own = contracts(orders={"key": "num", "unit": True})
    assert own["orders"].unit is None
    assert own["items"].unit is None  # an item is of an order and of its person


def test_a_link_leads_to_one_row() -> None:
    loose = contracts(items={"links": [["y", "orders", "shop"]]})  # a shop has many orders
    assert loose["items"].unit is None
    assert contracts(orders={"links": [["num", "items", "ord"]]})["orders"].unit is None
    circle = contracts(orders={"links": [["num", "orders", "num"], ["person", "people", "id"]]})
    assert circle["orders"].unit is None
    faked = replace(
        MADE["items"], others={**MADE, "orders": replace(MADE["orders"], unique=frozenset())}
    )
    with pytest.raises(Refused):
        Scope(ITEMS, faked)


@pytest.mark.parametrize(
    "relation",
    [
        a.Join(SHOPS, ORDERS, YES),
        a.Join(PEOPLE, a.Join(SHOPS, ORDERS, YES), YES),  # else others' orders would pass as public
        a.Join(PEOPLE, PEOPLE, YES),
        SHOPS,
        a.Union(("k",), ((ORDERS, (col("o.num"),)), (SHOPS, (col("s.shop"),)))),
        a.Union(("k",), ((ORDERS, (col("o.num"),)), (ORDERS, (col("o.x"), col("o.x"))))),
        a.PerUnit(SHOPS, (), (a.Fold("n", "count"),)),
        a.PerUnit(ORDERS, (), (a.Fold("n", "avg", col("o.x")),)),
        a.PerUnit(ORDERS, (), (a.Fold("n", "sum", col("o.x"), 0, 2**60, reach=8),)),
        a.Derive(PEOPLE, "sqlpriv_unit", col("id")),
        a.Scan("elsewhere"),
    ],
)
def test_relations_that_would_not_be_partitioned_are_refused(relation: a.Relation) -> None:
    with pytest.raises((Refused, KernelError)):
        check_expressions(a.Count(relation), Scope(relation, MADE["people"]))


def test_units_of_two_tables_do_not_meet() -> None:
    made = contracts(orders={"links": [], "key": "num", "unit": True})
    with pytest.raises(Refused, match="one table"):
        Scope(a.Join(PEOPLE, ORDERS, YES), made["people"])


def test_relations_of_one_batch_add_up() -> None:
    one, other = (Measurement(a.Count(RELATIONS[r]), Rho(10)) for r in ("union", "all four"))
    assert batch_price([one, other], MADE["people"]) == Rho(20)


def test_what_a_join_compared_is_no_column_after_it() -> None:
    """A semi join has no column of its right side, though its own test was read with them."""
    semi = RELATIONS["semi"]
    assert isinstance(semi, a.Join)
    with pytest.raises(Refused, match=r"no usable column .p\.num"):
        Scope(semi, MADE["people"]).type(semi.on)


def test_of_equal_expressions_each_is_checked() -> None:
    """Python calls 1 and True equal."""
    scope = Scope(PEOPLE, MADE["people"])
    assert scope.type(a.Lit(1, Type.INTEGER)) is Type.INTEGER
    with pytest.raises(Refused, match="does not fit"):
        scope.type(a.Lit(True, Type.INTEGER))


def test_equal_queries_have_one_text() -> None:
    """Losses of equal relations add up as one, so they read the same rows, beyond 2^53 too."""
    for one, other in (
        (a.In(col("y"), (2**53, 1)), a.In(col("y"), (2.0**53, 1.0))),
        (a.In(col("y"), (2**53, 1)), a.In(col("y"), (2**53, 1.0))),
        (a.Bin(col("y"), (1, 2**53)), a.Bin(col("y"), (1.0, 2.0**53))),
    ):
        assert one == other
        scope = Scope(a.Scan("items"), MADE["items"])
        assert scope.value(one) == scope.value(other)
    folds = (a.Fold("n", "sum", col("y"), 0, 2**60), a.Fold("n", "sum", col("y"), 0.0, 2.0**60))
    texts = [
        Scope(a.PerUnit(a.Scan("items"), (), (f,)), MADE["items"]).value(col("n")) for f in folds
    ]
    assert texts[0] == texts[1]


def test_a_unit_lies_in_one_stratum_of_equal_lists(engine: Engine) -> None:
    """Losses of equal strata add up as one: 3 * (2^53 - 1) was rounded in one of two equal folds,
    and 2^53 + 3 in one of two equal lists. A unit was then in two strata, at the price of one."""
    odd = 2**53 + 3
    fill(engine, {**{t: [] for t in TABLES}, "orders": [(1, 1, 0, odd + 1.0)]})
    lists = ((odd - 1, odd, odd + 1), (float(odd - 1), odd, odd + 1))
    assert lists[0] == lists[1]
    cells = [
        engine.exact([a.Count(a.Scan("orders"), (a.Key(a.Col("x"), values),))], MADE["orders"])[0]
        for values in lists
    ]
    assert [c.ravel().tolist() for c in cells] == [[0, 0, 1], [0, 0, 1]]
    apart = ((odd - 1, odd + 1, odd + 4), (float(odd - 1), float(odd + 1), odd + 4))
    assert apart[0] == apart[1]
    assert len({levels((a.Key(a.Col("x"), values), "x", "BIGINT")) for values in apart}) == 1
    most = 2**53 - 1
    folds = [a.Fold("n", "sum", a.Col("y"), 0, end, reach=3) for end in (most, float(most))]
    assert folds[0] == folds[1]
    assert fold_ends(folds[0]) == fold_ends(folds[1]) == (0, 3 * most)


def test_a_list_of_one_real_that_is_no_whole_number_of_64_bits(engine: Engine) -> None:
    fill(engine, {**{t: [] for t in TABLES}, "orders": [(1, 1, 0, 1e300), (2, 2, 0, 0.5)]})
    for value, n in ((1e300, 1), (0.0, 0), (0.5, 1), (-(2.0**63), 0)):
        key = a.Key(a.Col("x"), (value,))
        assert engine.exact([a.Count(a.Scan("orders"), (), (key,))], MADE["orders"])[0].sum() == n


def test_facts_are_found_along_links(engine: Engine) -> None:
    fill(engine, worst())
    assert engine.duckdb.execute(verifying(MADE["items"])).fetchall()[0][0] is False
    wide = contracts(items={"bound": [12, 1]})["items"]
    assert engine.duckdb.execute(verifying(wide)).fetchall()[0][0] is True


def test_groups_inside_a_unit_are_bounded_where_a_join_reads_them(engine: Engine) -> None:
    """Two rows of a unit count, so no more than two of its groups: the join is bounded by that."""
    made = contracts(orders={"bound": [2, 1]})["orders"]
    by_order = a.PerUnit(ORDERS, (("k", col("o.num")),))
    orders = [(n, 1, 0, 0.5) for n in range(5)]
    fill(engine, {**{t: [] for t in TABLES}, "people": [(1, "f")], "orders": orders})
    (rows,) = engine.exact([a.Count(a.Join(by_order, PEOPLE, YES))], made)
    assert rows.sum() == 2


@pytest.mark.parametrize("zeros", [(-0.0, 0.0), (0.0, -0.0)])
def test_nothing_tells_the_sign_of_zero(engine: Engine, zeros: tuple[float, float]) -> None:
    """A group of both keeps the one that came first, which other units' rows may decide; and
    relations that differ in it alone are equal, so that their losses are one relation's."""
    orders = [(n, 1, 0, x) for n, x in enumerate(zeros)]
    fill(engine, {**{table: [] for table in TABLES}, "orders": orders})
    zero, other = (a.Lit(x, Type.REAL) for x in zeros)
    below = a.Call("<", (a.Call("pow", (a.Col("key"), a.Lit(-1, Type.REAL))), zero))
    scan = a.Scan("orders")
    grouped = a.PerUnit(scan, (("key", a.Col("x")),))
    relations = [a.Where(grouped, below)]
    for z in (zero, other):
        x_below_0 = a.Call("<", (a.Call("pow", (z, a.Lit(-1, Type.REAL))), zero))
        relations.append(a.Where(scan, x_below_0))
    assert relations[1] == relations[2]
    for relation in relations:
        assert engine.exact([a.Count(relation)], MADE["orders"])[0].sum() == 0


HOSTILE = ["", "1", "11", "1:", ":1", "1:1", "é", "e\u0301", "a\x00", "\\x61", "a", "A", None]


@given(st.lists(st.tuples(*[st.sampled_from(HOSTILE)] * 3, st.sampled_from([1, 11, -1, None]))))
@example([("1", "11", "", 1), ("11", "1", "", 1)])
@example([("1:1", "1", "", 1), ("1", "1:1", "", 1), ("1", "1", "1:", 1)])
@example([("a", "", "", 11), ("", "a", "", 11), ("a", "", "1", 1)])
@settings(max_examples=50, deadline=None)
def test_a_key_of_several_columns_tells_combinations_apart(rows: list[tuple[Any, ...]]) -> None:
    """Two combinations are one unit exactly where all their values are equal; one without a value
    is nobody. Text is compared byte by byte, whatever a column's collation."""
    kinds = {"a": "VARCHAR", "b": "VARCHAR COLLATE NOCASE", "c": "VARCHAR", "n": "BIGINT"}
    columns = tuple(Column(c, type_of(t.split()[0]), t) for c, t in kinds.items())
    unit = PrivacyUnit("t", "a", further=("b", "c", "n"))
    text, _ = unit_of(TableContract("t", columns, unit), unit, "t", DUCKDB)
    with duckdb.connect() as engine:
        engine.execute(f"CREATE TABLE t ({', '.join(f'{c} {t}' for c, t in kinds.items())})")
        if rows:
            engine.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        named = engine.execute(f"SELECT {text} FROM t").fetchall()
    assert [name is None for (name,) in named] == [None in row for row in rows]
    whole = [(row, name) for row, (name,) in zip(rows, named, strict=True) if name is not None]
    assert len({row for row, _ in whole}) == len({name for _, name in whole}) == len({*whole})
