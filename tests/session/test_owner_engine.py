"""The engine that opens the vault for an owner: which one is used again."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlpriv.errors import ProgrammingError
from sqlpriv.session.access.owner_engine import OwnerEngine
from sqlpriv.session.session import Session
from sqlpriv.system import quiet_engine
from sqlpriv.system.idle_engines import IdleEngines


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[OwnerEngine]:
    """An owner's engine that has let go of a vault with a table."""
    engine = OwnerEngine(tmp_path / "people.duckdb")
    engine.run("CREATE TABLE people AS SELECT range AS id FROM range(10)")
    engine.release()
    yield engine
    engine.rollback()
    engine.release()


def setting(owner: OwnerEngine, name: str) -> object:
    """What DuckDB says of a setting."""
    ((value,),) = owner.read_rows(f"SELECT current_setting('{name}')")
    return value


def test_a_vault_is_opened_again_without_a_new_engine(owner, tmp_path, monkeypatch):
    monkeypatch.setattr(quiet_engine, "open_engine", None)
    other = OwnerEngine(tmp_path / "others.duckdb")
    other.run("CREATE TABLE others AS SELECT 1 AS x")
    other.release()
    for statement in (
        "INSERT INTO people VALUES (10)",
        "ALTER TABLE people ADD COLUMN x INT",
        "CREATE TYPE mood AS ENUM ('glad', 'sad')",
        "CREATE SEQUENCE numbers",
        "CREATE SCHEMA more",
        "CREATE UNIQUE INDEX ids ON people (id)",
    ):
        owner.run(statement)
        owner.release()
    assert owner.read_rows("SELECT 'sad'::mood, nextval('numbers')") == [("sad", 1)]
    owner.release()
    for name in ("'sad'::mood", "nextval('numbers')", "x FROM more.people"):
        with pytest.raises(ProgrammingError, match=r"not exist|not found"):
            other.run(f"SELECT {name}")
    other.release()
    assert owner.read_rows("SELECT count(*), current_database() FROM people") == [(11, "people")]
    assert owner.read_rows("SELECT DISTINCT database_name FROM duckdb_tables()") == [("people",)]


@pytest.mark.parametrize(
    "statement",
    [
        "SET memory_limit = '123MB'",
        "  set Global memory_limit = '123MB'",
        "PRAGMA memory_limit = '123MB'",
        "/* a remark */ SET memory_limit = '123MB'",
        "ATTACH ':memory:' AS lent",
        "CREATE SECRET lent (TYPE http, BEARER_TOKEN 'x')",
        "CREATE TEMP TABLE lent AS SELECT 1 AS x",
        "CREATE TABLE memory.lent AS SELECT 1 AS x",
        "CREATE TEMP TYPE lent AS ENUM ('x')",
        "CREATE SCHEMA memory.lent",
        'CREATE TABLE "Memory".lent AS SELECT 1 AS x',
        "PREPARE lent AS SELECT 1 AS x",
        "SET VARIABLE lent = 1",
    ],
)
def test_what_an_owner_sets_lasts_until_the_vault_is_let_go(owner, statement, monkeypatch):
    idle = monkeypatch.setattr(quiet_engine, "_IDLE", IdleEngines(2)) or quiet_engine._IDLE
    with_engine = setting(owner, "memory_limit")
    owner.run(statement)
    owner.release()
    assert len(idle) == 0
    assert setting(owner, "memory_limit") == with_engine
    with pytest.raises(ProgrammingError):
        owner.run("SELECT x FROM lent")


def test_a_query_leaves_nothing_for_the_next_owner(owner, tmp_path, monkeypatch):
    """A log went on and told the next owner's statements; a seed was theirs, too."""
    monkeypatch.setattr(quiet_engine, "_IDLE", IdleEngines(2))
    other = OwnerEngine(tmp_path / "others.duckdb")
    other.release()
    texts = "SELECT count(*) FROM duckdb_logs"
    settings = "SELECT name, value FROM duckdb_settings() WHERE NOT contains(name, 'directory')"
    fresh = other.read_rows(settings)
    other.release()
    drawn = []
    for _ in range(2):
        owner.run("SELECT setseed(0.5)")
        owner.run(f"SELECT * FROM enable_profiling(save_location = '{tmp_path / 'profile.txt'}')")
        owner.run("SELECT * FROM enable_logging('QueryLog')")
        owner.run("SELECT 1")
        assert owner.read_rows(texts) != [(0,)]
        owner.release()
        assert len(quiet_engine._IDLE) == 1
        assert other.read_rows(texts) == [(0,)]
        drawn += other.read_rows("SELECT random()")
        assert other.read_rows(settings) == fresh
        other.release()
    assert drawn[0] != drawn[1]


def test_a_transaction_is_of_one_engine(owner):
    owner.run("BEGIN")
    owner.run("INSERT INTO people VALUES (10)")
    owner.rollback()
    owner.release()
    assert owner.read_rows("SELECT count(*) FROM people") == [(10,)]


def test_an_engine_that_has_spilled_is_not_used_again(owner, tmp_path, monkeypatch):
    """It keeps its folder: rows of another vault would go there."""
    idle = monkeypatch.setattr(quiet_engine, "_IDLE", IdleEngines(2)) or quiet_engine._IDLE
    opened = owner.read_rows("SELECT 1") and owner._duckdb
    opened.execute("SET memory_limit = '20MB'; SET threads = 1")
    owner.read_rows("SELECT max(x) FROM (SELECT DISTINCT range::VARCHAR x FROM range(600000))")
    owner.release()
    assert len(idle) == 0
    assert not (tmp_path / "people.duckdb.tmp").exists()


@pytest.mark.parametrize("name", ["memory", "temp", "system", "my-data.v2", "o'hara", "Ä x"])
def test_a_vault_may_have_any_name(tmp_path, name):
    engine = OwnerEngine(tmp_path / f"{name}.duckdb")
    engine.run("CREATE TABLE t AS SELECT 1 AS x")
    engine.release()
    assert engine.read_rows("SELECT x FROM t") == [(1,)]
    engine.release()


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE people RENAME TO persons",
        "ALTER TABLE people RENAME COLUMN id TO person",
        "ALTER TABLE people DROP COLUMN age",
        "DROP TABLE people",
    ],
)
def test_what_a_foreign_key_or_an_index_forbids_says_what_to_write(tmp_path, statement):
    """Each line below DuckDB's message is run, as it says, and then the statement runs."""
    with Session(tmp_path / "shop.duckdb", role="owner") as owner:
        for text in (
            "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER)",
            'CREATE TABLE "my visits" (person INTEGER REFERENCES people(id), cost INTEGER)',
            "CREATE INDEX by_age ON people(age)",
            "ALTER TABLE people SET PRIVACY (KEY (id))",
            'ALTER TABLE "my visits" ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN (0, 9)',
        ):
            owner.execute(text)
        with pytest.raises(ProgrammingError) as error:
            owner.execute(statement)
        remedies = re.findall(
            r"CREATE OR REPLACE .* AS FROM \S+ \S+|DROP INDEX \w+", str(error.value)
        )
        assert [remedy.split()[0] for remedy in remedies] == ["CREATE", "DROP"]
        for text in (*remedies, statement):
            owner.execute(text.removesuffix(" leaves"))
        shown = owner.execute("SHOW PRIVACY DECLARATIONS").table.to_pylist()
        assert any("cost" in str(row) for row in shown)
