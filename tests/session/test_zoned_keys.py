"""Keys that are moments with a time zone: of DuckDB's type, in UTC, in what clients fetch."""

from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from support.templates import vault_of

from sqlpriv import connect
from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE people AS SELECT i AS id,
    (TIMESTAMP '2024-10-26 20:00:00' + to_minutes(i * 101 % 3000))::TIMESTAMPTZ AS seen,
    DATE '2024-10-26' + (i % 3)::INTEGER AS day
FROM range(1000) AS t(i);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN seen SET PRIVACY DOMAIN
    BETWEEN ('2024-10-26', '2024-10-29') NOT NULL;
ALTER TABLE people ALTER COLUMN day SET PRIVACY DOMAIN
    BETWEEN ('2024-10-26', '2024-10-29') NOT NULL;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 100, delta = 1e-9);
"""
BY_DAY = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) date_trunc('day', seen) AS k,"
    " COUNT(*) AS n FROM people GROUP BY k"
)


def test_the_type_is_told_and_given(tmp_path: Path) -> None:
    with Session(vault_of(SETUP, tmp_path / "people.duckdb")) as session:
        table = session.execute(BY_DAY).table
        assert table is not None
        assert table.schema.field("k").type == pa.timestamp("us", tz="UTC")
        assert session.describe(BY_DAY) == table.schema
        of_answers = f"SELECT MAX(k) AS k FROM ({BY_DAY})"
        answers = session.execute(of_answers).table
        assert answers is not None
        assert answers.schema == session.describe(of_answers)


@pytest.mark.parametrize("moment", ["seen", "day"])
def test_what_duckdb_does_not_cast_to_a_time_is_not_moved_as_one(
    moment: str, tmp_path: Path
) -> None:
    with Session(vault_of(SETUP, tmp_path / "people.duckdb")) as session:
        session.execute("SET privacy_epsilon = 1")
        for of in (moment, "x"):
            rows = "people" if of == moment else f"(SELECT {moment} AS x FROM people)"
            with pytest.raises(Refused):
                session.quote(
                    f"SELECT COUNT(*) FROM {rows} AS r"
                    f" WHERE {of}::TIME + INTERVAL 1 HOUR > TIME '03:00:00'"
                )
        session.quote(f"SELECT COUNT(*) FROM people WHERE {moment} > TIMESTAMP '2024-10-27'")


def test_moments_are_fetched_without_another_package(tmp_path: Path) -> None:
    """DuckDB's own fetch asked for pytz before 2.0."""
    with connect(vault_of(SETUP, tmp_path / "people.duckdb")) as connection:
        cursor = connection.cursor()
        first = cursor.execute(f"{BY_DAY} ORDER BY k").fetchone()
        assert first is not None
        assert first[0] == dt.datetime(2024, 10, 26, tzinfo=dt.UTC)


def test_answers_are_in_utc_whatever_the_machines_clock_is() -> None:
    """One that is opened, and a cursor of it: in New York midnight would be shown as 20:00."""
    code = (
        "from sqlpriv.system.quiet_engine import open_utc_engine\n"
        "engine = open_utc_engine({'lock_configuration': 'true'})\n"
        "text = \"SELECT TIMESTAMP '2024-10-26'::TIMESTAMPTZ::VARCHAR\"\n"
        "print(*(e.execute(text).fetchall()[0][0] for e in (engine, engine.cursor())))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TZ": "America/New_York"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown.strip() == "2024-10-26 00:00:00+00 2024-10-26 00:00:00+00"
