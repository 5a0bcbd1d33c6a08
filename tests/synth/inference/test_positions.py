"""Rows that agree with their levels keep what two numbers have in common below the levels."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, Interval, Type
from sqlpriv.synth.domain.decode import decode
from sqlpriv.synth.domain.domain import Attribute, Within
from sqlpriv.synth.domain.lattice import ValueLattice
from sqlpriv.synth.inference.positions import (
    draw_positions,
    fit_coupling,
    ranks_inside,
)

ROWS, LEVELS = 20_000, 6


def _levels(r: float) -> tuple[np.ndarray, np.ndarray]:
    """Three Gaussian coordinates, each related to the next, and their levels of equal mass."""
    rng = np.random.default_rng(3)
    first = rng.standard_normal(ROWS)
    second = r * first + np.sqrt(1 - r * r) * rng.standard_normal(ROWS)
    third = r * second + np.sqrt(1 - r * r) * rng.standard_normal(ROWS)
    values = np.stack([first, second, third], axis=1)
    cuts = [np.quantile(x, np.arange(1, LEVELS) / LEVELS) for x in values.T]
    codes = [np.searchsorted(c, x) for c, x in zip(cuts, values.T, strict=True)]
    return values, np.stack(codes, axis=1).astype(np.int64)


def _spearman(codes: np.ndarray, positions: dict[int, np.ndarray], u: int, v: int) -> float:
    return float(spearmanr(codes[:, u] + positions[u], codes[:, v] + positions[v])[0])


@pytest.mark.parametrize("r", [-0.9, 0.6, 0.95])
def test_a_rank_correlation_outlives_coarse_levels(r):
    """n = 20,000: Spearman's own error is below .007. Independent positions miss .95 by .03."""
    values, codes = _levels(r)
    rng = np.random.default_rng(4)
    coupling = fit_coupling(codes, dict.fromkeys(range(3), LEVELS))
    coupled = draw_positions(coupling, codes, rng)
    apart = {c: ranks_inside(codes[:, c], rng.random(ROWS), rng) for c in range(3)}
    true = [float(spearmanr(values[:, u], values[:, v])[0]) for u, v in ((0, 1), (0, 2))]
    for (u, v), wanted in zip(((0, 1), (0, 2)), true, strict=True):
        assert abs(_spearman(codes, coupled, u, v) - wanted) < 0.01
    if abs(r) > 0.9:
        assert abs(_spearman(codes, apart, 0, 1) - true[0]) > 0.02, "the twin must miss it"


def test_positions_lie_evenly_inside_each_level():
    """Each n-th of a level holds exactly one of its n rows, whatever the relation."""
    _, codes = _levels(0.9)
    coupling = fit_coupling(codes, dict.fromkeys(range(3), LEVELS))
    positions = draw_positions(coupling, codes, np.random.default_rng(5))
    for c, inside in positions.items():
        for level in range(LEVELS):
            mine = np.sort(inside[codes[:, c] == level])
            assert (np.floor(mine * mine.size) == np.arange(mine.size)).all()


def test_columns_without_a_relation_get_independent_positions():
    rng = np.random.default_rng(6)
    codes = rng.integers(0, LEVELS, (ROWS, 3))
    assert fit_coupling(codes, dict.fromkeys(range(3), LEVELS)).columns == ()


def test_null_and_single_levels_say_nothing():
    """Column 1 is NULL (level LEVELS) in half of the rows, column 2 has one level."""
    values, codes = _levels(0.9)
    half = np.random.default_rng(7).random(ROWS) < 0.5
    codes[half, 1], codes[:, 2] = LEVELS, 0
    coupling = fit_coupling(codes, {0: LEVELS, 1: LEVELS, 2: 1})
    assert coupling.columns == (0, 1)
    positions = draw_positions(coupling, codes, np.random.default_rng(8))
    known = {c: positions[c][~half] for c in (0, 1)}
    true = float(spearmanr(values[~half, 0], values[~half, 1])[0])
    assert abs(_spearman(codes[~half], known, 0, 1) - true) < 0.01


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_few_rows_are_no_error(rows):
    codes = np.zeros((rows, 2), dtype=np.int64)
    coupling = fit_coupling(codes, {0: 3, 1: 3})
    draw_positions(coupling, codes, np.random.default_rng(0))


def test_values_follow_their_positions_and_the_shares_of_parts():
    """A level of parts 0-9 (a quarter of its rows) and 10-19: values rise with positions."""
    column = Column("x", Type.INTEGER, "INTEGER", Interval(0, 19))
    within = Within(
        ValueLattice(1.0), np.array([0, 10, 20]), np.array([0]), np.array([[0.25, 0.75]])
    )
    key = a.Key(a.Bin(a.Col("x"), ()), (0,))
    attribute = Attribute(column, key, (0, 20), within)
    codes = np.zeros(1_000, dtype=np.int64)
    positions = ranks_inside(codes, np.arange(1_000.0), np.random.default_rng(1))
    drawn = decode(attribute, codes, np.random.default_rng(2), positions).to_numpy()
    assert (np.diff(drawn) >= 0).all()
    assert (drawn < 10).sum() == 250
    assert set(drawn) == set(range(20))
