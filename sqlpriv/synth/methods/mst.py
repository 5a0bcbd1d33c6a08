"""`mst`: one-way marginals, a spanning tree of columns per stratum, the tree's two-way marginals.

McKenna, Miklau and Sheldon 2021, "Winning the NIST Contest" (arXiv:2108.04978), Algorithm 1. Each
stratum has a tree, rare levels and a model of its own. The shares of the price are thirds: one-way
marginals, choosing the tree, two-way marginals.

Price: the one-ways are one batch; the tree is built in d - 1 rounds, each one exponential mechanism
per stratum, all strata in parallel; the two-ways are one batch in which every stratum is covered by
exactly d - 1 measurements of one price q, so that its price is (d - 1) q whichever strata chose
what (a unit in g strata meets g such sums, each at 1/g). The three parts add up to the price.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import DataError
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Release
from sqlpriv.synth.api.ask import Ask, Guess, Marginal
from sqlpriv.synth.api.method import Method, Option, Options, Phase, Space, StratumModel, shared
from sqlpriv.synth.api.one_way_marginals import modelled, one_ways
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.inference import engines
from sqlpriv.synth.inference.one_way_tables import (
    LEAST_SIGMA,
    Floats,
    Merging,
    merge_rare,
    onto_simplex,
)
from sqlpriv.synth.methods.choose_and_measure import measured_ones, totals_of
from sqlpriv.synth.models.tree_model import Edge, Noisy, Problem

Trees = tuple[tuple[Edge, ...], ...]


def phases(
    space: Space,
    price: Price,
    options: Options,
) -> tuple[Phase, ...]:
    """Returns what the price is spent on; prices add up to it exactly.

    The two-way marginals share their part equally to the nano; what the division leaves goes to the
    one-way marginals. Two columns have one tree, which need not be chosen: its third goes to the
    two-way marginal. Raises DataError when there are fewer nanos than questions.
    """
    sizes = space.sizes
    columns = modelled(sizes)
    edges = len(columns) - 1
    if edges < 1:
        return (Phase("one-way marginals", "noise", price, 1, one_ways(sizes, price)),)
    parts = shared(price, [1.0, 1.0, 1.0] if edges > 1 else [1.0, 2.0])
    each = type(price)(parts[-1].nano // edges)
    if each.nano == 0:
        raise DataError(f"a privacy loss of {price.value} is too small for {len(columns)} columns")
    first = type(price)(parts[0].nano + parts[-1].nano - each.nano * edges)
    second = type(price)(each.nano * edges)
    ones = Phase("one-way marginals", "noise", first, 1, one_ways(sizes, first))
    tree = (Phase("spanning tree", "exponential mechanism", parts[1], edges),) if edges > 1 else ()
    return (ones, *tree, Phase("two-way marginals", "noise", second))


def fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[StratumModel, ...]:
    """Returns one tree model per stratum. Spends exactly `price`; see the module."""
    sizes, strata = space.sizes, space.strata
    columns, plan = modelled(sizes), phases(space, price, options)
    ones = measured_ones(ask, plan)
    totals = totals_of(ones, strata)
    if len(columns) < 2:
        known = dict(zip(columns, ones, strict=False))
        return tuple(_stratum(known, {}, s, totals[s], options) for s in range(strata))
    known = dict(zip(columns, ones, strict=True))
    guesses = _independent(known, totals)
    trees = _trees(ask, guesses, columns, strata, plan)
    ask.report(Progress("measuring two-way marginals", 0, 1))
    asked = _chosen(trees, plan[-1].price)
    tables = {m.clique: (m, r) for m, r in zip(asked, ask.measure(asked), strict=True)}
    models = []
    for s in range(strata):
        ask.report(Progress("fitting strata", s, strata))
        pairs = {edge: _of_stratum(*tables[edge], s) for edge in trees[s]}
        models.append(_stratum(known, pairs, s, totals[s], options))
    ask.report(Progress("fitting strata", strata, strata))
    return tuple(models)


def _independent(ones: dict[int, Release], totals: Sequence[float]) -> tuple[Guess, ...]:
    """Returns what independent columns would give for every pair, from released numbers alone."""
    size = [max(total, 1.0) for total in totals]
    shares: dict[int, Floats] = {}
    for column, release in ones.items():
        rows = []
        for s, total in enumerate(size):
            values = release.values[s]
            merging = merge_rare(values, release.sigma)
            levels = np.bincount(merging.group, minlength=merging.size).astype(np.float64)
            rows.append(merging.spread(onto_simplex(merging.merged(values), total, levels)) / total)
        shares[column] = np.array(rows)
    scale = np.array(size)[:, None, None]
    return tuple(
        Guess((u, v), scale * shares[u][:, :, None] * shares[v][:, None, :])
        for u, v in itertools.combinations(sorted(shares), 2)
    )


def _trees(
    ask: Ask,
    guesses: Sequence[Guess],
    columns: Sequence[int],
    strata: int,
    plan: Sequence[Phase],
) -> Trees:
    """Returns each stratum's spanning tree, its edges in the order in which they were chosen.

    Kruskal's algorithm with the exponential mechanism in each round: an edge that would close a
    cycle is not allowed; of the others the one whose pair is furthest from independent is likely.
    """
    edges: list[Edge] = [(g.clique[0], g.clique[1]) for g in guesses]
    if len(columns) == 2:
        return ((edges[0],),) * strata
    prices = shared(plan[1].price, [1.0] * plan[1].rounds)
    part = [{c: c for c in columns} for _ in range(strata)]
    chosen: list[list[Edge]] = [[] for _ in range(strata)]
    for done, price in enumerate(prices):
        ask.report(Progress("choosing pairs of columns", done, len(prices)))
        allowed = np.array([[p[u] != p[v] for u, v in edges] for p in part])
        for s, pick in enumerate(ask.select(guesses, price, allowed)):
            u, v = edges[pick]
            chosen[s].append((u, v))
            old, new = part[s][u], part[s][v]
            part[s] = {c: new if p == old else p for c, p in part[s].items()}
    ask.report(Progress("choosing pairs of columns", len(prices), len(prices)))
    return tuple(map(tuple, chosen))


def _chosen(trees: Trees, price: Price) -> tuple[Marginal, ...]:
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


def _of_stratum(asked: Marginal, release: Release, stratum: int) -> tuple[Floats, float]:
    row = stratum if asked.within is None else asked.within.index(stratum)
    return release.values[row], release.sigma


def _stratum(
    ones: dict[int, Release],
    pairs: dict[Edge, tuple[Floats, float]],
    stratum: int,
    size: float,
    options: Options,
) -> StratumModel:
    """Returns a stratum's model: rare levels merged, then the nearest consistent tree.

    m merged cells have m times the variance of one, in one- and two-way tables alike (the weight
    1/sqrt(m) on answer and query of the paper's code).
    """
    merging = {c: merge_rare(r.values[stratum], r.sigma) for c, r in ones.items()}
    nodes = {c: _merged(r.values[stratum], r.sigma, (merging[c],)) for c, r in ones.items()}
    edges = {
        (u, v): _merged(values, sigma, (merging[u], merging[v]))
        for (u, v), (values, sigma) in pairs.items()
    }
    tree = engines.ENGINES[options["engine"]](Problem(nodes, edges, max(size, 1.0)))
    return StratumModel(tree, merging, size)


def _merged(values: Floats, sigma: float, merging: tuple[Merging, ...]) -> Noisy:
    variance: NDArray[np.float64] = np.full(values.shape, max(sigma, LEAST_SIGMA) ** 2)
    for axis, m in enumerate(merging):
        values, variance = m.merged(values, axis), m.merged(variance, axis)
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
    phases=phases,
)
