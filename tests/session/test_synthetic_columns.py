"""CREATE SYNTHETIC TABLE of joins, computed columns, * and columns of every type."""

from __future__ import annotations

import datetime as dt
import re
import uuid
from collections import Counter

import numpy as np
import pytest
from support.synth_tables import assert_sizes

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

MAKE = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE people AS SELECT i AS id, i % 2 AS sex, (i / 8)::DECIMAL(9, 2) AS pay,
    uuid() AS badge, 'AB-' || i AS plate, [i] AS scores,
    CASE WHEN i % 4 > 0 THEN TIME '08:00:59' + to_minutes(i % 4) END AS wakes,
    DATE '2020-01-01' + (i % 360)::INT AS born,
    TIMESTAMPTZ '2024-01-01 00:00+00' + to_hours(i % 24) AS seen, i % 3 = 0 AS member,
    (['sad', 'ok', 'happy'])[1 + i % 3]::mood AS mood
FROM range(800) t(i);
ALTER TABLE people ADD PRIMARY KEY (id);
CREATE TABLE orders AS SELECT i AS number, i // 2 AS person, (i // 2) % 2 * 30 + i % 10 AS amount
FROM range(1600) t(i);
CREATE TABLE towns AS SELECT range AS sex, 'town ' || range AS town FROM range(2);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000000, delta = 1e-9);
ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = 2);
ALTER TABLE orders ADD PRIVACY_LINK (person) REFERENCES people(id);
ALTER TABLE towns SET PUBLIC;
ALTER TABLE towns ALTER COLUMN town SET PRIVACY DOMAIN IN ('town 0', 'town 1');
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN (0, 100);
ALTER TABLE people ALTER COLUMN born
    SET PRIVACY DOMAIN BETWEEN (DATE '2020-01-01', DATE '2020-12-31');
ALTER TABLE people ALTER COLUMN seen
    SET PRIVACY DOMAIN BETWEEN (TIMESTAMPTZ '2024-01-01 02:00:00+02', '2024-01-02 00:00:00+00');
