"""Links of several columns: rows belong to the unit that a combination of their values names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from suites.run import without_noise
from support.templates import vault_of

from sqlpriv.errors import DeclarationError, Refused
from sqlpriv.kernel.terms.contract import contracts_in_force
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE homes AS SELECT 2019 + i % 3 AS year, 'h' || (i // 3) AS home, i % 4 AS region
FROM range(300) AS r(i);
CREATE TABLE persons AS SELECT home, year, (n * 7 + length(home)) % 2 AS sex, n * 20 AS age
FROM homes, range(3) AS r(n);
INSERT INTO persons VALUES (NULL, 2019, 1, 50), ('h1', NULL, 1, 50), ('gone', 2020, 1, 50);
ALTER TABLE homes SET PRIVACY (KEY (year, home), BOUND (rows_per_unit = 1),
    COLUMN region IN (0, 1, 2, 3), BUDGET (epsilon = 1000000));
"""
LINK = """ALTER TABLE persons SET PRIVACY (LINK (home, year) REFERENCES homes(home, year),
    BOUND (rows_per_unit = 3), COLUMN sex IN (0, 1), COLUMN age BETWEEN (0, 99))"""
"""The columns stand in another order than those of the key."""


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    vault: Path = vault_of(f"{MAKE}{LINK};", tmp_path_factory.mktemp("links") / "v.duckdb")
    with Session(vault, role="owner", principal="olga") as session:
        session.execute("SET privacy_epsilon = 100")
        yield session


def rows(owner: Session, select: str) -> list[tuple[Any, ...]]:
    table = owner.execute(select).table
    assert table is not None
    return [tuple(row.values()) for row in table.to_pylist()]


def privately(owner: Session, select: str) -> list[tuple[Any, ...]]:
    for _ in without_noise():
        return rows(owner, f"SELECT WITH DIFFERENTIAL_PRIVACY {select}")
    raise AssertionError


def test_a_combination_names_the_unit(owner: Session) -> None:
    unit = owner._access.tables.contracts()["persons"].unit
    assert unit is not None
    assert (unit.table, unit.columns) == ("homes", ("year", "home"))


def test_rows_without_a_whole_name_are_nobodys(owner: Session) -> None:
    assert privately(owner, "COUNT(*) FROM persons") == [(901,)]  # one of a home that is gone


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("COUNT(DISTINCT (year, home)) FROM persons", 301),
        ("COUNT(*) FROM persons JOIN homes USING (year, home)", 900),
        ("COUNT(*) FROM persons p JOIN homes h ON p.home = h.home AND h.year = p.year", 900),
        (
            "COUNT(*) FROM homes h WHERE EXISTS (SELECT 1 FROM persons p WHERE p.home = h.home"
            " AND p.year = h.year AND p.age > 30)",
            300,
        ),
        (
            "COUNT(*) FROM (SELECT year, home, COUNT(*) AS n FROM persons GROUP BY ALL)"
            " WHERE n = 3",
            300,
        ),
    ],
)
def test_rows_meet_those_of_their_unit(owner: Session, select: str, expected: int) -> None:
    assert privately(owner, select) == [(expected,)]


@pytest.mark.parametrize("on", ["p.home = h.home", "p.year = h.year"])
def test_a_part_of_the_name_joins_rows_of_different_units(owner: Session, on: str) -> None:
    with pytest.raises(Refused, match="rows of different units would meet"):
        privately(owner, f"COUNT(*) FROM persons p JOIN homes h ON {on}")


def test_what_is_shown_declares_the_same(owner: Session) -> None:
    lines = [line for (line,) in rows(owner, "SHOW PRIVACY DECLARATIONS")]
    assert "    LINK (year, home) REFERENCES homes(year, home)," in lines
    before = owner._access.tables.contracts()["persons"]
    owner.run("\n".join(lines))
    assert owner._access.tables.contracts()["persons"].links == before.links
    roles = dict(r[:3:2] for r in rows(owner, "DESCRIBE persons"))
    assert roles["home"] == "part of the link to homes.home"


def test_what_a_link_leaves_out_is_said(tmp_path: Path) -> None:
    vault = vault_of(MAKE, tmp_path / "v.duckdb")
    with Session(vault, role="owner", principal="olga") as owner:
        message = owner.execute(LINK).message
        assert "2 rows without year, home, never read" in message
        assert "1 row of nobody in homes: each such year, home is a unit of its own" in message


