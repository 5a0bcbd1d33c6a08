"""SUM, MIN, MAX and discrete quantiles of whole numbers are whole, as DuckDB's are."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support.exact_people import exact, noised, planned, rows

from sqlpriv.answer.rows import answer

ASK = "SELECT WITH DIFFERENTIAL_PRIVACY"


@pytest.mark.parametrize(
    "output",
    [
        "SUM(age)",
        "SUM(hours * 2 - 1)",
        "SUM(CASE WHEN age > 50 THEN 1 ELSE 0 END)",
        "MIN(age)",
        "MAX(hours)",
        "quantile_disc(race, 0.5)",
        "MAX(age * 1000000)",  # of a grid whose cells have middles between two numbers
        "SUM(age * 10000000)",  # could be beyond a BIGINT
    ],
)
def test_of_whole_numbers_it_is_one(people: duckdb.DuckDBPyConnection, output: str) -> None:
    column = rows(people, f"{ASK} {output} AS x FROM people").table.column("x")
    expected = people.sql(f"SELECT {output} AS x FROM people").to_arrow_table().column("x")
    assert column.type == expected.type
    if output.startswith("SUM"):
        assert column.to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("output", ["SUM(income)", "MEDIAN(age)", "MAX(income)"])
def test_of_others_it_is_a_double(people: duckdb.DuckDBPyConnection, output: str) -> None:
    column = rows(people, f"{ASK} {output} AS x FROM people").table.column("x")
    assert column.type == pa.float64()


def test_whole_sums_of_strata_add_up_to_everybodys(people: duckdb.DuckDBPyConnection) -> None:
    plan = planned(f"{ASK} race, SUM(hours) AS s FROM people STRATIFY BY race")
    releases = exact(people, plan.measurements)
    rng = np.random.default_rng()
    for _ in range(20):
        noise = noised(releases, [2.5] * len(releases), rng)
        *strata, everybody = answer(plan, noise, None).table.column("s").to_pylist()
        assert sum(strata) == everybody


def test_their_half_widths_hold_as_often(people: duckdb.DuckDBPyConnection) -> None:
    """n = 2,000 sums with noise of about the step of the lattice: at least 95 % are within, of
    which 92.5 % or fewer are seen with a probability below 1e-6."""
    plan = planned(f"{ASK} SUM(age) AS s FROM people")
    releases, rng, held = exact(people, plan.measurements), np.random.default_rng(), 0
    (true,) = people.execute("SELECT SUM(age) FROM people").fetchall()[0]
    for _ in range(2000):
        noise = noised(releases, [0.01] * len(releases), rng)
        result = answer(plan, noise, None)
        (half,) = result.half_widths["s"]
        held += abs(result.table.column("s")[0].as_py() - true) <= (half or 0) + 1e-9
    assert held > 1850


def test_strata_that_are_drawn_together_have_whole_quantiles(
    people: duckdb.DuckDBPyConnection,
) -> None:
    """As drawn they are 26.97, …"""
    ask = f"{ASK} race, quantile_disc(hours, 0.37 USING pooled) AS x FROM people STRATIFY BY race"
    kind = people.sql("SELECT quantile_disc(hours, 0.37) AS x FROM people").to_arrow_table()
    assert rows(people, ask).table.column("x").type == kind.column("x").type
