"""From the engine's joint groups to each query's cells: sums of exact integers, in numpy.

Claim: a cell is the sum over the groups whose levels are its own, and a group with an unlisted
level of a stratum, or of one of the query's keys, is in no cell of it. So a row is in one cell of a
query at most, as `sensitivity` has it. Counts are 64-bit integers, sums are Python's own.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms import algebra as a


def listed_cells(queries: Sequence[a.Query]) -> dict[str, a.Key]:
    """Returns the columns that hold levels, and whose: s0, … of the strata, k0, … of any keys."""
    keys = dict.fromkeys(key for query in queries for key in query.keys)
    levelled = {f"s{i}": key for i, key in enumerate(queries[0].strata)}
    return levelled | {f"k{i}": key for i, key in enumerate(keys)}


def added_up(
    values: Mapping[a.Query, str], columns: Mapping[str, NDArray[Any]]
) -> dict[a.Query, list[int]]:
    """Returns the integers of each query, dense and row-major, over its measured strata.

    Args:
        values: The column that each query adds up; queries of one list of strata.
        columns: Those of `queries`, shape (groups,); a level that is not listed is its key's size.
    """
    named = {key: name for name, key in listed_cells([*values]).items() if name[0] == "k"}
    first, rows, exact = next(iter(values)), len(next(iter(columns.values()))), {}
    strata = [(columns[f"s{i}"], len(key.values)) for i, key in enumerate(first.strata)]
    stratum = _cell_numbers(strata, rows)
    for query, name in values.items():
        measured = np.full(a.strata_count(query) + 1, -1)
        measured[[*a.measured_strata(query)]] = range(a.shape(query)[0])
        keys = [(columns[named[key]], len(key.values)) for key in query.keys]
        cell = _cell_numbers([(measured[stratum], a.shape(query)[0]), *keys], rows)
        inside = cell >= 0
        dense = np.zeros(math.prod(a.shape(query)), columns[name].dtype)
        np.add.at(dense, cell[inside], columns[name][inside])
        exact[query] = dense.tolist()
    return exact


def _cell_numbers(codes: Sequence[tuple[NDArray[Any], int]], rows: int) -> NDArray[np.int64]:
    """Returns the row-major number of each group's cell; -1, the last one, where there is none."""
    number, inside = np.zeros(rows, np.int64), np.ones(rows, bool)
    for code, size in codes:
        code = code.astype(np.int64, copy=False)
        inside &= (code >= 0) & (code < size)
        number = number * size + code
    return np.where(inside, number, -1)
