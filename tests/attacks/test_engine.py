"""What an analyst could learn from the engine itself: errors, plans, shadowed functions."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from support.vaults import write

from sqlpriv.errors import Error, OperationalError
from sqlpriv.kernel.reader import Reader
from sqlpriv.session.session import Session

DECLARED = """
ALTER TABLE t ADD PRIVACY_KEY (id);
ALTER TABLE t SET PRIVACY BOUND (rows_per_unit = 2);
ALTER TABLE t SET PU;
ALTER TABLE t SET PRIVACY BUDGET (epsilon = 1000, delta = 1e-9);
"""
PRICE = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5)"


def vault(folder: Path, name: str, make: str, declare: str = "") -> Path:
    path = folder / f"{name}.duckdb"
    with Session(path, role="owner") as owner:
        owner.execute(f"{make};{DECLARED}{declare}")
    return path


def outcome(path: Path, sql: str) -> tuple[str, int]:
    """The kind of what came back, and how many rows: all that an error oracle could tell."""
    with Session(path) as analyst:
        try:
            table = analyst.execute(sql).table
        except Error as error:
            return type(error).__name__, 0
    assert table is not None
    return "rows", table.num_rows


@pytest.mark.parametrize(
    ("column", "usual", "odd", "declare", "sql"),
    [
        (  # doubles round above 2^53: a value beyond the last level must fall in no cell
            "BIGINT",
            "9007199254740992",
            "9007199254740996",
            "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN"
            " BETWEEN (9007199254740992, 9007199254740995)",
            f"{PRICE} x + 0 AS k, COUNT(*) FROM t WHERE id = 7 GROUP BY x + 0",
        ),
        (  # DuckDB raises for the week of its first days, also when it plans
            "DATE",
            "DATE '2020-01-01'",
            "DATE '5877641-07-01 (BC)'",
            "",
            f"{PRICE} COUNT(*) FROM t WHERE week(x) = 1",
        ),
    ],
)
def test_no_row_shows_in_whether_a_statement_fails(
    tmp_path: Path, column: str, usual: str, odd: str, declare: str, sql: str
) -> None:
    make = "CREATE TABLE t AS SELECT range AS id, CASE WHEN range = 7 THEN {} ELSE {} END::{} AS x"
    seen = [
        outcome(vault(tmp_path, n, make.format(v, usual, column) + " FROM range(50)", declare), sql)
        for n, v in (("with", odd), ("without", usual))
    ]
    print(f"with the unusual row: {seen[0]}, without: {seen[1]}")
    assert seen[0] == seen[1]
    assert seen[0][0] == "rows"


def test_explain_is_the_same_whatever_was_found_in_the_rows(tmp_path: Path) -> None:
    make = "CREATE TABLE t AS SELECT range % {} AS id, (range % 2)::TINYINT AS x FROM range(60)"
    domain = "ALTER TABLE t ALTER COLUMN x SET PRIVACY DOMAIN IN (0, 1)"
    shown = []
    for name, units in (("kept", 60), ("bounded", 10)):
        with Session(vault(tmp_path, name, make.format(units), domain)) as analyst:
            table = analyst.execute(f"EXPLAIN PRIVACY {PRICE} x, COUNT(*) FROM t STRATIFY BY x")
            assert table.table is not None
            shown.append(table.table.to_pylist())
    print(f"rows of the plan that differ: {sum(a != b for a, b in zip(*shown, strict=True))}")
    assert shown[0] == shown[1]


def test_a_generated_column_is_not_there(tmp_path: Path) -> None:
    """It is computed when it is read: its cast fails on the one row that was updated."""
    path = vault(
        tmp_path,
        "generated",
        "CREATE TABLE t (id INT, a VARCHAR, b INT GENERATED ALWAYS AS (CAST(a AS INT)));"
        "INSERT INTO t SELECT range, '1' FROM range(20); UPDATE t SET a = 'x' WHERE id = 7",
    )
    assert outcome(path, f"{PRICE} COUNT(*) FROM t WHERE b = 1") == ("Refused", 0)
    assert outcome(path, f"{PRICE} COUNT(*) FROM t WHERE a = '1'") == ("rows", 1)


def test_a_macro_of_the_vault_stands_in_for_nothing(tmp_path: Path) -> None:
    path = vault(tmp_path, "macro", "CREATE TABLE t AS SELECT range AS id FROM range(50)")
    write(path, "CREATE MACRO sum(x) AS max(x) * 1000")
    with Session(path) as analyst, pytest.raises(OperationalError, match="macros"):
        analyst.execute(f"{PRICE} COUNT(*) FROM t")
    write(path, "DROP MACRO sum")
    assert outcome(path, f"{PRICE} COUNT(*) FROM t") == ("rows", 1)


@pytest.mark.parametrize(
    "macro",
    [
        "count_star() AS 0",
        "current_database() AS 'x'",
        "duckdb_functions() AS TABLE SELECT true AS internal, 'x' AS database_name",
        "count(x) AS 0",
        "sqlpriv_clamp(x, low, high) AS x",
    ],
)
def test_no_macro_hides_itself_from_the_look_for_macros(tmp_path: Path, macro: str) -> None:
    """The first three did, and any other macro beside them."""
    write(path := tmp_path / "hidden.duckdb", f"CREATE TABLE t (id INTEGER); CREATE MACRO {macro}")
    with Reader(path) as reader, pytest.raises(OperationalError, match="macros"):
        reader.catalog()


def test_a_collation_joins_no_units(tmp_path: Path) -> None:
    """a and A are two units: each keeps its row, which by the collation alone would be one."""
    make = (
        "CREATE TABLE t (id VARCHAR COLLATE NOCASE, x INTEGER);"
        "INSERT INTO t SELECT chr((97 + range // 2 % 26)::INTEGER), 1 FROM range(52);"
        "INSERT INTO t SELECT chr((65 + range // 2 % 26)::INTEGER), 1 FROM range(52)"
    )
    path = vault(tmp_path, "collation", make, "ALTER TABLE t SET PRIVACY BOUND (rows_per_unit = 1)")
    with Session(path) as analyst:
        table = analyst.execute(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 500) COUNT(*) AS n FROM t"
        ).table
    assert table is not None
    with duckdb.connect(str(path), read_only=True) as plain:
        assert plain.execute("SELECT count(DISTINCT id) FROM t").fetchone() == (26,)
    assert abs(table.column("n")[0].as_py() - 52) < 5
