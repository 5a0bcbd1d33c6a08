"""Where cliques lie in the nodes of a junction tree, or in each other."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.synth.graph.junction_tree import Clique, Node

Floats = NDArray[np.float64]

NUMBERED = 300_000
"""Cells of a table whose numbers are kept at most: 8 bytes each."""
SMALLER = 3
"""How many times a node must be as large as what is joined in its place."""


@dataclass(frozen=True, eq=False)
class Embedding:
    """Where a clique lies in a larger table, a node's or another clique's: for adding a table to
    the larger one and for summing one out.

    Args:
        order: The clique's axes in the order of the larger table's columns.
        spread: Shape of the transposed table, 1 for columns that the clique lacks.
        front: Shape of the larger table without the last axes that the clique lacks.
        tail: How many cells those axes have.
        summed: Axes of `front` that the clique lacks.
        back: The axes that remain of it, in the clique's order.
        shape: Of the clique's table.
        numbers: Of the clique's cell that each cell of `front` adds to; None where that is all, or
            it is not done often.
    """

    order: tuple[int, ...]
    spread: tuple[int, ...]
    front: tuple[int, ...]
    tail: int
    summed: tuple[int, ...]
    back: tuple[int, ...]
    shape: tuple[int, ...]
    numbers: NDArray[np.intp] | None = None

    def broadcast(self, table: NDArray[Any]) -> NDArray[Any]:
        """Returns the clique's table, to be broadcast over the larger one."""
        return table.transpose(self.order).reshape(self.spread)

    def take(self, table: Floats) -> Floats:
        """Returns the marginal of the larger table over the clique."""
        if self.tail > 1:
            table = row_sums(table.reshape(-1, self.tail))
        if self.numbers is not None:
            sums = np.bincount(self.numbers, table.ravel(), math.prod(self.shape))
            return sums.reshape(self.shape).astype(np.float64, copy=False)
        kept: Floats = np.add.reduce(table.reshape(self.front), axis=self.summed)
        return kept.transpose(self.back)

    def often(self) -> Embedding:
        """Returns the same place, made ready to be taken from often."""
        if not self.summed or math.prod(self.front) > NUMBERED:
            return self
        at = self.broadcast(np.arange(math.prod(self.shape)).reshape(self.shape))
        whole = at.reshape(at.shape[: len(self.front)])
        return replace(self, numbers=np.broadcast_to(whole, self.front).ravel())


def row_sums(rows: Floats) -> Floats:
    """Returns the sum of each row: what `sum` is many times slower at where rows are short."""
    sums: Floats = rows @ _ones(rows.shape[1])
    return sums


@lru_cache(maxsize=1_000)
def _ones(size: int) -> Floats:
    return np.ones(size)


@lru_cache(maxsize=20_000)
def place(clique: Clique, columns: Clique, shape: tuple[int, ...]) -> Embedding:
    """Returns where a clique (in any order of its columns) lies in a table that holds it."""
    kept = [c for c in columns if c in clique]
    front = 1 + max((i for i, c in enumerate(columns) if c in clique), default=-1)
    return Embedding(
        tuple(clique.index(c) for c in kept),
        tuple(n if c in clique else 1 for c, n in zip(columns, shape, strict=True)),
        shape[:front],
        math.prod(shape[front:]),
        tuple(i for i, c in enumerate(columns[:front]) if c not in clique),
        tuple(kept.index(c) for c in clique),
        tuple(shape[columns.index(c)] for c in clique),
    )


def home(clique: Clique, nodes: Sequence[Node]) -> int:
    """Returns the number of the smallest node that holds the clique."""
    wanted = set(clique)
    fits = [n for n, node in enumerate(nodes) if wanted <= set(node.columns)]
    return min(fits, key=lambda n: math.prod(nodes[n].shape))


def joins(cliques: Iterable[Clique], nodes: Sequence[Node]) -> list[Clique]:
    """Returns unions of cliques of one node that are much smaller than the node: a step goes over
    them in place of the node for each of their cliques."""
    hosted: dict[int, list[frozenset[int]]] = {}
    for clique in cliques:
        hosted.setdefault(home(clique, nodes), []).append(frozenset(clique))
    unions = []
    for number, sets in hosted.items():
        node = nodes[number]
        sizes = dict(zip(node.columns, node.shape, strict=True))
        left = {s for s in sets if not any(s < other for other in sets)}
        while len(left) > 1:
            pairs = ((a | b) for a, b in itertools.combinations(left, 2))
            cells, union = min((math.prod(sizes[c] for c in u), sorted(u)) for u in pairs)
            if cells * SMALLER > math.prod(node.shape):
                break
            left = {s for s in left if not s <= {*union}} | {frozenset(union)}
            unions.append(tuple(c for c in node.columns if c in union))
    return unions
