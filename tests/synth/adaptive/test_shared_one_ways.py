"""One-way marginals of everybody, shared with strata: what they cost and when strata get them."""

from __future__ import annotations

import numpy as np
import pytest

from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.adaptive.joint.raked_rows import balance_margins
from sqlpriv.synth.adaptive.joint.shared_one_ways import SharedOneWays
from sqlpriv.synth.adaptive.joint.strata_distance import distance_of
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.inference.strata_constants import SCALES

ROWS = np.array([4_000.0, 1_000.0])
ALIKE = np.array([[0.4, 0.3, 0.2, 0.1]] * 2)
APART = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])


def fake_sharing(shares, rows=ROWS):
    """Returns a look at strata of these shares and rows, and what is paid, in nano by whether it is
    of everybody."""
    paid, rng = {True: 0, False: 0}, np.random.default_rng()

    def measure(questions):
        releases = []
        for i, q in enumerate(questions):
            paid[q.pooled] += q.price.nano
            sigma = float(np.sqrt(0.5 / q.price.value))
            counts = shares * rows[:, None]
            exact = counts.sum(axis=0)[None] if q.pooled else counts
            noised = exact + rng.normal(0, sigma, exact.shape)
            releases.append(Release(sum(paid.values()) + i, None, noised, sigma, q.price))
        return tuple(releases)

    return SharedOneWays(Ask(measure, None, lambda _: None), rows), paid


