"""`privmrf`: a graph of columns, triangulated under a limit of size, and its cliques' marginals.

Cai, Lei, Wei and Xiao 2021, "Data Synthesis via Differentially Private Markov Random Fields"
(PVLDB 14(11)). Pairs far from independent become edges for as long as the triangulated graph's
cliques stay useful: a cell of theirs is expected to hold THETA times the noise. Marginals inside
the cliques are then measured, the worst known first, until one is no further from the model than
STOP times its noise would put it; what is left is spent on the cliques themselves.

The paper noises the R-score of every pair, the L1 distance from independence. Here the pairs are
peeled off by `choose`, one after the other, so that nothing is spent on pairs that are not taken;
the margins are released ones, so one row moves a score by one, whatever the number of rows is. The
graph is everybody's, with and without strata: of small strata a choice would be noise.

Price: one-way marginals (one batch), the graph's choices (of the population), then in every
stratum rounds and a last batch that add up to the rest. Strata are disjoint, so they cost it
together; the population's choices are added to it. An edge that need not be chosen, because none
is allowed any more, leaves its price to the last batch. With strata see `whole_or_strata` and
`borrowing`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive import whole_or_strata
from sqlpriv.synth.adaptive.borrowing import borrow_from_runs
from sqlpriv.synth.adaptive.rounds import BETWEEN, LAST, TREES, Rounds
from sqlpriv.synth.adaptive.stratum_model import StratumCliques, knowing_zeros
from sqlpriv.synth.adaptive.stratum_run import Run, fit_run
from sqlpriv.synth.api.ask import Ask, Guess, Marginal
from sqlpriv.synth.api.method import Method, Model, Option, Options, PairPlan, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns, one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.graph.junction_tree import Clique, Graph, columns_of, mask_of
from sqlpriv.synth.inference.one_way_tables import Floats, onto_simplex, scale_sigma
from sqlpriv.synth.methods import independent

WEIGHTS = (0.1, 0.1, 0.8)
"""Of the price: one-way marginals, the graph, marginals of its cliques."""
EDGES = 2
"""Edges for each column but one, at most."""
THETA = 4.0
"""How many times the noise a cell of a clique is to hold (the paper's useful marginals)."""
STOP = 1.2
"""Rounds end at a marginal that is not this many times as far from the model as noise is."""
ROUNDS = 0.5
"""Of what marginals may cost, for the rounds: as many as there are columns, at most."""


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on; see `whole_or_strata`."""
    return whole_or_strata.phases(_phases, space, price, options, "marginals of a graph's cliques")


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one junction-tree model per stratum. Spends exactly `price`; see the module."""
    return whole_or_strata.fit(_fit, ask, space, price, options, pair_plan)


def pair_plan(*_: object) -> PairPlan:
    """Returns what measuring has of the price, as of a tree's pairs."""
    return PairPlan(1 - WEIGHTS[2])


def _edge_count(columns: int) -> int:
    return min(math.comb(columns, 2), EDGES * (columns - 1))


def _phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns one-way marginals, the graph, and what follows from it; parts add up exactly."""
    columns = modelled_columns(space.sizes)
    if len(columns) < 2:
        return independent.phases(space, price, options)
    first, second, third = split_price(price, WEIGHTS)
    edges = _edge_count(len(columns))
    split_price(second, [1.0] * edges)  # refuses fewer nanos than edges
    split_price(third, [1.0] * 4 * len(columns))  # and than rounds, each of a choice and a table
    return (
        Phase("one-way marginals", "noise", first, 1, one_ways(space.sizes, first)),
        Phase("edges of a graph", "exponential mechanism", second, edges),
        Phase("marginals of its cliques", "exponential mechanism and noise", third, len(columns)),
    )


def _fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    columns = modelled_columns(space.sizes)
    if len(columns) < 2:
        return independent.fit(ask, space, price, options)
    plan, graph = _phases(space, price, options), Graph(space.sizes)
    ask.report(Progress("measuring one-way marginals", 0, 1))
    releases = ask.measure(plan[0].marginals)
    runs = [Run(graph, plan[2].price.nano, 0) for _ in range(space.strata)]
    for question, release in zip(plan[0].marginals, releases, strict=True):
        for s, run in enumerate(runs):
            run.learn(question.clique, release, s)
    borrow_from_runs(runs)
    for s, run in enumerate(runs):
        run.model = knowing_zeros(space, graph, space.levels(s))
        run.model = fit_run(run, options["engine"], BETWEEN)
    everybody = {
        q.clique[0]: r.values.sum(axis=0) for q, r in zip(plan[0].marginals, releases, strict=True)
    }
    noise = releases[0].sigma, releases[0].price  # of an earlier statement, where it was dearer
    sigma = scale_sigma(noise, type(price)(max(plan[2].price.nano // len(columns), 1)))
    rows = max(sum(run.size for run in runs), 1.0) / space.strata
    most = min(options["cells"], rows / (THETA * sigma))
    cliques, unspent = _choose_graph(ask, everybody, graph, most, plan[1], sigma)
    for run in runs:
        run.left += unspent
    _play_rounds(ask, runs, cliques, noise, options)
    _measure_cliques(ask, runs, cliques, type(price), options)
    return tuple(StratumCliques(run.model, run.size) for run in runs if run.model is not None)


def _choose_graph(
    ask: Ask,
    ones: dict[int, Floats],
    graph: Graph,
    most: float,
    plan: Phase,
    sigma: float,
) -> tuple[list[Clique], int]:
    """Returns the maximal cliques of the triangulated graph, and what was not spent, in nano.

    Args:
        ask: The gate.
        ones: By column, the population's noised one-way table.
        graph: Sizes of the columns.
        most: Cells of a clique; an edge between two parts of the graph is allowed at any size.
        plan: The edges' phase.
        sigma: What the noise of a clique's cells will be.
    """
    total = max(float(np.mean([table.sum() for table in ones.values()])), 1.0)
    shares = {c: onto_simplex(table, total) / total for c, table in ones.items()}
    pairs = list(itertools.combinations(sorted(shares), 2))
    guesses = [
        Guess(
            pair,
            total * np.multiply.outer(shares[pair[0]], shares[pair[1]])[None],
            1.0,
            np.array([math.sqrt(2 / math.pi) * sigma * graph.cells(mask_of(pair))]),
            pooled=True,
        )
        for pair in pairs
    ]
    cliques = [mask_of((c,)) for c in shares]
    prices, taken = split_price(plan.price, [1.0] * plan.rounds), np.zeros(len(pairs), np.bool_)
    for done, price in enumerate(prices):
        ask.report(Progress("choosing edges", done, len(prices)))
        part = _parts(cliques)
        fits = [part[u] != part[v] or _fits(graph, cliques, (u, v), most) for u, v in pairs]
        allowed = np.array([fits]) & ~taken
        if not allowed.any():
            unspent = sum(p.nano for p in prices[done:])
            break
        (pick,) = ask.select(guesses, price, allowed)
        taken[pick] = True
        cliques = graph.chordal([*cliques, mask_of(pairs[pick])])
    else:
        unspent = 0
    ask.report(Progress("choosing edges", len(prices), len(prices)))
    return [columns_of(mask) for mask in graph.chordal(cliques)], unspent


def _parts(cliques: Sequence[int]) -> dict[int, int]:
    """Returns for each column the connected part of the graph that it is in, as a mask."""
    parts: list[int] = []
    for clique in cliques:
        joined = [p for p in parts if p & clique]
        whole = clique
        for part in joined:
            whole |= part
        parts = [p for p in parts if not p & clique] + [whole]
    return {column: part for part in parts for column in columns_of(part)}


def _fits(graph: Graph, cliques: Sequence[int], edge: Clique, most: float) -> bool:
    """Returns whether the cliques that hold both ends, once joined, are no larger than that."""
    both = mask_of(edge)
    grown = graph.chordal([*cliques, both])
    return all(graph.cells(clique) <= most for clique in grown if clique not in cliques)


def _play_rounds(
    ask: Ask,
    runs: Sequence[Run],
    cliques: Sequence[Clique],
    noise: tuple[float, Price],
    options: Options,
) -> None:
    """Measures marginals inside the cliques, the worst known first, until noise hides the next."""
    inside = {
        part
        for clique in cliques
        for width in range(2, min(options["degree"], len(clique)) + 1)
        for part in itertools.combinations(sorted(clique), width)
    }
    if not inside:
        return
    candidates = dict.fromkeys(sorted(inside), 1.0)
    rounds = Rounds(ask, runs, candidates, noise, noise_penalty=True)
    count = len(runs[0].graph.sizes)
    for run in runs:
        run.step = max(2, int(run.left * ROUNDS) // count)
    active = {s: float(options["cells"]) for s in range(len(runs))}
    for done in range(count):
        ask.report(Progress("choosing and measuring marginals", done, count))
        if not active:
            break
        choices = rounds.play(active)
        borrow_from_runs(runs)
        for s, choice in choices.items():
            run = runs[s]
            table = run.tables.get(choice.clique)  # none where the gate repeats what it has told
            apart = 0.0 if table is None else float(np.abs(table.values - choice.believed).sum())
            if apart <= STOP * choice.noise * choice.believed.size:
                del active[s]
            run.model = fit_run(run, options["engine"], BETWEEN)
    ask.report(Progress("choosing and measuring marginals", count, count))


def _measure_cliques(
    ask: Ask, runs: Sequence[Run], cliques: Sequence[Clique], kind: type[Price], options: Options
) -> None:
    """Spends what strata have left on the cliques, by size^(2/3), which makes the sum of expected
    errors least; and fits the models."""
    weights = [runs[0].graph.cells(mask_of(clique)) ** (2 / 3) for clique in cliques]
    questions: dict[tuple[Clique, int], list[int]] = {}
    for s, run in enumerate(runs):
        for clique, price in zip(cliques, split_price(kind(run.left), weights), strict=True):
            questions.setdefault((tuple(sorted(clique)), price.nano), []).append(s)
        run.left = 0
    marginals = [
        Marginal(clique, kind(nano), None if len(who) == len(runs) else tuple(who))
        for (clique, nano), who in questions.items()
    ]
    ask.report(Progress("measuring cliques", 0, 1))
    for marginal, release in zip(marginals, ask.measure(marginals), strict=True):
        for row, s in enumerate(range(len(runs)) if marginal.within is None else marginal.within):
            runs[s].learn(marginal.clique, release, row)
    borrow_from_runs(runs)
    for s, run in enumerate(runs):
        ask.report(Progress("fitting strata", s, len(runs)))
        run.model = fit_run(run, options["engine"], LAST)
    ask.report(Progress("fitting strata", len(runs), len(runs)))


METHOD = Method(
    name="privmrf",
    title="marginals of the cliques of a triangulated graph of dependent columns",
    paper="Cai, Lei, Wei and Xiao 2021 (PVLDB 14(11))",
    options=(
        Option("degree", 3, "columns of the marginals that rounds measure", least=2, most=4),
        *TREES,
    ),
    max_strata=200,
    max_cells=4_000_000,
    arity=2,
    fit=fit,
    one_model=whole_or_strata.whole_if_better(pair_plan),
    phases=phases,
    trees=True,
    max_columns=24,
    merges_lists=True,
)
