"""Tables whose rows lie in Parquet or DuckDB files: declared, asked, changed, lost."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import psycopg
import pytest

import sqlpriv
from sqlpriv.errors import (
    DeclarationError,
    Error,
    OperationalError,
    ProgrammingError,
    ReadFailed,
    Refused,
)
from sqlpriv.kernel import reader
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.rows_in_files import Listed
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
    assert message == "people: 400 rows in 2 files, read in place"
    session.run(DECLARED)
    assert counts(session) == [200, 200]
    assert os.path.getsize("v.duckdb") < 1_000_000


def test_a_price_that_leaves_next_to_no_noise_is_explained(session: Session) -> None:
    """What as little noise costs under the other kind of budget is beyond all doubles."""
    session.run(f"CREATE TABLE people FROM PARQUET 'a.parquet'; {DECLARED}")
    for epsilon, told in ((2, True), (1e4, False)):
        (explained,) = session.run("EXPLAIN PRIVACY " + ASK.format(epsilon))
        assert explained.table is not None
        names = explained.table.column("measurement").to_pylist()
        assert any("the same noise" in name for name in names) is told


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


def test_files_that_differ_stop_no_declaration(session: Session, tmp_path: Path) -> None:
    """Nothing is verified of them: a unit's bound is enforced by a pass once they are right."""
    session.run("CREATE TABLE held (id INTEGER)")
    session.run(f"CREATE TABLE people FROM PARQUET '*.parquet'; {DECLARED}")
    right, file = (tmp_path / "b's.parquet").read_bytes(), tmp_path / "b's.parquet"
    parquet(file, "SELECT i AS id, 'x' AS sex, 1 AS pay FROM range(100) t(i)")
    session.run("ALTER TABLE held SET PRIVACY BOUND (rows_per_unit = 2)")
    session.run("ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 2)")
    file.unlink()
    session.run("ALTER TABLE held SET PRIVACY BOUND (rows_per_unit = 3)")
    file.write_bytes(right)
    assert counts(session) == [200, 200]


@pytest.mark.parametrize("form", ["PARQUET 'a.parquet'", "DUCKDB 'a.duckdb' TABLE people"])
@pytest.mark.parametrize(
    ("pay", "total"),
    [("0.5", 150), ("'nan'", None), ("1e300", 90_000), ("'inf'", 90_000)],
)
def test_a_file_written_anew_with_another_type_is_asked_of_that_type(
    session: Session, tmp_path: Path, form: str, pay: str, total: float | None
) -> None:
    """No row may make a statement fail: of the type that it was, NaN and 1e300 would."""
    ask = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1e5) sum(pay) AS pay FROM people"
    with duckdb.connect(str(tmp_path / "a.duckdb")) as engine:
        engine.execute("CREATE TABLE people AS FROM 'a.parquet'")
    session.run(f"CREATE TABLE people FROM {form}; {DECLARED}")
    session.run(ask)
    rows = f"SELECT i AS id, i % 2 AS sex, {pay}::DOUBLE AS pay FROM range(300) t(i)"
    parquet(tmp_path / "a.parquet", rows)
    with duckdb.connect(str(tmp_path / "a.duckdb")) as engine:
        engine.execute(f"CREATE OR REPLACE TABLE people AS {rows}")
    table = session.run(ask)[-1].table
    assert table is not None
    assert table.column("pay")[0].as_py() == pytest.approx(total, abs=0.05)


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
    assert "its list of 2 files" in message
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
        "SELECT * FROM read_parquet(['{0}/[a].parquet'])",
        "SELECT * FROM read_parquet(['{0}/a.parquet'], hive_partitioning = true)",
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
    assert reader.known_of(opened.fingerprint)["catalog"]


def test_a_link_to_a_key_that_occurs_twice_is_refused_before_any_charge(
    session: Session, tmp_path: Path
) -> None:
    session.run(f"CREATE TABLE people FROM PARQUET 'a.parquet'; {DECLARED}")
    parquet(tmp_path / "visits.parquet", "SELECT i AS visit, i % 300 AS who FROM range(900) t(i)")
    session.run("CREATE TABLE visits FROM PARQUET 'visits.parquet'")
    session.run("ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 3)")
    link = "ALTER TABLE visits ADD PRIVACY_LINK (who) REFERENCES people(id)"
    doubled = "SELECT i % 299 AS id, i % 2 AS sex, i % 301 AS pay FROM range(300) t(i)"
    parquet(tmp_path / "a.parquet", doubled)
    refused(session, link, DeclarationError, "id occurs more than once in people")
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1e4) count(*) AS n FROM visits"
    refused(session, asked, ProgrammingError, "nobody declared whom")
    assert spent(session) == 0
    session.run("ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 2)")
    session.run(link)  # who says that a unit has two rows may link to it
    people(tmp_path / "a.parquet", 300)
    session.run("ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1)")
    session.run(link)
    table = session.run(asked)[-1].table
    assert table is not None
    assert table.column("n")[0].as_py() == 900


