"""ROLLUP, CUBE and GROUPING SETS: right without noise, one price for all, tables that agree."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from support.exact_people import BUDGET, PURE, exact, noised, planned, rows

from sqlpriv.answer.marginal_agreement import combine_tables
from sqlpriv.answer.rows import answer
from sqlpriv.errors import Refused
from sqlpriv.plan.pricing.statement import price_of
from sqlpriv.session.session import Session

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")

SAME = [
    "SELECT sex, race, COUNT(*), AVG(income) FROM people GROUP BY ROLLUP (sex, race)",
    "SELECT sex, race, GROUPING(sex, race), GROUPING(race), COUNT(*), SUM(debt) FROM people "
    "GROUP BY CUBE (sex, race)",
    "SELECT sex, race, COUNT(*) FROM people GROUP BY "
    "GROUPING SETS ((sex, race), (race), (), (race))",
    "SELECT sex, region, race, COUNT(hours) FROM people GROUP BY sex, ROLLUP (region, race)",
    "SELECT age // 10 AS d, sex, COUNT(*) FROM people GROUP BY ROLLUP (1, sex) "
    "HAVING COUNT(*) > 20 ORDER BY d NULLS FIRST, sex",
    "SELECT coalesce(sex, 'all') AS s, race, COUNT(DISTINCT id), STDDEV(income) FROM people "
    "WHERE age < 50 GROUP BY CUBE (sex, race)",
    "SELECT GROUPING_ID(sex, race) AS g, SUM(income) / COUNT(*) FROM people "
    "GROUP BY ROLLUP (sex, race) ORDER BY g",
    "SELECT COUNT(*), AVG(age) FROM people GROUP BY ()",
    "SELECT sex, race, COUNT(DISTINCT age), COUNT(DISTINCT note) FROM people "
    "WHERE age < 30 GROUP BY CUBE (sex, race)",
]


def bag(found: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    return Counter(
        tuple(float(f"{x:.8g}") if isinstance(x, int | float) else x for x in r) for r in found
    )


def private(sql: str) -> str:
    return sql.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY", 1)


@pytest.mark.parametrize("sql", SAME)
def test_without_noise_it_is_duckdbs_answer(people: duckdb.DuckDBPyConnection, sql: str) -> None:
    ours = [tuple(row.values()) for row in rows(people, private(sql)).table.to_pylist()]
    assert bag(ours) == bag(people.execute(sql).fetchall())


def test_a_stratified_rollup_is_one_inside_each_stratum(people: duckdb.DuckDBPyConnection) -> None:
    sql = "SELECT sex, region, race, COUNT(*) AS n FROM people GROUP BY ROLLUP (region, race)"
    ours = rows(people, f"{sql} STRATIFY BY sex").table.to_pylist()
    plain = people.execute(
        sql.replace("ROLLUP", "GROUPING SETS ((sex), ()), ROLLUP").replace("FROM", "FROM", 1)
    ).fetchall()
    assert bag([tuple(row.values()) for row in ours]) == bag(plain)


def test_the_comparison_can_fail(people: duckdb.DuckDBPyConnection) -> None:
    ours = [tuple(row.values()) for row in rows(people, private(SAME[0])).table.to_pylist()]
    assert bag(ours) != bag(people.execute(SAME[0].replace("ROLLUP", "CUBE")).fetchall())


@pytest.mark.parametrize("budget", [BUDGET, PURE])
def test_sets_share_one_price_and_larger_tables_get_more_of_it(budget: Any) -> None:
    found = planned(
        private("SELECT sex, race, COUNT(*) FROM people GROUP BY CUBE (sex, race)"), budget
    )
    paid = {
        len(m.query.keys) and math.prod(len(k.values) for k in m.query.keys): m.price.nano
        for m in found.measurements
    }
    assert list(paid) == [6, 2, 3, 0]
    assert sum(paid.values()) == price_of(budget, 0.5).nano
    power = 1 if budget is BUDGET else 2 / 3
    for cells in (2, 3):
        assert paid[6] / paid[cells] == pytest.approx((6 / cells) ** power, rel=1e-3)


def test_a_measurement_that_two_sets_need_is_paid_once() -> None:
    twice = planned(private("SELECT COUNT(*) FROM people GROUP BY GROUPING SETS ((sex), (sex))"))
    assert len(twice.measurements) == 1
    assert len(twice.output.marginals) == 2


def least_squares(tables: dict[Any, Any], sizes: list[int]) -> Any:
    """The finest table by weighted least squares over the cells themselves."""
    cells = np.indices(sizes).reshape(len(sizes), -1)
    lines, seen, weights = [], [], []
    for keys, (values, variance) in tables.items():
        for at, value in np.ndenumerate(values[0]):
            inside = np.all([cells[k] == i for k, i in zip(keys, at, strict=True)], axis=0)
            lines.append(np.broadcast_to(inside, cells.shape[1]).astype(float))
            seen.append(value)
            weights.append(1 / math.sqrt(variance))
    w, a = np.array(weights), np.array(lines)
    found, *_ = np.linalg.lstsq(a * w[:, None], np.array(seen) * w, rcond=None)
    return found.reshape(sizes), a, w


def test_tables_are_combined_by_least_squares() -> None:
    """Against dense least squares over all cells; the claimed variance is that of its estimate."""
    rng, sizes = np.random.default_rng(1), [3, 4, 2]
    sets = [(0, 1, 2), (0, 1), (1, 2), (0,), ()]
    tables = {
        keys: (rng.normal(50, 9, (1, *(sizes[i] for i in keys))), float(rng.uniform(1, 9)))
        for keys in sets
    }
    finest, lines, weights = least_squares(tables, sizes)
    covariance = np.linalg.inv((lines * weights[:, None]).T @ (lines * weights[:, None]))
    for keys, (values, variance) in combine_tables(tables, sizes).items():
        over = tuple(i for i in range(3) if i not in keys)
        assert values[0] == pytest.approx(finest.sum(axis=over))
        first = np.zeros(sizes)
        first[tuple(0 if i in keys else slice(None) for i in range(3))] = 1
        assert variance == pytest.approx(first.ravel() @ covariance @ first.ravel())
        assert variance < tables[keys][1]


def test_noised_levels_agree_and_half_widths_are_honest(people: duckdb.DuckDBPyConnection) -> None:
    """400 runs of 12 sums: coverage of 95 % within 92.5 and 97.5 (4,800 intervals, of which the 12
    of a run depend on each other; a half-width 15 % off covers 90 or 97.6 %). No cell's count
    is within 3 standard deviations of 0, where its sum would be NULL."""
    sql = "SELECT sex, race, SUM(income) AS s FROM people GROUP BY CUBE (sex, race)"
    found, rng, hits, narrow = planned(private(sql)), np.random.default_rng(2), [], []
    truth = exact(people, found.measurements)
    right = {(r[0], r[1]): r[2] for r in people.execute(sql).fetchall()}
    for _ in range(400):
        releases = noised(truth, [10.0 * (i % 2 + 1) for i in range(len(truth))], rng)
        made = answer(found, releases, None)
        got = {(r["sex"], r["race"]): r["s"] for r in made.table.to_pylist()}
        for sex in ("F", "M", None):
            assert sum(got[sex, race] for race in (1, 2, 3)) == pytest.approx(got[sex, None])
        off = [abs(got[key] - right[key]) for key in got]
        hits += [x <= h for x, h in zip(off, made.half_widths["s"], strict=True)]
        narrow += [x <= 0.85 * h for x, h in zip(off, made.half_widths["s"], strict=True)]
    assert 0.925 <= np.mean(hits) <= 0.975
    assert np.mean(narrow) < 0.925


def test_a_list_that_may_miss_rows_is_not_made_to_agree(people: duckdb.DuckDBPyConnection) -> None:
    """NULL is no declared value of tips: rows of unknown tips are in the total alone."""
    whole = "SELECT hours > 40 AS h, COUNT(*) AS n FROM people GROUP BY ROLLUP (h)"
    assert planned(private(whole)).output.groups[0].complete  # NULL is listed
    missing = whole.replace("hours", "tips")
    assert not planned(private(missing)).output.groups[0].complete
    made = rows(people, private(missing)).table.to_pylist()
    assert {r["h"]: r["n"] for r in made}[None] == 600 > sum(r["n"] for r in made) - 600


def test_too_many_cells_or_sets_are_refused() -> None:
    with pytest.raises(Refused, match="cells"):
        planned(private("SELECT COUNT(*) FROM people GROUP BY CUBE (age, year(born), race, hours)"))
    with pytest.raises(Refused, match="GROUPING takes"):
        planned(private("SELECT GROUPING(age), COUNT(*) FROM people GROUP BY ROLLUP (sex)"))


DECLARED = """
CREATE TABLE people (id BIGINT PRIMARY KEY, sex VARCHAR, race TINYINT, town VARCHAR);
INSERT INTO people SELECT i, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, 1 + i % 3,
    't' || (i % 4) FROM range(4000) r(i);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm') NOT NULL;
