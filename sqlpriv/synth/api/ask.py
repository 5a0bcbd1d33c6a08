"""What a synthesizer may ask, and how it is put to the gate.

A synthesizer knows columns by number. `measure` and `select` are all that it is given: they answer
for all strata at once, and the allowance behind them refuses what is not paid for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.proof.sensitivity import Candidate
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.synth.api.cell_queries import (
    Cells,
    ListedCells,
    Moment,
    cells_query,
    listed_query,
    moment_query,
)
from sqlpriv.synth.api.grid_queries import AxesTable, Axis, grid_query
from sqlpriv.synth.api.progress import Report, silent
from sqlpriv.synth.domain.domain import Domain


@dataclass(frozen=True)
class Marginal:
    """A marginal to be measured in every stratum, or in those of `within` (ascending).

    `pooled` measures it over the whole population instead, as one stratum; columns of STRATIFY BY
    are then numbered after the others.
    """

    clique: tuple[int, ...]
    price: Price
    within: tuple[int, ...] | None = None
    pooled: bool = False


@dataclass(frozen=True, eq=False)
class Guess:
    """A marginal and what a model believes of it; see `kernel.sensitivity.Candidate`.

    Args:
        clique: The columns.
        estimate: Believed counts, shape (strata, levels of each column).
        weight: How much a row's error counts, at least 0.
        penalty: By stratum, what is taken off the error before it is weighed; None for nothing.
        axes: Of a table over groups of levels or slices, which stand in for the columns.
    """

    clique: tuple[int, ...]
    estimate: NDArray[np.float64]
    weight: float = 1.0
    penalty: NDArray[np.float64] | None = None
    within: tuple[int, ...] | None = None
    pooled: bool = False
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True, eq=False)
class Known:
    """A noised marginal of one stratum: shape (levels of each column), and its noise's sigma."""

    clique: tuple[int, ...]
    values: NDArray[np.float64]
    sigma: float


class Gate(Protocol):
    """The part of the kernel's allowance that is used here."""

    def release(self, measurements: Sequence[Measurement]) -> tuple[Release, ...]:
        """Charges, reads, noises, seals."""

    def choose(
        self, candidates: Sequence[Candidate], price: Price, allowed: NDArray[np.bool_]
    ) -> tuple[int, ...]:
        """Returns for each stratum the candidate selected by the exponential mechanism."""

    def measure_distance(
        self, candidates: Sequence[Candidate], price: Price
    ) -> tuple[NDArray[np.float64], float]:
        """Returns in each stratum the noised sum of the candidates' scores, and its sigma."""

    def select_keys(
        self, source: a.Relation, exprs: tuple[a.Expr, ...], price: Rho, yocto: int
    ) -> tuple[tuple[Value, ...], ...]:
        """Returns the combinations of values that pass a threshold, ascending."""


Question = Marginal | Cells | ListedCells | Moment | AxesTable
Measure = Callable[[Sequence[Question]], tuple[Release, ...]]
Select = Callable[[Sequence[Guess], Price, NDArray[np.bool_]], tuple[int, ...]]


@dataclass(frozen=True)
class Ask:
    """All that a synthesizer is given of the world.

    Args:
        measure: Returns one release per question; see `Asker.measure`.
        select: Returns a guess for each stratum; see `Asker.select`.
        report: Told of the progress.
    """

    measure: Measure
    select: Select
    report: Report = silent


def measured_where_chosen(
    ask: Ask, picks: Sequence[tuple[int, ...]], price: Price
) -> tuple[Known, ...]:
    """Measures in each stratum the marginal that it chose, and returns one for each stratum.

    Price: `price` for all of it. Every stratum is covered by exactly one measurement of that price
    (`kernel.sensitivity.joint_price`).
    """
    marginals = []
    for clique in sorted(set(picks)):
        who = tuple(s for s, pick in enumerate(picks) if pick == clique)
        marginals.append(Marginal(clique, price, None if len(who) == len(picks) else who))
    answers: dict[int, Known] = {}
    for marginal, release in zip(marginals, ask.measure(marginals), strict=True):
        who = tuple(range(len(picks))) if marginal.within is None else marginal.within
        for row, s in enumerate(who):
            answers[s] = Known(marginal.clique, release.values[row], release.sigma)
    return tuple(answers[s] for s in range(len(picks)))


@dataclass(eq=False)
class Asker:
    """Puts a synthesizer's questions about one domain to the gate, and keeps the releases.

    Args:
        gate: The allowance.
        domain: Cells, strata and the relation that is counted.
        releases: What was told before, to which the answers are added.
        has_pooled: Whether a question was of everybody, of strata together.
    """

    gate: Gate
    domain: Domain
    releases: list[Release] = field(default_factory=list)
    has_pooled: bool = False

    def measure(self, questions: Sequence[Question]) -> tuple[Release, ...]:
        """Returns one release per question; values of shape (measured strata, levels …)."""
        measurements = [Measurement(self._query(q), q.price) for q in questions]
        answers = self.gate.release(measurements)
        self.releases.extend(answers)
        self.has_pooled |= any(isinstance(q, Marginal) and q.pooled for q in questions)
        return answers

    def _query(self, question: Question) -> a.Query:
        match question:
            case Marginal():
                return self.domain.query(question.clique, question.within, question.pooled)
            case Cells():
                return cells_query(self.domain, question)
            case ListedCells():
                return listed_query(self.domain, question)
            case Moment():
                return moment_query(self.domain, question)
            case AxesTable():
                return grid_query(self.domain, question.axes, question.within)

    def _candidate_query(self, guess: Guess) -> a.Count:
        if guess.axes:
            return grid_query(self.domain, guess.axes, guess.within)
        return self.domain.query(guess.clique, guess.within, guess.pooled)

    def select(
        self, guesses: Sequence[Guess], price: Price, allowed: NDArray[np.bool_]
    ) -> tuple[int, ...]:
        """Returns for each stratum the number of the guess that is (noisily) furthest off.

        Quality is weight * (L1 distance between guess and data - penalty): one row of a unit moves
        it by at most the largest weight. `allowed` of shape (strata, guesses) masks guesses out of
        the competition.
        """
        queries = map(self._candidate_query, guesses)
        candidates = [
            Candidate(query, g.estimate, g.weight, g.penalty)
            for query, g in zip(queries, guesses, strict=True)
        ]
        return self.gate.choose(candidates, price, allowed)
