"""`mst`: one-way marginals, a spanning tree of columns per stratum, the tree's two-way marginals.

McKenna, Miklau and Sheldon 2021, "Winning the NIST Contest" (arXiv:2108.04978), Algorithm 1. Each
stratum has a tree, rare levels and a model of its own, and borrows from the others (`borrowing`);
where that is too noisy, all are one model (`whole_or_strata`). The shares of the price are thirds:
one-way marginals, choosing the tree, two-way marginals.

Price: the sizes of strata have a share of their own, where there are several; of the rest the
one-ways are one batch; the tree is built in d - 1 rounds, each one exponential mechanism
per stratum, all strata in parallel; the two-ways are one batch in which every stratum is covered by
exactly d - 1 measurements of one price q, so that its price is (d - 1) q whichever strata chose
what (a unit in g strata meets g such sums, each at 1/g). The three parts add up to the price.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import numpy as np

from sqlpriv.errors import DataError
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.adaptive import whole_or_strata
from sqlpriv.synth.adaptive.borrowing import (
    Measured,
    borrowed_tables,
    following,
    merge_unsure,
    ones_with_margins,
    posterior_sizes,
)
from sqlpriv.synth.api.ask import Ask, Guess, Marginal
from sqlpriv.synth.api.method import (
    Method,
    Model,
    Option,
    Options,
    PairPlan,
    Phase,
    Space,
    StratumModel,
)
from sqlpriv.synth.api.one_way_marginals import modelled_columns, one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.graph.junction_tree import Clique
from sqlpriv.synth.inference import engines
from sqlpriv.synth.inference.one_way_tables import Floats, Merging, onto_simplex
from sqlpriv.synth.methods.choose_and_measure import measured_ones, totals_of
from sqlpriv.synth.models.tree_model import Edge, Noisy, Problem

Trees = tuple[tuple[Edge, ...], ...]
CHOOSING = 2 / 3
"""Of the price, for the one-way marginals and the tree."""


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on; see `whole_or_strata`."""
    return whole_or_strata.phases(_phases, space, price, options, "a spanning tree's marginals")


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one tree model per stratum. Spends exactly `price`; see the module."""
    return whole_or_strata.fit(_fit, ask, space, price, options, pair_plan)


def pair_plan(*_: object) -> PairPlan:
    """Returns what pairs of a spanning tree have of the price."""
    return PairPlan(CHOOSING)


def _phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on; prices add up to it exactly.

    The two-way marginals share their part equally to the nano; what the division leaves goes to the
    one-way marginals. Two columns have one tree, which need not be chosen: its third goes to the
    two-way marginal. Raises DataError when there are fewer nanos than questions.
    """
    sizes = space.sizes
    columns = modelled_columns(sizes)
    edges = len(columns) - 1
    if edges < 1:
        return (Phase("one-way marginals", "noise", price, 1, one_ways(sizes, price)),)
    parts = split_price(price, [1.0, 1.0, 1.0] if edges > 1 else [1.0, 2.0])
    each = type(price)(parts[-1].nano // edges)
    if each.nano == 0:
        raise DataError(f"a privacy loss of {price.value} is too small for {len(columns)} columns")
    first = type(price)(parts[0].nano + parts[-1].nano - each.nano * edges)
    second = type(price)(each.nano * edges)
    ones = Phase("one-way marginals", "noise", first, 1, one_ways(sizes, first))
    tree = (Phase("spanning tree", "exponential mechanism", parts[1], edges),) if edges > 1 else ()
    return (ones, *tree, Phase("two-way marginals", "noise", second))


def _fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[StratumModel, ...]:
    """Returns one tree model per stratum, each by itself but for what it borrows."""
    sizes, strata = space.sizes, space.strata
    columns, plan = modelled_columns(sizes), _phases(space, price, options)
    ones = measured_ones(ask, plan)
    everywhere = range(strata)
    if not columns:
        (counts,) = ones
        return tuple(_stratum({}, {}, float(counts.values[s]), {}, options) for s in everywhere)
    measured = [
        Measured((c,), everywhere, r.values, r.sigma) for c, r in zip(columns, ones, strict=True)
    ]
    rows = posterior_sizes(measured) if strata > 1 else np.array(totals_of(ones, 1))
    sigmas = {c: r.sigma for c, r in zip(columns, ones, strict=True)}
    one_ways = [{c: t[(c,)] for c in columns} for t in borrowed_tables(measured, rows)]
    if len(columns) < 2:
        return tuple(_stratum(one_ways[s], {}, float(rows[s]), sigmas, options) for s in everywhere)
    guesses = _independent(one_ways, rows, sigmas)
    trees = _trees(ask, guesses, columns, rows, plan)
    ask.report(Progress("measuring two-way marginals", 0, 1))
    marginals = _edges_by_strata(trees, plan[-1].price)
    pairs = [
        Measured(m.clique, everywhere if m.within is None else m.within, r.values, r.sigma)
        for m, r in zip(marginals, ask.measure(marginals), strict=True)
    ]
    tables = borrowed_tables(pairs, rows, ones_with_margins(pairs, one_ways))
    models = []
    for s in everywhere:
        ask.report(Progress("fitting strata", s, strata))
        models.append(_stratum(one_ways[s], tables[s], float(rows[s]), sigmas, options))
    ask.report(Progress("fitting strata", strata, strata))
    return tuple(models)


def _independent(
    one_ways: Sequence[Mapping[int, Noisy]], rows: Floats, sigmas: Mapping[int, float]
) -> tuple[Guess, ...]:
    """Returns what independent columns would give for every pair, from released numbers alone."""
    size = np.maximum(rows, 1.0)
    shares: dict[int, Floats] = {}
    for column in one_ways[0]:
        of_strata = []
        for total, tables in zip(size.tolist(), one_ways, strict=True):
            merging = merge_unsure(tables[column], sigmas[column])
            levels = np.bincount(merging.group, minlength=merging.size).astype(np.float64)
            merged = onto_simplex(merging.merge_levels(tables[column].values), total, levels)
            of_strata.append(merging.split_levels(merged) / total)
        shares[column] = np.array(of_strata)
    scale = size[:, None, None]
    return tuple(
        Guess((u, v), scale * shares[u][:, :, None] * shares[v][:, None, :])
        for u, v in itertools.combinations(sorted(shares), 2)
    )


def _trees(
    ask: Ask,
    guesses: Sequence[Guess],
    columns: Sequence[int],
    rows: Floats,
    plan: Sequence[Phase],
) -> Trees:
    """Returns each stratum's spanning tree, its edges in the order in which they were chosen.

    Kruskal's algorithm with the exponential mechanism in each round: an edge that would close a
    cycle is not allowed; of the others the one whose pair is furthest from independent is likely.
    A stratum too small to choose takes the tree of the largest one: see `borrowing.following`.
    """
    strata = len(rows)
    edges: list[Edge] = [(g.clique[0], g.clique[1]) for g in guesses]
    if len(columns) == 2:
        return ((edges[0],),) * strata
    prices = split_price(plan[1].price, [1.0] * plan[1].rounds)
    part = [{c: c for c in columns} for _ in range(strata)]
    chosen: list[list[Edge]] = [[] for _ in range(strata)]
    for done, price in enumerate(prices):
        ask.report(Progress("choosing pairs of columns", done, len(prices)))
        allowed = np.array([[p[u] != p[v] for u, v in edges] for p in part])
        open_pairs = np.flatnonzero(allowed.any(axis=0)).tolist()  # of thousands, ever fewer
        competing = [guesses[i] for i in open_pairs]
        picks = following(ask, rows).select(competing, price, allowed[:, open_pairs])
        for s, pick in enumerate(picks):
            u, v = edges[open_pairs[pick]]
            chosen[s].append((u, v))
            old, new = part[s][u], part[s][v]
            part[s] = {c: new if p == old else p for c, p in part[s].items()}
    ask.report(Progress("choosing pairs of columns", len(prices), len(prices)))
    return tuple(map(tuple, chosen))


def _edges_by_strata(trees: Trees, price: Price) -> tuple[Marginal, ...]:
    """Returns one measurement per edge that any stratum chose, restricted to those that did."""
    each = type(price)(price.nano // len(trees[0]))
    by_edge: dict[Edge, list[int]] = {}
    for s, tree in enumerate(trees):
        for edge in tree:
            by_edge.setdefault(edge, []).append(s)
    return tuple(
        Marginal(edge, each, None if len(who) == len(trees) else tuple(who))
        for edge, who in sorted(by_edge.items())
    )


def _stratum(
    ones: Mapping[int, Noisy],
    pairs: Mapping[Clique, Noisy],
    size: float,
    sigmas: Mapping[int, float],
    options: Options,
) -> StratumModel:
    """Returns a stratum's model: rare levels merged, then the nearest consistent tree.

    m merged cells have m times the variance of one, in one- and two-way tables alike (the weight
    1/sqrt(m) on answer and query of the paper's code).
    """
    merging = {c: merge_unsure(noisy, sigmas[c]) for c, noisy in ones.items()}
    nodes = {c: _merge_axes(noisy, (merging[c],)) for c, noisy in ones.items()}
    edges = {
        (u, v): _merge_axes(noisy, (merging[u], merging[v])) for (u, v), noisy in pairs.items()
    }
    tree = engines.ENGINES[options["engine"]](Problem(nodes, edges, max(size, 1.0)))
    return StratumModel(tree, merging, size)


def _merge_axes(noisy: Noisy, merging: tuple[Merging, ...]) -> Noisy:
    values, variance = noisy.values, noisy.variance
    for axis, m in enumerate(merging):
        values, variance = m.merge_levels(values, axis), m.merge_levels(variance, axis)
    return Noisy(values, variance)


METHOD = Method(
    name="mst",
    title="a spanning tree of the most dependent pairs of columns in each stratum",
    paper="McKenna, Miklau and Sheldon 2021 (arXiv:2108.04978)",
    options=(
        Option(
            "engine",
            "numpy",
            "inference: numpy (trees, fast) or mbi (the reference, compiles for each tree)",
            choices=tuple(engines.ENGINES),
        ),
    ),
    max_strata=1_000,
    max_cells=4_000_000,
    arity=2,
    fit=fit,
    one_model=whole_or_strata.whole_if_better(pair_plan),
    phases=phases,
    merges_lists=True,
)
