"""The same integer cells from DuckDB and from Spark, with Spark's ANSI mode off and on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from engines.both import Both
from engines.random_plans import LABELS, TABLES, Plans, any_character, contracts, rows_of

from sqlpriv.errors import OperationalError, Refused
from sqlpriv.kernel.spark import spark_session as connection
from sqlpriv.kernel.sql.dialect import DUCKDB, SPARK

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
PER_ROWS = 10
"""Plans over the same rows: to make views takes longer than to ask."""


@pytest.fixture
def ranked_by_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hashes of the two engines differ, so that which rows of a unit are kept does, too. With a
    constant in their place, rows are kept in the order of their values."""
    for dialect in (DUCKDB, SPARK):
        monkeypatch.setitem(dialect.forms, "hash", "0")


def compare(url: str, folder: Path, seeds: range) -> int:
    """Compares plans of the seeds; returns how many were not refused."""
    compared = 0
    for first in seeds[::PER_ROWS]:
        rng = random.Random(first)
        labels = [*rng.sample(LABELS, 5), any_character(rng)]
        labels = list(dict.fromkeys(labels))
        made = contracts(rng, labels)
        # compiling a statement takes Spark longer than these rows: one time in five it does
        interpreted = INTERPRETED if first // PER_ROWS % 5 else {}
        connection.SETTINGS.update(interpreted)
        both = Both(url, folder)
        for name in interpreted:
            del connection.SETTINGS[name]
        for table in TABLES:
            both.fill(table, rows_of(rng, table, labels))
        for seed in range(first, min(first + PER_ROWS, seeds.stop)):
            queries = Plans(random.Random(seed), labels).queries()
            try:
                mine, other = both.cells(queries, made["people"])
            except (Refused, OperationalError):  # too long for Spark; sides that name no one unit
                continue
            except Exception as error:  # raised on, with the plan that it is of
                raise AssertionError(f"seed {seed}: {queries}") from error
            for query in queries:
                assert mine[query] == other[query], f"seed {seed}: {query}"
            compared += 1
        both.spark.close()
    return compared


@pytest.mark.usefixtures("ranked_by_values")
def test_random_plans_give_equal_cells(
    spark_url: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    plans = pytestconfig.getoption("--plans")
    assert compare(spark_url, tmp_path, range(plans)) > 0.7 * plans


@pytest.mark.usefixtures("ranked_by_values")
def test_with_ansi_nothing_raises_and_nothing_differs(
    spark_url: str, tmp_path: Path, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.SETTINGS, "spark.sql.ansi.enabled", "true")
    plans = pytestconfig.getoption("--plans")
    assert compare(spark_url, tmp_path, range(plans)) > 0.7 * plans


@pytest.mark.usefixtures("ranked_by_values")
@pytest.mark.parametrize(
    ("form", "instead"),
    [
        ("sum", "sum(shiftright(CAST({0} AS BIGINT), 20))"),
        ("position", "array_position(array({0}), {1}) - 1"),
        ("text", "'{0}'"),
        ("ascending", "{0}"),
    ],
)
def test_a_broken_form_is_noticed(
    spark_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str, instead: str
) -> None:
    monkeypatch.setitem(SPARK.forms, form, instead)
    with pytest.raises(AssertionError):
        compare(spark_url, tmp_path, range(PER_ROWS, 150))
