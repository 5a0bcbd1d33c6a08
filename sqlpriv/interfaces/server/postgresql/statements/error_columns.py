"""How sure an answer is, where a client shows plain columns: `<name>_error`, and one line."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from sqlpriv.interfaces.display.footnote import cost
from sqlpriv.interfaces.server.postgresql.encoding import type_numbers as types
from sqlpriv.session.session import Result
from sqlpriv.system import arrow


def with_error_fields(columns: pa.Schema) -> pa.Schema:
    """Returns the columns with one for the error behind each number."""
    fields = []
    for column in columns:
        fields.append(column)
        if types.type_oid(column.type) in types.NUMBERS:
            fields.append(pa.field(f"{column.name}_error", pa.float64()))
    return pa.schema(fields)


def with_error_columns(table: pa.Table, result: Result) -> pa.Table:
    """Puts the half-widths behind their columns, and NULL behind numbers that are exact."""
    columns = []
    for at, column in enumerate(table.schema):
        columns.append(table.column(at))
        if types.type_oid(column.type) in types.NUMBERS:
            widths = result.half_widths.get(column.name) or [None] * table.num_rows
            columns.append(pa.chunked_array([arrow.array(widths, pa.float64())]))
    return pa.Table.from_arrays(columns, schema=with_error_fields(table.schema))


def summarise_errors(result: Result, names: Mapping[str, str]) -> str:
    """Says in one line what an answer cost and how sure it is, by the names that columns have."""
    parts = [cost(result)]
    for name, widths in result.half_widths.items():
        finite = sorted(width for width in widths if width is not None)
        if finite:
            ends = dict.fromkeys(f"{width:.3g}" for width in (finite[0], finite[-1]))
            parts.append(f"{names.get(name, name)} ± {' to '.join(ends)} (95 %)")
    return "; ".join(parts)
