"""A tree beside itself takes about as long as itself."""

import subprocess
import sys

import pytest
from support.places import TESTS


def test_a_tree_is_compared_with_another():
    command = [sys.executable, str(TESTS / "bench" / "beside.py"), str(TESTS.parent)]
    options = ["--rows", "500", "--turns", "3"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows, other, here, ratio = done.stdout.splitlines()[-1].split()
    assert rows == "500"
    assert 0.2 < float(ratio) < 5
    assert float(here) / float(other) == pytest.approx(float(ratio), abs=0.02)
