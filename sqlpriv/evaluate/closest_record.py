"""How near synthetic rows come to private ones, and whether they tell who is in the table.

A row's distance to another is the number of columns in which their levels differ. Rows of a
synthetic table that are nearer to private rows than private rows are to each other were copied, not
modelled. The attack is the simplest one on membership: whoever has a near neighbour among the
synthetic rows is taken for a member (Chen, Yu, Zhang and Fritz 2020, arXiv:1909.03935, distances to
the nearest sample). Neither figure proves privacy: the price does. They catch a table that leaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.evaluate.levels import ask
from sqlpriv.kernel.sql.quoting import name

Codes = NDArray[np.int32]
TRIED = 1_000
"""Rows whose nearest neighbour is looked for: the standard error of an AUC of .5 is then .013."""
AGAINST = 20_000
"""Rows that it is looked for among, at most."""
PORTION = 100


@dataclass(frozen=True)
class ClosestRecords:
    """Means over at most TRIED rows each.

    Attributes:
        columns: How many columns a distance is of.
        of_synthetic: Mean distance of synthetic rows to the nearest of one half of the real rows.
        of_real: The same of rows of the other half.
        copies: The share of synthetic rows that agree with a real one in all columns.
        real_copies: The share of rows of the other half that do.
        membership: How often a real row is nearer to the synthetic rows than a held-out one, ties
            counting half; 0.5 is a guess. None without held-out rows.
    """

    columns: int
    of_synthetic: float
    of_real: float
    copies: float
    real_copies: float
    membership: float | None = None


def closest_records(
    real: duckdb.DuckDBPyRelation,
    synthetic: duckdb.DuckDBPyRelation,
    columns: Sequence[str],
    held_out: duckdb.DuckDBPyRelation | None = None,
) -> ClosestRecords | None:
    """Returns how near the synthetic rows come; None where a table has fewer than two rows.

    Args:
        real, synthetic: Their columns taken as levels (see `levels.discretise`).
        columns: Those that are compared.
        held_out: Rows of people who are not in `real`, taken as levels, too.
    """
    tables = [_sample(table, columns) for table in (real, synthetic, held_out) if table is not None]
    if min(table.num_rows for table in tables) < 2:
        return None
    codes = _encode(tables, columns)
    half, other = codes[0][::2], codes[0][1::2]
    drawn = least_distances(codes[1][:TRIED], half)
    own = least_distances(other[:TRIED], half)
    guessed = None
    if held_out is not None:
        members, others = (least_distances(c[:TRIED], codes[1]) for c in (codes[0], codes[2]))
        guessed = _nearer(members, others)
    return ClosestRecords(
        len(columns),
        float(drawn.mean()),
        float(own.mean()),
        float((drawn == 0).mean()),
        float((own == 0).mean()),
        guessed,
    )


def least_distances(rows: Codes, others: Codes) -> NDArray[np.int64]:
    """Returns for each row the least number of columns in which it differs from any other.

    >>> least_distances(np.array([[1, 1], [2, 3]]), np.array([[1, 2], [2, 3]])).tolist()
    [1, 0]
    """
    least = np.empty(len(rows), dtype=np.int64)
    for begin in range(0, len(rows), PORTION):
        part = rows[begin : begin + PORTION]
        apart = np.zeros((len(part), len(others)), dtype=np.int16)
        for column in range(rows.shape[1]):
            apart += part[:, column, None] != others[None, :, column]
        least[begin : begin + PORTION] = apart.min(axis=1)
    return least


def _nearer(left: NDArray[np.int64], right: NDArray[np.int64]) -> float:
    """Returns how often a left distance is below a right one, ties counting half."""
    below = (left[:, None] < right[None, :]).mean()
    same = (left[:, None] == right[None, :]).mean()
    return float(below + same / 2)


def _sample(table: duckdb.DuckDBPyRelation, columns: Sequence[str]) -> pa.Table:
    """Returns at most AGAINST rows in random order, the same ones every time."""
    texts = ", ".join(f"CAST({name(c)} AS VARCHAR)" for c in columns)
    sampled = f"SELECT {texts} FROM rows USING SAMPLE reservoir({AGAINST} ROWS) REPEATABLE (0)"
    records = ask(table, "rows", sampled)
    order = np.random.default_rng(0).permutation(len(records))
    parts = list(zip(*(records[i] for i in order), strict=True)) or [()] * len(columns)
    return pa.table({str(i): pa.array(part, pa.string()) for i, part in enumerate(parts)})


def _encode(tables: Sequence[pa.Table], columns: Sequence[str]) -> list[Codes]:
    """Returns the tables as numbers, equal where texts are, shape (rows, columns) each."""
    whole = pa.concat_tables(tables)
    numbers = [
        whole.column(str(i)).combine_chunks().dictionary_encode(null_encoding="encode").indices
        for i in range(len(columns))
    ]
    codes = np.stack([np.asarray(n, dtype=np.int32) for n in numbers], axis=1)
    ends = np.cumsum([table.num_rows for table in tables])[:-1]
    return list(np.split(codes, ends))
