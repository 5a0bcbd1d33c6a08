"""Statements that fail, hang or blow up on the target's row alone, in plain SQL; and ways out.

Each is put to two vaults that differ in the target. All that an attacker sees, the kind of outcome,
its text, the number of rows and what was charged, has to be the same.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

from sqlpriv.errors import Error
from sqlpriv.session.session import Session
from sqlpriv.system import quiet_engine

OTHERS = "(2, 'a', 5, '{}', '2020-01-01'), (3, 'b', 6, '[1]', '2021-01-01')"
TARGET = "(1, '(', 1114112, '{', 'never')"
DECLARED = """
ALTER TABLE t ADD PRIVACY_KEY (id);
ALTER TABLE t SET PU;
ALTER TABLE t ALTER COLUMN n SET PRIVACY DOMAIN BETWEEN (0, 100) NOT NULL;
ALTER TABLE t SET PRIVACY BUDGET (epsilon = 100, delta = 1e-9);
CREATE TABLE sizes (k INTEGER);
INSERT INTO sizes VALUES (1), (2);
ALTER TABLE sizes SET PUBLIC;
"""
FAILING = {
    "strptime": "COUNT(*) FROM t WHERE strptime(day, '%Y-%m-%d') > TIMESTAMP '2000-01-01'",
    "make_date": "COUNT(*) FROM t WHERE make_date(2000, n::INTEGER, 1) > DATE '1999-01-01'",
    "a cast of text": "COUNT(*) FROM t WHERE day::DATE > DATE '2000-01-01'",
    "chr": "COUNT(*) FROM t WHERE chr(n) <> 'x'",
    "a regular expression from the data": "COUNT(*) FROM t WHERE regexp_matches('a', s)",
    "bad JSON": "COUNT(*) FROM t WHERE json_extract(j, '$.a') IS NULL AND json(j) IS NOT NULL",
    "error()": "COUNT(*) FROM t WHERE CASE WHEN id = 1 THEN error('here') ELSE TRUE END",
    "factorial": "SUM(factorial(n::INTEGER % 1000)) FROM t",
    "shifts": "COUNT(*) FROM t WHERE 1::TINYINT << (n % 200)::TINYINT > 0",
    "a subquery of several rows": "COUNT(*) FROM t WHERE n > (SELECT k FROM sizes WHERE id = 1)",
    "a private subquery of several rows": "COUNT(*) FROM t WHERE n > (SELECT n FROM t)",
    "repeat": "COUNT(*) FROM t WHERE length(repeat('x', n)) > 0",
    "range": "COUNT(*) FROM t WHERE len(range(n)) > 0",
    "a text as long as a declared number says": "COUNT(*) FROM t"
    " WHERE lpad('x', n::INTEGER, 'y') <> ''",
    "a text longer than memory": "COUNT(*) FROM t WHERE length(printf('%400000000d', n)) > 0",
    "a text that grows again and again": "COUNT(*) FROM t WHERE length("
    "replace(replace(repeat('a', 900), 'a', repeat('a', 900)), 'a', repeat('a', 900))) > 0",
    "a list": "COUNT(*) FROM t WHERE len([n, n]) = 2",
    "all text in one": "string_agg(s, '') FROM t",
    "sleep": "COUNT(*) FROM t WHERE sleep_ms(n) IS NULL",
    "random": "COUNT(*) FROM t WHERE random() < 0.5 AND id = 1",
}
LASTING = ("sleep", "a text longer than memory", "a text that grows again and again")
"""Those that plain SQL does not fail on: they last, or take gigabytes."""
ANSWERED = {
    "division by zero": "COUNT(*) FROM t WHERE 1 // (id - 1) > 0",
    "overflow": "SUM(LEAST(GREATEST(n * n * n * n, 0), 9)) FROM t",
    "the year of nothing": "COUNT(*) FROM t WHERE 5 % (id - 1) = 0",
    "a pattern": "COUNT(*) FROM t WHERE s LIKE '%(%'",
    "a text as long as is written": "COUNT(*) FROM t WHERE lpad('x', 9, 'y') <> 'x'",
    "text cut": "COUNT(*) FROM t WHERE SUBSTRING(s, 2, 5) = ''",
}
OUTWARD = [
    "SELECT * FROM read_csv('{0}')",
    "SELECT * FROM '{0}'",
    "SELECT * FROM read_text('{0}')",
    "COPY (SELECT 1) TO '{0}'",
    "ATTACH '{0}' AS x",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA database_list",
    "SET memory_limit = '1TB'",
    "SET enable_external_access = true",
    "SELECT getenv('HOME')",
    "CALL pragma_version()",
    "EXPORT DATABASE '{0}'",
    "SELECT * FROM duckdb_settings()",
    "SELECT * FROM glob('{0}/*')",
    "CREATE TABLE x (a INTEGER)",
]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """With the target and without."""
    made, tmp_path = [], tmp_path_factory.mktemp("both")
    for name, rows in (("with", f"{TARGET}, {OTHERS}"), ("without", OTHERS)):
        path = tmp_path / f"{name}.duckdb"
        with Session(path, role="owner") as owner:
            owner.execute(
                "CREATE TABLE t (id INTEGER PRIMARY KEY, s VARCHAR, n BIGINT, j VARCHAR,"
                f" day VARCHAR); INSERT INTO t VALUES {rows};{DECLARED}"
            )
        made.append(path)
    return made[0], made[1]


def seen(vault: Path, sql: str) -> tuple[str, str, int, int]:
    """The outcome, its text without the vault's name, its rows, and how often it was charged."""
    with Session(vault) as analyst:
        before = charges(analyst)
        analyst.execute("SET privacy_epsilon = 1")
        try:
            table = analyst.execute(sql).table
            outcome, said, rows = "rows", "", -1 if table is None else table.num_rows
        except Error as error:
            outcome, said, rows = type(error).__name__, str(error).replace(vault.name, "V"), 0
        return outcome, said, rows, charges(analyst) - before


