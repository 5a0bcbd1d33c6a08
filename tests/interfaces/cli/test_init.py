"""`sqlpriv init`: what is proposed of files, and that nothing is declared without a yes."""

import gzip
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

import sqlpriv
from sqlpriv.interfaces.cli.main import main
from sqlpriv.session.proposals.table_profiles import profile_table
from sqlpriv.session.session import Session

SHOP = """
CREATE TABLE customers AS
SELECT i AS id, 'c' || i % 3 AS segment, CASE WHEN i % 10 = 0 THEN NULL ELSE i % 80 + 18 END AS age,
    i * 1.5 AS balance, DATE '2020-03-05' + i::INTEGER AS since FROM range(2000) r(i);
CREATE TABLE orders AS
SELECT i AS order_no, least(i // 4, 1999) AS customer_id, (i % 7)::TINYINT AS items
FROM range(8200) r(i);
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder of two files: customers, and their orders, of which customer 1999 has 204."""
    folder = tmp_path / "shop"
    folder.mkdir()
    with duckdb.connect() as engine:
        engine.execute(SHOP)
        engine.execute(f"COPY customers TO '{folder}/customers.csv'")
        engine.execute(f"COPY orders TO '{folder}/orders.parquet'")
    return folder


def run(*arguments: object, stdin: str | None = None):
    return CliRunner().invoke(main, ["init", *map(str, arguments)], input=stdin)


def test_the_end_of_input_declares_nothing_and_says_what_comes_next(
    shop: Path, tmp_path: Path
) -> None:
    ours, theirs = pty.openpty()
    os.write(ours, b"\x04")  # Ctrl-D
    done = subprocess.run(
        [sys.executable, "-m", "sqlpriv", "init", shop, "--vault", tmp_path / "shop.duckdb"],
        stdin=theirs,
        capture_output=True,
        text=True,
        timeout=60,
    )
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 0, done.stderr
    assert "Declare what the file says now? [y/N]: no\nRun them when" in done.stderr
    with Session(tmp_path / "shop.duckdb", role="owner") as owner:
        assert owner.execute("SHOW PRIVACY DECLARATIONS").table.num_rows == 0


def test_a_folder_is_proposed_table_by_table(shop: Path, tmp_path: Path) -> None:
    done = run(shop, "--vault", tmp_path / "shop.duckdb")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "ALTER TABLE customers ADD PRIVACY_KEY (id);" in lines
    assert "ALTER TABLE customers SET PRIVACY BOUND (rows_per_unit = 1);" in lines
    assert (
        "ALTER TABLE customers ALTER COLUMN segment SET PRIVACY DOMAIN"
        " IN ('c0', 'c1', 'c2') NOT NULL;" in lines
    )
    assert any(" age SET PRIVACY DOMAIN BETWEEN (10, 100) OR NULL;" in line for line in lines)
    assert any(" since SET PRIVACY DOMAIN BETWEEN (DATE " in line for line in lines)
    assert "ALTER TABLE orders ADD PRIVACY_LINK (customer_id) REFERENCES customers(id);" in lines
    (bound,) = [line for line in lines if line.startswith("ALTER TABLE orders SET PRIVACY BOUND")]
    assert bound.endswith("(rows_per_unit = 4);  -- 200 rows beyond it, left out")
    assert lines.index("ALTER TABLE customers SET PU;") < lines.index(bound)


def test_nothing_is_declared_without_a_yes(shop: Path, tmp_path: Path) -> None:
    vault = tmp_path / "shop.duckdb"
    done = run(shop, "--vault", vault)
    assert "Nothing is declared yet" in done.output
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute("SHOW PRIVACY TABLES")
        shown = owner.execute("SHOW PRIVACY TABLES").fetchall()
        assert all("public" not in row and "id" not in row for row in shown), shown
    with sqlpriv.connect(vault) as analyst, pytest.raises(sqlpriv.Error):
        analyst.execute("SELECT COUNT(*) FROM customers")


def test_what_is_proposed_runs_and_answers(shop: Path, tmp_path: Path) -> None:
    vault = tmp_path / "shop.duckdb"
    done = run(shop, "--vault", vault, "--yes")
    assert done.exit_code == 0, done.output
    assert "They are run now:" in done.output
    assert "Nothing is declared yet" not in done.output
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 1")
        rows = analyst.execute(
            "SELECT segment, COUNT(*) AS n FROM customers GROUP BY segment"
        ).fetchall()
        assert [row[0] for row in rows] == ["c0", "c1", "c2"]
        assert all(abs(row[1] - 667) < 100 for row in rows)
        (orders,) = analyst.execute("SELECT COUNT(*) FROM orders").fetchone()
        assert abs(orders - 8000) < 400


