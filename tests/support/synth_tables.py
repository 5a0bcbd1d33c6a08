"""Contracts, columns and inference problems that the tests of synthesizers build on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from sqlpriv.kernel.terms.contract import Column, ColumnDomain, PrivacyUnit, TableContract
from sqlpriv.kernel.terms.operations import type_of
from sqlpriv.synth.models.tree_model import Edge, Noisy, Problem, TreeModel
from support.places import SHARED

CENSUS = SHARED / "data" / "acs2018_us_pubcov_sample.parquet"


def contract(columns: Mapping[str, tuple[str, ColumnDomain | None]], **unit: int) -> TableContract:
    """A table `people` with a unit `id`; `columns` by name: SQL type and domain."""
    made = tuple(Column(n, type_of(t), t, d) for n, (t, d) in columns.items())
    return TableContract("people", made, PrivacyUnit("people", "id", **unit))


def census(columns: Sequence[str], rows: int) -> dict[str, list[Any]]:
    """Columns of real census rows; the test is skipped where the file is absent."""
    if not CENSUS.exists():
        pytest.skip("the census sample of ../shared/data is not here")
    import pyarrow.parquet as pq

    table = pq.read_table(CENSUS, columns=list(columns))
    step = table.num_rows // rows
    return {c: table[c].to_pylist()[::step][:rows] for c in columns}


def assert_sizes(rows: Iterable[object], expected: Mapping[Any, int], off: int) -> None:
    """Compares how many rows there are of each level; one that none is expected of may have some,
    as a fit may leave a row in it."""
    sizes = Counter(rows)
    for level in {*sizes, *expected}:
        assert sizes[level] == pytest.approx(expected.get(level, 0), abs=off), level


def chain_of_columns(
    edges: Sequence[Edge], sizes: Sequence[int], rows: int, sigma: float, seed: int
) -> Problem:
    """Noisy tables of a random distribution on a tree, columns numbered so that u < v."""
    rng = np.random.default_rng(seed)
    nodes = sorted({c for edge in edges for c in edge} | {0})
    codes = {0: rng.choice(sizes[0], rows, p=rng.dirichlet(np.full(sizes[0], 0.5)))}
    tables = {}
    for u, v in edges:
        running = rng.dirichlet(np.full(sizes[v], 0.3), sizes[u]).cumsum(axis=1)
        codes[v] = (rng.random(rows)[:, None] > running[codes[u]]).sum(axis=1).clip(0, sizes[v] - 1)
        exact = np.bincount(codes[u] * sizes[v] + codes[v], minlength=sizes[u] * sizes[v])
        tables[u, v] = _noisy(exact.reshape(sizes[u], sizes[v]), sigma, rng)
    ones = {c: _noisy(np.bincount(codes[c], minlength=sizes[c]), sigma / 2, rng) for c in nodes}
    return Problem(ones, tables, float(rows))


def _noisy(exact: np.ndarray, sigma: float, rng: np.random.Generator) -> Noisy:
    variance = np.full(exact.shape, sigma**2)
    variance.flat[-1] *= 4.0  # as a bucket of four levels has
    return Noisy(exact + rng.normal(0, 1, exact.shape) * np.sqrt(variance), variance)


def marginals_of(model: TreeModel) -> dict[int, np.ndarray]:
    """Each column's one-way table."""
    return {c: t if t.ndim == 1 else t.sum(axis=0) for c, t in model.tables.items()}


def residuals(problem: Problem, model: TreeModel) -> dict[Any, tuple[np.ndarray, np.ndarray]]:
    """(model - noisy, variance) of each measured table, by column or edge."""
    found = {
        c: (table - problem.nodes[c].values, problem.nodes[c].variance)
        for c, table in marginals_of(model).items()
    }
    for (u, v), noisy in problem.edges.items():
        table = model.tables[v] if model.forest.parent[v] == u else model.tables[u].T
        found[u, v] = (table - noisy.values, noisy.variance)
    return found


def loss(problem: Problem, model: TreeModel) -> float:
    """The least-squares objective."""
    return sum(float(np.sum(d**2 / v)) / 2 for d, v in residuals(problem, model).values())


def certified_gap(problem: Problem, model: TreeModel) -> float:
    """How far the model's loss can be above the optimum, at most: the Frank-Wolfe gap.

    For convex f, f(mu) - min f <= max over distributions nu of <gradient, mu - nu>, and the best nu
    puts all mass on one cell of the joint domain, which max-product finds on a tree.
    """
    slope = {key: d / v for key, (d, v) in residuals(problem, model).items()}
    inner = 0.0
    for key, g in slope.items():
        d, _ = residuals(problem, model)[key]
        table = (problem.nodes if key in problem.nodes else problem.edges)[key].values + d
        inner += float(np.sum(g * table))
    best = {c: slope[c].copy() for c in problem.nodes}
    least = 0.0
    for column in reversed(model.forest.order):
        above = model.forest.parent[column]
        if above is None:
            least += float(best[column].min())
        else:
            edge = slope[above, column] if (above, column) in slope else slope[column, above].T
            best[above] += (edge + best[column]).min(axis=1)
    return inner - problem.total * least
