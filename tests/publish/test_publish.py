"""PUBLISH to DuckDB and Parquet files: what arrives, what stays, what a crash leaves."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from support.child_processes import ChildPython
from support.released_tables import ODD, PEOPLE, comment, release, rows

import sqlpriv
from sqlpriv.errors import OperationalError, PermissionDenied, Refused
from sqlpriv.publish import publish
from sqlpriv.publish.parquet import file_name
from sqlpriv.publish.release_file import beside
from sqlpriv.publish.target import PostgreSQL, target_of

TARGETS = ["bi.duckdb", "bi/*.parquet"]


def hand_out(vault, *tables, to):
    return publish(beside(vault), tables, str(vault.parent / to), vault)


def ids(vault, to, table=PEOPLE):
    """The ids of a published table, seen by plain DuckDB; None where it is not there."""
    if to.endswith(".parquet"):
        path = vault.parent / "bi" / file_name(table)
        return sorted(pq.read_table(path)["id"].to_pylist()) if path.exists() else None
    with duckdb.connect(str(vault.parent / to), read_only=True) as plain:
        quoted = table.replace('"', '""')
        return [i for (i,) in plain.execute(f'SELECT id FROM "{quoted}" ORDER BY id').fetchall()]


def test_a_duckdb_file_holds_rows_types_and_comments(vault):
    said = hand_out(vault, to="bi.duckdb")
    assert said == f"published {ODD}, {PEOPLE} to {vault.parent / 'bi.duckdb'}"
    with duckdb.connect(str(vault.parent / "bi.duckdb"), read_only=True) as plain:
        assert plain.table(PEOPLE).to_arrow_table().to_pylist() == rows(5).to_pylist()
        found = plain.execute("SELECT table_name, comment FROM duckdb_tables()").fetchall()
        assert dict(found) == {ODD: comment(ODD), PEOPLE: comment(PEOPLE)}


def test_the_duckdb_file_has_the_header_of_duckdb_1_2(vault):
    """Bytes 12 to 20 of the header are the storage version: 65 is that of 1.2, which 1.x reads.

    The twin without STORAGE_VERSION shows what the check would see.
    """
    hand_out(vault, to="bi.duckdb")
    duckdb.connect(str(vault.parent / "newer.duckdb")).close()
    versions = [
        int.from_bytes((vault.parent / name).read_bytes()[12:20], "little")
        for name in ("bi.duckdb", "newer.duckdb")
    ]
    assert versions[0] == 65
    assert versions[1] > 65


@pytest.mark.slow
def test_duckdb_1_2_reads_it(vault, tmp_path):
    """The real thing, in an environment of its own; 20 s, most of them pip's."""
    hand_out(vault, to="bi.duckdb")
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "old"], check=True)
    python = tmp_path / "old" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", "duckdb==1.2.2"], check=True)
    program = (
        "import duckdb, json, sys; d = duckdb.connect(sys.argv[1], read_only=True);"
        f"print(json.dumps([duckdb.__version__, d.table('{PEOPLE}').count('*').fetchall()[0][0],"
        "*d.execute('SELECT comment FROM duckdb_tables() ORDER BY 1').fetchall()]))"
    )
    command = [python, "-I", "-c", program, str(vault.parent / "bi.duckdb")]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert found == ["1.2.2", 5, [comment(ODD)], [comment(PEOPLE)]]


def test_parquet_files_hold_rows_types_and_comments(vault):
    hand_out(vault, to="bi/*.parquet")
    files = sorted(path.name for path in (vault.parent / "bi").iterdir())
    assert files == ["%2E%2E%2Fodd %22näme%22%2E.parquet", ".sqlpriv.lock", f"{PEOPLE}.parquet"]
    path = vault.parent / "bi" / f"{PEOPLE}.parquet"
    assert pq.read_table(path).to_pylist() == rows(5).to_pylist()
    sql = f"SELECT value FROM parquet_kv_metadata('{path}') WHERE key = 'comment'"
    assert [value.decode() for (value,) in duckdb.execute(sql).fetchall()] == [comment(PEOPLE)]


def test_parquet_of_no_rows(vault):
    release(vault, 0)
    hand_out(vault, to="bi/*.parquet")
    assert pq.read_table(vault.parent / "bi" / f"{PEOPLE}.parquet").schema.names == [
        *rows(0).schema.names
    ]


@pytest.mark.parametrize("to", TARGETS)
def test_tables_are_chosen_by_name_and_others_stay(vault, to):
    hand_out(vault, ODD, to=to)
    assert hand_out(vault, PEOPLE.upper(), PEOPLE, to=to).startswith(f"published {PEOPLE} to")
    release(vault, 2, 70)
    release(vault, 2, 80, ODD)
    hand_out(vault, PEOPLE, to=to)
    assert ids(vault, to) == [70, 71]
    assert ids(vault, to, ODD) == [0, 1, 2]


def test_an_open_reader_of_duckdb_keeps_the_old_table(vault):
    hand_out(vault, to="bi.duckdb")
    with duckdb.connect(str(vault.parent / "bi.duckdb"), read_only=True) as reader:
        release(vault, 2, 70)
        hand_out(vault, to="bi.duckdb")
        assert reader.table(PEOPLE).count("*").fetchall() == [(5,)]
    assert ids(vault, "bi.duckdb") == [70, 71]


