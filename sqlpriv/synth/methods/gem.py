"""`gem`: a generative network per stratum, trained on the pairs that it shows worst.

Liu, Vietri and Wu 2021 (GEM, arXiv:2106.07153): each round the exponential mechanism selects the
top query, that is the marginal which the generator answers worst; it is measured; the generator is
trained on all measurements so far. What is published is the average of the generator's weights over
the last half of the rounds. Each component of the generator is a product of softmaxes, one for each
column (`generator`). Here the queries are pairs of columns, whole tables; a pair is measured once
in a stratum.

The price of a round follows from the whole price and the number of rounds. (The paper's authors
hand the whole epsilon to *each* of a hundred rounds: their published figures, at nominal epsilons
of 0.1, 1 and 5, belong to 4.7, 74 and 935.)

Price: see `choose_and_measure`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.synth.adaptive import whole_or_strata
from sqlpriv.synth.adaptive.borrowing import borrowed_answers, following
from sqlpriv.synth.api.ask import Ask, Guess, Known, measured_where_chosen
from sqlpriv.synth.api.method import Method, Model, Option, Options, PairPlan, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats, count_sigma, onto_simplex
from sqlpriv.synth.methods import choose_and_measure
from sqlpriv.synth.methods.choose_and_measure import WEIGHTS
from sqlpriv.synth.models.product_mixture import MixtureModel
from sqlpriv.synth.models.tree_model import Noisy

if TYPE_CHECKING:
    from sqlpriv.synth.methods.gem_network import Targets

MOST_TRUSTED = 30.0
"""Weight of a one-way marginal's errors against a pair's, at most: above, it drowns the pairs."""

Pair = tuple[int, int]


def pairs_of(sizes: tuple[int, ...]) -> list[Pair]:
    """Returns the pairs that may be selected."""
    return list(itertools.combinations(modelled_columns(sizes), 2))


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on; see `whole_or_strata`."""
    return whole_or_strata.phases(_phases, space, price, options, "worst pairs")


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one mixture per stratum. Spends exactly `price`; see the module."""
    return whole_or_strata.fit(_fit, ask, space, price, options, pair_plan)


def pair_plan(space: Space, options: Options) -> PairPlan:
    """Returns how many pairs are measured, and what they have of the price."""
    pairs = min(options["rounds"], len(pairs_of(space.sizes)))
    return PairPlan(1 - WEIGHTS[2], pairs)


def _phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns the one-way marginals and the rounds; prices add up to `price` exactly."""
    sizes = space.sizes
    count = min(options["rounds"], len(pairs_of(sizes)))
    return choose_and_measure.phases(sizes, price, count, "worst pairs", "their counts")


