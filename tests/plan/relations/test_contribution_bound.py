"""OPTIONS (max_rows_contributed = …): fewer rows of a unit in one statement, less noise."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlpriv.errors import Refused
from sqlpriv.session.access.result import Result
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


@pytest.mark.parametrize(
    ("rest", "rows", "bound"),
    [
        (" v JOIN visits w ON v.id = w.id", 36_000, 64),
        (" v JOIN visits w ON v.id = w.id AND v.ward < w.ward", 12_000, 64),
        (" v LEFT JOIN visits w ON v.id = w.id AND w.ward = 1", 12_000, 64),
        (" v JOIN people p ON v.id = p.id", 6_000, 8),
        (" p JOIN people q ON p.id = q.id JOIN visits v ON v.id = q.id", 36_000, 64),
        (" v WHERE EXISTS (SELECT * FROM visits w WHERE w.id = v.id)", 6_000, 8),
        (" v JOIN (SELECT id, ward FROM visits GROUP BY id, ward) g USING (id, ward)", 6_000, 8),
        (" v JOIN (SELECT id, MAX(ward) AS w FROM visits GROUP BY id) g USING (id)", 6_000, 8),
    ],
)
def test_rows_that_meet_several_of_their_unit_all_count(
    analyst: Session, rest: str, rows: int, bound: int
) -> None:
    """Six visits of each unit, two in each ward; the owner allows eight. Noise is for the bound."""
    assert counted(analyst, "", rest) == [rows]
    asked = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = 1) COUNT(*) FROM visits{rest}"
    told = analyst.execute(f"EXPLAIN PRIVACY {asked}").table
    assert told is not None
    assert float(told["sigma"][0].as_py()) == pytest.approx(bound / 2**0.5, rel=1e-3)


AUTO = "WITH DIFFERENTIAL_PRIVACY OPTIONS (rho = {}, max_rows_contributed = auto) "


def test_how_many_rows_count_is_chosen_once_and_replayed(analyst: Session) -> None:
    """A fifth of rho = 1000 counts the units with a noise below 0.1; six visits end a cell."""
    asked = f"SELECT {AUTO.format(1000)} COUNT(*) AS n FROM visits"
    before = analyst.execute(f"EXPLAIN PRIVACY {asked}")
    assert _total(before) == pytest.approx(1000)
    assert "owner's bound" in before.message
    first, again = analyst.execute(asked), analyst.execute(asked)
    assert "max_rows_contributed = 6 was chosen: no rows beyond 6 of a unit" in first.message
    assert first.table is not None
    assert first.table["n"].to_pylist() == pytest.approx([6000], abs=30)
    assert first.price is not None
    assert first.price.value == pytest.approx(1000)
    assert again.table == first.table
    assert again.price is not None
    assert again.price.nano == 0
    assert _total(analyst.execute(f"EXPLAIN PRIVACY {asked}")) == 0


def test_another_figure_of_the_same_rows_pays_for_no_choice(analyst: Session) -> None:
    asked = f"SELECT {AUTO.format(2000)} {{}} COUNT(*) AS n FROM visits"
    first = analyst.execute(asked.format("ward,") + " GROUP BY ward")
    other = analyst.execute(asked.format(""))
    assert first.price is not None
    assert other.price is not None
    assert first.price.value == pytest.approx(2000)
    assert other.price.value == pytest.approx(1600)


def test_what_is_chosen_by_strata_is_of_one_stratum(analyst: Session) -> None:
    """Each unit has two rows in each of three wards."""
    asked = f"SELECT {AUTO.format(3000)} ward, COUNT(*) AS n FROM visits STRATIFY BY ward"
    assert (
        "max_rows_contributed = 2 was chosen: no rows beyond 6 " in analyst.execute(asked).message
    )


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("COUNT(*) FROM people", "one row of a unit counts"),
        ("COUNT(*) FROM visits v JOIN people p ON v.id = p.id", "of one table"),
    ],
)
def test_where_nothing_can_be_chosen_nothing_is_charged(
    analyst: Session, sql: str, words: str
) -> None:
    before = analyst.execute("SHOW PRIVACY BUDGET").table
    with pytest.raises(Refused, match=words):
        analyst.execute(f"SELECT {AUTO.format(70)} {sql}")
    assert analyst.execute("SHOW PRIVACY BUDGET").table == before


def _total(explained: Result) -> float:
    assert explained.table is not None
    rows = {row["measurement"]: row for row in explained.table.to_pylist()}
    return float(rows["total"]["rho"])


@pytest.mark.parametrize(
    ("what", "rest"),
    [
        ("max_rows_contributed = 9", ""),
        ("max_groups_contributed = 9", ""),
        ("max_groups_contributed = 9", " GROUP BY ward"),
        ("max_groups_contributed = 4", " STRATIFY BY ward"),
    ],
)
def test_the_owners_bound_is_the_largest(analyst: Session, what: str, rest: str) -> None:
    with pytest.raises(Refused, match="above the owner's bound"):
        counted(analyst, f", {what}", rest)


def test_groups_are_as_many_as_a_unit_has_rows(analyst: Session) -> None:
    """Eight rows of a person count, so that a person is in eight groups at most: no group is cut,
    and the noise is for eight rows whatever the number of groups is."""
    assert counted(analyst, ", max_groups_contributed = 8", " GROUP BY ward") == [2000] * 3
    assert counted(analyst, ", max_groups_contributed = 2", " GROUP BY ward") == [2000] * 3


def test_a_query_of_with_has_bounds_of_its_own(analyst: Session) -> None:
    """It is answered first, with all of the price; a price and a bound are no two prices."""
    options = "OPTIONS (rho = 1e7, max_rows_contributed = 4)"
    inner = f"SELECT WITH DIFFERENTIAL_PRIVACY {options} ward, COUNT(*) AS n FROM visits"
    asked = f"WITH w AS ({inner} GROUP BY ward) SELECT sum(n) AS n, max(ward) AS w FROM w LIMIT 1"
    table = analyst.execute(asked).table
    assert table is not None
    assert table.to_pylist() == [{"n": 4000, "w": 2}]
