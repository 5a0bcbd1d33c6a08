"""One-way marginals of everybody, shared with strata: what they cost and when strata get them."""

from __future__ import annotations

import numpy as np
import pytest

from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.adaptive.joint.shared_one_ways import SharedOneWays, positive_mean
from sqlpriv.synth.adaptive.joint.stratum_share import balance_margins
from sqlpriv.synth.api.ask import Ask, Marginal

ROWS = np.array([4_000.0, 1_000.0])
ALIKE = np.array([[0.4, 0.3, 0.2, 0.1]] * 2)
APART = np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]])


def fake_sharing(shares, seed=0, rows=ROWS):
    """Returns a look at strata of these shares and rows, and what is paid, in nano by whether it is
    of everybody."""
    paid, rng = {True: 0, False: 0}, np.random.default_rng(seed)

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


@pytest.mark.parametrize("shares", [ALIKE, APART], ids=["alike", "apart"])
def test_strata_get_what_everybody_can_spare(shares):
    """All of it, of two strata whose sum is well known, whether a look found them apart or not; and
    everybody's table is as exact as it says (the noise has fixed seeds). The twin: of a small
    price a hundred strata leave everybody's table a half, which noise would hide else."""
    price = Rho(2_000_000)
    for seed in range(10):
        sharing, paid = fake_sharing(shares, seed)
        sharing.look([Marginal((0,), Rho(price.nano // 5))])
        (answer,) = sharing.measure([Marginal((0,), price)])
        inside = sharing.inside[0]
        assert paid == {True: 0, False: price.nano + price.nano // 5}
        assert np.abs(inside.values - shares * ROWS[:, None]).max() < 5 * inside.sigma
        everybody = (shares * ROWS[:, None]).sum(axis=0)
        assert np.abs(answer.values[0] - everybody).max() < 5 * answer.sigma
    twin, paid = fake_sharing(np.repeat(ALIKE[:1], 100, axis=0), rows=np.full(100, 50.0))
    twin.look([Marginal((0,), Rho(2_000))])
    twin.measure([Marginal((0,), Rho(2_000))])
    assert 900 < paid[True] < 1_100


def test_a_variance_that_noise_hides_is_above_0():
    """An estimate far above its error is kept, one of 0 is .8 of its error, one far below is small;
    and the look of alike strata never says that they cannot differ."""
    assert positive_mean(5.0, 0.1) == pytest.approx(5.0)
    assert positive_mean(0.0, 1.0) == pytest.approx((2 / np.pi) ** 0.5)
    means = [positive_mean(x, 1.0) for x in (-1e9, -100.0, -30.0, -3.0, -1.0, 1.0)]
    assert 0 < means[0] <= means[1] <= means[2] < means[3] < means[4] < means[5]
    for seed in range(20):
        sharing, _ = fake_sharing(ALIKE, seed)
        sharing.look([Marginal((0,), Rho(100_000))])
        assert sharing._apart(sharing.looks[0]) > 1e-5


def test_strata_far_apart_are_measured_once_more():
    """The look's noise is 41 rows in cells of 100 to 400, so a part of the price is worth more
    inside strata than on pairs; what is left and what was paid add up. The noise has fixed seeds.
    Twins: strata that are alike leave the price to pairs, as does a look that says enough."""
    price = Rho(1_500_000)
    for seed in range(20):
        sharing, paid = fake_sharing(APART, seed)
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
