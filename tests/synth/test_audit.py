"""An empirical audit: how well can one canary row be told from released synthetic tables?

A canary is a row of levels that nobody else has. Tables are made with it and without it, through
the gate (fake: the kernel's prices, Gaussian noise and Gumbel selection). The adversary counts
synthetic rows that agree with the canary in at least two columns, and guesses by a threshold. For
an (epsilon, delta)-DP mechanism true and false positive rates obey TPR <= e^epsilon FPR + delta, so
Clopper-Pearson bounds of the two rates give a lower bound on epsilon that holds with 95 %
confidence; the threshold is chosen on one half of the runs and scored on the other, so that the
choice cannot flatter it. The bound has to stay under the epsilon that was paid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy.stats import beta
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.kernel.terms.budget import YOCTO, Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.registry import REGISTRY
from sqlpriv.synth.synthesis import prepare, synthesize

NAMES = ("a", "b", "c", "d")
LEVELS, CANARY, DELTA = 6, 5, 1e-5
TABLE = contract({n: ("INTEGER", Categories(tuple(range(LEVELS)))) for n in NAMES})
RUNS = 300


def people(canary: bool) -> dict[str, list[int]]:
    """60 rows of levels 0 to 4, and the canary, which is 5 everywhere."""
    drawn = np.random.default_rng(0).integers(0, LEVELS - 1, (60, len(NAMES)))
    rows = np.vstack([drawn, np.full((1, len(NAMES)), CANARY)]) if canary else drawn
    return {name: rows[:, i].tolist() for i, name in enumerate(NAMES)}


def scores(method: str, price: Rho, canary: bool, noiseless: bool = False) -> np.ndarray:
    """What the adversary sees in each run: how much of the table looks like the canary."""
    found = []
    for seed in range(RUNS):
        options = {"rows": 200} | ({"hierarchy": "a, b"} if method == "topdown" else {})
        yocto = int(DELTA * YOCTO) if method == "stability" else 0
        job = prepare(TABLE, NAMES, (), None, method, options, price, yocto)
        gate = FakeGate(people(canary), TABLE, price, exact=noiseless, seed=2 * seed + canary)
        table = synthesize(job, gate).table
        alike = sum((table[n].to_numpy() == CANARY).astype(int) for n in NAMES)
        found.append(float(np.sum(alike**2)))
    return np.array(found)


def bound(without: np.ndarray, with_canary: np.ndarray, delta: float) -> float:
    """The lower bound on epsilon, 95 %: each rate is bounded at 97.5 %."""
    half = len(without) // 2
    best, chosen = -math.inf, 0.0
    for threshold in np.unique(np.concatenate([without[:half], with_canary[:half]])):
        gain = np.mean(with_canary[:half] >= threshold) - np.mean(without[:half] >= threshold)
        best, chosen = max((best, chosen), (float(gain), float(threshold)))
    hits = int((with_canary[half:] >= chosen).sum())
    misses = int((without[half:] >= chosen).sum())
    n = len(without) - half
    least = beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0
    most = beta.ppf(0.975, misses + 1, n - misses) if misses < n else 1.0
    return max(math.log(max(least - delta, 1e-12) / most), 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        "mst",
        "aim",
        "privbayes",
        "histogram",
        "gaussian",
        "gsd",
        "topdown",
        "hdmm",
        "privsyn",
        "privmrf",
        "stability",
    ],
)
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_measured_epsilon_is_below_the_paid_one(method, epsilon):
    """300 runs a side; with 150 to score, the largest bound that could be measured is
    log(0.976 / 0.0243) = 3.7, so an epsilon of 0.5 or 3 that is broken many times over shows."""
    price = rho_of(epsilon, DELTA)
    measured = bound(scores(method, price, False), scores(method, price, True), DELTA)
    print(f"{method}: paid {epsilon}, measured at least {measured:.2f}")
    assert measured <= epsilon


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mst", "aim"])
def test_the_audit_sees_a_broken_mechanism(method):
    """The twin: without noise the canary is told at once, above any epsilon tested here."""
    price = rho_of(0.5, DELTA)
    seen = bound(scores(method, price, False, True), scores(method, price, True, True), DELTA)
    assert seen > 3.0


def test_the_bound_is_right_where_it_is_known():
    """Randomised response with epsilon = 1: the bound is below 1, and above 0.4 with 4,000 runs."""
    rng = np.random.default_rng(0)
    truth = math.e / (1 + math.e)
    with_canary = (rng.random(4_000) < truth).astype(float)
    without = (rng.random(4_000) < 1 - truth).astype(float)
    assert 0.4 < bound(without, with_canary, 0.0) <= 1.0
    assert bound(without, without, 0.0) == 0.0


BY_CHOICES = ("independent", "histogram", "mst", "mwem", "privbayes", "pmw")
"""What these ask follows from their choices and from public sizes alone."""
COMPILED = ("gem", "rap", "rap++", "dpmerf")
EVERY = tuple(
    pytest.param(m, marks=pytest.mark.slow) if m in COMPILED else m
    for m in REGISTRY
    if m not in ("topdown", "stability")
)
"""Those compile: seconds a case. topdown asks what it says beforehand, and takes no strata; what
stability asks of is what passed, which a neighbour may change."""


@dataclass
class Replaying(FakeGate):
    """Gives the choices, and the answers, of an earlier run for as long as there are any."""

    forced: list[tuple[int, ...]] = field(default_factory=list)
    told: list[Release] = field(default_factory=list)
    answers: list[Release] = field(default_factory=list)

    def release(self, measurements):
        fresh = super().release(measurements)
        at = len(self.answers)
        known = self.told[at : at + len(fresh)]
        self.answers += [*known, *fresh[len(known) :]]
        return tuple(self.answers[at:])

    def choose(self, candidates, price, allowed):
        picked = super().choose(candidates, price, allowed)
        at = len(self.choices) - 1
        self.choices[at] = self.forced[at] if at < len(self.forced) else picked
        return self.choices[at]


def asked_of(
    method: str, canary: bool, earlier: Replaying | None, answers: bool, seed: int = 4, **options
) -> Replaying:
    price = rho_of(1.0, 1e-9)
    job = prepare(TABLE, NAMES[1:], ("a",), None, method, options, price)
    gate = Replaying(people(canary), TABLE, price, seed=seed)
    if earlier is not None:
        gate.forced = list(earlier.choices)
        gate.told = list(earlier.answers) if answers else []
    synthesize(job, gate)
    assert gate.spent == price.nano
    return gate


@pytest.mark.parametrize("method", BY_CHOICES)
def test_neighbours_touch_the_same_measurements_when_selections_agree(method):
    """Fixed noise, choices of the first run forced on the second: what is asked, of which strata,
    at which price is the same, because it depends on choices and sizes of domains alone."""
    first = asked_of(method, False, None, False)
    assert asked_of(method, True, first, False).asked == first.asked


@pytest.mark.parametrize("options", [{}, {"pooling": 0}])
def test_aim_touches_the_same_measurements_when_selections_agree(options):
    """As above, but for a round's price, which depends on answers: it rises where the last round
    moved the model less than noise would. That one row more tips this is rare: not in 8 of 10 runs
    at least (9 and 10 when this was written). Other noise, the twin, asks otherwise in 8 of 10."""
    first = [asked_of("aim", False, None, False, seed, **options) for seed in range(10)]
    again = [asked_of("aim", True, run, False, seed, **options) for seed, run in enumerate(first)]
    assert sum(a.asked == b.asked for a, b in zip(first, again, strict=True)) >= 8
    assert sum(a.asked != b.asked for a, b in zip(first, again[1:], strict=False)) >= 8


@pytest.mark.parametrize("method", EVERY)
def test_what_is_asked_depends_on_answers_alone(method):
    """The condition of adaptive composition, for every method: on a neighbour, given the same
    answers and choices, the same is asked at the same prices. The twin is below."""
    first = asked_of(method, False, None, False)
    assert asked_of(method, True, first, True).asked == first.asked


def test_the_comparison_sees_other_questions():
    first = asked_of("aim", False, None, False)
    other = Replaying(people(True), TABLE, rho_of(1.0, 1e-9), seed=5)
    job = prepare(TABLE, NAMES[1:], ("a",), None, "aim", {}, rho_of(1.0, 1e-9))
    synthesize(job, other)
    assert other.asked != first.asked
