"""Strata of one model of everybody have means of their own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sqlpriv.synth.adaptive.joint import stratum_share
from sqlpriv.synth.adaptive.joint.raked_rows import raked_weights
from sqlpriv.synth.adaptive.joint.stratum_share import StrataPool, StratumShare
from sqlpriv.synth.models.row_sample import RowSample


def pool(with_ones: bool) -> tuple[StrataPool, np.ndarray]:
    """Two strata of 4,000 and 1,000 rows, two columns of four levels. The model of everybody knows
    how the columns go together and nothing of strata; the one-way tables are measured with a sigma
    of 20. Returns the pool and the true one-way shares, shape (strata, columns, levels)."""
    rng, noise = np.random.default_rng(0), np.random.default_rng()
    rows = np.array([4_000.0, 1_000.0])
    shares = np.array([[[0.4, 0.3, 0.2, 0.1]] * 2, [[0.1, 0.2, 0.3, 0.4]] * 2])
    together, drawn = rng.choice(4, (2, 5_000), p=[0.34, 0.28, 0.22, 0.16])
    other = np.where(rng.random(5_000) < 0.6, together, drawn)
    joint = RowSample(np.stack([together, other, rng.random(5_000) < 0.2], axis=1).astype(int), 5e3)
    counts = shares * rows[:, None, None] + noise.normal(0, 20, shares.shape)
    ones = {c: counts[:, c] for c in range(2)} if with_ones else {}
    sigmas = {0: 20.0, 1: 20.0}
    return StrataPool(joint, (4, 4), (2,), rows, ones, sigmas, ones, sigmas), shares


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


def test_strata_add_up_to_the_joint_models_table() -> None:
    """The joint model has met all tables of everybody; strata's own tables, each with a sigma of
    20, are the twin. Targets met it within 1.2e-7 rows in 1,269 draws of the noise, and .001 is the
    threshold. The twin's: of 8 levels, each with a sigma of 28 when two strata are added up, one is
    off by 5 at least; all are within 5 with a chance of .14 to the 8th, 2e-7. A level that nobody
    has, and that noise has below zero in all strata but one, is empty."""
    raked, _ = pool(with_ones=True)
    targets = raked._strata_targets()
    everybody = [raked.joint_shares[c] * raked.rows.sum() for c in range(2)]
    off = [np.abs(raked.rows @ targets[c] - everybody[c]).max() for c in range(2)]
    assert max(off) < 1e-3
    assert max(np.abs(raked.all_tables[c].sum(axis=0) - everybody[c]).max() for c in range(2)) > 5
    none = RowSample(np.minimum(raked.joint.rows, 2), 5e3)
    ones = {0: np.array([[2_000.0, 1_500, 500, -30], [500, 400, 100, 25.0]])}
    few = StrataPool(none, (4, 4), (2,), raked.rows, ones, {0: 20.0}, ones, {0: 20.0})
    assert few._strata_targets()[0][:, 3].max() < 1e-9


def test_a_tiny_stratum_is_as_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise of 40 in each cell, and a stratum of 20 rows beside nine of 1,000, all alike: what is
    drawn for the tiny one is within .1 of everybody's shares, the mean over 40 noises (.03). Twin:
    where a cell may be off by its noise, levels come out nearly even (.35)."""
    rng, noise = np.random.default_rng(0), np.random.default_rng()
    shares = np.array([0.6, 0.25, 0.1, 0.04, 0.01])
    rows = np.array([1_000.0] * 9 + [20.0])
    stratum = rng.choice(10, 20_000, p=rows / rows.sum())
    joint = RowSample(np.stack([rng.choice(5, 20_000, p=shares), stratum], axis=1), rows.sum())

    def apart() -> float:
        errors = []
        for _ in range(40):
            ones = {0: np.outer(rows, shares) + noise.normal(0, 40, (10, 5))}
            pool = StrataPool(joint, (5,), (10,), rows, ones, {0: 40.0}, ones, {0: 40.0})
            errors.append(np.abs(pool._strata_targets()[0][9] - shares).sum() / 2)
        return float(np.mean(errors))

    assert apart() < 0.1
    monkeypatch.setattr(stratum_share, "MOST_OFF", 1e9)
    assert apart() > 0.15


def test_differences_that_strata_do_not_confirm_are_noise() -> None:
    """The joint model has half of the first level's rows in the smaller stratum, of which three
    measured columns say that it is as everybody: its rows are everybody's. The twin, which is
    measured as the model has it, keeps them. Means of 40 noises."""
    rng, noise = np.random.default_rng(0), np.random.default_rng()
    levels = rng.integers(0, 4, (5_000, 3))
    stratum = rng.random(5_000) < np.where(levels[:, 0] == 0, 0.5, 0.1)
    joint = RowSample(np.column_stack([levels, stratum]), 5e3)
    rows = np.array([4_000.0, 1_000.0])
    alike = {c: np.full((2, 4), 0.25) * rows[:, None] for c in range(3)}
    own = np.bincount(levels[stratum, 0], minlength=4) / stratum.sum()
    parts = []
    for first in (np.full(4, 0.25), own):
        exact, of_noises = alike | {0: np.array([alike[0][0], first * 1_000])}, []
        for _ in range(40):
            ones = {c: table + noise.normal(0, 20, table.shape) for c, table in exact.items()}
            sigmas = dict.fromkeys(range(3), 20.0)
            of = StrataPool(joint, (4, 4, 4), (2,), rows, ones, sigmas, ones, sigmas)
            of_noises.append(of._confirmed_part(1))
        parts.append(np.mean(of_noises))
    assert parts[0] < 0.2
    assert parts[1] > 0.9


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
    of = StrataPool(joint, (4,), (10, 10), np.ones(100), {}, {}, {}, {})
    sizes = of.sizes_beside_joint(counts, 46.0)
    assert (sizes > 0).all()
    assert sizes.sum() == pytest.approx(400)
    assert sizes[:2].sum() > 350
    assert np.maximum(counts, 0)[:2].sum() < 0.5 * np.maximum(counts, 0).sum()


@pytest.mark.parametrize("few", [8, 0])
def test_no_row_of_a_small_stratum_is_impossible(few: int) -> None:
    """A column equals the stratum, of which the joint model has 8 rows or none of 5,000. It can
    have none of everybody's rows, which would have .995 of the weight. Without a row of its own it
    has everybody's alone: what is drawn of them is drawn anew."""
    levels = np.zeros((5_000, 2), dtype=int)
    levels[:, 1] = np.arange(5_000) % 4
    levels[:few, 0] = 1
    joint = RowSample(np.column_stack([levels, levels[:, 0]]), 5e3)
    unequal = np.array([[False, True], [True, False]])
    rows, ones = np.array([4_992.0, 8.0]), {1: np.array([[1_248.0] * 4, [2.0] * 4])}
    of = StrataPool(joint, (2, 4), (2,), rows, ones, {1: 1.0}, ones, {1: 1.0}, {(0, 2): unequal})
    candidates, weights = of.stratum(1)
    assert weights.sum() == pytest.approx(1)
    assert weights[candidates[:, 0] == 0].sum() == (0 if few else pytest.approx(1))
