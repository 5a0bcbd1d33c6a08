"""Junction trees: which columns have to be looked at together, and how large that gets.

A model whose potentials are over some cliques of columns is exact on a junction tree: elimination
makes the graph chordal, its maximal cliques are the nodes, and a spanning tree of largest
intersections joins them (Lauritzen and Spiegelhalter 1988; Koller and Friedman 2009, chapter 10).
Sets of columns are bit masks here, because AIM asks for the size of hundreds of trees a round.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

Clique = tuple[int, ...]
Levels = Mapping[int, int]
"""Known levels, by column."""


def remaining_clique(clique: Clique, levels: Levels) -> tuple[Clique, tuple[int | slice, ...]]:
    """Returns the columns of a clique that are left where some have a known level, and the index of
    its table that says so."""
    rest = tuple(c for c in clique if c not in levels)
    return rest, tuple(levels[c] if c in levels else slice(None) for c in clique)


@dataclass(frozen=True)
class Node:
    """A node of a junction tree, seen from its parent.

    Args:
        columns: The separator's columns, then those that are new here; ascending within each.
        shape: How many levels each has.
        separator_size: How many of the columns are the separator's.
        parent: Number of the parent; -1 for the root, which comes first.
    """

    columns: Clique
    shape: tuple[int, ...]
    separator_size: int
    parent: int

    @property
    def separator(self) -> Clique:
        """The columns shared with the parent."""
        return self.columns[: self.separator_size]

    @property
    def new(self) -> Clique:
        """The columns that no earlier node has."""
        return self.columns[self.separator_size :]

    @property
    def rows(self) -> int:
        """How many cells the separator has; 1 for an empty one."""
        return math.prod(self.shape[: self.separator_size])


def mask_of(clique: Iterable[int]) -> int:
    """Returns the set of columns as a bit mask."""
    return sum(1 << column for column in set(clique))


@lru_cache(maxsize=100_000)
def columns_of(mask: int) -> Clique:
    """Returns the columns of a bit mask, ascending."""
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def _core(known: tuple[int, ...], clique: int) -> tuple[tuple[int, ...], list[int]]:
    """Returns what is left of maximal cliques when columns that one alone has, and cliques that lie
    in another, are taken away for as long as there are any, but none of `clique`'s columns (Graham
    1979; Yu and Ozsoyoglu 1979); and the cliques that lost something, whole."""
    left, outer = [(big, big) for big in known], []
    while True:
        once = twice = 0
        for rest, _ in left:
            once, twice = once | rest, twice | once & rest
        alone = once & ~twice & ~clique
        outer += [big for rest, big in left if rest & alone and rest == big]
        cut = sorted(((rest & ~alone, big) for rest, big in left), key=lambda x: -x[0].bit_count())
        kept: list[tuple[int, int]] = []
        for rest, big in cut:
            if not any(rest & other == rest for other, _ in kept):
                kept.append((rest, big))
        if kept == left:
            return tuple(sorted(rest for rest, _ in left)), outer
        left = kept


class Graph:
    """Sizes of columns, and what follows from them for sets of cliques; remembers what it found."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sizes)
        self._cells: dict[int, int] = {0: 1}
        self._grown: dict[tuple[tuple[int, ...], int], list[int]] = {}

    def cells(self, mask: int) -> int:
        """Returns how many cells a table over these columns has."""
        if mask not in self._cells:
            low = mask & -mask
            self._cells[mask] = self.cells(mask ^ low) * self.sizes[low.bit_length() - 1]
        return self._cells[mask]

    def chordal(self, cliques: Iterable[int]) -> list[int]:
        """Returns the maximal cliques after elimination: those that need no new edge first, then
        those that make the smallest table."""
        near: dict[int, int] = {}
        for clique in cliques:
            for column in columns_of(clique):
                near[column] = near.get(column, 0) | clique
        maximal_cliques: list[int] = []
        while near:
            column = min(near, key=lambda c: (self._fills(c, near), self.cells(near[c]), c))
            clique = near.pop(column)
            if not any(clique & big == clique for big in maximal_cliques):
                maximal_cliques.append(clique)
            rest = clique & ~(1 << column)
            for other in columns_of(rest):
                near[other] = (near[other] | rest) & ~(1 << column)
        return maximal_cliques

    @staticmethod
    def _fills(column: int, near: dict[int, int]) -> bool:
        clique = near[column]
        return any(clique & ~near[other] for other in columns_of(clique) if other != column)

    def size(self, cliques: Iterable[int]) -> int:
        """Returns the cells of a junction tree that holds these cliques."""
        return sum(map(self.cells, self.chordal(cliques)))

    def size_with(self, known: tuple[int, ...], clique: int) -> int:
        """Returns the size with one more clique, 0 where a known one holds it.

        Args:
            known: The maximal cliques of a chordal graph.
            clique: The columns that are joined.

        Only what lies between the clique's columns can change: the rest is taken away first. What
        is left is much the same from round to round and from stratum to stratum: remembered.
        """
        if any(clique & big == clique for big in known):
            return 0
        core, outer = _core(known, clique)
        if (core, clique) not in self._grown:
            self._grown[core, clique] = self.chordal((*core, clique))
        grown = self._grown[core, clique]
        inner = [new for new in grown if not any(new & big == new for big in outer)]
        return sum(map(self.cells, (*outer, *inner)))

    def tree(self, cliques: Iterable[Clique]) -> tuple[Node, ...]:
        """Returns the nodes of a junction tree that holds these cliques, parents first.

        Trees of columns that nothing joins hang from each other by empty separators.
        """
        left = sorted(self.chordal(map(mask_of, cliques)), key=self.cells, reverse=True)
        placed, nodes = left[:1], [self._node(left[0], 0, -1)] if left else []
        left = left[1:]
        while left:
            pairs = ((i, mask) for i in range(len(placed)) for mask in left)
            _, parent, mask = max(((placed[i] & m).bit_count(), -i, m) for i, m in pairs)
            nodes.append(self._node(mask, mask & placed[-parent], -parent))
            placed.append(mask)
            left.remove(mask)
        return tuple(nodes)

    def _node(self, mask: int, separator: int, parent: int) -> Node:
        shared_columns = columns_of(separator)
        columns = (*shared_columns, *columns_of(mask & ~separator))
        return Node(columns, tuple(self.sizes[c] for c in columns), len(shared_columns), parent)
