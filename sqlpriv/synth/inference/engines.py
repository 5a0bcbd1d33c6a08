"""Inference engines by name. mbi, and with it JAX, is imported when it is asked for, not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlpriv.synth.graph.junction_tree import Clique, Graph
from sqlpriv.synth.inference import least_squares, mirror_descent
from sqlpriv.synth.models.clique_model import CliqueModel
from sqlpriv.synth.models.tree_model import Noisy, Problem, TreeModel

Engine = Callable[[Problem], TreeModel]


def numpy_engine(problem: Problem) -> TreeModel:
    """Returns the model of `least_squares.estimate`."""
    return least_squares.estimate(problem)


def mbi_engine(problem: Problem) -> TreeModel:
    """Returns the model that mbi estimates; compiles for each new tree (1 to 4 s)."""
    from sqlpriv.synth.inference.mbi_engine import estimate  # imports JAX

    return estimate(problem)


ENGINES: Mapping[str, Engine] = {"numpy": numpy_engine, "mbi": mbi_engine}

Tables = Mapping[Clique, Noisy]
CliqueEngine = Callable[
    [Graph, Tables, float, CliqueModel | None, mirror_descent.Effort], CliqueModel
]


def mbi_cliques(
    graph: Graph,
    tables: Tables,
    total: float,
    start: CliqueModel | None,
    effort: mirror_descent.Effort,
) -> CliqueModel:
    """Returns the model that mbi estimates; compiles for each new list of cliques."""
    from sqlpriv.synth.inference.mbi_engine import estimate_cliques  # imports JAX

    return estimate_cliques(graph, tables, total, start, effort.steps)


CLIQUE_ENGINES: Mapping[str, CliqueEngine] = {"numpy": mirror_descent.estimate, "mbi": mbi_cliques}
"""The same for any cliques of columns; the last arguments are where to start, and when to stop."""
