"""What SQLAlchemy learns of a schema, from DuckDB's catalog functions.

Reflecting opens no vault and charges nothing. Vault and releases are shown as one schema, `main`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sqlalchemy import exc, types
from sqlalchemy.engine import Connection
from sqlalchemy.engine.default import DefaultDialect
from sqlalchemy.types import TypeEngine

from sqlpriv.session.session_like import reading_duckdb

SCHEMA = "main"
_TABLES = "SELECT table_name, comment FROM duckdb_tables() WHERE NOT internal ORDER BY ALL"
_COLUMNS = """SELECT table_name, column_name, data_type, is_nullable, comment
FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index"""
_CONSTRAINTS = """SELECT table_name, constraint_type, constraint_column_names, referenced_table,
    referenced_column_names
FROM duckdb_constraints() ORDER BY table_name, constraint_index"""

Found = list[dict[str, Any]]

_TYPES: dict[str, Callable[[], TypeEngine[Any]]] = {
    "BOOLEAN": types.Boolean,
    "TINYINT": types.SmallInteger,
    "SMALLINT": types.SmallInteger,
    "UTINYINT": types.SmallInteger,
    "INTEGER": types.Integer,
    "USMALLINT": types.Integer,
    "BIGINT": types.BigInteger,
    "UINTEGER": types.BigInteger,
    "UBIGINT": lambda: types.Numeric(20, 0),
    "HUGEINT": lambda: types.Numeric(38, 0),
    "UHUGEINT": lambda: types.Numeric(39, 0),
    "FLOAT": lambda: types.Float(24),
    "DOUBLE": lambda: types.Float(53),
    "VARCHAR": types.String,
    "UUID": lambda: types.String(36),
    "BLOB": types.LargeBinary,
    "DATE": types.Date,
    "TIME": types.Time,
    "TIMESTAMP": types.TIMESTAMP,
    "TIMESTAMP_S": types.TIMESTAMP,
    "TIMESTAMP_MS": types.TIMESTAMP,
    "TIMESTAMP_NS": types.TIMESTAMP,
    "TIMESTAMP WITH TIME ZONE": lambda: types.TIMESTAMP(timezone=True),
    "INTERVAL": types.Interval,
    "JSON": types.JSON,
}
_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_LIST = re.compile(r"(.+)\[\d*\]", re.DOTALL)


def sql_type(name: str) -> TypeEngine[Any]:
    """Returns SQLAlchemy's type for DuckDB's name of one; NullType where it has none."""
    if parts := _LIST.fullmatch(name):
        item = sql_type(parts[1])
        if isinstance(item, types.ARRAY):
            return types.ARRAY(item.item_type, dimensions=(item.dimensions or 1) + 1)
        return types.ARRAY(item, dimensions=1)
    if parts := _DECIMAL.fullmatch(name):
        return types.Numeric(int(parts[1]), int(parts[2]))
    if name.startswith("ENUM("):
        return types.String()
    type_class = _TYPES.get(name)
    return type_class() if type_class else types.NullType()


class Reflection:
    """The half of the dialect that answers an Inspector; each catalog is asked once for it."""

    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:
        return [SCHEMA]

    def get_table_names(
        self, connection: Connection, schema: str | None = None, **kw: Any
    ) -> list[str]:
        """Returns the tables of the vault and the released ones."""
        if schema not in (None, SCHEMA):
            return []
        return [row["table_name"] for row in self._catalog(connection, _TABLES, **kw)]

    def has_table(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> bool:
        return table_name in self.get_table_names(connection, schema, **kw)

    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Found:
        """Returns the columns; the comment of a private one tells what is declared of it."""
        return [
            {
                "name": row["column_name"],
                "type": sql_type(row["data_type"]),
                "nullable": row["is_nullable"],
                "default": None,
                "autoincrement": False,
                "comment": row["comment"],
            }
            for row in self._rows_of_table(connection, _COLUMNS, table_name, schema, **kw)
        ]

    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> dict[str, Any]:
        rows = self._constraints(connection, "PRIMARY KEY", table_name, schema, **kw)
        columns = rows[0]["constraint_column_names"] if rows else []
        return {"constrained_columns": columns, "name": None}

    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Found:
        rows = self._constraints(connection, "UNIQUE", table_name, schema, **kw)
        return [{"name": None, "column_names": row["constraint_column_names"]} for row in rows]

    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Found:
        """Returns the links to the table of the units."""
        return [
            {
                "name": None,
                "constrained_columns": row["constraint_column_names"],
                "referred_schema": schema,
                "referred_table": row["referenced_table"],
                "referred_columns": row["referenced_column_names"],
                "options": {},
            }
            for row in self._constraints(connection, "FOREIGN KEY", table_name, schema, **kw)
        ]

    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> dict[str, str | None]:
        """Returns whom a private table protects, or how a released one was made."""
        (row,) = self._rows_of_table(connection, _TABLES, table_name, schema, **kw)
        return {"text": row["comment"]}

    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        raise exc.NoSuchTableError(view_name)

    def _none(self, connection: Connection, *names: str | None, **kw: Any) -> list[Any]:
        """There are no such things here."""
        return []

    get_view_names = get_materialized_view_names = get_sequence_names = _none
    get_temp_table_names = get_temp_view_names = get_indexes = get_check_constraints = _none

    def get_table_options(self, connection: Connection, *names: str | None, **kw: Any) -> Any:
        return {}

    def has_sequence(self, connection: Connection, *names: str | None, **kw: Any) -> bool:
        return False

    def _catalog(
        self, connection: Connection, sql: str, info_cache: Any = None, **_kw: Any
    ) -> Found:
        """Returns the rows of a query: an Inspector's `info_cache` keeps them while it lives."""
        cache = {} if info_cache is None else info_cache
        if sql not in cache:
            raw: Any = connection.connection
            with reading_duckdb(raw.session):  # the pool's wrapper hands on what it has not
                cache[sql] = [dict(row) for row in connection.exec_driver_sql(sql).mappings()]
        return list(cache[sql])

    def _rows_of_table(
        self, connection: Connection, sql: str, table: str, schema: str | None, **kw: Any
    ) -> Found:
        if not self.has_table(connection, table, schema, **kw):
            raise exc.NoSuchTableError(table)
        return [row for row in self._catalog(connection, sql, **kw) if row["table_name"] == table]

    def _constraints(
        self, connection: Connection, kind: str, table: str, schema: str | None, **kw: Any
    ) -> Found:
        rows = self._rows_of_table(connection, _CONSTRAINTS, table, schema, **kw)
        return [row for row in rows if row["constraint_type"] == kind]


# SQLAlchemy 2 asks for many tables at once, which PGDialect answers from PostgreSQL's catalog. Its
# default asks the methods above for one after the other; SQLAlchemy 1.4 has neither.
for _name in dir(DefaultDialect):
    if _name.startswith(("get_multi_", "has_multi_")):
        setattr(Reflection, _name, getattr(DefaultDialect, _name))
