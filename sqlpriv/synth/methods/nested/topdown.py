"""`topdown`: one noised table for each level of places, made to agree from the whole down.

Abowd et al. 2022, "The 2020 Census Disclosure Avoidance System TopDown Algorithm" (Harvard Data
Science Review, arXiv:2204.08986). `hierarchy = 'region, state, puma'` names nested places, the
widest first. All other columns make a table of cells; it is measured for the whole, for each
region, for each state of each region, and so on, at equal shares of the price. From the whole down,
each place's table becomes the nearest nonnegative one whose children add up to the table above, and
then whole numbers (`nested_projection`). `invariants = counts` names a public table of columns of
the hierarchy, from the widest on, and `weight`: sizes of places that are met exactly.

What is nonnegative is no longer unbiased: cells of fewer people than the noise's standard deviation
come out too large, and large ones slightly too small, as the sums above are kept. The noised tables
themselves are unbiased; `tests/synth/methods/test_topdown.py` prints both.

Price: each level is one measurement of disjoint cells, at a share of the price; shares add up to
it. Everything after is post-processing of releases and public facts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.pricing.split import split_price
from sqlpriv.synth.api.ask import Ask, Marginal
from sqlpriv.synth.api.method import Method, Model, Option, Options, Phase, Space, named_columns
from sqlpriv.synth.api.progress import Progress
from sqlpriv.synth.methods.nested.nested_projection import Floats, Mask, nearest_block, whole_block
from sqlpriv.synth.models.row_sample import RowSample

MOST_ROWS = 10_000_000


@dataclass(frozen=True)
class Hierarchy:
    """Columns by number, and how many levels they have.

    Args:
        sizes: Of all columns.
        places: The widest first.
        others: All others, ascending: what is counted of a place.
    """

    sizes: tuple[int, ...]
    places: tuple[int, ...]
    others: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many cells the table of one place has."""
        return math.prod(self.sizes[c] for c in self.others)

    def place_shape(self, depth: int) -> tuple[int, ...]:
        """Returns the levels of the first places; their product are the places of that depth."""
        return tuple(self.sizes[c] for c in self.places[:depth])

    def marginal(self, depth: int, price: Price) -> Marginal:
        """Returns the marginal query that counts the cells of every place of a depth."""
        return Marginal(tuple(sorted((*self.places[:depth], *self.others))), price)

    def table(self, depth: int, release: Release) -> Floats:
        """Returns the noised counts of that query, shape (places, cells)."""
        clique = self.marginal(depth, release.price).clique
        order = (*self.places[:depth], *self.others)
        values: Floats = release.values[0].reshape([self.sizes[c] for c in clique])
        return values.transpose([clique.index(c) for c in order]).reshape(-1, self.cells)


def hierarchy_of(space: Space, options: Options) -> Hierarchy:
    """Returns which columns OPTIONS (hierarchy = …) says are places, and which are not.

    Raises:
        Refused: The option names no column, or one that the table has not.
    """
    places = named_columns(space, options["hierarchy"], "hierarchy")
    if not places:
        raise Refused(
            "topdown needs to know which columns are places",
            hint="OPTIONS (hierarchy = 'region, state, town'), the widest first",
        )
    others = tuple(c for c in range(len(space.sizes)) if c not in places)
    return Hierarchy(space.sizes, places, others)


def phases(space: Space, price: Price, options: Options) -> tuple[Phase, ...]:
    """Returns one measurement for each depth, at equal shares."""
    hierarchy = hierarchy_of(space, options)
    shares = split_price(price, [1.0] * (len(hierarchy.places) + 1))
    measured_depths = []
    for depth, share in enumerate(shares):
        column = hierarchy.places[depth - 1]
        each = space.names[column] if space.names else f"column {column}"
        name = f"tables of each {each}" if depth else "table of the whole"
        measured_depths.append(Phase(name, "noise", share, 1, (hierarchy.marginal(depth, share),)))
    return tuple(measured_depths)


