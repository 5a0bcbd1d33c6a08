"""Quantiles of strata by distributions that are drawn together, of noised histograms."""

import numpy as np
import pytest

from sqlpriv.answer.intervals.level_intervals import NoisedLevels, bring_together
from sqlpriv.answer.pooled import drawn_levels
from sqlpriv.answer.pooled.drawn_levels import draw_levels
from sqlpriv.answer.pooled.smooth_levels import smooth_levels
from sqlpriv.kernel.terms.budget import NANO, Epsilon, Price, Rho

LEVELS, SIGMA = 1024, 4.0


def _noised(exact: np.ndarray, price: Price, rng: np.random.Generator) -> NoisedLevels:
    """Counts with noise of deviation 4, beside a count of all rows of deviation 4."""
    is_gaussian = isinstance(price, Rho)
    draw = rng.normal if is_gaussian else rng.laplace
    scale = SIGMA if is_gaussian else SIGMA / 2**0.5
    counts = exact + draw(0, scale, exact.shape)
    rows = exact.sum(axis=-1) + draw(0, scale, exact.shape[:-1])
    return bring_together(counts, SIGMA**2, price, (rows, SIGMA**2))


def _strata(middles: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Exact counts of values N(middle, 10²), rounded to a level, of shape (strata, levels)."""
    values = np.rint(rng.normal(middles[:, None], 10, (len(middles), rows))).astype(int)
    return np.stack([np.bincount(x, minlength=LEVELS) for x in values]).astype(float)


def _all_rows(of: NoisedLevels) -> NoisedLevels:
    counts = of.counts.sum(axis=0)
    return NoisedLevels(counts, of.variance * len(of.counts), of.of_rows, of.price)


@pytest.mark.parametrize("price", [Rho(NANO), Epsilon(NANO)])
def test_noise_far_from_all_rows_is_not_taken_for_rows(price: Price) -> None:
    """60 draws of 1,024 levels, of which 40 hold 20 to 40 deviations of the noise: at least .999 of
    the shares are there in 56 of them or more, where .02 of the draws are meant to show a run of
    noise (more than four of 60 with a chance of .006). The twin is the counts that are positive."""
    rng = np.random.default_rng(11)
    exact = np.zeros(LEVELS)
    exact[100:140] = np.linspace(20 * SIGMA, 40 * SIGMA, 40)
    there, twin = [], []
    for _ in range(60):
        of = _noised(exact[None], price, rng)
        there.append(smooth_levels(of, 1)[100:140].sum())
        positive = np.maximum(of.counts[0], 0.0)
        twin.append(positive[100:140].sum() / positive.sum())
    assert np.count_nonzero(np.array(there) > 0.999) >= 56
    assert max(twin) < 0.9


def test_nothing_is_seen_where_there_are_no_rows() -> None:
    """40 draws without a row: no share at all in 37 or more; .02 show a run of noise."""
    rng = np.random.default_rng(12)
    empty = np.zeros((1, LEVELS))
    seen = [smooth_levels(_noised(empty, Rho(NANO), rng), 1).any() for _ in range(40)]
    assert sum(seen) <= 3


@pytest.mark.parametrize("price", [Rho(NANO), Epsilon(NANO)])
def test_strata_of_few_rows_are_drawn_and_strata_of_many_are_not(price: Price) -> None:
    """Medians of 40 strata in 1,024 levels, 12 draws. Of 60 rows each that differ little the drawn
    ones err by less than half of what each reads off its own histogram, and of 20,000 rows each
    that differ by twice their spread by less than .3 of how far they are from everybody. The twins:
    all rows' median tells strata of 60 rows better than their own histograms, and far ones worse.
    """
    rng = np.random.default_rng(13)
    for apart, rows in ((5.0, 60), (20.0, 20_000)):
        errors = []
        for _ in range(12):
            exact = _strata(rng.normal(300, apart, 40), rows, rng)
            truth = (exact.cumsum(axis=1) >= rows / 2).argmax(axis=1)
            of = _noised(exact, price, rng)
            drawn = draw_levels(of, smooth_levels(_all_rows(of), 40), 0.5, (40,), 1.96)
            raw = (of.counts.cumsum(axis=1) >= of.rows[:, None] / 2).argmax(axis=1)
            middle = np.median(truth)
            errors.append([np.abs(x - truth).mean() for x in (drawn.at, raw, middle)])
        pooled, own, for_all = np.mean(errors, axis=0)
        assert pooled < (0.5 * own if rows == 60 else 0.3 * for_all)
        assert (own > for_all) == (rows == 60)


@pytest.mark.parametrize("price", [Rho(NANO), Epsilon(NANO)])
def test_intervals_hold_of_strata_whose_heaps_lie_elsewhere(price: Price) -> None:
    """Medians of 30 strata of 400 rows, .45 of them in one heap and the others 300 levels beyond
    it, each stratum shifted by N(0, 120²), 12 draws: more than .85 of 360 intervals hold (.91 and
    .88; a standard error is .017). The twin takes rows between two u to lie as all rows do, and
    holds .66. No chance: the draws have a seed."""
    rng = np.random.default_rng(14)
    held, twin = [], []
    for _ in range(12):
        middles = np.repeat(rng.normal(350, 120, 30)[:, None], 400, axis=1)
        values = middles + np.where(rng.random((30, 400)) < 0.45, 0, 300) + rng.normal(0, 12, 400)
        levels = np.clip(np.rint(values), 0, LEVELS - 1).astype(int)
        exact = np.stack([np.bincount(x, minlength=LEVELS) for x in levels]).astype(float)
        truth = (exact.cumsum(axis=1) >= 200).argmax(axis=1)
        of = _noised(exact, price, rng)
        shares = smooth_levels(_all_rows(of), 30)
        for inside, unlike in ((held, None), (twin, 0.0)):
            with pytest.MonkeyPatch.context() as patch:
                if unlike is not None:
                    patch.setattr(drawn_levels, "MOST_UNLIKE", unlike)
                drawn = draw_levels(of, shares, 0.5, (30,), 1.96)
            inside.append(((drawn.first <= truth) & (truth <= drawn.last)).mean())
    assert np.mean(held) > 0.85
    assert np.mean(twin) < 0.75
