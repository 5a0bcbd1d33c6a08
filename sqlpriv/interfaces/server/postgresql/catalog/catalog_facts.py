"""What a catalog is made of: public facts about tables, read by one query."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlpriv.interfaces.server.protocol.catalog import PRIVATE, tables_with_types
from sqlpriv.session.session import Session
from sqlpriv.session.session_like import reading_duckdb

_COLUMNS = (
    "SELECT table_name, column_name, data_type, is_nullable, comment, database_name, column_index"
    " FROM duckdb_columns() WHERE NOT internal"
)
_COMMENTS = "SELECT table_name, comment FROM duckdb_tables() WHERE comment IS NOT NULL"
_KEYS = (
    "SELECT table_name, constraint_type, constraint_column_names, referenced_table,"
    " referenced_column_names FROM duckdb_constraints()"
    " WHERE constraint_type IN ('PRIMARY KEY', 'UNIQUE', 'FOREIGN KEY')"
)
_FACTS = (
    "SELECT (SELECT list(r ORDER BY database_name DESC, table_name, column_index)"
    f" FROM ({_COLUMNS}) r) AS columns,"
    f" (SELECT list(r) FROM ({_COMMENTS}) r) AS comments, (SELECT list(r) FROM ({_KEYS}) r) AS keys"
)

Row = dict[str, Any]


class CatalogFacts(NamedTuple):
    """Rows of DuckDB's functions: of columns, of tables with comments, of keys."""

    columns: list[Row]
    comments: list[Row]
    keys: list[Row]


def catalog_facts(session: Session) -> CatalogFacts:
    """Returns the facts about the tables that a session may use, which is free."""
    with reading_duckdb(session):
        table = session.execute(_FACTS).table
    assert table is not None  # a SELECT has rows
    return CatalogFacts(*(column[0].as_py() or [] for column in table.columns))


def private_tables(session: Session) -> frozenset[str]:
    """Returns the names, in lower case, of the private tables that a session may use."""
    kinds = tables_with_types(session)
    return frozenset(name.lower() for name, kind in kinds if kind == PRIVATE)
