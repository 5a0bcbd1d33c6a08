"""What may be written over, and what may be a vault; and that looking gives up no lock."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

import sqlpriv
from sqlpriv.errors import InterfaceError, OperationalError
from sqlpriv.system.database_files import refuse_database, refuse_other_file


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    names = ("a.duckdb", "a.ledger", "a.ledger.mark", "a.csv", "-n", "empty.duckdb", "none.csv")
    files = {name: tmp_path / name for name in names}
    duckdb.connect(str(files["a.duckdb"])).close()
    with sqlite3.connect(files["a.ledger"]) as db:
        db.execute("CREATE TABLE t (i)")
    db.close()
    for name in ("a.ledger.mark", "a.csv", "-n"):
        files[name].write_text("00000000000000000007")
    files["empty.duckdb"].touch()
    return files


def test_databases_and_what_belongs_to_them_are_not_written_over(files: dict[str, Path]) -> None:
    for name in ("a.duckdb", "a.ledger", "a.ledger.mark"):
        with pytest.raises(InterfaceError, match="is not overwritten"):
            refuse_database(files[name])
    copy = files["a.csv"].with_name("renamed.csv")
    copy.write_bytes(files["a.duckdb"].read_bytes())
    with pytest.raises(InterfaceError):
        refuse_database(copy)
    for name in ("a.csv", "-n", "empty.duckdb", "none.csv"):
        refuse_database(files[name])
    refuse_database(files["a.csv"].parent)


def test_a_vault_is_a_duckdb_file_or_none_so_far(files: dict[str, Path]) -> None:
    for name in ("a.duckdb", "empty.duckdb", "none.csv"):
        refuse_other_file(files[name])
    for name, words in (("a.csv", "no DuckDB file"), ("a.ledger", "no DuckDB file")):
        with pytest.raises(OperationalError, match=words):
            refuse_other_file(files[name])
    with pytest.raises(OperationalError, match="is a folder"):
        refuse_other_file(files["a.csv"].parent)


@pytest.mark.parametrize("look", [refuse_other_file, refuse_database, Path.read_bytes])
def test_looking_gives_up_no_lock(files: dict[str, Path], look) -> None:
    """As it would if this process read the file: the last of the three is the twin that fails."""
    path = files["a.duckdb"]
    with open(path, "rb+") as held:
        fcntl.lockf(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if look is refuse_database:
            with pytest.raises(InterfaceError):
                look(path)
        else:
            look(path)
        attempt = f"import fcntl; fcntl.lockf(open({os.fspath(path)!r}, 'rb+'), 6)"
        other = subprocess.run([sys.executable, "-c", attempt], capture_output=True, check=False)
    assert (other.returncode == 0) == (look is Path.read_bytes)


def test_a_file_of_released_tables_is_no_vault(tmp_path):
    """It was opened as one, and a ledger was begun beside it."""
    release = tmp_path / "shop.release.duckdb"
    with duckdb.connect(release) as engine:
        engine.execute("CREATE TABLE made AS SELECT 1 AS n")
    for role in ("analyst", "owner"):
        with pytest.raises(OperationalError, match=r"released tables.*shop\.duckdb"):
            sqlpriv.connect(release, role=role)
    assert [path.name for path in tmp_path.iterdir()] == [release.name]
