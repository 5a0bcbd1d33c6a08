"""Relaxed rows in JAX: shares in place of categories, places in place of numbers, moved by Adam.

A category of a row is a softmax over its levels. A number is a place on its axis of levels, [0,
levels), or (`rap`) a softmax, too. The cell of a row on an axis is then not a number but shares of
all cells: groups of levels of a category have the sums of their levels' shares; a number lies
between two edges by a difference of sigmoids, whose temperature falls from pass to pass (Vietri et
al. 2022, Algorithm 1: small slopes first, for gradients far from an edge, steep ones last, for the
queries as they are meant). A table is the sum over rows of products of the axes' shares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from sqlpriv.synth.api.method import Space
from sqlpriv.synth.inference.one_way_tables import LEAST_SIGMA, Floats
from sqlpriv.synth.methods.mixed.candidate_tables import CandidateTable
from sqlpriv.synth.methods.mixed.edited_rows import FittedTable, FormAxis, GroupAxis
from sqlpriv.synth.models.product_mixture import MixtureModel

SLOPES = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Inverse temperatures, in units of one over a level or a slice's bin."""
RATE = 0.1
"""Of Adam, for logits and for places in levels."""
APART = 0.5
"""Standard deviation of the logits that rows begin with: rows that are alike stay alike."""

Weights = dict[str, Any]


