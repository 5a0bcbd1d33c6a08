"""Strata that add up to the population: potentials shared by all strata, moved until their sum is
nearest to what was measured of everybody.

A stratum's own measurements pull its model off the population's, each with noise of its own, and
the sum of many is noisier than one measurement of the sum. The population's tables are therefore
met again: minimise over one log-potential table for each of them, added to the model of every
stratum, the squared distance of the strata's sum from the noisy table in units of its variance. It
is the problem of `mirror` with the mixture of the strata in place of one model; from where it
starts, it finds the mixture nearest in relative entropy (Csiszar 1975), so each stratum gives way
in proportion to its size. Tables over columns of strata move only the strata that they are about.
Where columns were measured inside strata, the strata's own tables of them are among what is met.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.adaptive.joint.pool_layout import Layout
from sqlpriv.synth.adaptive.stratum_run import Run, average_tables
from sqlpriv.synth.graph.belief_propagation import Propagation
from sqlpriv.synth.graph.embedding import Floats
from sqlpriv.synth.graph.junction_tree import Clique, Levels, remaining_clique
from sqlpriv.synth.inference.mirror_descent import Effort, descend
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA
from sqlpriv.synth.models.clique_model import CliqueModel
from sqlpriv.synth.models.tree_model import Noisy

EFFORT = Effort(steps=30, gain=1e-3)


def reconcile_models(
    models: Sequence[CliqueModel],
    levels: Sequence[Levels],
    tables: Mapping[Clique, Noisy],
    total: float,
) -> list[CliqueModel]:
    """Returns the strata's models, moved together towards the population's tables.

    Args:
        models: One for each stratum, whose total is its size.
        levels: The levels that the stratum is made of, by column.
        tables: Noisy counts of the population: each has a column that is not of `levels`, and what
            it has beside those lies in one node of every model.
        total: What the population's tables add up to, about; above 0.
    """
    problem = _Mixture(models, levels, tables, total)
    step = 1.0 / max(float(problem.weight.max()), 1e-300)
    theta = descend(problem.at, np.zeros(problem.target.size), step, EFFORT)
    return problem.models_with(theta)


def reconcile_with_population(
    everybody: Run,
    models: Sequence[CliqueModel],
    part: Sequence[int],
    layout: Layout,
    sigmas: Mapping[int, float],
) -> list[CliqueModel]:
    """Moves the models of the strata that took part; the others' are the population's already.

    A column that was measured inside strata stays near what the strata's models have of it, as far
    as the noise there says: else the noise of the population's tables would take its place.

    Args:
        everybody: The population.
        models: One for each stratum.
        part: Who took part.
        layout: Columns by number.
        sigmas: By column, the noise of its tables inside strata.
    """
    tables = {
        clique: Noisy(noisy.values.copy(), noisy.variance)
        for clique, noisy in everybody.tables.items()
        if {*clique} - {*layout.strata}
    }
    total = everybody.size
    for s in sorted({*range(len(models))} - {*part}):
        total -= models[s].total
        for clique, noisy in tables.items():
            rest, at = remaining_clique(clique, layout.space.levels(s))
            noisy.values[at] -= models[s].counts(rest)
    for column, sigma in sigmas.items():
        inside = np.zeros((len(models), layout.graph.sizes[column]))
        for s in part:
            inside[s] = models[s].counts((column,))
        values = inside.T.reshape(-1, *layout.strata_sizes)
        noise = np.full(values.shape, max(sigma, LEAST_SIGMA) ** 2)
        clique = (column, *layout.strata)
        own = Noisy(values, noise)
        tables[clique] = average_tables(own, tables[clique]) if clique in tables else own
    levels = [layout.space.levels(s) for s in part]
    reconciled = reconcile_models([models[s] for s in part], levels, tables, max(total, 1.0))
    moved = dict(zip(part, reconciled, strict=True))
    return [moved.get(s, model) for s, model in enumerate(models)]


class _Mixture:
    """The flattened problem: all cells of the population's tables one after the other."""

    def __init__(
        self,
        models: Sequence[CliqueModel],
        levels: Sequence[Levels],
        tables: Mapping[Clique, Noisy],
        total: float,
    ) -> None:
        self.models, whole = models, sum(model.total for model in models)
        self.shares = [model.total / whole for model in models]
        self.given = [[remaining_clique(clique, fixed) for clique in tables] for fixed in levels]
        self.plans = [
            Propagation(model.nodes, [rest for rest, _ in mine], model.potentials)
            for model, mine in zip(models, self.given, strict=True)
        ]
        self.shapes = [noisy.values.shape for noisy in tables.values()]
        self.ends = np.cumsum([0, *map(math.prod, self.shapes)]).tolist()
        numbers = self._split(np.arange(self.ends[-1]))
        self.mine = [  # the cells of `tables` that are about each stratum
            np.concatenate([x[at].ravel() for x, (_, at) in zip(numbers, mine, strict=True)])
            for mine in self.given
        ]
        flat = [(n.values.ravel() / total, total**2 / n.variance.ravel()) for n in tables.values()]
        self.target, self.weight = (np.concatenate(x) for x in zip(*flat, strict=True))

    def _split(self, flat: NDArray[Any]) -> list[NDArray[Any]]:
        ends = zip(self.ends[:-1], self.ends[1:], self.shapes, strict=True)
        return [flat[a:b].reshape(shape) for a, b, shape in ends]

    def at(self, theta: Floats) -> tuple[Floats, Floats, float]:
        """Returns the mixture's marginals, the gradient and the loss."""
        marginals = np.zeros_like(theta)
        for plan, mine, share in zip(self.plans, self.mine, self.shares, strict=True):
            marginals[mine] += share * plan.marginals(theta[mine])
        apart = marginals - self.target
        slope = self.weight * apart
        return marginals, slope, 0.5 * float(slope @ apart)

    def models_with(self, theta: Floats) -> list[CliqueModel]:
        """Returns the models with these potentials added."""
        moved_models = []
        for s, model in enumerate(self.models):
            potentials = dict(model.potentials)
            for table, (rest, at) in zip(self._split(theta), self.given[s], strict=True):
                potential = potentials.get(rest)
                potentials[rest] = table[at] if potential is None else potential + table[at]
            conditionals, beliefs = self.plans[s].run(theta[self.mine[s]])
            moved = CliqueModel(model.nodes, potentials, conditionals, beliefs, model.total)
            moved_models.append(moved)
        return moved_models
