"""What AIM and MWEM share: rounds of choosing the marginal that a model knows worst, measuring it
and fitting anew, every stratum by itself and all of them in one question to the gate.

A stratum's questions depend on its own answers, so strata take different marginals, and prices, in
one round. Those of one price are asked together. What a stratum has paid adds up to `Run.price`
exactly, and strata are disjoint: the whole costs what one stratum costs (kernel,
`sensitivity.joint_price`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.adaptive.stratum_run import Run
from sqlpriv.synth.api.ask import Ask, Guess, Marginal
from sqlpriv.synth.api.method import Option
from sqlpriv.synth.graph.junction_tree import Clique, Graph, mask_of
from sqlpriv.synth.inference import engines
from sqlpriv.synth.inference.mirror_descent import Effort
from sqlpriv.synth.inference.one_way_tables import Floats, scale_sigma

BETWEEN = Effort(steps=20, gain=1e-2)
"""Between rounds a model need only be good enough to tell which marginal it knows worst."""
LAST = Effort(steps=300, gain=1e-3)
"""The model that rows are drawn from."""
SELECTING = 10
"""One part in this many of a round's price is for choosing, as AIM's authors have it."""
MOST_CANDIDATES = 1_000
MOST_TABLE = 20_000
TREES = (
    Option(
        "cells", 100_000, "cells of a stratum's junction tree at most", least=1, most=20_000_000
    ),
    Option(
        "engine",
        "numpy",
        "inference: numpy (fast) or mbi (the reference, compiles in every round)",
        choices=tuple(engines.CLIQUE_ENGINES),
    ),
)
"""Options of every method whose models are junction trees."""


@dataclass(frozen=True)
class Chosen:
    """One stratum's choice of a round: what is measured, and what was believed of it before.

    Args:
        clique: The columns of the chosen marginal.
        believed: The model's counts before the round, shape (levels of each column).
        noise: The mean magnitude of the noise in a measured cell, in rows, as the release has it.
    """

    clique: Clique
    believed: Floats
    noise: float


@dataclass(eq=False)
class Rounds:
    """Asks the gate for all strata of one list, or (`pooled`) for the population.

    Args:
        ask: The gate.
        runs: One for each stratum.
        candidates: Cliques and their weights in the score.
        sigma: Standard deviation of noise and the price that bought it, from a first measurement.
        noise_penalty: Whether the mean magnitude of the noise is taken off a candidate's distance
            for each of its cells (AIM), or one row (MWEM).
        pooled: See `asking.Marginal`.
        selecting: One part in this many of a round's price is for choosing, the rest for measuring.
        begun: Whether a round was played.
    """

    ask: Ask
    runs: Sequence[Run]
    candidates: Mapping[Clique, float]
    sigma: tuple[float, Price]
    noise_penalty: bool
    pooled: bool = False
    selecting: int = SELECTING
    begun: bool = False

    def noise(self, price: Price) -> float:
        """Returns the mean magnitude of the noise that a price buys: sqrt(2 / pi) sigma of Gaussian
        noise, sigma / sqrt(2) of Laplace noise."""
        return self._magnitude(scale_sigma(self.sigma, price))

    def _magnitude(self, sigma: float) -> float:
        of_sigma = math.sqrt(2 / math.pi) if isinstance(self.sigma[1], Rho) else math.sqrt(0.5)
        return of_sigma * sigma

    def play(self, limits: Mapping[int, float]) -> dict[int, Chosen]:
        """Plays one round in these strata, each of which has a limit for its junction tree; returns
        what was chosen. The models are not fitted yet."""
        kind = type(self.sigma[1])
        by_price: dict[int, list[int]] = {}
        for s in limits:
            by_price.setdefault(self.runs[s].step, []).append(s)
        chosen: dict[int, Chosen] = {}
        questions: list[Marginal] = []
        for step, strata in by_price.items():
            choosing = max(1, step // self.selecting)
            paid = kind(step - choosing)
            choices = self._choose(strata, kind(choosing), paid, limits)
            questions += self._marginals(choices, paid)
            chosen |= choices
        for question, release in zip(questions, self.ask.measure(questions), strict=True):
            self._learn(question, release)
            for s in self._strata_of(question):
                chosen[s] = replace(chosen[s], noise=self._magnitude(release.sigma))
        for s in limits:
            self.runs[s].left -= self.runs[s].step
        return chosen

    def _choose(
        self, strata: list[int], price: Price, paid: Price, limits: Mapping[int, float]
    ) -> dict[int, Chosen]:
        cliques = list(self.candidates)
        allowed = np.array([self._allowed_candidates(s, limits[s], paid.nano) for s in strata])
        candidates = (
            [*range(len(cliques))] if not self.begun else np.flatnonzero(allowed.any(0)).tolist()
        )
        self.begun, each = True, self.noise(paid)
        guesses = [self._guess(cliques[i], strata, allowed[:, i], each) for i in candidates]
        picks = self.ask.select(guesses, price, allowed[:, candidates])
        return {
            s: Chosen(guesses[p].clique, guesses[p].estimate[row], each)
            for row, (s, p) in enumerate(zip(strata, picks, strict=True))
        }

    def _guess(
        self, clique: Clique, strata: list[int], allowed: NDArray[np.bool_], each: float
    ) -> Guess:
        """Returns what is believed of a candidate; zeros where it may not be chosen.

        The gate reads a candidate when it is first told of it, so in the first round it is told of
        all of them: one reading is much cheaper than many.
        """
        shape = tuple(self.runs[strata[0]].graph.sizes[c] for c in clique)
        nothing = np.zeros(shape)
        pairs = zip(strata, allowed.tolist(), strict=True)
        estimate = np.stack(
            [self.model_counts(s, clique) if open_ else nothing for s, open_ in pairs]
        )
        penalty = np.full(len(strata), math.prod(shape) * each if self.noise_penalty else 1.0)
        within = None if len(strata) == len(self.runs) else tuple(strata)
        return Guess(clique, estimate, self.candidates[clique], penalty, within, self.pooled)

    def model_counts(self, stratum: int, clique: Clique) -> Floats:
        """Returns the model's counts."""
        model = self.runs[stratum].model
        assert model is not None
        return model.counts(clique)

    def _allowed_candidates(self, stratum: int, limit: float, price: int) -> list[bool]:
        """Returns which candidates may be chosen: not those that are known at this price (the gate
        would repeat its answer), nor those that make the junction tree too large."""
        run = self.runs[stratum]
        fresh = [run.dearest.get(c, 0) < price for c in self.candidates]
        small = [size <= limit for size in run.tree_sizes(self.candidates)]
        both = [a and b for a, b in zip(fresh, small, strict=True)]
        return both if any(both) else small

    def _marginals(self, chosen: Mapping[int, Chosen], price: Price) -> list[Marginal]:
        by_clique: dict[Clique, list[int]] = {}
        for s, choice in chosen.items():
            by_clique.setdefault(choice.clique, []).append(s)
        everywhere = len(self.runs)
        return [
            Marginal(c, price, None if len(s) == everywhere else tuple(s), self.pooled)
            for c, s in sorted(by_clique.items())
        ]

    def _learn(self, question: Marginal, release: Release) -> None:
        for row, s in enumerate(self._strata_of(question)):
            self.runs[s].learn(question.clique, release, row)

    def _strata_of(self, question: Marginal) -> Sequence[int]:
        return range(len(self.runs)) if question.within is None else question.within


