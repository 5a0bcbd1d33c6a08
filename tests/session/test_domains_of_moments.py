"""Domains of moments: of every unit that DuckDB stores, and what ends in a bare day."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from suites.run import without_noise

from sqlpriv.session.session import Session

BOUNDS = "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN ({}, {}) NOT NULL"


ROWS = (
    "CREATE TABLE t AS SELECT i AS u, CAST(TIMESTAMP '2024-01-01' + to_hours(i * 7) AS {}) AS x"
    " FROM range(1000) AS r (i)"
)


def vault(path: Path, sql_type: str) -> Path:
    with Session(path, role="owner", principal="owner") as owner:
        owner.execute(ROWS.format(sql_type))
        owner.execute("ALTER TABLE t ADD PRIMARY KEY (u)")
        owner.execute("ALTER TABLE t ADD PRIVACY_KEY (u); ALTER TABLE t SET PU")
        owner.execute("ALTER TABLE t SET PRIVACY BUDGET (epsilon = 1000, delta = 1e-9)")
        owner.execute(BOUNDS.format("'2024-01-01'", "'2024-12-31'"))
    return path


@pytest.mark.parametrize("sql_type", ["TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
def test_moments_of_other_units_have_domains_and_keys(tmp_path: Path, sql_type: str) -> None:
    path = vault(tmp_path / "t.duckdb", sql_type)
    text = "SELECT month(x) AS m, COUNT(*) AS n FROM t WHERE x >= '2024-03-01' GROUP BY m"
    with duckdb.connect() as plain:
        plain.execute(ROWS.format(sql_type))
        counts = dict(plain.execute(text).fetchall())
    with Session(path, principal="a") as session:
        session.execute("SET privacy_epsilon = 8")
        for _ in without_noise():
            rows = session.execute(text).table.to_pylist()
    assert {row["m"]: row["n"] for row in rows if row["n"]} == counts


def test_the_owner_is_told_where_a_domain_of_moments_ends(tmp_path: Path) -> None:
    with Session(vault(tmp_path / "t.duckdb", "TIMESTAMP"), role="owner", principal="o") as owner:
        message = owner.execute(BOUNDS.format("'2024-01-01'", "DATE '2024-12-31'")).message
        assert "it ends at 2024-12-31 00:00:00" in message
        assert "'2024-12-31 23:59:59.999999'" in message
        whole = owner.execute(BOUNDS.format("'2024-01-01'", "'2024-12-31 23:59:59.999999'")).message
        assert "it ends" not in whole
