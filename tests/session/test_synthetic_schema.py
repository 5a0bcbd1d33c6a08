"""CREATE SYNTHETIC SCHEMA: tables that join again, with new keys, for one price."""

from __future__ import annotations

import pytest

from sqlpriv.errors import BudgetExhausted, Refused
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people AS SELECT i AS id, i % 4 AS region, 20 + i % 50 AS age, 'secret ' || i AS name
FROM range(4000) t(i);
ALTER TABLE people ADD PRIMARY KEY (id);
CREATE TABLE orders AS SELECT 'n' || (5 * id + j) AS number, id AS person,
    region * 10 + (id + j) % 5 AS amount FROM people, range(5) t(j) WHERE j < region;
ALTER TABLE orders ADD PRIMARY KEY (number);
CREATE TABLE lines AS SELECT uuid() AS line, number, amount // 10 AS kind
FROM orders, range(2) t(j) WHERE j < amount % 2 + 1;
ALTER TABLE lines ADD PRIMARY KEY (line);
CREATE TABLE visits AS SELECT id AS person, age % 2 AS kind FROM people;
CREATE TABLE towns AS SELECT range AS region, 'town ' || range AS town FROM range(4);
ALTER TABLE towns SET PUBLIC;
ALTER TABLE people SET PRIVACY (KEY (id), BUDGET (epsilon = 1000000, delta = 1e-9),
    COLUMN region BETWEEN (0, 3), COLUMN age BETWEEN (20, 69));
ALTER TABLE orders SET PRIVACY (BOUND (rows_per_unit = 5), LINK (person) REFERENCES people(id),
    COLUMN amount BETWEEN (0, 39));
ALTER TABLE lines SET PRIVACY (BOUND (rows_per_unit = 10), LINK (number) REFERENCES orders(number),
    COLUMN kind BETWEEN (0, 3));
ALTER TABLE visits SET PRIVACY (BOUND (rows_per_unit = 1), LINK (person) REFERENCES people(id),
    COLUMN kind IN (0, 1));