def charges(analyst: Session) -> int:
    table = analyst.execute("SHOW PRIVACY BUDGET").table
    assert table is not None
    return int(table.column("charges")[0].as_py())


@pytest.mark.parametrize("attack", FAILING)
def test_what_could_fail_on_a_row_is_refused_alike_and_free(
    both: tuple[Path, Path], attack: str
) -> None:
    with_target, without = (seen(vault, f"SELECT {FAILING[attack]}") for vault in both)
    print(f"{attack}: {with_target[:2]}; the same without the target: {with_target == without}")
    assert with_target == without
    assert with_target[0] == "Refused"
    assert with_target[3] == 0


@pytest.mark.parametrize("attack", ANSWERED)
def test_what_could_fail_is_answered_alike_where_it_is_total(
    both: tuple[Path, Path], attack: str
) -> None:
    with_target, without = (seen(vault, f"SELECT {ANSWERED[attack]}") for vault in both)
    print(f"{attack}: {with_target}; the same without the target: {with_target == without}")
    assert with_target == without == ("rows", "", 1, 1)


def test_in_plain_sql_the_target_shows(both: tuple[Path, Path]) -> None:
    """The twin: DuckDB's own outcome differs between the two for most of them."""
    told = 0
    for attack, text in FAILING.items():
        if attack in LASTING:
            continue
        failed = []
        for vault in both:
            with duckdb.connect(str(vault), read_only=True) as plain:
                failed.append(True)
                with suppress(duckdb.Error):
                    plain.execute(f"SELECT {text}").fetchall()
                    failed[-1] = False
        told += failed == [True, False]
    print(f"plain SQL tells of the target in {told} of {len(FAILING)} ways")
    assert told >= 7


@pytest.mark.parametrize("sql", OUTWARD)
def test_nothing_of_an_analyst_reaches_out_of_the_vault(
    both: tuple[Path, Path], sql: str, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n4711\n")
    outcome, said, rows, charged = seen(both[0], sql.format(secret))
    print(f"{sql}: {outcome}, {said.splitlines()[:1]}")
    assert (outcome != "rows", rows, charged) == (True, 0, 0)
    assert "4711" not in said
    assert secret.read_text() == "a\n4711\n"


def test_literals_and_statements_have_a_size(both: tuple[Path, Path]) -> None:
    for sql in (
        f"SELECT COUNT(*) FROM t WHERE s = '{'x' * 20_000_000}'",
        f"SELECT COUNT(*) FROM t WHERE s LIKE '{'%a' * 5_000}'",
        f"SELECT COUNT(*) FROM t WHERE {'(' * 5000}n = 1{')' * 5000}",
        f"SELECT COUNT(*) FROM t WHERE n = {'9' * 400}",
    ):
        outcome, said, _, charged = seen(both[0], sql)
        print(f"{len(sql)} characters: {outcome}, {said[:80]}")
        assert (outcome, charged) == ("Refused", 0)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a.k FROM sizes a, sizes b, sizes c, sizes d, sizes e, sizes f, sizes g, sizes h,"
        " sizes i, sizes j",
        "SELECT a.table_name FROM duckdb_columns() a, duckdb_columns() b",
    ],
)
def test_an_answer_that_is_free_takes_a_part_of_memory_alone(
    both: tuple[Path, Path], sql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB's limit is not one of the rows that it hands over, and a process that is killed for
    memory takes everybody's session with it. Each answer here has 1,024 rows or more."""
    assert seen(both[0], sql)[0] == "rows"
    monkeypatch.setattr(quiet_engine, "MOST_BYTES", 4_000)
    outcome, said, rows, charged = seen(both[0], sql)
    print(f"{sql[:40]}…: {outcome}, {said}")
    assert (outcome, rows, charged) == ("ProgrammingError", 0, 0)
    assert "fewer rows" in said
