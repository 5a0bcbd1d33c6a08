"""Child rows for synthetic parent rows: drawn jointly with the parent's columns, then matched.

A model of child rows holds the columns of their parents, too. From a pool of its rows every parent
takes as many as it is to have, each from rows whose parent's columns are like its own: so the child
columns follow the model given the parent (hot-deck imputation; Andridge and Little 2010 review it).
The pool is a sample of a fitted model: all of this is post-processing.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

Codes = NDArray[np.int64]
LEVELS = 8
"""Groups of like values, at most, of a number or a date: of about equally many rows."""


def match_rows(
    slots: pa.Table, pool: pa.Table, shared: Sequence[str], rng: np.random.Generator
) -> Codes:
    """Returns a row of the pool for each slot.

    A slot takes rows that are like it in all shared columns that tell something of the others; if
    the pool has none, in all but the one that tells least, and so on. The rows of a group are taken
    in turn, in random order, so that none is taken twice before each was taken once.

    Args:
        slots: One row for each child row that is wanted: the parent's columns.
        pool: Rows of the model, at least one: the parent's columns and the child's.
        shared: Names of the parent's columns, in both.
        rng: Any generator.

    Returns:
        Positions in the pool, shape (slots,).
    """
    codes = {name: _joint_codes(pool[name], slots[name]) for name in shared}
    others = [_codes(pool[name].to_pandas()) for name in pool.column_names if name not in shared]
    tells = {name: sum(_information(codes[name][0], x) for x in others) for name in shared}
    order = sorted((n for n in shared if tells[n] > 0), key=lambda n: -tells[n])
    taken = np.full(slots.num_rows, -1, dtype=np.int64)
    shuffled = rng.permutation(pool.num_rows)
    for used in range(len(order), -1, -1):
        waiting = np.flatnonzero(taken < 0)
        if not waiting.size:
            break
        in_pool, in_slots = _combination_codes([codes[name] for name in order[:used]], pool, slots)
        taken[waiting] = _take_in_turn(in_slots[waiting], in_pool, shuffled)
    return taken


def _take_in_turn(wanted: Codes, offered: Codes, shuffled: Codes) -> Codes:
    """Returns for each wanted code a row that has it, -1 where no row has."""
    by_code = shuffled[np.argsort(offered[shuffled], kind="stable")]
    present, begins, sizes = np.unique(offered[by_code], return_index=True, return_counts=True)
    place = np.minimum(np.searchsorted(present, wanted), present.size - 1)
    turn = pd.Series(wanted).groupby(wanted).cumcount().to_numpy()
    rows = by_code[begins[place] + turn % sizes[place]]
    return np.where(present[place] == wanted, rows, -1)


def _combination_codes(
    columns: Sequence[tuple[Codes, Codes]], pool: pa.Table, slots: pa.Table
) -> tuple[Codes, Codes]:
    """Returns one code for each combination of the columns', of pool and slots alike."""
    joint = np.zeros(pool.num_rows + slots.num_rows, dtype=np.int64)
    for in_pool, in_slots in columns:
        both = np.concatenate([in_pool, in_slots])
        joint = np.unique(joint * (int(both.max()) + 1) + both, return_inverse=True)[1]
    return joint[: pool.num_rows], joint[pool.num_rows :]


def _joint_codes(in_pool: pa.ChunkedArray, in_slots: pa.ChunkedArray) -> tuple[Codes, Codes]:
    """Returns the codes of a column's values, the same for the same group of values."""
    values = pd.concat([in_pool.to_pandas(), in_slots.to_pandas()], ignore_index=True)
    codes = _codes(values)
    return codes[: len(in_pool)], codes[len(in_pool) :]


def _codes(values: pd.Series) -> Codes:
    """Returns codes from 0 on, NULL among them: of values, or of groups of many ordered ones.

    >>> _codes(pd.Series(["b", None, "a", "b"])).tolist()
    [0, 1, 2, 0]
    """
    codes, levels = pd.factorize(values, use_na_sentinel=False)
    if any(isinstance(level, dt.date) for level in levels[:2]):
        values = pd.to_datetime(values)
    ordered = pd.api.types.is_numeric_dtype(values) or pd.api.types.is_datetime64_any_dtype(values)
    if len(levels) > LEVELS and ordered:
        groups = pd.qcut(values.rank(method="min"), LEVELS, labels=False, duplicates="drop")
        codes, _ = pd.factorize(groups, use_na_sentinel=False)
    return codes.astype(np.int64)


def _information(one: Codes, other: Codes) -> float:
    """Returns the mutual information of two codes in nats, less what chance would show.

    Chance shows (a - 1) (b - 1) / 2n of a and b levels in n rows (Miller 1955); twice that is taken
    off, so that columns that tell nothing seldom count.

    >>> alike = np.arange(1000) % 4
    >>> round(_information(alike, alike), 2), _information(alike, np.arange(1000) // 500) < 0
    (1.38, True)
    """
    counts = pd.crosstab(one, other).to_numpy() / one.size
    expected = counts.sum(axis=1, keepdims=True) * counts.sum(axis=0, keepdims=True)
    met = counts > 0
    information = float((counts[met] * np.log(counts[met] / expected[met])).sum())
    by_chance = (counts.shape[0] - 1) * (counts.shape[1] - 1) / one.size
    return information - float(by_chance)