"""
SCHEMA = "CREATE OR REPLACE SYNTHETIC SCHEMA s AS TABLES"


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    path = tmp_path_factory.mktemp("schema") / "v.duckdb"
    with Session(path, role="owner") as owner:
        owner.run(MAKE)
    return path


@pytest.fixture(scope="module")
def session(vault):
    """At epsilon = 3,000 noise is below one row."""
    with Session(vault, principal="ada") as analyst:
        made = analyst.execute(f"{SCHEMA} lines, orders, people USING mst OPTIONS (epsilon = 3000)")
        assert "s_people: 4000 rows" in made.message
        assert "left out: name" in made.message
        assert made.epsilon == pytest.approx(3000, rel=1e-6)
        yield analyst


def rows(session: Session, query: str):
    return [tuple(row.values()) for row in session.execute(query).table.to_pylist()]


def test_every_child_has_its_parent_and_keys_are_new(session):
    assert rows(session, "SELECT count(*), count(DISTINCT id), min(id) FROM s_people") == [
        (4000, 4000, 1)
    ]
    for child, parent, link, key in (
        ("orders", "people", "person", "id"),
        ("lines", "orders", "number", "number"),
    ):
        joined = f"s_{child} AS c ANTI JOIN s_{parent} AS p ON c.{link} = p.{key}"
        assert rows(session, f"SELECT count(*) FROM {joined}") == [(0,)]
    types = {name: str(kind) for name, kind, *_ in rows(session, "DESCRIBE s_lines")}
    assert types["line"] == "UUID"
    assert {n for n, *_ in rows(session, "DESCRIBE s_orders")} == {"number", "person", "amount"}


def test_parents_have_as_many_children_as_parents_like_them(session):
    """n = 4,000 people; a person of region r has r orders, and an order of an odd amount two
    lines. At least 95 in 100 are right: a tree of pairs leaves few wrong."""
    per_person = """SELECT avg((n = region)::INT) FROM (SELECT p.region, count(o.number) AS n
        FROM s_people p LEFT JOIN s_orders o ON o.person = p.id GROUP BY p.id, p.region)"""
    assert rows(session, per_person)[0][0] > 0.95
    assert rows(session, "SELECT count(*) / 6000 FROM s_orders")[0][0] == pytest.approx(1, abs=0.1)


def test_children_are_like_those_of_parents_like_theirs(session):
    """An order's amount // 10 is its person's region, and a line's kind its order's amount // 10;
    links dealt at random would be right in 3 of 8 orders and 7 of 18 lines."""
    orders = "SELECT avg((amount // 10 = region)::INT) FROM s_orders JOIN s_people ON id = person"
    lines = "SELECT avg((kind = amount // 10)::INT) FROM s_lines JOIN s_orders USING (number)"
    assert rows(session, orders)[0][0] > 0.9
    assert rows(session, lines)[0][0] > 0.8


def test_asked_again_a_schema_costs_nothing(session):
    again = session.execute(f"{SCHEMA} people, orders, lines USING mst OPTIONS (epsilon = 3000)")
    assert again.epsilon == 0


def test_explain_prices_every_table_and_charges_nothing(session):
    statement = "CREATE SYNTHETIC SCHEMA u AS TABLES people, orders USING mst OPTIONS (epsilon = 2)"
    before = rows(session, "SHOW PRIVACY BUDGET")
    table = session.execute(f"EXPLAIN PRIVACY {statement}").table.to_pylist()
    tables = {row["measurement"].partition(":")[0] for row in table}
    assert tables == {"people", "orders"}
    assert session.quote(statement).epsilon == pytest.approx(2, rel=1e-6)
    assert rows(session, "SHOW PRIVACY BUDGET") == before


def test_columns_can_be_named(session):
    session.execute(
        "CREATE SYNTHETIC SCHEMA few AS TABLES people (region), orders (amount)"
        " USING independent OPTIONS (epsilon = 3000, rows = 70)"
    )
    assert [name for name, *_ in rows(session, "DESCRIBE few_people")] == ["id", "region"]
    assert rows(session, "SELECT count(*) FROM few_people") == [(70,)]


@pytest.mark.parametrize(
    ("tables", "rest", "why"),
    [
        ("people, nobody", "", "no table"),
        ("people, people", "", "named twice"),
        ("people, towns", "", "public"),
        ("people, visits", "", "no PRIMARY KEY"),
        ("people (height), orders", "", "no column"),
        ("people (name), orders", "", "no public domain"),
        ("people, orders", ", zeros = 'age < 3'", "does not take the option zeros"),
    ],
)
def test_what_cannot_be_made_is_refused_and_free(session, tables, rest, why):
    before = rows(session, "SHOW PRIVACY BUDGET")
    with pytest.raises(Refused, match=why):
        session.execute(f"{SCHEMA} {tables} USING mst OPTIONS (epsilon = 1{rest})")
    assert rows(session, "SHOW PRIVACY BUDGET") == before


def test_names_are_checked_before_anything_is_charged(session):
    with pytest.raises(Refused, match="already"):
        session.execute(
            "CREATE SYNTHETIC SCHEMA s AS TABLES people, orders USING mst OPTIONS (epsilon = 1)"
        )


def test_a_schema_beyond_the_budget_is_refused_whole(session):
    before = rows(session, "SHOW PRIVACY BUDGET")
    with pytest.raises(BudgetExhausted, match="nothing was read or charged"):
        session.execute(f"{SCHEMA} people, orders USING mst OPTIONS (epsilon = 999999)")
    assert rows(session, "SHOW PRIVACY BUDGET") == before


def test_fewer_rows_of_a_unit_can_be_counted_in_a_synthetic_table(session):
    """Of a person's r orders one is counted: 3,000 persons have any."""
    made = session.execute(
        "CREATE SYNTHETIC TABLE one_each AS SELECT amount FROM orders USING independent"
        " OPTIONS (epsilon = 3000, max_rows_contributed = 1)"
    )
    assert rows(session, "SELECT count(*) FROM one_each") == [(3000,)]
    assert made.epsilon == pytest.approx(3000, rel=1e-6)
    with pytest.raises(Refused, match="above the owner's bound"):
        session.execute(
            "CREATE SYNTHETIC TABLE six AS SELECT amount FROM orders USING independent"
            " OPTIONS (epsilon = 1, max_rows_contributed = 6)"
        )
