"""Groups inside a unit that meet public rows, where nobody verified that the bound holds."""

from pathlib import Path

import pytest
from suites.run import without_noise
from support.templates import vault_of

from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people AS SELECT i AS id FROM range(50) AS r(i);
CREATE TABLE visits AS
SELECT i % 50 AS person, i % 3 AS ward, i % 7 AS kind FROM range(1000) AS r(i);
CREATE TABLE wards AS SELECT i AS id, 'w' || i AS name FROM range(3) AS r(i);
ALTER TABLE wards ADD PRIMARY KEY (id);
ALTER TABLE wards SET PUBLIC;
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people SET PRIVACY (KEY (id), BUDGET (epsilon = 1000000));
ALTER TABLE visits SET PRIVACY (LINK (person) REFERENCES people(id), BOUND (rows_per_unit = 5),
    COLUMN ward IN (0, 1, 2));
"""
"""Each of 50 people has 20 visits, all combinations of ward and kind but one among them."""


@pytest.mark.parametrize(("keys", "kept"), [("person, ward", 3), ("person, ward, kind", 5)])
def test_the_bound_holds_for_groups(keys: str, kept: int, tmp_path: Path) -> None:
    groups = f"(SELECT {keys}, COUNT(*) AS n FROM visits GROUP BY ALL)"
    asked = f"COUNT(*) FROM {groups} AS g JOIN wards AS w ON g.ward = w.id GROUP BY w.name"
    with Session(vault_of(MAKE, tmp_path / "v.duckdb"), principal="ann") as ann:
        ann.execute("SET privacy_epsilon = 100")
        for _ in without_noise():
            table = ann.execute(f"SELECT WITH DIFFERENTIAL_PRIVACY {asked}").table
    assert table is not None
    assert sum(table.column(0).to_pylist()) == 50 * kept
