"""Finds the rows of a table again in the tables that a tail gives of moved answers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pyarrow as pa

Row = tuple[Any, ...]
NamedValues = tuple[str, frozenset[Any]]
"""A column's name and its values."""


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


def key_columns(
    table: pa.Table, runs: Sequence[pa.Table], keys: Collection[NamedValues]
) -> list[int] | None:
    """Returns the columns that pass on keys, where they name the rows of every table; else None.

    Args:
        table: What the tail gave.
        runs: What it gave of moved answers.
        keys: The key columns of the answers.
    """
    ended = [table, *runs]
    columns = [at for at in range(table.num_columns) if passes_on_keys(at, ended, keys)]
    are_names = columns and all(
        len(set(named_rows(rows, columns))) == rows.num_rows for rows in ended
    )
    return columns if are_names else None


def passes_on_keys(place: int, ended: Sequence[pa.Table], keys: Collection[NamedValues]) -> bool:
    """Returns whether a column holds nothing but values of one key column, whatever the noise is.

    A rank among few rows does, too: a column of another name than the key's counts only where it
    has other values in other runs, as the keys of the three largest groups have.

    Args:
        place: Of the column.
        ended: The tables that the tail gave, of the answers and of moved ones.
        keys: The key columns of the answers.
    """
    runs = [set(hashable_values(table.column(place))) for table in ended]
    varies = any(values != runs[0] for values in runs)
    name = ended[0].column_names[place].lower()
    return any(
        (varies or name == key.lower()) and all(values <= listed for values in runs)
        for key, listed in keys
    )


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
