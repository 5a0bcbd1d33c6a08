"""What one-way marginals may cost beside AIM's share: as little as makes their noise tolerable."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sqlpriv.kernel.terms.budget import Epsilon, Price, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.adaptive.joint.pool_layout import Layout
from sqlpriv.synth.adaptive.joint.pooled_one_ways import dearer_questions
from sqlpriv.synth.adaptive.separate import dearer_one_ways
from sqlpriv.synth.api.ask import Marginal
from sqlpriv.synth.api.method import Space
from sqlpriv.synth.inference.one_way_tables import dearer_prices
from sqlpriv.synth.inference.strata_constants import MOST_ONE_WAYS, TOLERATED_NOISE

NOISE = np.array([0.4, 0.4, 0.1, 0.05])
PRICES = np.array([1e6, 1e6, 1e6, 4e6])


def mean_distance(more: list[int], kind: type[Price]) -> float:
    paid = PRICES + np.array(more)
    power = 2 if kind is Rho else 1
    left = NOISE * (PRICES / paid) ** (1 / power)
    return float(left.mean()) * math.sqrt(2 / math.pi) / 2


@pytest.mark.parametrize("kind", [Rho, Epsilon])
def test_noise_comes_down_to_what_is_tolerated(kind: type[Price]) -> None:
    """Where the price allows it, and then no further; the noisiest tables get most. The twin, a
    small price, is spent but for the parts of a nano."""
    more = dearer_prices(NOISE, PRICES, 10**12, kind)
    assert mean_distance(more, kind) == pytest.approx(TOLERATED_NOISE, rel=1e-3)
    assert more[0] == more[1] > more[2] >= more[3] >= 0
    few = dearer_prices(NOISE, PRICES, 10**6, kind)
    assert 10**6 - 5 < sum(few) <= 10**6
    assert mean_distance(few, kind) > TOLERATED_NOISE


def test_tables_that_are_known_well_cost_nothing_more() -> None:
    assert dearer_prices(NOISE / 100, PRICES, 10**9, Rho) == [0] * 4
    assert dearer_prices(NOISE, PRICES, -5, Rho) == [0] * 4


def test_no_question_is_asked_again_for_less() -> None:
    """The gate would repeat its answer: of a table that histograms told well nothing is asked, and
    of two that want less than they cost before, neither."""
    asked = [Marginal((c,), Rho(10**6)) for c in range(3)]
    for rows, numbers in ((2_000.0, {0, 1}), (14_000.0, set())):
        releases = [
            Release(c, None, np.zeros((1, 8)), sigma, Rho(worth))
            for c, (sigma, worth) in enumerate(((70.7, 10**6), (70.7, 10**6), (7.07, 10**8)))
        ]
        again = dearer_one_ways(asked, releases, rows, 10**8)
        assert {q.clique[0] for q in again} == numbers
        assert all(q.price.nano > 10**6 for q in again)
        assert sum(q.price.nano for q in again) <= MOST_ONE_WAYS * 10**8


def test_the_tables_of_pooled_strata_are_as_exact_as_without_strata():
    """Ten strata of 500 rows: the noise that is tolerated is that of a table of 5,000 rows. What
    strata have of their own is bought by `SharedOneWays.deepen`."""
    layout, price = Layout(Space((4, 8), (10,))), Rho(10**6)
    asked = [Marginal((c,), price) for c in range(2)]
    sizes = Release(1, None, np.full((10,), 500.0), 220.4, price)
    (first, second) = dearer_questions(asked, layout, sizes, 10**9)
    sigma = [220.4 * math.sqrt(10**6 / q.price.nano) for q in (first, second)]
    off = [math.sqrt(2 / math.pi) / 2 * n * s / 5_000.0 for n, s in zip((4, 8), sigma, strict=True)]
    assert np.mean(off) == pytest.approx(TOLERATED_NOISE, rel=1e-3)
    assert first.pooled
    assert second.pooled
    (cheap, _) = dearer_questions(asked, layout, sizes, 2 * 10**6)
    assert cheap.price.nano == 10**6
