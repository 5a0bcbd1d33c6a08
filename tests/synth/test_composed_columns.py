"""Columns that are never below others: drawn as differences, published as sums."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlpriv.errors import Refused
from sqlpriv.plan.synthetic.difference_columns import read_constraints
from sqlpriv.session.session import Session

ROWS = """
CREATE TABLE t (id BIGINT PRIMARY KEY, a DATE, b DATE, low TINYINT, high TINYINT,
    net DECIMAL(8, 2), gross DECIMAL(8, 2), begun TIMESTAMP, done TIMESTAMP, f DOUBLE, kind INTEGER,
    zoned TIMESTAMPTZ);
INSERT INTO t SELECT i, CASE WHEN i % 10 = 0 THEN NULL ELSE day END,
    CASE WHEN i % 9 = 0 THEN NULL ELSE day + CAST(i % 13 AS INTEGER) END,
    i % 100, least(100, i % 100 + i % 7), i % 70, i % 70 + 0.5,
    moment, moment + to_seconds(20 + i % 100), i % 100 + 0.25, i % 3, moment
FROM (SELECT i, DATE '2020-01-01' + CAST(i % 300 AS INTEGER) AS day,
    TIMESTAMP '2020-01-01 12:00:00.5' + to_minutes(i % 1000) AS moment FROM range(6000) r(i));
