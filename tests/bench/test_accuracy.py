"""The accuracy benchmark runs, and at its full size keeps what it promises."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import accuracy


@pytest.mark.slow
def test_one_statement_over_a_million_rows() -> None:
    """40 runs of 18 groups: the mean of 720 errors has a standard deviation of about 4 %, so COUNT
    and AVG are well inside. SUM is expected at 210, near its 215: at most 15 % beyond."""
    found = accuracy.measured(1_000_000, 40)
    assert found["n"] <= accuracy.TARGETS["n"]
    assert found["income"] <= 1.15 * accuracy.TARGETS["income"]
    assert found["hours"] <= 1.15 * accuracy.TARGETS["hours"]
