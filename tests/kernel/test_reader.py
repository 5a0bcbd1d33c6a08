"""The connection to the vault: read-only, sealed off, and blind to what is beside it."""

from __future__ import annotations

import os
import shutil
import stat
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from support.vaults import write

from sqlpriv.errors import OperationalError, ReadFailed, VaultBusy
from sqlpriv.kernel import engine, rows_in_files
from sqlpriv.kernel import reader as reader_module
from sqlpriv.kernel.engine import fingerprint
from sqlpriv.kernel.reader import Reader, known_of
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.session.access.owner_engine import OwnerEngine
from sqlpriv.system import time_limit
from sqlpriv.system.daemon_thread import start_daemon


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    write(tmp_path / "v.duckdb", "CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1)")
    (tmp_path / "other.csv").write_text("a\n1\n")
    return tmp_path / "v.duckdb"


@pytest.fixture
def reader(vault: Path) -> Iterator[Reader]:
    with Reader(vault) as opened:
        yield opened


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{0}/other.csv')",
        "COPY t TO '{0}/stolen.csv'",
        "ATTACH '{0}/new.duckdb' AS other",
        "INSERT INTO t VALUES (2)",
        "DROP TABLE t",
        "CREATE TABLE u (a INTEGER)",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET enable_external_access = true",
        "SET lock_configuration = false",
        "SET threads = 1",
        "RESET enable_external_access",
        "PRAGMA memory_limit = '1GB'",
        "EXPORT DATABASE '{0}/all'",
    ],
)
def test_nothing_gets_out_or_in(reader: Reader, vault: Path, sql: str) -> None:
    before = sorted(p.name for p in vault.parent.iterdir())
    with pytest.raises(duckdb.Error):
        reader._duckdb.execute(sql.format(vault.parent))
    assert sorted(p.name for p in vault.parent.iterdir()) == before


def test_a_fingerprint_changes_with_every_write(vault: Path) -> None:
    quiet = "PRAGMA disable_checkpoint_on_shutdown;"
    seen = [fingerprint(vault)]
    for sql in (
        "INSERT INTO t VALUES (2)",
        f"{quiet} INSERT INTO t VALUES (3)",
        f"{quiet} INSERT INTO t VALUES (3)",
        "CHECKPOINT",
        "UPDATE t SET id = id + 1",
        "DELETE FROM t WHERE id = 3",
        "ALTER TABLE t ADD COLUMN a INTEGER",
    ):
        write(vault, sql)
        assert fingerprint(vault) == fingerprint(vault)
        seen.append(fingerprint(vault))
    assert len(set(seen)) == len(seen)
    with Reader(vault) as opened:
        assert opened.fingerprint == seen[-1]
    assert fingerprint(vault) == seen[-1]


def test_two_vaults_never_have_one_fingerprint(tmp_path: Path) -> None:
    """Made by the same statements, of the same size; only the rows differ."""
    found = set()
    for i in range(5):
        path = tmp_path / f"v{i}.duckdb"
        write(path, f"CREATE TABLE t (id INTEGER); INSERT INTO t VALUES ({i})")
        found.add(fingerprint(path))
    assert len(found) == 5


def test_two_copies_of_a_vault_that_were_changed_have_two_fingerprints(tmp_path: Path) -> None:
    """Swapped for one another they would share facts, strata and answers."""
    vault, copy = tmp_path / "v.duckdb", tmp_path / "copy.duckdb"
    write(vault, "CREATE TABLE t AS SELECT i AS id, i % 4 AS race FROM range(1000) r(i)")
    shutil.copy2(vault, copy)
    assert fingerprint(copy) == fingerprint(vault)
    for i, path in enumerate((vault, copy)):
        write(path, f"UPDATE t SET race = {i + 1} WHERE id = 7; CHECKPOINT")
    assert vault.read_bytes()[:12288] == copy.read_bytes()[:12288]
    assert fingerprint(copy) != fingerprint(vault)


