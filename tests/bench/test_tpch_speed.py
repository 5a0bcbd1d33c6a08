"""The measurement of TPC-H runs, and tells what is refused apart from what is answered."""

import subprocess
import sys

import pytest
from support.places import SHARED, TESTS

FILES = sorted((SHARED / "data").glob("tpch_sf001_*.parquet"))
if not FILES:
    pytest.skip("the tables of TPC-H are not here", allow_module_level=True)


def test_queries_are_measured_beside_duckdb(tmp_path):
    for file in FILES:
        (tmp_path / file.name.removeprefix("tpch_sf001_")).symlink_to(file)
    command = [sys.executable, str(TESTS / "bench" / "tpch.py"), "--tables", str(tmp_path)]
    options = ["--queries", "2", "3", "6", "--limit", "0"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    head, *rows, last = [line.split() for line in done.stdout.splitlines()]
    assert head[5] == "customers,"
    assert [row[0] for row in rows] == ["2", "3", "6"]
    assert all(float(row[-1]) > 0 for row in rows)
    assert last[0] == "median"
