"""OPTIONS (max_rows_contributed = …): fewer rows of a unit in one statement, less noise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

OWNED = """
CREATE TABLE people AS SELECT range AS id, range % 2 AS sex FROM range(1000);
ALTER TABLE people ADD PRIMARY KEY (id);
CREATE TABLE visits AS SELECT range % 1000 AS id, (range // 1000) % 3 AS ward FROM range(6000);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 8, groups_per_unit = 3);
ALTER TABLE visits ADD PRIVACY_LINK (id) REFERENCES people(id);
ALTER TABLE visits ALTER COLUMN ward SET PRIVACY DOMAIN IN (0, 1, 2);
ALTER TABLE people SET PRIVACY BUDGET (rho = 1e9);
"""


@pytest.fixture(scope="module")
def analyst(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    vault = tmp_path_factory.mktemp("vault") / "v.duckdb"
    with Session(vault, role="owner") as owner:
        owner.execute(OWNED)
    with Session(vault) as session:
        yield session


def counted(analyst: Session, options: str, rest: str = "") -> list[int]:
    options = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1e7{options})"
    table = analyst.execute(f"SELECT {options} COUNT(*) AS n FROM visits{rest}").table
    assert table is not None
    return table["n"].to_pylist()


def test_so_many_rows_of_each_unit_count(analyst: Session) -> None:
    """Each of 1,000 people has six visits, two in each ward; so much budget leaves no noise."""
    assert counted(analyst, "") == [6000]
    assert counted(analyst, ", max_rows_contributed = 4") == [4000]
    assert sum(counted(analyst, ", max_rows_contributed = 1", " STRATIFY BY ward")) == 2 * 3000
    both = ", max_rows_contributed = 2, max_groups_contributed = 1"
    assert sum(counted(analyst, both, " STRATIFY BY ward")) == 2 * 2000


def test_the_noise_is_for_so_many_rows(analyst: Session) -> None:
    def sigma(options: str) -> float:
        asked = f"OPTIONS (rho = 1{options}) COUNT(*) AS n FROM visits"
        told = analyst.execute(f"EXPLAIN PRIVACY SELECT WITH DIFFERENTIAL_PRIVACY {asked}").table
        assert told is not None
        return float(told["sigma"][0].as_py())

    assert sigma("") / sigma(", max_rows_contributed = 2") == pytest.approx(4, rel=1e-6)


@pytest.mark.parametrize("what", ["max_rows_contributed = 9", "max_groups_contributed = 4"])
def test_the_owners_bound_is_the_largest(analyst: Session, what: str) -> None:
    with pytest.raises(Refused, match="above the owner's bound"):
        counted(analyst, f", {what}")


def test_a_query_of_with_has_bounds_of_its_own(analyst: Session) -> None:
    """It is answered first, with all of the price; a price and a bound are no two prices."""
    options = "OPTIONS (rho = 1e7, max_rows_contributed = 4)"
    inner = f"SELECT WITH DIFFERENTIAL_PRIVACY {options} ward, COUNT(*) AS n FROM visits"
    asked = f"WITH w AS ({inner} GROUP BY ward) SELECT sum(n) AS n, max(ward) AS w FROM w LIMIT 1"
    table = analyst.execute(asked).table
    assert table is not None
    assert table.to_pylist() == [{"n": 4000, "w": 2}]
