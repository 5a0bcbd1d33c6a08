"""What tables there are, as Flight SQL's catalog calls ask for it. Names and declarations: public.

There is one catalog, named after the vault, with one schema, main. Released and public tables are
of the type TABLE, which is what BI tools list: they may be asked freely. Private tables are of the
type PRIVATE TABLE: they take a budget and the SQL that goes with it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from sqlpriv.session.session_like import SessionLike, reading_duckdb
from sqlpriv.statements import literal, quote_name
from sqlpriv.system.quiet_engine import open_engine

FREE, PRIVATE = "TABLE", "PRIVATE TABLE"
_SCHEMA = "main"
_NO_ACTION = 3
"""What Flight SQL calls it when a key's change changes no row that refers to it."""
_S, _I = pa.string(), pa.int32()


def _fields(**kinds: pa.DataType) -> pa.Schema:
    """Returns a schema; a name that ends in `_` is of a column that is never NULL."""
    return pa.schema([pa.field(n.rstrip("_"), k, not n.endswith("_")) for n, k in kinds.items()])


_CATALOGS = _fields(catalog_name_=_S)
_SCHEMAS = _fields(catalog_name=_S, db_schema_name_=_S)
_TABLES = _fields(catalog_name=_S, db_schema_name=_S, table_name_=_S, table_type_=_S)
_TYPES = _fields(table_type_=_S)
_PRIMARY = _fields(
    catalog_name=_S,
    db_schema_name=_S,
    table_name_=_S,
    column_name_=_S,
    key_name=_S,
    key_sequence_=_I,
)
_FOREIGN = _fields(
    pk_catalog_name=_S,
    pk_db_schema_name=_S,
    pk_table_name_=_S,
    pk_column_name_=_S,
    fk_catalog_name=_S,
    fk_db_schema_name=_S,
    fk_table_name_=_S,
    fk_column_name_=_S,
    key_sequence_=_I,
    fk_key_name=_S,
    pk_key_name=_S,
    update_rule_=pa.uint8(),
    delete_rule_=pa.uint8(),
)


def catalogs(_: Any, session: SessionLike) -> pa.Table:
    """GetCatalogs."""
    return _table([{"catalog_name": session.vault.stem}], _CATALOGS)


def schemas(command: Any, session: SessionLike) -> pa.Table:
    """GetDbSchemas."""
    rows = [{"catalog_name": session.vault.stem, "db_schema_name": _SCHEMA}]
    return _table(rows if _here(command, session) else [], _SCHEMAS)


def types(_command: Any, _session: SessionLike) -> pa.Table:
    """GetTableTypes."""
    return _table([{"table_type": PRIVATE}, {"table_type": FREE}], _TYPES)


def tables(command: Any, session: SessionLike) -> pa.Table:
    """GetTables, with the schemas of the tables where they are asked for."""
    columns = _TABLES
    if command.include_schema:
        columns = columns.append(pa.field("table_schema", pa.binary(), nullable=False))
    wanted = {
        name: kind
        for name, kind in (tables_with_types(session) if _here(command, session) else ())
        if not command.table_types or kind in command.table_types
        if _like(command, "table_name_filter_pattern", name)
    }
    here = {"catalog_name": session.vault.stem, "db_schema_name": _SCHEMA}
    rows: list[dict[str, Any]] = [
        {**here, "table_name": name, "table_type": kind} for name, kind in wanted.items()
    ]
    if command.include_schema:
        schemas_of = _columns(session, wanted)
        for row in rows:
            row["table_schema"] = schemas_of[row["table_name"]].serialize().to_pybytes()
    return _table(rows, columns)


def primary_keys(command: Any, session: SessionLike) -> pa.Table:
    """GetPrimaryKeys: of columns that are declared unique and never NULL."""
    rows = [
        {"table_name": table, "column_name": column, "key_sequence": place, "key_name": name}
        for table, name, columns in _keys_of(session, "PRIMARY KEY")
        if _is_of_table(command, "", table, session)
        for place, column in enumerate(columns, 1)
    ]
    here = {"catalog_name": session.vault.stem, "db_schema_name": _SCHEMA}
    return _table([row | here for row in rows], _PRIMARY)


