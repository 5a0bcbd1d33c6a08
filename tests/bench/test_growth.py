"""The measurement of growth runs, and its picture shows every axis."""

import subprocess
import sys
from pathlib import Path

from support.places import TESTS


def test_growth_is_measured_and_drawn(tmp_path: Path) -> None:
    picture, axes = tmp_path / "growth.svg", ["charges", "strata", "columns"]
    command = [sys.executable, str(TESTS / "bench" / "growth.py"), "--quick", "--axes", *axes]
    done = subprocess.run(
        [*command, "--picture", str(picture)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()[2:]]
    assert [row[0].strip(",") for row in rows] == [
        *["charges"] * 4,
        *["strata"] * 2,
        *["columns"] * 2,
    ]
    assert all(float(row[-1]) > 0 for row in rows)
    drawn = picture.read_text()
    assert [f">{axis}</text>" in drawn for axis in axes] == [True] * 3
    assert drawn.count("<circle") == len(rows)
