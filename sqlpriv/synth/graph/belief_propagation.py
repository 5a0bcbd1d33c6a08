"""Belief propagation on a junction tree, in log space and without division by small numbers.

On the way up each node's table is made conditional: p(new | separator), every slice scaled by
itself before the exponential is taken, so that its sum neither underflows to nothing nor overflows,
however far apart the potentials are. What is left over, one logarithm for each cell of the
separator, is the message. On the way down a node's belief is its conditional times its parent's
marginal: no exponential, no NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sqlpriv.synth.graph.embedding import Floats, home, joins, place, row_sums
from sqlpriv.synth.graph.junction_tree import Clique, Node
from sqlpriv.synth.graph.nesting import Nesting

Potentials = Mapping[Clique, Floats]
IMPOSSIBLE = -1e300
"""The log-potential of a cell that nobody can be in: whatever finite is added to it, it stays, and
beside any other cell its exponential is 0. Infinity would need care in every difference."""
LEAST = 1e-250
"""A slice whose cells add up to less is computed anew in log space."""


class Scaled(NamedTuple):
    """A node's table, each slice (a cell of the separator) scaled by itself.

    Args:
        table: Of the node's shape; times exp(log) it is the product of potentials and messages.
        log: Of the scales, shape (cells of the separator, 1).
        mass: What each slice of `table` adds up to, of that shape.
    """

    table: Floats
    log: Floats
    mass: Floats


def exponential(logs: Floats, rows: int) -> Scaled:
    """Returns exp(logs): every slice scaled by its largest cell, so that it adds up to 1 at least
    and neither underflows to nothing nor overflows, however far apart the logs are."""
    flat = logs.reshape(rows, -1)
    top = np.maximum.reduce(flat, axis=1, keepdims=True)
    exponentials = np.exp(flat - top)
    mass = row_sums(exponentials)[:, None]
    return Scaled(exponentials.reshape(logs.shape), top, mass)


def product(ground: Scaled, logs: Floats, factors: Sequence[Floats]) -> Scaled:
    """Returns the exponential of `logs`, which `ground` is already, plus the factors' logs (one and
    more, to be broadcast over it), in a table of its own.

    Exponentials of small tables are multiplied, which is cheaper than one of the large sum. Where
    that leaves next to nothing of a slice, the large one is taken after all.
    """
    rows, tops = len(ground.log), [factor.max() for factor in factors]
    first, *more = (np.exp(f - top) for f, top in zip(factors, tops, strict=True))
    table, log = ground.table * first, ground.log + sum(tops)
    for factor in more:
        table *= factor
    mass = row_sums(table.reshape(rows, -1))[:, None]
    if mass.min() >= LEAST:
        return Scaled(table, log, mass)
    return exponential(sum(factors, logs), rows)


class Propagation:
    """The plan for one junction tree, potentials that stay and cliques whose potentials move, used
    again at every step.

    Tables of the moving cliques are one vector, in the order of the cliques; what lies in another
    one is looked up there (`nesting`). Nodes that no moving clique lies in or below are gone
    through once.
    """

    def __init__(
        self, nodes: Sequence[Node], cliques: Iterable[Clique], fixed: Potentials | None = None
    ) -> None:
        own = tuple(cliques)
        self.nodes, self.cliques = nodes, (*own, *joins(own, nodes))
        levels = {c: n for node in nodes for c, n in zip(node.columns, node.shape, strict=True)}
        shapes = [tuple(levels[c] for c in clique) for clique in self.cliques]
        self.nesting = Nesting(self.cliques, shapes)
        self.cells = self.nesting.ends[len(own)]
        self.hosts = {i: home(self.cliques[i], nodes) for i in self.nesting.outer}
        self.places = {
            i: place(self.cliques[i], nodes[n].columns, nodes[n].shape).often()
            for i, n in self.hosts.items()
        }
        parents = [nodes[node.parent] for node in nodes[1:]]
        self.links = [
            place(node.separator, above.columns, above.shape).often()
            for node, above in zip(nodes[1:], parents, strict=True)
        ]
        self.mine: list[list[int]] = [[] for _ in nodes]
        for i, host in self.hosts.items():
            self.mine[host].append(i)
        self.moving = self._moving()
        self.logs = [np.zeros(node.shape) for node in nodes]
        for clique, table in (fixed or {}).items():
            n = home(clique, nodes)
            self.logs[n] += place(clique, nodes[n].columns, nodes[n].shape).broadcast(table)
        self.still = self._propagated_once()
        self.ground = {n: exponential(self.logs[n], nodes[n].rows) for n in self.moving}

    def _moving(self) -> list[int]:
        """Returns the nodes that a moving clique lies in or below, children first."""
        moving = {number for number, mine in enumerate(self.mine) if mine}
        for number in range(len(self.nodes) - 1, 0, -1):
            if number in moving:
                moving.add(self.nodes[number].parent)
        return sorted(moving, reverse=True)

    def _propagated_once(self) -> dict[int, Scaled]:
        """Returns the tables of the nodes that stay; what they tell their parents stays there."""
        still: dict[int, Scaled] = {}
        for number in range(len(self.nodes) - 1, -1, -1):
            if number not in self.moving:
                still[number] = exponential(self.logs[number], self.nodes[number].rows)
                if number:
                    self.logs[self.nodes[number].parent] += self._message_to_parent(
                        number, still[number]
                    )
        return still

    def _message_to_parent(self, number: int, table: Scaled) -> Floats:
        """Returns a node's message, to be broadcast over its parent's table."""
        node = self.nodes[number]
        message = (table.log + np.log(table.mass)).reshape(node.shape[: node.separator_size])
        return self.links[number - 1].broadcast(message)

    def _up(self, theta: Floats) -> dict[int, Scaled]:
        """Returns the tables of all nodes, those that move anew."""
        whole = np.zeros(self.nesting.ends[-1])
        whole[: self.cells] = theta
        whole = self.nesting.gather_into_holders(whole)
        tables = dict(self.still)
        arrived: dict[int, list[Floats]] = {n: [] for n in self.moving}
        for n in self.moving:
            logs = [self.places[i].broadcast(self.nesting.of(whole, i)) for i in self.mine[n]]
            tables[n] = product(self.ground[n], self.logs[n], [*logs, *arrived[n]])
            if n:
                arrived[self.nodes[n].parent].append(self._message_to_parent(n, tables[n]))
        return tables

    def marginals(self, theta: Floats) -> Floats:
        """Returns the marginals over the cliques.

        Args:
            theta: The cliques' log-potentials.
        """
        tables = self._up(theta)
        beliefs: dict[int, Floats] = {}
        for n in reversed(self.moving):
            each = 1 / tables[n].mass
            if n:
                each *= self.links[n - 1].take(beliefs[self.nodes[n].parent]).reshape(-1, 1)
            flat = tables[n].table.reshape(self.nodes[n].rows, -1)
            flat *= each
            beliefs[n] = tables[n].table
        marginals = np.zeros(self.nesting.ends[-1])
        for i, n in self.hosts.items():
            self.nesting.of(marginals, i)[...] = self.places[i].take(beliefs[n])
        return self.nesting.sum_from_holders(marginals)[: self.cells]

    def run(self, theta: Floats) -> tuple[list[Floats], list[Floats]]:
        """Returns conditionals and beliefs of every node, both of its shape; see `marginals`."""
        tables = self._up(theta)
        conditionals: list[Floats] = []
        beliefs: list[Floats] = []
        for n, node in enumerate(self.nodes):
            flat = tables[n].table.reshape(node.rows, -1) / tables[n].mass
            weight = self.links[n - 1].take(beliefs[node.parent]) if n else np.ones(())
            conditionals.append(flat.reshape(node.shape))
            beliefs.append((flat * weight.reshape(-1, 1)).reshape(node.shape))
        return conditionals, beliefs