ALTER TABLE people ALTER COLUMN race SET PRIVACY DOMAIN BETWEEN (1, 3) NOT NULL;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 9, delta = 1e-9, keys_delta = 1e-6);
"""


def test_explain_tells_what_a_rollup_costs_and_the_session_pays_it(tmp_path: Path) -> None:
    with Session(tmp_path / "people.duckdb", role="owner") as owner:
        owner.execute(DECLARED)
    asked = private("SELECT sex, race, COUNT(*) AS n FROM people GROUP BY ROLLUP (sex, race)")
    with Session(tmp_path / "people.duckdb") as analyst:
        analyst.execute("SET privacy_epsilon = 1")
        told = {
            r["measurement"]: r
            for r in analyst.execute(f"EXPLAIN PRIVACY {asked}").table.to_pylist()
        }
        made = analyst.execute(asked)
        again = analyst.execute(asked)
        keys = private("SELECT town, COUNT(*) AS n FROM people GROUP BY ROLLUP (town)")
        towns = analyst.execute(keys).table
    tables = {' by "sex", "race"', ' by "sex"', ", total"}
    assert {f"{what}{of}" for what in ("count of rows", "output n") for of in tables} <= set(told)
    assert told["total"]["rho"] == pytest.approx(made.price.value, abs=1e-9)
    assert again.price.nano == 0
    assert again.table == made.table
    n = {(r["sex"], r["race"]): r["n"] for r in made.table.to_pylist()}
    assert abs(n["f", None] + n["m", None] - n[None, None]) <= 2  # each rounded to a whole number
    assert abs(n[None, None] - 4000) < 60
    assert {r["town"] for r in towns.to_pylist()} == {"t0", "t1", "t2", "t3", None}
