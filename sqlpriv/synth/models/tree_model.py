"""Trees of columns: what is measured of them, and the models that are fitted to it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Edge = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Noisy:
    """A noisy table and the variance of its cells, of one shape."""

    values: Floats
    variance: Floats

    @property
    def turned(self) -> Noisy:
        """The same table with its two columns swapped."""
        return Noisy(self.values.T, self.variance.T)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is known of one stratum.

    Args:
        nodes: A noisy one-way table for each column, by column.
        edges: A noisy two-way table (levels of u, levels of v) for each edge (u, v): no cycles.
        total: How many rows; above 0.
    """

    nodes: Mapping[int, Noisy]
    edges: Mapping[Edge, Noisy]
    total: float


@dataclass(frozen=True)
class Forest:
    """Columns in an order in which parents come first; the parent of a root is None."""

    order: tuple[int, ...]
    parent: Mapping[int, int | None]

    @property
    def roots(self) -> tuple[int, ...]:
        """The columns without a parent."""
        return tuple(column for column in self.order if self.parent[column] is None)


@dataclass(frozen=True, eq=False)
class TreeModel:
    """One stratum's distribution.

    Args:
        forest: Which column depends on which.
        tables: For each column its expected counts: shape (levels,) for a root, (levels of its
            parent, levels) for any other. Nonnegative; they agree on shared columns.
        total: The number of rows they add up to.
    """

    forest: Forest
    tables: Mapping[int, Floats]
    total: float


def root_forest(columns: Sequence[int], edges: Sequence[Edge]) -> Forest:
    """Returns the forest of these edges, each tree hung from its column of most edges."""
    near: dict[int, list[int]] = {c: [] for c in columns}
    for u, v in edges:
        near[u].append(v)
        near[v].append(u)
    parent: dict[int, int | None] = {}
    order: list[int] = []
    for root in sorted(columns, key=lambda c: -len(near[c])):
        if root in parent:
            continue
        parent[root] = None
        waiting = deque([root])
        while waiting:
            node = waiting.popleft()
            order.append(node)
            fresh = [c for c in near[node] if c not in parent]
            parent.update(dict.fromkeys(fresh, node))
            waiting.extend(fresh)
    return Forest(tuple(order), parent)
