"""Of public tables a query's columns alone are read, and the answer is that of all columns."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import sqlpriv
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.session.access.free_sql import columns_read

SETUP = """
CREATE TABLE a AS SELECT i AS id, i % 3 AS "Kind", {'x': i, 'y': -i} AS s, 'a' || i AS note
FROM range(12) r(i);
CREATE TABLE b AS SELECT i AS id, i % 3 AS kind, i * 2 AS twice, 'b' || i AS note
FROM range(9) r(i);
"""
FEWER = {
    "SELECT count(*) FROM a": ["id"],
    "SELECT sum(id) FROM a WHERE kind = 1": ["id", "Kind"],
    "SELECT s.x, a.kind FROM a ORDER BY note DESC LIMIT 2": ["Kind", "s", "note"],
    "SELECT twice FROM a JOIN b USING (id) WHERE b.kind > 0 ORDER BY 1": ["id", "Kind"],
    "WITH v AS (SELECT kind FROM a WHERE id IN (SELECT twice FROM b)) SELECT kind, count(*) n"
    " FROM v GROUP BY ALL ORDER BY n, kind": ["id", "Kind"],
    "SELECT (SELECT max(twice) FROM b WHERE b.id = a.id) AS most FROM a ORDER BY 1": ["id"],
    "SELECT kind FROM a UNION BY NAME SELECT twice FROM b ORDER BY 1, 2": ["Kind"],
}
ALL = (
    "SELECT * FROM a ORDER BY id",
    "SELECT a.* EXCLUDE (note) FROM a ORDER BY id",
    "SELECT COLUMNS('i.*') FROM a ORDER BY id",
    "FROM a ORDER BY id",
    "SELECT id FROM a ORDER BY ALL",
    "TABLE a ORDER BY id",
    "SELECT count(*) FROM a NATURAL JOIN b",
    "SELECT a FROM a ORDER BY id",
    "SELECT x FROM a AS x ORDER BY id",
    "SELECT count(A) FROM a",
    "SELECT q FROM a AS x(p, q) ORDER BY q",
    "SELECT count(*) FROM (SELECT id FROM a) POSITIONAL JOIN (SELECT * FROM b)",
    "SELECT note FROM (PIVOT a ON kind USING count(s)) ORDER BY 1",
    "SELECT column_name FROM (SUMMARIZE a) ORDER BY 1",
    "SELECT id FROM query_table('a') ORDER BY 1",
)


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("columns") / "v.duckdb"
    with sqlpriv.connect(path, role="owner") as owner:
        owner.execute(SETUP)
        for table in "ab":
            owner.execute(f"ALTER TABLE {table} SET PUBLIC")
    return path


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The columns that were read of each table."""
    columns: dict[str, list[str]] = {}
    rows = Reader.rows

    def noted(self: Reader, contract: TableContract, *more: object) -> object:
        answer = rows(self, contract, *more)  # type: ignore[arg-type]  # as they came
        columns[contract.table] = answer.column_names
        return answer

    monkeypatch.setattr(Reader, "rows", noted)
    return columns


def plainly(text: str) -> list[tuple[object, ...]]:
    return duckdb.connect().execute(SETUP).execute(text).fetchall()


@pytest.mark.parametrize("text", FEWER)
def test_columns_that_are_named_are_read(
    vault: Path, read: dict[str, list[str]], text: str
) -> None:
    with sqlpriv.connect(vault) as analyst:
        assert analyst.execute(text).fetchall() == plainly(text)
    assert read["a"] == FEWER[text]


@pytest.mark.parametrize("text", ALL)
def test_all_columns_are_read_where_more_may_be_meant(text: str) -> None:
    assert columns_read(duckdb.connect(), text) is None


@pytest.mark.parametrize("text", ALL[:12])
def test_answers_over_all_columns_are_plain_ones(vault: Path, text: str) -> None:
    with sqlpriv.connect(vault) as analyst:
        assert analyst.execute(text).fetchall() == plainly(text)


def test_kept_columns_are_read_once(vault: Path, read: dict[str, list[str]]) -> None:
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SELECT max(id), max(note) FROM a").fetchall()
        read.clear()
        analyst.execute("SELECT min(note) FROM a").fetchall()
        assert not read
        analyst.execute("SELECT max(kind) FROM a").fetchall()
        assert read == {"a": ["id", "Kind", "note"]}  # those that were kept, and one more
        read.clear()
        assert analyst.execute("SELECT count(kind), min(note) FROM a").fetchall() == [(12, "a0")]
        assert not read
