"""An empirical audit with many canaries in every run: how many of them are told from the releases?

Steinke, Nasr and Jagielski 2023, "Privacy Auditing with One (1) Training Run" (arXiv:2305.08846),
Theorem 5.2: each canary is put in by a coin of its own, the adversary guesses coins from what is
released and may abstain; of r guesses of an epsilon-DP mechanism no more are right than of r coins
that fall right with probability e^epsilon / (1 + e^epsilon). Delta adds at most 2 delta for each
canary. Runs are over data of their own, so all runs together are one mechanism of the same epsilon.

A canary is a row of one level in all columns, which nobody else has. The adversary sees every
release, and of Gaussian noise the best statistic is known: the log-likelihood ratio of its cells,
sum of (count - 1/2) / sigma^2. It guesses a tenth of the canaries to be in and a tenth to be out.

Power. At epsilon = 4 and delta = 1e-6 rho is 0.26; `mst` measures for two thirds of it, so the
ratios of those in and out are sqrt(2 rho 2/3) = 0.59 standard deviations apart, and 78 % of the
extreme guesses are right: log(0.78 / 0.22) = 1.27. With 800 guesses the bound is about 1.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.kernel.terms.budget import Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.synth.synthesis import prepare, synthesize

NAMES, OTHERS, CANARIES = ("a", "b", "c"), 3, 10
TABLE = contract({n: ("INTEGER", Categories(tuple(range(OTHERS + CANARIES)))) for n in NAMES})
RUNS, GUESSED, DELTA, CONFIDENCE = 400, 0.1, 1e-6, 0.95


class Quiet(FakeGate):
    """The twin: adds a sixth of the noise that is paid for."""

    def _noised(self, measurement):
        told = super()._noised(replace(measurement, price=Rho(36 * measurement.price.nano)))
        return replace(told, price=measurement.price, sigma=6 * told.sigma)


def ratios(method: str, price: Rho, gate: type[FakeGate], seed: int) -> tuple[np.ndarray, ...]:
    """One run: which canaries are in, and the log-likelihood ratio of each."""
    rng = np.random.default_rng(seed)
    inside = rng.random(CANARIES) < 0.5
    people = rng.integers(0, OTHERS, (100, len(NAMES)))
    canaries = np.repeat(OTHERS + np.flatnonzero(inside)[:, None], len(NAMES), 1)
    rows = np.vstack([people, canaries])
    data = {name: rows[:, i].tolist() for i, name in enumerate(NAMES)}
    job = prepare(TABLE, NAMES, (), None, method, {"rows": 1}, price)
    out = synthesize(job, gate(data, TABLE, price, seed=seed))
    found = np.zeros(CANARIES)
    for release in out.releases:
        values = release.values[0]
        diagonal = np.array([values[(OTHERS + i,) * values.ndim] for i in range(CANARIES)])
        found += (diagonal - 0.5) / release.sigma**2
    return inside, found


def measured(method: str, epsilon: float, gate: type[FakeGate] = FakeGate) -> float:
    """The lower bound on epsilon."""
    price = rho_of(epsilon, DELTA)
    runs = [ratios(method, price, gate, seed) for seed in range(RUNS)]
    inside, ratio = (np.concatenate(x) for x in zip(*runs, strict=True))
    order, count = np.argsort(ratio), int(GUESSED * ratio.size)
    right = int((~inside[order[:count]]).sum() + inside[order[-count:]].sum())
    return bound(right, 2 * count, ratio.size)


def bound(right: int, guesses: int, canaries: int) -> float:
    """The largest epsilon of which so many right guesses would be a surprise of 1 - CONFIDENCE."""
    tried = np.linspace(0.0, 12.0, 2_401)
    chance = binom.sf(right - 1, guesses, 1 / (1 + np.exp(-tried))) + 2 * canaries * DELTA
    surprised = tried[chance <= 1 - CONFIDENCE]
    return float(surprised[-1]) if surprised.size else 0.0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mst", "aim", "hdmm", "privsyn", "privmrf"])
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 8.0])
def test_the_measured_epsilon_is_below_the_paid_one_and_says_something(method, epsilon):
    found = measured(method, epsilon)
    print(f"{method}: paid {epsilon}, measured at least {found:.2f}")
    assert found <= epsilon
    assert found > (epsilon / 6 if epsilon > 1.0 else 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mst", "aim"])
def test_the_audit_sees_a_sixth_of_the_noise(method):
    """The twin: above 1, which was paid."""
    found = measured(method, 1.0, Quiet)
    print(f"{method}: a sixth of the noise of 1.0, measured at least {found:.2f}")
    assert found > 1.0


def test_the_bound_is_right_where_it_is_known():
    """Randomised response of epsilon = 1 answers right with probability 0.731: of 4,000 guesses the
    bound is between 0.8 and 1.0; where every guess is a coin's it is 0.1 at most."""
    rng = np.random.default_rng(0)
    right = int((rng.random(4_000) < 1 / (1 + np.exp(-1.0))).sum())
    assert 0.8 < bound(right, 4_000, 4_000) <= 1.0
    assert bound(int((rng.random(4_000) < 0.5).sum()), 4_000, 4_000) <= 0.1
