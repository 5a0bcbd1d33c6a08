"""The measurement of throughput runs, and answers more than nothing."""

import subprocess
import sys

import pytest
from support.places import TESTS

pytest.importorskip("google.protobuf")


def test_statements_per_second_are_measured():
    command = [sys.executable, str(TESTS / "bench" / "throughput.py"), "--rows", "500"]
    options = ["--threads", "2", "--clients", "1", "--seconds", "0.2"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("2 threads")]
    assert [row[2] for row in rows] == ["plain", "fresh", "replayed"]
    (served,) = [line.split() for line in done.stdout.splitlines() if line.startswith("1 clients")]
    assert all(float(row[-2]) > 0 for row in (*rows, served))
