"""Subqueries: columns of `*`, two outputs of one name, and a query called like its table."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from suites.run import without_noise
from support.refusals import check_refused_unpaid
from support.templates import vault_of

from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people AS
SELECT i AS id, 20 + i % 50 AS age, i % 2 AS sex FROM range(1000) AS r(i);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people SET PRIVACY (KEY (id), BUDGET (epsilon = 1000000),
    COLUMN age BETWEEN (0, 99) NOT NULL, COLUMN sex IN (0, 1) NOT NULL);
"""
YEARS = sum(20 + i % 50 for i in range(1000))
ASKED = {
    "SUM(age) FROM (SELECT * REPLACE (age + 1 AS age) FROM people) AS t": YEARS + 1000,
    "SUM(age) FROM (SELECT p.* EXCLUDE (sex) REPLACE (age * 2 AS age) FROM people p) AS t": 2
    * YEARS,
    "SUM(years) FROM (SELECT * RENAME (age AS years) FROM people) AS t": YEARS,
    "SUM(sex) FROM (SELECT * EXCLUDE (sex), 1 AS sex FROM people) AS t": 1000,
    "SUM(age) FROM (SELECT *, age + 1 AS age FROM people) AS t": YEARS,
    "SUM(age_1) FROM (SELECT *, age + 1 AS age FROM people) AS t": YEARS + 1000,
    "SUM(n) FROM (SELECT id, COUNT(*) AS n, 5 * COUNT(*) AS n FROM people GROUP BY id) AS t": 1000,
    "COUNT(*) FROM (FROM people WHERE age >= 45) AS t": 500,
    "SUM(age) FROM (SELECT age + 1 AS age FROM people) AS people": YEARS + 1000,
    "COUNT(*) FROM (SELECT id, age + 1 AS age FROM people) AS people JOIN people AS p USING (id)"
    " WHERE people.age > p.age": 1000,
}
"""Statement → DuckDB's answer, which calls the second output of a name `age_1`."""


@pytest.fixture(scope="module")
def ann(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    vault: Path = vault_of(MAKE, tmp_path_factory.mktemp("star") / "v.duckdb")
    with Session(vault, principal="ann") as session:
        session.execute("SET privacy_epsilon = 100")
        yield session


@pytest.mark.parametrize("asked", ASKED)
def test_a_subquery_has_the_columns_that_duckdb_gives_it(ann: Session, asked: str) -> None:
    for _ in without_noise():
        table = ann.execute(f"SELECT WITH DIFFERENTIAL_PRIVACY {asked}").table
    assert table is not None
    assert table.column(0).to_pylist() == [ASKED[asked]]


REFUSED = {
    "SELECT * EXCLUDE (zip) FROM people": 'no column "zip"',
    "SELECT * RENAME (zip AS z) FROM people": 'no column "zip"',
    "SELECT * REPLACE (1 AS zip) FROM people": 'no column "zip"',
}


@pytest.mark.parametrize("query", REFUSED)
def test_columns_that_are_not_there_are_refused(ann: Session, query: str) -> None:
    check_refused_unpaid(ann, f"SELECT COUNT(*) FROM ({query}) AS t", REFUSED[query])
