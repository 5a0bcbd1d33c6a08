"""Parameters of statements: what is asked for, and what a client binds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.types as kinds

from sqlpriv.errors import DataError

MOST_SETS = 10_000
MOST_BYTES = 16_000_000
Values = Sequence[Any] | Mapping[str, Any]


def parameter_schema(names: Sequence[str]) -> pa.Schema:
    """Returns the parameters as a schema. Of no type: any that a literal may have will do."""
    return pa.schema([(name, pa.null()) for name in names])


def parameter_sets(names: Sequence[str], rows: pa.Table) -> Iterator[Values]:
    """Yields the sets of values in a client's rows: by name where names were written, or in order.

    One set is made at a time: ten thousand rows of a dictionary may share one text of 15 MB, which
    the limit on bytes counts once, and Python once for each row.

    Raises:
        DataError: Named parameters are not among the columns, or two columns have one name; or no
            Python value is one of theirs.
    """
    is_named = not all(name.isdecimal() for name in names)
    if is_named and (missing := set(names) - set(rows.column_names)):
        raise DataError(f"no value is given for ${sorted(missing)[0]}")
    twice = [name for name in names if rows.column_names.count(name) > 1]
    if is_named and twice:
        raise DataError(f"two values are given for ${twice[0]}")
    for field in rows.schema:
        if not _is_told_apart(field.type):
            raise DataError(f"a parameter is of type {str(field.type)[:100]}")
    for batch in rows.to_batches(max_chunksize=1):
        try:
            cells = [column[0] for column in batch.columns]
            values = [cell.as_py() for cell in cells]
            if any(map(_has_nanoseconds, values)) or any(map(_is_finer_time, cells)):
                raise ValueError
        except (pa.ArrowException, ValueError, OverflowError):
            raise DataError(
                "a parameter is a date or time that does not exist here, or has parts of a"
                " microsecond"
            ) from None
        if is_named:
            by_name = dict(zip(rows.column_names, values, strict=True))
            yield {name: by_name[name] for name in names}
        else:
            yield tuple(values)


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


def _is_told_apart(kind: pa.DataType) -> bool:
    """Tells whether a row of this type is made of bytes that none of its values shares: a plain
    value, which a dictionary may hold, or a list of plain values."""
    while kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind):
        kind = kind.value_type
    if kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind):
        kind = kind.value_type
        if kinds.is_dictionary(kind) or kinds.is_run_end_encoded(kind) or _is_view(kind):
            return False
    return not kinds.is_nested(kind) and not isinstance(kind, pa.BaseExtensionType)


def _has_nanoseconds(value: Any) -> bool:
    """Tells whether a moment or a duration, or one of a list, has parts of a microsecond."""
    items = value if isinstance(value, list) else [value]
    return any(getattr(x, "nanosecond", 0) or getattr(x, "nanoseconds", 0) for x in items)


def _is_finer_time(cell: pa.Scalar) -> bool:
    """Tells whether a time of day, or one of a list, has parts of a microsecond: Python's has none,
    and pyarrow cuts them off."""
    while isinstance(cell, pa.DictionaryScalar | pa.RunEndEncodedScalar):
        cell = cell.value
    if not cell.is_valid or "time64[ns]" not in str(cell.type):
        return False
    items = cell.values if isinstance(cell, pa.ListScalar) else (cell,)
    return any((item.value or 0) % 1000 for item in items)


def _is_view(kind: pa.DataType) -> bool:
    return bool(kinds.is_string_view(kind) or kinds.is_binary_view(kind))
