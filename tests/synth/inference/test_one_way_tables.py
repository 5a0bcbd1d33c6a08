"""Totals, projections, rare levels: all from noisy one-way tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlpriv.synth.inference.one_way_tables import merge_rare, onto_simplex, total_of

counts = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12).map(np.array)


@given(counts, st.floats(1.0, 1e6), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_the_projection_is_nearest(values, total, random):
    """Optimality: on positive cells (x - y) / variance is one constant, on others it is no less."""
    variance = np.array([random.uniform(0.5, 4.0) for _ in values])
    nearest = onto_simplex(values, total, variance)
    assert (nearest >= 0).all()
    assert nearest.sum() == pytest.approx(total)
    pull = (nearest - values) / variance
    positive = nearest > 1e-9 * total
    scale = 1e-6 * (np.abs(values).max() + total)
    assert np.ptp(pull[positive]) <= scale
    assert (pull[~positive] >= pull[positive].max() - scale).all()


def test_the_projection_of_a_table_keeps_its_shape():
    assert onto_simplex(np.array([[1.0, 2.0], [3.0, 4.0]]), 10.0).shape == (2, 2)


def test_the_total_weighs_tables_by_their_variance():
    """Variances of the two sums are 2 * 1 and 4 * 4: the weights are 8 to 1."""
    tables = [np.array([40.0, 60.0]), np.array([20.0, 30.0, 40.0, 19.0])]
    assert total_of(tables, [1.0, 2.0]) == pytest.approx((8 * 100 + 109) / 9)


def test_rare_levels_share_the_last_bucket():
    merging = merge_rare(np.array([100.0, 2.0, 80.0, -3.0, 29.0]), sigma=10.0)
    assert merging.group.tolist() == [0, 2, 1, 2, 2]
    assert merging.size == 3
    assert merging.share[[0, 2]].tolist() == [1.0, 1.0]
    assert merging.share[[1, 3, 4]].sum() == pytest.approx(1.0)
    assert merging.merge_levels(np.array([1.0, 2.0, 3.0, 4.0, 5.0])).tolist() == [1.0, 3.0, 11.0]
    assert merging.split_levels(np.array([7.0, 8.0, 30.0])).sum() == pytest.approx(45.0)


def test_both_axes_of_a_pair_are_merged():
    merging = merge_rare(np.array([50.0, 0.0, 0.0]), sigma=1.0)
    table = np.arange(9.0).reshape(3, 3)
    merged = merging.merge_levels(merging.merge_levels(table, 0), 1)
    assert merged.tolist() == [[0.0, 3.0], [9.0, 24.0]]


@pytest.mark.parametrize("values", [[50.0, 60.0], [50.0, 1.0], [9.0]])
def test_one_rare_level_stays_by_itself(values):
    assert merge_rare(np.array(values), sigma=1.0).size == len(values)


def test_levels_that_are_noise_are_spread_evenly_and_others_are_not():
    """sigma = 10: counts of spread 3 are noise alone; of spread 14 they are shrunk, no more."""
    noise = merge_rare(np.array([2.0, 5.0, -2.0, 3.0]), sigma=10.0)
    assert noise.share == pytest.approx([0.25] * 4)
    signal = merge_rare(np.array([0.0, 29.0, 1.0, 28.0]), sigma=10.0)
    assert signal.share[1] > 0.3
    assert signal.share[1] < 0.5


def test_no_noise_at_all_is_no_division_by_zero():
    assert total_of([np.array([3.0, 4.0]), np.array([7.0])], [0.0, 0.0]) == pytest.approx(7.0)
    assert merge_rare(np.array([3.0, 0.0, 0.0]), 0.0).size == 3
