"""Parameters of statements: what is asked for, and what a client binds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from sqlpriv.errors import DataError

MOST_SETS = 10_000
MOST_BYTES = 16_000_000
Values = Sequence[Any] | Mapping[str, Any]


def parameter_schema(names: Sequence[str]) -> pa.Schema:
    """Returns the parameters as a schema. Of no type: any that a literal may have will do."""
    return pa.schema([(name, pa.null()) for name in names])


def parameter_sets(names: Sequence[str], rows: pa.Table) -> list[Values]:
    """Returns the sets of values in a client's rows: by name where names were written, or in order.

    Raises:
        DataError: Named parameters are not among the columns.
    """
    if all(name.isdecimal() for name in names):
        return [tuple(row) for row in zip(*(c.to_pylist() for c in rows.columns), strict=True)]
    if missing := set(names) - set(rows.column_names):
        raise DataError(f"no value is given for ${sorted(missing)[0]}")
    return [{name: row[name] for name in names} for row in rows.to_pylist()]


def receive_rows(reader: Any) -> pa.Table:
    """Returns the rows that a client sends, up to a limit.

    Raises:
        DataError: There are too many.
    """
    batches, size, count = [], 0, 0
    for chunk in reader:
        if chunk.data is None:
            continue
        batches.append(chunk.data)
        size, count = size + chunk.data.nbytes, count + chunk.data.num_rows
        if size > MOST_BYTES or count > MOST_SETS:
            raise DataError(
                f"the parameters are more than {MOST_SETS} sets or {MOST_BYTES} bytes:"
                " send them in parts"
            )
    return pa.Table.from_batches(batches, schema=reader.schema)
