"""Rows of a model: right counts, right conditionals, siblings independent given their parent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency

from sqlpriv.synth.models.sampling import dealt, draw, round_systematically, strata_rows
from sqlpriv.synth.models.tree_model import TreeModel, root_forest


@given(st.lists(st.floats(0, 1e9), min_size=1, max_size=9), st.integers(0, 10**6), st.integers())
@settings(max_examples=200)
def test_rounding_is_within_one_and_keeps_the_total(expected, total, seed):
    table = np.array([expected])
    rng = np.random.default_rng(abs(seed))
    counts = round_systematically(table, np.array([total]), rng)
    mass = table.sum()
    ideal = table / mass * total if mass > 0 else np.full(table.shape, total / table.size)
    assert counts.sum() == total
    assert (counts >= 0).all()
    assert np.abs(counts - ideal).max() <= 1 + 1e-6 * total


def test_rounding_is_unbiased():
    """n = 4,000 roundings of 2.3, 0.25, 3.45: means within 4.5 standard errors (at most 0.5/sqrt n
    = 0.0079 each); rounding to the nearest is 0.25 off and must fail."""
    rng = np.random.default_rng(3)
    table, totals = np.tile([2.3, 0.25, 3.45], (4_000, 1)), np.full(4_000, 6)
    assert round_systematically(table, totals, rng).mean(axis=0) == pytest.approx(
        [2.3, 0.25, 3.45], abs=0.036
    )
    assert np.rint(table[0]) != pytest.approx([2.3, 0.25, 3.45], abs=0.036)


def test_levels_are_spread_over_earlier_columns():
    """Two earlier columns of 5 and 7 levels, 10,000 rows, 20 draws: the pair tables of the new
    column, which chance has off by .011 and .016, are off by a quarter of that at most. Nor is the
    new column's table by its parent off by more than whole numbers make it."""
    rng = np.random.default_rng(1)
    parent, *earlier = (rng.integers(0, size, 10_000) for size in (2, 5, 7))
    table = np.array([[0.2, 0.3, 0.1, 0.4], [0.1, 0.1, 0.1, 0.7]])

    def distances(spread: bool) -> list[float]:
        drawn = dealt(parent, table, rng, earlier if spread else ())
        assert np.abs(crossed(parent, drawn) - crossed_exactly(parent)).max() < 1
        return [np.abs(crossed(c, drawn) - crossed_exactly(c)).sum() / 20_000 for c in earlier]

    def crossed(column: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        counts = np.zeros((column.max() + 1, 4))
        np.add.at(counts, (column, drawn), 1)
        return counts

    def crossed_exactly(column: np.ndarray) -> np.ndarray:
        return np.stack([table[parent[column == v]].sum(axis=0) for v in range(column.max() + 1)])

    by_chance, spread = (np.mean([distances(x) for _ in range(20)], axis=0) for x in (False, True))
    assert by_chance == pytest.approx([0.0115, 0.0155], abs=0.002)
    assert (spread < by_chance / 4).all()


def test_every_row_has_its_shares_where_levels_are_spread():
    """n = 4,000 draws of 6 rows of one parent in two earlier levels: a row has each level as often
    as its share says, within 4.5 standard errors (at most .0356). Rows that are dealt to in order
    have 1 for .5, and must fail."""
    rng = np.random.default_rng(2)
    parent, earlier = np.zeros(6, dtype=np.int64), [np.array([0, 0, 0, 1, 1, 1])]
    table = np.array([[0.5, 0.3, 0.2]])
    drawn = np.stack([dealt(parent, table, rng, earlier) for _ in range(4_000)])
    for level, share in enumerate(table[0]):
        assert (drawn == level).mean(axis=0) == pytest.approx(np.full(6, share), abs=0.0356)
    in_order = np.repeat([0, 1, 2], [3, 2, 1])
    assert (in_order == 0).astype(float) != pytest.approx(np.full(6, 0.5), abs=0.0356)


def test_levels_do_not_follow_the_order_of_rows():
    """Earlier columns that tell every two rows apart: the second one's parity and a new column of
    two levels are independent, n = 10,000: their common count is within 4.5 standard deviations
    (50, as of chance) of a quarter. With levels at fixed places each second row has the same, and
    that must fail."""
    rng = np.random.default_rng(5)
    parity = np.tile([0, 1], 5_000)
    earlier = [np.repeat(np.arange(5_000), 2), parity]
    for _ in range(10):
        drawn = dealt(np.zeros(10_000, dtype=np.int64), np.array([[0.5, 0.5]]), rng, earlier)
        assert drawn.sum() == 5_000
        assert (drawn & parity).sum() == pytest.approx(2_500, abs=225)
    at_fixed_places = np.tile([0, 1], 5_000)  # of rows in the order of the earlier columns
    assert (at_fixed_places & parity).sum() != pytest.approx(2_500, abs=225)


def siblings(shuffle: bool) -> float:
    """The p-value of dependence of two children given one parent, 6,000 rows in three levels."""
    rng = np.random.default_rng(4)
    parent = np.repeat(np.arange(3), 2_000)
    table = np.tile([0.2, 0.3, 0.5], (3, 1))
    children = []
    for _ in range(2):
        if shuffle:
            children.append(dealt(parent, table, rng))
        else:  # what a sampler without the shuffle does
            counts = round_systematically(table, np.bincount(parent), rng)
            children.append(np.repeat(np.tile(np.arange(3), 3), counts.ravel()))
    least = 1.0
    for level in range(3):
        pair = np.zeros((3, 3))
        np.add.at(pair, (children[0][parent == level], children[1][parent == level]), 1)
        least = min(least, float(chi2_contingency(pair + 1e-9).pvalue))
    return least


def test_siblings_are_independent_given_their_parent():
    """Chi-squared with 4 degrees of freedom in each of three cells of 2,000 rows; alpha 1e-4 each.
    Comonotone siblings, which come of not shuffling, have p below 1e-100."""
    assert siblings(shuffle=True) > 1e-4
    assert siblings(shuffle=False) < 1e-100


def test_the_rows_have_the_models_pairs():
    """3,000 rows of a chain: every cell is within 1 of its parent's rounded share, so within 3."""
    forest = root_forest((0, 1, 2), ((0, 1), (1, 2)))
    assert forest.order[0] == 1
    tables = {
        1: np.array([1000.0, 2000.0]),
        0: np.array([[900.0, 100.0], [0.0, 2000.0]]),
        2: np.array([[0.0, 500.0, 500.0], [1500.0, 0.0, 500.0]]),
    }
    drawn = draw(TreeModel(forest, tables, 3000.0), 3_000, np.random.default_rng(5))
    for child in (0, 2):
        pair = np.zeros(tables[child].shape)
        np.add.at(pair, (drawn[1], drawn[child]), 1)
        assert np.abs(pair - tables[child]).max() <= 3


def test_no_rows_and_a_parent_level_without_mass():
    assert dealt(np.zeros(0, dtype=np.int64), np.ones((2, 3)), np.random.default_rng()).size == 0
    even = dealt(np.zeros(30, dtype=np.int64), np.zeros((1, 3)), np.random.default_rng())
    assert np.bincount(even).tolist() == [10, 10, 10]


def test_rows_of_the_strata():
    rng = np.random.default_rng(6)
    assert strata_rows([60.0, -9.0, 40.0], 91, None, rng).sum() == 91
    assert strata_rows([60.0, -9.0, 40.0], 91, None, rng)[1] == 0
    assert strata_rows([60.0, 0.0, 40.0], 10, None, rng).tolist() == [6, 0, 4]
    weights = np.array([1.0, 3.0])
    assert strata_rows([90.0, 10.0], 100, weights, rng).tolist() == [25, 75]
    assert strata_rows([-5.0, -1.0], 0, None, rng).tolist() == [0, 0]
