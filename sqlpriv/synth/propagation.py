"""Belief propagation on a junction tree, in log space and without division by small numbers.

On the way up each node's table is made conditional: p(new | separator), every slice scaled by its
own largest cell before the exponential is taken, so a slice's sum is at least 1 and neither
underflows to nothing nor overflows, however far apart the potentials are. What is left over, one
logarithm for each cell of the separator, is the message. On the way down a node's belief is its
conditional times its parent's marginal: no exponential, no quotient, no NaN.
"""

from __future__ import annotations

import math
import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.junction import Clique, Node
from sqlpriv.synth.sampling import Codes, dealt

Floats = NDArray[np.float64]
Potentials = Mapping[Clique, Floats]


SEPARATE = 16
"""Below this many neighbouring cells, numpy adds axes up one small loop at a time: counting them by
number is faster."""
NUMBERED = 300_000
"""Cells of a table whose numbers are kept at most: 8 bytes each."""


@dataclass(frozen=True, eq=False)
class Place:
    """Where a clique lies in a larger table, a node's or another clique's: for adding a table to
    the larger one and for summing one out.

    Args:
        host: Number of the larger table.
        order: The clique's axes in the order of the larger table's columns.
        spread: Shape of the transposed table, 1 for columns that the clique lacks.
        summed: Axes of the larger table that the clique lacks.
        back: The axes that remain of it, in the clique's order.
        shape: Of the clique's table.
        numbers: Of the clique's cell that each cell of the larger table adds to; None where numpy
            adds as fast.
    """

    host: int
    order: tuple[int, ...]
    spread: tuple[int, ...]
    summed: tuple[int, ...]
    back: tuple[int, ...]
    shape: tuple[int, ...]
    numbers: NDArray[np.intp] | None

    def put(self, table: Floats) -> Floats:
        """Returns the clique's table, to be broadcast over the larger one."""
        return table.transpose(self.order).reshape(self.spread)

    def take(self, table: Floats) -> Floats:
        """Returns the marginal of the larger table over the clique."""
        if self.numbers is not None:
            added = np.bincount(self.numbers, table.ravel(), math.prod(self.shape))
            return added.reshape(self.shape).astype(np.float64, copy=False)
        kept: Floats = np.add.reduce(table, axis=self.summed)
        return kept.transpose(self.back)


def place(clique: Clique, host: int, columns: Clique, shape: tuple[int, ...]) -> Place:
    """Returns where a clique (in any order of its columns) lies in a table that holds it."""
    kept = [i for i, c in enumerate(columns) if c in clique]
    own = tuple(shape[columns.index(c)] for c in clique)
    inner = math.prod(shape[kept[-1] :]) if kept and kept[-1] + 1 == len(shape) else SEPARATE
    slow = inner < SEPARATE or kept != list(range(len(kept)))
    numbers = None
    if slow and len(kept) < len(shape) and math.prod(shape) <= NUMBERED:
        at = (
            np.arange(math.prod(own))
            .reshape(own)
            .transpose([clique.index(columns[i]) for i in kept])
        )
        spread = [n if i in kept else 1 for i, n in enumerate(shape)]
        numbers = np.broadcast_to(at.reshape(spread), shape).ravel()
    return Place(
        host,
        tuple(clique.index(columns[i]) for i in kept),
        tuple(n if c in clique else 1 for c, n in zip(columns, shape, strict=True)),
        tuple(i for i, c in enumerate(columns) if c not in clique),
        tuple(kept.index(columns.index(c)) for c in clique),
        own,
        numbers,
    )


