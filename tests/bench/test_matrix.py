"""The matrix of speeds runs, and its private statement answers what the plain one does."""

import subprocess
import sys

from support.places import TESTS


def test_every_combination_of_types_is_measured():
    command = [sys.executable, str(TESTS / "bench" / "matrix.py"), "--rows", "2000"]
    options = ["--values", "DECIMAL", "--keys", "ENUM", "VARCHAR"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if line.lstrip().startswith("2,000")]
    assert len({row[:43] for row in rows}) == 8  # the worst one stands there twice
    assert "worst of 2,000 rows" in done.stdout
