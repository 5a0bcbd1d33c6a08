"""Tables whose rows lie in Parquet files: declared, asked, changed, lost."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sqlpriv.errors import DeclarationError, Error, OperationalError, ProgrammingError, ReadFailed
from sqlpriv.kernel import reader
from sqlpriv.kernel.reader import Reader
from sqlpriv.session.session import Session

DECLARED = """
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1);
ALTER TABLE people SET PU;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1e6);
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN (0, 300)
"""
ASK = """SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) sex, count(*) AS n
FROM people GROUP BY sex ORDER BY sex"""


def parquet(path: Path, query: str) -> None:
    with duckdb.connect() as engine:
        engine.sql(query).write_parquet(str(path))


def people(path: Path, rows: int, first: int = 0) -> None:
    parquet(path, f"SELECT {first} + i AS id, i % 2 AS sex, i % 301 AS pay FROM range({rows}) t(i)")


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Session]:
    monkeypatch.chdir(tmp_path)
    people(tmp_path / "a.parquet", 300)
    people(tmp_path / "b's.parquet", 100, 300)
    opened = Session(tmp_path / "v.duckdb", role="owner")
    yield opened
    opened.close()


def counts(session: Session, epsilon: float = 1e4) -> list[int]:
    table = session.run(ASK.format(epsilon))[-1].table
    assert table is not None
    return table.column("n").to_pylist()


def charges(session: Session) -> int:
    table = session.run("SHOW PRIVACY RELEASES DETAILS")[0].table
    assert table is not None
    return table.num_rows


def refused(session: Session, sql: str, kind: type[Error], words: str) -> None:
    before = charges(session)
    with pytest.raises(kind, match=words):
        session.run(sql)
    assert charges(session) == before


def test_rows_in_files_are_asked_as_rows_of_the_vault(session: Session) -> None:
    message = session.run("CREATE TABLE people FROM PARQUET '*.parquet'")[0].message
    assert message == "people: 400 row(s) in 2 file(s), read in place"
    session.run(DECLARED)
    assert counts(session) == [200, 200]
    assert os.path.getsize("v.duckdb") < 1_000_000


def test_a_file_that_is_written_again_is_a_new_snapshot(session: Session, tmp_path: Path) -> None:
    session.run(f"CREATE TABLE people FROM PARQUET 'a.parquet'; {DECLARED}")
    assert counts(session) == [150, 150]
    paid = charges(session)
    assert counts(session) == [150, 150]
    assert charges(session) == paid  # the same question of the same files is free
    people(tmp_path / "a.parquet", 200)
    assert counts(session) == [100, 100]
    assert charges(session) > paid


def test_a_file_of_the_same_size_and_time_is_told_apart(session: Session, tmp_path: Path) -> None:
    file = tmp_path / "a.parquet"
    rows = "SELECT i AS id, (i % 4 < {})::INTEGER AS sex, i % 301 AS pay FROM range(300) t(i)"
    parquet(file, rows.format(1))
    before = file.stat()
    session.run(f"CREATE TABLE people FROM PARQUET 'a.parquet'; {DECLARED}")
    assert counts(session) == [225, 75]
    parquet(file, rows.format(2))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = file.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert counts(session) == [150, 150]


def test_a_file_that_changes_while_it_is_read_is_never_answered_of(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.run(f"CREATE TABLE people FROM PARQUET 'a.parquet'; {DECLARED}")
    run = Reader._run_within_limit

    def write_meanwhile(self: Reader, sql: str, engine: str) -> duckdb.DuckDBPyConnection:
        result = run(self, sql, engine)
        people(tmp_path / "a.parquet", 298)
        return result

    paid = charges(session)
    with monkeypatch.context() as patched:
        patched.setattr(Reader, "_run_within_limit", write_meanwhile)
        with pytest.raises(ReadFailed, match="changed while it was read"):
            counts(session)
    table = session.run("SHOW PRIVACY BUDGET")[0].table
    assert table is not None
    assert charges(session) == paid  # nothing was released …
    assert pytest.approx(spent(session)) == 10_000  # … and what was paid stays paid
    assert counts(session) == [149, 149]


def spent(session: Session) -> float:
    table = session.run("SHOW PRIVACY BUDGET")[0].table
    assert table is not None
    row = table.to_pylist()[0]
    return next(value for key, value in row.items() if "spent" in key)


def test_a_lost_file_costs_nothing(session: Session, tmp_path: Path) -> None:
    session.run(f"CREATE TABLE people FROM PARQUET '*.parquet'; {DECLARED}")
    (tmp_path / "a.parquet").unlink()
    refused(session, ASK.format(3), OperationalError, "cannot read .*a.parquet; nothing was charg")
    assert spent(session) == 0
    session.run("CREATE OR REPLACE TABLE people FROM PARQUET '*.parquet'")
    assert counts(session) == [50, 50]


@pytest.mark.parametrize(
    "columns", ["i AS id, i % 2 AS sex", "i AS id, (i % 2)::DOUBLE AS sex, i % 301 AS pay"]
)
def test_files_of_other_columns_cost_nothing(
    session: Session, tmp_path: Path, columns: str
) -> None:
    session.run(f"CREATE TABLE people FROM PARQUET ('a.parquet', 'b''s.parquet'); {DECLARED}")
    other = f"SELECT {columns} FROM range(100) t(i)"
    parquet(tmp_path / "b's.parquet", other)
    refused(session, ASK.format(3), OperationalError, "columns differ")
    assert spent(session) == 0
    refused(
        session, "CREATE TABLE more FROM PARQUET '*.parquet'", DeclarationError, "names or types"
    )


@pytest.mark.parametrize(
    ("sql", "kind", "words"),
    [
        ("CREATE TABLE t FROM PARQUET 'none/*.parquet'", ProgrammingError, "no file none"),
        ("CREATE TABLE t FROM CSV 'a.csv'", ProgrammingError, "not read in place from CSV"),
        ("CREATE TABLE t FROM PARQUET 7", ProgrammingError, "named by texts"),
        ("CREATE TABLE t FROM PARQUET 'v.duckdb'", DeclarationError, "cannot be made of these"),
        ("CREATE TABLE people FROM PARQUET 'a.parquet'", ProgrammingError, "already"),
        ("CREATE OR REPLACE TABLE held FROM PARQUET 'a.parquet'", DeclarationError, "of type Tab"),
        ("DROP TABLE seen", ProgrammingError, "is of type View"),
    ],
)
def test_what_cannot_be_done_says_what_to_write(
    session: Session, sql: str, kind: type[Error], words: str
) -> None:
    session.run("CREATE TABLE people FROM PARQUET 'a.parquet'; CREATE TABLE held (a INTEGER)")
    session.run("CREATE VIEW seen AS SELECT * FROM held")
    refused(session, sql, kind, words)


@pytest.mark.parametrize(
    "drop", ["DROP TABLE people", 'drop table if exists main."PEOPLE" cascade']
)
def test_a_table_of_files_is_dropped_and_its_files_stay(session: Session, drop: str) -> None:
    made = f"CREATE TABLE people FROM PARQUET '*.parquet'; {DECLARED}"
    session.run(made)
    assert counts(session) == [200, 200]
    paid = charges(session)
    message = session.run(drop)[0].message
    assert "its list of 2 file(s)" in message
    assert "the files stay" in message
    assert sorted(os.listdir()) >= ["a.parquet", "b's.parquet"]
    with pytest.raises(ProgrammingError, match="there is no table"):
        session.run(ASK.format(1))
    session.run(made)  # what was declared has to be said again, and what was spent stays spent
    assert charges(session) == paid


def test_a_drop_that_is_rolled_back_is_none(session: Session) -> None:
    session.run(f"CREATE TABLE people FROM PARQUET 'a.parquet'; {DECLARED}")
    session.run("BEGIN; DROP TABLE people; ROLLBACK")
    assert counts(session) == [150, 150]


@pytest.mark.parametrize(
    "body",
    [
        "SELECT * FROM read_parquet(['{0}/a.parquet']) WHERE sex = 1",
        "SELECT id, sex FROM read_parquet(['{0}/a.parquet'])",
        "SELECT * FROM read_parquet(['{0}/a.parquet', '{0}/' || 'a.parquet'])",
        "SELECT * FROM read_parquet(['{0}/a.parquet'], filename = true)",
        "SELECT * FROM read_parquet('{0}/*.parquet')",
        "SELECT * FROM read_csv(['{0}/a.csv'])",
    ],
)
def test_a_view_of_another_form_is_no_table(session: Session, tmp_path: Path, body: str) -> None:
    (tmp_path / "a.csv").write_text("a\n1\n")
    session.run(f"CREATE VIEW people AS {body.format(tmp_path)}")
    with pytest.raises(ProgrammingError, match="no table"):
        session.run("ALTER TABLE people ADD PRIVACY_KEY (id)")
    with Reader(tmp_path / "v.duckdb") as opened, pytest.raises(duckdb.Error, match="disabled by"):
        opened._duckdb.execute(f"SELECT * FROM read_parquet('{tmp_path}/a.parquet')")


def test_the_sealed_engine_opens_no_other_file(session: Session, tmp_path: Path) -> None:
    session.run("CREATE TABLE people FROM PARQUET 'a.parquet'")
    with Reader(tmp_path / "v.duckdb") as opened:
        run = opened._duckdb.execute
        assert run("SELECT count(*) FROM main.people").fetchall() == [(300,)]
        for other in ("b''s.parquet", "*.parquet", "../a.parquet"):
            with pytest.raises(duckdb.Error, match="disabled by configuration"):
                run(f"SELECT * FROM read_parquet('{tmp_path}/{other}')")
        with pytest.raises(duckdb.Error):
            run(f"COPY (SELECT 1 AS a) TO '{tmp_path}/a.parquet' (FORMAT parquet)")
    assert reader.CATALOGS


def test_an_iceberg_snapshot_is_pinned(session: Session, tmp_path: Path) -> None:
    pytest.importorskip("pyiceberg")
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("d")
    rows = pa.table({"id": range(10), "sex": [0, 1] * 5, "pay": range(10)})
    table = catalog.create_table("d.people", schema=rows.schema)
    table.append(rows)
    first = table.current_snapshot()
    assert first is not None
    table.append(rows.set_column(0, "id", pa.array(range(10, 20))))
    metadata = table.metadata_location.removeprefix("file://")
    made = session.run(f"CREATE TABLE people FROM ICEBERG '{metadata}'; {DECLARED}")[0].message
    assert made == "people: 20 row(s) in 2 file(s), read in place"
    assert counts(session) == [10, 10]
    pinned = f"CREATE OR REPLACE TABLE people FROM ICEBERG '{metadata}'"
    session.run(f"{pinned} SNAPSHOT {first.snapshot_id}")
    assert counts(session) == [5, 5]
    refused(session, f"{pinned} SNAPSHOT 1", DeclarationError, "cannot be read as Iceberg")
