"""The release file: published whole or not at all, never disturbed, readable by older DuckDB."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from support.child_processes import ChildPython

from sqlpriv.errors import Refused, VaultBusy
from sqlpriv.publish.release_file import ReleaseStore

TYPES = {"a": "TINYINT", "what?": "VARCHAR"}


def rows(n: int) -> pa.Table:
    return pa.table({"a": pa.array([i % 100 for i in range(n)], pa.int8()), "what?": ["é"] * n})


@pytest.fixture
def store(tmp_path: Path) -> ReleaseStore:
    return ReleaseStore(tmp_path / "it's.release.duckdb")


def publish(store: ReleaseStore, name: str, n: int = 3, replace: bool = False) -> None:
    store.publish(name, rows(n), f"comment of {name}'s", TYPES, replace)


def contents(store: ReleaseStore) -> dict[str, int]:
    """Row counts by table, seen by plain DuckDB."""
    with duckdb.connect(str(store.path), read_only=True) as plain:
        names = [name for (name,) in plain.execute("SHOW TABLES").fetchall()]
        return {
            n: plain.table('"' + n.replace('"', '""') + '"').count("*").fetchall()[0][0]
            for n in names
        }


def leftovers(store: ReleaseStore) -> list[str]:
    return sorted(p.name for p in store.path.parent.iterdir() if p != store.path)


def test_tables_are_added_replaced_and_dropped(store):
    assert store.tables() == {}
    publish(store, "one")
    publish(store, 'a "b"; DROP', 5)
    assert store.tables() == {"one": ("a", "what?"), 'a "b"; DROP': ("a", "what?")}
    publish(store, "ONE", 7, replace=True)
    assert sum(contents(store).values()) == 12
    assert store.drop("one")
    assert not store.drop("one")
    assert contents(store) == {'a "b"; DROP': 5}
    assert leftovers(store) == [store.path.name + ".lock"]


def test_a_file_is_opened_once_for_what_it_holds(store, monkeypatch):
    """Whoever publishes, comments are those of the file of now; without a file none is opened."""
    opened = []
    connect = ReleaseStore.connect_read_only
    monkeypatch.setattr(
        ReleaseStore, "connect_read_only", lambda self: opened.append(self) or connect(self)
    )
    assert (store.comments(), store.tables(), len(opened)) == ({}, {}, 0)
    other = ReleaseStore(store.path)
    for count, name in enumerate(("one", "two"), 1):
        publish(other, name)
        for _ in range(2):
            assert store.comments()[name] == f"comment of {name}'s"
            assert len(store.tables()) == len(store.comments()) == count
        assert len(opened) == count
    store.comments().clear()
    assert len(store.comments()) == 2


def test_a_name_is_not_taken_twice_unless_replaced(store):
    publish(store, "one")
    before = store.path.read_bytes()
    with pytest.raises(Refused, match="already"):
        publish(store, "One")
    assert store.path.read_bytes() == before


def test_types_and_comment_are_kept(store):
    publish(store, "one")
    publish(store, "two")
    with duckdb.connect(str(store.path), read_only=True) as plain:
        described = plain.execute("DESCRIBE one").fetchall()
        assert [(row[0], row[1]) for row in described] == list(TYPES.items())
        comments = plain.execute("SELECT comment FROM duckdb_tables() ORDER BY 1").fetchall()
        assert comments == [("comment of one's",), ("comment of two's",)]


def test_the_storage_format_is_that_of_duckdb_1_2(store):
    """The twin without STORAGE_VERSION shows what the check would see."""
    publish(store, "one")
    publish(store, "two")
    newer = store.path.with_name("newer.duckdb")
    duckdb.connect(str(newer), config={"storage_compatibility_version": "latest"}).close()
    seen = []
    for path in (store.path, newer):
        with duckdb.connect() as plain:
            plain.execute(f"ATTACH '{str(path).replace(chr(39), chr(39) * 2)}' AS x (READ_ONLY)")
            sql = "SELECT tags['storage_version'] FROM duckdb_databases() WHERE database_name = 'x'"
            seen.append(plain.execute(sql).fetchall()[0][0])
    assert seen[0].startswith("v1.2.0")
    assert not seen[1].startswith("v1.2.0")


def test_a_reader_keeps_the_file_it_opened(store):
    publish(store, "one", 3)
    with store.connect_read_only() as old, duckdb.connect(str(store.path), read_only=True) as bi:
        publish(store, "one", 4, replace=True)
        publish(store, "two", 4)
        assert old.execute('SELECT count(*) FROM "one"').fetchall() == [(3,)]
        assert bi.execute('SELECT count(*) FROM "one"').fetchall() == [(3,)]
        with store.connect_read_only() as new:
            assert new.execute('SELECT count(*) FROM "one"').fetchall() == [(4,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/hosts')",
        "ATTACH '/tmp/other.duckdb'",
        "COPY one TO '/tmp/one.csv'",
        "SET enable_external_access = true",
        "SET threads = 1",
        "INSTALL httpfs",
        "DROP TABLE one",
        "INSERT INTO one VALUES (1, 'x')",
    ],
)
def test_the_sandbox_holds(store, sql):
    publish(store, "one")
    with store.connect_read_only() as engine, pytest.raises(duckdb.Error):
        engine.execute(sql)


def test_the_sandbox_of_no_file_is_empty(store):
    with store.connect_read_only() as engine:
        assert engine.execute("SELECT 1").fetchall() == [(1,)]
        with pytest.raises(duckdb.Error):
            engine.execute("ATTACH '/tmp/other.duckdb'")


def test_somebody_elses_unfinished_writing_is_left_alone(store):
    publish(store, "one")
    wal = Path(f"{store.path}.wal")
    wal.write_bytes(b"half")
    with pytest.raises(VaultBusy):
        publish(store, "two")
    wal.unlink()
    assert contents(store) == {"one": 3}


def test_publishers_at_once_lose_nothing(store):
    names = [f"t{i}" for i in range(6)]
    threads = [threading.Thread(target=publish, args=(store, name)) for name in names[:3]]
    program = (
        f"import test_release_file as t; t.publish(t.ReleaseStore(t.Path({str(store.path)!r})), %r)"
    )
    others = [ChildPython(program % name) for name in names[3:]]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert [p.wait(60) for p in others] == [0, 0, 0]
    assert sorted(contents(store)) == names
    assert leftovers(store) == [store.path.name + ".lock"]


KILLED = """
import os, signal, sys, test_release_file as t
import sqlpriv.publish.release_file as s
point, when = sys.argv[2], sys.argv[3]
owner, name = {"copy": (s.shutil, "copyfile"), "change": (s, "_apply_change"),
               "sync": (os, "fsync"), "rename": (os, "replace"),
               "place": (s.whole_files, "into_place")}[point]
