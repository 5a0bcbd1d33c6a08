"""The same integer cells from DuckDB and from Spark, with Spark's ANSI mode off and on."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path

import pytest
from engines.both import INTERPRETED, Both, in_spark
from engines.random_plans import LABELS, TABLES, Plans, any_character, contracts, rows_of

from sqlpriv.errors import Refused
from sqlpriv.kernel.spark import spark_session as connection
from sqlpriv.kernel.sql.dialect import DUCKDB, SPARK
from sqlpriv.kernel.sql.queries import render
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import TableContract

PER_ROWS = 20
"""Plans over the same rows."""
COMPILED = 5
"""One group of plans in so many is read and compiled as it is outside tests."""
LONGEST = 2**14
"""Characters of a plan's text, at most: what a text costs grows faster than it."""


@pytest.fixture
def ranked_by_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """The hashes of the two engines differ, so that which rows of a unit are kept does, too. With a
    constant in their place, rows are kept in the order of their values."""
    for dialect in (DUCKDB, SPARK):
        monkeypatch.setitem(dialect.forms, "hash", "0")


def plan(seed: int, labels: list[str], contract: TableContract) -> list[a.Query]:
    """The first random queries of a seed that are not refused and no longer than LONGEST."""
    rng = random.Random(seed)
    while True:
        queries = Plans(rng, labels).queries()
        with suppress(Refused):  # a join whose sides name no one unit
            if len(render(queries, in_spark(contract), 7).sql) <= LONGEST:
                return queries


@pytest.fixture
def seeds(pytestconfig: pytest.Config) -> range:
    first = pytestconfig.getoption("--first")
    return range(first, first + pytestconfig.getoption("--plans"))


def compare(url: str, folder: Path, seeds: range) -> list[str]:
    """The differences between the engines' cells, over the plans of the seeds."""
    differences = []
    interpreted, compiled = Both(url, folder, INTERPRETED, once=True), Both(url, folder)
    for first in seeds[::PER_ROWS]:
        rng = random.Random(first)
        labels = list(dict.fromkeys([*rng.sample(LABELS, 5), any_character(rng)]))
        contract = contracts(rng, labels)["people"]
        both = interpreted if first // PER_ROWS % COMPILED else compiled
        for table in TABLES:
            both.fill(table, rows_of(rng, table, labels))
        for seed in range(first, min(first + PER_ROWS, seeds.stop)):
            queries = plan(seed, labels, contract)
            try:
                mine, other = both.cells(queries, contract)
            except Exception as error:
                differences.append(f"seed {seed}: {type(error).__name__} {error} of {queries}")
                continue
            differences += [f"seed {seed}: {q}" for q in queries if mine[q] != other[q]]
    for both in (interpreted, compiled):
        both.spark.close()
    return differences


@pytest.mark.usefixtures("ranked_by_values")
def test_random_plans_give_equal_cells(spark_url: str, tmp_path: Path, seeds: range) -> None:
    assert compare(spark_url, tmp_path, seeds) == []


@pytest.mark.usefixtures("ranked_by_values")
def test_with_ansi_nothing_raises_and_nothing_differs(
    spark_url: str, tmp_path: Path, seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(connection.SETTINGS, "spark.sql.ansi.enabled", "true")
    assert compare(spark_url, tmp_path, seeds) == []
