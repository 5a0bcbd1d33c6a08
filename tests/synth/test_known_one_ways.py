"""What histograms and counts of values told before is put to use, once, and costs nothing."""

from __future__ import annotations

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.vaults import contract

from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Interval
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth import synthesis
from sqlpriv.synth.api.ask import Marginal
from sqlpriv.synth.domain.histogram_rounds import Histogram, level_counts
from sqlpriv.synth.known_one_ways import KnownOneWays, LevelCounts, average_release
from sqlpriv.synth.synthesis import prepare, synthesize

COUNTS = LevelCounts(np.array([100.0, 60, 0]), np.array([25.0, 25, np.inf]))


def answered(value: float = 0.0) -> Release:
    return Release(7, None, np.array([[130.0, 30, 20]]) + value, 10.0, Rho(1_000))


def test_the_average_is_weighted_by_inverse_variance() -> None:
    """Of a level that the histograms do not have (NULL) the marginal counts alone; the price is
    what the mean noise would have cost."""
    average = average_release(answered(), COUNTS)
    assert average.values == pytest.approx(np.array([[106.0, 54.0, 20.0]]))
    assert average.sigma**2 == pytest.approx(np.mean([20.0, 20.0, 100.0]))
    assert average.price.nano == int(1_000 * 100 / np.mean([20.0, 20.0, 100.0]))


def test_only_the_first_answer_about_the_population_is_averaged() -> None:
    """A second one would count the histograms twice; strata have no histograms of their own."""
    for one_stratum, pooled, averaged in (
        (True, False, True),
        (False, False, False),
        (False, True, True),
    ):
        ask = KnownOneWays(lambda qs: tuple(answered() for _ in qs), {0: COUNTS}, one_stratum)
        questions = [Marginal((0,), Rho(1_000), pooled=pooled), Marginal((0, 1), Rho(1_000))]
        first, pair = ask.measure(questions)
        (second,) = ask.measure(questions[:1])
        assert (first.sigma < 10.0) == averaged
        assert pair.sigma == second.sigma == 10.0


def test_level_counts_are_as_noisy_as_they_say() -> None:
    """Two histograms of noise 10 and 400 draws: the variance of each level's count is within 30 %
    of what is said (of 400 draws a variance is off by 7 %: a false alarm is 4 deviations away),
    and their means are within 5 standard errors of the truth."""
    rng = np.random.default_rng(0)
    truth = np.array([500.0, 400, 300, 200])
    coarse, fine = np.array([0, 20, 40]), np.array([0, 10, 20, 30, 40])
    draws = []
    for _ in range(400):
        first = truth.reshape(2, 2).sum(axis=1) + rng.normal(0, 10, 2)
        second = truth + rng.normal(0, 10, 4)
        histograms = (Histogram(coarse, first, 10.0), Histogram(fine, second, 10.0))
        counts, variance = level_counts(histograms, np.array([0, 10, 40]))
        draws.append(counts)
    spread = np.var(draws, axis=0)
    assert np.abs(spread / variance - 1).max() < 0.3
    assert variance[1] < 2 * 100 + 100  # less than the fine histogram alone says
    errors = np.abs(np.mean(draws, axis=0) - [500.0, 900.0])
    assert (errors < 5 * np.sqrt(variance / 400) + 1).all()


def test_a_statement_puts_its_histograms_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the number, not of the list, and once; the statement costs its price. Inside strata, of
    which no histogram tells, nothing is put to use."""
    table = contract(
        {"x": "INTEGER", "c": "INTEGER", "s": "INTEGER"},
        {"x": Interval(0, 9_999), "c": Interval(0, 1), "s": Interval(0, 1)},
    )
    numbers = np.arange(3_000)
    rows = {"x": (numbers * 3).tolist(), "c": (numbers % 2).tolist(), "s": (numbers % 2).tolist()}
    price, asked = rho_of(1.0, 1e-9), []

    class Watched(KnownOneWays):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)
            asked.append((self, set(self.counts)))

    monkeypatch.setattr(synthesis, "KnownOneWays", Watched)
    for strata, left in (((), set()), (("s",), {0})):
        job = prepare(table, ("x", "c"), strata, None, "independent", {}, price)
        gate = FakeGate(rows, table, price)
        synthesize(job, gate)
        assert gate.spent == price.nano
        assert asked[-1][1] == {0}
        assert set(asked[-1][0].counts) == left
