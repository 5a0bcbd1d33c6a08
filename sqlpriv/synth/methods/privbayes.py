"""`privbayes`: a Bayesian network per stratum, grown column by column.

Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017 (PrivBayes, ACM TODS 42(4), Algorithms 2 and 4):
the next column and its parents are chosen by the exponential mechanism, then its table given the
parents is noised. A set of parents is *useful* if a cell of the table is expected to hold THETA
times the noise (their theta-usefulness); only such sets compete, up to `degree` parents.

**The score.** The paper's first score is the mutual information of a column and its parents. One
row moves that by log2(n)/n + (n-1)/n log2(n/(n-1)) if one of the two is binary, and by
2/n log2((n+1)/2) + (n-1)/n log2((n+1)/(n-1)) otherwise: two cases, both with n, which is private
here. Its second score, R, is the L1 distance between the joint table and the product of its
margins, all of them exact. Ours is R with *public* margins: the L1 distance between the exact
counts of (column, parents) and what the network so far says of the parents, times the column's
noised marginal. Only the counts depend on rows, so one row moves it by exactly one, whatever n is
(`kernel.sensitivity.scoring`). The expected L1 distance that noise alone would add to the table is
taken off, so that a large table is chosen for what it would teach.

Because margins come from the network so far, choosing and measuring alternate: each round chooses
one (column, parents) per stratum, and measures it there.

**The tables** are brought to the nearest nonnegative ones that have the column's noised marginal.

Price: WEIGHTS of it for the one-way marginals (one batch), for choosing and for measuring; the last
two in equal shares over d - 1 rounds. In a round every stratum chooses once and is covered by
exactly one measurement, so a round costs its two shares whichever strata chose what.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.budget import Price
from sqlpriv.synth.adaptive import whole_or_strata
from sqlpriv.synth.adaptive.borrowing import borrowed_answers, following
from sqlpriv.synth.api.ask import Ask, Guess, Known, measured_where_chosen
from sqlpriv.synth.api.method import Method, Model, Option, Options, PairPlan, Phase, Space
from sqlpriv.synth.api.one_way_marginals import modelled_columns
from sqlpriv.synth.inference.one_way_tables import Floats, count_sigma, onto_simplex
from sqlpriv.synth.methods import choose_and_measure
from sqlpriv.synth.methods.choose_and_measure import WEIGHTS
from sqlpriv.synth.models.bayesian_network import NetworkModel, NetworkNode, draw_column, flat
from sqlpriv.synth.models.tree_model import Noisy

THETA = 4.0
REHEARSED = 100_000
"""Rows drawn, at most, to know what a network says of a set of parents."""


@dataclass(eq=False)
class _Stratum:
    """A stratum's network so far, and rows drawn from it.

    Args:
        size: The stratum's noised rows.
        shares: One-way marginals, by column.
        drawn: Levels of drawn rows, shape (rows, columns); of columns that are placed.
        nodes: The network, parents first.
        placed: Their columns.
        counts: By set of placed columns, the expected counts of its cells: a column that is placed
            is not drawn again, so these do not change from round to round.
    """

    size: float
    shares: Mapping[int, Floats]
    drawn: NDArray[np.int64]
    nodes: list[NetworkNode]
    placed: set[int] = field(init=False)
    counts: dict[tuple[int, ...], Floats] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        self.placed = {node.column for node in self.nodes}


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns what the price is spent on; see `whole_or_strata`."""
    return whole_or_strata.phases(_phases, space, price, options, "a network's tables")


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one network per stratum. Spends exactly `price`; see the module."""
    return whole_or_strata.fit(_fit, ask, space, price, options, pair_plan)


def pair_plan(*_: object) -> PairPlan:
    """Returns what measuring has of the price, as of a tree's pairs."""
    return PairPlan(1 - WEIGHTS[2])


