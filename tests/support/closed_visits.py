"""Visits of patients that an owner declared closed before October, and questions about them.

Prices are so high that two answers to one question differ nearly surely, were the second one drawn
anew: what is free is compared with what was answered before a write.
"""

from __future__ import annotations

from sqlpriv.session.session import Result, Session

DAY = "DATE '2026-10-01'"
MAKE = """
CREATE TABLE patients AS SELECT i AS id, i % 2 AS sex FROM range(300) r(i);
ALTER TABLE patients ADD PRIMARY KEY (id);
CREATE TABLE visits AS SELECT i AS number, i % 300 AS patient,
    DATE '2026-09-01' + CAST(i % 60 AS INTEGER) AS day,
    CAST(DATE '2026-09-01' + CAST(i % 60 AS INTEGER) AS TIMESTAMP) AS moment,
    i % 3 AS ward, i % 100 AS cost, 'd' || (i % 4) AS doctor FROM range(1200) r(i);
CREATE TABLE tests AS SELECT i % 300 AS patient,
    DATE '2026-09-01' + CAST(i % 60 AS INTEGER) AS taken, i % 5 AS kind FROM range(600) r(i);
CREATE TABLE wards AS SELECT i AS number, 'w' || i AS title FROM range(3) r(i);
ALTER TABLE wards SET PUBLIC;
ALTER TABLE patients SET PRIVACY (KEY (id), COLUMN sex IN (0, 1),
    BUDGET (epsilon = 99999, delta = 1e-9, keys_delta = 1e-7, per = 'month'));
ALTER TABLE visits SET PRIVACY (LINK (patient) REFERENCES patients(id),
    BOUND (rows_per_unit = 4, groups_per_unit = 4), COLUMN ward IN (0, 1, 2),
    COLUMN cost BETWEEN (0, 99), WINDOW (day, closed_before = DATE '2026-10-01'));
ALTER TABLE tests SET PRIVACY (LINK (patient) REFERENCES patients(id),
    BOUND (rows_per_unit = 2), COLUMN kind IN (0, 1, 2, 3, 4),
    WINDOW (taken, closed_before = DATE '2026-10-01'))
"""
LATE = "INSERT INTO visits VALUES (9000, 7, DATE '2026-09-05', TIMESTAMP '2026-09-05', 1, 5, 'd1')"
RECENT = (
    "INSERT INTO visits VALUES (9000, 7, DATE '2026-11-05', TIMESTAMP '2026-11-05', 1, 5, 'd1')"
)


def ask(session: Session, what: str, epsilon: float = 900.0) -> Result:
    """Returns the answer to a question at a price."""
    price = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) "
    return session.execute(price + what)


def is_free(result: Result) -> bool:
    assert result.price is not None
    return result.price.nano == 0


def shown(session: Session, what: str) -> list[dict[str, object]]:
    table = session.execute(f"SHOW PRIVACY {what}").table
    assert table is not None
    return table.to_pylist()
