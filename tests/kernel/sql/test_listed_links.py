"""Links to units beyond their bound are listed once; rows of all other links are kept unseen."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.handled_rows import rows_handled
from support.vaults import EXACT, Engine, ask, write

from sqlpriv.errors import Refused
from sqlpriv.kernel.engine import attach, detach
from sqlpriv.kernel.sql import joins
from sqlpriv.kernel.sql.queries import Rendered, render
from sqlpriv.kernel.sql.relations import Scope
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

TABLES = {
    "customers": {"c": "VARCHAR", "region": "INTEGER"},
    "orders": {"o": "INTEGER", "c": "VARCHAR", "day": "INTEGER"},
    "lines": {"o": "INTEGER", "x": "INTEGER", "y": "INTEGER"},
    "days": {"x": "INTEGER"},
}
UNIQUE = {"customers": {"c"}, "orders": {"o"}, "lines": set[str](), "days": {"x"}}
DECLARED = {
    "customers": {"key": "c", "unit": True},
    "orders": {"links": [["c", "customers", "c"]], "bound": [2, 2]},
    "lines": {"links": [["o", "orders", "o"]], "bound": [4, 1]},
    "days": {"public": True},
}
LINES, ORDERS = a.Scan("lines", "l."), a.Scan("orders", "o.")
X, DAY = a.Col("l.x"), a.Key(a.Col("o.day"), (0, 1, 2))
BY_X, BY_ANY = a.Key(X, (0, 1, 2)), a.Key(a.Col("x"), (0, 1, 2))
FEW = a.Where(LINES, a.Call(">", (X, a.Lit(0, Type.INTEGER))))
SAME = a.Call("=", (a.Col("l.o"), a.Col("o.o")))
OTHER = a.Call("<=", (X, a.Col("o.day")))
OTHER_FEW = a.Call(">", (a.Col("m.x"), a.Lit(0, Type.INTEGER)))
THIRD = a.Call("=", (a.Col("m.o"), a.Col("o.o")))
QUERIES: dict[str, list[a.Query]] = {
    "lines": [a.Count(LINES, (), (BY_X,)), a.Sum(LINES, a.Col("l.y"), 0, 9)],
    "some lines": [a.Count(FEW, (), (BY_X,))],
    "orders, which name the unit": [a.Count(ORDERS, (), (DAY,))],
    "lines of orders": [a.Count(a.Join(FEW, ORDERS, SAME), (), (DAY,))],
    "lines of a union": [a.Count(a.Union(("x",), ((FEW, (X,)), (LINES, (X,)))), (), (BY_ANY,))],
}


def contract(table: str = "lines", bound: int = 4) -> TableContract:
    declared = {**DECLARED, "lines": {**DECLARED["lines"], "bound": [bound, 1]}}
    catalog = [
        TableContract(
            t,
            tuple(Column(c, type_of(kind), kind) for c, kind in columns.items()),
            unique=frozenset(UNIQUE[t]),
        )
        for t, columns in TABLES.items()
    ]
    bodies = {t: {**UNDECLARED, **declared[t]} for t in declared}
    return contracts_in_force(catalog, json.loads(json.dumps(bodies)), {}, 1)[table]


@pytest.fixture
def shop(engine: Engine) -> Iterator[Engine]:
    """Customers of one to seven orders, of none to three lines; orders of nobody and of one who is
    not there; lines of no order, and of one that is not there."""
    drawn = random.Random(18)
    orders = [
        (10 * i + j, who, drawn.randint(0, 3))
        for i, who in enumerate([*(f"c{i}" for i in range(40)), None, "nobody"])
        for j in range(drawn.randint(1, 7))
    ]
    lines = [
        (o, drawn.randint(0, 3), drawn.randint(0, 9))
        for o in (*(o for o, _, _ in orders), None, 9999)
        for _ in range(drawn.randint(0, 3) if o not in (None, 9999) else 6)
    ]
    engine.fill(contract("customers"), [(f"c{i}", i % 3) for i in range(40)])
    engine.fill(contract("orders"), orders)
    engine.fill(contract("lines"), lines)
    engine.duckdb.execute("CREATE OR REPLACE TABLE days AS SELECT x FROM range(1, 3) r(x)")
    yield engine
    tables = ("lines", "orders", "customers", "days")
    engine.duckdb.execute("; ".join(f"DROP TABLE {table}" for table in tables))


@pytest.mark.parametrize("which", QUERIES)
def test_the_same_rows_are_kept_as_without_lists(
    which: str, shop: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for bound in (1, 4, 9, 40):
        made = contract("orders" if which.startswith("orders") else "lines", bound)
        answers = shop.exact(QUERIES[which], made)
        assert render(QUERIES[which], made, 7).lists
        with monkeypatch.context() as patched:
            patched.setattr(Scope, "halves", lambda *_, **__: ("", "", ""))
            expected = shop.exact(QUERIES[which], made)
        for answer, counted in zip(answers, expected, strict=True):
            assert answer.tolist() == counted.tolist()
            assert answer.any()


KINDS = ("inner", "left", "semi", "anti")
CUSTOMERS, OTHERS, DAYS = a.Scan("customers", "c."), a.Scan("lines", "m."), a.Scan("days", "d.")
LATE_ORDERS = a.Where(ORDERS, a.Call(">", (a.Col("o.day"), a.Lit(1, Type.INTEGER))))
SIBLINGS = a.Call("=", (a.Col("l.o"), a.Col("m.o")))
OF_CUSTOMER = a.Call("=", (a.Col("o.c"), a.Col("c.c")))
ON_DAY = a.Call("=", (X, a.Col("d.x")))
ORDERS_FIRST = {kind: a.Join(ORDERS, FEW, SAME, kind) for kind in KINDS} | {
    "by the other column, too": a.Join(ORDERS, FEW, a.Call("and", (SAME, OTHER))),
    "of customers": a.Join(ORDERS, CUSTOMERS, OF_CUSTOMER),
    "twice": a.Join(a.Join(ORDERS, LINES, SAME), OTHERS, THIRD),
    "by another column": a.Join(ORDERS, LINES, a.Call("=", (X, a.Col("o.day")))),
    "another column by the key": a.Join(ORDERS, LINES, a.Call("=", (X, a.Col("o.o")))),
    "the link by another column": a.Join(
        ORDERS, LINES, a.Call("=", (a.Col("l.o"), a.Col("o.day")))
    ),
}
LINES_FIRST = {
    **{f"lines, {kind}": a.Join(FEW, LATE_ORDERS, SAME, kind) for kind in KINDS},
    **{
        f"siblings, {kind}": a.Join(LINES, a.Where(OTHERS, OTHER_FEW), SIBLINGS, kind)
        for kind in KINDS
    },
    "public rows first": a.Join(a.Join(FEW, DAYS, ON_DAY), LATE_ORDERS, SAME),
    "public rows alone": a.Join(FEW, DAYS, ON_DAY),
    "customers of orders": a.Join(FEW, a.Join(LATE_ORDERS, CUSTOMERS, OF_CUSTOMER), SAME),
    "then siblings": a.Join(a.Join(FEW, LATE_ORDERS, SAME), OTHERS, SIBLINGS),
    "then siblings by another column": a.Join(
        a.Join(FEW, LATE_ORDERS, SAME), OTHERS, a.Call("=", (X, a.Col("m.x")))
    ),
    "siblings by another column": a.Join(LINES, OTHERS, a.Call("=", (X, a.Col("m.x")))),
    "siblings that have orders": a.Join(
        LINES, a.Join(OTHERS, LATE_ORDERS, THIRD), SIBLINGS, "semi"
    ),
}
JOINS = {name: (join, DAY) for name, join in ORDERS_FIRST.items()} | {
    name: (join, BY_X) for name, join in LINES_FIRST.items()
}


@pytest.mark.parametrize("most", [10**5, 3])
@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("which", JOINS)
def test_columns_that_name_one_thing_say_whose_a_row_is(
    which: str, holds: bool, most: int, shop: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows meet as where each side's unit is looked up, whether all bounds hold or not,
    and the same are kept where joined rows are bounded."""
    made = contract("orders", 40 if holds else 4)
    facts = TableFacts(bounded=holds)
    others = {name: replace(of, facts=facts) for name, of in made.others.items()}
    made = replace(others["orders"], others=others)
    made = replace(made, others={name: replace(of, others=others) for name, of in others.items()})
    if holds:
        shop.duckdb.execute(
            "DELETE FROM orders WHERE c IN (SELECT c FROM orders GROUP BY c HAVING count(*) > 2)"
        )
    join, key = JOINS[which]
    queries: list[a.Query] = [a.Count(a.Bounded(join, most, 1), (), (key,))]
    (answer,) = shop.exact(queries, made)
    spared = render(queries, made, 7).sql
    monkeypatch.setattr(joins, "equated_columns", lambda _: [])
    monkeypatch.setattr(Scope, "keep_units", property(lambda _: True, lambda *_: None), False)
    (expected,) = shop.exact(queries, made)
    assert answer.tolist() == expected.tolist()
    assert answer.any() or which == "another column by the key"
    compared = ("= sqlpriv_right.sqlpriv_unit", "FROM sqlpriv_right.sqlpriv_unit")
    assert sum(map(spared.count, compared)) == int("another column" in which)


