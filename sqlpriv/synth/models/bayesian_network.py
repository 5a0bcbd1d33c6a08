"""Bayesian networks over levels: each column's table given its parents, drawn in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.models.sampling import dealt
from sqlpriv.synth.models.tree_model import Floats


@dataclass(frozen=True, eq=False)
class NetworkNode:
    """One column given its parents.

    Args:
        column: Its number.
        parents: Columns that come before it, in the order of the table's rows (row-major).
        table: Expected counts, shape (product of the parents' levels, levels); nonnegative.
    """

    column: int
    parents: tuple[int, ...]
    table: Floats


@dataclass(frozen=True, eq=False)
class NetworkModel:
    """One stratum's network; a `Model`. `nodes` come parents first."""

    nodes: tuple[NetworkNode, ...]
    size: float

    def sample(
        self, sizes: Sequence[int], rows: int, rng: np.random.Generator
    ) -> NDArray[np.int64]:
        """Returns levels, column by column; every cell is within one of its expected count."""
        drawn = np.zeros((rows, len(sizes)), dtype=np.int64)
        placed: list[int] = []
        for node in self.nodes:
            drawn[:, node.column] = draw_column(drawn, node, sizes, rng, placed)
            placed.append(node.column)
        return drawn


def draw_column(
    drawn: NDArray[np.int64],
    node: NetworkNode,
    sizes: Sequence[int],
    rng: np.random.Generator,
    placed: Sequence[int],
) -> NDArray[np.int64]:
    """Returns one more column for rows whose parents are drawn, shape (rows,); `placed` are all
    columns that are drawn."""
    earlier = [drawn[:, c] for c in placed if c not in node.parents]
    return dealt(flat(drawn, node.parents, sizes), node.table, rng, earlier)


def flat(
    drawn: NDArray[np.int64], columns: Sequence[int], sizes: Sequence[int]
) -> NDArray[np.int64]:
    """Returns the row-major number of each row's cell in the marginal over these columns."""
    number = np.zeros(len(drawn), dtype=np.int64)
    for column in columns:
        number = number * sizes[column] + drawn[:, column]
    return number
