"""Outputs that are keys and aggregates themselves: the columns of cells, as they are.

Most statements ask for nothing else. DuckDB would take a millisecond or two to plan such a SELECT;
the rows are the same without it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sqlpriv.plan.cells.computed_columns import AGGREGATE, HALF
from sqlpriv.plan.plan import Output
from sqlpriv.statements import tree as t
from sqlpriv.system import arrow


def are_named(output: Output) -> bool:
    """Returns whether every output is a column of the cells, in the cells' order, and all rows are
    shown. Keys that are ENUMs or DECIMALs are not: their columns are texts and doubles."""
    as_laid_out = not (output.order_by or output.having or output.limit or output.offset)
    plain_keys = not any(key.sql_type for key in (*output.strata, *output.groups))
    of_names = all(isinstance(x, t.Name) for x in output.items)
    return as_laid_out and plain_keys and of_names


def named_columns(
    cells: pa.Table, output: Output, halves: list[int], marks: list[tuple[int, str]]
) -> pa.Table:
    """Returns what `cell_engine.evaluate_outputs` would, of outputs that are named.

    Args:
        cells: The table of cells.
        output: Of which `are_named` says so.
        halves: The outputs whose half-widths are asked for.
        marks: Of outputs that are keys, the place and the column that marks rows of all.
    """
    names = [item.name for item in output.items if isinstance(item, t.Name)]
    columns = {f"c{i}": cells.column(name) for i, name in enumerate(names)}
    for i in halves:
        columns[f"h{i}"] = _half_width(cells, names[i].removeprefix(AGGREGATE))
    columns |= {f"s{i}": cells.column(mark) for i, mark in marks}
    return pa.table(columns)


def _half_width(cells: pa.Table, number: str) -> pa.Array:
    """Returns `half_width` of an aggregate, by numpy: |(a + h) - (a - h)| / 2, NULL for NaN.

    The most frequent text, moment or truth value has none.
    """
    type_ = cells.column(f"{AGGREGATE}{number}").type
    if pa.types.is_string(type_) or pa.types.is_temporal(type_) or pa.types.is_boolean(type_):
        return pa.nulls(cells.num_rows, pa.float64())
    value, half = (
        np.array(cells.column(f"{prefix}{number}").to_pylist(), np.float64)  # to_numpy loads pandas
        for prefix in (AGGREGATE, HALF)
    )
    with np.errstate(invalid="ignore"):  # of infinities, as DuckDB's
        width = np.abs((value + half) - (value - half)) / 2
    return arrow.numbers(width, np.isnan(width))
