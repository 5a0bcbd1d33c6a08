"""Tables of cliques that lie in one another, as one vector of all their cells.

Most one-way tables lie in pairs, and pairs in triples. What lies in another table is looked up
there and not in a node, all of one depth at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.graph.embedding import Floats, place
from sqlpriv.synth.graph.junction_tree import Clique

Numbers = NDArray[np.intp]


class Nesting:
    """Which of some cliques lie in which.

    Args:
        cliques: In any order, of any order of their columns.
        shapes: Of their tables.
    """

    def __init__(self, cliques: Sequence[Clique], shapes: Sequence[tuple[int, ...]]) -> None:
        self.cliques, self.shapes = cliques, shapes
        self.ends = np.cumsum([0, *map(math.prod, shapes)]).tolist()
        order = sorted(range(len(cliques)), key=lambda i: (-len(cliques[i]), i))
        depth: dict[int, int] = {}
        cells: list[list[tuple[Numbers, Numbers]]] = []
        for at, i in enumerate(order):
            wanted = set(cliques[i])
            holders = [j for j in order[:at] if wanted <= set(cliques[j])]
            if not holders:
                depth[i] = 0
                continue
            host = min(holders, key=lambda j: self.ends[j + 1] - self.ends[j])
            depth[i] = depth[host] + 1
            cells += [[] for _ in range(depth[i] - len(cells))]
            cells[depth[i] - 1].append((self.of(np.arange(self.ends[-1]), host), self._in(i, host)))
        self.outer = tuple(sorted(i for i, d in depth.items() if d == 0))
        self.depths: list[tuple[Numbers, Numbers]] = []
        for pairs in cells:
            holding, held = zip(*pairs, strict=True)
            self.depths.append((np.concatenate([x.ravel() for x in holding]), np.concatenate(held)))

    def of(self, flat: NDArray[Any], clique: int) -> NDArray[Any]:
        """Returns a view of one clique's part of a vector, of the clique's shape."""
        return flat[self.ends[clique] : self.ends[clique + 1]].reshape(self.shapes[clique])

    def _in(self, clique: int, host: int) -> Numbers:
        """Returns the place of the clique's cell that each cell of its host adds to."""
        own = np.arange(self.ends[clique], self.ends[clique + 1]).reshape(self.shapes[clique])
        lies = place(self.cliques[clique], self.cliques[host], self.shapes[host])
        return np.broadcast_to(lies.broadcast(own), self.shapes[host]).ravel()

    def gather_into_holders(self, flat: Floats) -> Floats:
        """Returns the vector with what lies in a table added to it; what lies there is left."""
        for holding, held in reversed(self.depths):
            flat = flat + np.bincount(holding, flat[held], flat.size)
        return flat

    def sum_from_holders(self, flat: Floats) -> Floats:
        """Returns the vector with the tables that lie in others, which are 0, summed from them."""
        for holding, held in self.depths:
            flat = flat + np.bincount(held, flat[holding], flat.size)
        return flat