def imported_keys(command: Any, session: SessionLike) -> pa.Table:
    """GetImportedKeys: privacy links of a table."""
    rows = _links(session)
    return _foreign(
        [row for row in rows if _is_of_table(command, "", row["fk_table_name"], session)]
    )


def exported_keys(command: Any, session: SessionLike) -> pa.Table:
    """GetExportedKeys: privacy links to a table."""
    rows = _links(session)
    return _foreign(
        [row for row in rows if _is_of_table(command, "", row["pk_table_name"], session)]
    )


def cross_reference(command: Any, session: SessionLike) -> pa.Table:
    """GetCrossReference: privacy links from one table to another."""
    return _foreign(
        [
            row
            for row in _links(session)
            if _is_of_table(command, "pk_", row["pk_table_name"], session)
            and _is_of_table(command, "fk_", row["fk_table_name"], session)
        ]
    )


CALLS: dict[str, Callable[[Any, SessionLike], pa.Table]] = {
    "CommandGetCatalogs": catalogs,
    "CommandGetDbSchemas": schemas,
    "CommandGetTables": tables,
    "CommandGetTableTypes": types,
    "CommandGetPrimaryKeys": primary_keys,
    "CommandGetExportedKeys": exported_keys,
    "CommandGetImportedKeys": imported_keys,
    "CommandGetCrossReference": cross_reference,
}


def tables_with_types(session: SessionLike) -> list[tuple[str, str]]:
    """Returns (name, type) of every table, in the order that Flight SQL asks for."""
    kinds = dict.fromkeys(session.catalog().released, FREE)
    for row in _rows(session, "SHOW PRIVACY TABLES"):
        kinds[row["table"]] = FREE if row["status"] == "public" else PRIVATE
    return sorted(kinds.items())


def _keys_of(session: SessionLike, kind: str) -> list[tuple[str, str, list[str]]]:
    """Returns (table, name, columns) of every key of a kind: public facts, read from contracts."""
    with reading_duckdb(session):
        rows = _rows(
            session,
            "SELECT table_name, constraint_name, constraint_column_names FROM duckdb_constraints()"
            f" WHERE constraint_type = {literal(kind)} ORDER BY table_name, constraint_name",
        )
    return [tuple(row.values()) for row in rows]


def _links(session: SessionLike) -> list[dict[str, Any]]:
    """Returns a row of `_FOREIGN` for each column of a privacy link."""
    primary = {table: (name, columns) for table, name, columns in _keys_of(session, "PRIMARY KEY")}
    with reading_duckdb(session):
        links = _rows(
            session,
            "SELECT table_name, constraint_name, constraint_column_names AS columns,"
            " referenced_table, referenced_column_names AS parents FROM duckdb_constraints()"
            " WHERE constraint_type = 'FOREIGN KEY' ORDER BY table_name, constraint_name",
        )
    here = dict.fromkeys(("pk_catalog_name", "fk_catalog_name"), session.vault.stem)
    here |= dict.fromkeys(("pk_db_schema_name", "fk_db_schema_name"), _SCHEMA)
    rows = []
    for link in links:
        name, columns = primary.get(link["referenced_table"], (None, []))
        ends = zip(link["parents"], link["columns"], strict=True)
        for place, (parent, column) in enumerate(ends, 1):
            row = {"pk_table_name": link["referenced_table"], "pk_column_name": parent}
            row |= {"fk_table_name": link["table_name"], "fk_column_name": column}
            row |= {"key_sequence": place, "fk_key_name": link["constraint_name"]}
            row["pk_key_name"] = name if columns == link["parents"] else None
            rows.append(here | row | dict.fromkeys(("update_rule", "delete_rule"), _NO_ACTION))
    return rows


def _foreign(rows: list[dict[str, Any]]) -> pa.Table:
    return _table(rows, _FOREIGN)


