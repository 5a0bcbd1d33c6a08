"""`sqlpriv init` where values stand for none: ages of 999, an end on 9999-12-31."""

from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import sqlpriv
from sqlpriv.interfaces.cli.main import main


def lines_of(tmp_path: Path, columns: str, *more: str) -> list[str]:
    """What is proposed of a table of 3,000 people with these columns, computed of i."""
    with duckdb.connect() as engine:
        rows = f"SELECT 'p' || i AS person_id, {columns} FROM range(3000) r(i)"
        engine.execute(f"COPY ({rows}) TO '{tmp_path}/people.parquet'")
    arguments = ["init", f"{tmp_path}/people.parquet", "--vault", f"{tmp_path}/v.duckdb", *more]
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("value", "domain", "codes"),
    [
        ("CASE i % 50 WHEN 0 THEN 999 WHEN 1 THEN -1 ELSE i % 96 END", "0, 100", "-1, 999"),
        ("CASE i % 50 WHEN 0 THEN 997 WHEN 1 THEN 999 ELSE i % 96 END", "0, 100", "997, 999"),
        ("CASE i % 50 WHEN 0 THEN -999 WHEN 1 THEN 999 ELSE i % 96 END", "0, 100", "-999, 999"),
        ("CASE i % 11 WHEN 0 THEN 99 ELSE i % 90 END", "0, 100", "99"),
        ("CASE i % 50 WHEN 0 THEN -99 ELSE (i % 901) / 10 END", "0, 100", "-99"),
        ("CASE i % 50 WHEN 0 THEN -999 ELSE i % 90 - 40 END", "-50, 50", "-999"),
        ("CASE i % 11 WHEN 0 THEN 99.9 ELSE (i % 600) / 10 END::DOUBLE", "0, 100", "99.9"),
        ("CASE i % 50 WHEN 0 THEN 999 ELSE i % 96 END::DECIMAL(6, 2)", "0, 100", "999.00"),
        (
            "if(i % 3 = 0, DATE '9999-12-31', DATE '2015-03-01' + (i % 900)::INTEGER)",
            "DATE '2015-01-01', DATE '2017-12-31'",
            "DATE '9999-12-31'",
        ),
        (
            "if(i % 9 = 0, TIMESTAMP '1900-01-01', TIMESTAMP '1960-03-01' + to_days(i::INT * 6))",
            "TIMESTAMP '1960-01-01 00:00:00', TIMESTAMP '2010-01-01 00:00:00'",
            "TIMESTAMP '1900-01-01 00:00:00'",
        ),
    ],
)
def test_codes_of_missing_values_are_no_part_of_a_domain(
    tmp_path: Path, value: str, domain: str, codes: str
) -> None:
    lines = lines_of(tmp_path, f"{value} AS x")
    assert f"-- UPDATE people SET x = NULL WHERE x IN ({codes});" in lines
    assert (
        f"ALTER TABLE people ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN ({domain}) OR NULL;" in lines
    )


@pytest.mark.parametrize(
    "value",
    [
        "i % 100",  # 99 is a value like others
        "i % 1000",
        "i % 60 - 6",  # -1 is one of many negative numbers
        "if(i = 7, 999, i % 90)",  # one row's mistake
        "if(i < 4, 8, i % 90 - 90)",  # a rare value
        "i % 120 - 60",
        "if(i % 50 = 0, 400, i % 90)",  # no code
        "DATE '1970-01-01' + (i % 900)::INTEGER",
    ],
)
def test_values_like_others_are_no_codes(tmp_path: Path, value: str) -> None:
    lines = lines_of(tmp_path, f"{value} AS x")
    assert any(" x SET PRIVACY DOMAIN BETWEEN " in line and "NOT NULL" in line for line in lines)
    assert not any("codes of missing" in line for line in lines)


