"""`pmw`: private multiplicative weights over the whole joint domain, which has to be small.

Hardt and Rothblum 2010 keep a distribution over all cells and correct it by multiplicative weights
wherever it answers a query badly; in the form for a known workload (Hardt, Ligett and McSherry
2012, arXiv:1012.4763) each round the exponential mechanism finds the worst answer, which is then
measured. Here the workload are the marginals of up to `degree` columns, a round measures a whole
one, and the distribution starts at the product of the noised one-way marginals.

Like the paper's experiments this goes over past measurements again: after each round the weights
follow the gradient of the squared errors of *all* measurements, each by its inverse variance, in
the log domain (entropic mirror descent: a multiplicative-weights update for each step, its length
halved where it would make things worse).

Quality is the L1 distance between model and data, less what noise alone would make of it; a
marginal is measured once in a stratum. Price: see `choose_and_measure`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.synth.api.ask import Ask, Guess, Known, measured_where_chosen
from sqlpriv.synth.api.method import Method, Option, Options, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats, count_sigma, onto_simplex
from sqlpriv.synth.methods import choose_and_measure
from sqlpriv.synth.models.joint_table import JointModel

STEPS, LAST_STEPS = 30, 300
"""Of mirror descent, after each round and at the end."""

MOST_WEIGHT = 5.0
"""How many times the noise of a marginal may be less than another's in the fit: of those that an
earlier, dearer statement has bought the squared errors would be all that descent sees. 2-way errors
after such a statement, over those without (tests/synth/test_after_a_dearer_statement.py's rows, 15
runs in four strata): .75 at 3, .80 at 5, 1.09 at 10, 1.64 without a limit."""

Clique = tuple[int, ...]


def workload(sizes: tuple[int, ...], degree: int) -> list[Clique]:
    """Returns the marginals that compete: of two to `degree` columns."""
    columns = modelled_columns(sizes)
    widths = range(2, min(degree, len(columns)) + 1)
    return [c for width in widths for c in itertools.combinations(columns, width)]


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns the one-way marginals and the rounds; prices add up to `price` exactly."""
    sizes = space.sizes
    count = min(options["rounds"], len(workload(sizes, options["degree"])))
    return choose_and_measure.phases(sizes, price, count, "worst marginals", "their counts")


def fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[JointModel, ...]:
    """Returns one joint table per stratum. Spends exactly `price`; see the module."""
    sizes, strata = space.sizes, space.strata
    columns, plan = modelled_columns(sizes), phases(space, price, options)
    ones = choose_and_measure.measured_ones(ask, plan)
    totals = choose_and_measure.totals_of(ones, strata)
    if not columns:
        none = np.zeros(1, dtype=np.int64)
        return tuple(JointModel((), none, np.ones(1), n) for n in totals)
    weights = []
    for s, total in enumerate(totals):
        start = [Known((c,), r.values[s], r.sigma) for c, r in zip(columns, ones, strict=True)]
        weights.append(Weights(columns, sizes, max(total, 1.0), start))
    cliques = workload(sizes, options["degree"])
    allowed = np.ones((strata, len(cliques)), dtype=np.bool_)
    for choosing, measuring in choose_and_measure.play_rounds(
        ask, plan, "correcting the worst marginals"
    ):
        sigma = count_sigma(measuring)
        picks = ask.select([_guess(c, weights, sizes, sigma) for c in cliques], choosing, allowed)
        allowed[np.arange(strata), picks] = False
        answers = measured_where_chosen(ask, [cliques[i] for i in picks], measuring)
        for one, known_now in zip(weights, answers, strict=True):
            one.known.append(known_now)
            one.descend(STEPS)
    for one in weights:
        one.descend(LAST_STEPS)
    cells = np.arange(weights[0].table.size)
    return tuple(
        JointModel(columns, cells, w.table.ravel(), n) for w, n in zip(weights, totals, strict=True)
    )


class Weights:
    """One stratum's table over all cells, and what is known of it."""

    def __init__(
        self, columns: Sequence[int], sizes: tuple[int, ...], total: float, known: Sequence[Known]
    ) -> None:
        self.columns, self.total, self.known = tuple(columns), total, list(known)
        shape = tuple(sizes[c] for c in columns)
        self.logs: Floats = np.zeros(shape)
        for one in known:
            # an empty level keeps some weight: multiplicative weights cannot bring a 0 back
            share = onto_simplex(one.values, total) / total + 1e-6
            self.logs += self._broadcast(one.clique, np.log(share))
        self.length = 1.0
        self.table = self._normal(self.logs)

    def marginal(self, clique: Clique, table: Floats | None = None) -> Floats:
        """Returns the table's counts over these columns (ascending)."""
        axes = tuple(i for i, c in enumerate(self.columns) if c not in clique)
        counts: Floats = (self.table if table is None else table).sum(axis=axes)
        return counts

    def descend(self, steps: int) -> None:
        """Follows the errors of all that is known, step by step."""
        loss, slope = self._errors(self.table)
        for _ in range(steps):
            there = self.logs - self.length * slope
            table = self._normal(there)
            next_loss, next_slope = self._errors(table)
            if next_loss > loss:
                self.length /= 2
                continue
            self.logs, self.table, slope = there, table, next_slope
            if loss - next_loss <= 1e-7 * loss:
                break
            loss = next_loss
            self.length *= 1.3

    def _errors(self, table: Floats) -> tuple[float, Floats]:
        """Returns half the weighted squared errors, in units of the total, and their gradient."""
        loss, slope = 0.0, np.zeros_like(table)
        least = max(
            max(k.sigma for k in self.known) / MOST_WEIGHT, min(k.sigma for k in self.known)
        )
        for k in self.known:
            weight = ((least + LEAST_SIGMA) / (max(k.sigma, least) + LEAST_SIGMA)) ** 2
            apart = (self.marginal(k.clique, table) - k.values) / self.total
            loss += weight * float((apart**2).sum()) / 2
            slope += self._broadcast(k.clique, weight * apart)
        return loss, slope

    def _broadcast(self, clique: Clique, values: Floats) -> Floats:
        shape = [n if c in clique else 1 for c, n in zip(self.columns, self._shape, strict=True)]
        return np.reshape(values, shape)

    @property
    def _shape(self) -> tuple[int, ...]:
        return self.logs.shape

    def _normal(self, logs: Floats) -> Floats:
        raised = np.exp(logs - logs.max())
        table: Floats = raised * (self.total / raised.sum())
        return table


def _guess(
    clique: Clique, weights: Sequence[Weights], sizes: tuple[int, ...], sigma: float
) -> Guess:
    noise = math.sqrt(2 / math.pi) * sigma * math.prod(sizes[c] for c in clique)
    estimate: NDArray[np.float64] = np.stack([w.marginal(clique) for w in weights])
    return Guess(clique, estimate, 1.0, np.full(len(weights), noise))


METHOD = Method(
    name="pmw",
    title="private multiplicative weights: a table of all cells, corrected where it is worst",
    paper="Hardt and Rothblum 2010; Hardt, Ligett and McSherry 2012 (arXiv:1012.4763)",
    options=(
        Option("rounds", 30, "marginals measured in each stratum at most", least=1, most=500),
        Option("degree", 3, "columns of a measured marginal at most", least=2, most=4),
    ),
    max_strata=200,
    max_cells=500_000,
    arity=None,
    fit=fit,
    phases=phases,
)
