"""Keys of several columns: a unit is a combination of values, and rows without one are nobody's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from suites.run import without_noise
from support.templates import vault_of

from sqlpriv.errors import DeclarationError, Refused
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE cards AS
SELECT i % 7 AS bank, CASE WHEN i % 50 > 0 THEN 'c' || (i // 7 % 40) END AS card,
    i % 2 AS sex, i * 37 % 1000 AS spent FROM range(2800) AS r(i);
CREATE TABLE holders AS
SELECT DISTINCT bank, card, bank * 100 + (card[2:])::INTEGER AS num FROM cards WHERE card <> '';
ALTER TABLE holders ADD PRIMARY KEY (num);
CREATE TABLE calls AS
SELECT num, i % 3 AS kind FROM holders, range(2) AS r(i);
ALTER TABLE cards SET PRIVACY (
    KEY (bank, card), BOUND (rows_per_unit = 8), COLUMN sex IN (0, 1), COLUMN bank IN (0, 1),
    COLUMN spent BETWEEN (0, 1000), BUDGET (epsilon = 100000)
);
ALTER TABLE holders SET PRIVACY (
    KEY (bank, card), BUDGET (epsilon = 100000), BOUND (rows_per_unit = 1)
);
ALTER TABLE calls SET PRIVACY (BOUND (rows_per_unit = 1), LINK (num) REFERENCES holders(num));
"""
"""274 of 280 combinations have 10 rows, as far as their card is not NULL."""


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    vault: Path = vault_of(MAKE, tmp_path_factory.mktemp("keys") / "v.duckdb")
    with Session(vault, role="owner", principal="olga") as session:
        session.execute("SET privacy_epsilon = 100")
        yield session


def exactly(owner: Session, select: str) -> list[tuple[Any, ...]]:
    """Returns the rows of a query that DuckDB answers."""
    table = owner.execute(select).table
    assert table is not None
    return [tuple(row.values()) for row in table.to_pylist()]


def privately(owner: Session, select: str) -> list[tuple[Any, ...]]:
    """Returns the rows of a private query, drawn without noise."""
    for _ in without_noise():
        return exactly(owner, f"SELECT WITH DIFFERENTIAL_PRIVACY {select}")
    raise AssertionError


def test_rows_beyond_the_bound_of_a_combination_and_of_nobody_are_left_out(owner: Session) -> None:
    kept = (
        "SELECT sum(least(n, 8))::BIGINT FROM (SELECT count(*) AS n FROM cards"
        " WHERE card IS NOT NULL GROUP BY bank, card)"
    )
    assert privately(owner, "COUNT(*) FROM cards") == exactly(owner, kept)


@pytest.mark.parametrize(
    "select",
    [
        "COUNT(DISTINCT (bank, card)) FROM cards",
        "COUNT(DISTINCT (card, bank)) FROM cards",
        "COUNT(*) FROM (SELECT bank, card FROM cards GROUP BY bank, card) AS t",
        "COUNT(*) FROM (SELECT card, bank, MAX(spent) AS m FROM cards GROUP BY ALL) AS t",
    ],
)
def test_combinations_are_counted(owner: Session, select: str) -> None:
    there = "SELECT count(DISTINCT (bank, card)) FROM cards WHERE card IS NOT NULL"
    assert privately(owner, select) == exactly(owner, there)


def test_rows_of_a_combination_meet_in_a_join(owner: Session) -> None:
    on = "AS a JOIN cards AS b USING (bank, card) WHERE a.spent < 200 AND b.spent > 990"
    there = f"SELECT count(*) FROM (SELECT DISTINCT a.bank, a.card FROM cards {on})"
    asked = f"COUNT(DISTINCT (a.bank, a.card)) FROM cards {on}"
    asked = asked.replace("USING (bank, card)", "ON a.bank = b.bank AND b.card = a.card")
    # of each unit eight of ten rows are kept: not all that meet are found
    ((found,),), ((most,),) = privately(owner, asked), exactly(owner, there)
    assert 0 < found <= most


@pytest.mark.parametrize(
    "on", ["a.card = b.card", "a.bank = b.bank", "a.bank = b.bank AND a.sex = b.sex"]
)
def test_a_part_of_the_key_joins_rows_of_different_units(owner: Session, on: str) -> None:
    with pytest.raises(Refused, match="rows of different units would meet"):
        privately(owner, f"COUNT(*) FROM cards AS a JOIN cards AS b ON {on}")


def test_a_part_of_the_key_is_not_the_unit(owner: Session) -> None:
    """Seven banks, each of 40 units: were a bank taken for a unit, 7 x 8 rows would be left."""
    assert privately(owner, "COUNT(DISTINCT bank) FROM cards") == [(7,)]
    with pytest.raises(Refused, match="aggregates over many units"):
        privately(owner, "COUNT(*) FROM (SELECT card, COUNT(*) AS n FROM cards GROUP BY card) AS t")


def test_rows_are_linked_to_a_row_of_the_unit(owner: Session) -> None:
    units = exactly(owner, "SELECT count(*) FROM holders")
    assert privately(owner, "COUNT(*) FROM calls") == units
    assert privately(owner, "COUNT(*) FROM calls JOIN holders USING (num)") == units


def test_what_is_shown_declares_the_same(owner: Session) -> None:
    table = owner.execute("SHOW PRIVACY DECLARATIONS").table
    assert table is not None
    lines = table.column(0).to_pylist()
    assert "    KEY (bank, card)," in lines
    before = owner._access.tables.contracts()["cards"]
    owner.run("\n".join(lines[lines.index("ALTER TABLE cards SET PRIVACY (") :]))
    assert owner._access.tables.contracts()["cards"].unit == before.unit
    (row,) = [r for r in exactly(owner, "SHOW PRIVACY TABLES") if r[0] == "cards"]
    assert "bank, card" in row


def test_a_renamed_part_stays_one_and_a_dropped_one_ends_the_protection(tmp_path: Path) -> None:
    vault = vault_of(MAKE, tmp_path / "v.duckdb")
    with Session(vault, role="owner", principal="olga") as owner:
        owner.execute("ALTER TABLE cards RENAME COLUMN card TO number")
        unit = owner._access.tables.contracts()["cards"].unit
        assert unit is not None
        assert unit.columns == ("bank", "number")
        owner.execute("ALTER TABLE cards DROP COLUMN bank")
    with Session(vault, principal="ann") as ann, pytest.raises(Refused):
        ann.execute("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM cards")


@pytest.mark.parametrize(
    ("key", "words"),
    [("bank, nothing", "has no column nothing"), ("bank, rate", "cannot name a privacy unit")],
)
def test_a_key_that_names_nobody_is_refused(tmp_path: Path, key: str, words: str) -> None:
    with Session(tmp_path / "v.duckdb", role="owner", principal="olga") as owner:
        owner.execute("CREATE TABLE t (bank INTEGER, card VARCHAR, rate DOUBLE)")
        with pytest.raises(DeclarationError, match=words):
            owner.execute(f"ALTER TABLE t ADD PRIVACY_KEY ({key})")
        owner.execute("ALTER TABLE t ADD PRIVACY_KEY (bank, card)")
        with pytest.raises(DeclarationError, match="say how many rows of one unit count"):
            owner.execute("ALTER TABLE t SET PU")
