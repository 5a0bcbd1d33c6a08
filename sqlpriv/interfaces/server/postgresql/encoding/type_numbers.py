"""PostgreSQL's types by their numbers: which one stands for an Arrow type, its name, its length."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from sqlpriv.interfaces.server.postgresql.encoding.wire import Field

BOOL, BYTEA, INT8, INT2, INT4, TEXT, OID = 16, 17, 20, 21, 23, 25, 26
FLOAT4, FLOAT8, UNKNOWN, BPCHAR, VARCHAR = 700, 701, 705, 1042, 1043
DATE, TIME, TIMESTAMP, TIMESTAMPTZ, INTERVAL = 1082, 1083, 1114, 1184, 1186
NUMERIC, UUID, NAME, JSON, TEXT_ARRAY = 1700, 2950, 19, 114, 1009
INT2VECTOR = 22
"""A catalog's list of columns: written `1 2`, and counted from 0 in binary."""
ARRAYS = {
    1000: BOOL,
    1001: BYTEA,
    1003: NAME,
    1005: INT2,
    1028: OID,
    1007: INT4,
    1016: INT8,
    TEXT_ARRAY: TEXT,
    1021: FLOAT4,
    1022: FLOAT8,
    1182: DATE,
    1183: TIME,
    1115: TIMESTAMP,
    1185: TIMESTAMPTZ,
    1187: INTERVAL,
    1231: NUMERIC,
    2951: UUID,
}
"""The type of an array → that of its items."""
NAMES = {
    BOOL: "boolean",
    BYTEA: "bytea",
    INT8: "bigint",
    INT2: "smallint",
    INT4: "integer",
    TEXT: "text",
    FLOAT4: "real",
    FLOAT8: "double precision",
    DATE: "date",
    TIME: "time without time zone",
    TIMESTAMP: "timestamp without time zone",
    TIMESTAMPTZ: "timestamp with time zone",
    INTERVAL: "interval",
    NUMERIC: "numeric",
    UUID: "uuid",
}
"""What `format_type` calls them."""
SIZES = {
    BOOL: 1,
    INT8: 8,
    INT2: 2,
    INT4: 4,
    OID: 4,
    FLOAT4: 4,
    FLOAT8: 8,
    DATE: 4,
    TIME: 8,
    TIMESTAMP: 8,
    TIMESTAMPTZ: 8,
    INTERVAL: 16,
    UUID: 16,
    NAME: 64,
}
NUMBERS = frozenset({INT2, INT4, INT8, FLOAT4, FLOAT8, NUMERIC})
_ITEMS = {pa.uint32(): OID, pa.large_string(): NAME}
_ARRAY_OF = {item: array for array, item in ARRAYS.items()}
TEXTS = frozenset({TEXT, UNKNOWN, BPCHAR, VARCHAR, NAME, JSON, 0})
IS_OID = {b"postgresql": b"oid"}
"""What an Arrow field says of itself whose whole numbers are those of the catalog's objects."""


def fields(columns: pa.Schema) -> list[Field]:
    """Returns the columns of a result as RowDescription tells them.

    >>> [field.oid for field in fields(pa.schema([pa.field("oid", pa.int64(), metadata=IS_OID)]))]
    [26]
    """
    oids = [OID if column.metadata == IS_OID else type_oid(column.type) for column in columns]
    return [
        Field(column.name, oid, SIZES.get(oid, -1), type_modifier(column.type))
        for column, oid in zip(columns, oids, strict=True)
    ]


def type_oid(kind: pa.DataType) -> int:
    """Returns the number of PostgreSQL's type for an Arrow type; text where it has none.

    Some stand for what Arrow has no type for: a list of uint32 is one of object numbers, of
    large_string one of names, and a large list of int16 is an int2vector.

    >>> type_oid(pa.int32()), type_oid(pa.list_(pa.string())), type_oid(pa.list_(pa.large_string()))
    (23, 1009, 1003)
    """
    if kind == pa.large_list(pa.int16()):
        return INT2VECTOR
    for is_kind, oid in _KINDS:
        if is_kind(kind):
            return oid
    if pa.types.is_timestamp(kind):
        return TIMESTAMPTZ if kind.tz else TIMESTAMP
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        item = _ITEMS.get(kind.value_type) or type_oid(kind.value_type)
        return _ARRAY_OF.get(item, TEXT)
    return UUID if "uuid" in str(kind) else TEXT


def type_modifier(type_: pa.DataType) -> int:
    """Returns a type's modifier: a decimal's digits and scale; -1 for types without.

    >>> type_modifier(pa.decimal128(10, 2)) == (10 << 16 | 2) + 4, type_modifier(pa.int64())
    (True, -1)
    """
    return (type_.precision << 16 | type_.scale) + 4 if pa.types.is_decimal(type_) else -1


def array_of(item: int) -> int:
    """Returns the number of the type of arrays of a type; of texts' where there is none."""
    return _ARRAY_OF.get(item, TEXT_ARRAY)


def _is_one_of(*kinds: pa.DataType) -> Callable[[pa.DataType], bool]:
    return lambda kind: kind in kinds


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], int], ...] = (
    (pa.types.is_boolean, BOOL),
    (_is_one_of(pa.int8(), pa.uint8(), pa.int16()), INT2),
    (_is_one_of(pa.int32(), pa.uint16()), INT4),
    (_is_one_of(pa.int64(), pa.uint32()), INT8),
    (_is_one_of(pa.uint64()), NUMERIC),
    (pa.types.is_decimal, NUMERIC),
    (pa.types.is_float32, FLOAT4),
    (pa.types.is_float64, FLOAT8),
    (pa.types.is_date, DATE),
    (pa.types.is_time, TIME),
    (pa.types.is_duration, INTERVAL),
    (pa.types.is_interval, INTERVAL),
    (_is_one_of(pa.binary(), pa.large_binary()), BYTEA),
)
