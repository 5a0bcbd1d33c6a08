"""CM, MM and LT: nothing for the same rows, the truth for a known difference, and a bad twin."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from support.places import ROOT

from sqlpriv.errors import DataError

sys.path.insert(0, str(ROOT / "examples" / "papers" / "mixed"))

from mixed_error import THRESHOLDS, MixedTable, mixed_error


def table(rows: int, seed: int, tied: bool = True) -> MixedTable:
    """Two categories and two numbers; where tied, all tell the target."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 2, rows)
    tell = label if tied else rng.permutation(label)
    numbers = {c: rng.normal(size=rows) + tell for c in "xy"}
    return MixedTable({"a": tell ^ (rng.random(rows) < 0.1), "b": tell}, numbers, {"label": label})


def test_the_same_rows_have_no_error_and_new_ones_that_of_sampling():
    """n = 20,000: shares are off by about .5 / sqrt(n) = .004; .015 fails. The twin, in
    which nothing tells the target, is off by more than .03 in all three."""
    real = table(20_000, 0)
    same = mixed_error(real, real)
    assert (same.cm, same.mm, same.lt) == (0.0, 0.0, 0.0)
    near, far = (mixed_error(real, table(20_000, 1, tied)) for tied in (True, False))
    assert max(near.cm, near.mm, near.lt) < 0.015
    assert min(far.cm, far.mm, far.lt) > 0.03


def test_cm_is_the_total_variation_of_tables_by_the_target():
    """Of 4 rows one is moved from (0, 0, 0) to (1, 0, 0): a quarter of the mass, once."""
    zeros, label = np.zeros(4, dtype=int), np.array([0, 0, 1, 1])
    real = MixedTable({"a": zeros, "b": zeros}, {}, {"label": label})
    moved = MixedTable({"a": np.array([1, 0, 0, 0]), "b": zeros}, {}, {"label": label})
    error = mixed_error(real, moved)
    assert error.cm == 0.25
    assert np.isnan(error.mm)
    assert np.isnan(error.lt)


def test_mm_counts_rows_below_both_thresholds():
    """Two numbers, both 0 to 98 in order: below both of two quantiles lie as many rows as below the
    smaller. In the other table y is above all thresholds, so that no row counts."""
    x = np.arange(99.0)
    one = {"label": np.zeros(99, dtype=int)}
    real = MixedTable({}, {"x": x, "y": x}, one)
    least = MixedTable({}, {"x": x, "y": np.full(99, 1e9)}, one)
    at = np.quantile(x, np.arange(1, THRESHOLDS + 1) / (THRESHOLDS + 1), method="inverted_cdf")
    expected = np.mean([(x <= min(s, t)).mean() for s in at for t in at])
    assert mixed_error(real, least).mm == pytest.approx(expected)


def test_what_cannot_be_compared_is_refused():
    empty = MixedTable({}, {}, {"label": np.zeros(0, dtype=int)})
    with pytest.raises(DataError, match="no rows"):
        mixed_error(empty, empty)
    with pytest.raises(DataError, match="target"):
        mixed_error(MixedTable({}, {}, {}), MixedTable({}, {}, {}))
