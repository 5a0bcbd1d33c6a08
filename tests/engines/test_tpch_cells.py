"""TPC-H's queries that are answered have the same cells in Spark as in DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from engines.both import INTERPRETED, Both, record_batches
from house.test_tpch import DATA, REFUSED, vault

import sqlpriv

PUBLIC = {2, 11, 16}
"""These read public tables alone."""
ASKED = set(range(1, 23)) - set(REFUSED) - PUBLIC


@pytest.fixture(scope="module")
def both(spark_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    engines = Both(spark_url, tmp_path_factory.mktemp("files"), INTERPRETED)
    for table in vault.KEYS:
        engines.fill(table, f"FROM '{DATA}/tpch_sf001_{table}.parquet'")
    yield engines
    engines.spark.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = vault.make(tmp_path_factory.mktemp("tpch") / "tpch.duckdb", DATA)
    return path


@pytest.mark.parametrize("number", sorted(ASKED))
def test_a_query_has_equal_cells(
    both: Both, made: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    batches = record_batches(monkeypatch)
    with sqlpriv.connect(made) as con:
        con.execute("SET privacy_epsilon = 10000")
        con.execute(vault.queries()[number])
    assert batches
    assert both.differences(batches) == []