def with_units(*given: Any, **named: Any) -> Scope:
    return Scope(*given, **{**named, "keep_units": True})


def orders_keyed_by(order: str, line: str, collated: bool = False) -> TableContract:
    """The orders' contract, whose key is of one SQL type and is called by lines in another."""
    tables = {"orders": {"o": order, "c": "VARCHAR"}, "lines": {"o": line, "x": "INTEGER"}}
    catalog = [
        TableContract(
            name,
            tuple(Column(c, type_of(kind), kind) for c, kind in columns.items()),
            unique=frozenset({"o"} if name == "orders" else ()),
            collated=collated,
        )
        for name, columns in tables.items()
    ]
    customers = TableContract("customers", (Column("c", Type.TEXT, "VARCHAR"),))
    bodies = {t: {**UNDECLARED, **DECLARED[t]} for t in DECLARED}
    return contracts_in_force(
        [replace(customers, unique=frozenset({"c"})), *catalog],
        json.loads(json.dumps(bodies)),
        {},
        1,
    )["orders"]


@pytest.mark.parametrize("order", ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"])
def test_a_moment_with_a_time_zone_leads_to_none_without(engine: Engine, order: str) -> None:
    """By New York's clock there is no half past two on that day: what is stored so equals half past
    three, and each of ten lines would be one of ann's and one of bob's."""
    orders = orders_keyed_by(order, "TIMESTAMP WITH TIME ZONE")
    made = replace(orders.others["lines"], others=orders.others)
    engine.duckdb.execute(
        "SET TimeZone = 'America/New_York';"
        f"CREATE OR REPLACE TABLE orders (o {order}, c VARCHAR);"
        "CREATE OR REPLACE TABLE lines (o TIMESTAMPTZ, x INTEGER);"
        "CREATE OR REPLACE TABLE customers (c VARCHAR);"
        "INSERT INTO customers VALUES ('ann'), ('bob');"
        "INSERT INTO orders VALUES ('2026-03-08 02:30', 'ann'), ('2026-03-08 03:30', 'bob');"
        "INSERT INTO lines SELECT TIMESTAMPTZ '2026-03-08 03:30', 1 FROM range(10)"
    )
    lines = a.Count(a.Bounded(a.Scan("lines"), 10, 1))
    try:
        if order == "TIMESTAMP":
            with pytest.raises(Refused, match="does not lead to one row"):
                engine.exact([lines], made)
        else:  # the two orders are one moment there, and a UNIQUE column would refuse the second
            engine.duckdb.execute("DELETE FROM orders WHERE c = 'ann'")
            assert engine.exact([lines], made)[0].tolist() == [10]
    finally:
        engine.duckdb.execute("RESET TimeZone")


def test_text_that_a_collation_calls_equal_says_nothing(engine: Engine) -> None:
    """Two customers' orders, "a" and "A": a line of the one meets no order of the other."""
    made = orders_keyed_by("VARCHAR", "VARCHAR", collated=True)
    engine.duckdb.execute(
        "CREATE OR REPLACE TABLE orders (o VARCHAR COLLATE NOCASE, c VARCHAR);"
        "CREATE OR REPLACE TABLE lines (o VARCHAR COLLATE NOCASE, x INTEGER);"
        "INSERT INTO orders VALUES ('a', 'ann'), ('A', 'bob'); INSERT INTO lines VALUES ('a', 1)"
    )
    joined = a.Join(a.Scan("orders", "o."), a.Scan("lines", "l."), SAME)
    assert engine.exact([a.Count(a.Bounded(joined, 9, 1))], made)[0].tolist() == [1]
    engine.duckdb.execute("DROP TABLE orders; DROP TABLE lines")


def test_the_name_of_a_column_that_is_gone_says_nothing() -> None:
    """A semi join takes the order's number away, and its name is given to something else."""
    gone = a.Join(a.Scan("lines", "m."), ORDERS, THIRD, "semi")
    renamed = a.Derive(gone, "o.o", a.Col("m.x"))
    sql = render([a.Count(a.Join(renamed, LINES, SAME))], contract(), 7).sql
    same_unit = "sqlpriv_left.sqlpriv_unit IS NOT DISTINCT FROM sqlpriv_right.sqlpriv_unit"
    assert sql.count(same_unit) == 1


def test_what_is_listed(shop: Engine) -> None:
    """The orders of customers of more than four lines, orders of nobody, and a link of NULL; far
    beyond are customers of more than 32 lines, and nobody."""
    (select,) = render(QUERIES["lines"], contract(), 7).lists.values()
    listed = set(shop.duckdb.execute(select).fetchall())
    by_hand = shop.duckdb.execute(
        "WITH all_lines AS (SELECT o, c FROM lines LEFT JOIN orders USING (o))"
        " SELECT DISTINCT o, encode(c), c IS NULL OR n > 32 FROM all_lines"
        " LEFT JOIN (SELECT c, count(*) AS n FROM all_lines GROUP BY c) USING (c)"
        " WHERE c IS NULL OR n > 4"
    ).fetchall()
    assert listed == {*by_hand, (None, None, True)}
    assert {unit for _, unit, _ in listed} > {None}
    assert (9999, None, True) in listed


def test_a_bound_that_a_statement_has_is_none_to_list_units_by() -> None:
    assert render([a.Count(LINES)], contract(), 7).lists
    assert not render([a.Count(a.Bounded(LINES, 3, 1))], contract(), 7).lists
    assert not render([a.Count(LINES, (BY_X,))], contract(), 7).lists


def moved_rows(
    engine: Engine, rows: int, change: Callable[[Rendered], str], source: a.Relation = LINES
) -> int:
    """How many more rows any operator handles if one customer more has so many lines."""
    asked = render([a.Count(source, (), (BY_X,))], contract(), 7)
    without = rows_handled(engine, change(engine.with_lists(asked)))
    engine.duckdb.execute(
        "INSERT INTO customers VALUES ('target', 1); INSERT INTO orders VALUES (-1, 'target', 1);"
        f"INSERT INTO lines SELECT -1, 1, 1 FROM range({rows})"
    )
    present = rows_handled(engine, change(engine.with_lists(asked)))
    assert [kind for kind, *_ in without] == [kind for kind, *_ in present]
    pairs = zip(without, present, strict=True)
    return max(max(abs(x - y), abs(m - n)) for (_, x, m), (_, y, n) in pairs)


def of_list(asked: Rendered) -> str:
    (select,) = asked.lists.values()
    return select


def within_bounds(engine: Engine) -> None:
    """5,000 customers of two orders with a line each, none beyond four, on days 0 and 3."""
    engine.duckdb.execute(
        "DELETE FROM lines; DELETE FROM orders; DELETE FROM customers;"
        "INSERT INTO customers SELECT 'c' || i, 1 FROM range(5000) r(i);"
        "INSERT INTO orders SELECT 2 * i + j, 'c' || i, 3 * j FROM range(5000) r(i), range(2) s(j);"
        "INSERT INTO lines SELECT o, 1, 1 FROM orders"
    )


@pytest.mark.parametrize("rows", [1, 4, 7, 40])
@pytest.mark.parametrize("part", ["the statement", "the list"])
def test_the_first_unit_beyond_moves_the_work_by_its_own_rows_alone(
    rows: int, part: str, shop: Engine
) -> None:
    within_bounds(shop)
    assert moved_rows(shop, rows, of_list if part == "the list" else lambda x: x.sql) <= 2 * rows


def test_the_first_unit_far_beyond_moves_the_work_by_its_own_rows_alone(shop: Engine) -> None:
    """5,000 customers of six lines are beyond the bound of four; one of 40 is far beyond it."""
    within_bounds(shop)
    shop.duckdb.execute("INSERT INTO lines SELECT o, 2, 2 FROM lines, range(2)")
    assert moved_rows(shop, 40, lambda asked: asked.sql) <= 80


OF_TARGET = a.Call("=", (a.Col("o.day"), a.Lit(1, Type.INTEGER)))
TARGET = a.Where(ORDERS, OF_TARGET)
TARGET_OR_MORE = a.Call(
    "or",
    tuple(
        a.Call("and", (OF_TARGET, a.Call("=", (X, a.Lit(n, Type.INTEGER))))) for n in range(1, 4)
    ),
)
BESIDE_TARGET = {
    "lines with its orders": a.Join(LINES, TARGET, SAME),
    "if they have any": a.Join(LINES, TARGET, SAME, "semi"),
    "filtered above": a.Where(a.Join(LINES, ORDERS, SAME), OF_TARGET),
    "filtered in a disjunction above": a.Where(a.Join(LINES, ORDERS, SAME), TARGET_OR_MORE),
    "filtered in ON": a.Join(LINES, ORDERS, a.Call("and", (SAME, OF_TARGET))),
    "before other lines": a.Join(a.Join(LINES, TARGET, SAME), OTHERS, SIBLINGS),
    "filtered above other lines": a.Where(
        a.Join(a.Join(LINES, ORDERS, SAME), OTHERS, a.Call("=", (X, a.Col("m.x")))), OF_TARGET
    ),
    "with public rows": a.Join(a.Join(LINES, DAYS, ON_DAY), TARGET, SAME),
}


@pytest.mark.parametrize("form", BESIDE_TARGET)
def test_the_right_side_spares_the_left_one_nothing(form: str, shop: Engine) -> None:
    """Where the left side has no unit of its own, either: one line has at most four partners."""
    within_bounds(shop)
    assert moved_rows(shop, 1, lambda asked: asked.sql, BESIDE_TARGET[form]) <= 8


def test_twin_a_unit_of_the_right_side_alone_lets_a_filter_reach_it(shop: Engine) -> None:
    within_bounds(shop)
    above = BESIDE_TARGET["filtered above other lines"]
    both_sides = (
        "CASE WHEN sqlpriv_left.sqlpriv_unit IS NOT NULL THEN sqlpriv_right.sqlpriv_unit END"
    )
    assert both_sides in render([a.Count(above, (), (BY_X,))], contract(), 7).sql
    right_alone = "sqlpriv_right.sqlpriv_unit"
    assert moved_rows(shop, 1, lambda x: x.sql.replace(both_sides, right_alone), above) > 1000


def keyed_by(sql_type: str, key: tuple[str, ...] = ("c",)) -> TableContract:
    """Customers with a second UNIQUE column, of some type."""
    columns = tuple(
        Column(c, type_of(kind), kind)
        for c, kind in (("c", "VARCHAR"), ("region", "INTEGER"), ("card", sql_type))
    )
    table = TableContract("customers", columns, unique=frozenset({"card"}))
    body = {**UNDECLARED, "key": [*key], "unit": True, "bound": [3, 1]}
    return contracts_in_force([table], {"customers": json.loads(json.dumps(body))}, {}, 1)[
        "customers"
    ]


def met_customers(engine: Engine, made: TableContract, column: str, other: str = "") -> int:
    """How many pairs of customers of one unit agree in a column, or in two."""
    equal = a.Call("=", (a.Col(f"c.{column}"), a.Col(f"k.{other or column}")))
    pairs = a.Join(CUSTOMERS, a.Scan("customers", "k."), equal)
    return int(engine.exact([a.Count(a.Bounded(pairs, 9, 1))], made)[0].sum())


def test_numbers_that_are_equal_as_doubles_alone_name_no_one_row(engine: Engine) -> None:
    engine.duckdb.execute(
        "CREATE OR REPLACE TABLE customers (c VARCHAR, region INTEGER, card DECIMAL(18, 0));"
        "INSERT INTO customers VALUES ('ann', 1, 9007199254740992), ('bob', 1, 9007199254740993)"
    )
    assert met_customers(engine, keyed_by("DECIMAL(18,0)"), "card") == 2
    assert met_customers(engine, keyed_by("DECIMAL(18,0)"), "c") == 2
    engine.duckdb.execute("DROP TABLE customers")


def test_two_columns_of_a_table_name_two_things(engine: Engine) -> None:
    engine.duckdb.execute(
        "CREATE OR REPLACE TABLE customers (c VARCHAR, region INTEGER, card VARCHAR);"
        "INSERT INTO customers VALUES ('ann', 1, 'bob'), ('bob', 1, 'ann'), ('eve', 1, 'eve')"
    )
    assert met_customers(engine, keyed_by("VARCHAR"), "card", "c") == 1
    assert met_customers(engine, keyed_by("VARCHAR"), "card") == 3
    engine.duckdb.execute("DROP TABLE customers")


def test_one_column_of_a_key_of_two_names_no_unit(engine: Engine) -> None:
    engine.duckdb.execute(
        "CREATE OR REPLACE TABLE customers (c VARCHAR, region INTEGER, card INTEGER);"
        "INSERT INTO customers VALUES ('ann', 1, 1), ('ann', 2, 2)"
    )
    assert met_customers(engine, keyed_by("INTEGER", ("c", "region")), "c") == 2
    assert met_customers(engine, keyed_by("INTEGER", ("c",)), "c") == 4
    engine.duckdb.execute("DROP TABLE customers")


def test_twin_a_test_of_the_unit_alone_reaches_the_list(shop: Engine) -> None:
    """It leaves an empty list, so that no line is read until one customer is beyond."""
    within_bounds(shop)
    hidden = 'CASE WHEN sqlpriv_row."o" IS NOT NULL THEN sqlpriv_far.unit IS NOT NULL END'
    assert hidden in render([a.Count(LINES, (), (BY_X,))], contract(), 7).sql
    plain = "sqlpriv_far.unit IS NOT NULL"
    assert moved_rows(shop, 7, lambda asked: asked.sql.replace(hidden, plain)) > 1000


def test_a_list_is_of_one_state_of_the_vault(make_kernel: Callable[..., Kernel]) -> None:
    """The owner writes while nobody verifies: one more unit is beyond, and is bounded."""
    table = "CREATE TABLE people AS SELECT i AS id FROM range(8) r(i), range(3)"
    kernel = make_kernel(table, m=2)
    assert counted(kernel) == 16
    write(kernel.vault, "INSERT INTO people SELECT 99 FROM range(9)")
    assert counted(kernel) == 18
    assert len(lists(kernel.vault)) == 1
    kernel.ledger.declare("people", "owner", bound=[3, 1])
    assert counted(kernel) == 27
    assert len(lists(kernel.vault)) == 2


def counted(kernel: Kernel) -> int:
    """Noise is below a half but with a chance of 1e-100: it is rounded away."""
    (release,) = ask(kernel, Measurement(a.Count(a.Scan("people")), EXACT))
    return int(np.rint(release.values.sum()))


def lists(vault: Path) -> list[str]:
    """The names of all lists that the vault's engine holds."""
    engine, connection = attach(vault)
    try:
        names = "SELECT table_name FROM duckdb_tables() WHERE database_name = 'memory'"
        return [name for (name,) in connection.execute(names).fetchall()]
    finally:
        detach(engine, connection)