def test_a_vault_that_is_swapped_while_it_is_opened_is_refused(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name that was read first would stand for the rows of another file."""
    other = vault.with_name("other.duckdb")
    write(other, "CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (2), (3)")
    Reader(vault).__exit__()
    attaching = engine._attaching

    def swapping(vault: Path) -> str:
        other.rename(vault)
        return attaching(vault)

    with monkeypatch.context() as patched:
        patched.setattr(engine, "_attaching", swapping)
        with pytest.raises(VaultBusy, match="nothing was read"):
            Reader(vault)
    with Reader(vault) as opened:  # the second try finds one file
        assert opened.fingerprint == fingerprint(vault)


def test_a_vault_that_is_swapped_while_another_reads_it_is_refused(vault: Path) -> None:
    """The rows at hand are those of the old file, until its last reader lets go."""
    other = vault.with_name("other.duckdb")
    write(other, "CREATE TABLE t (id INTEGER)")
    with Reader(vault) as opened:
        other.rename(vault)
        with pytest.raises(VaultBusy, match="nothing was read"):
            Reader(vault)
        assert opened.truths("SELECT count(*) FROM main.t") == (1,)
    with Reader(vault) as opened:
        assert opened.truths("SELECT count(*) FROM main.t") == (0,)


WRITER = """
import sys, duckdb
try:
    duckdb.connect(sys.argv[1]).execute("INSERT INTO t VALUES (2)")
except duckdb.Error:
    sys.exit(7)
"""


def wrote(vault: Path) -> bool:
    """Whether another process could write to the vault just now."""
    done = subprocess.run([sys.executable, "-c", WRITER, str(vault)], timeout=60)
    assert done.returncode in (0, 7)
    return done.returncode == 0


def test_nobody_writes_while_a_reader_is_open(vault: Path) -> None:
    """Whoever opens and closes the file in this process gives up DuckDB's lock alone. Twin: that
    would let others write."""
    with Reader(vault):
        fingerprint(vault)
        vault.open("rb").close()
        assert not wrote(vault)
    assert wrote(vault)
    with duckdb.connect(str(vault), read_only=True):
        vault.open("rb").close()
        assert wrote(vault)


def test_who_may_not_write_lets_nobody_else_write(vault: Path) -> None:
    """An owner's session in the process of a reader, as on a server, is refused; DuckDB closes the
    file again, and gave up the reader's lock with that."""
    with Reader(vault):
        with pytest.raises(VaultBusy):
            OwnerEngine(vault).run("INSERT INTO t VALUES (2)")
        assert not wrote(vault)
    with Reader(vault) as opened:
        assert opened.truths("SELECT count(*) FROM t") == (1,)


def test_who_may_not_read_gives_up_no_writers_lock(vault: Path) -> None:
    """Where a session of this process writes, the file is not even opened."""
    owner = OwnerEngine(vault)
    owner.run("BEGIN")
    owner.run("INSERT INTO t VALUES (2)")
    with pytest.raises(VaultBusy):
        Reader(vault)
    assert not wrote(vault)
    owner.commit()
    owner.release()
    with Reader(vault) as opened:
        assert opened.truths("SELECT count(*) FROM t") == (2,)


FORKING = """
import os, subprocess, sys
from pathlib import Path
from sqlpriv.kernel.reader import Reader

vault, writer = Path(sys.argv[1]), [sys.executable, "-c", sys.argv[2], sys.argv[1]]
with Reader(vault):
    if (child := os.fork()) == 0:
        Reader(vault).__exit__()
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0
    vault.open("rb").close()
    print(subprocess.run(writer, timeout=60).returncode)
print(subprocess.run(writer, timeout=60).returncode)
"""


def test_a_forked_process_gives_up_no_lock_of_its_parents(vault: Path) -> None:
    """In a process of its own: forked with the libraries of all tests loaded, a child may crash in
    one of them before it tries anything."""
    forking = [sys.executable, "-c", FORKING, str(vault), WRITER]
    done = subprocess.run(forking, timeout=120, capture_output=True, text=True)
    assert done.stdout.split() == ["7", "0"], done.stderr


def test_who_leaves_gives_up_nobody_elses_lock(vault: Path) -> None:
    """One file attached to two engines of a process would be: to detach one gives up both locks."""
    linked = vault.with_name("linked.duckdb")
    linked.symlink_to(vault)
    with Reader(vault):
        Reader(vault).__exit__()
        Reader(linked).__exit__()
        assert not wrote(vault)
    assert wrote(vault)


def test_ctrl_c_leaves_no_clock_that_a_process_waits_for(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process had ended, and waited for the clock: for up to ten minutes."""
    clocks: list[threading.Thread] = []
    ended = threading.Event()

    def start_and_note(run: Callable[[], object]) -> None:
        def run_and_note() -> None:
            clocks.append(threading.current_thread())
            run()
            ended.set()

        start_daemon(run_and_note)

    class Interrupted:
        def execute(self, _: str) -> None:
            raise KeyboardInterrupt

        def interrupt(self) -> None:
            """Nothing is left that could be given up."""

    monkeypatch.setattr(time_limit, "start_daemon", start_and_note)
    with Reader(vault) as reader:
        with monkeypatch.context() as patched:
            patched.setattr(reader, "_duckdb", Interrupted())
            with pytest.raises(KeyboardInterrupt):
                reader.truths("SELECT 1")
        assert reader.truths("SELECT 1") == (1,)  # in its time
    (clock,) = clocks
    assert clock.daemon  # also where a second one comes before the call is said to have ended
    assert ended.wait(20)


def test_both_descriptors_of_a_file_that_took_the_name_are_kept(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name moves between the look at it and the opening; to close one would unlock both."""
    monkeypatch.setattr(rows_in_files, "_FILES", kept := dict[tuple[int, ...], int]())
    write(other := vault.with_name("other.duckdb"), "CREATE TABLE t (id INTEGER)")
    first, before = rows_in_files.descriptor_of(other), vault.stat()
    other.rename(vault)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "stat", lambda *_: before)
        second = rows_in_files.descriptor_of(vault)
    assert first != second
    assert {*kept.values()} == {first, second}
    assert rows_in_files.descriptor_of(vault) == first


def test_an_engine_stays_and_its_vault_does_not(vault: Path) -> None:
    with Reader(vault) as opened:
        kept = opened._engine
    assert kept.main.execute("SELECT database_name FROM duckdb_databases()").fetchall() == [
        ("memory",),
        ("system",),
        ("temp",),
    ]
    with Reader(vault) as opened:
        assert opened._engine is kept


def test_nothing_is_kept_of_a_reader(vault: Path) -> None:
    """Neither a connection nor the result that lies in it, whether it succeeded or failed."""
    with Reader(vault) as opened:
        opened._duckdb.execute("SELECT id FROM main.t")
    with pytest.raises(ReadFailed), Reader(vault) as failed:
        failed.truths("SELECT error('of one row: 4711')")
    for connection in (opened._duckdb, failed._duckdb):
        with pytest.raises(duckdb.Error, match="closed"):
            connection.execute("SELECT 1")


def test_macros_are_those_of_the_engine_beside_the_vault(vault: Path) -> None:
    with Reader(vault) as opened:
        assert opened.truths("SELECT sqlpriv_clamp(7, 1, 5)") == (5,)
        assert opened.truths("SELECT current_database()") == ("vault",)


def test_who_is_interrupted_leaves_nothing_behind(vault: Path) -> None:
    """Ctrl-C while the vault is opened: nobody has the connection; the next one has the file."""
    Reader(vault).__exit__()
    kept, lost = engine.attach(vault)
    other = vault.with_name("other.duckdb")
    write(other, "CREATE TABLE t (id INTEGER)")
    other.rename(vault)
    del lost
    assert not kept.readers
    with Reader(vault) as opened:
        assert opened.truths("SELECT count(*) FROM main.t") == (0,)
    assert wrote(vault)


def test_engines_of_few_vaults_are_kept(tmp_path: Path) -> None:
    for number in range(2 * engine.KEPT):
        write(tmp_path / f"{number}.duckdb", "CREATE TABLE t (id INTEGER)")
        Reader(tmp_path / f"{number}.duckdb").__exit__()
    assert sum(not kept.readers for kept in engine._ENGINES.values()) <= engine.KEPT


FORKED = """
import os, sys
from pathlib import Path
from sqlpriv.kernel.reader import Reader
Reader(Path(sys.argv[1])).__exit__()
if child := os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
with Reader(Path(sys.argv[1])) as opened:
    os._exit(opened.truths("SELECT count(*) FROM main.t")[0])
"""


def test_a_forked_process_has_an_engine_of_its_own(vault: Path) -> None:
    """Of its parent's it would have the memory, but not the threads."""
    done = subprocess.run([sys.executable, "-c", FORKED, str(vault)], timeout=60)
    assert done.returncode == 1


def test_nobody_else_writes_while_an_owner_does(vault: Path) -> None:
    with duckdb.connect(str(vault)) as owner:
        owner.execute("BEGIN; INSERT INTO t VALUES (3)")
        fingerprint(vault)
        assert not wrote(vault)


def test_memory_is_limited_by_the_machine_alone(reader: Reader) -> None:
    (limit,) = reader._duckdb.execute("SELECT current_setting('memory_limit')").fetchone() or ("",)
    machine = Path("/proc/meminfo").read_text().split()[1]
    amount, unit = limit.split()
    half = float(amount) * {"GiB": 2**20, "MiB": 2**10}[unit]
    assert half == pytest.approx(int(machine) / 2, rel=0.02)


SPILLING = """SELECT max(n) FROM (SELECT row_number() OVER (ORDER BY md5(range::VARCHAR)) AS n
FROM range(600_000))"""


@pytest.fixture
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.usefixtures("usual_umask")
def test_nobody_else_may_look_at_what_spills(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that do not fit into memory are in no file that others could open, and then in none."""
    monkeypatch.setitem(engine.CONFIG, "memory_limit", "40MB")
    with Reader(vault) as opened:
        opened._duckdb.execute(SPILLING)
        spilled = opened._engine.spills
        assert len([*spilled.iterdir()]) > 0
        assert mode(spilled) == 0o700
    assert [*vault.parent.glob("*.tmp")] == []
    with Reader(vault) as opened:
        assert opened.truths("SELECT count(*) FROM main.t") == (1,)
    assert [*vault.parent.glob("*.tmp")] == []


@pytest.mark.usefixtures("usual_umask")
def test_duckdb_lets_others_look_at_what_it_spills(tmp_path: Path) -> None:
    """The twin: left to itself it makes a folder that all may enter, of files that all may read."""
    spilled = tmp_path / "spilled"
    with duckdb.connect(config={"memory_limit": "40MB"}) as plain:
        plain.execute(f"SET temp_directory = '{spilled}'; {SPILLING}")
        assert mode(spilled) == 0o755
        assert {mode(path) for path in spilled.iterdir()} == {0o644}


def test_processes_of_one_number_spill_into_folders_of_their_own(vault: Path) -> None:
    """Those of two containers, say, which may read one vault at a time."""
    shown = "import sys; from sqlpriv.kernel import engine; engine.os.getpid = lambda: 7\n"
    shown += "from pathlib import Path; print(engine.attach(Path(sys.argv[1]))[0].spills)"
    command = [sys.executable, "-c", shown, str(vault)]
    names = {subprocess.check_output(command, text=True, timeout=60) for _ in range(2)}
    assert len(names) == 2
    assert all(".spill7-" in name for name in names)


def test_a_folder_of_others_is_not_taken_for_our_own(vault: Path, tmp_path: Path) -> None:
    """Whoever may write beside the vault could have made it. What a crash left goes."""
    with Reader(vault) as opened:
        spills = opened._engine.spills
    others = tmp_path / "others"
    others.mkdir()
    spills.symlink_to(others, target_is_directory=True)  # what others made cannot be removed
    with pytest.raises(OperationalError, match="cannot be opened"):
        Reader(vault)
    spills.unlink()
    spills.mkdir(0o755)
    (spills / "rows").touch()
    with Reader(vault) as opened:
        assert mode(spills) == 0o700
        assert [*spills.iterdir()] == []
    assert not spills.exists()
    assert wrote(vault)


def broken(opened: Reader) -> None:
    """Asks what breaks DuckDB itself: a text that is none, which no file of its own could hold."""
    text = b"of one row: 4711\xff"
    ends = pa.py_buffer(struct.pack("<ii", 0, len(text)))
    rows = pa.Array.from_buffers(pa.string(), 1, [None, ends, pa.py_buffer(text)])
    opened._duckdb.register("rows", pa.table({"s": rows}))
    opened.groups("SELECT count(*) FROM rows WHERE s ILIKE 'A%'", "duckdb")


def test_an_engine_that_broke_says_nothing_and_is_not_asked_again(vault: Path) -> None:
    """It would say why in whatever it is asked from then on, DETACH when the reader leaves too."""
    with pytest.raises(ReadFailed, match="could not finish reading") as told, Reader(vault) as lost:
        broken(lost)
    assert told.value.__context__ is None
    with Reader(vault) as opened:
        assert opened.truths("SELECT count(*) FROM main.t") == (1,)
    assert wrote(vault)


def test_who_comes_as_an_engine_breaks_is_told_nothing(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known_of.cache_clear()
    monkeypatch.setattr(reader_module, "MACROS_THERE", "SELECT error('of one row: 4711')")
    with pytest.raises(ReadFailed) as told, Reader(vault) as opened:
        opened.catalog()
    assert "4711" not in str(told.value)
    assert told.value.__context__ is None


def test_labels_of_an_enum_are_not_in_the_catalog(tmp_path: Path) -> None:
    """An ENUM made of the rows lists what one unit alone has; lists and structs may hold one."""
    sql = """CREATE TABLE seen AS SELECT unnest(['rare', 'it''s', '), INTEGER', e'a\\nb', '']) AS x;
        CREATE TYPE kind AS ENUM (SELECT x FROM seen);
        CREATE TABLE t (id INTEGER, a kind, b kind[], c STRUCT(p kind, q INTEGER), d DECIMAL(9, 2),
            e MAP(VARCHAR, kind), f kind[3], g UNION(p kind, q DATE))"""
    write(tmp_path / "v.duckdb", sql)
    with Reader(tmp_path / "v.duckdb") as reader:
        _, made = reader.catalog()
    assert [column.sql_type for column in made.columns] == [
        "INTEGER",
        "ENUM",
        "VARCHAR[]",
        "STRUCT(p VARCHAR, q INTEGER)",
        "DECIMAL(9,2)",
        "MAP(VARCHAR, VARCHAR)",
        "VARCHAR[3]",
        "UNION(p VARCHAR, q DATE)",
    ]
    assert made.columns[1].type is Type.TEXT


def test_a_column_is_unique_by_a_key_of_its_own_in_its_own_table(tmp_path: Path) -> None:
    """A column of a key of two is not unique, nor is one whose namesake elsewhere is."""
    sql = """CREATE TABLE t (a INTEGER, b INTEGER, c INTEGER UNIQUE, d INTEGER, PRIMARY KEY (a, b),
            UNIQUE (d, a));
        CREATE SCHEMA other; CREATE TABLE other.t (d INTEGER UNIQUE)"""
    write(tmp_path / "v.duckdb", sql)
    with Reader(tmp_path / "v.duckdb") as reader:
        assert [table.unique for table in reader.catalog()] == [{"c"}]
