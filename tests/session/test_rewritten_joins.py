"""Joins that are written as other ones before a statement is parted: refusals, and prices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.refusals import check_refused_unpaid

from sqlpriv.session.session import Session

DECLARATIONS = """
CREATE TABLE pupils AS SELECT i AS id, (['math', 'art'])[1 + i % 2] AS course,
    (i * 37 % 101)::INTEGER AS score, DATE '2026-01-01' + (i % 59)::INTEGER AS day
FROM range(2000) t(i);
ALTER TABLE pupils ADD PRIMARY KEY (id);
ALTER TABLE pupils ADD PRIVACY_KEY (id);
ALTER TABLE pupils SET PU;
ALTER TABLE pupils ALTER COLUMN course SET PRIVACY DOMAIN IN ('math', 'art', 'gym');
ALTER TABLE pupils ALTER COLUMN score SET PRIVACY DOMAIN BETWEEN (0, 100);
ALTER TABLE pupils ALTER COLUMN day SET PRIVACY DOMAIN BETWEEN ('2026-01-01', '2026-03-31');
ALTER TABLE pupils SET PRIVACY BUDGET (epsilon = 100, delta = 1e-9);
CREATE TABLE courses AS SELECT unnest(['math', 'art', 'gym']) AS course;
ALTER TABLE courses SET PUBLIC;
"""
MONTHS = (
    "(SELECT unnest(generate_series(DATE '2026-01-01', DATE '2026-06-01', INTERVAL 1 MONTH)) AS m)"
)
BY_MONTH = f"FROM {MONTHS} s LEFT JOIN pupils p ON date_trunc('month', p.day) = s.m"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    vault: Path = tmp_path_factory.mktemp("joins") / "pupils.duckdb"
    with Session(vault, role="owner", principal="owner") as owner:
        owner.execute(DECLARATIONS)
    with Session(vault, principal="ada") as session:
        session.execute("SET privacy_epsilon = 1")
        yield session


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (f"SELECT s.m, COUNT(*) AS n {BY_MONTH} GROUP BY s.m", "without a private one"),
        (f"SELECT s.m, COUNT(s.m) AS n {BY_MONTH} GROUP BY s.m", "without a private one"),
        (
            f"SELECT s.m, SUM(coalesce(p.score, 7)) AS n {BY_MONTH} GROUP BY s.m",
            "without a private one",
        ),
        (
            f"SELECT s.m, SUM(CASE WHEN p.score IS NULL THEN 1 ELSE 0 END) AS n {BY_MONTH} "
            "GROUP BY s.m",
            "without a private one",
        ),
        (f"SELECT s.m, p.score, COUNT(p.id) AS n {BY_MONTH} GROUP BY ALL", "found unnest"),
        (
            "SELECT upper(c.course) AS c, COUNT(p.id) AS n FROM (SELECT unnest(['art']) AS course) "
            "c NATURAL LEFT JOIN pupils p GROUP BY upper(c.course)",
            "NATURAL and ASOF",
        ),
        (
            "SELECT s.m + 1 AS m, COUNT(p.id) AS n FROM (SELECT unnest([DATE '2026-02-01']) AS m) "
            "s ASOF LEFT JOIN pupils p ON s.m >= p.day GROUP BY s.m + 1",
            "NATURAL and ASOF",
        ),
        (
            "SELECT COUNT(*) AS n FROM pupils p, LATERAL (SELECT p.score AS s WHERE p.id > 3) x",
            "LATERAL",
        ),
        (
            "SELECT COUNT(*) AS n FROM pupils p JOIN (SELECT course, AVG(score) AS m FROM pupils "
            "WHERE day > '2026-02-01' GROUP BY course) c ON c.course = p.course "
            "WHERE p.score > c.m",
            "many units",
        ),
        (
            "SELECT COUNT(*) AS n FROM pupils p LEFT JOIN (SELECT course, COUNT(*) AS k FROM "
            "pupils WHERE score > 99 GROUP BY course) c ON c.course = p.course WHERE c.k IS NULL",
            "many units",
        ),
        (
            "SELECT COUNT(*) AS n FROM pupils p LEFT JOIN (SELECT course, AVG(score) AS m FROM "
            "pupils WHERE score > 99 GROUP BY course) c ON c.course = p.course "
            "WHERE c.course IS NULL",
            "many units",
        ),
        (
            "SELECT c.course FROM courses c LEFT JOIN pupils p ON p.course = c.course "
            "WHERE p.score IS NULL",
            "without a private one",
        ),
        ("SELECT COUNT(*) AS n FROM pupils p ASOF JOIN courses c ON p.course >= c.course", "ASOF"),
    ],
)
def test_what_would_mean_something_else_is_refused(
    session: Session, statement: str, message: str
) -> None:
    check_refused_unpaid(session, statement, message)


def test_a_period_beyond_the_domain_has_no_rows(session: Session) -> None:
    """April to June are outside of the declared days: their counts are 0, and public."""
    rows = session.execute(
        f"SELECT month(s.m) AS m, COUNT(p.id) AS n, AVG(p.score) AS a {BY_MONTH} GROUP BY s.m "
        "ORDER BY s.m"
    ).table.to_pylist()
    assert [row["m"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [(row["n"], row["a"]) for row in rows[3:]] == [(0, None)] * 3
    assert all(row["n"] > 500 for row in rows[:2])  # of 1,050 and 950; sigma is below 10


def test_a_kept_period_has_its_half_width(session: Session) -> None:
    table = session.execute(
        f"SELECT s.m, COUNT(p.id) AS n, ERROR(COUNT(p.id)) AS e {BY_MONTH} GROUP BY s.m ORDER BY 1"
    ).table
    assert [e is not None and e > 0 for e in table.column("e").to_pylist()[:2]] == [True, True]


def test_existence_costs_what_a_count_costs(session: Session) -> None:
    exists = "SELECT EXISTS (SELECT * FROM pupils WHERE score > 98) AS e"
    count = "SELECT COUNT(*) AS n FROM pupils WHERE score > 98"
    assert session.quote(exists).charges[0].price == session.quote(count).charges[0].price
    assert session.execute(
        "SELECT EXISTS (FROM pupils WHERE score > 9) AS e"
    ).table.to_pylist() == [
        {"e": True}  # of 1,800 rows, which a sigma below 10 does not hide
    ]


def test_a_list_is_no_answer_to_which_keys_rows_have(session: Session) -> None:
    """No pupil has gym, which is declared: it was said to be there, for nothing."""
    missing = (
        "SELECT course FROM courses c WHERE NOT EXISTS "
        "(SELECT 1 FROM pupils p WHERE p.course = c.course)"
    )
    assert session.quote(missing).charges
    assert session.quote("SELECT course FROM courses EXCEPT SELECT course FROM pupils").charges
    assert session.quote("SELECT DISTINCT course FROM pupils").charges == ()
