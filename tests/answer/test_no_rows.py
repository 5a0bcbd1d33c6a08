"""Over no rows SUM, MEDIAN, MIN, MAX and MODE are NULL, as the noised count tells.

Of quantiles and modes they are at every price in 95 % of groups."""

from __future__ import annotations

import math
from dataclasses import replace

import duckdb
import numpy as np
import pytest
from support.exact_people import BUDGET, PURE, exact, planned, rows

from sqlpriv.answer.rows import answer
from sqlpriv.kernel.terms.algebra import Level
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.quantile_method import rank_error

ASK = "SELECT WITH DIFFERENTIAL_PRIVACY"
OUTPUTS = "SUM(income) AS s, MEDIAN(income) AS m, MEDIAN(race) AS r, MAX(age) AS a, MODE(sex) AS o"


def test_over_no_rows_an_aggregate_is_null(people: duckdb.DuckDBPyConnection) -> None:
    (row,) = rows(people, f"{ASK} {OUTPUTS} FROM people WHERE age > 200").table.to_pylist()
    assert set(row.values()) == {None}


def test_over_some_rows_it_is_not(people: duckdb.DuckDBPyConnection) -> None:
    """The twin."""
    (row,) = rows(people, f"{ASK} {OUTPUTS} FROM people WHERE age > 97").table.to_pylist()
    assert None not in row.values()


def test_strata_without_rows_are_null_and_the_population_is_not(
    people: duckdb.DuckDBPyConnection,
) -> None:
    sql = f"{ASK} sex, {OUTPUTS} FROM people WHERE sex = 'F' STRATIFY BY sex"
    found = {row["sex"]: row for row in rows(people, sql).table.to_pylist()}
    for sex, present in (("F", True), ("M", False), (None, True)):
        if sex in found:
            values = [found[sex][name] for name in "smra"]
            assert (None not in values) is present, (sex, values)


@pytest.mark.parametrize(
    ("output", "budget"),
    [("MEDIAN(income)", BUDGET), ("MAX(race)", BUDGET), ("MODE(sex)", BUDGET), ("MODE(sex)", PURE)],
)
def test_over_no_rows_noise_makes_no_level(
    people: duckdb.DuckDBPyConnection, output: str, budget: Budget
) -> None:
    """Of a level that the kernel chose, and of two histograms' levels. n = 400 groups without rows,
    of which at most 5 % have one: 49 of 400 have a probability below 1e-7. A rule that a noised
    count is above 0 gives about 200."""
    plan = planned(f"{ASK} {output} AS m FROM people WHERE age > 200", budget)
    releases = exact(people, plan.measurements)
    rng, shown = np.random.default_rng(), 0
    for _ in range(400):
        noise = [_draw(release, rng) for release in releases]
        shown += answer(plan, noise, None).table.column("m").to_pylist() != [None]
    assert shown < 49


def _draw(release: Release, rng: np.random.Generator) -> Release:
    """Returns a release of nothing with the noise that its price buys, rounded."""
    if isinstance(release.query, Level):
        return release
    price = release.price
    draw = (
        rng.normal(0, sigma := 1 / math.sqrt(2 * price.value), release.values.shape)
        if isinstance(price, Rho)
        else rng.laplace(
            0, (sigma := math.sqrt(2) / price.value) / math.sqrt(2), release.values.shape
        )
    )
    return replace(release, values=np.rint(draw), sigma=sigma)


def test_a_chosen_level_of_fewer_rows_than_its_error_of_rank_is_null(
    people: duckdb.DuckDBPyConnection,
) -> None:
    """The count of 600 rows stands out of its noise at a small price; the choice does not."""
    for epsilon, is_null in ((0.05, True), (0.5, False)):
        sql = f"{ASK} OPTIONS (epsilon = {epsilon}) MEDIAN(income) AS m, COUNT(*) AS n FROM people"
        plan = planned(sql)
        releases = exact(people, plan.measurements)
        noise = [replace(r, sigma=1 / math.sqrt(2 * r.price.value)) for r in releases]
        (level,) = (m for m in plan.measurements if isinstance(m.query, Level))
        error = rank_error(level.query, 1.0, level.price)
        (count,) = (r for r in noise if not isinstance(r.query, Level))
        assert 2 * count.sigma < 600
        assert (error > 600) is is_null
        assert (answer(plan, noise, None).table.column("m").to_pylist() == [None]) is is_null


def test_releases_without_noise_have_a_level(people: duckdb.DuckDBPyConnection) -> None:
    """An answer's columns are foretold by releases of zeros: a division by their noise failed."""
    plan = planned(f"{ASK} MEDIAN(income) AS m FROM people", PURE)
    zeros = [replace(r, values=0 * r.values, sigma=0.0) for r in exact(people, plan.measurements)]
    assert answer(plan, zeros, None).table.column("m").to_pylist() == [None]
