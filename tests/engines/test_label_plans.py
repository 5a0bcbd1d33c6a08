"""No label changes the plan that Spark makes of a statement over Parquet files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engines.both import Both, in_spark
from engines.random_plans import TABLES
from support.label_plans import LABELS, TAME, asked, contract_of

from sqlpriv.kernel.sql.dialect import DUCKDB, Dialect
from sqlpriv.kernel.sql.queries import render

NUMBERED = re.compile(r"#\d+L?|(?<=_common_expr_)\d+|\bplan_id=\d+")
"""What Spark numbers anew in each plan."""
PUSHED = re.compile(r"PushedFilters: .*?, (?=ReadSchema: )", re.DOTALL)
"""A part of the DataFilters before it, in which a list is sorted."""


@pytest.fixture
def both(spark_url: str, tmp_path: Path) -> Iterator[Both]:
    opened = Both(spark_url, tmp_path)
    for table, columns in TABLES.items():
        nulls = ", ".join(f"NULL::{type_} AS {name}" for name, type_ in columns.items())
        opened.fill(table, f"SELECT {nulls} FROM range(9)")
    opened.rows_of_spark("SELECT 1")  # makes the views
    for name in ("debug.maxToStringFields", "maxMetadataStringLength"):
        opened.spark._session.conf.set(f"spark.sql.{name}", "100000")
    yield opened
    opened.spark.close()


def plan_of(both: Both, labels: list[str], place: str) -> str:
    """Spark's optimized and its physical plan of the query with labels at a place."""
    sql = render([asked(labels)[place]], in_spark(contract_of(labels)), 7).sql
    told = both.spark._session.sql(sql)._explain_string(extended=True)
    return PUSHED.sub("", NUMBERED.sub("", told[told.index("== Optimized Logical Plan ==") :]))


@pytest.mark.parametrize("kind", LABELS)
def test_a_plan_has_other_labels_in_the_same_places(both: Both, kind: str) -> None:
    for place in asked(TAME):
        wanted = plan_of(both, TAME, place)
        assert "label 0" in wanted
        for label, tame in zip(LABELS[kind], TAME, strict=True):
            wanted = wanted.replace(tame, label)
        assert plan_of(both, LABELS[kind], place) == wanted, place


def test_a_label_between_quotes_is_noticed(both: Both, monkeypatch: pytest.MonkeyPatch) -> None:
    def quote_style(dialect: Dialect, value: Any) -> str:
        return literal(DUCKDB if isinstance(value, str) else dialect, value)

    literal, injecting = Dialect.literal, [*TAME[:4], "\\", ") OR t IS NULL)), --"]
    wanted = plan_of(both, TAME, "a list")
    monkeypatch.setattr(Dialect, "literal", quote_style)
    assert plan_of(both, TAME, "a list") == wanted
    found = plan_of(both, injecting, "a list")
    for label, tame in zip(injecting, TAME, strict=True):
        wanted = wanted.replace(tame, label)
    assert found != wanted
