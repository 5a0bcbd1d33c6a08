"""Marginals of one statement made to agree: the best linear estimate of all of them together.

A table over keys S is a sum of components, one for each T ⊆ S, spread evenly over the keys in S
but not in T; a component has mean 0 along each of its own keys. Tables that count the same rows
have the same components, so each measured S ⊇ T shows component T, with precision

    w_S = 1 / (v_S Π_{i ∈ S, i ∉ T} n_i)

where v_S is the variance of a cell's noise and n_i the number of values of key i. Within a table
the noise is independent with one variance, so its components are uncorrelated, and generalised
least squares takes the components one by one: the mean by precision (Xiao et al. 2023,
arXiv:2305.08175, on marginals and their residuals). Post-processing: free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from sqlpriv.answer.intervals.estimate import Array
from sqlpriv.answer.moments import Moments
from sqlpriv.kernel.terms.algebra import Distinct
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.plan import Output

Keys = tuple[int, ...]
Table = tuple[Array, float]
"""Values of shape (strata, values of each key …), and the variance of the noise in a cell."""


def make_marginals_agree(
    output: Output, moments: Mapping[Recipe, Moments]
) -> dict[Recipe, Moments]:
    """Returns the moments with those of one aggregate in several marginals agreed to agree.

    Left as they are: aggregates whose marginals are not of the same rows (a value that no list
    holds is in some and not in others; COUNT(DISTINCT …) does not add up), those without moments,
    and tables of which an axis is of several keys or of some of a key's values.
    """
    agreed = dict(moments)
    sizes = [len(d.values) for d in output.groups]
    if not all(d.complete and d.values for d in output.groups):
        return agreed
    if any(m.cells != math.prod(sizes[i] for i in m.keys) for m in output.marginals):
        return agreed
    for number in range(len(output.marginals[0].recipes)):
        same = {m.keys: m.recipes[number] for m in output.marginals}
        counts = [r.count for r in same.values() if r.count is not None]
        adds_up = len({count.source for count in counts}) <= 1 and not any(
            isinstance(count, Distinct) for count in counts
        )
        if len(same) > 1 and adds_up and all(moments.get(r) for r in same.values()):
            each = combine_moments({keys: moments[recipe] for keys, recipe in same.items()}, sizes)
            agreed.update({recipe: each[keys] for keys, recipe in same.items()})
    return agreed


def combine_moments(moments: Mapping[Keys, Moments], sizes: Sequence[int]) -> dict[Keys, Moments]:
    """Returns the moments of several marginals made to agree: N, S and Q each by itself."""
    n = _combine_where_noisy({keys: (m.n, m.var_n) for keys, m in moments.items()}, sizes)
    s = _combine_where_noisy({keys: (m.s, m.var_s) for keys, m in moments.items()}, sizes)
    q = _combine_where_noisy({keys: (m.q, m.var_q) for keys, m in moments.items()}, sizes)
    return {
        keys: replace(
            m,
            n=n[keys][0],
            var_n=n[keys][1],
            s=s[keys][0],
            var_s=s[keys][1],
            q=q[keys][0],
            var_q=q[keys][1],
        )
        for keys, m in moments.items()
    }


def _combine_where_noisy(
    tables: Mapping[Keys, tuple[Array, Any]], sizes: Sequence[int]
) -> Mapping[Keys, Table]:
    """Returns the tables combined; as they are where one is exact or was not measured."""
    noisy = all(np.ndim(variance) == 0 and variance > 0 for _, variance in tables.values())
    return combine_tables(tables, sizes) if noisy else tables


def combine_tables(tables: Mapping[Keys, Table], sizes: Sequence[int]) -> dict[Keys, Table]:
    """Returns the best linear unbiased estimate of every table, and its cells' variance.

    Args:
        tables: By their keys, ascending positions in `sizes`.
        sizes: How many values each key has, none of them 0.

    Returns:
        By keys: the table, and the variance of a cell, the same for all its cells.

    A table by key 0 and the total of the same rows, which was measured as precisely:

    >>> by_key, total = (np.array([[4.0, 6.0]]), 1.0), (np.array([13.0]), 1.0)
    >>> agreed = combine_tables({(0,): by_key, (): total}, [2])
    >>> agreed[(0,)][0].tolist(), agreed[()][0].tolist()
    ([[5.0, 7.0]], [12.0])
    """
    parts = {part for keys in tables for part in _subsets(keys)}
    components = {part: _component(part, tables, sizes) for part in parts}
    estimates = {}
    for keys, (values, _) in tables.items():
        total, variance = np.zeros_like(values), 0.0
        for part in _subsets(keys):
            component, noise = components[part]
            spread = _product(sizes, keys, part)
            shape = (len(values), *(sizes[i] if i in part else 1 for i in keys))
            total += component.reshape(shape) / spread
            variance += noise * math.prod(1 - 1 / sizes[i] for i in part) / spread**2
        estimates[keys] = (total, variance)
    return estimates


def _component(part: Keys, tables: Mapping[Keys, Table], sizes: Sequence[int]) -> Table:
    """Returns the estimate of a component, and the variance before it was centred."""
    total: Array | float = 0.0
    precision = 0.0
    for keys, (values, noise) in tables.items():
        if set(part) <= set(keys):
            weight = 1 / (noise * _product(sizes, keys, part))
            over = tuple(i + 1 for i, key in enumerate(keys) if key not in part)
            total = total + weight * _centre(values.sum(axis=over))
            precision += weight
    return np.asarray(total / precision), 1 / precision


def _centre(values: Array) -> Array:
    for axis in range(1, values.ndim):
        values = values - values.mean(axis=axis, keepdims=True)
    return values


def _subsets(keys: Keys) -> list[Keys]:
    return [some for size in range(len(keys) + 1) for some in combinations(keys, size)]


def _product(sizes: Sequence[int], keys: Keys, part: Keys) -> int:
    """Returns how many cells of `keys` there are for each of `part`."""
    return math.prod(sizes[i] for i in keys if i not in part)
