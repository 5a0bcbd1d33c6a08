"""`privsyn`: the pairs that are furthest from independent, each at the price its size deserves.

Zhang et al. 2021, "PrivSyn: Differentially Private Data Synthesis" (USENIX Security,
arXiv:2012.15128). Pairs are chosen by InDif, the L1 distance of a pair's table from the product of
its one-way marginals, and measured at prices in proportion to c^(2/3), c being a table's cells,
which makes the sum of expected errors least. Rows are then updated until they agree with all tables
(`table_rows`). The paper noises every pair's InDif; here pairs are peeled off by `choose`, one
after the other, less what noise will add to their cells, so that nothing is spent on pairs that are
not taken. The paper's code spends epsilon once more where it is called for several attributes; here
the gate counts.

Price: a tenth for one-way marginals, a tenth for choosing, the rest for pairs, as in the paper.
Every stratum chooses as often and has measurements of the same sum, so that a stratum's parts add
up to the price, and strata are disjoint. With strata see `whole_or_strata` and `borrowing`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive import whole_or_strata
from sqlpriv.synth.adaptive.borrowing import borrow_by_stratum
from sqlpriv.synth.api.ask import Ask, Guess, Marginal
from sqlpriv.synth.api.method import Method, Model, Option, Options, PairPlan, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns, one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference.one_way_tables import Floats, onto_simplex, scale_sigma
from sqlpriv.synth.methods import independent
from sqlpriv.synth.methods.batches.table_rows import rows_of_tables
from sqlpriv.synth.methods.choose_and_measure import measured_ones, totals_of

WEIGHTS = (0.1, 0.1, 0.8)
"""Of the price: one-way marginals, choosing, pairs."""
MOST_COLUMNS = 80
"""CPU seconds of a statement over columns of four levels: 26 for 60 columns; three choices for each
column among all pairs make them grow with the cube of columns. 100 did not end within 100."""


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on; see `whole_or_strata`."""
    return whole_or_strata.phases(_phases, space, price, options, "dependent pairs")


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one set of rows per stratum. Spends exactly `price`; see the module."""
    return whole_or_strata.fit(_fit, ask, space, price, options, pair_plan)


def pair_plan(space: Space, options: Options) -> PairPlan:
    """Returns how many pairs are measured, and what they have of the price."""
    return PairPlan(1 - WEIGHTS[2], _pair_count(space, options))


def _pair_count(space: Space, options: Options) -> int:
    """Returns how many pairs are taken: by default three for each column but one."""
    columns = len(modelled_columns(space.sizes))
    return min(math.comb(columns, 2), options["pairs"] or 3 * (columns - 1))


def _phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    if len(modelled_columns(space.sizes)) < 2:
        return independent.phases(space, price, options)
    first, second, third = split_price(price, WEIGHTS)
    count = _pair_count(space, options)
    for part in (second, third):
        split_price(part, [1.0] * count)  # refuses fewer nanos than pairs
    return (
        Phase("one-way marginals", "noise", first, 1, one_ways(space.sizes, first)),
        Phase("pairs far from independent", "exponential mechanism", second, count),
        Phase("their counts", "noise", third),
    )


def _fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    columns, plan = modelled_columns(space.sizes), _phases(space, price, options)
    if len(columns) < 2:
        return independent.fit(ask, space, price, options)
    ones, strata = measured_ones(ask, plan), range(space.strata)
    totals = totals_of(ones, space.strata)
    sizes = [max(n, 1.0) for n in totals]
    shares = {
        c: np.stack([onto_simplex(r.values[s], n) / n for s, n in enumerate(sizes)])
        for c, r in zip(columns, ones, strict=True)
    }
    taken = _choose_pairs(ask, shares, totals, plan, (ones[0].sigma, ones[0].price))
    questions: dict[tuple[tuple[int, ...], int], list[int]] = {}
    for s, pairs in enumerate(taken):
        cells = [math.prod(space.sizes[c] for c in pair) for pair in pairs]
        prices = split_price(plan[2].price, [n ** (2 / 3) for n in cells])
        for pair, each in zip(pairs, prices, strict=True):
            questions.setdefault((pair, each.nano), []).append(s)
    marginals = [
        Marginal(pair, type(price)(nano), None if len(who) == space.strata else tuple(who))
        for (pair, nano), who in questions.items()
    ]
    ask.report(Progress("measuring pairs", 0, 1))
    tables: list[dict[tuple[int, ...], tuple[Floats, float]]] = [
        {(c,): (r.values[s], r.sigma) for c, r in zip(columns, ones, strict=True)} for s in strata
    ]
    for marginal, release in zip(marginals, ask.measure(marginals), strict=True):
        for row, s in enumerate(strata if marginal.within is None else marginal.within):
            tables[s][marginal.clique] = release.values[row], release.sigma
    models = []
    for s, moved in enumerate(borrow_by_stratum(tables)):
        ask.report(Progress("making rows", s, space.strata))
        models.append(rows_of_tables(moved, space.sizes, totals[s]))
    ask.report(Progress("making rows", space.strata, space.strata))
    return tuple(models)


def _choose_pairs(
    ask: Ask,
    shares: dict[int, Floats],
    totals: Sequence[float],
    plan: Sequence[Phase],
    noise: tuple[float, Price],
) -> list[list[tuple[int, int]]]:
    """Returns the pairs of each stratum, in the order in which they were chosen."""
    pairs = list(itertools.combinations(sorted(shares), 2))
    count = plan[1].rounds
    each = scale_sigma(noise, type(plan[2].price)(max(plan[2].price.nano // count, 1)))
    each *= math.sqrt(2 / math.pi) if isinstance(noise[1], Rho) else math.sqrt(0.5)
    size = np.maximum(np.array(totals), 1.0)[:, None, None]
    guesses = []
    for u, v in pairs:
        believed = size * shares[u][:, :, None] * shares[v][:, None, :]
        penalty = np.full(len(totals), each * believed[0].size)
        guesses.append(Guess((u, v), believed, 1.0, penalty))
    allowed = np.ones((len(totals), len(pairs)), dtype=np.bool_)
    taken: list[list[tuple[int, int]]] = [[] for _ in totals]
    for done, price in enumerate(split_price(plan[1].price, [1.0] * count)):
        ask.report(Progress("choosing pairs", done, count))
        picks = ask.select(guesses, price, allowed)
        for s, pick in enumerate(picks):
            allowed[s, pick] = False
            taken[s].append(pairs[pick])
    return taken


METHOD = Method(
    name="privsyn",
    title="the pairs furthest from independent, at prices by their size, and rows that agree",
    paper="Zhang et al. 2021 (arXiv:2012.15128)",
    options=(Option("pairs", 0, "pairs measured; 0 for three a column", most=1_000),),
    max_strata=100,
    max_cells=4_000_000,
    arity=2,
    fit=fit,
    one_model=whole_or_strata.whole_if_better(pair_plan),
    phases=phases,
    merges_lists=True,
    max_columns=MOST_COLUMNS,
)
