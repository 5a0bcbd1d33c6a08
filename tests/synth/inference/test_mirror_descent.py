"""Inference in junction trees: the same tables as mbi finds, and as summing the joint gives."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sqlpriv.synth.graph.belief_propagation import Propagation
from sqlpriv.synth.graph.embedding import joins
from sqlpriv.synth.graph.junction_tree import Graph, columns_of, mask_of
from sqlpriv.synth.inference.mirror_descent import Effort, estimate
from sqlpriv.synth.models.clique_model import CliqueModel
from sqlpriv.synth.models.tree_model import Noisy

SIZES = (4, 3, 2, 5, 2, 3)
SHAPES = {
    "alone": [(0,), (1,), (2,), (3,), (4,), (5,)],
    "chain": [(0,), (3,), (0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
    "loop": [(0, 1), (1, 2), (2, 3), (0, 3), (4,), (5,)],
    "loops": [(0, 1), (1, 2), (2, 3), (0, 3), (3, 4, 5), (0, 5), (4,)],
}
THOROUGH = Effort(20_000, 1e-13)


def tables(cliques, rows: float, sigma: float, seed: int = 0) -> dict[tuple[int, ...], Noisy]:
    """Noisy marginals of one random joint distribution; a cell's variance is its own."""
    rng = np.random.default_rng(seed)
    joint = rows * rng.dirichlet(np.full(np.prod(SIZES), 0.1)).reshape(SIZES)
    found = {}
    for clique in cliques:
        exact = joint.sum(axis=tuple(c for c in range(len(SIZES)) if c not in clique))
        variance = sigma**2 * rng.integers(1, 4, exact.shape)
        found[clique] = Noisy(exact + rng.normal(0, np.sqrt(variance)), variance)
    return found


def loss(model, noisy) -> float:
    return sum(float(np.sum((model(c) - x.values) ** 2 / x.variance)) / 2 for c, x in noisy.items())


def small_sets(most: int = 3):
    return [c for k in range(1, most + 1) for c in itertools.combinations(range(len(SIZES)), k)]


def by_hand(model: CliqueModel) -> np.ndarray:
    """The joint distribution: the product of all potentials, cell by cell."""
    log = np.zeros(SIZES)
    for clique, table in model.potentials.items():
        log += table.reshape([SIZES[c] if c in clique else 1 for c in range(len(SIZES))])
    joint = np.exp(log - log.max())
    return joint / joint.sum()


@pytest.mark.whole
@pytest.mark.parametrize("shape", ["chain", "loops"])
@pytest.mark.parametrize(("rows", "sigma"), [(20_000, 3.0), (20_000, 300.0), (50, 30.0)])
def test_mbi_finds_the_same_tables(shape, rows, sigma):
    """All marginals of up to three columns, in the model or across it: within 1e-5 of the total.

    Twin: after three steps they are not. mbi takes one variance a table, so cells share it here.
    """
    from sqlpriv.synth.inference import mbi_engine  # sets double precision

    mbi = mbi_engine.mbi
    noisy = tables(SHAPES[shape], rows, sigma)
    noisy = {c: Noisy(x.values, np.full(x.values.shape, sigma**2)) for c, x in noisy.items()}
    ours = estimate(Graph(SIZES), noisy, rows, None, THOROUGH)
    names = {str(c): size for c, size in enumerate(SIZES)}
    asked = [
        mbi.LinearMeasurement(x.values.ravel(), tuple(map(str, c)), sigma) for c, x in noisy.items()
    ]
    theirs = mbi.estimation.MirrorDescent().estimate(
        mbi.Domain.fromdict(names), asked, known_total=rows, iters=20_000, tol=1e-13
    )

    def reference(clique):
        table = theirs.project(tuple(map(str, clique))).datavector(flatten=False)
        return np.asarray(table)

    apart = max(np.abs(ours.counts(c) - reference(c)).max() for c in small_sets(2))
    early = estimate(Graph(SIZES), noisy, rows, None, Effort(3, 0.0))
    assert loss(ours.counts, noisy) <= loss(reference, noisy) * (1 + 1e-6) + 1e-9
    assert apart <= 1e-5 * rows
    assert max(np.abs(early.counts(c) - reference(c)).max() for c in small_sets(2)) > 1e-4 * rows


@pytest.mark.parametrize("shape", SHAPES)
def test_marginals_are_sums_of_the_joint(shape):
    model = estimate(Graph(SIZES), tables(SHAPES[shape], 500, 5.0), 500.0)
    joint = by_hand(model)
    for clique in small_sets():
        summed = joint.sum(axis=tuple(c for c in range(len(SIZES)) if c not in clique))
        assert model.shares(clique) == pytest.approx(summed, abs=1e-12)


def test_potentials_may_be_thousands_apart():
    """In log space nothing over- or underflows: what is impossible in one node stays so."""
    nodes = Graph((2, 2, 2)).tree([(0, 1), (1, 2)])
    plan = Propagation(nodes, [(0, 1), (1, 2)])
    pairs = ([0.0, -5000.0, -9000.0, 4000.0], [-3000.0, 0.0, 0.0, 3000.0])
    conditionals, beliefs = plan.run(np.concatenate(pairs))
    model = CliqueModel(nodes, {}, conditionals, beliefs, 1.0)
    assert model.shares((0, 1, 2))[1, 1, 1] == pytest.approx(1.0)
    assert all(np.isfinite(table).all() for table in (*conditionals, *beliefs))


