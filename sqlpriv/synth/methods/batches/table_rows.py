"""Rows made of noised marginals: drawn from a tree of pairs, then edited to agree with all.

The tree is the spanning tree of the pairs that are furthest from independent, by the released
tables alone; its distribution is fitted as `mst` fits its own. `edited_rows` does the rest, in
place of PrivSyn's gradually updating method and of a junction tree, which all pairs of ten columns
make too large.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from sqlpriv.synth.inference import engines
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats, onto_simplex
from sqlpriv.synth.methods.mixed.candidate_tables import one_way_shares
from sqlpriv.synth.methods.mixed.edited_rows import EditedRows, FittedTable, GroupAxis, PlacedRows
from sqlpriv.synth.models.row_sample import RowSample
from sqlpriv.synth.models.sampling import draw
from sqlpriv.synth.models.tree_model import Edge, Noisy, Problem

MOST_ROWS = 30_000
"""Rows of a stratum that are edited; of more people, each stands for several."""
EDITS = 60
"""Edits proposed for each row."""
SEED = 0
"""Of edits, which are no noise."""

Tables = Mapping[tuple[int, ...], tuple[Floats, float]]
"""By ascending columns: noised counts, shape (levels of each column), and sigma."""


def rows_of_tables(tables: Tables, sizes: Sequence[int], size: float) -> RowSample:
    """Returns rows that agree with the tables as nearly as edits make them.

    Args:
        tables: Of one stratum; every column of several levels has one of its own.
        sizes: Levels of every column.
        size: The noised number of people.
    """
    rng, total = np.random.default_rng(SEED), max(size, 1.0)
    ones = {c: t for (c, *more), t in tables.items() if not more}
    nodes = {c: _noisy(values, sigma) for c, (values, sigma) in ones.items()}
    pairs = {(q[0], q[1]): t for q, t in tables.items() if len(q) == 2}
    edges = {e: _noisy(*pairs[e]) for e in _spanning_tree(pairs, ones, total)}
    tree = engines.ENGINES["numpy"](Problem(nodes, edges, total))
    count = max(1, min(round(total), MOST_ROWS))
    levels = np.zeros((count, len(sizes)), dtype=np.int64)
    for column, codes in draw(tree, count, rng).items():
        levels[:, column] = codes
    rows = PlacedRows(levels, np.zeros(levels.shape))
    editor = EditedRows(rows, total, one_way_shares(levels, sizes))
    editor.fit_tables(
        [
            FittedTable(tuple(GroupAxis(c, np.arange(sizes[c])) for c in clique), values, sigma)
            for clique, (values, sigma) in tables.items()
        ]
    )
    editor.edit(EDITS * count, rng)
    return RowSample(rows.levels, size)


def _noisy(values: Floats, sigma: float) -> Noisy:
    return Noisy(values, np.full(values.shape, max(sigma, LEAST_SIGMA) ** 2))


def _spanning_tree(
    pairs: Mapping[Edge, tuple[Floats, float]],
    ones: Mapping[int, tuple[Floats, float]],
    total: float,
) -> list[Edge]:
    """Returns a forest of the pairs that are furthest from independent, less what noise adds."""
    shares = {c: onto_simplex(values, total) / total for c, (values, _) in ones.items()}
    far: list[tuple[float, Edge]] = []
    for edge, (values, sigma) in pairs.items():
        alone = total * np.outer(shares[edge[0]], shares[edge[1]])
        noise = math.sqrt(2 / math.pi) * sigma * values.size
        far.append((float(np.abs(values - alone).sum()) - noise, edge))
    part = {c: c for c in ones}
    tree: list[Edge] = []
    for score, (u, v) in sorted(far, reverse=True):
        if part[u] != part[v] and score > 0:
            tree.append((u, v))
            old = part[u]
            part = {c: part[v] if p == old else p for c, p in part.items()}
    return tree
