"""Over no rows SUM, MEDIAN, MIN, MAX and MODE are NULL, as the noised count tells."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from support.exact_people import engine, rows

ASK = "SELECT WITH DIFFERENTIAL_PRIVACY"
OUTPUTS = "SUM(income) AS s, MEDIAN(income) AS m, MEDIAN(race) AS r, MAX(age) AS a, MODE(sex) AS o"


@pytest.fixture(scope="module")
def people() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = engine()
    yield connection
    connection.close()


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
