"""One Newton step of inference in a tree, in time linear in the number of columns.

The curvature couples the multipliers of an edge with each other (through the pair's cells) and
those of all edges at one column (through its one-way cells): a tree of dense blocks. They are
eliminated from the leaves up, each time leaving a quadratic function of one block; then the way
back down gives the step. Every system has as many unknowns as one column has levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sqlpriv.synth.models.tree_model import Floats, Forest

DAMPING = 1e-11
"""Added to each diagonal as a share of the mean variance: levels without any positive cell have no
curvature. It slows the last steps imperceptibly and changes no solution."""


@dataclass(frozen=True, eq=False)
class Multipliers:
    """One number for each agreement that is asked for.

    Args:
        above: By column that has a parent: one for each level of the parent.
        below: By column that has a parent: one for each of its own levels.
        total: By root: one for its total.
    """

    above: Mapping[int, Floats]
    below: Mapping[int, Floats]
    total: Mapping[int, float]

    def add_step(self, step: Multipliers, length: float) -> Multipliers:
        """Returns these plus `length` times a step."""
        return Multipliers(
            {c: x + length * step.above[c] for c, x in self.above.items()},
            {c: x + length * step.below[c] for c, x in self.below.items()},
            {c: x + length * step.total[c] for c, x in self.total.items()},
        )

    def dot(self, other: Multipliers) -> float:
        """Returns the inner product."""
        parts = [float(x @ other.above[c]) for c, x in self.above.items()]
        parts += [float(x @ other.below[c]) for c, x in self.below.items()]
        return sum(parts) + sum(x * other.total[c] for c, x in self.total.items())

    def largest(self) -> float:
        """Returns the largest magnitude."""
        vectors = [*self.above.values(), *self.below.values(), np.array([*self.total.values()])]
        return max(float(np.abs(v).max(initial=0.0)) for v in vectors)


@dataclass(frozen=True, eq=False)
class Curvature:
    """Variances of the cells that move, 0 for the others: one-way (levels,) and pairs (levels of
    the parent, levels), by column."""

    single: Mapping[int, Floats]
    pairs: Mapping[int, Floats]


@dataclass(eq=False)
class _Quadratic:
    """w -> w'Pw/2 + q'w: what is left of a column and all below it, as a function of w, the sum of
    those of its multipliers that are not eliminated yet. `stack` is for the way down."""

    matrix: Floats
    linear: Floats
    stack: list[tuple[int, Floats, Floats]] = field(default_factory=list)

    def without(self, child: int, curved: Floats, sloped: Floats) -> None:
        """Eliminates one block x that adds x'Tx/2 + b'x and is part of the sum: w + x.

        The minimum is at x = -(P + T)^-1 (P w + q + b).
        """
        joined = np.column_stack((self.matrix, self.linear + sloped))
        solved = _solve(self.matrix + curved, joined)
        gain, offset = solved[:, :-1], solved[:, -1]
        self.stack.append((child, gain, offset))
        self.linear = self.linear - self.matrix @ offset
        reduced = self.matrix - self.matrix @ gain
        self.matrix = (reduced + reduced.T) / 2


def newton_step(forest: Forest, curvature: Curvature, slope: Multipliers) -> Multipliers:
    """Returns the step s that solves H s = -slope, H being the (damped) curvature of the dual.

    Claim: the step minimises the sum of
      (z_c)' D_c z_c / 2, z_c = the sum of all multipliers of column c (minus its total's), and
      sum_ij V_ij (x_i + y_j)^2 / 2 for each pair, x above and y below, plus slope' s,
    with D, V the variances in `curvature`; both terms are eliminated exactly.
    """
    scale = [float(v.mean()) for v in (*curvature.single.values(), *curvature.pairs.values())]
    damping = DAMPING * max(float(np.mean(scale)), 1e-300)
    left = {c: _Quadratic(np.diag(v), np.zeros(v.size)) for c, v in curvature.single.items()}
    down: dict[int, tuple[Floats, Floats]] = {}
    for column in reversed(forest.order):
        above = forest.parent[column]
        if above is None:
            continue
        pair, own = curvature.pairs[column], left[column]
        inner = own.matrix + np.diag(pair.sum(axis=0) + damping)
        joined = np.column_stack((pair.T, own.linear + slope.below[column]))
        solved = _solve(inner, joined)
        gain, offset = solved[:, :-1], solved[:, -1]
        down[column] = gain, offset
        curved = np.diag(pair.sum(axis=1) + damping) - pair @ gain
        sloped = slope.above[column] - pair @ offset
        left[above].without(column, (curved + curved.T) / 2, sloped)
    return _way_down(forest, left, down, slope.total, damping)


def _way_down(
    forest: Forest,
    left: Mapping[int, _Quadratic],
    down: Mapping[int, tuple[Floats, Floats]],
    totals: Mapping[int, float],
    damping: float,
) -> Multipliers:
    """Puts what is known back in, from the roots to the leaves."""
    above: dict[int, Floats] = {}
    below: dict[int, Floats] = {}
    total: dict[int, float] = {}
    for column in forest.order:
        own = left[column]
        if forest.parent[column] is None:
            strength = float(own.matrix.sum()) + damping
            total[column] = (float(own.linear.sum()) - totals[column]) / strength
            rest = np.full(own.linear.size, -total[column])
        else:
            gain, offset = down[column]
            rest = below[column] = -(gain @ above[column] + offset)
        for child, gain, offset in reversed(own.stack):
            above[child] = -(gain @ rest + offset)
            rest = rest + above[child]
    return Multipliers(above, below, total)


def _solve(matrix: Floats, sides: Floats) -> Floats:
    return np.asarray(np.linalg.solve(matrix, sides), dtype=np.float64)