ALTER TABLE people ALTER COLUMN member SET PRIVACY DOMAIN IN (true, false);
ALTER TABLE people ALTER COLUMN mood SET PRIVACY DOMAIN IN ('sad', 'ok', 'happy');
ALTER TABLE orders ALTER COLUMN amount SET PRIVACY DOMAIN BETWEEN (0, 39);
"""


@pytest.fixture(scope="module")
def owner(tmp_path_factory):
    with Session(tmp_path_factory.mktemp("columns") / "v.duckdb", role="owner") as session:
        session.run(MAKE)
        yield session


def made(owner: Session, query: str, options: str = "", method: str = "mst"):
    """At epsilon = 3,000 noise is below one row, so that rows can be counted."""
    statement = f"CREATE OR REPLACE SYNTHETIC TABLE made AS SELECT {query} USING {method}"
    message = owner.execute(f"{statement} OPTIONS (epsilon = 3000{options})").message
    return owner.execute("SELECT * FROM made").table, message


def test_a_join_has_rows_of_both_tables_as_they_belong_together(owner):
    rows, _ = made(owner, "p.sex, o.amount FROM people p JOIN orders o ON o.person = p.id")
    assert rows.num_rows == pytest.approx(1600, abs=3)
    both = zip(rows["sex"].to_pylist(), rows["amount"].to_pylist(), strict=True)
    assert sum((sex == 1) == (amount >= 30) for sex, amount in both) > 0.98 * rows.num_rows


def test_a_public_table_is_joined_and_a_subquery_picks_rows(owner):
    rows, _ = made(owner, "town, p.sex FROM people p JOIN towns t ON p.sex = t.sex")
    pairs = zip(rows["town"].to_pylist(), rows["sex"].to_pylist(), strict=True)
    assert_sizes(pairs, {("town 0", 0): 400, ("town 1", 1): 400}, 3)
    rows, _ = made(
        owner,
        "sex, member FROM people WHERE EXISTS"
        " (SELECT 1 FROM orders o WHERE o.person = people.id AND o.amount > 30)",
    )
    assert_sizes(rows["sex"].to_pylist(), {1: 400}, 3)


def test_computed_columns_have_names_types_and_values(owner):
    rows, _ = made(
        owner,
        "CASE WHEN pay < 50 THEN 'poor' ELSE 'rich' END AS wealth, amount * 2 AS twice,"
        " month(born) AS month, p.sex + 1 FROM people p JOIN orders o ON o.person = p.id"
        " WHERE p.sex = 1 STRATIFY BY member",
    )
    assert rows.column_names == ["member", "wealth", "twice", "month", "(p.sex + 1)"]
    assert_sizes(rows["(p.sex + 1)"].to_pylist(), {2: 800}, 12)
    assert {v % 2 for v in rows["twice"].to_pylist()} == {0}
    assert set(rows["month"].to_pylist()) <= set(range(1, 13))
    wealth = Counter(rows["wealth"].to_pylist())
    assert wealth["poor"] == pytest.approx(400, abs=12)


def test_a_column_may_take_the_name_of_another(owner):
    rows, _ = made(owner, "amount // 10 AS number FROM orders")
    assert_sizes(rows["number"].to_pylist(), {0: 800, 3: 800}, 12)


def test_a_star_stands_for_what_can_be_made_and_says_what_cannot(owner):
    rows, message = made(owner, "* FROM people")
    assert rows.column_names == ["sex", "pay", "badge", "wakes", "born", "seen", "member", "mood"]
    assert "* stands without id, plate, scores" in message
    assert all(
        isinstance(moment, dt.datetime) and moment.tzinfo for moment in rows["seen"].to_pylist()
    )
    assert_sizes(rows["mood"].to_pylist(), {"sad": 267, "ok": 267, "happy": 266}, 3)


def test_changes_of_a_star_are_made_and_misspelt_ones_refused(owner):
    """A column that somebody meant to leave out must not come out because of a letter."""
    changes = "EXCLUDE (seen, member, mood) REPLACE (month(born) AS plate) RENAME (sex AS s)"
    table, _ = made(owner, f"* {changes} FROM people")
    assert table.column_names == ["s", "pay", "badge", "plate", "wakes", "born"]
    assert set(table["plate"].to_pylist()) <= set(range(1, 13))
    for change in ("EXCLUDE (moode)", "RENAME (moode AS m)", "REPLACE (1 AS moode)"):
        with pytest.raises(Refused, match='no column "moode"'):
            made(owner, f"* {change} FROM people")


@pytest.mark.parametrize("columns", ["wakes, sex", "sex, people.wakes AS wakes, hour(wakes) AS h"])
def test_times_of_day_come_out_in_whole_minutes(owner, columns):
    rows, _ = made(owner, f"{columns} FROM people")
    minutes = {dt.time(8, k): 200 for k in (1, 2, 3)} | {None: 200}
    assert_sizes(rows["wakes"].to_pylist(), minutes, 6)
    early = [r["sex"] for r in rows.to_pylist() if r["wakes"] == dt.time(8, 2)]
    assert np.mean(early) < 0.05, "everybody of an even number is of sex 0"
    owner.execute("CREATE OR REPLACE SYNTHETIC TABLE more FROM MODEL made ROWS 9")
    told = owner.execute("EVALUATE SYNTHETIC TABLE made AGAINST people STRATIFY BY sex")
    assert told.table.num_rows


def test_uuids_are_new_and_text_follows_its_pattern(owner):
    rows, _ = made(owner, "badge, plate, sex FROM people", ", patterns = 'plate = A\\A-##a'")
    known = {row["badge"] for row in owner.execute("SELECT badge FROM people").table.to_pylist()}
    drawn = rows["badge"].to_pylist()
    assert len(set(drawn)) == rows.num_rows
    assert not set(drawn) & known
    assert {uuid.UUID(str(one)).version for one in drawn} == {4}
    for plate in rows["plate"].to_pylist():
        assert re.fullmatch(r"[A-Z]A-[0-9]{2}[a-z]", plate)


@pytest.mark.parametrize(
    ("query", "told", "hint"),
    [
        ("scores FROM people", '"scores" is a BIGINT[]', "a table of their own"),
        ("plate FROM people", 'column "plate" has no public domain', "patterns = 'plate ="),
        ("badge FROM people", "all columns are made up", "declared column"),
        ("id, sex FROM people", "names the privacy unit", "stand for nobody"),
        ("person, amount FROM orders", "names the privacy unit", "stand for nobody"),
        ("count(*) FROM people", "no aggregates", "leave it out"),
        ("sex, pay AS sex FROM people", "selected twice", "once"),
        ("pay AS sex FROM people STRATIFY BY sex", "and another of SELECT", "with AS"),
        ("o.amount FROM people p JOIN orders o ON o.amount = p.sex", "different units", "ON"),
    ],
)
def test_what_cannot_be_made_is_refused_with_what_to_write(owner, query, told, hint):
    spent = owner.execute("SHOW PRIVACY BUDGET").table.to_pylist()
    with pytest.raises(Refused) as refused:
        made(owner, query)
    assert told in str(refused.value)
    assert hint in str(refused.value.hint)
    assert owner.execute("SHOW PRIVACY BUDGET").table.to_pylist() == spent


def test_a_boolean_needs_no_domain(tmp_path):
    """Of 3,000 rows a third are true and 100 are NULL, at a price that hides 20 of them at most."""
    session = Session(tmp_path / "b.duckdb", role="owner")
    session.execute(
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i >= 100 THEN i % 3 = 0 END AS f"
        " FROM range(3000) r(i); ALTER TABLE t SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1));"
        " ALTER TABLE t SET PRIVACY BUDGET (epsilon = 100)"
    )
    for query in ("SELECT f FROM t", "SELECT * FROM t", "SELECT f AS f FROM t STRATIFY BY f"):
        session.execute(
            f"CREATE OR REPLACE SYNTHETIC TABLE s AS {query}"
            " USING independent OPTIONS (epsilon = 5)"
        )
        drawn = session.execute("SELECT f, count(*) FROM s GROUP BY f").table
        counts = dict(zip(*(column.to_pylist() for column in drawn.columns), strict=True))
        assert counts.keys() == {True, False, None}
        for value, rows in ((True, 967), (False, 1933), (None, 100)):
            assert abs(counts[value] - rows) < 20


def test_a_pattern_is_for_text_alone(owner):
    with pytest.raises(Refused, match="a pattern makes text"):
        made(owner, "sex, badge FROM people", ", patterns = 'badge = ###'")
    with pytest.raises(Refused, match="list of columns and patterns"):
        made(owner, "sex FROM people", ", patterns = 'plate'")
    with pytest.raises(Refused, match='patterns name "plate", which is no column'):
        made(owner, "sex FROM people", ", patterns = 'plate = ###'")


def test_what_groups_per_unit_leaves_out_is_told(owner):
    """A unit's two orders are in two strata, of which one is kept."""
    _, message = made(
        owner, "amount % 2 AS odd FROM orders STRATIFY BY amount", method="independent"
    )
    assert "more strata than groups_per_unit keeps" in message


def test_an_explanation_tells_the_method_and_the_columns_that_are_left_out(owner):
    """Both were told after the table was paid for."""
    text = "CREATE SYNTHETIC TABLE x AS SELECT * FROM people USING auto OPTIONS (epsilon = 1)"
    message = owner.execute(f"EXPLAIN PRIVACY {text}").message
    assert message.splitlines()[:2] == [
        "USING auto takes aim",
        "* stands without id, plate, scores",
    ]