def test_values_that_few_rows_hold_are_not_listed(tmp_path: Path) -> None:
    """A list is public: a rare number becomes an interval, a rare text a remark, BOOLEAN stays."""
    with duckdb.connect() as engine:
        engine.execute(
            "COPY (SELECT i AS patient, if(i < 3, 'Rare', 'c' || i % 2) AS ward, i = 5 AS died,"
            " if(i = 7, 42, i % 4) AS nights, i % 3 AS class, 'only ' || i % 200 AS note"
            f" FROM range(2000) r(i)) TO '{tmp_path}/stays.parquet'"
        )
    done = run(tmp_path / "stays.parquet", "--vault", tmp_path / "stays.duckdb", "--yes")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "42" not in done.stdout
    assert "Rare" not in done.stdout
    assert any(" nights SET PRIVACY DOMAIN BETWEEN (0, 50) NOT NULL;" in line for line in lines)
    assert any(" ward SET PRIVACY DOMAIN IN ('c0', 'c1');" in line for line in lines)
    assert any("ward: 1 value of fewer than 10 rows (3 rows)" in line for line in lines)
    assert any(" died SET PRIVACY DOMAIN IN (false, true) NOT NULL;" in line for line in lines)
    assert any(" class SET PRIVACY DOMAIN IN (0, 1, 2) NOT NULL;" in line for line in lines)
    assert any(line.startswith("-- note: 200 different values") for line in lines)


def test_rows_without_a_name_are_numbered(tmp_path: Path) -> None:
    """`education_num` has 16 values of 5,000 rows: it names nobody."""
    file = tmp_path / "census.csv"
    file.write_text(
        "education_num,sex\n" + "\n".join(f"{i % 16},{'fm'[i % 2]}" for i in range(5000))
    )
    vault = tmp_path / "census.duckdb"
    done = run(file, "--vault", vault, "--yes")
    assert done.exit_code == 0, done.output
    assert "ADD PRIVACY_KEY (row_id)" in done.stdout
    with sqlpriv.connect(vault, role="owner") as owner:  # a second run numbers the rows anew
        owner.execute(vault.with_suffix(".privacy.sql").read_text())
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 1")
        assert len(analyst.execute("SELECT sex, COUNT(*) FROM census GROUP BY sex").fetchall()) == 2


def test_nothing_that_is_there_is_overwritten(shop: Path, tmp_path: Path) -> None:
    vault = tmp_path / "shop.duckdb"
    vault.write_text("mine")
    done = run(shop, "--vault", vault)
    assert done.exit_code == 2
    assert "is there already" in done.output
    assert vault.read_text() == "mine"
    (tmp_path / "other.privacy.sql").write_text("-- mine")
    done = run(shop, "--vault", tmp_path / "other.duckdb")
    assert (done.exit_code, (tmp_path / "other.privacy.sql").read_text()) == (2, "-- mine")
    assert not (tmp_path / "other.duckdb").exists()


def test_a_source_without_tables_says_what_it_takes(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    done = run(tmp_path)
    assert done.exit_code == 2
    assert ".csv" in done.output


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("bills.xlsx", "is a spreadsheet: save each sheet as CSV"),
        ("bills.sav", "is of a statistics program: write it as Parquet"),
        ("bills.csv.zip", "is compressed: unpack it first"),
        ("bills.csv.gz", "is no whole gzip file"),
    ],
)
def test_a_table_of_another_program_says_how_to_bring_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, remedy: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("PK")
    done = run(name)
    assert (done.exit_code, [file.name for file in Path().iterdir()]) == (2, [name])
    assert f"{name} {remedy}" in done.output