ALTER TABLE t ADD PRIVACY_KEY (id);
ALTER TABLE t SET PU;
ALTER TABLE t SET PRIVACY BUDGET (epsilon = 1000, delta = 1e-9);
""" + "".join(
    f"ALTER TABLE t ALTER COLUMN {name} SET PRIVACY DOMAIN {domain};"
    for name, domain in {
        "a": "BETWEEN ('2020-01-01', '2020-12-31') OR NULL",
        "b": "BETWEEN ('2020-01-01', '2020-12-31') OR NULL",
        "low": "BETWEEN (0, 100)",
        "high": "BETWEEN (0, 100)",
        "net": "BETWEEN (0, 99)",
        "gross": "BETWEEN (0, 99)",
        "begun": "BETWEEN ('2020-01-01', '2020-12-31')",
        "done": "BETWEEN ('2020-01-01', '2020-12-31')",
        "f": "BETWEEN (0, 200)",
        "kind": "IN (0, 1, 2)",
        "zoned": "BETWEEN ('2020-01-01', '2020-12-31')",
    }.items()
)
TYPES = {
    "a": "DATE",
    "b": "DATE",
    "low": "TINYINT",
    "high": "TINYINT",
    "net": "DECIMAL(8,2)",
    "gross": "DECIMAL(8,2)",
    "begun": "TIMESTAMP",
    "done": "TIMESTAMP",
    "f": "DOUBLE",
}


@pytest.fixture(scope="module")
def owner(tmp_path_factory) -> Session:
    session = Session(tmp_path_factory.mktemp("sums") / "t.duckdb", role="owner")
    session.execute(ROWS)
    return session


def draw(
    owner: Session,
    columns: str,
    method: str = "independent",
    tail: str = "",
    epsilon: int = 2,
    **options,
):
    text = "".join(f", {name} = '{value}'" for name, value in options.items())
    return owner.execute(
        f"CREATE OR REPLACE SYNTHETIC TABLE s AS SELECT {columns} FROM t {tail} USING {method}"
        f" OPTIONS (epsilon = {epsilon}{text})"
    ).message


def one(owner: Session, text: str):
    (row,) = owner.execute(text).table.to_pylist()
    return row


@pytest.mark.parametrize("method", ["independent", "mst", "aim"])
def test_no_row_breaks_a_constraint_and_differences_are_known(owner: Session, method):
    """Means of differences within 5 standard errors of drawing 6,000 rows, and noise besides, which
    is little at epsilon 20. A row or two in a far bin, months away, would move these means: 30 days
    and 600 seconds are counted of such. The twin, without constraints, has rows that break each of
    the constraints."""
    columns = ", ".join(TYPES)
    rules = "b >= a; low <= high; gross > net; done > begun; f >= low"
    message = draw(owner, columns, method, epsilon=20, constraints=rules)
    assert "every row keeps to the constraints" in message
    broken = "b < a OR high < low OR gross < net OR done <= begun OR f < low"
    figures = (
        f"SELECT sum(({broken})::INTEGER) AS broken,"
        " avg(least(b - a, 30)) FILTER (WHERE a IS NOT NULL AND b IS NOT NULL) AS days,"
        " avg(least(date_diff('second', begun, done), 600)) AS seconds,"
        " max(high) AS high, min(high) AS low,"
        " avg(gross - net) AS pay, avg((a IS NULL)::INTEGER) AS a, avg((b IS NULL)::INTEGER) AS b,"
        " avg((b IS NOT NULL AND a IS NULL)::INTEGER) AS either, avg(high - low) AS apart FROM s"
    )
    row = one(owner, figures)
    assert row["broken"] == 0
    assert row["days"] == pytest.approx(6, abs=0.6)
    assert row["seconds"] == pytest.approx(69.5, abs=6)
    assert float(row["pay"]) == pytest.approx(0.5, abs=0.1)
    assert row["apart"] == pytest.approx(3, abs=0.4)
    assert row["a"] == pytest.approx(0.1, abs=0.02)
    # b's own, and those of a: the two are related where their pair is measured, as aim mostly does
    nulls = {"independent": [1 - 0.9 * 0.8], "mst": [0.2], "aim": [0.2, 1 - 0.9 * 0.8]}[method]
    assert min(abs(row["b"] - share) for share in nulls) < 0.03
    assert row["either"] == 0
    assert 0 <= row["low"] <= row["high"] <= 100
    told = owner.execute("DESCRIBE s").table
    types = dict(zip(told["column_name"].to_pylist(), told["column_type"].to_pylist(), strict=True))
    assert types == TYPES
    draw(owner, columns, method, epsilon=20)
    assert one(owner, figures)["broken"] > 100


def test_more_rows_of_its_model_keep_to_the_constraints(owner: Session):
    draw(owner, "a, b, kind", "mst", constraints="b >= a")
    owner.execute("CREATE OR REPLACE SYNTHETIC TABLE more FROM MODEL s ROWS 500 WHERE month(b) = 3")
    row = one(owner, "SELECT count(*) AS n, sum((b < a)::INTEGER) AS broken FROM more")
    assert row == {"n": 500, "broken": 0}


def test_strata_zeros_aliases_and_a_star(owner: Session):
    message = draw(
        owner,
        "low AS x, high * 2 AS y",
        tail="STRATIFY BY kind",
        constraints="y > X",
        zeros="y - x > 90 AND kind = 1",
    )
    assert "drawn again" in message
    rule = "y <= x OR (y - x > 90 AND kind = 1)"
    assert one(owner, f"SELECT sum(({rule})::INTEGER) AS n FROM s")["n"] == 0
    draw(owner, "*", constraints="done >= begun")
    assert one(owner, "SELECT sum((done < begun)::INTEGER) AS n FROM s")["n"] == 0


def test_a_row_that_breaks_the_constraint_counts_as_equal(tmp_path: Path):
    """All private rows have b a day before a; the table has b = a, in nearly every row."""
    session = Session(tmp_path / "t.duckdb", role="owner")
    session.execute(ROWS.replace("day + CAST(i % 13 AS INTEGER)", "greatest(day, day) - 1"))
    draw(session, "a, b", constraints="b >= a", tail="WHERE a > DATE '2020-01-05'")
    assert one(session, "SELECT avg((a = b)::INTEGER) AS n FROM s WHERE b IS NOT NULL")["n"] > 0.9


@pytest.mark.parametrize(
    ("columns", "rules", "says"),
    [
        ("a, b", "b", "compares two columns"),
        ("a, b", "b = a", "compares two columns"),
        ("a, b", "b >= nosuch", "no column"),
        ("a, b, begun", "begun >= a", "one of these kinds"),
        ("begun, zoned", "zoned >= begun", "one of these kinds"),
        ("low, high, f", "f >= low; f >= high", "above two columns"),
        ("low, high, f", "f >= low; low >= f", "in a circle"),
        ("low, kind", "kind >= low", "list of values"),
        ("net", "net >= net", "in a circle"),
    ],
)
def test_what_is_refused_costs_nothing(owner: Session, columns, rules, says):
    before = one(owner, "SHOW PRIVACY BUDGET")["charges"]
    with pytest.raises(Refused, match=says) as refused:
        draw(owner, columns, constraints=rules)
    assert refused.value.hint
    assert one(owner, "SHOW PRIVACY BUDGET")["charges"] == before


def test_a_stratum_is_no_larger_column(owner: Session):
    with pytest.raises(Refused, match="is a stratum"):
        draw(owner, "low", tail="STRATIFY BY kind", constraints="kind >= low")


def test_names_are_quoted_as_in_sql():
    (rule,) = read_constraints('"a ""b""" < "C"')
    assert (rule.larger, rule.smaller, rule.strict) == ("C", 'a "b"', True)