def shared(shares, price):
    """Returns what was paid, the answer and the look at strata."""
    sharing, paid = fake_sharing(shares)
    sharing.look([Marginal((0,), type(price)(price.nano // 5))])
    (answer,) = sharing.measure([Marginal((0,), price)])
    return paid, answer, sharing


@pytest.mark.parametrize("price", [Rho(2_000_000), Epsilon(50_000_001)])
@pytest.mark.parametrize("shares", [ALIKE, APART])
def test_both_parts_add_up_to_the_price(shares, price):
    paid, answer, _ = shared(shares, price)
    assert sum(paid.values()) == price.nano + price.nano // 5
    assert answer.values.shape == (1, 4)


def test_strata_get_what_is_worth_it():
    """Strata far apart get most of the price, and everybody's table is as exact as it says: of ten
    noises 120 cells are within five deviations but with a probability of 7e-5. Twins: of a
    hundredth of the price strata that are alike get .565 of it and strata apart .7275 (means of 400
    noises, whose standard errors are .014: the threshold is more than five of them off), and a
    hundred strata that noise hides get nothing of it."""
    price = Rho(2_000_000)
    for _ in range(10):
        sharing, paid = fake_sharing(APART)
        sharing.look([Marginal((0,), Rho(price.nano // 5))])
        (answer,) = sharing.measure([Marginal((0,), price)])
        inside = sharing.inside[0]
        assert paid[False] > price.nano // 2
        assert paid[True] + paid[False] == price.nano + price.nano // 5
        assert np.abs(inside.values - APART * ROWS[:, None]).max() < 5 * inside.sigma
        everybody = (APART * ROWS[:, None]).sum(axis=0)
        assert np.abs(answer.values[0] - everybody).max() < 5 * answer.sigma
    parts = {}
    for name, shares in (("apart", APART), ("alike", ALIKE)):
        small, of_noises = 20_000, []
        for _ in range(400):
            sharing, paid = fake_sharing(shares)
            sharing.look([Marginal((0,), Rho(small // 5))])
            sharing.measure([Marginal((0,), Rho(small))])
            of_noises.append((paid[False] - small // 5) / small)
        parts[name] = np.mean(of_noises)
    assert parts["alike"] < 0.65 < parts["apart"]
    twin, paid = fake_sharing(np.repeat(ALIKE[:1], 100, axis=0), rows=np.full(100, 50.0))
    twin.look([Marginal((0,), Rho(400))])
    twin.measure([Marginal((0,), Rho(2_000))])
    assert paid[True] == 2_000


def test_how_far_strata_are_apart_is_seen_in_all_columns_together():
    """Ten columns of strata that are .14 apart or alike, under a noise of which one column tells
    little. The mean scale of strata apart, and what a table is expected to be off, are larger in
    the mean of 20 pairs; one pair is the other way round in 7 of 100. What a table is expected to
    be off falls with its noise."""
    rows, data, noise = np.full(8, 2_000.0), np.random.default_rng(0), np.random.default_rng()
    scales, errors = np.zeros((20, 2)), np.zeros((20, 2))
    for pair in range(20):
        for side, apart in enumerate((0.0, 0.4)):
            shares = np.maximum(ALIKE[0] * (1 + apart * data.normal(0, 1, (10, 8, 4))), 0.01)
            shares /= shares.sum(axis=2, keepdims=True)
            looks = {
                c: Release(c, None, p * 2_000 + noise.normal(0, 200, p.shape), 200.0, Rho(1))
                for c, p in enumerate(shares)
            }
            distance = distance_of(rows, looks)
            scales[pair, side] = np.mean([p @ SCALES for p in distance.probabilities.values()])
            errors[pair, side] = distance.error_inside(0, 200.0**2, 0.001)
            assert distance.error_inside(0, 100.0**2, 0.001) < errors[pair, side]
    assert np.diff(scales.mean(axis=0)) > 0
    assert np.diff(errors.mean(axis=0)) > 0


def test_strata_far_apart_are_measured_once_more():
    """The look's noise is 41 rows in cells of 100 to 400, so a part of the price is worth more
    inside strata than on pairs; what is left and what was paid add up.
    Twins: strata that are alike leave the price to pairs, as does a look that says enough."""
    price = Rho(1_500_000)
    for _ in range(20):
        sharing, paid = fake_sharing(APART)
        sharing.look([Marginal((0,), type(price)(price.nano // 5))])
        before = sharing.inside[0]
        rest = sharing.deepen(price, cells=4.0, tables=1.0)
        assert paid[False] - price.nano // 5 == price.nano - rest.nano > 0
        assert sharing.inside[0].sigma < before.sigma
        assert sharing.looks[0] is sharing.inside[0]
    for shares in (ALIKE, APART):
        twin, paid = fake_sharing(shares)
        twin.look([Marginal((0,), Rho(10**12))])
        assert twin.deepen(price, cells=4.0, tables=1.0) == price
        assert paid[False] == 10**12


def test_columns_of_many_levels_get_more():
    """Of 2 and 16 levels the second gets 4 times as much, 8^(2/3), of rho: then the noise over all
    cells of both is least. The twin's equal parts have 1.14 times as much noise."""
    asked = {}
    rng = np.random.default_rng()

    def measure(questions):
        releases = []
        for i, q in enumerate(questions):
            asked[q.clique[0]] = q.price.nano
            levels = (2, 16)[q.clique[0]]
            values = rng.uniform(0, 500, (4, levels))
            sigma = float(np.sqrt(0.5 / q.price.value))
            releases.append(
                Release(len(asked) * 100 + i + q.price.nano, None, values, sigma, q.price)
            )
        return tuple(releases)

    sharing = SharedOneWays(Ask(measure, None, lambda _: None), np.full(4, 2_000.0))
    sharing.look([Marginal((c,), Rho(50_000)) for c in range(2)])
    assert sharing.deepen(Rho(10**6), cells=32.0, tables=1.0).nano < 10**6
    assert asked[1] == pytest.approx(4 * asked[0], rel=1e-3)
    equal = [(asked[0] + asked[1]) / 2] * 2
    off = [2 * p0**-0.5 + 16 * p1**-0.5 for p0, p1 in ((asked[0], asked[1]), equal)]
    assert off[1] > 1.13 * off[0]


def test_a_sample_is_balanced():
    """Of 2,000 rows of 8,000, levels of three columns are off by 20 before and by 3 at most."""
    rng = np.random.default_rng(1)
    levels = rng.integers(0, 5, (8_000, 3))
    weights = np.full(8_000, 1 / 8_000)
    at = rng.integers(0, 8_000, 2_000)

    def off(sample):
        return np.mean(
            [
                np.abs(np.bincount(c[sample], minlength=5) - np.bincount(c, minlength=5) / 4).mean()
                for c in levels.T
            ]
        )

    assert off(at) > 8
    assert off(balance_margins(levels, weights, at, rng)) < 3