def most_cells(cells: int, strata: int) -> int:
    """Returns the cells that a marginal's table may have to be looked at in every round.

    Args:
        cells: The option of that name.
        strata: How many there are.

    >>> most_cells(100_000, 1), most_cells(100_000, 100)
    (20000, 1000)
    """
    return min(cells, max(1_000, MOST_TABLE // strata))


def small(
    candidates: Mapping[Clique, float], graph: Graph, cells: int, strata: int
) -> dict[Clique, float]:
    """Returns the candidates whose own tables are small enough to be looked at in every round: of
    at most `cells` cells, and over all strata of MOST_TABLE or of 1,000 in each. One-way tables
    stay, whatever their size."""
    most = most_cells(cells, strata)
    return {c: w for c, w in candidates.items() if len(c) == 1 or graph.cells(mask_of(c)) <= most}


def closure(columns: Sequence[int], degree: int) -> dict[Clique, float]:
    """Returns the downward closure of all marginals of `degree` columns, with their weights.

    AIM weighs a clique r by the sum over the workload of |r and s|, which for all marginals of k
    of d columns is |r| times a constant; here the largest weight is 1. Where that makes more than
    MOST_CANDIDATES, the degree is lower, but not below 2.
    """
    most = min(degree, len(columns))
    while most > 2 and sum(math.comb(len(columns), k + 1) for k in range(most)) > MOST_CANDIDATES:
        most -= 1
    return {
        clique: k / most
        for k in range(1, most + 1)
        for clique in itertools.combinations(columns, k)
    }
