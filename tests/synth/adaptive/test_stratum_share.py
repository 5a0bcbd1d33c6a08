"""Strata of one model of everybody have means of their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sqlpriv.synth.adaptive.joint.stratum_share import StrataPool, StratumShare, raked_weights
from sqlpriv.synth.models.row_sample import RowSample


def pool(with_ones: bool) -> tuple[StrataPool, np.ndarray]:
    """Two strata of 4,000 and 1,000 rows, two columns of four levels. The model of everybody knows
    how the columns go together and nothing of strata; the one-way tables are measured with a sigma
    of 20. Returns the pool and the true one-way shares, shape (strata, columns, levels)."""
    rng = np.random.default_rng(0)
    rows = np.array([4_000.0, 1_000.0])
    shares = np.array([[[0.4, 0.3, 0.2, 0.1]] * 2, [[0.1, 0.2, 0.3, 0.4]] * 2])
    together = rng.choice(4, 5_000, p=[0.34, 0.28, 0.22, 0.16])
    other = np.where(rng.random(5_000) < 0.6, together, rng.integers(0, 4, 5_000))
    joint = RowSample(np.stack([together, other, rng.random(5_000) < 0.2], axis=1).astype(int), 5e3)
    counts = shares * rows[:, None, None] + rng.normal(0, 20, shares.shape)
    ones = {c: counts[:, c] for c in range(2)} if with_ones else {}
    return StrataPool(joint, (4, 4), (2,), rows, ones, {0: 20.0, 1: 20.0}), shares


def mean_error(of: StrataPool, shares: np.ndarray) -> float:
    """Returns the total variation of one-way tables, the mean over strata and columns."""
    errors = []
    for s, n in enumerate(of.rows.tolist()):
        drawn = StratumShare(of, s, n).sample((4, 4), int(n), np.random.default_rng(1))
        for c in range(2):
            drawn_shares = np.bincount(drawn[:, c], minlength=4) / n
            errors.append(np.abs(drawn_shares - shares[s, c]).sum() / 2)
    return float(np.mean(errors))


def test_measured_one_ways_are_met_inside_strata() -> None:
    """Noise alone is .02 of the smaller stratum; the twin, without one-ways, is off by .15."""
    raked, shares = pool(with_ones=True)
    assert mean_error(raked, shares) < 0.03
    assert mean_error(pool(with_ones=False)[0], shares) > 0.1


def test_relations_are_those_of_everybody() -> None:
    raked, _ = pool(with_ones=True)
    rows = StratumShare(raked, 1, 1e3).sample((4, 4), 20_000, np.random.default_rng(1))
    assert np.mean(rows[:, 0] == rows[:, 1]) == pytest.approx(0.7, abs=0.06)


def test_a_kept_pool_draws_the_same() -> None:
    raked, _ = pool(with_ones=True)
    before = StratumShare(raked, 0, 50.0).sample((4, 4), 50, np.random.default_rng(3))
    again = pickle.loads(pickle.dumps(raked))
    assert again.drawn is None
    after = StratumShare(again, 0, 50.0).sample((4, 4), 50, np.random.default_rng(3))
    assert (before == after).all()


def test_no_row_stands_for_a_level_alone() -> None:
    """One row of a thousand has the level that half of the stratum is said to have."""
    levels = np.zeros((1_000, 1), dtype=np.int64)
    levels[0] = 1
    assert raked_weights(levels, {0: np.array([0.5, 0.5])})[0] < 0.06


def test_sizes_of_many_small_strata_add_up_to_the_joint_models_rows() -> None:
    """400 rows in the first two of 100 strata, each counted with a sigma of 46: their counts alone
    are off by 460 in sum, and say of empty strata that half of them are not. Of counts by
    themselves, which is the twin, less than half lies where rows are."""
    rng = np.random.default_rng(0)
    strata = np.where(rng.random(400) < 0.7, 0, 1)
    joint = RowSample(np.stack([rng.integers(0, 4, 400), strata // 10, strata % 10], axis=1), 400.0)
    counts = np.where(np.arange(100) < 2, [280.0, 120.0] * 50, 0.0) + rng.normal(0, 46, 100)
    of = StrataPool(joint, (4,), (10, 10), np.ones(100), {}, {})
    sizes = of.sizes_beside_joint(counts, 46.0)
    assert (sizes > 0).all()
    assert sizes.sum() == pytest.approx(400)
    assert sizes[:2].sum() > 350
    assert np.maximum(counts, 0)[:2].sum() < 0.5 * np.maximum(counts, 0).sum()
