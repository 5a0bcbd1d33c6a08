"""Mirror descent to the distribution whose marginals are nearest to noisy ones.

Minimises L = sum over tables of (total * marginal - noisy)^2 / (2 variance) over all distributions:
the problem of McKenna, Sheldon and Miklau 2019 (arXiv:1901.09136), whose mirror descent moves the
log-potentials theta against the gradient g of L in the marginals mu. Steps are Barzilai and
Borwein's (1988) carried over to this geometry: with d for the last change, <d theta, d mu> is the
(symmetrised) divergence moved and <d g, d mu> the curvature met, so their quotient is the step at
which a quadratic bound of that curvature is tight. It takes 30 to 60 steps where a fixed one takes
a thousand. L may rise above its last value but not above the largest of the last few (Grippo,
Lampariello and Lucidi 1986); where it does, the step is cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sqlpriv.errors import InternalError
from sqlpriv.synth.graph.belief_propagation import Propagation
from sqlpriv.synth.graph.embedding import Floats
from sqlpriv.synth.graph.junction_tree import Clique, Graph
from sqlpriv.synth.models.clique_model import CliqueModel
from sqlpriv.synth.models.tree_model import Noisy

MEMORY = 8
"""How many losses a step is compared with."""


@dataclass(frozen=True)
class Effort:
    """When to stop: after `steps`, or when MEMORY steps gained less than `gain` of the loss."""

    steps: int = 2_000
    gain: float = 1e-4


At = Callable[[Floats], tuple[Floats, Floats, float]]
"""What is minimised: of log-potentials the marginals, the loss's gradient in them, and the loss."""


class _Descent:
    """The flattened problem: all cells of all measured tables one after the other."""

    def __init__(
        self, graph: Graph, tables: Mapping[Clique, Noisy], total: float, start: CliqueModel | None
    ) -> None:
        self.cliques = tuple(tables)
        start_potentials = {} if start is None else dict(start.potentials)
        self.fixed = {c: table for c, table in start_potentials.items() if c not in tables}
        everything = (*self.cliques, *self.fixed)
        reusable = start is not None and set(everything) == set(start_potentials)
        self.nodes = start.nodes if start is not None and reusable else graph.tree(everything)
        self.plan = Propagation(self.nodes, self.cliques, self.fixed)
        self.shapes = [noisy.values.shape for noisy in tables.values()]
        self.ends = np.cumsum([0, *(math.prod(shape) for shape in self.shapes)]).tolist()
        self.target = self._concatenate([noisy.values / total for noisy in tables.values()])
        self.weight = self._concatenate([total**2 / noisy.variance for noisy in tables.values()])
        zeros = [np.zeros(shape) for shape in self.shapes]
        pairs = zip(self.cliques, zeros, strict=True)
        self.theta = self._concatenate([start_potentials.get(c, zero) for c, zero in pairs])

    @staticmethod
    def _concatenate(tables: list[Floats]) -> Floats:
        return np.concatenate([np.ascontiguousarray(t).ravel() for t in tables])

    def split(self, flat: Floats) -> list[Floats]:
        """Returns views of the flat vector, one for each measured clique."""
        ends = zip(self.ends[:-1], self.ends[1:], self.shapes, strict=True)
        return [flat[a:b].reshape(shape) for a, b, shape in ends]

    def at(self, theta: Floats) -> tuple[Floats, Floats, float]:
        """Returns the marginals, the gradient and the loss at these potentials."""
        marginals = self.plan.marginals(theta)
        apart = marginals - self.target
        slope = self.weight * apart
        return marginals, slope, 0.5 * float(slope @ apart)


def estimate(
    graph: Graph,
    tables: Mapping[Clique, Noisy],
    total: float,
    start: CliqueModel | None = None,
    effort: Effort = Effort(),
) -> CliqueModel:
    """Returns the model whose marginals are nearest to the tables.

    Args:
        graph: The sizes of the columns.
        tables: Noisy counts by clique (ascending columns); cells are weighted by inverse variance.
        total: Rows; above 0.
        start: Where to begin. What it knows of cliques that are not measured is kept as it is:
            among all distributions that fit equally well the one nearest to `start` is found
            (without it, the one of most entropy).
        effort: When to stop.

    Raises:
        InternalError: The numbers left the finite range.
    """
    problem = _Descent(graph, tables, total, start)
    step = 1.0 / max(float(problem.weight.max()), 1e-300)
    theta = descend(problem.at, problem.theta, step, effort)
    conditionals, beliefs = problem.plan.run(theta)
    potentials = dict(zip(problem.cliques, problem.split(theta), strict=True))
    return CliqueModel(problem.nodes, potentials | problem.fixed, conditionals, beliefs, total)


def descend(at: At, theta: Floats, step: float, effort: Effort) -> Floats:
    """Returns the log-potentials of least loss that are met on the way down from `theta`.

    Args:
        at: The problem: marginals, gradient in them and loss.
        theta: Where to begin.
        step: Of the first move.
        effort: When to stop.

    Raises:
        InternalError: The numbers left the finite range.
    """
    marginals, slope, loss = at(theta)
    losses, best = [loss], (loss, theta)
    for _ in range(effort.steps):
        moved = theta - step * slope
        there = at(moved)
        while not there[2] <= max(losses[-MEMORY:]) and step > 1e-300:
            step /= 4
            moved = theta - step * slope
            there = at(moved)
        change = there[0] - marginals
        met, gone = float(change @ (there[1] - slope)), float(change @ (moved - theta))
        theta, (marginals, slope, loss) = moved, there
        losses.append(loss)
        best = min(best, (loss, theta), key=lambda pair: pair[0])
        if len(losses) > MEMORY and _is_settled(losses, effort.gain):
            break
        if met > 0 and gone > 0:
            step = gone / met
    if not math.isfinite(best[0]):
        raise InternalError("inference left the range of finite numbers; nothing is published")
    return best[1]


def _is_settled(losses: list[float], gain: float) -> bool:
    before, now = min(losses[:-MEMORY]), min(losses[-MEMORY:])
    return before - now <= gain * before
