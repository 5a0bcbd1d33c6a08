"""Tails fall off, and what lies at the declared ends is told from them."""

from __future__ import annotations

import numpy as np
import pytest

from sqlpriv.synth.domain.histogram_rounds import (
    Density,
    Histogram,
    estimate,
    first_ends,
    next_ends,
)
from sqlpriv.synth.domain.level_choice import chosen_levels
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
        density = estimate(histograms)
        ends = next_ends(density)
    return density


CORNERS = {
    "seconds of calls": (lambda r, n: r.integers(20, 120, n), 300_000_000),
    "bell": (lambda r, n: r.normal(170, 12, n), 10_000_000),
    "two clumps": (
        lambda r, n: np.where(r.random(n) < 0.97, r.normal(50, 5, n), r.normal(3_000, 300, n)),
        1_000_000,
    ),
    "log-normal": (lambda r, n: r.lognormal(5, 1, n), 10_000_000),
}


@pytest.mark.parametrize("name", list(CORNERS))
def test_rows_in_a_corner_of_a_wide_interval_are_found(name: str) -> None:
    """20,000 rows, an interval up to a million times as wide as where they lie: the spread is right
    to within a sixth, and no row lies beyond three times the largest value (medians of six seeds).
    With equal parts of the whole interval alone the spread was 5.7 times that of the calls, and 1.2
    and 1.3 times that of the bell and the log-normal rows."""
    draw, high = CORNERS[name]
    values = np.rint(draw(np.random.default_rng(3), 20_000)).astype(np.int64)
    errors, beyond = [], []
    for seed in range(6):
        density = taper_tails(measured(values, 0, high, 85.0, seed))
        errors.append(abs(np.log(spread(density) / values.std())))
        beyond.append(density.rows[density.ends[:-1] > 3 * values.max()].sum())
    assert np.median(errors) < 1 / 6, errors
    assert np.median(beyond) < 1, beyond


def test_a_falling_tail_is_drawn_nearer_to_its_true_spread() -> None:
    """One wide part of 1,000 rows behind 19,000, exponential of mean 100: the spread of evenly laid
    rows is more than 7 times too large, that of the tapered ones within a tenth."""
    whole = 20_000 * (1 - np.exp(-20_000 / 100))
    ends = np.array([*range(0, 300, 10), 20_000])
    density = Density(ends, -np.diff(whole * np.exp(-ends / 100)), 600.0)
    assert abs(spread(taper_tails(density)) / 100 - 1) < 0.1
    assert spread(density) > 7 * 100


@pytest.mark.parametrize(
    ("shape", "high", "most"),
    [("lognormal", 1_000_000, 0.5), ("exponential", 100_000, 0.15), ("normal", 1_000_000, 0.15)],
)
def test_an_empty_far_tail_stays_empty(shape: str, high: int, most: float) -> None:
    """20,000 rows, all in the lowest hundredth or so of a wide interval: the error of the spread,
    median of 12. Were estimates below 0 cut off at 0, noise would add some ten rows at half the
    interval's length, which alone are 40 times a lognormal's spread."""
    rng = np.random.default_rng(1)
    draws = {
        "lognormal": lambda: rng.lognormal(5, 1.0, 20_000),
        "exponential": lambda: rng.exponential(100, 20_000),
        "normal": lambda: rng.normal(50_000, 10_000, 20_000),
    }
    values = np.clip(np.rint(draws[shape]()), 0, high).astype(np.int64)
    errors = [
        spread(taper_tails(measured(values, 0, high, 85.0, seed))) / values.std() - 1
        for seed in range(12)
    ]
    assert np.median(np.abs(errors)) < most


def test_a_heap_far_out_is_no_tail() -> None:
    """A twentieth of 20,000 rows have one value far above all others: their share is within a
    hundredth, where the heap's noise is a hundredth of a twentieth."""
    values = np.random.default_rng(2).exponential(100, 20_000).astype(np.int64)
    values[:1_000] = 7_688
    for seed in range(6):
        density = measured(values, 0, 20_000, 85.0, seed)
        far = density.rows[density.ends[:-1] >= 4_000].sum() / density.rows.sum()
        assert abs(far - 0.05) < 0.015


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
    """200 of 20,000 rows are top-coded; noise of 40 is 22 after four histograms, and 8 in the mean
    of eight runs."""
    rng = np.random.default_rng(1)
    values = rng.integers(0, 3_000, 20_000)
    with_heap = np.where(np.arange(20_000) < 200, 99_999, values)
    for data, least, most in ((with_heap, 120, 280), (values, 0, 70)):
        at_end = [measured(data, 0, 99_999, 40.0, seed).rows[-1] for seed in range(8)]
        assert least <= np.mean(at_end) <= most


def test_whole_numbers_that_doubles_do_not_tell_apart_are_parts_of_their_own() -> None:
    """500 rows at nine neighbours next to the end of an interval of 2^63 numbers: their ends as
    doubles were one number, and the fit of a tail of no width raised an error."""
    most = 2**62
    values = most - np.random.default_rng(0).integers(0, 9, 500)
    density = measured(values, -most, most, 5.0, 0)
    assert density.rows[density.ends[:-1] >= most - 16].sum() > 400


def test_nothing_is_made_up_behind_values_of_their_own() -> None:
    """6,000 differences of 0 to 12 days in a year, at little noise: the parts behind 12 hold noise
    alone. They are no level of their own, which a method's noise would give a row or two, hundreds
    of days away, and no part of a level that holds half a row, in more than one of 40 tables (noise
    of three deviations is there in one of 740)."""
    values = np.random.default_rng(4).integers(0, 13, 6_000)
    far = []
    for seed in range(40):
        density = taper_tails(measured(values, 0, 365, 6.0, seed))
        last = density.ends[chosen_levels(density, 22)[-2]]
        far.append((int(last), density.rows[density.ends[:-1] > 12].sum()))
    assert sum(last > 12 or rows > 0.5 for last, rows in far) < 2, far