def test_compressed_texts_are_read_and_what_lies_beside_is_named(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain = shop / "customers.csv"
    (shop / "customers.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    plain.unlink()
    (shop / "codes.xlsx").write_text("PK")
    done = run(shop)
    assert f"left out: {shop}/codes.xlsx is a spreadsheet" in done.stderr
    assert "ALTER TABLE customers ADD PRIVACY_KEY (id);" in done.stdout.splitlines()
    alone = run(shop / "customers.csv.gz")
    assert "loaded customers.csv.gz into customers.duckdb as customers" in alone.stderr


@pytest.mark.parametrize("unit", ["patient", "badge"])
def test_a_column_that_names_every_row_is_the_unit(tmp_path: Path, unit: str) -> None:
    """By its name, or because it is different in every row."""
    file = tmp_path / "stays.csv"
    file.write_text(
        f"ward,came,{unit}\n"
        + "\n".join(f"{i % 3},2024-02-{i % 28 + 1:02} 10:00:00,{i}" for i in range(500))
    )
    done = run(file, "--vault", tmp_path / "stays.duckdb", "--yes")
    assert done.exit_code == 0, done.output
    assert f"ADD PRIVACY_KEY ({unit})" in done.stdout
    assert f"-- ALTER TABLE stays ADD PRIMARY KEY ({unit});" in done.stdout
    assert "(TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2025-01-01 00:00:00')" in done.stdout


def test_text_that_holds_moments_and_moments_of_a_zone_are_proposed(tmp_path: Path) -> None:
    with Session(tmp_path / "stays.duckdb", role="owner") as owner:
        owner.run(
            "CREATE TABLE stays AS SELECT i AS patient, '2024-01-' || (10 + i % 20) AS came,"
            " '2024-01-10 08:00:' || (10 + i % 50) AS seen, 'x' || i AS note,"
            " TIMESTAMPTZ '2024-03-01 08:00:00+02' + to_days(i::INTEGER) AS done"
            " FROM range(400) r(i); ALTER TABLE stays ADD PRIMARY KEY (patient);"
            "INSERT INTO stays SELECT 1000 + i, '2025-02-' || (10 + i % 18), '2024-01-11 09:00:' ||"
            " (10 + i), 'y', NULL FROM range(40) r(i)"
        )
    done = run(tmp_path / "stays.duckdb")
    assert done.exit_code == 0, done.output
    assert "COLUMN seen TYPE TIMESTAMP;" in done.output
    assert "-- note: 401 different values" in done.output
    assert " done SET PRIVACY DOMAIN BETWEEN (TIMESTAMP '2024-01-01 00:00:00'" in done.output
    with Session(tmp_path / "stays.duckdb", role="owner") as owner:
        owner.run((tmp_path / "stays.privacy.sql").read_text())
        retyped = next(x for x in done.output.splitlines() if "TYPE TIMESTAMP;" in x)
        owner.run(retyped.removeprefix("-- "))
        owner.run("SET privacy_epsilon = 0.5; SELECT max(done) FROM stays")


def write_csv(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_a_file_that_is_no_utf8_is_read(tmp_path: Path, encoding: str) -> None:
    text = "id,town\n" + "".join(f"{i},Besançon\n" for i in range(50))
    done = run(write_csv(tmp_path / "a.csv", text, encoding), "--vault", tmp_path / "a.duckdb")
    assert done.exit_code == 0, done.output
    assert f"read as {encoding}" in done.stderr
    assert "IN ('Besançon') NOT NULL" in done.stdout


NUMBERS = {
    "comma": ("{:,}", "TRY_CAST(replace(pay, ',', '') AS DOUBLE)"),
    "money": ("$ {:,}", "replace(trim(pay"),
    "percent": ("{:,} %", "replace(trim(pay"),
    "point": ("{:,}", "replace(replace("),
    "missing": ("{}", "but for texts that become NULL"),
    "point and missing": ("{:,}", "but for texts that become NULL"),
    "comma and missing": ("{:,}", "but for texts that become NULL"),
    "fraction": ("{:.3f}", "if 1.234 means 1234"),
}


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_that_were_read_as_something_else_are_told(tmp_path: Path, kind: str) -> None:
    form, remark = NUMBERS[kind]
    values = [i / 1000 if kind == "fraction" else i for i in range(1001, 90000, 997)]
    lines = [form.format(value) for value in values]
    lines = [f"{x.replace(',', '.')},50" for x in lines] if "point" in kind else lines
    lines += ["NA"] if "missing" in kind else []
    text = "id;pay\n" + "".join(f"{at};{line}\n" for at, line in enumerate(lines))
    vault = tmp_path / "a.duckdb"
    done = run(write_csv(tmp_path / "a.csv", text), "--vault", vault)
    assert done.exit_code == 0, done.output
    at = next(n for n, line in enumerate(done.stdout.splitlines()) if remark in line)
    (statement,) = [
        line.removeprefix("-- ")
        for line in done.stdout.splitlines()[at - 1 : at + 2]
        if line.startswith("-- ALTER TABLE") and "TYPE" in line
    ]
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(statement)
        (total,) = owner.execute("SELECT sum(pay) FROM a").fetchone()
    whole = sum(round(value * 1000) if kind == "fraction" else value for value in values)
    assert total == whole + (0.5 * len(values) if "point" in kind else 0)


DAYS = {
    "day first": (["{d:02}/{m:02}/2024", "2024-{m:02}-{d:02}"], "DATE"),
    "month first": (["{m}/{d}/24", "{m}/{d}/2024"], "DATE"),
    "moments": (["{d}.{m}.2024 07:30", "2024/{m}/{d}"], "TIMESTAMP"),
}


@pytest.mark.parametrize("kind", DAYS)
def test_days_in_several_formats_are_told(tmp_path: Path, kind: str) -> None:
    forms, of_type = DAYS[kind]
    days = [(i % 28 + 1, i % 12 + 1) for i in range(200)]
    lines = [f"{i},{forms[i % 3 % 2].format(d=d, m=m)}" for i, (d, m) in enumerate(days)]
    vault = tmp_path / "a.duckdb"
    text = "id,Date of visit\n" + "\n".join([*lines, "900,unknown"])
    done = run(write_csv(tmp_path / "a.csv", text), "--vault", vault)
    assert done.exit_code == 0, done.output
    assert "moments, but for texts that become NULL; run this" in done.stdout
    (statement,) = [x for x in done.stdout.splitlines() if f" TYPE {of_type} USING" in x]
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(statement.removeprefix("-- "))
        rows = owner.execute('SELECT "Date of visit" FROM a WHERE id < 200 ORDER BY id').fetchall()
    assert [(day.day, day.month) for (day,) in rows] == days


def test_values_that_differ_in_case_or_blanks_are_told(tmp_path: Path) -> None:
    sexes = ["F", "f", '"m "']
    text = "id,sex,town\n" + "".join(f"{i},{sexes[i % 3]},x\n" for i in range(90))
    done = run(write_csv(tmp_path / "a.csv", text), "--vault", tmp_path / "a.duckdb")
    assert "-- UPDATE a SET sex = upper(trim(sex));" in done.stdout
    assert "SET town" not in done.stdout


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no rows"),
        ("id,age\n", "holds no rows"),
        ("id,age\n" + "1,2\n" * 40 + "3,4,5\n" + "1,2\n" * 40, "line 42 has 3 values, its head 2"),
        ("id;age\n" + "1;2\n" * 40 + "3;4;\n" + "1;2\n" * 40, "line 42 has 3 values, its head 2"),
    ],
)
def test_a_file_that_is_no_table_is_refused_and_leaves_nothing(
    tmp_path: Path, text: str, message: str
) -> None:
    vault = tmp_path / "a.duckdb"
    for _ in range(2):
        done = run(write_csv(tmp_path / "a.csv", text), "--vault", vault)
        assert done.exit_code == 2
        assert message in done.stderr
        assert not vault.exists()


def test_a_folder_that_is_not_there_is_named(shop: Path, tmp_path: Path) -> None:
    done = run(shop, "--vault", tmp_path / "none" / "a.duckdb")
    assert "mkdir -p" in done.stderr
    done = run(shop, "--vault", tmp_path / "a.duckdb", "--to", tmp_path / "none" / "a.sql")
    assert "mkdir -p" in done.stderr


def test_the_current_folder_and_a_vault_are_sources(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shop)
    assert run(".").exit_code == 0
    assert (shop / "shop.duckdb").exists()
    (shop / "shop.privacy.sql").unlink()
    done = run("shop.duckdb", "--vault", "other.duckdb")
    assert (done.exit_code, "leave --vault out" in done.stderr) == (2, True)
    assert not (shop / "other.duckdb").exists()


def test_what_is_to_be_run_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    file = write_csv(
        tmp_path / "my visits.csv", "id,town\n" + "".join(f"{i},x\n" for i in range(60))
    )
    done = run(file, "--vault", tmp_path / "my visits.duckdb")
    assert f"query '{tmp_path / 'my visits.duckdb'}' --role owner -f '" in done.stderr


LEDGER = [
    f'{i},{i % 100},"{f"({i:,}.50)" if i % 3 else f"{i:,}"}",{["-", "1.50", "(2.25)"][i % 3]},'
    f"{i % 90:05},,{i % 9}"
    for i in range(400)
]


def test_accounts_codes_empty_columns_and_a_total(tmp_path: Path) -> None:
    """What stood there: 396 different values, zip codes as DOUBLE, every entry a unit."""
    file, vault = tmp_path / "ledger.csv", tmp_path / "ledger.duckdb"
    head = "entry_id,customer_id,amount,fee,zip,note,n"
    file.write_text("\n".join([head, *LEDGER, 'Total,0,"(1,234.00)",-,00000,,1']) + "\n")
    done = run(file, "--vault", vault, "--to", tmp_path / "first.sql")
    assert done.exit_code == 0, done.output
    assert "ADD PRIVACY_KEY (customer_id);" in done.stdout
    assert "-- zip: digits with a 0 in front, so a code" in done.stdout
    assert "-- note: no row has a value" in done.stdout
    changes = [line[3:] for line in done.stdout.splitlines() if "translate(" in line]
    assert len(changes) == 2
    with Session(vault, role="owner") as owner:
        for change in changes:
            owner.execute(change)
        rows = owner.execute("SELECT min(amount), max(amount), min(fee), count(fee) FROM ledger")
        assert list(rows.table.to_pylist()[0].values()) == [-1234, 399, -2.25, 266]
    again = run(vault, "--to", tmp_path / "again.sql")
    assert "amount SET PRIVACY DOMAIN BETWEEN (-2000, 500)" in again.stdout


def test_rows_below_a_table_and_several_candidates_are_told(tmp_path: Path) -> None:
    file, vault = tmp_path / "sales.csv", tmp_path / "sales.duckdb"
    rows = [f"{i},{i % 200},{i % 7}" for i in range(600)]
    file.write_text("\n".join(["id,branch_no,n", *rows, "Total,,1"]) + "\n")
    done = run(file, "--vault", vault, "--to", tmp_path / "first.sql")
    assert done.exit_code == 0, done.output
    assert "-- branch_no: several rows each." in done.stdout
    assert "-- id: 1 row without a number in it" in done.stdout
    (delete,) = (line[3:] for line in done.stdout.splitlines() if "DELETE" in line)
    with Session(vault, role="owner") as owner:
        owner.execute(delete)
        assert owner.execute("SELECT count(*) AS n FROM sales").table["n"].to_pylist() == [600]


def test_a_reference_with_a_few_orphans_is_a_link_and_people_are_no_list_of_codes(
    tmp_path: Path,
) -> None:
    """500 patients were proposed as a public list, since 1 % of the visits named nobody there."""
    folder = tmp_path / "ward"
    folder.mkdir()
    with duckdb.connect() as engine:
        for table, rows in {
            "patients": "SELECT i AS patient_id, i % 90 AS age FROM range(500) r(i)",
            "visits": "SELECT i % 505 AS patient_id, i AS cost FROM range(1010) r(i)",
            "wards": "SELECT 'w' || i AS ward, i AS beds FROM range(9) r(i)",
        }.items():
            engine.execute(f"COPY ({rows}) TO '{folder}/{table}.csv'")
    (folder / "nothing.csv").write_text("a,b\n")
    done = run(folder, "--vault", tmp_path / "ward.duckdb", "--yes")
    assert done.exit_code == 0, done.output
    assert "nothing.csv holds no rows: it is left out" in done.output
    lines = done.output.splitlines()
    assert "ALTER TABLE patients ADD PRIVACY_KEY (patient_id);" in lines
    link = "ALTER TABLE visits ADD PRIVACY_LINK (patient_id) REFERENCES patients(patient_id);"
    assert f"{link}  -- 10 rows of nobody there: each such patient_id is a unit of its own" in lines
    assert "-- A short list. If it is about nobody: ALTER TABLE wards SET PUBLIC;" in lines
    assert not any(line.endswith("ALTER TABLE patients SET PUBLIC;") for line in lines)


def test_links_lead_over_other_tables_to_people_and_not_to_districts(tmp_path: Path) -> None:
    """The districts were the units, and legs, a Parquet file beside CSVs, belonged to nobody."""
    folder = tmp_path / "town"
    folder.mkdir()
    with duckdb.connect() as engine:
        for file, rows in {
            "districts.csv": "SELECT i AS district_id, 'D' || i AS name FROM range(40) r(i)",
            "patients.csv": "SELECT i AS patient_id, i % 40 AS district_id FROM range(400) r(i)",
            "trips.parquet": "SELECT i::INT trip_id, (i // 4)::INT patient FROM range(1600) r(i)",
            "legs.csv": "SELECT i AS leg_no, i // 2 AS trip_id FROM range(3250) r(i)",
            "hogares.csv": "SELECT i // 2 AS id_hogar, i % 5 AS n FROM range(400) r(i)",
            "haushalte_2024.csv": "SELECT i AS hhid, i % 5 AS n FROM range(400) r(i)",
            "customer_types.csv": "SELECT i AS id, 'T' || i AS name FROM range(40) r(i)",
        }.items():
            engine.execute(f"COPY ({rows}) TO '{folder / file}'")
    vault = tmp_path / "town.duckdb"
    done = run(folder, "--vault", vault, "--yes")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert "-- A short list. If it is about nobody: ALTER TABLE districts SET PUBLIC;" in lines
    assert any(line.endswith(": ALTER TABLE customer_types SET PUBLIC;") for line in lines)
    assert "ALTER TABLE hogares ADD PRIVACY_KEY (id_hogar);" in lines
    assert "ALTER TABLE haushalte_2024 ADD PRIVACY_KEY (hhid);" in lines
    # 50 of the legs name a trip that is not there; the others are 8 of each patient, not 2
    assert "ALTER TABLE legs SET PRIVACY BOUND (rows_per_unit = 8);" in lines
    assert any(line.endswith("-- 50 rows of nobody there: never read") for line in lines)
    assert "50 rows of nobody in trips: never read" in done.stderr
    with Session(vault, role="owner") as owner:
        rows = owner.execute("SHOW PRIVACY TABLES").table.to_pylist()
    units = {row["table"]: (row["unit_table"], row["privacy_key"]) for row in rows}
    patient = ("patients", "patient_id")
    assert units["patients"] == units["trips"] == units["legs"] == patient


def test_two_tables_of_the_same_people_without_a_table_of_them_are_told(tmp_path: Path) -> None:
    """Each had a budget of its own over the same patients, and nothing said so."""
    folder = tmp_path / "clinic"
    folder.mkdir()
    with duckdb.connect() as engine:
        for table in ("labs", "stays"):
            rows = "SELECT i // 3 AS patient_id, i AS cost FROM range(900) r(i)"
            engine.execute(f"COPY ({rows}) TO '{folder}/{table}.csv'")
        rows = "SELECT 'P' || i // 3 AS patient_id, i AS dose FROM range(900) r(i)"
        engine.execute(f"COPY ({rows}) TO '{folder}/texts.csv'")
    vault = tmp_path / "clinic.duckdb"
    lines = run(folder, "--vault", vault).stdout.splitlines()
    two = [line for line in lines if "two budgets over them add up" in line]
    assert [line.split(", too")[0] for line in two] == [
        "-- patient_id is the unit of labs",  # in stays
        "-- patient_id is the unit of labs",  # in texts
        "-- patient_id is the unit of stays",
    ]
    assert (
        "-- It is VARCHAR here and BIGINT there: make both of one type, and propose anew." in lines
    )
    (remedy,) = [line[3:] for line in lines if line.startswith("-- CREATE TABLE units")]
    with Session(vault, role="owner") as owner:
        owner.execute(remedy)
    again = run(vault, "--to", tmp_path / "again.sql").stdout.splitlines()
    for table in ("labs", "stays"):
        link = f"ALTER TABLE {table} ADD PRIVACY_LINK (patient_id) REFERENCES units(patient_id);"
        assert link in again


def test_of_a_folder_without_rows_nothing_stays_behind(tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "a.csv").write_text("a,b\n")
    done = run(folder, "--vault", tmp_path / "empty.duckdb")
    assert (done.exit_code, "holds no rows" in done.output) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["empty"]


def test_a_field_that_names_people_is_pointed_out(tmp_path: Path) -> None:
    """Events of 80 users in JSON: each event was taken for a unit, and users were not spoken of."""
    source, vault = tmp_path / "events.jsonl", tmp_path / "events.duckdb"
    with duckdb.connect() as engine:
        engine.execute(
            "COPY (SELECT {'id': i % 80, 'name': 'u'} AS user, {'at': i} AS kind, i % 3 AS value"
            f" FROM range(400) r(i)) TO '{source}'"
        )
    lines = run(source, "--vault", vault).stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("-- user.id may do so."))
    with Session(vault, role="owner") as owner:
        owner.execute(lines[at + 1].removeprefix("-- "))
    again = run(vault, "--to", tmp_path / "again.sql").stdout
    assert "ALTER TABLE events ADD PRIVACY_KEY (user_id);" in again
    assert "may do so" not in again


