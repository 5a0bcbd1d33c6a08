"""The engine that reads released tables is kept between statements, and the file is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from sqlpriv.errors import ProgrammingError
from sqlpriv.publish.release_file import MARK, ReleaseStore, beside
from sqlpriv.session.access import plain_sql
from sqlpriv.session.session import Session
from sqlpriv.system import quiet_engine
from sqlpriv.system.idle_engines import IdleEngines


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    path = tmp_path / "people.duckdb"
    with Session(path, role="owner") as owner:
        owner.execute("CREATE TABLE people AS SELECT 1 AS id")
    release(beside(path), 3)
    return path


@pytest.fixture
def session(vault: Path) -> Iterator[Session]:
    with Session(vault) as session:
        yield session


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of the engines that were started."""
    started: list[str] = []
    connect = duckdb.connect

    def note(path: str, **named: object) -> duckdb.DuckDBPyConnection:
        started.append(path)
        return connect(path, **named)  # type: ignore[arg-type]  # as they came

    monkeypatch.setattr(quiet_engine.duckdb, "connect", note)
    return started


def release(store: ReleaseStore, rows: int) -> None:
    table = pa.table({"id": pa.array(range(rows), pa.int32())})
    store.publish("twins", table, MARK, {"id": "INTEGER"}, replace=True)


def count(session: Session) -> list[dict[str, object]]:
    table = session.execute("SELECT count(*) AS n FROM twins").table
    assert table is not None
    return table.to_pylist()


def is_open(path: Path) -> bool:
    """Whether this process has the file open."""
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():
        pytest.skip("a process's files are told by Linux alone")
    targets = [os.path.realpath(descriptor) for descriptor in descriptors.iterdir()]
    return str(path.resolve()) in targets


def test_one_engine_reads_them_and_lets_the_file_go_each_time(
    session: Session, vault: Path, engines: list[str]
) -> None:
    assert count(session) == [{"n": 3}]
    started = len(engines)
    assert not is_open(beside(vault).path)
    assert count(session) == [{"n": 3}]
    assert len(engines) == started
    with beside(vault).connect_read_only():
        assert is_open(beside(vault).path)  # so that the two assertions above can fail


def catalog(session: Session) -> list[tuple[str, str]]:
    """The tables of the catalog, each with its first column's comment."""
    table = session.execute(
        "SELECT database_name || '.' || table_name AS t, comment FROM duckdb_columns()"
        " WHERE column_index = 1 AND NOT internal ORDER BY ALL"
    ).table
    assert table is not None
    return [tuple(row.values()) for row in table.to_pylist()]


def test_one_engine_shows_the_catalog_until_something_else_is_declared(
    vault: Path, engines: list[str]
) -> None:
    with Session(vault, role="owner") as owner:
        for started in ([":memory:"], []):
            engines.clear()
            assert catalog(owner) == [("release.twins", None), ("vault.people", None)]
            assert engines == started
            assert not is_open(beside(vault).path)
            assert count(owner) == [{"n": 3}]
        owner.execute("ALTER TABLE people ADD PRIVACY_KEY (id)")
        engines.clear()
        assert catalog(owner) == [("release.twins", None), ("vault.people", "privacy key")]
        assert count(owner) == [{"n": 3}]
        assert engines == [":memory:"]


def test_a_catalog_shows_what_is_released_for_the_first_time_and_not_for_the_last(
    session: Session, vault: Path
) -> None:
    for rows in (1, 2):
        beside(vault).drop("twins")
        beside(vault).path.unlink(missing_ok=True)
        assert catalog(session) == [("vault.people", None)]
        release(beside(vault), rows)
        assert catalog(session) == [("release.twins", None), ("vault.people", None)]


def test_an_engine_without_tables_serves_the_next_session_and_has_nothing_of_the_last(
    vault: Path, engines: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(vault, role="owner") as owner:
        owner.execute("CREATE TABLE labels AS SELECT 'north' AS label, 2::HUGEINT AS weight")
        owner.execute("ALTER TABLE labels SET PUBLIC")
    beside(vault).path.unlink()
    monkeypatch.setattr(plain_sql, "_IDLE", IdleEngines(2))  # none of other tests
    for started in ([":memory:"], []):
        with Session(vault) as session:
            engines.clear()
            shown = session.execute("SELECT label FROM labels WHERE weight > 1").table
            assert shown is not None
            assert shown.to_pylist() == [{"label": "north"}]
            assert engines == started
        kept = plain_sql._IDLE.take()
        assert kept is not None
        plain_sql._IDLE.keep(kept)
        idle = kept.cursor()
        for what in ("tables", "views", "types"):
            assert idle.execute(f"FROM duckdb_{what}() WHERE NOT internal").fetchall() == []


def test_what_was_released_since_is_seen(session: Session, vault: Path) -> None:
    assert count(session) == [{"n": 3}]
    release(beside(vault), 5)
    assert count(session) == [{"n": 5}]
    beside(vault).drop("twins")
    with pytest.raises(ProgrammingError, match="twins"):
        session.execute("SELECT count(*) AS n FROM twins")


def test_a_statement_that_fails_is_none_of_the_next(session: Session) -> None:
    for _ in range(2):
        with pytest.raises(ProgrammingError, match="not an x"):
            session.execute("SELECT error('not an x') FROM twins")
        assert count(session) == [{"n": 3}]


@pytest.mark.parametrize(
    "sql",
    [
        "ATTACH '{other}' AS other",
        "ATTACH '{other}' AS other (READ_ONLY)",
        "FROM read_csv('{other}')",
        "INSERT INTO twins VALUES (1)",
        "SET lock_configuration = false",
    ],
)
def test_an_engine_that_sees_the_file_again_reaches_nothing_else(
    vault: Path, sql: str, tmp_path: Path
) -> None:
    other = tmp_path / "other.duckdb"
    duckdb.connect(str(other)).close()
    store = beside(vault)
    with store.connect_read_only() as engine:
        store.detach(engine)
        store.attach(engine)
        assert engine.execute("SELECT count(*) FROM twins").fetchall() == [(3,)]
        with pytest.raises(duckdb.Error):
            engine.execute(sql.format(other=other))