class RelaxedRows:
    """The rows of one stratum; a `table_rounds.FittedRows`.

    Args:
        space: Of the columns.
        shares: By column, of its levels, to begin with.
        count: How many rows.
        total: How many people they stand for, above 0.
        placed: The columns whose rows have a place in place of shares.
        steps: Of Adam, at each temperature.
        seed: Of the beginning: post-processing, no secret.
    """

    def __init__(
        self,
        space: Space,
        shares: Mapping[int, Floats],
        count: int,
        total: float,
        placed: Sequence[int],
        steps: int,
        seed: int,
    ) -> None:
        rng = np.random.default_rng(seed)
        self._space, self._total, self._steps = space, total, steps
        self._placed, self.count = tuple(c for c in placed if c in shares), count
        self._tables: list[FittedTable] = []
        self._weights: Weights = {}
        for column, share in shares.items():
            if column in self._placed:
                drawn = rng.choice(share.size, count, p=share / share.sum())
                start = drawn + rng.random(count)
            else:
                normal = rng.normal(0.0, APART, (count, share.size))
                start = np.log(share / share.sum() + 1e-6) + normal
            self._weights[str(column)] = jnp.asarray(start, jnp.float32)

    def counts(self, table: CandidateTable) -> Floats:
        """Returns how many people the rows stand for in each cell of a table, of its shape."""
        shares = self._table_shares(self._weights, table.fitted, SLOPES[-1])
        return np.asarray(shares, dtype=np.float64) * self._total

    def start_with(self, tables: Sequence[FittedTable]) -> None:
        """Adds tables that the rows agree with to begin with."""
        self._tables += tables

    def learn(self, tables: Sequence[FittedTable], last: bool) -> None:
        """Moves the rows towards all tables so far, by Adam, from flat slopes to steep ones."""
        self._tables += tables
        cells = sum(t.counts.size for t in self._tables)
        targets = [jnp.asarray(t.counts / self._total, jnp.float32) for t in self._tables]
        least = min(max(t.sigma, LEAST_SIGMA) for t in self._tables)
        trust = [(least / max(t.sigma, LEAST_SIGMA)) ** 2 for t in self._tables]
        axes = [t.axes for t in self._tables]

        def loss(weights: Weights, slope: Any) -> Any:
            apart = [
                w * jnp.sum((self._table_shares(weights, a, slope) - y) ** 2)
                for a, y, w in zip(axes, targets, trust, strict=True)
            ]
            return sum(apart) * cells

        adam = optax.adam(RATE)

        @partial(jax.jit, static_argnums=2)
        def descend(weights: Weights, slope: Any, steps: int) -> Weights:
            def step(_: Any, state: Any) -> Any:
                now, moments = state
                moves, moments = adam.update(jax.grad(loss)(now, slope), moments)
                return optax.apply_updates(now, moves), moments

            final: Weights = jax.lax.fori_loop(0, steps, step, (weights, adam.init(weights)))[0]
            return final

        for slope in SLOPES if self._placed else SLOPES[-1:]:
            steps = self._steps * (1 if self._placed else len(SLOPES)) * (2 if last else 1)
            self._weights = descend(self._weights, jnp.float32(slope), steps)

    def model(self, size: float) -> MixtureModel:
        """Returns the rows as a mixture of products: a row's categories are drawn by its shares."""
        shares: dict[int, Floats] = {}
        for name, weight in self._weights.items():
            column = int(name)
            if column in self._placed:
                levels = self._space.sizes[column]
                at = np.clip(np.floor(np.asarray(weight)), 0, levels - 1).astype(np.int64)
                shares[column] = np.eye(levels)[at]
            else:
                shares[column] = np.asarray(jax.nn.softmax(weight, axis=1), dtype=np.float64)
        return MixtureModel(shares, size)

    def _table_shares(
        self, weights: Weights, axes: Sequence[GroupAxis | FormAxis], slope: Any
    ) -> Any:
        """Returns the rows' share in each cell of a table."""
        inside = [self._axis_shares(weights, axis, slope) for axis in axes]
        letters = "abcdefg"[: len(axes)]
        rule = ",".join(f"n{x}" for x in letters) + f"->{letters}"
        return jnp.einsum(rule, *inside) / self.count

    def _axis_shares(self, weights: Weights, axis: GroupAxis | FormAxis, slope: Any) -> Any:
        """Returns each row's shares of an axis' cells, shape (rows, cells)."""
        if isinstance(axis, FormAxis):
            form = sum(self._term(weights, c, term) for c, term in axis.terms.items())
            steps = np.diff(axis.edges)
            width = float(np.median(steps[steps > 0])) if (steps > 0).any() else 1.0
            return _cell_shares(form / width, axis.edges / width, slope)
        groups, weight = axis.groups, weights[str(axis.column)]
        if axis.column in self._placed:
            starts = np.flatnonzero(np.diff(groups, prepend=-1))
            return _cell_shares(weight, starts[1:].astype(np.float64), slope)
        onto = np.eye(int(groups.max()) + 1)[groups]
        return jax.nn.softmax(weight, axis=1) @ jnp.asarray(onto, jnp.float32)

    def _term(self, weights: Weights, column: int, term: Floats) -> Any:
        """Returns what a number adds to a form: its value, which is linear inside each level."""
        low, high = term[:, 0] - term[:, 1], term[:, 0] + term[:, 1]
        if column not in self._placed:
            shares = jax.nn.softmax(weights[str(column)], axis=1)
            return shares @ jnp.asarray(term[:, 0], jnp.float32)
        at = np.arange(len(term), dtype=np.float64)
        places = np.stack([at, at + 0.999], axis=1).ravel()
        values = np.stack([low, high], axis=1).ravel()
        return jnp.interp(weights[str(column)], jnp.asarray(places), jnp.asarray(values))


def _cell_shares(x: Any, edges: Floats, slope: Any) -> Any:
    """Returns the shares of len(edges) + 1 cells of numbers x, shape (rows, cells); they add up to
    1."""
    if not len(edges):
        return jnp.ones((x.shape[0], 1), jnp.float32)
    above = jax.nn.sigmoid(slope * (x[:, None] - jnp.asarray(edges, jnp.float32)[None, :]))
    ends = jnp.ones((x.shape[0], 1), above.dtype)
    whole = jnp.concatenate([ends, above, 0 * ends], axis=1)
    return whole[:, :-1] - whole[:, 1:]


def rows_needed(columns: int) -> int:
    """Returns how many relaxed rows there are by default: some for each pair of columns.

    >>> rows_needed(10), rows_needed(60)
    (500, 2000)
    """
    return min(2_000, max(500, 5 * math.comb(columns, 2)))
