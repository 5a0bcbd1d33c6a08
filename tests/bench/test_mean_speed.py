"""The benchmark of means runs on a small vault and asks what it says."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import means


@pytest.mark.slow
def test_every_estimator_is_timed_for_both_kinds_of_budget() -> None:
    found = {name: (few, many) for name, few, many in means.measured(20_000, 1)}
    assert {name.split("USING ")[1] for name in found} == {
        "gaussian), rho",
        "quantile), rho",
        "coinpress), rho",
        "laplace), epsilon",
        "quantile), epsilon",
        "coinpress), epsilon",
    }
    assert len(found) == 12  # of a narrow and of a wide column
    assert all(few > 0 and many > 0 for few, many in found.values())
