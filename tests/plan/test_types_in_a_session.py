"""DECIMAL, ENUM, UUID and TIMESTAMPTZ through a whole session: asked, noised and shown."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

ROWS = """
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TABLE people AS SELECT
    ('00000000-0000-0000-0000-' || lpad(i::VARCHAR, 12, '0'))::UUID AS id,
    (CASE i % 3 WHEN 0 THEN 'sad' WHEN 1 THEN 'ok' ELSE 'happy' END)::mood AS feels,
    (i % 5 / 10)::DECIMAL(4, 1) AS z,
    TIMESTAMPTZ '2020-01-01 00:00:00+00' + to_hours(i) AS at
    FROM range(3000) r(i);
ALTER TABLE people ADD PRIMARY KEY (id);
CREATE TABLE orders AS SELECT id AS buyer FROM people;
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE orders ADD PRIVACY_LINK (buyer) REFERENCES people (id);
ALTER TABLE people ALTER COLUMN feels SET PRIVACY DOMAIN IN ('sad', 'ok', 'happy');
ALTER TABLE people ALTER COLUMN z SET PRIVACY DOMAIN BETWEEN (0, 0.4);
ALTER TABLE people ALTER COLUMN at SET PRIVACY DOMAIN
    BETWEEN (TIMESTAMP '2020-01-01 00:00:00', TIMESTAMP '2020-05-31 00:00:00');
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
"""
NOISE = 8
"""Above 60 standard deviations of the noise at epsilon 20, which is 0.13 or less: 10**-9 and less
of all runs fail by chance."""


@pytest.fixture(scope="module")
def analyst(tmp_path_factory: pytest.TempPathFactory) -> Session:
    vault: Path = tmp_path_factory.mktemp("types") / "people.duckdb"
    with Session(vault, role="owner") as owner:
        owner.execute(ROWS)
    session = Session(vault)
    session.execute("SET privacy_epsilon = 20")
    return session


def rows_of(analyst: Session, sql: str) -> list[dict[str, object]]:
    table = analyst.execute(sql).table
    assert table is not None
    return table.to_pylist()


def test_enum_keys_sort_by_their_declared_order(analyst: Session) -> None:
    rows = rows_of(analyst, "SELECT feels, COUNT(*) AS n FROM people GROUP BY feels ORDER BY feels")
    assert [row["feels"] for row in rows] == ["sad", "ok", "happy"]
    assert "ENUM" in str(rows_of(analyst, "DESCRIBE people"))


def test_decimals_are_keys_and_conditions(analyst: Session) -> None:
    rows = rows_of(analyst, "SELECT z, COUNT(*) AS n FROM people GROUP BY z")
    assert [row["z"] for row in rows] == [Decimal(i) / 10 for i in range(5)]
    assert all(row["n"] == pytest.approx(600, abs=NOISE) for row in rows)
    for condition, expected in (
        ("z * 0.1 = 0.03", 600),
        ("z IN (0.3, 0.1)", 1200),
        ("z + 0.1 = 0.3", 600),
        ("CAST(z + 0.2 AS INTEGER) = 1", 1200),  # 0.5 and 0.6
    ):
        (row,) = rows_of(analyst, f"SELECT COUNT(*) AS n FROM people WHERE {condition}")
        assert row["n"] == pytest.approx(expected, abs=NOISE), condition


def test_uuids_are_joined_counted_and_compared(analyst: Session) -> None:
    for sql, expected in (
        ("SELECT COUNT(DISTINCT id) AS n FROM people", 3000),
        ("SELECT COUNT(*) AS n FROM people p JOIN orders o ON o.buyer = p.id", 3000),
        (
            "SELECT COUNT(*) AS n FROM (SELECT id, COUNT(*) AS k FROM people GROUP BY id) "
            "WHERE k = 1",
            3000,
        ),
    ):
        (row,) = rows_of(analyst, sql)
        assert row["n"] == pytest.approx(expected, abs=NOISE), sql
    with pytest.raises(Refused, match="not a UUID"):
        analyst.execute("SELECT COUNT(*) FROM people WHERE id = 'seven'")


def test_moments_with_a_zone_are_told_in_utc(analyst: Session) -> None:
    before = "SELECT COUNT(*) AS n FROM people WHERE at < '2020-01-02 02:00:00+02'"
    assert rows_of(analyst, before)[0]["n"] == pytest.approx(24, abs=NOISE)
    months = rows_of(
        analyst,
        "SELECT date_trunc('month', at) AS m, COUNT(*) AS n FROM people GROUP BY 1 ORDER BY 1",
    )
    assert [str(row["m"])[:7] for row in months] == [f"2020-0{i}" for i in range(1, 6)]
    assert months[0]["n"] == pytest.approx(744, abs=NOISE)
