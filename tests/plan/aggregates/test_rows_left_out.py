"""`left_out = true` tells which share of the rows a bound leaves out, and pays for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

ROWS = """
CREATE TABLE visits AS
SELECT person, person % 3 AS ward
FROM range(2000) AS p(person), range(CASE WHEN person % 20 = 0 THEN 60 ELSE 3 END) AS n(i);
CREATE TABLE people AS SELECT DISTINCT person AS id FROM visits;
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 10);
ALTER TABLE visits ADD PRIVACY_LINK (person) REFERENCES people(id);
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN (0, 1, 2);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 100000);
"""
"""At a twentieth of epsilon = 2,000 noise other than 0 has probability below exp(-100) a cell."""
ASKED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}, left_out = true{}) "


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("left") / "v.duckdb", role="owner") as session:
        session.execute(ROWS)
        yield session


def shares(message: str) -> list[int]:
    """The share and its ends, in percent."""
    return [int(n) for n in re.findall(r"(\d+)(?: %| to)", message)[:3]]


def test_the_share_of_the_rows_beyond_the_bound_is_told(owner: Session) -> None:
    """100 of 2,000 people have 60 visits: 50 of each are left out, 5,000 of 11,700 rows: 43 %."""
    answer = owner.execute(ASKED.format(2000, "") + "COUNT(*) AS n FROM visits")
    assert answer.table is not None
    assert answer.table.column("n")[0].as_py() == pytest.approx(6700, abs=1)
    about, least, up_to = shares(answer.message)
    assert least <= 43 <= up_to
    assert up_to - least <= 8
    assert abs(about - 43) <= 3
    assert answer.epsilon == pytest.approx(2000)


def test_a_smaller_bound_of_the_statement_leaves_out_more(owner: Session) -> None:
    """Three visits of each are kept: 57 of 100 people, 5,700 of 11,700 rows: 49 %."""
    asked = ASKED.format(2100, ", max_rows_contributed = 3")
    about, least, up_to = shares(owner.execute(asked + "COUNT(*) AS n FROM visits").message)
    assert least <= 49 <= up_to
    assert abs(about - 49) <= 3


def test_rows_that_where_drops_are_not_left_out(owner: Session) -> None:
    asked = ASKED.format(2200, "") + "COUNT(*) AS n FROM visits WHERE person % 20 > 0"
    assert "no rows beyond 10 of a unit were seen" in owner.execute(asked).message


def test_it_is_explained_and_its_price_is_a_part_of_the_whole(owner: Session) -> None:
    table = owner.execute(
        "EXPLAIN PRIVACY "
        + ASKED.format(80, "")
        + "ward, COUNT(*) AS n FROM visits WHERE person > 5 GROUP BY ward"
    ).table
    assert table is not None
    rows = {row["measurement"]: row for row in table.to_pylist()}
    assert rows["units by how many rows they have"]["epsilon"] == pytest.approx(4)
    assert rows["units by how many rows they have"]["sensitivity"] == 1
    assert rows["total"]["epsilon"] == pytest.approx(80)


@pytest.mark.parametrize(
    "statement",
    [
        "COUNT(*) AS n FROM visits v JOIN people p ON v.person = p.id",
        "AVG(n) AS a FROM (SELECT person, COUNT(*) AS n FROM visits GROUP BY person) AS s",
    ],
)
def test_a_join_has_no_such_share(owner: Session, statement: str) -> None:
    before = owner.execute("SHOW PRIVACY BUDGET").table
    with pytest.raises(Refused, match="left_out is told of the rows of one table"):
        owner.execute(ASKED.format(70, "") + statement)
    assert owner.execute("SHOW PRIVACY BUDGET").table == before