real = getattr(owner, name)
def killed(*args):
    if when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(*args)
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, name, killed)
t.publish(t.ReleaseStore(t.Path(sys.argv[1])), "new", 50_000)
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", ["copy", "change", "sync", "rename", "place"])
def test_a_kill_leaves_the_old_file_or_the_new_one(store, point, when):
    """What is there after the kill is whole; the next publisher cleans up and goes on."""
    publish(store, "old")
    assert ChildPython(KILLED, store.path, point, when).wait() == -signal.SIGKILL
    renamed = (point, when) in (("rename", "after"), ("place", "after"))
    assert contents(store) == ({"old": 3, "new": 50_000} if renamed else {"old": 3})
    publish(store, "next")
    assert "next" in contents(store)
    assert leftovers(store) == [store.path.name + ".lock"]


def test_a_kill_at_any_moment(store):
    """Children publish in a loop and are killed after 0.3 to 0.8 s: the file is whole each time."""
    publish(store, "old", 20_000)
    program = (
        "import sys, test_release_file as t; store = t.ReleaseStore(t.Path(sys.argv[1]));"
        "\nfor i in range(10**6): t.publish(store, 'new', 20_000 + i % 2, replace=True)"
    )
    for wait in (0.3, 0.4, 0.55, 0.65, 0.8):
        child = ChildPython(program, store.path)
        time.sleep(wait)
        child.kill()
        child.wait(30)
        found = contents(store)
        assert found["old"] == 20_000
        assert found.get("new", 20_000) in (20_000, 20_001)