def test_a_list_keeps_its_codes_and_says_so(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "if(i % 50 = 0, 99, i % 8) AS x, if(i % 50 = 0, 9, i % 2) AS sex")
    assert "-- UPDATE people SET x = NULL WHERE x IN (99);" in lines
    assert any(" x SET PRIVACY DOMAIN IN (0, 1, 2, 3, 4, 5, 6, 7, 99) NOT" in li for li in lines)
    assert any(" sex SET PRIVACY DOMAIN IN (0, 1, 9) NOT NULL" in line for line in lines)
    assert not any("UPDATE people SET sex" in line for line in lines)


def test_with_codes_made_null_the_mean_is_that_of_the_others(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "CASE WHEN i % 10 = 0 THEN 999 ELSE i % 61 END AS age")
    (update,) = [line[3:] for line in lines if line.startswith("-- UPDATE")]
    vault = tmp_path / "v.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(update)
        owner.execute((tmp_path / "v.privacy.sql").read_text("utf-8"))
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 1")
        (mean,) = analyst.execute("SELECT AVG(age) FROM people").fetchone()
    assert abs(mean - 30) < 3  # the plain mean with 999 is 127


@pytest.mark.parametrize(
    ("value", "domain"),
    [
        ("'infinity'::DATE", "DATE '2000-01-01', DATE '2002-12-31'"),
        ("DATE '0044-03-15 (BC)'", "DATE '2000-01-01', DATE '2002-12-31'"),
        (
            "'-infinity'::TIMESTAMP",
            "TIMESTAMP '2000-01-01 00:00:00', TIMESTAMP '2003-01-01 00:00:00'",
        ),
        ("'inf'::DOUBLE", "0, 100"),
    ],
)
def test_values_that_are_no_ends(tmp_path: Path, value: str, domain: str) -> None:
    """A date that Python does not hold was a traceback, and infinity made the ends 0 and -0."""
    others = "i % 90" if "DOUBLE" in value else "DATE '2000-01-01' + (i % 900)::INTEGER"
    lines = lines_of(tmp_path, f"if(i % 7 = 0, {value}, {others}) AS x")
    assert f"ALTER TABLE people ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN ({domain}) NOT NULL;" in (
        lines
    )


def test_a_column_of_infinity_alone_has_no_domain(tmp_path: Path) -> None:
    assert "-- x: no row has a value, no domain" in lines_of(tmp_path, "'infinity'::DATE AS x")


def test_years_have_a_domain_of_years(tmp_path: Path) -> None:
    """Round numbers alone, 1000 and 2500, made noise of 1,500 years."""
    lines = lines_of(tmp_path, "1940 + i % 80 AS born")
    assert any(" born SET PRIVACY DOMAIN BETWEEN (1940, 2020) NOT NULL;" in line for line in lines)


def test_a_table_of_one_row_for_each_row_of_another_belongs_to_its_unit(tmp_path: Path) -> None:
    """Bills were units of their own: whoever has many visits had a budget for each."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    with duckdb.connect() as engine:
        for name, columns in {
            "patients": "i AS patient_id, i % 3 AS ward FROM range(2000) r(i)",
            "visits": "i AS visit_id, i // 3 AS patient_id FROM range(6000) r(i)",
            "bills": "i AS visit_id, i % 7 AS cost FROM range(6000) r(i)",
            "files": "i AS patient_id, i % 5 AS shelf FROM range(2000) r(i)",
        }.items():
            engine.execute(f"COPY (SELECT {columns}) TO '{folder}/{name}.parquet'")
    done = CliRunner().invoke(
        main, ["init", f"{folder}", "--vault", f"{tmp_path}/v.duckdb", "--yes"]
    )
    assert done.exit_code == 0, done.output
    assert (
        "ALTER TABLE bills ADD PRIVACY_LINK (visit_id) REFERENCES visits(visit_id);" in done.output
    )
    assert "ALTER TABLE files ADD PRIVACY_LINK" not in done.output
    with sqlpriv.connect(tmp_path / "v.duckdb", role="owner") as owner:
        shown = owner.execute("SHOW PRIVACY TABLES").fetchall()
    assert any("bills" in row and any("patient" in str(cell) for cell in row) for row in shown), (
        shown
    )