# --- tables of another DuckDB file ---


def census(path: Path, rows: int, *more: str) -> None:
    with duckdb.connect(str(path)) as engine:
        engine.execute(f"""CREATE OR REPLACE TABLE residents AS
            SELECT i AS id, i % 2 AS sex, i % 301 AS pay FROM range({rows}) t(i)""")
        for statement in more:
            engine.execute(statement)


MADE = f"CREATE TABLE people FROM DUCKDB 'census.duckdb' TABLE residents; {DECLARED}"


def test_a_table_of_another_duckdb_file_is_asked_where_it_lies(
    session: Session, tmp_path: Path
) -> None:
    census(tmp_path / "census.duckdb", 400)
    made = session.run(MADE)[0].message
    assert made == "people: 400 rows in 1 file, read in place"
    assert counts(session) == [200, 200]
    paid = charges(session)
    assert counts(session) == [200, 200]
    assert charges(session) == paid
    census(tmp_path / "census.duckdb", 300)
    assert counts(session) == [150, 150]  # written anew: new rows, another snapshot
    census(tmp_path / "census.duckdb", 300, "CHECKPOINT", "CREATE TABLE other (a INTEGER)")
    before = charges(session)
    assert counts(session) == [150, 150]
    assert charges(session) > before  # the fingerprint is of the whole file
    assert "the files stay" in session.run("DROP TABLE people")[0].message
    assert (tmp_path / "census.duckdb").exists()


def test_what_is_only_in_the_log_of_a_file_is_read_too(session: Session, tmp_path: Path) -> None:
    census(tmp_path / "census.duckdb", 400)
    session.run(MADE)
    assert counts(session) == [200, 200]
    write = """import duckdb, os; opened = duckdb.connect('census.duckdb')
opened.execute('INSERT INTO residents SELECT -i - 1, 0, 1 FROM range(100) t(i)'); os._exit(0)"""
    subprocess.run([sys.executable, "-c", write], check=True)
    assert (tmp_path / "census.duckdb.wal").exists()
    assert counts(session) == [300, 200]