@pytest.mark.parametrize("far", [1.0, 300.0])
def test_potentials_that_stay_and_that_move_make_the_product(far):
    """Whichever of them stay, and whatever is joined on the way (in one large node it is): the
    marginals are those of the joint by hand. Far apart, slices underflow and are made in logs."""
    rng = np.random.default_rng(2)
    cliques = [(0, 1), (1, 2), (0, 2), (2, 3), (3,), (3, 4, 5), (0, 3), (5,)]
    potentials = {c: far * rng.normal(size=[SIZES[i] for i in c]) for c in cliques}
    joint = by_hand(CliqueModel((), potentials, (), (), 1.0))
    graph = Graph(SIZES)
    one = graph.tree([(0, 1, 2, 3, 4, 5)])
    assert joins(cliques, one)
    for nodes in (one, graph.tree(cliques)):
        for moving in (cliques, cliques[5:], cliques[:1], []):
            fixed = {c: x for c, x in potentials.items() if c not in moving}
            plan = Propagation(nodes, moving, fixed)
            theta = np.concatenate([np.zeros(0), *(potentials[c].ravel() for c in moving)])
            ends = np.cumsum([potentials[c].size for c in moving])[:-1]
            found = np.split(plan.marginals(theta), ends) if moving else []
            model = CliqueModel(nodes, {}, *plan.run(theta), 1.0)
            pairs = [
                (c, x.reshape([SIZES[i] for i in c])) for c, x in zip(moving, found, strict=True)
            ]
            for clique, table in [*pairs, *((c, model.shares(c)) for c in cliques)]:
                summed = joint.sum(axis=tuple(c for c in range(len(SIZES)) if c not in clique))
                assert table == pytest.approx(summed, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_a_tree_with_one_more_clique_is_as_large_as_one_made_anew(seed):
    rng = np.random.default_rng(seed)
    graph = Graph(rng.integers(2, 30, 9).tolist())
    masks = [mask_of(rng.permutation(9)[: 1 + i % 3].tolist()) for i in range(2 + seed % 9)]
    known = tuple(sorted(graph.chordal(masks)))
    for clique in map(mask_of, itertools.combinations(range(9), 3)):
        held = any(clique & big == clique for big in known)
        whole = 0 if held else graph.size((*known, clique))
        assert graph.size_with(known, clique) == whole


def test_a_warm_start_ends_where_a_cold_one_does():
    noisy = tables(SHAPES["loops"], 20_000, 30.0)
    first = dict(list(noisy.items())[:4])
    warm = estimate(Graph(SIZES), first, 19_000.0)
    model = estimate(Graph(SIZES), noisy, 20_000.0, warm, THOROUGH)
    cold = estimate(Graph(SIZES), noisy, 20_000.0, None, THOROUGH)
    for clique in small_sets():
        assert model.shares(clique) == pytest.approx(cold.shares(clique), abs=1e-6)


def test_what_a_start_knows_beyond_the_tables_is_kept():
    """Only the columns' own tables are measured: their association is the start's."""
    pair = np.array([[6.0, 1.0], [2.0, 9.0]])
    start = estimate(Graph((2, 2)), {(0, 1): Noisy(pair, np.ones((2, 2)))}, 18.0)
    ones = {(c,): Noisy(np.array([5.0, 5.0]), np.ones(2)) for c in (0, 1)}
    model = estimate(Graph((2, 2)), ones, 10.0, start, THOROUGH)
    table = model.shares((0, 1))
    odds = np.log(table[0, 0] * table[1, 1] / table[0, 1] / table[1, 0])
    assert odds == pytest.approx(np.log(6 * 9 / 2), rel=1e-3)
    assert model.shares((0,)) == pytest.approx([0.5, 0.5], abs=1e-4)
    alone = estimate(Graph((2, 2)), ones, 10.0, None, THOROUGH)
    assert alone.shares((0, 1)) == pytest.approx(0.25, abs=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_a_junction_tree_runs_through_every_column_once(seed):
    """Running intersection: what a node shares with all earlier ones lies in its parent."""
    rng = np.random.default_rng(seed)
    sizes = tuple(rng.integers(2, 6, 9).tolist())
    cliques = [tuple(sorted(rng.permutation(9)[: 1 + i % 3].tolist())) for i in range(8)]
    graph = Graph(sizes)
    nodes = graph.tree(cliques)
    for i, node in enumerate(nodes):
        before = {c for earlier in nodes[:i] for c in earlier.columns}
        assert set(node.separator) == before & set(node.columns)
        assert i == 0 or set(node.separator) <= set(nodes[node.parent].columns)
    for clique in cliques:
        assert any(set(clique) <= set(node.columns) for node in nodes)
    size = sum(int(np.prod(node.shape)) for node in nodes)
    assert graph.size(map(mask_of, cliques)) == size
    assert columns_of(mask_of((4, 0, 7))) == (0, 4, 7)


def test_rows_follow_the_model_and_siblings_are_not_made_alike():
    """100,000 rows of every triple: total variation under 4 sqrt(cells / 8 pi rows), of which the
    expectation is half; columns 0 and 2 meet in 1 alone, and given it must be independent."""
    model = estimate(Graph(SIZES), tables(SHAPES["loops"], 20_000, 10.0), 20_000.0)
    rows = 100_000
    drawn = model.draw(rows, np.random.default_rng(1))
    for clique in small_sets():
        expected = model.shares(clique)
        cells = np.ravel_multi_index([drawn[c] for c in clique], expected.shape)
        found = np.bincount(cells, minlength=expected.size) / rows
        apart = np.abs(found - expected.ravel()).sum() / 2
        assert apart < 4 * np.sqrt(expected.size / (8 * np.pi * rows))


def test_nothing_is_made_of_nothing():
    assert Graph((3, 2)).tree([]) == ()
    assert Graph((3, 2)).size([]) == 0