def test_few_people_are_units_and_few_codes_are_pointed_out(tmp_path: Path) -> None:
    """40 patients of 30 rows each: each row was taken for a unit, 30 times less than was meant."""
    rows = [f"{i % 40},{i % 7},{i % 12},{i % 50}" for i in range(1200)]
    file = tmp_path / "stays.csv"
    file.write_text("patient_id,ward_code,guest_number,nights\n" + "\n".join(rows))
    lines = run(file, "--vault", tmp_path / "stays.duckdb").stdout.splitlines()
    assert "ALTER TABLE stays ADD PRIVACY_KEY (patient_id);" in lines
    assert "ALTER TABLE stays SET PRIVACY BOUND (rows_per_unit = 30);" in lines
    file = tmp_path / "logins.csv"
    file.write_text("account_no,guest_number,day\n" + "\n".join(x.rpartition(",")[0] for x in rows))
    lines = run(file, "--vault", tmp_path / "logins.duckdb").stdout.splitlines()
    assert "ALTER TABLE logins ADD PRIVACY_KEY (row_id);" in lines
    (remark,) = [x for x in lines if x.startswith("-- account_no (40 values), guest_number (7 ")]
    assert remark.endswith("write instead:")
    assert any(x.startswith("-- ALTER TABLE logins ADD PRIVACY_KEY (account_no);") for x in lines)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_a_vault_that_is_being_filled_is_whole_or_absent(
    tmp_path: Path, number: signal.Signals
) -> None:
    """SIGTERM left a part of a vault and its ledger, and the next init refused to go over them."""
    file, vault = tmp_path / "people.csv", tmp_path / "people.duckdb"
    os.mkfifo(file)  # reading it waits for a writer, so the process is killed while it loads
    process = subprocess.Popen(
        [sys.executable, "-m", "sqlpriv", "init", file, "--vault", vault],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    # What is buffered is written when the file is closed: the process may be gone by then.
    with suppress(BrokenPipeError), file.open("w") as writer:
        writer.write("id,age\n")
        while not list(tmp_path.glob(".people.duckdb.*.making/*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
    process.wait(60)
    assert not vault.exists()
    assert not vault.with_suffix(".ledger").exists()
    file.unlink()
    file.write_text("id,age\n" + "".join(f"{i},{i % 90}\n" for i in range(300)))
    done = run(file, "--vault", vault)
    assert done.exit_code == 0, done.output
    assert {x.name for x in tmp_path.iterdir() if x.name.startswith(".")} == set()
    again = run(file, "--vault", vault)
    assert f"propose for what it holds: sqlpriv init {vault}" in again.stderr


def test_names_of_units_in_other_languages_and_types_are_seen(tmp_path: Path) -> None:
    """The pay, different in every row, was the unit, and a DOUBLE of whole numbers was none."""
    folder = tmp_path / "firm"
    folder.mkdir()
    rows = [
        f"{i % 300 + 1};{1000 + i}.234,{i % 90 + 10};{i % 28 + 1}.{i % 12 + 1}.1980"
        for i in range(900)
    ]
    write_csv(
        folder / "lohn.csv", "Personal Nr;Lohn (€);Geb.Datum\n" + "\n".join(rows), "utf-8-sig"
    )
    with duckdb.connect() as engine:
        engine.execute(
            "CREATE TABLE trips AS SELECT if(i = 7, NULL, i % 80)::DOUBLE AS rider_id,"
            " i::DECIMAL(38, 0) AS trip_no, 2.5 AS km FROM range(800) r(i);"
            f"COPY trips TO '{folder}/trips.parquet';"
            f"COPY (SELECT i AS rider_id FROM range(80) r(i)) TO '{folder}/riders.parquet';"
            "COPY (SELECT i % 60 * 1e17 AS member_id, i AS n FROM range(600) r(i))"
            f" TO '{folder}/members.parquet'"
        )
    done = run(folder, "--vault", tmp_path / "firm.duckdb", "--yes")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert 'ALTER TABLE lohn ADD PRIVACY_KEY ("Personal Nr");' in lines
    assert "ALTER TABLE lohn SET PRIVACY BOUND (rows_per_unit = 3);" in lines
    assert "rider_id holds whole numbers: it is BIGINT, and no DOUBLE" in done.stderr
    assert "trip_no holds whole numbers: it is BIGINT, and no DECIMAL(38,0)" in done.stderr
    assert "ALTER TABLE trips ADD PRIVACY_LINK (rider_id) REFERENCES riders(rider_id);" in lines
    assert any(x.startswith("-- member_id: numbers so large that several may") for x in lines)


def test_a_wide_table_is_looked_at_by_few_columns_at_once() -> None:
    """300 columns took 9 s of processor time: 2 for the one query, 4 for a session's look at its
    tables before each of 400 others."""
    queries: list[str] = []
    with duckdb.connect() as engine:
        columns = ", ".join(f"i % {n + 2} AS c{n}" for n in range(70))
        engine.execute(f"CREATE TABLE wide AS SELECT {columns} FROM range(90) r(i)")

        def fetch(sql: str) -> list[tuple[object, ...]]:
            queries.append(sql)
            return engine.execute(sql).fetchall()

        profile = profile_table(fetch, "wide")
    assert [c.distinct for c in profile.columns] == [n + 2 for n in range(70)]
    assert max(sql.count("DISTINCT") for sql in queries) <= 20


def test_files_that_cannot_be_read_are_left_out_and_the_others_loaded(tmp_path: Path) -> None:
    """One broken file stopped a folder of thirty; what stood there was DuckDB's text with the
    statement that init had written."""
    folder, vault = tmp_path / "ward", tmp_path / "ward.duckdb"
    (folder / "sub.csv").mkdir(parents=True)
    (folder / "gone.csv").symlink_to(folder / "nowhere")
    (folder / "broken.parquet").write_bytes(b"PAR1 no")
    write_csv(folder / "cut.json", '{"a": 1}\n{"a":')
    write_csv(folder / "uneven.csv", "id,age\n" + "1,2\n" * 40 + "3,4,5\n" + "1,2\n" * 40)
    write_csv(folder / "visits.csv", "id,age\n" + "".join(f"{i},{i % 9}\n" for i in range(99)))
    done = run(folder, "--vault", vault, "--yes")
    assert done.exit_code == 0, done.output
    said = [x for x in done.stderr.splitlines() if x.startswith("left out: ")]
    assert [x.removeprefix(f"left out: {folder}/").partition(" ")[0] for x in said] == [
        "broken.parquet",
        "cut.json",
        "gone.csv",
        "uneven.csv",
    ]
    assert "LINE 1" not in done.output
    assert "sub.csv" not in done.output
    assert "ALTER TABLE visits SET PU;" in done.stdout
    # a table that was not read may say whose the rows of the others are
    assert "could not be read, and may say whose rows" in done.stderr
    with Session(vault, role="owner") as owner:
        assert owner.execute("SHOW PRIVACY TABLES").table["status"].to_pylist() == ["undeclared"]
        assert owner.execute("SELECT table_name FROM duckdb_tables()").table.num_rows == 1


def test_a_file_that_cannot_be_read_is_named_and_leaves_nothing(tmp_path: Path) -> None:
    file = tmp_path / "broken.parquet"
    file.write_bytes(b"PAR1 no")
    done = run(file, "--vault", tmp_path / "a.duckdb")
    assert (done.exit_code, "LINE 1" in done.output) == (2, False)
    assert f"{file} cannot be read: File" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["broken.parquet"]


def test_what_to_do_with_a_head_without_rows_declares_a_table(tmp_path: Path) -> None:
    """What the hint says is run: nothing said what an owner of an empty table can do."""
    done = run(write_csv(tmp_path / "a.csv", "patient,cost\n"), "--vault", tmp_path / "a.duckdb")
    (hint,) = (x for x in done.stderr.splitlines() if "holds no rows" in x)
    with Session(tmp_path / "later.duckdb", role="owner") as owner:
        for statement in hint.partition("its form says: ")[2].split("; "):
            owner.execute(statement)
        assert owner.execute("SHOW PRIVACY TABLES").table["status"].to_pylist() == ["private"]


def test_one_name_in_two_spellings_is_a_link(tmp_path: Path) -> None:
    """Two tables of the same people had a budget each, since one file says Person-ID."""
    folder = tmp_path / "town"
    folder.mkdir()
    people = "".join(f"P{i};{i % 90}\n" for i in range(400))
    write_csv(folder / "personen 2025.csv", "Person-ID;Age\n" + people, "utf-8-sig")
    rows = "".join(f"{i},P{i * 7 % 400},{i % 70}\n" for i in range(900))
    write_csv(folder / "visits.csv", "vid,person_id,cost\n" + rows)
    lines = run(folder, "--vault", tmp_path / "town.duckdb", "--yes").stdout.splitlines()
    target = 'personen_2025("Person-ID")'
    assert f"ALTER TABLE visits ADD PRIVACY_LINK (person_id) REFERENCES {target};" in lines
