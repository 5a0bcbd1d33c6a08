"""Finds the rows of a table again in the tables that a tail gives of moved answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]


def stable_columns(table: pa.Table, runs: Sequence[pa.Table]) -> list[int] | None:
    """Returns the fewest leading columns that name the rows whatever the noise is; None if none do.

    A column is stable where half of its values are found in every run. Texts, days and the like
    come before numbers, as a rank has the same values in every run, in other rows.
    """
    columns = range(table.num_columns)
    ordered = sorted(columns, key=lambda at: (holds_numbers(table.column(at).type), at))
    keys: list[int] = []
    for at in ordered:
        values = set(hashable_values(table.column(at)))
        shares = (len(values & set(hashable_values(run.column(at)))) for run in runs)
        if all(2 * share >= len(values) for share in shares):
            keys.append(at)
            if len(set(named_rows(table, keys))) == table.num_rows:
                return keys
    return None


def named_rows(table: pa.Table, columns: Sequence[int] | None) -> list[Row]:
    """Returns the values of some columns in each row; without columns, the row's place."""
    if columns is None:
        return [(place,) for place in range(table.num_rows)]
    return list(zip(*(hashable_values(table.column(at)) for at in columns), strict=True))


def hashable_values(column: pa.ChunkedArray) -> list[Any]:
    """Returns the values of a column, lists and the like as texts."""
    values = column.to_pylist()
    return list(map(repr, values)) if pa.types.is_nested(column.type) else values


def holds_numbers(kind: pa.DataType) -> bool:
    """Whether a column holds whole or other numbers."""
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    )
