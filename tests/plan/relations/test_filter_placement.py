"""Filters stand below joins, and no answer changes by it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.vaults import EXACT, ask

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, TableContract, Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.relations.joins.filter_placement import join_rows, place_filter
from sqlpriv.plan.relations.joins.join_order import with_connected_joins

MakeKernel = Callable[..., Kernel]
LEFT, RIGHT = a.Scan("people"), a.Scan("people", "r.")
YES = a.Lit(True, Type.BOOLEAN)


def compare(column: str, op: str, value: int) -> a.Call:
    return a.Call(op, (a.Col(column), a.Lit(value, Type.INTEGER)))


SAME = a.Call("=", (a.Col("x"), a.Col("r.x")))
SMALL, MISSING = compare("x", "<", 3), a.Call("is null", (a.Col("r.x"),))
RIGHT_SMALL = compare("r.x", "<", 2)
EITHER = a.Call("or", (a.Call("and", (SAME, SMALL)), a.Call("and", (SAME, RIGHT_SMALL))))


@pytest.fixture
def kernel(make_kernel: MakeKernel) -> Kernel:
    return make_kernel(
        "CREATE TABLE people AS SELECT i % 5 AS id, i % 4 AS x FROM range(20) r(i)", m=16
    )


@pytest.mark.parametrize("kind", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize(
    "tests", [(SAME,), (SAME, SMALL), (SAME, RIGHT_SMALL), (SMALL,), (EITHER,)]
)
def test_a_join_has_the_rows_that_it_had(
    kernel: Kernel, kind: str, tests: tuple[a.Expr, ...]
) -> None:
    contracts = kernel.contracts()
    placed: a.Relation = join_rows(LEFT, RIGHT, tests, kind, contracts)
    plain: a.Relation = a.Join(LEFT, RIGHT, a.Call("and", (YES, *tests)), kind)
    filters = [SMALL] if kind in ("semi", "anti") else [SMALL, MISSING, RIGHT_SMALL, EITHER]
    for predicate in filters:
        query, expected = (
            a.Count(rows)
            for rows in (place_filter(placed, predicate, contracts), a.Where(plain, predicate))
        )
        moved, stood = ask(kernel, Measurement(query, EXACT), Measurement(expected, EXACT))
        assert moved.values.tolist() == stood.values.tolist()


def test_filters_stand_where_the_rows_come_from(kernel: Kernel) -> None:
    contracts = kernel.contracts()
    inner = join_rows(LEFT, RIGHT, (SAME, RIGHT_SMALL), "inner", contracts)
    placed = place_filter(inner, SMALL, contracts)
    assert placed == a.Join(a.Where(LEFT, SMALL), a.Where(RIGHT, RIGHT_SMALL), SAME)
    kept = a.Join(LEFT, RIGHT, SAME, "left")
    assert place_filter(kept, MISSING, contracts) == a.Where(kept, MISSING)
    assert place_filter(a.Join(LEFT, RIGHT, YES), EITHER, contracts) == a.Join(
        LEFT, RIGHT, a.Call("and", (SAME, EITHER))
    )


def test_rows_beyond_the_bound_are_chosen_among_what_is_asked_for(make_kernel: MakeKernel) -> None:
    """A person has 40 visits, 2 of them on day 3: both are found, though 4 visits count at most."""
    kernel = make_kernel(
        "CREATE TABLE people AS SELECT i % 5 AS id, i // 10 AS x FROM range(200) r(i)", m=4
    )
    contracts = kernel.contracts()
    visited = join_rows(LEFT, RIGHT, (SAME, compare("r.x", "=", 3)), "semi", contracts)
    on_day = place_filter(visited, compare("x", "=", 3), contracts)
    (release,) = ask(kernel, Measurement(a.Count(on_day), EXACT))
    assert release.values.tolist() == [10]


def test_tables_are_joined_when_something_ties_them(kernel: Kernel) -> None:
    """`FROM shops, towns, people` with a condition of people on each: in the written order, every
    shop would meet every town before any person does."""
    contracts, private = kernel.contracts(), {"id", "x"}
    shops, towns, people = RIGHT, a.Scan("people", "s."), LEFT
    of_shop = a.Call("=", (a.Col("id"), a.Col("r.id")))
    of_town = a.Call("=", (a.Col("x"), a.Col("s.x")))
    product = a.Join(a.Join(shops, towns, YES), people, a.Call("and", (of_shop, of_town)))
    tied = a.Join(a.Join(people, shops, of_shop), towns, of_town)
    assert with_connected_joins(product, private, contracts) == tied
    assert with_connected_joins(a.Where(product, SMALL), private, contracts) == a.Where(tied, SMALL)
    loose = a.Join(a.Join(people, shops, YES), towns, YES)
    assert with_connected_joins(loose, private, contracts) == loose


SHOP = {
    "customers": ("id", "town"),
    "orders": ("id", "customer", "day"),
    "lines": ("order", "supplier", "part"),
    "suppliers": ("id", "town"),
    "towns": ("id", "land"),
}
SHOP_TABLES = {
    name: TableContract(
        name,
        tuple(Column(c, Type.INTEGER, "INTEGER") for c in columns),
        unique=frozenset({"id"} if "id" in columns else ()),
    )
    for name, columns in SHOP.items()
}
OF_UNITS = {f"{table}.{c}" for table in ("customers", "orders", "lines") for c in SHOP[table]}


def scan(table: str) -> a.Scan:
    return a.Scan(table, f"{table}.")


def equal(one: str, other: str) -> a.Expr:
    return a.Call("=", (a.Col(one), a.Col(other)))


BY_CUSTOMER = equal("customers.id", "orders.customer")
BY_ORDER = equal("lines.order", "orders.id")
BY_SUPPLIER = equal("suppliers.id", "lines.supplier")
BY_TOWN = equal("suppliers.town", "towns.id")
BOTH_TOWNS = equal("customers.town", "suppliers.town")


def written(*tables: str, tests: tuple[a.Expr, ...]) -> a.Relation:
    """FROM tables in a row WHERE tests, as they are read."""
    product: a.Relation = scan(tables[0])
    for table in tables[1:]:
        product = a.Join(product, scan(table), YES)
    for test in tests:
        product = place_filter(product, test, SHOP_TABLES)
    return product


@pytest.mark.parametrize(
    "tables",
    [
        ("customers", "orders", "lines", "suppliers", "towns"),
        ("towns", "suppliers", "lines", "orders", "customers"),
        ("orders", "towns", "lines", "customers", "suppliers"),
    ],
)
def test_what_is_looked_up_stands_on_the_right(tables: tuple[str, ...]) -> None:
    """Lines look up orders, and these customers; of the suppliers' towns few are left."""
    few = compare("towns.land", "=", 2)
    tests = (BY_CUSTOMER, BY_ORDER, BY_SUPPLIER, BY_TOWN, few)
    orders = a.Join(scan("orders"), scan("customers"), BY_CUSTOMER)
    suppliers = a.Join(scan("suppliers"), a.Where(scan("towns"), few), BY_TOWN)
    tied = with_connected_joins(written(*tables, tests=tests), OF_UNITS, SHOP_TABLES)
    assert tied == a.Join(a.Join(scan("lines"), suppliers, BY_SUPPLIER), orders, BY_ORDER)
    assert with_connected_joins(tied, OF_UNITS, SHOP_TABLES) == tied


