"""A distribution over columns as a junction tree: its marginals, and rows drawn from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sqlpriv.synth.graph.belief_propagation import Potentials, Propagation
from sqlpriv.synth.graph.embedding import Floats, place
from sqlpriv.synth.graph.junction_tree import Clique, Graph, Node
from sqlpriv.synth.models.sampling import Codes, dealt


@dataclass(frozen=True, eq=False)
class CliqueModel:
    """A distribution over columns, and how many rows it stands for.

    Args:
        nodes: The junction tree.
        potentials: Log-potentials by clique (ascending columns); the model is their product.
        conditionals, beliefs: By node, of its shape: p(new | separator) and p(node).
        total: Rows; above 0.
    """

    nodes: tuple[Node, ...]
    potentials: Potentials
    conditionals: Sequence[Floats]
    beliefs: Sequence[Floats]
    total: float

    @property
    def cells(self) -> int:
        """How many cells the junction tree has."""
        return sum(belief.size for belief in self.beliefs)

    @cached_property
    def _known(self) -> dict[Clique, Floats]:
        return {(): np.ones(())}

    @cached_property
    def _born(self) -> dict[int, int]:
        """The first node that has each column."""
        return {column: i for i, node in enumerate(self.nodes) for column in node.new}

    def counts(self, clique: Clique) -> Floats:
        """Returns the expected marginal over ascending columns, of their shape."""
        return self.total * self.shares(clique)

    def shares(self, clique: Clique) -> Floats:
        """Returns the marginal as shares of 1; remembered, with those it was made from.

        In a node the table of all columns but the last of those that are to go is made first, and
        so on: what many cliques have in common is added up once, and most of it in small tables.
        Beyond, let K be the last node that a column of the clique is born in. The clique's other
        columns are born before and so apart from K's given its separator S: p(clique) = sum over S
        of p(others, S) p(born in K | S), and p(others, S) is found in the same way.
        """
        if clique not in self._known:
            last = max(self._born[c] for c in clique)
            node = self.nodes[last]
            if set(clique) <= set(node.columns):
                shares = self._inside(clique, last, node)
            else:
                shares = self._across(clique, last, node)
            self._known[clique] = shares
        return self._known[clique]

    def _inside(self, clique: Clique, last: int, node: Node) -> Floats:
        gone = [
            (size, c) for c, size in zip(node.columns, node.shape, strict=True) if c not in clique
        ]
        if not gone:
            return np.ascontiguousarray(_transpose(self.beliefs[last], node.columns, clique))
        smallest = min(gone)[1]
        larger = tuple(sorted((*clique, smallest)))
        shares: Floats = np.add.reduce(self.shares(larger), axis=larger.index(smallest))
        return shares

    def _across(self, clique: Clique, last: int, node: Node) -> Floats:
        inside = tuple(c for c in clique if c in node.new)
        columns, key = (*node.separator, *inside), (-1 - last, *inside)
        if key not in self._known:
            lies = place(columns, node.columns, node.shape)
            self._known[key] = lies.take(self.conditionals[last])
        kept = tuple(c for c in node.separator if c in clique)
        gone = tuple(c for c in node.separator if c not in clique)
        others = tuple(c for c in clique if c not in node.columns)
        outside, order = tuple(sorted((*others, *node.separator))), (*kept, *others, *inside)
        above = _transpose(self.shares(outside), outside, (*kept, *others, *gone))
        below = _transpose(self._known[key], columns, (*kept, *gone, *inside))
        shape = above.shape[: len(kept) + len(others)] + below.shape[len(node.separator) :]
        cells = (
            math.prod(below.shape[: len(kept)]),
            math.prod(below.shape[len(kept) :][: len(gone)]),
        )
        shares = above.reshape(cells[0], -1, cells[1]) @ below.reshape(*cells, -1)
        return np.ascontiguousarray(_transpose(shares.reshape(shape), order, clique))

    def draw(self, rows: int, rng: np.random.Generator) -> dict[int, Codes]:
        """Returns the levels of every column, shape (rows,) each: node by node, by rounded counts,
        spread evenly inside the cells of the separator (see `sampling`)."""
        drawn: dict[int, Codes] = {}
        for node, table in zip(self.nodes, self.beliefs, strict=True):
            above = np.zeros(rows, dtype=np.int64)
            for column, size in zip(node.separator, node.shape, strict=False):
                above = above * size + drawn[column]
            earlier = [codes for column, codes in drawn.items() if column not in node.separator]
            cells = dealt(above, table.reshape(node.rows, -1), rng, earlier)
            levels = np.unravel_index(cells, node.shape[node.separator_size :])
            drawn.update(zip(node.new, levels, strict=True))
        return drawn


def _transpose(table: Floats, columns: Clique, order: Clique) -> Floats:
    """Returns the table with its axes, those of the columns, in another order."""
    return table.transpose([columns.index(c) for c in order])


def product_model(potentials: Potentials, graph: Graph, total: float) -> CliqueModel:
    """Returns the model that is the product of these potentials."""
    nodes = graph.tree(potentials)
    conditionals, beliefs = Propagation(nodes, (), potentials).run(np.zeros(0))
    return CliqueModel(nodes, potentials, conditionals, beliefs, total)