def fit(ask: Ask, space: Space, price: Price, options: Options) -> Sequence[Model]:
    """Returns one table of whole numbers. Spends exactly `price`; see the module."""
    hierarchy = hierarchy_of(space, options)
    depths = range(len(hierarchy.places) + 1)
    sizes = _public_sizes(options["invariants"], len(depths))
    masks = _possible_cells(space, hierarchy, sizes)
    ask.report(Progress("measuring levels of places", 0, len(depths)))
    questions = [phase.marginals[0] for phase in phases(space, price, options)]
    releases = ask.measure(questions)
    whole = hierarchy.table(0, releases[0])
    total = sizes[0]
    if total is None:
        total = np.array([float(min(max(round(float(whole.sum())), 0), MOST_ROWS))])
    solved = _solve(whole.T, total, None, masks[0].T).T
    for depth in depths[1:]:
        ask.report(Progress("making levels agree", depth, len(depths)))
        children, table = hierarchy.place_shape(depth)[-1], hierarchy.table(depth, releases[depth])
        blocks = []
        for place, above in enumerate(solved):
            at, public = slice(place * children, (place + 1) * children), sizes[depth]
            of_children = None if public is None else public[at]
            blocks.append(_solve(table[at], above, of_children, masks[depth][at]))
        solved = np.concatenate(blocks)
    ask.report(Progress("making levels agree", len(depths), len(depths)))
    return (_rows_of(solved, hierarchy),)


def _solve(values: Floats, totals: Floats, sizes: Floats | None, possible: Mask) -> Floats:
    near = nearest_block(values, totals, sizes, possible)
    return whole_block(near, totals, sizes, possible).astype(np.float64)


def _rows_of(solved: Floats, hierarchy: Hierarchy) -> RowSample:
    """Returns as many rows as people, one for each; a row of zeros where there is nobody."""
    counts = solved.ravel().astype(np.int64)
    cells = np.repeat(np.arange(counts.size), counts)
    rows = np.zeros((max(cells.size, 1), len(hierarchy.sizes)), dtype=np.int64)
    if cells.size:
        order = (*hierarchy.places, *hierarchy.others)
        shape = tuple(hierarchy.sizes[c] for c in order)
        rows[:, order] = np.stack(np.unravel_index(cells, shape), axis=1)
    return RowSample(rows, float(cells.size))


def _public_sizes(counts: object, depths: int) -> list[Floats | None]:
    """Returns the public sizes of places by depth; None where there are none.

    Args:
        counts: Of the places of one depth, an axis for each column; None for none.
        depths: How many, the whole included.
    """
    if counts is None:
        return [None] * depths
    assert isinstance(counts, np.ndarray), "the statement reads the table of invariants"
    sizes: list[Floats | None] = []
    for depth in range(depths):
        more = tuple(range(depth, counts.ndim))
        sizes.append(counts.sum(axis=more).ravel() if depth <= counts.ndim else None)
    return sizes


def _possible_cells(
    space: Space, hierarchy: Hierarchy, sizes: Sequence[Floats | None]
) -> list[Mask]:
    """Returns by depth which cells may hold anybody, shape (places, cells). Raises Refused where
    a place of a public size above 0 has no such cell."""
    order = (*hierarchy.places, *hierarchy.others)
    joint = np.ones([space.sizes[c] for c in order], dtype=np.bool_)
    for clique, impossible in space.zeros.items():
        lies = sorted(range(len(clique)), key=lambda i: order.index(clique[i]))
        shape = [space.sizes[c] if c in clique else 1 for c in order]
        joint &= ~impossible.transpose(lies).reshape(shape)
    masks = []
    for depth, public in enumerate(sizes):
        inner = tuple(range(depth, len(hierarchy.places)))
        mask = joint.any(axis=inner).reshape(-1, hierarchy.cells)
        if public is not None and (public[~mask.any(axis=1)] > 0).any():
            raise Refused(
                "zeros leave no possible cell to a place whose public size is above 0",
                hint="the invariants and zeros contradict each other; nothing was read",
            )
        masks.append(mask)
    return masks


METHOD = Method(
    name="topdown",
    title="tables of nested places that agree, in whole numbers, from the whole down",
    paper="Abowd et al. 2022 (arXiv:2204.08986)",
    options=(
        Option("hierarchy", None, "columns of nested places, in quotes, widest first", text=True),
        Option("invariants", None, "a public table of sizes of places, met exactly", text=True),
        Option("cells", 2_000_000, "of a constraint of zeros", least=1, most=20_000_000),
    ),
    max_strata=1,
    max_cells=2_000_000,  # the kernel's limit of a query, which is met after a charge
    arity=None,
    fit=fit,
    phases=phases,
    trees=True,
)
