"""Inference on trees: optimal by a certificate, and the same as mbi's."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from support.synth_tables import certified_gap, chain_of_columns, loss, marginals_of

from sqlpriv.synth.inference import least_squares
from sqlpriv.synth.inference.newton_step import Curvature, Multipliers, newton_step
from sqlpriv.synth.models.tree_model import Noisy, Problem, TreeModel, root_forest

SHAPES = {
    "chain": (((0, 1), (1, 2), (2, 3)), (5, 4, 7, 3)),
    "star": (((0, 1), (0, 2), (0, 3), (0, 4)), (6, 2, 5, 9, 1)),
    "bush": (((0, 1), (1, 2), (1, 3), (3, 4)), (3, 8, 2, 6, 4)),
}
SCALES = {"many rows": (200_000, 3.0), "some": (3_000, 20.0), "noise above signal": (20, 80.0)}


def shifted(model: TreeModel, share: float) -> TreeModel:
    """The model mixed with the uniform one: a distribution still, but not the nearest."""
    tables = {c: (1 - share) * t + share * model.total / t.size for c, t in model.tables.items()}
    return replace(model, tables=tables)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", SCALES)
def test_the_estimate_is_optimal(shape, scale):
    edges, sizes = SHAPES[shape]
    problem = chain_of_columns(edges, sizes, *SCALES[scale], seed=1)
    model = least_squares.estimate(problem)
    assert certified_gap(problem, model) <= 1e-5 * (1 + loss(problem, model))
    assert certified_gap(problem, shifted(model, 0.01)) > 1e-4 * (1 + loss(problem, model))


@pytest.mark.parametrize("scale", SCALES)
def test_tables_agree_on_the_columns_they_share(scale):
    edges, sizes = SHAPES["bush"]
    problem = chain_of_columns(edges, sizes, *SCALES[scale], seed=2)
    model = least_squares.estimate(problem)
    single = marginals_of(model)
    for column, table in model.tables.items():
        above = model.forest.parent[column]
        assert (table >= 0).all()
        assert table.sum() == pytest.approx(problem.total, rel=1e-6)
        if above is not None:
            assert table.sum(axis=1) == pytest.approx(single[above], abs=1e-6 * problem.total)


def test_without_noise_the_tables_come_back():
    edges, sizes = SHAPES["bush"]
    problem = chain_of_columns(edges, sizes, 5_000, 1e-9, seed=3)
    model = least_squares.estimate(problem)
    for (u, v), noisy in problem.edges.items():
        table = model.tables[v] if model.forest.parent[v] == u else model.tables[u].T
        assert table == pytest.approx(noisy.values, abs=1e-3)


def test_a_newton_step_solves_the_whole_system():
    """The curvature as a dense matrix, made by differences of the gradient of a quadratic."""
    edges, sizes = SHAPES["bush"]
    problem = chain_of_columns(edges, sizes, 3_000, 1e-3, seed=4)
    dual = least_squares._Dual(problem)
    here = dual.at(dual.start())
    slope = dual.disagreement(here)
    step = newton_step(dual.forest, dual.curvature(here), slope)
    curved = Curvature(*map(dict, vars(dual.curvature(here)).values()))
    left = slope.add_step(product(dual, curved, step), 1.0)
    assert left.largest() < 1e-6 * slope.largest()


def product(dual, curved: Curvature, step: Multipliers) -> Multipliers:
    """Curvature times a step, cell by cell: how much each disagreement changes."""
    parent = dual.forest.parent
    pulls = {c: np.full(v.size, step.total.get(c, 0.0)) for c, v in curved.single.items()}
    for c in curved.pairs:
        pulls[parent[c]] = pulls[parent[c]] - step.above[c]
        pulls[c] = pulls[c] - step.below[c]
    single = {c: v * pulls[c] for c, v in curved.single.items()}
    pairs = {c: v * np.add.outer(step.above[c], step.below[c]) for c, v in curved.pairs.items()}
    return Multipliers(
        {c: t.sum(axis=1) - single[parent[c]] for c, t in pairs.items()},
        {c: t.sum(axis=0) - single[c] for c, t in pairs.items()},
        {c: float(single[c].sum()) for c in dual.roots},
    )


def test_columns_without_edges_are_projected_alone():
    noisy = Noisy(np.array([30.0, -5.0, 10.0]), np.ones(3))
    model = least_squares.estimate(Problem({0: noisy, 7: noisy}, {}, 40.0))
    assert model.tables[0] == pytest.approx([30.0, 0.0, 10.0])
    assert model.tables[7] == pytest.approx([30.0, 0.0, 10.0])


def test_a_forest_hangs_from_its_busiest_columns():
    forest = root_forest((0, 1, 2, 3, 9), ((0, 1), (1, 2), (1, 3)))
    assert forest.order[0] == 1
    assert forest.parent == {1: None, 0: 1, 2: 1, 3: 1, 9: None}


@pytest.mark.parametrize("scale", ["some", "noise above signal"])
def test_mbi_finds_the_same_tables(scale):
    """Largest difference of a table, in L1 as a share of the total: under 1e-3."""
    from sqlpriv.synth.inference import mbi_engine

    problem = chain_of_columns(((0, 1), (1, 2)), (4, 5, 3), *SCALES[scale], seed=5)
    ours, theirs = least_squares.estimate(problem), mbi_engine.estimate(problem, 6_000)
    assert ours.forest == theirs.forest
    for column, table in ours.tables.items():
        assert np.abs(theirs.tables[column] - table).sum() < 1e-3 * problem.total
    assert loss(problem, ours) <= loss(problem, theirs) * (1 + 1e-6)


def test_the_registry_loads_neither_jax_nor_mbi():
    program = (
        "import sys; from sqlpriv.synth import registry, synthesis;"
        "print(*sorted({'jax', 'mbi'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ""
