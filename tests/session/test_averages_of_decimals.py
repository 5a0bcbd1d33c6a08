"""An average of decimals inside a unit is the double next to the quotient, as DuckDB's is."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites.run import without_noise
from support.templates import vault_of

from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people AS SELECT i AS id FROM range(500) AS r(i);
ALTER TABLE people ADD PRIMARY KEY (id);
CREATE TABLE orders AS
SELECT i % 500 AS person,
    (i * 7919 % 100000 / 100)::DECIMAL(9, 2) AS total FROM range(1500) AS r(i);
ALTER TABLE people SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1), BUDGET (epsilon = 100000));
ALTER TABLE orders SET PRIVACY (
    BOUND (rows_per_unit = 3), LINK (person) REFERENCES people(id), COLUMN total BETWEEN (0, 1000)
);
"""


@pytest.mark.parametrize("compared", [">", ">=", "="])
def test_totals_are_compared_with_an_average_as_in_duckdb(tmp_path: Path, compared: str) -> None:
    """Of 500 units some 93 have a total that is their average. As a sum divided by a count, in
    doubles, 13 of them were above theirs: 37.02 / 3 is 12.340000000000002."""
    average = "(SELECT AVG(total) FROM orders AS i WHERE i.person = o.person)"
    statement = f"COUNT(*) AS n FROM orders AS o WHERE total {compared} {average}"
    vault = vault_of(MAKE, tmp_path / "v.duckdb")
    with Session(vault, role="owner", principal="olga") as owner:
        exact = owner.execute(f"SELECT {statement}").table
        owner.execute("SET privacy_epsilon = 100")
        for _ in without_noise():
            noised = owner.execute(f"SELECT WITH DIFFERENTIAL_PRIVACY {statement}").table
    assert exact is not None
    assert noised is not None
    assert noised.to_pylist() == exact.to_pylist()
    assert exact.to_pylist()[0]["n"] > 50