def test_a_link_follows_new_names_and_ends(tmp_path: Path) -> None:
    vault = vault_of(f"{MAKE}{LINK};", tmp_path / "v.duckdb")
    with Session(vault, role="owner", principal="olga") as owner:
        owner.execute("ALTER TABLE persons RENAME COLUMN home TO household")
        owner.execute("ALTER TABLE homes RENAME COLUMN home TO id")
        (link,) = owner._access.tables.contracts()["persons"].links
        assert link.pairs == (("year", "year"), ("household", "id"))
        owner.execute("ALTER TABLE persons DROP PRIVACY_LINK (household, year)")
        assert not owner._access.tables.contracts()["persons"].links
        with pytest.raises(Refused, match="nobody declared whom"):
            owner.execute(
                "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM persons"
            )


@pytest.mark.parametrize(
    ("link", "words"),
    [
        (
            "(home, sex) REFERENCES homes(home, region)",
            r"privacy key of homes, which is \(year, home\)",
        ),
        ("(home, age) REFERENCES homes(year, home)", "values of two types name no one row"),
        ("(home, nothing) REFERENCES homes(home, year)", "has no column nothing"),
    ],
)
def test_a_link_that_names_no_unit_is_refused(tmp_path: Path, link: str, words: str) -> None:
    vault = vault_of(MAKE, tmp_path / "v.duckdb")
    with (
        Session(vault, role="owner", principal="olga") as owner,
        pytest.raises(DeclarationError, match=words),
    ):
        owner.execute(f"ALTER TABLE persons ADD PRIVACY_LINK {link}")


@pytest.mark.parametrize(
    "further",
    [
        [["year", "year"]],  # in another order than the key: units would go by two names
        [["year", "region"]],
        [["year", "year"], ["sex", "region"]],
        [],
    ],
)
def test_the_kernel_takes_no_link_but_one_to_the_whole_key(
    owner: Session, further: list[list[str]]
) -> None:
    catalog = [*owner._access.tables.contracts().values()]
    _, bodies = owner._access.kernel.ledger.declarations()
    link = ["home", "homes", "home", *further]
    declared = {**bodies, "persons": {**bodies["persons"], "links": [link]}}
    assert contracts_in_force(catalog, declared, {}, 1)["persons"].unit is None


def test_a_key_that_changes_ends_the_protection(tmp_path: Path) -> None:
    """The link no longer leads to whole units: nobody may read its rows."""
    vault = vault_of(f"{MAKE}{LINK};", tmp_path / "v.duckdb")
    with Session(vault, role="owner", principal="olga") as owner:
        owner.execute("ALTER TABLE homes ADD PRIVACY_KEY (home)")
        assert owner._access.tables.contracts()["persons"].unit is None


def test_foreign_keys_of_several_columns_are_links(tmp_path: Path) -> None:
    with Session(tmp_path / "v.duckdb", role="owner", principal="olga") as owner:
        owner.run("""CREATE TABLE homes (year INTEGER, home VARCHAR, PRIMARY KEY (year, home));
            CREATE TABLE persons (y INTEGER, h VARCHAR, FOREIGN KEY (y, h) REFERENCES homes);
            ALTER TABLE homes SET PRIVACY (KEY (year, home), BOUND (rows_per_unit = 1));
            ALTER TABLE persons SET PRIVACY BOUND (rows_per_unit = 2);
            ALTER TABLE persons SET PRIVACY FROM SCHEMA""")
        (link,) = owner._access.tables.contracts()["persons"].links
        assert link.pairs == (("y", "year"), ("h", "home"))


def test_a_day_and_the_timestamp_of_its_midnight_name_two_units(tmp_path: Path) -> None:
    """A column whose type changed after the declaration: a person would count as two."""
    vault = vault_of(
        """CREATE TABLE born AS SELECT DATE '2020-01-01' AS day, 1 AS number;
        CREATE TABLE seen AS SELECT DATE '2020-01-01' AS day, 1 AS number;
        ALTER TABLE born SET PRIVACY (KEY (day, number), BOUND (rows_per_unit = 1),
            BUDGET (epsilon = 1000000));
        ALTER TABLE seen SET PRIVACY (BOUND (rows_per_unit = 1),
            LINK (day, number) REFERENCES born(day, number));
        ALTER TABLE seen ALTER COLUMN day TYPE TIMESTAMP""",
        tmp_path / "v.duckdb",
    )
    both = "SELECT number FROM born UNION ALL SELECT number FROM seen"
    with Session(vault, role="owner", principal="olga") as owner:
        owner.execute("SET privacy_epsilon = 100")
        with pytest.raises(Refused, match="name their units in one way"):
            privately(owner, f"COUNT(*) FROM ({both})")
