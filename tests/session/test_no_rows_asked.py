"""Statements that give no row, whatever is stored, are free and give the columns of DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

TABLE = """
CREATE TABLE odd (id UUID, big HUGEINT, paid DECIMAL(14, 3), seen TIMESTAMPTZ, parts INTEGER[],
    place STRUCT(x DOUBLE, y DOUBLE), raw BLOB, clock TIME, s TIMESTAMP_S);
"""


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM odd WHERE 1 = 0",
        "SELECT * FROM (SELECT * FROM odd) AS t LIMIT 0",
        "SELECT o.place, p.seen, o.raw FROM odd o, odd p WHERE FALSE",
    ],
)
def test_the_columns_are_those_of_duckdb(tmp_path: Path, statement: str) -> None:
    vault = tmp_path / "v.duckdb"
    with Session(vault, role="owner") as owner:
        owner.run(
            TABLE + "ALTER TABLE odd ADD PRIVACY_KEY (id); ALTER TABLE odd SET PRIVACY "
            "BOUND (rows_per_unit = 3); ALTER TABLE odd SET PU; "
            "ALTER TABLE odd SET PRIVACY BUDGET (epsilon = 1, delta = 1e-9)"
        )
    with Session(vault, principal="ana") as session, duckdb.connect() as plain:
        plain.execute("SET TimeZone = 'UTC';" + TABLE)
        answer = session.execute(statement)
        assert answer.table.schema.equals(plain.sql(statement).to_arrow_table().schema)
        assert (answer.table.num_rows, answer.price) == (0, None)


def test_labels_of_an_enum_are_not_told_and_other_rows_are_not_free(tmp_path: Path) -> None:
    vault = tmp_path / "v.duckdb"
    with Session(vault, role="owner") as owner:
        owner.run(
            "CREATE TYPE mood AS ENUM ('secret'); CREATE TABLE t (id INTEGER PRIMARY KEY, "
            "m mood); ALTER TABLE t ADD PRIVACY_KEY (id); ALTER TABLE t SET PU; "
            "ALTER TABLE t SET PRIVACY BUDGET (epsilon = 1, delta = 1e-9)"
        )
    with Session(vault, principal="ana") as session:
        assert (
            str(session.execute("SELECT m FROM t LIMIT 0").table.schema.field("m").type) == "string"
        )
        for rows in (
            "WHERE 1 = 1",
            "WHERE 1 = 1.0",
            "LIMIT 1",
            "WHERE 1 = 0 OR id > 0",
            "WHERE id = 0",
        ):
            with pytest.raises(Refused):
                session.execute(f"SELECT m FROM t {rows}")
