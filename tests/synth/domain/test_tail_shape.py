"""Tails fall off, and what lies at the declared ends is told from them."""

from __future__ import annotations

import numpy as np

from sqlpriv.synth.domain.histogram_rounds import (
    Density,
    Histogram,
    estimate,
    first_ends,
    next_ends,
)
from sqlpriv.synth.domain.tail_shape import taper_tails


def spread(density: Density) -> float:
    """Returns the standard deviation of rows that lie evenly inside parts."""
    middle = (density.ends[1:] + density.ends[:-1] - 1) / 2
    share, width = density.rows / density.rows.sum(), np.diff(density.ends)
    mean = float(share @ middle)
    return float(np.sqrt(share @ ((middle - mean) ** 2 + (width**2 - 1) / 12)))


def measured(values: np.ndarray, low: int, high: int, sigma: float, seed: int) -> Density:
    """Returns what four noised histograms say of the values."""
    rng = np.random.default_rng(seed)
    ends, histograms = first_ends(low, high), []
    for _ in range(4):
        counts = np.histogram(np.clip(values, low, high), ends)[0]
        noised = counts + rng.normal(0, sigma, len(counts))
        histograms.append(Histogram(ends, noised, sigma))
        ends = next_ends(estimate(histograms))
    return estimate(histograms)


def test_a_falling_tail_is_drawn_nearer_to_its_true_spread() -> None:
    """20,000 rows with an exponential tail of mean 100 in [0, 20,000]. The twin: without the taper
    the median error is more than 1.6 times as large."""
    values = np.random.default_rng(0).exponential(100, 20_000).astype(np.int64)
    errors, twins = [], []
    for seed in range(20):
        density = measured(values, 0, 20_000, 30.0, seed)
        errors.append(abs(spread(taper_tails(density)) / values.std() - 1))
        twins.append(abs(spread(density) / values.std() - 1))
    assert np.median(errors) < 0.6 * np.median(twins)


def test_rows_are_kept_and_ends_ascend() -> None:
    for seed in range(20):
        rng = np.random.default_rng(seed)
        ends = np.cumsum(rng.integers(1, 400, 12)) - 900
        density = Density(ends, rng.gamma(0.2, 300, 11), 20.0)
        tapered = taper_tails(density)
        assert tapered.total == np.float64(density.rows.sum()).clip(1) or np.isclose(
            tapered.rows.sum(), density.rows.sum()
        )
        assert (np.diff(tapered.ends) > 0).all()
        assert (tapered.ends[0], tapered.ends[-1]) == (ends[0], ends[-1])
        assert len(tapered.rows) == len(tapered.ends) - 1


def test_a_heap_at_a_declared_end_is_kept_and_none_is_made_up() -> None:
    """200 of 20,000 rows are top-coded; noise of 40 is 20 after four histograms."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 3_000, 20_000)
    with_heap = np.where(np.arange(20_000) < 200, 99_999, values)
    for data, least, most in ((with_heap, 120, 280), (values, 0, 70)):
        at_end = [measured(data, 0, 99_999, 40.0, seed).rows[-1] for seed in range(20)]
        assert least <= np.mean(at_end) <= most
