"""Best of both: two independent figures of the population make one that neither is better than."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sqlpriv.answer.intervals.estimate import Estimate
from sqlpriv.answer.reconcile import reconcile, round_counts

K = 5
positive = st.floats(0.01, 100.0)


def _estimate(values: np.ndarray | float, deviations: np.ndarray | float) -> Estimate:
    return Estimate(np.asarray(values, float), np.asarray(deviations, float), 1.96)


def _levels(
    m: np.ndarray, v: np.ndarray, share: np.ndarray, own: float, own_deviation: float
) -> tuple[Estimate, Estimate]:
    whole = _estimate(share @ m, np.sqrt(share**2 @ v))
    return reconcile(_estimate(m, np.sqrt(v)), whole, _estimate(own, own_deviation), share)


@given(
    arrays(float, K, elements=positive),
    arrays(float, K, elements=positive),
    arrays(float, K, elements=positive),
    positive,
    positive,
)
def test_the_levels_agree_and_no_error_grows(
    m: np.ndarray, v: np.ndarray, share: np.ndarray, own: float, deviation: float
) -> None:
    share = share / share.sum()
    strata, whole = _levels(m, v, share, own, deviation)
    assert share @ strata.values == pytest.approx(float(whole.values), rel=1e-9, abs=1e-9)
    least = min(deviation, np.sqrt(share**2 @ v))
    assert float(whole.deviations) <= least * (1 + 1e-9)
    assert (strata.deviations <= np.sqrt(v) * (1 + 1e-9)).all()


@given(arrays(float, K, elements=positive), arrays(float, K, elements=positive), positive)
def test_it_is_the_least_squares_solution(v: np.ndarray, share: np.ndarray, own: float) -> None:
    """Twin: weighted least squares with numpy, over the strata and their weighted sum."""
    m = np.arange(1.0, K + 1)
    strata, whole = _levels(m, v, share, own, 0.7)
    design = np.vstack([np.diag(v**-0.5), share / 0.7])
    wanted, *_ = np.linalg.lstsq(design, np.append(m * v**-0.5, own / 0.7), rcond=None)
    np.testing.assert_allclose(strata.values, wanted, rtol=1e-6, atol=1e-8)
    assert float(whole.values) == pytest.approx(share @ wanted, rel=1e-6)
    covariance = np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(strata.deviations**2, np.diag(covariance), rtol=1e-5)
    assert float(whole.deviations) ** 2 == pytest.approx(share @ covariance @ share, rel=1e-5)


def _errors(together: bool) -> tuple[float, float, float]:
    """Root mean squared errors over 4000 runs: recombined alone, own alone, what is returned."""
    rng, v, share = np.random.default_rng(4), np.array([1, 4, 9, 1, 2.0]), np.full(K, 1 / K)
    m, found = np.arange(1.0, K + 1), []
    for _ in range(4000):
        noisy, own = m + rng.normal(0, v**0.5), share @ m + rng.normal(0, 0.8)
        _, whole = _levels(noisy, v, share, own if together else float(share @ noisy), 0.8)
        found.append([share @ noisy, own, float(whole.values)])
    errors = np.sqrt(((np.array(found) - share @ m) ** 2).mean(axis=0))
    return tuple(errors)


def test_the_measured_error_is_below_both() -> None:
    """Expected: 0.825, 0.8 and 0.574; the standard error of each is 1.1 % of it, the margin 5 of
    them. A population figure that tells nothing new (twin) helps nothing.
    """
    recombined, own, both = _errors(together=True)
    assert both == pytest.approx((1 / (1 / 0.68 + 1 / 0.64)) ** 0.5, rel=0.055)
    assert both < 0.8 * min(recombined, own)
    recombined, own, both = _errors(together=False)
    assert not both < 0.8 * min(recombined, own)


def test_where_one_is_missing_the_other_stands() -> None:
    share, strata = np.array([0.0, 0.0]), _estimate([np.nan, np.nan], [np.nan, np.nan])
    _, whole = reconcile(strata, _estimate(np.nan, np.nan), _estimate(3.0, 0.5), share)
    assert (float(whole.values), float(whole.deviations)) == (3.0, 0.5)
    known = _estimate([1.0, 2.0], [0.1, 0.1])
    kept, whole = reconcile(known, _estimate(1.5, 0.1), _estimate(np.nan, np.nan), share + 0.5)
    assert (float(whole.values), float(whole.deviations)) == (1.5, pytest.approx(0.1))
    np.testing.assert_array_equal(kept.values, known.values)


@given(arrays(float, (K, 2), elements=st.floats(-1e6, 1e6)))
def test_rounded_counts_still_add_up(counts: np.ndarray) -> None:
    strata, total = round_counts(counts, counts.sum(axis=0))
    np.testing.assert_array_equal(strata.sum(axis=0), total)
    assert np.abs(strata - counts).max() <= 1 + 1e-6


def test_what_both_figures_err_by_is_not_averaged_out() -> None:
    """200,000 draws of A and B around 0, whose errors share one cause: the stated deviation is
    theirs, within 1 % (4 standard errors are .7 %). The twin takes them for independent, and is
    off by a fifth."""
    rng, draws, (v_a, v_b), (r_a, r_b) = np.random.default_rng(4), 200_000, (4.0, 1.0), (2.0, 1.5)
    cause = rng.normal(0, 1, draws)
    a = r_a * cause + rng.normal(0, v_a**0.5, draws)
    b = r_b * cause + rng.normal(0, v_b**0.5, draws)
    whole = _estimate(a, np.full(draws, (v_a + r_a**2) ** 0.5))
    own = _estimate(b, np.full(draws, (v_b + r_b**2) ** 0.5))
    strata, share = _estimate(a[None], whole.deviations[None]), np.ones((1, draws))
    ratios = []
    for common in ((r_a, r_b), (0.0, 0.0)):
        _, both = reconcile(strata, whole, own, share, common)
        ratios.append(float(both.deviations[0]) / both.values.std())
    assert ratios[0] == pytest.approx(1, abs=0.01)
    assert ratios[1] < 0.85


def test_strata_of_which_little_is_known_do_not_take_all_of_the_move() -> None:
    """A stratum of one row, whose noise is a hundred times its interval, and one of 999."""
    strata, shares = _estimate([5.0, 5.0], [1000.0, 1.0]), np.array([0.001, 0.999])
    whole, own = _estimate(5.0, 1.4), _estimate(6.0, 0.1)
    moved, _ = reconcile(strata, whole, own, shares, width=10.0)
    assert moved.values[0] < 5.1
    assert reconcile(strata, whole, own, shares)[0].values[0] > 100
