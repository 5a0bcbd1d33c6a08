"""MODE is one of the column's values, however many there are, and however many groups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.refusals import check_refused_unpaid
from support.templates import vault_of

from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE buys AS SELECT i AS id, i % 60 AS shop, i % 1000 AS price, 2017 AS product
FROM range(60000) AS r(i);
ALTER TABLE buys ADD PRIMARY KEY (id);
ALTER TABLE buys SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1), COLUMN shop BETWEEN (0, 59),
    COLUMN price BETWEEN (0, 999), COLUMN product BETWEEN (1, 2500), BUDGET (epsilon = 100000));
"""


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    with Session(vault_of(MAKE, tmp_path / "v.duckdb"), principal="ann") as session:
        session.execute("SET privacy_epsilon = 8")
        yield session


def test_a_mode_is_a_value_of_a_list_that_is_longer_than_a_grid(session: Session) -> None:
    """Of 2,500 products a grid of 2,048 cells had the middle of a cell for a value: a TypeError,
    after the charge. 60,000 rows of one product stand out of any choice at this price."""
    table = session.execute("SELECT MODE(product) AS m FROM buys").table
    assert table.to_pylist() == [{"m": 2017}]


def test_a_mode_of_too_many_levels_is_refused_before_it_is_paid(session: Session) -> None:
    """1,140 groups of 1,000 values; a grid of 877 cells for each had been a TypeError, too."""
    statement = "SELECT shop, id % 10 AS part, MODE(price) AS m FROM buys GROUP BY ALL"
    check_refused_unpaid(session, statement, "1140000 cells")
