"""Queries over the catalog: run in DuckDB, their lists typed as PostgreSQL types them."""

from __future__ import annotations

import re
from typing import Any

import duckdb
import pyarrow as pa

_ARRAY_OF_NAMES = re.compile(
    r"array_agg\s*\(\s*((?:\w+\.)?(?:att|rel|con|nsp|typ|pro)name)(?:\s+order\s+by\b[^()]*)?\s*\)"
    r"(?:\s+as\s+\"?(\w+))?",
    re.IGNORECASE,
)
"""A list of names in a query over the catalog, and its alias."""


def bind_query(
    engine: duckdb.DuckDBPyConnection, text: str, parameters: list[Any]
) -> duckdb.DuckDBPyRelation | None:
    """Returns a query, bound; lists of numbers that were sent as texts are numbers where DuckDB
    compares no texts. PostgreSQL takes the type from what `= ANY ($1)` is compared with."""
    try:
        return engine.sql(text, params=parameters or None)
    except duckdb.BinderException:
        numbers = [_as_numbers(value) for value in parameters]
        if numbers == parameters:
            raise
        return engine.sql(text, params=numbers)


def _as_numbers(value: Any) -> Any:
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if is_list and all(re.fullmatch(r"-?[0-9]{1,18}", item) for item in value):
        return [int(item) for item in value]
    return value


def with_arrays_of_postgresql(answer: pa.Table, sql: str) -> pa.Table:
    """Returns an answer whose lists of BIGINT are `oid[]`, those of the catalog's names `name[]`,
    and an index's columns an int2vector.

    asyncpg asks the catalog for each type that it does not know; it knows `oid[]`, not `int8[]`.
    Sequelize reads a `name[]` as the text that node-postgres leaves of it, and no `text[]`.
    """
    calls = _ARRAY_OF_NAMES.findall(sql)
    of_names = {alias or f"array_agg({argument})" for argument, alias in calls}

    def told_type(field: pa.Field) -> pa.DataType:
        if field.type == pa.list_(pa.int64()):
            return pa.list_(pa.uint32())
        if field.name in of_names and field.type == pa.list_(pa.string()):
            return pa.list_(pa.large_string())
        if field.name in ("indkey", "indoption") and field.type == pa.list_(pa.int16()):
            return pa.large_list(pa.int16())
        return field.type

    return answer.cast(pa.schema([f.with_type(told_type(f)) for f in answer.schema]))
