"""Queries over rows on which each of Spark's own ways to write a form would give another cell."""

from __future__ import annotations

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from engines.both import Both
from engines.random_plans import TABLES, contracts, quoted

from sqlpriv.kernel.spark import spark_session as connection
from sqlpriv.kernel.sql.dialect import DUCKDB, SPARK, Dialect
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Type

LABELS = ["it's", "\\", 'a"b', "", "plain"]
PEOPLE, VISITS = a.Scan("people"), a.Scan("visits")
LARGE = a.Call("floor", (a.Call("*", (a.Col("x"), a.Lit(1e300, Type.REAL))),))
QUERIES = {
    # of a unit's rows one is kept: what is not listed takes no unit's place
    "position": a.Count(VISITS, (a.Key(a.Col("u"), ("it's",)),)),
    # of a unit's rows one is kept, the first by its values
    "ascending": a.Count(VISITS, (), (a.Key(a.Col("u"), ("it's",)),)),
    "floor": a.Count(
        PEOPLE, (), (a.Key(a.Call(">", (LARGE, a.Lit(1e30, Type.REAL))), (True, False)),)
    ),
    "text": a.Count(PEOPLE, (), (a.Key(a.Col("t"), tuple(LABELS)),)),
    "kept": a.Count(VISITS),
    "whole number": a.Sum(
        PEOPLE,
        a.Case(((a.Call(">", (a.Col("x"), a.Lit(0.0, Type.REAL))), a.Col("n")),), a.Col("n")),
        -(2**61),
        2**61,
    ),
}
EXPECTED = {
    "position": [12],
    "ascending": [12],
    "floor": [30, 10],
    "text": [8] * 5,
    "kept": [12],
    "whole number": [2 * (40 * (2**53 + 1) + 240)],  # twice the sum: see `Expressions.summand`
}
INSTEAD = {
    "position": "array_position(array({0}), {1}) - 1",
    "ascending": "{0}",
    "floor": "floor({0})",
    "kept": "SELECT * FROM ({0} UNION ALL SELECT NULL{1}) WHERE {2} IS NOT NULL",
    "whole number": "nanvl({0}, CAST(NULL AS DOUBLE))",
}
LISTED = ", ".join(map(quoted, LABELS))
ROWS = f"""SELECT i::BIGINT AS id, ([{LISTED}])[1 + i % 5] AS t,
    ([1e300, 2.5, -1e300, 'inf'])[1 + i % 4]::DOUBLE AS x, 9007199254740993 + 4 * (i % 4) AS n,
    DATE '2001-01-01' AS day FROM range(40) r(i)"""
UNSPLIT = "sum(CAST({0} AS BIGINT))"
"""Spark's own sum, which wraps around."""


def cells(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch, query: a.Query) -> list[Any]:
    """A query's cells from DuckDB and from Spark."""
    for dialect in (DUCKDB, SPARK):  # the rows of a unit in the order of their values
        monkeypatch.setitem(dialect.forms, "hash", "0")
    contract = contracts(random.Random(0), LABELS, [1, 1])["people"]
    both = Both(url, folder)
    both.fill("people", ROWS)
    other = ", ".join(
        f"NULL::{type_} AS {column}"
        for column, type_ in TABLES["visits"].items()
        if column not in ("who", "u")
    )
    both.fill(
        "visits",
        f"SELECT who, u, {other} FROM range(12) a(who), (VALUES ('it''s'), ('a\"b'), (NULL)) b(u)",
    )
    both.fill("shops", "SELECT 1 AS k2, 'plain' AS town")
    try:
        return [answer[query] for answer in both.cells([query], contract)]
    finally:
        both.spark.close()


def totals(url: str) -> int:
    """What Spark's sum of 2²³ numbers of 2⁴⁰ is: more than a BIGINT holds."""
    spark = connection.Spark(url)
    text = f"SELECT {SPARK.form('sum', '(1099511627776 + 0 * id)')} AS n FROM range(1 << 23)"
    total = spark.execute(text).column(0).to_pylist()[0]
    spark.close()
    return int(total)


@pytest.mark.parametrize("name", QUERIES)
def test_the_cells_are_equal_and_right(
    spark_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    found = cells(spark_url, tmp_path, monkeypatch, QUERIES[name])
    assert found == [EXPECTED[name]] * 2


@pytest.mark.parametrize("name", INSTEAD)
def test_a_broken_form_is_noticed(
    spark_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    texts: Any = SPARK.operations if name == "floor" else SPARK.forms
    monkeypatch.setitem(texts, name, INSTEAD[name])
    mine, other = cells(spark_url, tmp_path, monkeypatch, QUERIES[name])
    assert mine == EXPECTED[name]
    assert mine != other


def test_labels_in_quotes_are_noticed(
    spark_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def quote_style(dialect: Dialect, value: Any) -> str:
        return quoted(value) if isinstance(value, str) else literal(dialect, value)

    literal = Dialect.literal
    monkeypatch.setattr(Dialect, "literal", quote_style)
    found = None
    with suppress(Exception):  # a label that is a backslash makes the text none
        found = cells(spark_url, tmp_path, monkeypatch, QUERIES["text"])
    assert found is None or found[0] != found[1]


def test_a_sum_of_many_rows_does_not_wrap_around(
    spark_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert totals(spark_url) == 2**63
    monkeypatch.setitem(SPARK.forms, "sum", UNSPLIT)
    assert totals(spark_url) == -(2**63)
