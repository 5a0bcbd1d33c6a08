"""What the server says of itself and of its types: GetSqlInfo and GetXdbcTypeInfo."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

import sqlpriv

_TEXT, _BOOL, _BIGINT, _INT = range(4)
_MEMBERS = (
    ("string_value", pa.string()),
    ("bool_value", pa.bool_()),
    ("bigint_value", pa.int64()),
    ("int32_bitmask", pa.int32()),
    ("string_list", pa.list_(pa.field("string_data", pa.string()))),
    ("int32_to_int32_list_map", pa.map_(pa.int32(), pa.list_(pa.int32()))),
)
_INFO: dict[int, tuple[int, Any]] = {
    0: (_TEXT, "sqlpriv"),
    1: (_TEXT, sqlpriv.__version__),
    2: (_TEXT, pa.__version__),
    3: (_BOOL, False),  # read only: an owner writes
    4: (_BOOL, True),  # speaks SQL
    5: (_BOOL, False),  # Substrait
    8: (_INT, 0),  # no transactions over several calls
    9: (_BOOL, True),  # cancels
    10: (_BOOL, False),  # bulk ingestion
    11: (_BOOL, False),  # … in transactions
    100: (_INT, 0),  # prepared statements last as long as their session
    101: (_INT, 0),
    503: (_INT, 1),  # names are case-insensitive
    504: (_TEXT, '"'),
    505: (_INT, 1),  # quoted ones, too
    574: (_BOOL, True),  # named parameters
}
"""Number of the item → member of the union, value."""

_TYPES = (
    # name, number in ODBC, digits or characters, quote, unsigned, radix
    ("BIGINT", -5, 19, None, False, 10),
    ("VARBINARY", -3, None, "'", None, None),
    ("DECIMAL", 3, 38, None, False, 10),
    ("INTEGER", 4, 10, None, False, 10),
    ("SMALLINT", 5, 5, None, False, 10),
    ("DOUBLE", 8, 53, None, False, 2),
    ("VARCHAR", 12, None, "'", None, None),
    ("BOOLEAN", -7, 1, None, None, None),
    ("DATE", 91, 10, "'", None, None),
    ("TIMESTAMP", 93, 26, "'", None, None),
)
_S, _I, _B = pa.string(), pa.int32(), pa.bool_()
_TYPE_COLUMNS = pa.schema(
    [
        pa.field("type_name", _S, False),
        pa.field("data_type", _I, False),
        pa.field("column_size", _I),
        pa.field("literal_prefix", _S),
        pa.field("literal_suffix", _S),
        pa.field("create_params", pa.list_(pa.field("item", _S, False))),
        pa.field("nullable", _I, False),
        pa.field("case_sensitive", _B, False),
        pa.field("searchable", _I, False),
        pa.field("unsigned_attribute", _B),
        pa.field("fixed_prec_scale", _B, False),
        pa.field("auto_increment", _B),
        pa.field("local_type_name", _S),
        pa.field("minimum_scale", _I),
        pa.field("maximum_scale", _I),
        pa.field("sql_data_type", _I, False),
        pa.field("datetime_subcode", _I),
        pa.field("num_prec_radix", _I),
        pa.field("interval_precision", _I),
    ]
)


def sql_info(wanted: Iterable[int]) -> pa.Table:
    """Returns the items of those numbers that there are; all of them where none is named."""
    numbers = [n for n in (sorted({*wanted}) or _INFO) if n in _INFO]
    members: list[list[Any]] = [[] for _ in _MEMBERS]
    offsets = []
    for number in numbers:
        kind, value = _INFO[number]
        offsets.append(len(members[kind]))
        members[kind].append(value)
    values = pa.UnionArray.from_dense(
        pa.array([_INFO[n][0] for n in numbers], pa.int8()),
        pa.array(offsets, pa.int32()),
        [pa.array(member, kind) for member, (_, kind) in zip(members, _MEMBERS, strict=True)],
        [name for name, _ in _MEMBERS],
    )
    columns = [pa.field("info_name", pa.uint32(), False), pa.field("value", values.type, False)]
    return pa.table([pa.array(numbers, pa.uint32()), values], schema=pa.schema(columns))


def type_info(number: int | None) -> pa.Table:
    """Returns the types of that number in ODBC; all of them for None."""
    rows = []
    for name, kind, size, quote, unsigned, radix in sorted(_TYPES, key=lambda t: (t[1], t[0])):
        if number is None or number == kind:
            row = {"type_name": name, "data_type": kind, "column_size": size, "nullable": 1}
            row |= {"literal_prefix": quote, "literal_suffix": quote, "num_prec_radix": radix}
            row |= {"case_sensitive": name == "VARCHAR", "searchable": 3, "sql_data_type": kind}
            row |= {"unsigned_attribute": unsigned, "fixed_prec_scale": False}
            dated = {"DATE": 1, "TIMESTAMP": 3}.get(name)
            row |= {"datetime_subcode": dated, "sql_data_type": 9 if dated else kind}
            rows.append(row)
    return pa.Table.from_pylist(rows, schema=_TYPE_COLUMNS)
