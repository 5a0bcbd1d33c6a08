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
    alter = "ALTER TABLE people ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN"
    (declared,) = [line for line in lines if line.startswith(alter)]
    # It holds the codes until the owner says what they are.
    is_wide_enough = codes in ("99", "99.9")
    assert (declared == f"{alter} ({domain}) OR NULL;") == is_wide_enough
    assert (f"-- {alter} ({domain}) OR NULL;" in lines) != is_wide_enough


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
        "i % 100 - 4",  # delays: -4 to -1 are as many as those beside them
        "i % 74 - 4",
        "(i * 7919 % 101 + i * 104729 % 97) // 2 % 74 - 4",
        "if(i % 15 = 0, 99.99, 1 + i % 4900 / 100)::DECIMAL(8, 2)",  # one more price
        "if(i % 15 = 0, 99.99, 1 + i % 49 + 0.99)::DOUBLE",
    ],
)
def test_values_like_others_are_no_codes(tmp_path: Path, value: str) -> None:
    lines = lines_of(tmp_path, f"{value} AS x")
    assert any(" x SET PRIVACY DOMAIN BETWEEN " in line and "NOT NULL" in line for line in lines)
    assert not any("codes of missing" in line for line in lines)


def test_a_text_that_every_row_has_is_no_code(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "'99' AS x")
    assert any(" x SET PRIVACY DOMAIN IN ('99') NOT NULL" in line for line in lines)


def test_a_list_keeps_its_codes_and_says_so(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "if(i % 50 = 0, 99, i % 8) AS x, if(i % 50 = 0, 9, i % 2) AS sex")
    assert "-- UPDATE people SET x = NULL WHERE x IN (99);" in lines
    assert any(" x SET PRIVACY DOMAIN IN (0, 1, 2, 3, 4, 5, 6, 7, 99) NOT" in li for li in lines)
    assert any(" sex SET PRIVACY DOMAIN IN (0, 1, 9) NOT NULL" in line for line in lines)
    assert not any("UPDATE people SET sex" in line for line in lines)


def test_with_codes_made_null_the_mean_is_that_of_the_others(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "CASE WHEN i % 10 = 0 THEN 999 ELSE i % 61 END AS age")
    at = next(i for i, line in enumerate(lines) if line.startswith("-- UPDATE"))
    vault = tmp_path / "v.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute((tmp_path / "v.privacy.sql").read_text("utf-8"))
        for line in lines[at : at + 2]:
            owner.execute(line.removeprefix("-- "))
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
    declared = f"ALTER TABLE people ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN ({domain}) OR NULL;"
    assert declared in lines


def test_what_is_declared_clamps_no_code(tmp_path: Path) -> None:
    """The narrow domain was declared beside an UPDATE that was a comment: -1 was read as 0."""
    lines_of(tmp_path, "if(i % 3 = 0, -1, i % 90) AS x", "--yes")
    with sqlpriv.connect(tmp_path / "v.duckdb") as analyst:
        analyst.execute("SET privacy_epsilon = 1")
        (n,) = analyst.execute("SELECT COUNT(*) FROM people WHERE x < 0").fetchone()
    assert abs(n - 1000) < 100  # it was 0; the noise has a scale of 1


def test_moments_alone_that_no_domain_holds(tmp_path: Path) -> None:
    lines = lines_of(tmp_path, "'infinity'::DATE AS x, TIMESTAMP '9999-12-31 23:59:59' AS y")
    assert any(line.startswith("-- x: infinity (3000 rows): no domain holds") for line in lines)
    assert not any("no row has a value" in line for line in lines)
    assert any(line.startswith("-- y: every value is 9999-12-31 23:59:59") for line in lines)


@pytest.mark.parametrize(
    ("code", "type_", "days", "update"),
    [
        ("9999-12-31 23:59:59", "TIMESTAMP", 500, "TIMESTAMP '9999-12-31 23:59:59'"),
        ("0001-01-01", "TIMESTAMP", 500, "TIMESTAMP '0001-01-01 00:00:00'"),
        ("0001-01-01", "DATE", 500, "DATE '0001-01-01'"),
        ("0001-01-01", "DATE", 12, "DATE '0001-01-01'"),
        ("infinity", "DATE", 12, "'infinity'::DATE"),
        ("infinity", "TIMESTAMP", 500, "'infinity'::TIMESTAMP"),
        ("294247-01-10 04:00:54.775806+00", "TIMESTAMPTZ", 500, None),
        ("0001-01-01 00:00:00+00", "TIMESTAMPTZ", 500, None),
        ("9999-12-31 23:59:59+00", "TIMESTAMPTZ", 500, None),
        ("1900-01-01 00:00:00+02", "TIMESTAMPTZ", 500, None),
    ],
)
def test_moments_that_stand_for_none_are_counted_and_become_null(
    tmp_path: Path, code: str, type_: str, days: int, update: str | None
) -> None:
    """They were left out of the ends without a word, and NOT NULL was promised."""
    value = f"if(i % 30 = 0, '{code}'::{type_}, (DATE '2020-01-01' + (i % {days})::INT)::{type_})"
    lines = lines_of(tmp_path, f"{value} AS x", "--yes")
    assert any(line.startswith("-- x: ") and "(100 rows)" in line for line in lines), lines
    (at,) = [i for i, line in enumerate(lines) if line.startswith("-- UPDATE people SET x = NULL")]
    assert update is None or lines[at].endswith(f"WHERE x IN ({update});")
    vault = tmp_path / "v.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(lines[at].removeprefix("-- "))
        if lines[at + 1].startswith("-- ALTER"):
            owner.execute(lines[at + 1].removeprefix("-- "))
        left = owner.execute("SELECT count(x), max(year(x)) - min(year(x)) FROM people").fetchall()
    assert left[0][0] == 2900
    assert left[0][1] <= 1


