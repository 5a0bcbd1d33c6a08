"""A public column that has one value for each value of a key is that value: nothing is measured."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal

import pytest
from support.templates import vault_of

from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE sales AS SELECT i AS id, (1 + i % 4)::INTEGER AS shop FROM range(400) AS t(i);
ALTER TABLE sales ADD PRIMARY KEY (id);
ALTER TABLE sales SET PRIVACY (KEY (id), COLUMN shop BETWEEN (1, 4), BUDGET (epsilon = 100));
CREATE TABLE shops AS SELECT * FROM (VALUES
    (1, 'Bonn', 'DE', 2.50::DECIMAL(5, 2), DATE '2020-01-02'), (2, 'Berlin', 'DE', 3.25, NULL),
    (3, 'Nice', 'FR', 9.75, DATE '2021-03-04'), (4, 'Paris', 'FR', NULL, DATE '2019-12-31')
) AS v (shop, city, country, rent, since);
ALTER TABLE shops SET PUBLIC;
"""
ROWS = "FROM sales JOIN shops s USING (shop) GROUP BY"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = vault_of(SETUP, tmp_path_factory.mktemp("told") / "sales.duckdb")
    with Session(path) as opened:
        opened.execute("SET privacy_epsilon = 1")
        yield opened


def test_values_are_those_of_the_public_table(session: Session) -> None:
    """MAX(s.rent) of one shop was a noised quantile over the rents of all shops."""
    rows = session.execute(
        "SELECT shop, MAX(s.rent) AS rent, AVG(s.rent) AS mean, any_value(s.city) AS city, "
        f"MIN(s.since) AS since, COUNT(*) AS n {ROWS} shop ORDER BY shop"
    ).table
    assert rows is not None
    by_shop = [tuple(row.values())[1:5] for row in rows.to_pylist()]
    assert by_shop == [
        (Decimal("2.50"), 2.5, "Bonn", dt.date(2020, 1, 2)),
        (Decimal("3.25"), 3.25, "Berlin", None),
        (Decimal("9.75"), 9.75, "Nice", dt.date(2021, 3, 4)),
        (None, None, "Paris", dt.date(2019, 12, 31)),
    ]


def measured(session: Session, statement: str) -> list[str]:
    rows = session.execute(f"EXPLAIN PRIVACY {statement}").table
    assert rows is not None
    return [row["measurement"] for row in rows.to_pylist() if row["mechanism"]]


def test_nothing_is_measured_for_them(session: Session) -> None:
    told = f"SELECT shop, MAX(s.rent) AS rent, COUNT(*) AS n {ROWS} shop"
    assert measured(session, told) == ["count of rows"]


def test_what_a_key_does_not_tell_is_measured(session: Session) -> None:
    several = f"SELECT s.country, MAX(s.rent) AS rent, COUNT(*) AS n {ROWS} s.country"
    assert len(measured(session, several)) > 1
