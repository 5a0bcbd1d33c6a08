"""Expressions of ibis, by the SQL that `ibis.to_sql` writes: there is no backend of its own."""

import importlib.util

import pytest

import sqlpriv

WRITTEN = """
SELECT
  "t1"."region",
  COUNT(*) AS "n",
  AVG("t1"."income") AS "income"
FROM (
  SELECT
    *
  FROM "people" AS "t0"
  WHERE
    "t0"."age" >= 30
) AS "t1"
GROUP BY
  1
"""
"""What ibis 12.0 writes for `by_ibis`; it is installed by few who run these tests."""


def by_ibis():
    import ibis

    people = ibis.table({"region": "string", "age": "int64", "income": "float64"}, name="people")
    adults = people.filter(people.age >= 30)
    expression = adults.group_by("region").agg(n=adults.count(), income=adults.income.mean())
    return str(ibis.to_sql(expression, dialect="duckdb"))


@pytest.mark.parametrize("written", [
    lambda: WRITTEN,
    pytest.param(by_ibis, marks=pytest.mark.skipif(
        importlib.util.find_spec("ibis") is None, reason="pip install ibis-framework[duckdb]")),
])  # fmt: skip
def test_sql_of_ibis_is_answered_and_priced(vault, spent, written):
    with sqlpriv.connect(vault) as connection:
        connection.execute("SET privacy_epsilon = 1")
        frame = connection.execute(written()).df()
    assert sorted(frame["region"]) == ["isles", "north", "south"]
    assert (frame["n"] - 690).abs().max() < 200
    assert spent()[1] == pytest.approx(1, rel=1e-3)
