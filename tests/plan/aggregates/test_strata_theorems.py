"""The paper's theorems as numbers: checked against simulation, and against the paper's own."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from support.places import ROOT

sys.path.insert(0, str(ROOT / "examples" / "papers" / "strata"))

import theorems as s

ROWS = sum(s.NEW_YORK)


@given(st.floats(1e-3, 1e6))
def test_digamma_is_scipys(x: float) -> None:
    assert s.digamma(x) == pytest.approx(float(special.digamma(x)), rel=1e-11, abs=1e-11)


@given(st.lists(st.floats(1e-3, 1e6), min_size=1, max_size=30))
def test_no_sizes_have_larger_logarithms_than_equal_ones(sizes: list[float]) -> None:
    found = sum(map(math.log, sizes))
    assert found <= s.largest_log_sizes(len(sizes), sum(sizes)) + 1e-6


@pytest.mark.parametrize(("alpha", "k"), [(0.5, 3), (1.0, 9), (3.0, 12)])
def test_the_expected_logarithms_are_those_of_drawn_shares(alpha: float, k: int) -> None:
    """Mean of 20,000 draws within 5 standard errors; E at 1.3 α (twin) lies outside."""
    logs = np.log(np.random.default_rng(1).dirichlet([alpha] * k, 20_000) * 1e5).sum(axis=1)
    margin = 5 * logs.std() / math.sqrt(len(logs))
    assert abs(logs.mean() - s.expected_log_sizes(alpha, k, 1e5)) < margin
    assert abs(logs.mean() - s.expected_log_sizes(1.3 * alpha, k, 1e5)) > margin


def test_concentration_lies_between_the_bounds_and_grows_as_alpha_falls() -> None:
    gains = [s.better_than_worst(alpha, 9, ROWS) for alpha in (100.0, 10.0, 1.0, 0.3, 0.12)]
    assert gains == sorted(gains)
    assert 0 < gains[0] < 0.01


def test_the_papers_example_of_new_yorks_races() -> None:
    """The paper: n = 196,967, α about 0.13, about 80 % better than the worst case.

    Its own simplification of the worst case, log(n / k) to log n, gives that; Lemma 12's does not.
    """
    alpha, loose = s.dirichlet_alpha(s.NEW_YORK), 9 * math.log(ROWS)
    assert ROWS == 196_967
    assert alpha == pytest.approx(0.13, abs=0.001)
    assert s.better_than_worst(alpha, 9, ROWS) == pytest.approx(0.715, abs=0.005)
    assert s.better_than_worst(alpha, 9, ROWS, loose) == pytest.approx(0.78, abs=0.005)
    assert s.better_than_worst(0.125, 9, ROWS, loose) == pytest.approx(0.80, abs=0.005)


def test_alpha_is_found_again() -> None:
    """Mean concentration of 5,000 draws of 9 groups, at three α: within 5 %."""
    rng = np.random.default_rng(2)
    for alpha in (0.2, 1.0, 5.0):
        square = (rng.dirichlet([alpha] * 9, 5000) ** 2).sum(axis=1).mean()
        first = (1 + math.sqrt((9 * square - 1) * 8)) / 9  # one share that large, others equal
        shares = [first] + [(1 - first) / 8] * 8
        assert s.dirichlet_alpha(shares) == pytest.approx(alpha, rel=0.05)
    assert s.dirichlet_alpha([1, 1, 1]) == math.inf


@pytest.mark.parametrize("shares", [[1.0], [1.0, 0.0], [1.0, -1.0], [math.inf, 1.0], []])
def test_what_is_no_vector_of_shares_is_refused(shares: list[float]) -> None:
    with pytest.raises(ValueError, match="two groups or more"):
        s.dirichlet_alpha(shares)


def test_one_group_is_no_stratification() -> None:
    logs = s.log_sizes([1.0], 1e4)
    assert s.stratified_error(logs, 1, 1e4, 2.0, 0.5) == pytest.approx(s.fresh_error(1e4, 2.0, 0.5))


def test_equal_groups_are_the_worst_case_and_cost_the_root_of_their_number() -> None:
    fresh = s.fresh_error(1e6, 5.0, 1.0)
    errors = [
        s.stratified_error(s.log_sizes(g, 1e6), 16, 1e6, 5.0, 1.0)
        for g in ([1] * 16, [1] * 8 + [9] * 8, [1e-5] * 15 + [1])
    ]
    assert errors == sorted(errors, reverse=True)
    worst = s.stratified_error(s.largest_log_sizes(16, 1e6), 16, 1e6, 5.0, 1.0)
    assert errors[0] == pytest.approx(worst)
    assert 0.8 * 4 * fresh < worst < 4 * fresh
