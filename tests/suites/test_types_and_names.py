"""Columns of answers have the types and the names that DuckDB gives them."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest
from support.refusals import check_refused_unpaid

from sqlpriv.session.session import Session
from suites.run import EPSILON
from suites.vault import make_vault, plain_duckdb


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = make_vault(tmp_path_factory.mktemp("types") / "people.duckdb")
    with Session(path, principal="types") as session:
        session.execute(f"SET privacy_epsilon = {EPSILON}")
        yield session


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with plain_duckdb() as connection:
        yield connection


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT k, COUNT(*) AS n FROM (SELECT u1 + 1::UTINYINT AS k FROM odd WHERE u1 < 9) "
        "GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM (SELECT 1::TINYINT AS k FROM odd) GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM (SELECT age + 1 AS k FROM people) GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM (SELECT round(rate, 1) AS k FROM odd) GROUP BY k",
        "SELECT MIN(k) AS m FROM (SELECT ward::SMALLINT AS k FROM visits)",
        "SELECT k, COUNT(*) AS n FROM (SELECT unnest([qty, pid]) AS k FROM sales) GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM (SELECT u1 AS k FROM odd UNION ALL SELECT u2 FROM odd) "
        "GROUP BY k",
        "SELECT k, COUNT(*) AS n FROM events, (VALUES (1), (NULL)) AS v (k) GROUP BY k",
        "SELECT k + 2000000000 AS k, n FROM (SELECT v AS k, COUNT(*) AS n FROM events,"
        " (VALUES (2000000000::BIGINT)) AS p (v) GROUP BY 1)",
        "SELECT v, COUNT(*) AS n FROM events, (VALUES (-(5::TINYINT))) AS p (v) GROUP BY v",
        "SELECT n, COUNT(*) AS m FROM "
        "(SELECT person, COUNT(*)::INTEGER AS n FROM visits GROUP BY person) GROUP BY n",
        "SELECT g, COUNT(v.id) FROM generate_series(0, 3) AS t (g) LEFT JOIN visits v ON ward = g "
        "GROUP BY g",
        "SELECT g, SUM(v.ward) FROM (SELECT unnest(range(1, 5)) AS g) AS t "
        "LEFT JOIN visits v ON v.ward = g GROUP BY g",
        "SELECT string_agg(DISTINCT country, ', ' ORDER BY country) FROM customers",
        "SELECT MEDIAN(abs(hours - (SELECT MEDIAN(hours) FROM people))) AS m FROM people",
        "SELECT SUM(fee - (SELECT AVG(fee) FROM sources)) AS s FROM events "
        "JOIN sources USING (source)",
        "SELECT k, COUNT(*) FROM (SELECT m AS k FROM odd UNION ALL SELECT m FROM odd) GROUP BY k",
        "SELECT k, COUNT(*) FROM (SELECT unnest([m, m]) AS k FROM odd) GROUP BY k",
        "SELECT MAX(r) AS r FROM (SELECT u, MAX(rate) AS r FROM odd GROUP BY u)",
        "SELECT COUNT(*), (SELECT MAX(p) FROM moods), 'a)' FROM odd",
        "SELECT m, (SELECT SUM(p) FROM moods) FROM odd GROUP BY m",
        "SELECT to_days(1) + day, COUNT(*) FROM stays GROUP BY 1",
        "SELECT MAX(day - INTERVAL '1' MONTH) FROM stays",
        "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY age DESC) FROM people",
        "SELECT COUNT(*)::DOUBLE / SUM(COUNT(*)) OVER () FROM people GROUP BY sex",
        "SELECT AVG(COLUMNS('age|hours')) FROM people",
        "SELECT AVG(COLUMNS('age|hours')) FROM people UNION ALL SELECT 1, 2",
        "SELECT round(AVG(COLUMNS(['age', 'hours'])), 1) FROM people",
        "SELECT EXISTS (SELECT DISTINCT age FROM people)",
        "SELECT EXISTS (SELECT DISTINCT age FROM people), COUNT(*) FROM people",
        "(SELECT (SELECT DISTINCT COUNT(*) FROM people))",
        "SELECT DISTINCT (SELECT COUNT(*) FROM people) + 1, (SELECT ALL AVG(age) FROM people)",
        "SELECT source, SUM(COUNT(*)) OVER w / AVG(COUNT(*)) OVER (w ROWS 1 PRECEDING) FROM events "
        "GROUP BY source WINDOW w AS (ORDER BY source)",
        "(SELECT NOT employed, round(AVG(AGE), 1) FROM people GROUP BY 1)",
    ],
)
def test_columns_are_duckdbs(
    session: Session, plain: duckdb.DuckDBPyConnection, statement: str
) -> None:
    expected = plain.sql(statement).to_arrow_table().schema
    table = session.execute(statement).table
    assert table is not None
    assert [str(field.type) for field in table.schema] == [str(field.type) for field in expected]
    assert [name.lower() for name in table.column_names] == [x.lower() for x in expected.names]


@pytest.mark.parametrize(("factor", "cells"), [("1.000", 5), ("1.50000", 61)])
def test_zeros_behind_the_point_are_no_more_levels(
    session: Session, factor: str, cells: int
) -> None:
    """Quantities are 1 to 5; of half steps, each tenth between is a level."""
    table = session.execute(
        f"SELECT x, COUNT(*) FROM (SELECT cid, MAX(qty * {factor}) AS x FROM sales GROUP BY cid) "
        "GROUP BY x"
    ).table
    assert table is not None
    assert table.num_rows == cells


@pytest.mark.parametrize("texts", [("qty * 1.00", "qty * 1.0"), ("qty * 1.0", "qty * 1.00")])
def test_equal_aggregates_have_one_type(session: Session, texts: tuple[str, str]) -> None:
    table = session.execute(f"SELECT SUM({texts[0]}), SUM({texts[1]}) FROM sales").table
    assert table is not None
    assert [str(type_) for type_ in table.schema.types] == ["decimal128(38, 1)"] * 2


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT z.ward, SUM(COUNT(*)) OVER () FROM visits GROUP BY ward", '"z" is not the table'),
        (
            "SELECT p.ward, SUM(COUNT(*)) OVER () FROM visits v JOIN people p ON p.id = v.person "
            "GROUP BY ward",
            'no column "p.ward"',
        ),
        ("SELECT region AS educ, COUNT(*) FROM people GROUP BY educ", '"region" is neither a key'),
        ("SELECT AVG(age) FROM people, (VALUES (1)) AS p (age)", "behind its table"),
        ("SELECT age, COUNT(*) FROM people, range(3) AS p (age) GROUP BY age", "behind its table"),
        ("SELECT COUNT(*) FROM people LIMIT 9223372036854775808", "take a whole number"),
        ("SELECT COUNT(*) FROM people OFFSET 9223372036854775808", "take a whole number"),
        (
            "SELECT day, COUNT(*) / SUM(COUNT(*)) OVER () FROM stays GROUP BY day LIMIT 1e19",
            "INT64",
        ),
        ("SELECT COUNT(*) FROM stays WHERE day + to_days('2') > day", "to_days"),
        ("SELECT COUNT(*) FROM odd WHERE f4 = rate", "x::DOUBLE"),
        ("SELECT COUNT(*) FROM odd WHERE f4 IN (1, rate)", "x::DOUBLE"),
        ("SELECT COUNT(*) FROM odd WHERE nullif(f4, rate) IS NULL", "x::DOUBLE"),
        ("SELECT COUNT(*) FROM people WHERE income::FLOAT > 1", "SUM, AVG"),
        ("SELECT MAX(income::FLOAT) FROM people", "SUM, AVG"),
        ("SELECT COUNT(DISTINCT income::REAL) FROM people", "SUM, AVG"),
        ("SELECT SUM(x) FROM (SELECT income::FLOAT AS x FROM people)", "SUM, AVG"),
        ("SELECT MAD(age) FROM people", "write MEDIAN"),
        ("SELECT COUNT(DISTINCT 2) FROM visits", "one different value"),
        (
            "SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(COLUMNS('age|hours')) "
            "FROM people)",
            "one row of one column",
        ),
        (
            "SELECT COUNT(*) FROM people WHERE age IN (SELECT AVG(COLUMNS('age|hours')) "
            "FROM people)",
            "aggregates over many units",
        ),
        ("SELECT DISTINCT AVG(COLUMNS('age|hours')) FROM people", "several columns"),
        (
            "SELECT AVG(COLUMNS('age|hours')) FROM people QUALIFY row_number() OVER () = 1",
            "several columns",
        ),
        ("SELECT COUNT(DISTINCT v) FROM visits, (VALUES (2)) AS p (v)", "one different value"),
    ],
)
def test_what_duckdb_answers_otherwise_is_refused(
    session: Session, statement: str, message: str
) -> None:
    """A key was named by any table in front of it, where a window parted the statement. DuckDB has
    as many outputs as COLUMNS means, and the query around has one of them."""
    check_refused_unpaid(session, statement, message)
