"""Outputs that are keys and aggregates themselves: the columns of cells, as they are or sorted.

Most statements ask for nothing else. DuckDB would take a millisecond or two to plan such a SELECT,
once before anything is charged and once for the answer; the rows are the same without it.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sqlpriv.answer.outputs.cell_engine import POSITION
from sqlpriv.plan.cells.computed_columns import AGGREGATE, HALF
from sqlpriv.plan.plan import Output
from sqlpriv.statements import tree as t
from sqlpriv.system import arrow


def are_named(output: Output) -> bool:
    """Returns whether every output, and all that ORDER BY names, is a column of the cells, and all
    groups are shown, or so many of them. Keys that are ENUMs or DECIMALs are not: their columns are
    texts and doubles."""
    plain_keys = not any(key.sql_type for key in (*output.strata, *output.groups))
    terms = [term.expr for term in output.order_by]
    of_names = all(isinstance(x, t.Name) for x in (*output.items, *terms))
    of_numbers = all(
        _whole_number(x) is not None for x in (output.limit, output.offset) if x is not None
    )
    return not output.having and plain_keys and of_names and of_numbers


def _whole_number(node: t.Node | None) -> int | None:
    """Returns the number that is written, None of anything else."""
    if isinstance(node, t.Literal) and type(node.value) is int and node.value >= 0:
        return node.value
    return None


def shown_cells(cells: pa.Table, output: Output) -> pa.Table:
    """Returns the cells that are shown, in the order that `cell_engine.evaluate_outputs` has.

    NULL comes last unless NULLS FIRST is written, and NaN, as in DuckDB, is above all numbers;
    Arrow would put it beside NULL.

    Args:
        cells: The table of cells.
        output: Of which `are_named` says so.
    """
    if output.order_by:
        columns, keys = {POSITION: cells.column(POSITION)}, []
        for i, term in enumerate(output.order_by):
            assert isinstance(term.expr, t.Name)
            order, column = "descending" if term.descending else "ascending", term.expr.name
            values = cells.column(column)
            missing = "descending" if term.nulls_first else "ascending"
            columns[f"null{i}"] = pc.is_null(values)
            keys.append((f"null{i}", missing))
            if pa.types.is_floating(values.type):
                columns[f"nan{i}"] = is_nan = pc.is_nan(values)
                nought = arrow.numbers(np.zeros(len(values)))  # a number by itself loads pandas
                values = pc.if_else(is_nan, nought, values)
                keys.append((f"nan{i}", order))
            columns[f"value{i}"] = values
            keys.append((f"value{i}", order))
        by_keys = [*keys, (POSITION, "ascending")]
        cells = cells.take(pc.sort_indices(pa.table(columns), by_keys))
    first = min(_whole_number(output.offset) or 0, cells.num_rows)
    limit = _whole_number(output.limit)
    return cells.slice(first, None if limit is None else min(limit, cells.num_rows))


def named_columns(
    cells: pa.Table, output: Output, halves: list[int], marks: list[tuple[int, str]]
) -> pa.Table:
    """Returns what `cell_engine.evaluate_outputs` would, of outputs that are named.

    Args:
        cells: The table of cells, or those that `shown_cells` returns.
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
