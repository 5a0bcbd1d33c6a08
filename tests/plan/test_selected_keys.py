"""Several keys without a list: selected together, once, and only those pairs have rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

ROWS = """
CREATE TABLE people (id BIGINT PRIMARY KEY, town VARCHAR, k INTEGER, sex VARCHAR);
INSERT INTO people SELECT i, 'town ' || (i % 5), (i % 3) * (i % 5),
    CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END FROM range(6000) r(i);
INSERT INTO people VALUES (7000, 'alone', 99, 'f'), (7001, 'town 1', 77, 'm');
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm') NOT NULL;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 50, delta = 1e-9, keys_delta = 1e-6);
"""
PAIRS = {(f"town {i % 5}", (i % 3) * (i % 5)) for i in range(15)}


@pytest.fixture
def analyst(tmp_path: Path) -> Session:
    with Session(tmp_path / "people.duckdb", role="owner") as owner:
        owner.execute(ROWS)
    session = Session(tmp_path / "people.duckdb")
    session.execute("SET privacy_epsilon = 4")
    return session


def test_pairs_that_many_units_have_are_selected_at_once(analyst: Session) -> None:
    found = analyst.execute("SELECT town, k, COUNT(*) AS n FROM people GROUP BY town, k")
    rows = found.table.to_pylist()
    assert {(r["town"], r["k"]) for r in rows} == PAIRS
    assert len(rows) == len(PAIRS) < 5 * 9  # not every town with every number
    assert sum(r["n"] for r in rows) == pytest.approx(6000, abs=80)
    assert (
        analyst.execute("SELECT town, k, COUNT(*) AS n FROM people GROUP BY town, k").price.nano
        == 0
    )
    told = analyst.execute("EXPLAIN PRIVACY SELECT k, town, COUNT(*) FROM people GROUP BY k, town")
    named = told.table.column("measurement").to_pylist()
    assert sum(name.startswith("keys of at least") for name in named) == 1


def test_they_stand_beside_declared_keys_in_any_order_and_roll_up(analyst: Session) -> None:
    rows = analyst.execute(
        "SELECT sex, k, town, COUNT(*) AS n FROM people GROUP BY sex, ROLLUP (k, town)"
    ).table.to_pylist()
    assert {(r["town"], r["k"]) for r in rows if r["town"] is not None} == PAIRS
    alone = {r["k"] for r in rows if r["town"] is None}
    assert alone == {k for _, k in PAIRS} | {None}
    total = {r["sex"]: r["n"] for r in rows if r["k"] is None}
    assert total["f"] == pytest.approx(3001, abs=60)


def test_a_key_that_can_be_neither_listed_nor_selected_is_refused(analyst: Session) -> None:
    with pytest.raises(Refused, match="public list"):
        analyst.execute("SELECT town, COUNT(*) FROM people GROUP BY town, k / 2")
    (budget,) = analyst.execute("SHOW PRIVACY BUDGET").table.to_pylist()
    assert budget["charges"] == 0


def test_groups_of_one_unit_are_none_and_cost_nothing(tmp_path: Path) -> None:
    """A threshold lets no group of one unit pass, whatever the rows are: nothing is asked."""
    with Session(tmp_path / "one.duckdb", role="owner") as owner:
        owner.execute(
            "CREATE TABLE people AS SELECT range AS id, 'n' || range AS name, range / 7.0 AS x"
            " FROM range(100); ALTER TABLE people ADD PRIMARY KEY (id);"
            " ALTER TABLE people ADD PRIVACY_KEY (id); ALTER TABLE people SET PU;"
            " ALTER TABLE people SET PRIVACY BUDGET (rho = 1, delta = 1e-9)"
        )
        asked = (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 0.1{}) name, id, x, COUNT(*) AS n"
            " FROM people GROUP BY ALL ORDER BY n DESC LIMIT 3"
        )
        with pytest.raises(Refused, match="GROUP BY needs a public list"):
            owner.execute(asked.format(""))
        threshold = asked.format(", group_selection_strategy = LAPLACE_THRESHOLD")
        explained = owner.execute(f"EXPLAIN PRIVACY {threshold}")
        assert "nothing is charged: each value of id belongs to one unit" in explained.message
        answer = owner.execute(threshold)
        assert answer.table is not None
        assert (answer.table.column_names, answer.table.num_rows) == (["name", "id", "x", "n"], 0)
        assert "no group is shown, and nothing is charged" in answer.message
        (budget,) = owner.execute("SHOW PRIVACY BUDGET").table.to_pylist()
        assert (budget["rho_spent"], budget["charges"]) == (0.0, 0)


def test_units_are_counted_by_selected_keys(analyst: Session) -> None:
    """The keys were looked for in the rows that COUNT(DISTINCT id) counts, which have none."""
    rows = analyst.execute(
        "SELECT upper(town) AS t, COUNT(DISTINCT id) AS n FROM people GROUP BY t"
    ).table.to_pylist()
    assert {row["t"] for row in rows} == {f"TOWN {i}" for i in range(5)}
    assert all(row["n"] == pytest.approx(1200, abs=40) for row in rows)