class Propagation:
    """The plan for one junction tree and one list of cliques, used again at every step.

    A clique that lies in another one is looked up there, not in a node: most one-way tables lie in
    pairs, and pairs in triples.
    """

    def __init__(self, nodes: Sequence[Node], cliques: Iterable[Clique]) -> None:
        self.nodes = nodes
        self.cliques = tuple(cliques)
        levels = {c: n for node in nodes for c, n in zip(node.columns, node.shape, strict=True)}
        self.shapes = [tuple(levels[c] for c in clique) for clique in self.cliques]
        rank = [(-len(set(clique)), i) for i, clique in enumerate(self.cliques)]
        self.order = [i for _, i in sorted(rank)]
        self.inside = {i: j for at, i in enumerate(self.order) if (j := self._holder(i, at)) >= 0}
        self.places = [self._home(i) for i in range(len(self.cliques))]
        parents = [nodes[node.parent] for node in nodes[1:]]
        self.links = [
            place(node.separator, node.parent, above.columns, above.shape)
            for node, above in zip(nodes[1:], parents, strict=True)
        ]
        self.mine: list[list[int]] = [[] for _ in nodes]
        for i, found in enumerate(self.places):
            if i not in self.inside:
                self.mine[found.host].append(i)

    def _holder(self, i: int, at: int) -> int:
        """Returns the smallest clique that comes before this one in `order` and holds it, or -1."""
        wanted = set(self.cliques[i])
        fits = [j for j in self.order[:at] if wanted <= set(self.cliques[j])]
        return min(fits, key=lambda j: math.prod(self.shapes[j]), default=-1)

    def _home(self, i: int) -> Place:
        clique = self.cliques[i]
        if i in self.inside:
            j = self.inside[i]
            return place(clique, j, self.cliques[j], self.shapes[j])
        wanted = set(clique)
        fits = [n for n, node in enumerate(self.nodes) if wanted <= set(node.columns)]
        best = min(fits, key=lambda n: math.prod(self.nodes[n].shape))
        return place(clique, best, self.nodes[best].columns, self.nodes[best].shape)

    def gathered(self, potentials: Sequence[Floats]) -> list[Floats]:
        """Returns potentials with those of the cliques inside added, by clique; what lies in
        another one is left as it is."""
        found = list(potentials)
        for i in reversed(self.order):
            if i in self.inside:
                j = self.inside[i]
                found[j] = found[j] + self.places[i].put(found[i])
        return found

    def marginals(self, beliefs: Sequence[Floats]) -> list[Floats]:
        """Returns the marginal over each clique, of its shape."""
        found: list[Floats] = [np.empty(0)] * len(self.cliques)
        for i in self.order:
            host = self.places[i].host
            found[i] = self.places[i].take(found[host] if i in self.inside else beliefs[host])
        return found

    def run(self, potentials: Sequence[Floats]) -> tuple[list[Floats], list[Floats]]:
        """Returns conditionals and beliefs of every node, both of its shape.

        Args:
            potentials: One log-potential for each clique of the plan.
        """
        potentials = self.gathered(potentials)
        conditionals: list[Floats] = [np.empty(0)] * len(self.nodes)
        arrived: list[list[Floats]] = [[] for _ in self.nodes]
        for number in range(len(self.nodes) - 1, -1, -1):
            node = self.nodes[number]
            table = np.zeros(node.shape)
            for i in self.mine[number]:
                table += self.places[i].put(potentials[i])
            for message in arrived[number]:
                table += message
            flat = table.reshape(node.rows, -1)
            top = np.maximum.reduce(flat, axis=1, keepdims=True)
            flat -= top
            np.exp(flat, out=flat)
            mass = np.add.reduce(flat, axis=1, keepdims=True)
            flat /= mass
            conditionals[number] = table
            if number:
                message = (top + np.log(mass)).reshape(node.shape[: node.given])
                arrived[node.parent].append(self.links[number - 1].put(message))
        return conditionals, self._down(conditionals)

    def _down(self, conditionals: Sequence[Floats]) -> list[Floats]:
        beliefs = list(conditionals[:1])
        for node, link, table in zip(self.nodes[1:], self.links, conditionals[1:], strict=True):
            weight = link.take(beliefs[node.parent])
            beliefs.append(table * weight.reshape(weight.shape + (1,) * (table.ndim - node.given)))
        return beliefs


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

        Let K be the last node that a column of the clique is born in. The clique's other columns
        are born before and so apart from K's given its separator S: p(clique) = sum over S of
        p(others, S) p(born in K | S), and p(others, S) is found in the same way.
        """
        if clique not in self._known:
            last = max(self._born[c] for c in clique)
            node = self.nodes[last]
            if set(clique) <= set(node.columns):
                found = place(clique, last, node.columns, node.shape).take(self.beliefs[last])
            else:
                found = self._across(clique, last, node)
            self._known[clique] = found
        return self._known[clique]

    def _across(self, clique: Clique, last: int, node: Node) -> Floats:
        inside = tuple(c for c in clique if c in node.new)
        outside = tuple(sorted({*clique, *node.separator} - {*inside}))
        given = (*node.separator, *inside)
        key = (-1 - last, *inside)
        if key not in self._known:
            table = self.conditionals[last]
            self._known[key] = place(given, last, node.columns, node.shape).take(table)
        letter = dict(zip({*outside, *inside}, string.ascii_letters, strict=False))
        names = ["".join(letter[c] for c in columns) for columns in (outside, given, clique)]
        above, below = self.shares(outside), self._known[key]
        return np.asarray(np.einsum(f"{names[0]},{names[1]}->{names[2]}", above, below))

    def draw(self, rows: int, rng: np.random.Generator) -> dict[int, Codes]:
        """Returns the levels of every column, shape (rows,) each: node by node, by rounded counts,
        shuffled inside the cells of the separator (see `sampling.dealt`)."""
        drawn: dict[int, Codes] = {}
        for node, table in zip(self.nodes, self.beliefs, strict=True):
            above = np.zeros(rows, dtype=np.int64)
            for column, size in zip(node.separator, node.shape, strict=False):
                above = above * size + drawn[column]
            cells = dealt(above, table.reshape(node.rows, -1), rng)
            levels = np.unravel_index(cells, node.shape[node.given :])
            drawn.update(zip(node.new, levels, strict=True))
        return drawn