def _phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns the one-way marginals and the rounds; prices add up to `price` exactly."""
    sizes = space.sizes
    count = len(modelled_columns(sizes)) - 1
    return choose_and_measure.phases(
        sizes, price, count, "columns and parents", "tables given parents"
    )


def _fit(ask: Ask, space: Space, price: Price, options: Options) -> tuple[NetworkModel, ...]:
    """Returns one network per stratum, each by itself but for what it borrows."""
    sizes, strata = space.sizes, space.strata
    columns, plan = modelled_columns(sizes), _phases(space, price, options)
    ones = choose_and_measure.measured_ones(ask, plan)
    rng = np.random.default_rng(0)  # the same releases give the same network: sealed answers
    rows, tables = choose_and_measure.borrowed_ones(columns, ones, strata)
    one_ways = [{c: t[(c,)] for c in columns} for t in tables]
    grown = [
        _start_stratum(n, of, sizes, rng) for n, of in zip(rows.tolist(), one_ways, strict=True)
    ]
    cliques = _cliques(columns, sizes, grown, plan, options["degree"])
    all_are_read = False
    for choosing, measuring in choose_and_measure.play_rounds(ask, plan, "growing networks"):
        sigma = count_sigma(measuring)
        allowed = np.array([[_may_grow(g, c, sizes, sigma) for c in cliques] for g in grown])
        # The gate reads a set when it is first told of it, and one reading of all is the cheapest.
        competing = np.flatnonzero(allowed.any(axis=0)) if all_are_read else range(len(cliques))
        all_are_read = True
        guesses = [_guess(cliques[i], grown, sizes, sigma) for i in competing]
        picks = following(ask, rows).select(guesses, choosing, allowed[:, competing])
        chosen = [guesses[pick].clique for pick in picks]
        answers = measured_where_chosen(ask, chosen, measuring)
        for stratum, answer in zip(grown, borrowed_answers(answers, rows, one_ways), strict=True):
            _add_column(stratum, answer, sizes, rng)
    return tuple(NetworkModel(tuple(g.nodes), g.size) for g in grown)


def _start_stratum(
    size: float,
    tables: Mapping[int, Noisy],
    sizes: tuple[int, ...],
    rng: np.random.Generator,
) -> _Stratum:
    """Returns a network of one column, that with the most levels: as a parent it says most."""
    columns, total = tuple(tables), max(size, 1.0)
    shares = {c: onto_simplex(t.values, total) / total for c, t in tables.items()}
    rows = int(min(max(size, 1.0) * 2, REHEARSED))
    started = _Stratum(size, shares, np.zeros((rows, len(sizes)), dtype=np.int64), [])
    if columns:
        root = max(columns, key=lambda c: sizes[c])
        _place_node(started, NetworkNode(root, (), shares[root][None, :] * total), sizes, rng)
    return started


def _place_node(
    stratum: _Stratum, node: NetworkNode, sizes: tuple[int, ...], rng: np.random.Generator
) -> None:
    stratum.drawn[:, node.column] = draw_column(
        stratum.drawn, node, sizes, rng, sorted(stratum.placed)
    )
    stratum.nodes.append(node)
    stratum.placed.add(node.column)


def _cliques(
    columns: Sequence[int],
    sizes: tuple[int, ...],
    grown: Sequence[_Stratum],
    plan: Sequence[Phase],
    degree: int,
) -> list[tuple[int, ...]]:
    """Returns the sets of a column and its parents that are useful in some stratum.

    Pairs always compete, so that a column may have a parent where everything is noise.
    """
    if len(plan) == 1:
        return []
    price = plan[2].price
    sigma = count_sigma(type(price)(max(price.nano // plan[2].rounds, 1)))
    most = max(g.size for g in grown) / (THETA * sigma)
    cliques = []
    for width in range(2, min(degree + 1, len(columns)) + 1):
        for clique in itertools.combinations(columns, width):
            if width == 2 or math.prod(sizes[c] for c in clique) <= most:
                cliques.append(clique)
    return cliques


def _may_grow(
    stratum: _Stratum, clique: tuple[int, ...], sizes: tuple[int, ...], sigma: float
) -> bool:
    """Returns whether the clique is one new column and useful parents in this stratum."""
    fresh = [c for c in clique if c not in stratum.placed]
    cells = math.prod(sizes[c] for c in clique)
    useful = len(clique) == 2 or cells <= stratum.size / (THETA * sigma)
    return len(fresh) == 1 and useful


def _guess(
    clique: tuple[int, ...], grown: Sequence[_Stratum], sizes: tuple[int, ...], sigma: float
) -> Guess:
    """Returns the counts as they would be were the new column independent of its parents.

    Strata in which the clique has not exactly one new column are not asked; theirs are zeros.
    """
    shape = tuple(sizes[c] for c in clique)
    estimate = np.zeros((len(grown), *shape))
    for s, stratum in enumerate(grown):
        fresh = [c for c in clique if c not in stratum.placed]
        if len(fresh) == 1:
            at = clique.index(fresh[0])
            parents = tuple(c for c in clique if c != fresh[0])
            joint = _expected_counts(stratum, parents, sizes)[:, None] * stratum.shares[fresh[0]]
            split = (*(sizes[c] for c in parents), sizes[fresh[0]])
            estimate[s] = np.moveaxis(joint.reshape(split), -1, at)
    noise = math.sqrt(2 / math.pi) * sigma * math.prod(shape)
    return Guess(clique, estimate, 1.0, np.full(len(grown), noise))


def _expected_counts(stratum: _Stratum, columns: tuple[int, ...], sizes: tuple[int, ...]) -> Floats:
    """Returns the expected counts that the network so far gives these columns' cells, flat. The
    columns are placed."""
    if columns not in stratum.counts:
        cells = math.prod(sizes[c] for c in columns)
        rows = np.bincount(flat(stratum.drawn, columns, sizes), minlength=cells)
        counts = rows.astype(np.float64) * (max(stratum.size, 1.0) / len(stratum.drawn))
        stratum.counts[columns] = counts
    return stratum.counts[columns]


def _add_column(
    stratum: _Stratum, known: Known, sizes: tuple[int, ...], rng: np.random.Generator
) -> None:
    """Adds a measured column to a stratum's network."""
    clique = known.clique
    fresh = next(c for c in clique if c not in stratum.placed)
    parents = tuple(c for c in clique if c != fresh)
    noisy = np.moveaxis(known.values, clique.index(fresh), -1).reshape(-1, sizes[fresh])
    table = consistent(noisy, stratum.shares[fresh] * max(stratum.size, 1.0))
    _place_node(stratum, NetworkNode(fresh, parents, table), sizes, rng)


def consistent(noisy: Floats, margin: Floats) -> Floats:
    """Returns the nonnegative table (parents, levels) nearest to the noisy one whose levels have
    this margin. Rows without mass, of which nothing is known, get the margin's shares."""
    columns = [onto_simplex(noisy[:, j], total) for j, total in enumerate(margin.tolist())]
    table = np.stack(columns, axis=1)
    with_mass: Floats = np.where(table.sum(axis=1, keepdims=True) > 0, table, margin[None, :])
    return with_mass


METHOD = Method(
    name="privbayes",
    title="a Bayesian network in each stratum: every column given a few others",
    paper="Zhang, Cormode, Procopiuc, Srivastava and Xiao 2017 (ACM TODS 42(4))",
    options=(Option("degree", 2, "parents of a column at most", least=1, most=4),),
    max_strata=200,
    max_cells=20_000_000,
    arity=2,
    fit=fit,
    one_model=whole_or_strata.whole_if_better(pair_plan),
    phases=phases,
    max_columns=100,  # which took 12 CPU s (20,000 rows of six levels, epsilon 1)
    merges_lists=True,
)
