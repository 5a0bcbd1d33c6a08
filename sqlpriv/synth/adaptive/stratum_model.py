"""A stratum's model over cliques of columns, as `synthesis` draws from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.api.method import Space
from sqlpriv.synth.graph.belief_propagation import IMPOSSIBLE
from sqlpriv.synth.graph.embedding import Floats
from sqlpriv.synth.graph.junction_tree import Clique, Graph, Levels, remaining_clique
from sqlpriv.synth.models.clique_model import CliqueModel, product_model


@dataclass(frozen=True, eq=False)
class StratumCliques:
    """One stratum as a junction tree; a `Model`.

    Args:
        model: Over the columns that have more than one level; of any others nothing is drawn.
        size: The noised number of rows; may be negative.
        merged: Whether it is what the population's model says of this stratum, which is too small
            to have said anything of itself.
    """

    model: CliqueModel
    size: float
    merged: bool = False

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels node by node; see `method.Model`."""
        drawn = np.zeros((rows, len(sizes)), dtype=np.int64)
        for column, codes in self.model.draw(rows, rng).items():
            if column < len(sizes):
                drawn[:, column] = codes
        return drawn


def knowing_zeros(space: Space, graph: Graph, levels: Levels) -> CliqueModel | None:
    """Returns the model, of the columns that are constrained, that knows what cannot be where
    some columns have these levels, and nothing else; None where that is nothing."""
    potentials: dict[Clique, Floats] = {}
    for clique, mask in space.zeros.items():
        rest, at = remaining_clique(clique, levels)
        if rest:
            table = np.where(mask[at], IMPOSSIBLE, 0.0)
            potentials[rest] = table + potentials.get(rest, 0.0)
    return product_model(potentials, graph, 1.0) if potentials else None


def condition_model(model: CliqueModel, graph: Graph, levels: Levels) -> CliqueModel:
    """Returns the model of the rows that have these levels, over the other columns; its total is
    theirs, at least 1."""
    potentials: dict[Clique, Floats] = {}
    for clique, table in model.potentials.items():
        rest, at = remaining_clique(clique, levels)
        if rest:
            potential = potentials.get(rest)
            potentials[rest] = table[at] if potential is None else potential + table[at]
    fixed = tuple(sorted(levels))
    size = float(model.counts(fixed)[tuple(levels[c] for c in fixed)])
    return product_model(potentials, graph, max(size, 1.0))
