"""No label changes the shape of a statement, or of the plan that DuckDB makes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from engines.both import in_spark
from engines.random_plans import TABLES
from support.label_plans import LABELS, TAME, asked, contract_of
from support.vaults import make_lists

from sqlpriv.kernel.engine import CONFIG
from sqlpriv.kernel.sql.dialect import DUCKDB, SPARK, Dialect
from sqlpriv.kernel.sql.queries import MACROS, render

TEXTS = {
    DUCKDB: re.compile(r"'(?:[^']|'')*'"),
    SPARK: re.compile(r"X'[0-9a-f]*'|'(?:[^'\\]|\\.)*'", re.DOTALL),
}
"""What each engine reads as a text."""


def shapes(dialect: Dialect, labels: list[str]) -> dict[str, str]:
    """By place of a label, a statement without its texts."""
    contract = contract_of(labels)
    if dialect is SPARK:
        contract = in_spark(contract)
    return {
        place: TEXTS[dialect].sub("''", render([query], contract, 7).sql)
        for place, query in asked(labels).items()
    }


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """An engine like the kernel's, over a Parquet file for each table."""
    with duckdb.connect(config=CONFIG) as connection:
        connection.execute(MACROS)
        for table, columns in TABLES.items():
            path = tmp_path / f"{table}.parquet"
            nulls = ", ".join(f"NULL::{type_} AS {name}" for name, type_ in columns.items())
            connection.sql(f"SELECT {nulls} FROM range(9)").write_parquet(str(path))
            view = f"CREATE VIEW {DUCKDB.table(table)} AS FROM read_parquet('{path}')"
            connection.execute(view)
        yield connection


def operators(plan: dict[str, Any]) -> list[Any]:
    """The operators of a plan, as lists within lists, and what each does, without texts."""
    does = {
        # lines of an expression are items of a list, and a unit list's name says what it is of
        name: re.sub(r"\b[0-9a-f]{64}\b", "list", TEXTS[DUCKDB].sub("''", "\n".join(lines)))
        for name, told in plan["extra_info"].items()
        for lines in [told if isinstance(told, list) else [told]]
        if name != "Estimated Cardinality"
    }
    return [plan["name"], does, *map(operators, plan["children"])]


def plan_of(engine: duckdb.DuckDBPyConnection, labels: list[str], place: str) -> list[Any]:
    """The operators of DuckDB's plan of the query with labels at a place."""
    rendered = render([asked(labels)[place]], contract_of(labels), 7)
    make_lists(engine, rendered)
    told = engine.execute(f"EXPLAIN (FORMAT json) {rendered.sql}").fetchall()
    return [*map(operators, json.loads(told[0][1]))]


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("dialect", [DUCKDB, SPARK], ids=["duckdb", "spark"])
def test_a_statement_has_one_shape_whatever_its_labels_are(dialect: Dialect, kind: str) -> None:
    assert shapes(dialect, LABELS[kind]) == shapes(dialect, TAME)


def test_sparks_statement_has_one_shape_for_labels_of_one_length() -> None:
    """A form that would repeat a long text gives it a name instead (`Dialect.fill`)."""
    long = shapes(SPARK, [f"'{i}\\{'{' * 2_000}" for i in range(6)])
    assert long == shapes(SPARK, [f"{i}xx{'x' * 2_000}" for i in range(6)])
    assert long != shapes(SPARK, TAME)


@pytest.mark.parametrize("dialect", [DUCKDB, SPARK], ids=["duckdb", "spark"])
def test_labels_between_quotes_of_the_other_engine_are_noticed(
    dialect: Dialect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quote_otherwise(self: Dialect, value: Any) -> str:
        if not isinstance(value, str):
            return literal(self, value)
        return f"'{value}'" if self is DUCKDB else literal(DUCKDB, value)

    literal = Dialect.literal
    monkeypatch.setattr(Dialect, "literal", quote_otherwise)
    mine, tame = shapes(dialect, LABELS["quotes"]), shapes(dialect, TAME)
    assert all(mine[place] != tame[place] for place in mine)


@pytest.mark.parametrize("kind", LABELS)
def test_a_plan_over_parquet_has_one_shape_whatever_its_labels_are(
    engine: duckdb.DuckDBPyConnection, kind: str
) -> None:
    for place in asked(TAME):
        assert plan_of(engine, LABELS[kind], place) == plan_of(engine, TAME, place), place


def test_a_label_that_leaves_its_quotes_is_noticed(
    engine: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quote_once(self: Dialect, value: Any) -> str:
        return f"'{value}'" if isinstance(value, str) else literal(self, value)

    literal, injecting = Dialect.literal, [*TAME[:5], "') OR t IN ('"]
    tame = plan_of(engine, TAME, "a list")
    assert plan_of(engine, injecting, "a list") == tame
    monkeypatch.setattr(Dialect, "literal", quote_once)
    assert plan_of(engine, injecting, "a list") != tame
