"""The benchmark of means runs on a small vault, and every estimator keeps its ratio there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import means


@pytest.mark.slow
def test_180_strata_take_little_longer_than_2() -> None:
    """On 455,316 rows, medians of 3; noise of timing is a tenth, for which there is room."""
    found = list(means.measured(455_316, 3))
    assert len(found) == 12
    assert {name: many / few for name, few, many in found if many > 1.1 * means.TARGET * few} == {}