def test_infinite_numbers_are_told_and_become_null(tmp_path: Path) -> None:
    """Nothing was said of them, and "150 rows beyond its ends" counted NaN, which is NULL."""
    infinite = (
        "CASE i % 30 WHEN 0 THEN 'inf' WHEN 1 THEN '-inf' WHEN 2 THEN 'nan' ELSE (i % 90)::TEXT END"
    )
    lines = lines_of(tmp_path, f"({infinite})::DOUBLE AS x")
    told = "-- x: -inf (100 rows) and inf (100 rows): no domain holds them; they count as its"
    (at,) = [i for i, line in enumerate(lines) if line.startswith(told)]
    update = "-- UPDATE people SET x = NULL WHERE x IN ('-inf'::DOUBLE, 'inf'::DOUBLE);"
    assert lines[at + 1] == update
    with sqlpriv.connect(tmp_path / "v.duckdb", role="owner") as owner:
        declared = "ALTER TABLE people ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN (0, 90)"
        effect = str(owner.execute(declared))
        assert "200 rows beyond its ends, clamped" in effect
        assert "100 rows with NULL" in effect
        owner.execute(lines[at + 1].removeprefix("-- "))
        assert owner.execute("SELECT count(x) FROM people WHERE isinf(x)").fetchall() == [(0,)]


def test_codes_where_null_is_kept_out(tmp_path: Path) -> None:
    vault = tmp_path / "v.duckdb"
    with duckdb.connect(str(vault)) as engine:
        engine.execute("CREATE TABLE people (person_id INTEGER PRIMARY KEY, x INTEGER NOT NULL)")
        engine.execute(
            "INSERT INTO people SELECT i, if(i % 9 = 0, 999, i % 90) FROM range(900) r(i)"
        )
    done = CliRunner().invoke(main, ["init", str(vault), "--yes"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    at = lines.index("-- ALTER TABLE people ALTER COLUMN x DROP NOT NULL;")
    with sqlpriv.connect(vault, role="owner") as owner:
        for line in lines[at : at + 3]:
            owner.execute(line.removeprefix("-- "))
        assert owner.execute("SELECT count(x) FROM people").fetchall() == [(800,)]


@pytest.mark.parametrize("huge", ["99999999999999999991611392", "4611686018427387000"])
def test_ends_go_no_further_than_they_may_be_declared(tmp_path: Path, huge: str) -> None:
    """The domain was refused after units were declared, and before their budget was."""
    vault = tmp_path / "v.duckdb"
    with duckdb.connect(str(vault)) as engine:
        value = f"if(i % 100 = 0, {huge}, i % 90)::HUGEINT"
        engine.execute(f"CREATE TABLE people AS SELECT i AS id, {value} AS x FROM range(3000) r(i)")
    done = CliRunner().invoke(main, ["init", str(vault), "--yes"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    declared = [line for line in lines if line.startswith("ALTER")]
    assert any("BETWEEN (0, 4611686018427387903)" in line for line in declared)
    assert any("beyond ±2^62" in line for line in lines) == (len(huge) > 19)
    budget = next(i for i, line in enumerate(declared) if " PRIVACY BUDGET " in line)
    assert not any(" PRIVACY DOMAIN " in line for line in declared[:budget])


def test_tables_in_another_schema_are_passed_over_and_named(tmp_path: Path) -> None:
    vault = tmp_path / "v.duckdb"
    with duckdb.connect(str(vault)) as engine:
        engine.execute("CREATE TABLE people AS SELECT i AS person_id FROM range(900) r(i)")
        engine.execute("CREATE SCHEMA old; CREATE TABLE old.t AS FROM people")
    done = CliRunner().invoke(main, ["init", str(vault), "--yes"])
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert any(line.startswith("-- old.t: in another schema") for line in lines)
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(lines[lines.index("-- CREATE TABLE old_t AS FROM old.t;")][3:])


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