def test_an_open_reader_of_parquet_keeps_the_old_table(vault):
    release(vault, 250_000)  # several row groups: most of them are read after the new file is there
    hand_out(vault, to="bi/*.parquet")
    with pq.ParquetFile(vault.parent / "bi" / f"{PEOPLE}.parquet") as reader:
        groups = [reader.read_row_group(0)]
        release(vault, 2, 70)
        hand_out(vault, to="bi/*.parquet")
        groups += [reader.read_row_group(i) for i in range(1, reader.num_row_groups)]
    assert len(groups) > 1
    assert sum(len(group) for group in groups) == 250_000
    assert ids(vault, "bi/*.parquet") == [70, 71]


KILLED = """
import os, signal, sys
from pathlib import Path
from sqlpriv.publish import publish
from sqlpriv.publish.release_file import beside
vault, to, name, when, count = sys.argv[1:]
real, left = getattr(os, name), int(count)
def killed(*args):
    global left
    left -= 1
    if left == 0 and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    real(*args)
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
setattr(os, name, killed)
publish(beside(Path(vault)), ["people_synth"], to, Path(vault))
"""


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize(
    ("call", "when", "count", "new"),
    [
        ("fsync", "before", 1, False),
        ("replace", "before", 1, False),
        ("replace", "after", 1, True),
        ("fsync", "before", 2, True),
    ],
)
def test_a_kill_leaves_the_old_table_or_the_new_one(vault, to, call, when, count, new):
    hand_out(vault, to=to)
    release(vault, 1_000, 70)
    target = str(vault.parent / to)
    assert ChildPython(KILLED, vault, target, call, when, count).wait() == -signal.SIGKILL
    assert ids(vault, to) == (list(range(70, 1_070)) if new else list(range(5)))
    hand_out(vault, to=to)  # the next one cleans up and goes on
    assert ids(vault, to) == list(range(70, 1_070))
    folder = Path(target).parent
    assert [path for path in folder.iterdir() if ".tmp" in path.name] == []


def test_a_table_that_was_not_released_is_not_replaced(vault):
    bi = vault.parent / "bi.duckdb"
    with duckdb.connect() as plain:
        plain.execute(f"ATTACH '{bi}' AS bi (STORAGE_VERSION 'v1.2.0')")
        plain.execute(f"CREATE TABLE bi.{PEOPLE.upper()} AS SELECT 1 AS mine")
    (vault.parent / "bi").mkdir()
    for name, made in ((PEOPLE, pq.write_table), (ODD, lambda _, path: path.write_text("mine"))):
        made(rows(1), vault.parent / "bi" / file_name(name))
    before = {path: path.read_bytes() for path in (vault.parent / "bi").iterdir()} | {
        bi: bi.read_bytes()
    }
    for to, table in (("bi.duckdb", PEOPLE), ("bi/*.parquet", PEOPLE), ("bi/*.parquet", ODD)):
        with pytest.raises(Refused, match="not one that was released"):
            hand_out(vault, table, to=to)
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize(
    ("to", "told"),
    [
        ("people.duckdb", "is a vault"),
        ("other.duckdb", "is a vault"),
        ("people.release.duckdb", "is the release file itself"),
        ("bi/one.parquet", "'.*bi/\\*.parquet', in quotes"),
        ("bi.csv", "names no place to publish to"),
        ("bi", "names no place to publish to"),
    ],
)
def test_a_wrong_place(vault, to, told):
    vault.write_bytes(b"")
    (vault.parent / "other.ledger").write_bytes(b"")
    with pytest.raises(Refused, match=told):
        hand_out(vault, to=to)


@pytest.mark.parametrize("to", ["s3://bucket/bi.duckdb", "s3://bucket/*.parquet", "http://h/x.db"])
def test_an_address_of_another_kind_is_no_path(to):
    with pytest.raises(Refused, match=f'"{re.escape(to)}" is no place') as refused:
        target_of(to)
    assert "postgresql://" in refused.value.hint


def test_a_newer_file_is_left_alone(vault):
    newer = vault.parent / "newer.duckdb"
    with duckdb.connect(str(newer)) as plain:
        plain.execute("CREATE TABLE mine AS SELECT 1")
    before = newer.read_bytes()
    with pytest.raises(OperationalError, match=r"newer storage format than v1.2.0"):
        hand_out(vault, to="newer.duckdb")
    assert newer.read_bytes() == before


@pytest.mark.parametrize("to", ["missing/bi.duckdb", "file.txt/*.parquet"])
def test_a_place_that_cannot_be_written(vault, to):
    (vault.parent / "file.txt").write_text("")
    with pytest.raises(OperationalError, match="cannot be written"):
        hand_out(vault, to=to)


def test_only_released_tables_are_published(vault):
    with pytest.raises(Refused, match='no released table "people"') as caught:
        hand_out(vault, "people", to="bi.duckdb")
    assert PEOPLE in caught.value.hint
    with pytest.raises(Refused, match=r"nothing is in new\.release\.duckdb"):
        hand_out(vault.with_name("new.duckdb"), to="bi.duckdb")
    assert not (vault.parent / "bi.duckdb").exists()


def test_a_password_is_not_shown():
    shown = target_of("postgresql://ada:secret@host:5432/bi?password=secret").label
    assert shown == "postgresql://ada@host:5432/bi"
    assert isinstance(target_of("postgres://host/bi"), PostgreSQL)


def test_publish_in_sql_is_the_owners(vault):
    path = str(vault.parent / "bi.duckdb")
    with sqlpriv.connect(vault, role="owner") as owner:
        result = owner.execute("PUBLISH people_synth TO ?", [path]).result
        assert result.message == f"published {PEOPLE} to {path}"
        assert result.price is None
    os.remove(path)
    with sqlpriv.connect(vault) as analyst, pytest.raises(PermissionDenied, match="publish"):
        analyst.execute(f"PUBLISH TO '{path}'")
    assert not os.path.exists(path)
