"""Tails that fall faster and faster, and where they let a mean be clipped."""

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
from sqlpriv.answer.rounds.histogram import pooled_histogram
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


def _tails(beyond: Callable[[float], float]) -> Tails:
    """Returns the tails by expected counts that are told to have a noise of 50 rows."""
    bins = BinEnds(LOWEST, np.append(LOWEST[1:], UPPER))
    counts = ROWS * -np.diff([*map(beyond, LOWEST), 0.0])
    query, price = Count(Scan("people")), Epsilon(40_000_000)
    histogram = Release(0, query, counts[None], 50.0, price)
    counted = Release(0, query, np.array([ROWS]), 4.0, price)
    return estimate_tails(histogram, None, counted, bins, LOWEST[1:])


def _clipping(tails: Tails, miscount: float = 4.0) -> Clipping:
    noise = CellNoise(np.array([ROWS]), np.ones(1), 2.0, miscount)
    return choose_clipping(tails, noise, 0.0, UPPER)


def test_an_exponential_tail_ends_where_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 20,000 exponential values of mean 700 the largest is at about 7,000. The twin, in which
    every tail is a power law's, is clipped at more than three times that, and errs twice as far by
    its own prediction."""
    tails = _tails(_exponential)
    clipping = _clipping(tails)
    assert 4_000 < clipping.high[0] < 15_000
    monkeypatch.setattr(pooled_histogram, "curved_falls", _straight)
    twin = _clipping(_tails(_exponential))
    assert twin.high[0] > 21_000
    assert twin.variance[0] > 4 * clipping.variance[0]


def test_a_power_law_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies beyond the bins that are seen, in units of x, is .90 of what a power law alone has
    there; the exponential tail, the twin, has .55 of it."""
    parts = {}
    for name, beyond in (("power law", _power_law), ("exponential", _exponential)):
        held = []
        for falls in (pooled_histogram.curved_falls, _straight):
            monkeypatch.setattr(pooled_histogram, "curved_falls", falls)
            tails = _tails(beyond)
            last = int(np.flatnonzero(tails.pooled * ROWS > 140)[-1])
            held.append(float(tails.pooled[last + 2 :] @ tails.middles[last + 2 :]))
            monkeypatch.undo()
        parts[name] = held[0] / held[1]
    assert parts["power law"] > 0.75
    assert parts["exponential"] < 0.75


def test_a_lower_end_beside_the_domains_takes_the_counts_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values near the lower end of a wide domain, of which 20,000 are counted with a noise of 40:
    the interval is moved below the domain by less than a quarter of it, so that its centre is
    nearer to the mean. The twin has no such ends, and errs a tenth farther."""
    tails = _tails(_exponential)
    clipping = _clipping(tails, 40.0)
    assert -UPPER / 4 < clipping.low[0] < 0
    monkeypatch.setattr(clipping_errors, "_second_ends", lambda _, __: np.zeros(0))
    assert _clipping(tails, 40.0).variance[0] > 1.1**2 * clipping.variance[0]


@pytest.mark.slow
def test_a_hurdles_mean_errs_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 rows, two fifths of them 0 and the rest gamma, in [0, 1e5], pure epsilon 1, 200 runs:
    half-widths of 3.8 at the median, and 9.5 in the twin, whose tails are all power laws. Of 200
    runs their medians have standard deviations of .2 and .5. The intervals hold."""
    rows = rows_of(FURTHER["hurdle"], 20_000, "1")
    answers = run(rows, "pure", "auto", 200)
    assert np.median(answers.whole_halves) < 6.5
    assert answers.whole_covered.mean() > 0.9
    monkeypatch.setattr(pooled_histogram, "curved_falls", _straight)
    assert np.median(run(rows, "pure", "auto", 200).whole_halves) > 6.5
