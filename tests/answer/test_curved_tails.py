"""What is expected of a tail that noise hides, and where a mean is clipped."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from bench.coverage import rows_of, run
from bench.value_shapes import FURTHER

from sqlpriv.answer.rounds import clipping_errors
from sqlpriv.answer.rounds.clipping import Clipping, choose_clipping
from sqlpriv.answer.rounds.clipping_errors import CellNoise
from sqlpriv.answer.rounds.histogram import curved_tails, pooled_histogram
from sqlpriv.answer.rounds.histogram.curved_tails import Falls
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds
from sqlpriv.answer.rounds.tail_model import Tails, estimate_tails
from sqlpriv.kernel.terms.algebra import Count, Scan
from sqlpriv.kernel.terms.budget import Epsilon
from sqlpriv.kernel.terms.release import Release

ROWS, UPPER = 20_000.0, 1e5
LOWEST = np.array([0.0, *(UPPER * 2.0 ** (-np.arange(48, -1, -1) / 4))])


def _exponential(x: float) -> float:
    return math.exp(-x / 700)


def _power_law(x: float) -> float:
    return (1 + x / 1000) ** -1.5


def _straight(_: object, __: object, ___: float, straight: Falls) -> Falls:
    return straight


def _tails(beyond: Callable[[float], float], sigma: float = 50.0) -> Tails:
    """Returns the tails by expected counts that are told to have a noise of sigma rows."""
    bins = BinEnds(LOWEST, np.append(LOWEST[1:], UPPER))
    counts = ROWS * -np.diff([*map(beyond, LOWEST), 0.0])
    query, price = Count(Scan("people")), Epsilon(40_000_000)
    histogram = Release(0, query, counts[None], sigma, price)
    counted = Release(0, query, np.array([ROWS]), 4.0, price)
    return estimate_tails(histogram, None, counted, bins, LOWEST[1:])


def _clipping(tails: Tails, miscount: float = 4.0) -> Clipping:
    noise = CellNoise(np.array([ROWS]), np.ones(1), 2.0, miscount)
    return choose_clipping(tails, noise, 0.0, UPPER)


def _let_the_body_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The curve of the visible bins is all that is known of the tail."""
    monkeypatch.setattr(curved_tails, "STRAIGHT", 1e-9)
    monkeypatch.setattr(curved_tails, "HEAVIER", 1e-9)


def _expected_beyond(beyond: Callable[[float], float]) -> float:
    """Returns the mean's part beyond the bins that are seen, in units of x."""
    tails = _tails(beyond)
    last = int(np.flatnonzero(tails.pooled * ROWS > 140)[-1])
    return float(tails.pooled[last + 2 :] @ tails.middles[last + 2 :])


@pytest.mark.parametrize("beyond", [_exponential, _power_law])
def test_a_body_tells_nothing_of_a_tail_in_the_noise(
    beyond: Callable[[float], float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is expected beyond the bins that are seen is .86 and more of what a power law alone has
    there, whatever the body's curve. The twin, in which the curve of an exponential body decides,
    has less than .75 of it."""
    now = _expected_beyond(beyond)
    _let_the_body_decide(monkeypatch)
    twin = _expected_beyond(beyond)
    monkeypatch.setattr(pooled_histogram, "curved_falls", _straight)
    straight = _expected_beyond(beyond)
    assert now > 0.75 * straight
    assert beyond is _power_law or twin < 0.75 * straight


def test_a_lower_end_beside_the_domains_takes_the_counts_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values near the lower end of a wide domain, of which 20,000 are counted with a noise of 40:
    the interval is moved below the domain by less than a quarter of it, so that its centre is
    nearer to the mean. The twin has no such ends, and errs a tenth farther."""
    tails = _tails(_exponential, 10.0)
    clipping = _clipping(tails, 40.0)
    assert -UPPER / 4 < clipping.low[0] < 0
    monkeypatch.setattr(clipping_errors, "_second_ends", lambda _, __: np.zeros(0))
    assert _clipping(tails, 40.0).variance[0] > 1.1**2 * clipping.variance[0]


@pytest.mark.slow
def test_a_heavy_tail_beside_a_light_body_is_counted_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 log-normal incomes, the highest .03 a power law's, pure epsilon 1, 400 runs over four
    tables: .82 of the intervals hold (.85 and .79 of 80 runs each), and of 400 more than .72 do
    but for one time in 10^6. The twin, in which the body's curve decides, holds .63 of 100 and is
    above with a chance of 10^-4."""

    def held() -> float:
        tables = [rows_of(FURTHER["income"], 20_000, "1", seed) for seed in (11, 12, 13, 14)]
        answers = [run(rows, "pure", "auto", 100) for rows in tables]
        return float(np.mean([of_table.whole_covered for of_table in answers]))

    assert held() > 0.72
    _let_the_body_decide(monkeypatch)
    assert held() < 0.72