def test_a_file_that_another_process_writes_costs_nothing(session: Session, tmp_path: Path) -> None:
    census(tmp_path / "census.duckdb", 400)
    session.run(MADE)
    assert counts(session) == [200, 200]  # so that these contents are known
    before = spent(session)
    write = "import duckdb, sys; o = duckdb.connect('census.duckdb'); print(1, flush=True); input()"
    writer = subprocess.Popen(
        [sys.executable, "-c", write], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    assert writer.stdout.readline() == "1\n"
    refused(session, ASK.format(2e4), OperationalError, "locked by a writer.*nothing was charged")
    assert spent(session) == before
    writer.communicate("\n", timeout=60)
    assert counts(session, 2e4) == [200, 200]


def test_a_duckdb_file_that_changes_while_it_is_read_is_never_answered_of(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    census(tmp_path / "census.duckdb", 400)
    census(tmp_path / "new.duckdb", 298)
    session.run(MADE)
    run = Reader._run_within_limit

    def write_meanwhile(self: Reader, sql: str, engine: str) -> duckdb.DuckDBPyConnection:
        result = run(self, sql, engine)
        os.replace(tmp_path / "new.duckdb", tmp_path / "census.duckdb")
        return result

    with monkeypatch.context() as patched:
        patched.setattr(Reader, "_run_within_limit", write_meanwhile)
        with pytest.raises(ReadFailed, match="changed while it was read"):
            counts(session)
    assert pytest.approx(spent(session)) == 10_000  # what was paid stays paid
    assert counts(session) == [149, 149]


def test_units_listed_of_a_file_that_was_swapped_serve_no_later_read(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unit 8 has ten rows. The list of units beyond their bound is made of a file where it has one,
    which is there meanwhile; then the first file is back, as it was to the letter."""
    census(tmp_path / "census.duckdb", 400, "INSERT INTO residents SELECT 8, 0, 1 FROM range(9)")
    census(tmp_path / "new.duckdb", 400)
    session.run(MADE)
    run = Reader._run_within_limit

    def swap_for_the_list(self: Reader, sql: str, engine: str) -> duckdb.DuckDBPyConnection:
        if sql.startswith("CREATE TABLE"):
            os.rename(tmp_path / "census.duckdb", tmp_path / "kept.duckdb")
            os.rename(tmp_path / "new.duckdb", tmp_path / "census.duckdb")
        return run(self, sql, engine)

    with monkeypatch.context() as patched:
        patched.setattr(Reader, "_run_within_limit", swap_for_the_list)
        with pytest.raises(ReadFailed, match="changed while it was read"):
            counts(session)
    os.replace(tmp_path / "kept.duckdb", tmp_path / "census.duckdb")
    assert counts(session) == [200, 200]


@pytest.mark.parametrize(
    "change",
    [
        "DROP TABLE residents",
        "CREATE OR REPLACE TABLE residents (id BIGINT, sex BIGINT, pay BIGINT AS (sex + 1))",
        "ALTER TABLE residents ADD COLUMN t TEXT COLLATE nocase",
    ],
)
def test_a_table_that_became_another_costs_nothing(
    session: Session, tmp_path: Path, change: str
) -> None:
    census(tmp_path / "census.duckdb", 400, "CREATE TABLE other (t TEXT COLLATE nocase)")
    session.run(MADE)
    assert counts(session) == [200, 200]
    before = spent(session)
    census(tmp_path / "census.duckdb", 400, change)
    refused(session, ASK.format(3), OperationalError, "its table residents changed; nothing was")
    assert spent(session) == before


def test_a_lost_duckdb_file_costs_nothing(session: Session, tmp_path: Path) -> None:
    census(tmp_path / "census.duckdb", 400)
    session.run(MADE)
    (tmp_path / "census.duckdb").unlink()
    refused(session, ASK.format(3), OperationalError, "cannot read .*census.duckdb; nothing was")


@pytest.mark.parametrize(
    ("sql", "kind", "words"),
    [
        ("CREATE TABLE t FROM DUCKDB 'none.duckdb'", ProgrammingError, "no file none"),
        ("CREATE TABLE t FROM DUCKDB 'census.duckdb'", DeclarationError, "no table t in schema"),
        (
            "CREATE TABLE t FROM DUCKDB 'census.duckdb' TABLE seen",
            DeclarationError,
            "no table seen",
        ),
        ("CREATE TABLE t FROM DUCKDB 'census.duckdb' TABLE loose", DeclarationError, "COLLATE"),
        ("CREATE TABLE t FROM DUCKDB 'census.duckdb' TABLE made", DeclarationError, "generated"),
        ("CREATE TABLE t FROM DUCKDB 'census.duckdb' TABLE o.r", ProgrammingError, "of its own"),
        ("CREATE TABLE t FROM DUCKDB '*.parquet' TABLE r", ProgrammingError, "one file's"),
        ("CREATE TABLE t FROM DUCKDB 'v.duckdb' TABLE r", ProgrammingError, "is a vault"),
        ("CREATE TABLE t FROM DUCKDB 'a.parquet' TABLE r", DeclarationError, "cannot be made"),
        ("CREATE TABLE t FROM POSTGRESQL 'host=a'", ProgrammingError, "write the rows out"),
    ],
)
def test_a_duckdb_table_that_cannot_be_read_says_what_to_write(
    session: Session, tmp_path: Path, sql: str, kind: type[Error], words: str
) -> None:
    census(
        tmp_path / "census.duckdb",
        9,
        "CREATE VIEW seen AS FROM residents",
        "CREATE TABLE loose (t TEXT COLLATE nocase)",
        "CREATE TABLE made (a INTEGER, b INTEGER AS (a + 1))",
    )
    refused(session, sql, kind, words)


def test_the_commands_for_rows_of_postgresql_keep_every_value(
    session: Session, tmp_path: Path, server: str
) -> None:
    """The commands that the refusal names are run as they stand. Empty texts stay empty, NULLs stay
    NULL, and what looks like a number keeps its zeros."""
    rows = [
        (2**53 + 1, 0, 300, "", "00501", 0.1),
        (-5, 1, 0, None, "10115", float("inf")),
        (7, None, 12, 'a "q",\n of lines', "02134", None),
        (8, 1, None, "NULL", None, 1e-300),
    ]
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP TABLE IF EXISTS people")
        db.execute("CREATE TABLE people (id BIGINT, sex INT, pay INT, a TEXT, zip TEXT, x FLOAT8)")
        db.cursor().executemany("INSERT INTO people VALUES (%s, %s, %s, %s, %s, %s)", rows)
    with pytest.raises(ProgrammingError) as refusal:
        session.run("CREATE TABLE people FROM POSTGRESQL 'host=a'")
    in_psql, here, make = str(refusal.value).partition("in psql ")[2].split("; ")
    subprocess.run(["psql", server, "-c", in_psql], cwd=tmp_path, check=True, timeout=60)
    with psycopg.connect(server, autocommit=True) as db:
        db.execute("DROP TABLE people")
    session.run(f"{here.removeprefix('here ')}; {make}; {DECLARED}")
    assert duckdb.read_parquet("people.parquet").fetchall() == rows
    assert len(session.run(ASK.format(9))[0].table or ()) == 2


def test_the_sealed_engine_opens_no_other_duckdb_file(session: Session, tmp_path: Path) -> None:
    census(tmp_path / "census.duckdb", 9, "CREATE VIEW seen AS FROM residents")
    census(tmp_path / "other.duckdb", 9)
    session.run(f"""CREATE VIEW more AS
        FROM read_duckdb('{tmp_path}/other.duckdb', table_name = 'residents')""")
    session.run("CREATE TABLE people FROM DUCKDB 'census.duckdb' TABLE residents")
    with Reader(tmp_path / "v.duckdb") as opened:
        run = opened._duckdb.execute
        assert [table.table for table in opened.catalog()] == ["people"]
        assert run("SELECT count(*) FROM main.people").fetchall() == [(9,)]
        for text in (
            "main.more",
            f"read_duckdb('{tmp_path}/other.duckdb', table_name='residents')",
        ):
            with pytest.raises(duckdb.Error, match="disabled by configuration"):
                run(f"SELECT * FROM {text}")


def test_names_with_quotes_are_read_back(session: Session, tmp_path: Path) -> None:
    census(tmp_path / "it's.duckdb", 9, """ALTER TABLE residents RENAME TO "it's (a) ""T\"""")
    table = '"read_duckdb(\'x"'
    session.run(f"""CREATE TABLE {table} FROM DUCKDB 'it''s.duckdb' TABLE "it's (a) ""T\"""")
    with Reader(tmp_path / "v.duckdb") as opened:
        assert opened._engine.files == {
            "read_duckdb('x": Listed((str(tmp_path / "it's.duckdb"),), "it's (a) \"T")
        }


def test_two_vaults_and_many_threads_read_one_duckdb_file(session: Session, tmp_path: Path) -> None:
    census(tmp_path / "census.duckdb", 400)
    session.run(MADE)
    other = Session(tmp_path / "w.duckdb", role="owner")
    other.run(MADE)
    sessions = [session, other, *(Session(tmp_path / f"{v}.duckdb") for v in "vwvw")]
    with ThreadPoolExecutor(6) as threads:
        asked = [threads.submit(counts, s, 1e4 + i) for i, s in enumerate(sessions)]
        assert [answer.result() for answer in asked] == [[200, 200]] * 6
    for opened in sessions[1:]:
        opened.close()


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
    assert made == "people: 20 rows in 2 files, read in place"
    assert counts(session) == [10, 10]
    pinned = f"CREATE OR REPLACE TABLE people FROM ICEBERG '{metadata}'"
    session.run(f"{pinned} SNAPSHOT {first.snapshot_id}")
    assert counts(session) == [5, 5]
    refused(session, f"{pinned} SNAPSHOT 1", DeclarationError, "cannot be read as Iceberg")


def test_an_append_during_a_read_gives_the_pinned_snapshots_answer(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lake's writers add files and replace none; only a file that is replaced stops an answer."""
    pytest.importorskip("pyiceberg")
    import pyarrow as pa
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}")
    catalog.create_namespace("d")
    rows = pa.table({"id": range(10), "sex": [0, 1] * 5, "pay": range(10)})
    lake = catalog.create_table("d.people", schema=rows.schema)
    lake.append(rows)
    metadata = lake.metadata_location.removeprefix("file://")
    run, appended = Reader._run_within_limit, list[str]()

    def append_meanwhile(self: Reader, sql: str, engine: str) -> duckdb.DuckDBPyConnection:
        result = run(self, sql, engine)
        appended.append(sql)
        more = range(10 * len(appended), 10 * len(appended) + 10)
        lake.append(rows.set_column(0, "id", pa.array(more)))
        people(tmp_path / f"{len(appended)}.parquet", 10, 1000 * len(appended))
        return result

    files = f"CREATE TABLE people FROM PARQUET '*.parquet'; {DECLARED}"
    snapshot = f"CREATE OR REPLACE TABLE people FROM ICEBERG '{metadata}'"
    for create, expected in ((files, 200), (snapshot, 5)):
        session.run(create)
        with monkeypatch.context() as patched:
            patched.setattr(Reader, "_run_within_limit", append_meanwhile)
            assert counts(session) == [expected, expected]
            before, paid = len(appended), spent(session)
            assert counts(session) == [expected, expected]
        assert (len(appended), spent(session)) == (before, paid)  # replayed: the files are the same
        assert before > 0
    newest = lake.metadata_location.removeprefix("file://")
    session.run(f"CREATE OR REPLACE TABLE people FROM ICEBERG '{newest}'")
    assert counts(session)[0] == 5 + 5 * len(appended)


def test_an_owner_is_told_that_spark_is_not_there(tmp_path: Path) -> None:
    """The declaration is verified by Spark, whose errors may quote rows; ours say what is wrong."""
    url = "spark://127.0.0.1:9"
    people(tmp_path / "people.parquet", 10)
    with sqlpriv.connect(tmp_path / "v.duckdb", role="owner", engine=url) as owner:
        owner.execute(f"CREATE TABLE people FROM PARQUET '{tmp_path}/people.parquet'")
        owner.execute("ALTER TABLE people ADD PRIVACY_KEY (id)")
        owner.execute("ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 1)")
        with pytest.raises(OperationalError, match=f"Spark cannot be reached at {url}"):
            owner.execute("ALTER TABLE people SET PU")


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE people RENAME COLUMN sex TO gender",
        "ALTER TABLE people ADD COLUMN x INTEGER",
        'ALTER TABLE people ADD PRIMARY KEY ("id")',
        "INSERT INTO people SELECT * FROM people",
        "UPDATE people SET sex = 1",
        "DELETE FROM people",
        "TRUNCATE people",
        "CREATE INDEX i ON people (sex)",
        "COPY people FROM 'people.csv'",
    ],
)
def test_changes_of_rows_in_place_say_what_to_do(session: Session, change: str) -> None:
    """It said "Can only modify view", of what an owner made by CREATE TABLE."""
    session.execute("CREATE TABLE people FROM PARQUET ('a.parquet', 'b''s.parquet')")
    with pytest.raises(ProgrammingError) as caught:
        session.execute(change)
    assert "CREATE TABLE people_here AS FROM people" in str(caught.value)
    session.execute("CREATE TABLE people_here AS FROM people")  # what the hint says


def test_a_folder_and_a_column_that_differs_are_named(session: Session, tmp_path: Path) -> None:
    with pytest.raises(Refused) as caught:
        session.execute(f"CREATE TABLE far FROM PARQUET '{tmp_path}'")
    assert f"it is a folder; its files are '{tmp_path}/*.parquet'" in str(caught.value.hint)
    parquet(tmp_path / "july.parquet", "SELECT 1 AS id, 2.5::DOUBLE AS cost")
    for last, said in (
        ("3.5::DECIMAL(2,1) AS cost", "cost DECIMAL(2,1) where july.parquet has cost DOUBLE"),
        ("2.5::DOUBLE AS price", "price DOUBLE where july.parquet has cost DOUBLE"),
        ("2.5::DOUBLE AS cost, 1 AS n", "n INTEGER where july.parquet has no column"),
    ):
        parquet(tmp_path / "later.parquet", f"SELECT 1 AS id, {last}")
        files = f"'{tmp_path}/july.parquet', '{tmp_path}/later.parquet'"
        refused(
            session,
            f"CREATE TABLE t FROM PARQUET ({files})",
            DeclarationError,
            re.escape(f"has {said}; write"),
        )
