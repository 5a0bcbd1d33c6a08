"""COUNT(DISTINCT x) with STRATIFY BY: strata do not add up; the population's is measured apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from support.exact_people import exact, noised, planned, rows

from sqlpriv.answer.rows import answer
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.session.session import Session

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")

SAME = [
    "SELECT sex, COUNT(DISTINCT hours) AS d FROM people",
    "SELECT sex, race, COUNT(DISTINCT age) AS d, COUNT(*) AS n, AVG(income) AS a FROM people",
    "SELECT sex, region, COUNT(DISTINCT age) AS d FROM people WHERE age < 30 GROUP BY region",
]


def bag(found: list[tuple[Any, ...]]) -> list[str]:
    """The rows, sorted; eight digits of a float count."""
    return sorted(str([f"{x:.8g}" if isinstance(x, float) else x for x in row]) for row in found)


@pytest.mark.parametrize("sql", SAME)
def test_without_noise_it_is_duckdbs_answer(people: duckdb.DuckDBPyConnection, sql: str) -> None:
    strata = "sex, race" if "race" in sql else "sex"
    plain, _, keys = sql.partition(" GROUP BY ")
    sets = f"GROUPING SETS (({strata}), ())" + (f", {keys}" if keys else "")
    expected = people.execute(f"{plain} GROUP BY {sets}").fetchall()
    ours = rows(people, f"{sql} STRATIFY BY {strata}").table.to_pylist()
    assert bag([tuple(row.values()) for row in ours]) == bag(expected)


def test_both_levels_are_measured_for_half_of_the_price_each() -> None:
    found = planned(f"{SAME[0]} STRATIFY BY sex")
    strata, whole = (m.query for m in found.measurements)
    assert isinstance(strata, a.Distinct)
    assert whole == a.Distinct(strata.source, (), (), strata.of)
    assert [m.price.nano for m in found.measurements] == pytest.approx([found.price.nano / 2] * 2)


@pytest.mark.parametrize("share", ["", "population_share = 0.5, "])
def test_an_interval_is_of_each_levels_own_noise(
    people: duckdb.DuckDBPyConnection, share: str
) -> None:
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({share}epsilon = 1)"
    found = planned(f"{SAME[0].replace('SELECT', f'SELECT {options}')} STRATIFY BY sex")
    assert len(found.measurements) == 2  # the population's is none of its `own` figures
    releases = noised(exact(people, found.measurements), (3.0, 5.0), np.random.default_rng(0))
    halves = answer(found, releases, None).half_widths["d"]
    # 5.88 and 9.8 rows, to the whole number that holds as much
    assert halves == pytest.approx([6.0, 6.0, 10.0], rel=0.01)


def test_it_is_explained_and_answered_in_a_session(tmp_path: Path) -> None:
    vault = tmp_path / "v.duckdb"
    with Session(vault, role="owner") as owner:
        owner.execute(
            "CREATE TABLE t AS SELECT range AS id, range % 2 AS s, range % 50 AS x FROM"
            " range(10000); ALTER TABLE t ADD PRIMARY KEY (id); ALTER TABLE t ADD PRIVACY_KEY (id);"
            " ALTER TABLE t SET PU; ALTER TABLE t ALTER COLUMN s SET PRIVACY DOMAIN IN (0, 1);"
            " ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN (0, 49);"
            " ALTER TABLE t SET PRIVACY BUDGET (rho = 1e6)"
        )
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1e5) s, COUNT(DISTINCT x) AS d FROM t"
    with Session(vault) as analyst:
        explained = analyst.execute(f"EXPLAIN PRIVACY {asked} STRATIFY BY s")
        assert "half of the price is for the population's" in explained.message
        table = analyst.execute(f"{asked} STRATIFY BY s").table
        assert table is not None
        assert table.to_pylist() == [{"s": 0, "d": 25}, {"s": 1, "d": 25}, {"s": None, "d": 50}]
