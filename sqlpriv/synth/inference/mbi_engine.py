"""The same inference by mbi (private-pgm 2): the reference engine.

Importing this module imports JAX. Double precision is set before mbi is imported, which is wrong
above 100,000 rows in single precision. JAX's persistent compilation cache is off while mbi is
imported, which would warn of it; then it is as before: JAX has one only where the environment names
its folder.
"""

from __future__ import annotations

from collections.abc import Mapping

import jax

CACHED = jax.config.jax_enable_compilation_cache  # type: ignore[attr-defined]  # JAX makes it at run time
for setting, value in (("jax_enable_x64", True), ("jax_enable_compilation_cache", False)):
    jax.config.update(setting, value)  # type: ignore[no-untyped-call]  # JAX has no types for it

import mbi

jax.config.update("jax_enable_compilation_cache", CACHED)  # type: ignore[no-untyped-call]  # as above

import numpy as np

from sqlpriv.synth.graph.junction_tree import Clique, Graph
from sqlpriv.synth.models.clique_model import CliqueModel, product_model
from sqlpriv.synth.models.tree_model import Floats, Noisy, Problem, TreeModel, root_forest


def estimate(problem: Problem, iterations: int = 20_000) -> TreeModel:
    """Returns the least-squares model of one stratum, by mbi's mirror descent.

    Args:
        problem: As for `least_squares.estimate`.
        iterations: Steps of mirror descent with line search.
    """
    sizes = {str(c): noisy.values.size for c, noisy in problem.nodes.items()}
    domain = mbi.Domain.fromdict(sizes)
    measured = [_measurement(noisy, (c,)) for c, noisy in problem.nodes.items()]
    measured += [_measurement(noisy, edge) for edge, noisy in problem.edges.items()]
    model = mbi.estimation.MirrorDescent().estimate(
        domain, measured, known_total=problem.total, iters=iterations, tol=1e-9
    )
    forest = root_forest(tuple(problem.nodes), tuple(problem.edges))
    tables = {}
    for column in forest.order:
        above = forest.parent[column]
        clique = (str(column),) if above is None else (str(above), str(column))
        table = np.asarray(model.project(clique).datavector(flatten=False))
        tables[column] = np.maximum(table, 0.0)
    return TreeModel(forest, tables, problem.total)


def estimate_cliques(
    graph: Graph,
    tables: Mapping[Clique, Noisy],
    total: float,
    start: CliqueModel | None,
    iterations: int = 2_000,
) -> CliqueModel:
    """Returns the least-squares model of tables over any cliques: mbi's potentials, our tree.

    Args:
        graph, tables, total, start: As for `mirror.estimate`.
        iterations: Steps of mirror descent with line search at most.
    """
    fixed = {} if start is None else dict(start.potentials)
    columns = sorted({c for clique in (*tables, *fixed) for c in clique})
    domain = mbi.Domain.fromdict({str(c): graph.sizes[c] for c in columns})
    begin = mbi.CliqueVector(
        domain,
        [tuple(map(str, c)) for c in fixed],
        {
            tuple(map(str, c)): mbi.Factor(domain.project(tuple(map(str, c))), jax.numpy.array(x))
            for c, x in fixed.items()
        },
    )
    model = mbi.estimation.MirrorDescent().estimate(
        domain,
        [_measurement(noisy, clique) for clique, noisy in tables.items()],
        known_total=total,
        iters=iterations,
        tol=1e-9,
        warm_start=begin if fixed else None,
    )
    potentials = {
        tuple(map(int, c)): np.asarray(model.potentials[c].datavector(flatten=False))
        for c in model.potentials.cliques
    }
    for c in columns:  # of cliques that are not measured mbi keeps nothing
        if not any(c in clique for clique in potentials):
            potentials[(c,)] = np.zeros(graph.sizes[c])
    return product_model(potentials, graph, total)


def _measurement(noisy: Noisy, clique: tuple[int, ...]) -> mbi.LinearMeasurement:
    """Returns the table as mbi takes it: cells of unequal variance are scaled to the least one."""
    sigma = float(np.sqrt(noisy.variance.min()))
    weights: Floats = (sigma / np.sqrt(noisy.variance)).ravel()
    values = noisy.values.ravel() * weights
    names = tuple(map(str, clique))
    if np.all(weights == 1.0):
        return mbi.LinearMeasurement(values, names, sigma)
    return mbi.LinearMeasurement(values, names, sigma, mbi.WeightedQuery(weights))
