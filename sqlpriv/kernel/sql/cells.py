"""From the engine's joint groups to each query's cells: sums of exact integers, in numpy.

Claim: a cell is the sum over the groups whose levels are its own, and a group with an unlisted
level of a stratum, or of one of the query's keys, is in no cell of it. So a row is in one cell of a
query at most, as `sensitivity` has it. Counts are 64-bit integers, sums are Python's own.

Claim: where the edges of coarse bins are among the edges of finer bins over the same expression, a
row's coarse bin follows from its finer bin: the row has reached exactly those coarse edges that are
not above the beginning of its finer bin.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms import algebra as a


def listed_cells(queries: Sequence[a.Query]) -> dict[str, a.Key]:
    """Returns the columns that hold levels, each with its key: s0, s1, … for the strata, and k0,
    k1, … for the keys, except for bins that follow from finer bins."""
    strata = dict.fromkeys(key for query in queries for key in query.strata)
    keys = dict.fromkeys(key for query in queries for key in query.keys)
    return {f"s{i}": key for i, key in enumerate(strata)} | {
        f"k{i}": key for i, key in enumerate(key for key in keys if _finest(key, keys) is key)
    }


def group_count(queries: Sequence[a.Query]) -> int:
    """Returns how many joint groups of listed levels there can be."""
    return math.prod(len(key.values) for key in listed_cells(queries).values())


def added_up(
    values: Mapping[a.Query, str], columns: Mapping[str, NDArray[Any]]
) -> dict[a.Query, list[int]]:
    """Returns the integers of each query, dense and row-major, over its measured strata.

    Args:
        values: The column that each query adds up.
        columns: Those of `queries`, shape (groups,); a level that is not listed is its key's size.
    """
    named = {key: name for name, key in listed_cells([*values]).items()}
    rows, exact = len(next(iter(columns.values()))), {}

    def levels(keys: Iterable[a.Key]) -> list[tuple[NDArray[Any], int]]:
        return [(_levels(key, named, columns), len(key.values)) for key in keys]

    for query, name in values.items():
        measured = np.full(a.strata_count(query) + 1, -1)
        measured[[*a.measured_strata(query)]] = range(a.shape(query)[0])
        stratum = measured[_cell_numbers(levels(query.strata), rows)]
        cell = _cell_numbers([(stratum, a.shape(query)[0]), *levels(query.keys)], rows)
        dense = np.zeros(math.prod(a.shape(query)) + 1, columns[name].dtype)
        np.add.at(dense, cell, columns[name])  # groups of no cell go to the last place
        exact[query] = dense[:-1].tolist()
    return exact


def _levels(
    key: a.Key, named: Mapping[a.Key, str], columns: Mapping[str, NDArray[Any]]
) -> NDArray[Any]:
    """Returns the level of each group; for bins, from the finest bins of their expression."""
    if (finest := _finest(key, named)) is key or key in named:
        return columns[named[key]]
    ends = [k.expr.edges if isinstance(k.expr, a.Bin) else () for k in (key, finest)]
    coarse = [0, *(bisect_right(ends[0], edge) for edge in ends[1])]
    return np.array([*coarse, len(key.values)])[columns[named[finest]].astype(np.int64)]


def _finest(key: a.Key, keys: Iterable[a.Key]) -> a.Key:
    """Returns the key with the most bins from which this key's bins follow; itself if none is."""
    return max(
        (other for other in keys if _tells(other, key)), key=lambda x: len(x.values), default=key
    )


def _tells(fine: a.Key, coarse: a.Key) -> bool:
    return (
        fine is not coarse
        and isinstance(fine.expr, a.Bin)
        and isinstance(coarse.expr, a.Bin)
        and (fine.has_all_bins and coarse.has_all_bins)
        and fine.expr.arg == coarse.expr.arg
        and {*coarse.expr.edges} < {*fine.expr.edges}
    )


def _cell_numbers(codes: Sequence[tuple[NDArray[Any], int]], rows: int) -> NDArray[np.int64]:
    """Returns the row-major number of each group's cell; -1, the last one, where there is none."""
    number, inside = np.zeros(rows, np.int64), np.ones(rows, bool)
    for code, size in codes:
        code = code.astype(np.int64, copy=False)
        inside &= (code >= 0) & (code < size)
        number = number * size + code
    return np.where(inside, number, -1)
