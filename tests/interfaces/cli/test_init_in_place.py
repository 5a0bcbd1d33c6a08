"""`sqlpriv init` of a vault whose tables are read in place."""

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import sqlpriv
from sqlpriv.interfaces.cli.main import main


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    """A vault of patients in a Parquet file, visits in another DuckDB file, bills of its own."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as engine:
        engine.execute(
            "CREATE TABLE visits AS SELECT i id, i // 3 patient_id FROM range(6000) r(i)"
        )
        rows = "SELECT i AS patient_id, i % 3 AS ward FROM range(2000) r(i)"
        engine.execute(f"COPY ({rows}) TO '{tmp_path}/patients.parquet'")
    path = tmp_path / "v.duckdb"
    with sqlpriv.connect(path, role="owner") as owner:
        owner.execute(f"CREATE TABLE patients FROM PARQUET '{tmp_path}/patients.parquet'")
        owner.execute(f"CREATE TABLE visits FROM DUCKDB '{tmp_path}/clinic.duckdb'")
        owner.execute(
            "CREATE TABLE bills AS SELECT i AS visit_id, i % 7 AS x FROM range(6000) r(i)"
        )
        owner.execute("CREATE VIEW cheap AS SELECT * FROM bills WHERE x < 2")
    return path


def test_tables_in_place_are_proposed_and_answer(vault: Path) -> None:
    done = CliRunner().invoke(main, ["init", str(vault), "--yes"])
    assert done.exit_code == 0, done.output
    assert "ALTER TABLE patients SET PU;" in done.output
    assert "ALTER TABLE visits ADD PRIVACY_LINK (patient_id) REFERENCES patients" in done.output
    assert "PRIMARY KEY" not in done.output  # which such a table does not take
    assert "cheap" not in done.output
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 1")
        (visits,) = analyst.execute("SELECT COUNT(*) FROM visits").fetchone()
    assert abs(visits - 6000) < 300


def test_a_link_that_needs_a_key_of_a_file_says_what_to_do(vault: Path) -> None:
    done = CliRunner().invoke(main, ["init", str(vault)])
    assert "-- A link to visits(id) needs UNIQUE (id) there, and visits is read in place." in (
        done.output
    )
    assert "ALTER TABLE bills ADD PRIVACY_LINK" not in done.output


def test_what_changes_rows_in_place_begins_with_a_copy_of_them(tmp_path: Path) -> None:
    """An UPDATE, an ALTER … TYPE and a numbering of rows failed: such a table is a view."""
    path = tmp_path / "v.duckdb"
    columns = {
        "q": "i AS patient_id, if(i % 9 = 0, 999, i % 90) AS age, (i % 700)::VARCHAR AS paid,"
        " if(i % 2 = 0, 'm', 'M') AS sex",
        "nu": "i % 5 AS ward, i % 7 AS nights",
    }
    with sqlpriv.connect(path, role="owner") as owner:
        for table, values in columns.items():
            rows = f"SELECT {values} FROM range(2000) r(i)"
            with duckdb.connect() as engine:
                engine.execute(f"COPY ({rows}) TO '{tmp_path}/{table}.parquet'")
            owner.execute(f"CREATE TABLE {table} FROM PARQUET '{tmp_path}/{table}.parquet'")
    done = CliRunner().invoke(main, ["init", str(path), "--yes"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    changes = [line for line in lines if line.startswith(("-- CREATE", "-- UPDATE"))]
    changes += [line for line in lines if line.startswith("-- ALTER") and " TYPE " in line]
    assert len(changes) == 5, changes  # two copies, two updates, a type
    with sqlpriv.connect(path, role="owner") as owner:
        for line in changes:
            owner.execute(line.removeprefix("-- "))
        assert owner.execute("SELECT count(age), min(sex) FROM q").fetchall() == [(1777, "M")]
    again = CliRunner().invoke(main, ["init", str(path), "--to", f"{tmp_path}/2.sql"])
    assert "ALTER TABLE nu ADD PRIVACY_KEY (row_id);" in again.stdout