def _is_of_table(command: Any, prefix: str, table: str, session: SessionLike) -> bool:
    """Tells whether a table is the one that a command names, in this catalog and schema."""
    here = {"catalog": session.vault.stem, "db_schema": _SCHEMA, "table": table}
    return all(
        not command.HasField(f"{prefix}{part}")
        or getattr(command, f"{prefix}{part}").lower() == name.lower()
        for part, name in here.items()
    )


def _rows(session: SessionLike, sql: str) -> list[dict[str, Any]]:
    table = session.execute(sql).table
    return [] if table is None else list(table.to_pylist())


def _columns(session: SessionLike, tables: dict[str, str]) -> dict[str, pa.Schema]:
    """Returns the columns of tables as Arrow's: of their declared types, where they are private.

    All private tables are asked for in one statement, which lists all columns there are: one for
    each table took a minute of processor time for 150 tables of 80 columns.

    Args:
        session: Of whoever asks.
        tables: The type of each table, by its name.
    """
    typed: dict[str, list[str]] = {name: [] for name, kind in tables.items() if kind != FREE}
    with reading_duckdb(session):
        schemas = {
            name: session.describe(f"SELECT * FROM {quote_name(name)}")
            for name in tables
            if name not in typed
        }
        sql = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal"
        for column in _rows(session, sql) if typed else ():
            # DESCRIBE says ENUM, which is no type; here its public labels are told
            kind = "VARCHAR" if column["data_type"] == "ENUM()" else column["data_type"]
            if column["table_name"] in typed:
                null = f"CAST(NULL AS {kind}) AS {quote_name(column['column_name'])}"
                typed[column["table_name"]].append(null)
    with open_engine() as engine:
        for name, nulls in typed.items():
            schemas[name] = engine.sql(f"SELECT {', '.join(nulls)}").to_arrow_table().schema
    return schemas


def _here(command: Any, session: SessionLike) -> bool:
    """Tells whether the one catalog and its schema are among those that are asked for."""
    catalog = command.catalog if command.HasField("catalog") else session.vault.stem
    return catalog == session.vault.stem and _like(command, "db_schema_filter_pattern", _SCHEMA)


def _like(command: Any, field: str, name: str) -> bool:
    """Tells whether a name fits a pattern of `%` and `_`; without one, every name does."""
    if not command.HasField(field):
        return True
    return fits_pattern(name, getattr(command, field))


def fits_pattern(name: str, pattern: str) -> bool:
    """Tells whether a name fits a pattern in which `%` is any text and `_` any one character.

    The pieces between the `%` are looked for from left to right, each as far left as it fits:
    whatever fits at all fits that way, so nothing is ever tried a second time. The work is at most
    the square of the name's length, whatever the pattern: a client chooses the pattern, and an
    earlier matcher went back over it for hours.

    >>> [fits_pattern("people", pattern) for pattern in ("p%", "%op_e", "_", "%")]
    [True, True, False, True]
    """
    if len(pattern) - pattern.count("%") > len(name):
        return False
    while "%%" in pattern:
        pattern = pattern.replace("%%", "%")
    first, *rest = pattern.split("%")
    if not _fits_at(name, 0, first):
        return False
    if not rest:
        return len(name) == len(first)
    *middle, last = rest
    start = len(first)
    for piece in middle:
        places = range(start, len(name) - len(piece) + 1)
        place = next((at for at in places if _fits_at(name, at, piece)), None)
        if place is None:
            return False
        start = place + len(piece)
    end = len(name) - len(last)
    return end >= start and _fits_at(name, end, last)


def _fits_at(name: str, start: int, piece: str) -> bool:
    """Tells whether a piece without `%` fits the name from a position on."""
    letters = name[start : start + len(piece)]
    return len(letters) == len(piece) and all(
        wanted in ("_", letter) for wanted, letter in zip(piece, letters, strict=True)
    )


def _table(rows: list[dict[str, Any]], columns: pa.Schema) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=columns)