def _fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[MixtureModel, ...]:
    """Returns one mixture per stratum, each by itself but for what it borrows."""
    sizes, strata = space.sizes, space.strata
    from sqlpriv.synth.methods.gem_network import Generator  # imports JAX

    columns, plan = modelled_columns(sizes), _phases(space, price, options)
    ones = choose_and_measure.measured_ones(ask, plan)
    rows, tables = choose_and_measure.borrowed_ones(columns, ones, strata)
    totals = rows.tolist()
    if not columns:
        return tuple(MixtureModel({}, n) for n in totals)
    layout = OneHotLayout(columns, sizes, [max(n, 1.0) for n in totals])
    count = plan[1].rounds if len(plan) > 1 else 0
    sigma = count_sigma(type(price)(max(plan[2].price.nano // count, 1))) if count else 1.0
    tables_of = [{c: t[(c,)] for c in columns} for t in tables]
    targets = layout.one_way_targets(
        tables_of, {c: r.sigma for c, r in zip(columns, ones, strict=True)}, sigma
    )
    generator = Generator(layout.sizes, strata, options["components"], seed=0)
    generator.descend(targets, options["steps"])
    pairs = pairs_of(sizes)
    allowed = np.ones((strata, len(pairs)), dtype=np.bool_)
    prices = choose_and_measure.play_rounds(ask, plan, "training on the worst pairs")
    for done, (choosing, measuring) in enumerate(prices):
        guesses = layout.guesses(pairs, generator.shares(), sigma)
        picks = following(ask, rows).select(guesses, choosing, allowed)
        allowed[np.arange(strata), picks] = False
        answers = measured_where_chosen(ask, [pairs[i] for i in picks], measuring)
        layout.write_pairs(targets, borrowed_answers(answers, rows, tables_of), sigma)
        generator.descend(targets, options["steps"])
        if done >= count // 2:
            generator.remember()
    shares = generator.shares(average=True)
    return tuple(
        MixtureModel(layout.shares_of_columns(shares[s]), totals[s]) for s in range(strata)
    )


class OneHotLayout:
    """Where each column's levels lie among all levels, and arrays in that layout.

    Args:
        columns: The modelled columns.
        sizes: Levels of every column.
        totals: The noised size of each stratum, at least 1.
    """

    def __init__(
        self, columns: Sequence[int], sizes: tuple[int, ...], totals: Sequence[float]
    ) -> None:
        self.columns = tuple(columns)
        self.sizes = tuple(sizes[c] for c in columns)
        ends = np.cumsum(self.sizes).tolist()
        self.at = {c: slice(e - n, e) for c, n, e in zip(columns, self.sizes, ends, strict=True)}
        self.totals, self.levels = list(totals), int(sum(self.sizes))

    def one_way_targets(
        self, tables: Sequence[Mapping[int, Noisy]], sigmas: Mapping[int, float], sigma: float
    ) -> Targets:
        """Returns targets of the one-way marginals.

        Args:
            tables: By stratum and column.
            sigmas: By column, the noise that it was measured with.
            sigma: A pair's noise to come.
        """
        from sqlpriv.synth.methods.gem_network import Targets

        strata = len(self.totals)
        one = np.zeros((strata, self.levels), dtype=np.float32)
        weight = np.zeros_like(one)
        for column in self.columns:
            trust = min((sigma / max(sigmas[column], LEAST_SIGMA)) ** 2, MOST_TRUSTED)
            for s, total in enumerate(self.totals):
                one[s, self.at[column]] = onto_simplex(tables[s][column].values, total) / total
            weight[:, self.at[column]] = trust
        pair = np.zeros((strata, self.levels, self.levels), dtype=np.float32)
        return Targets(one, weight, pair, np.zeros_like(pair))

    def write_pairs(self, targets: Targets, known: Sequence[Known], sigma: float) -> None:
        """Writes each stratum's measured pair into the targets; `sigma` is what a pair's noise was
        expected to be. The release's own may be less, of a dearer statement before this one."""
        for s, one in enumerate(known):
            u, v = (self.at[c] for c in one.clique)
            targets.pair[s, u, v] = one.values / self.totals[s]
            trust = (sigma / max(one.sigma, LEAST_SIGMA)) ** 2
            targets.pair_weight[s, u, v] = min(trust, MOST_TRUSTED)

    def guesses(self, pairs: Sequence[Pair], shares: Floats, sigma: float) -> list[Guess]:
        """Returns what the generator says of each pair, in counts, and the noise to take off."""
        scale = np.array(self.totals)[:, None, None] / shares.shape[1]
        tables: NDArray[np.float64] = np.swapaxes(shares, 1, 2) @ shares * scale
        guesses = []
        for u, v in pairs:
            table = tables[:, self.at[u], self.at[v]]
            noise = math.sqrt(2 / math.pi) * sigma * table[0].size
            guesses.append(Guess((u, v), table, 1.0, np.full(len(tables), noise)))
        return guesses

    def shares_of_columns(self, shares: Floats) -> Mapping[int, Floats]:
        """Returns one stratum's shares by column."""
        return {c: shares[:, place] for c, place in self.at.items()}


METHOD = Method(
    name="gem",
    title="a generative network in each stratum, trained on the pairs it shows worst",
    paper="Liu, Vietri and Wu 2021 (arXiv:2106.07153)",
    options=(
        Option("rounds", 30, "pairs measured in each stratum at most", least=1, most=1_000),
        Option("steps", 60, "training steps after each measurement", least=1, most=10_000),
        Option("components", 400, "products that are mixed", least=1, most=5_000),
    ),
    max_strata=100,
    max_cells=1_000_000,
    arity=2,
    fit=fit,
    one_model=whole_or_strata.whole_if_better(pair_plan),
    phases=phases,
    merges_lists=True,
)
