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


@pytest.mark.parametrize(
    "written",
    [
        lambda: WRITTEN,
        pytest.param(
            by_ibis,
            marks=pytest.mark.skipif(
                importlib.util.find_spec("ibis") is None,
                reason="pip install ibis-framework[duckdb]",
            ),
        ),
    ],
)
def test_sql_of_ibis_is_answered_and_priced(vault, spent, written):
    with sqlpriv.connect(vault) as connection:
        connection.execute("SET privacy_epsilon = 1")
        frame = connection.execute(written()).df()
    assert sorted(frame["region"]) == ["isles", "north", "south"]
    assert (frame["n"] - 690).abs().max() < 200
    assert spent()[1] == pytest.approx(1, rel=1e-3)


OTHERS = {
    "order and limit": """
SELECT * FROM (SELECT "t1"."decade", COUNT(*) AS "n" FROM (SELECT "t0"."region", "t0"."age",
"t0"."income", CAST(FLOOR(("t0"."age") / (10)) AS BIGINT) * 10 AS "decade" FROM "people" AS "t0")
AS "t1" GROUP BY 1) AS "t2" ORDER BY "t2"."n" DESC LIMIT 3""",
    "window over an answer": """
SELECT "t1"."region", "t1"."n", "t1"."n" / SUM("t1"."n") OVER (ROWS BETWEEN UNBOUNDED PRECEDING
AND UNBOUNDED FOLLOWING) AS "share" FROM (SELECT "t0"."region", COUNT(*) AS "n" FROM "people"
AS "t0" GROUP BY 1) AS "t1"
""",
    "filter of an answer": """
SELECT * FROM (SELECT "t0"."region", COUNT(*) AS "n", QUANTILE_CONT("t0"."income", 0.5) AS "middle"
FROM "people" AS "t0" GROUP BY 1) AS "t1" WHERE "t1"."n" > 100""",
}
"""What ibis 12.0 writes for `mutate`, `order_by` and `limit`; for `n / n.sum()`; for a filter
behind `agg` with a median."""


@pytest.mark.parametrize("form", OTHERS)
def test_forms_that_ibis_writes_around_an_answer(vault, spent, form):
    with sqlpriv.connect(vault) as connection:
        connection.execute("SET privacy_epsilon = 1")
        frame = connection.execute(OTHERS[form]).df()
    assert len(frame) == 3
    assert (frame["n"] > 100).all()
    if form == "window over an answer":
        assert frame["share"].sum() == pytest.approx(1)
    if form == "filter of an answer":
        assert frame["middle"].between(24_000, 84_000).all()
    assert spent()[1] == pytest.approx(1, rel=1e-3)
