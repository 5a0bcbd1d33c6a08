"""AVG over no rows: noised counts of nobody are as often below zero as above."""

from __future__ import annotations

from pathlib import Path

import pytest

from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people (id INTEGER PRIMARY KEY, sex INTEGER, income DOUBLE);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 100);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 100{})
"""


@pytest.mark.parametrize("delta", ["", ", delta = 1e-9"])
def test_a_mean_of_nobody_is_answered(tmp_path: Path, delta: str) -> None:
    """Twelve statements: that all noised counts are above zero has a probability of 2 ** -12."""
    with Session(tmp_path / "v.duckdb", role="owner") as owner:
        owner.run(MAKE.format(delta))
        for step in range(12):
            price = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {0.1 + step * 1e-3})"
            table = owner.run(f"SELECT {price} AVG(income) AS a FROM people")[-1].table
            assert table is not None
            assert table.num_rows == 1