def test_a_condition_of_two_branches_stands_above_both() -> None:
    tests = (BY_CUSTOMER, BY_ORDER, BY_SUPPLIER, BOTH_TOWNS)
    tied = with_connected_joins(
        written("customers", "orders", "lines", "suppliers", tests=tests), OF_UNITS, SHOP_TABLES
    )
    orders = a.Join(scan("orders"), scan("customers"), BY_CUSTOMER)
    lines = a.Join(scan("lines"), scan("suppliers"), BY_SUPPLIER)
    assert tied == a.Join(lines, orders, a.Call("and", (BY_ORDER, BOTH_TOWNS)))


def test_private_rows_never_stand_on_the_right_of_public_ones() -> None:
    """Nobody looks up customers from towns, though a customer's number is unique."""
    odd = equal("customers.id", "towns.land")
    tests = (BY_CUSTOMER, odd)
    tied = with_connected_joins(
        written("towns", "orders", "customers", tests=tests), OF_UNITS, SHOP_TABLES
    )
    orders = a.Join(scan("orders"), scan("customers"), BY_CUSTOMER)
    assert tied == a.Join(orders, scan("towns"), odd)


def test_each_part_is_filtered_by_what_an_or_says_of_it() -> None:
    day, part = "orders.day", "lines.part"
    first = a.Call("and", (BY_ORDER, compare(day, "=", 1), compare(part, "<", 3)))
    second = a.Call("and", (BY_ORDER, compare(day, "=", 2)))
    either = a.Call("or", (first, second))
    of_orders = a.Call("or", (compare(day, "=", 1), compare(day, "=", 2)))
    placed = place_filter(a.Join(scan("lines"), scan("orders"), YES), either, SHOP_TABLES)
    assert placed == a.Join(
        scan("lines"), a.Where(scan("orders"), of_orders), a.Call("and", (BY_ORDER, either))
    )
