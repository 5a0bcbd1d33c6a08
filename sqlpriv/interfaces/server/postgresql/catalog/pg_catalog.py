"""PostgreSQL's catalog of a vault: an empty DuckDB database that looks like one of PostgreSQL.

It holds what anybody may know: an empty table for each private, public and released one, and
pg_catalog and information_schema over them. No row of the vault is in it, and of a release only
those that an owner lets previews show. So whatever a client asks of it is free, and a mistake in
telling such statements apart from others can give a wrong error and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from typing import Any

import duckdb
import pyarrow as pa

from sqlpriv.errors import ProgrammingError
from sqlpriv.interfaces.server.postgresql.catalog.catalog_answers import (
    bind_query,
    with_arrays_of_postgresql,
)
from sqlpriv.interfaces.server.postgresql.catalog.catalog_facts import CatalogFacts
from sqlpriv.interfaces.server.postgresql.catalog.catalog_relations import create_relations
from sqlpriv.interfaces.server.postgresql.catalog.key_rows import FIRST_TABLE, key_rows
from sqlpriv.interfaces.server.postgresql.catalog.type_rows import type_rows
from sqlpriv.interfaces.server.postgresql.encoding import type_numbers as types
from sqlpriv.interfaces.server.postgresql.encoding.sqlstate import SqlStateError
from sqlpriv.interfaces.server.postgresql.reading.catalog_text import to_duckdb
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import tokens
from sqlpriv.publish.release_file import NO_EXTENSIONS, SEALED
from sqlpriv.session.session import Session
from sqlpriv.statements import literal, quote_name
from sqlpriv.system.quiet_engine import open_engine, read_whole

_LIMITS: dict[str, str | int] = {"memory_limit": "256MB", "threads": 1, "temp_directory": ""}
_MOST_BYTES = 2**26
"""The largest answer, in bytes: DuckDB's limit of memory does not count what is fetched."""
_OF_DUCKDB = re.compile(r"(duckdb|pragma|read|parquet|sniff)_\w+|query|query_table|glob")
"""Functions and views of DuckDB alone, some of which tell where the server keeps its files."""
_NO_FUNCTION = re.compile(r'Invalid Input Error: (function ".*" (does not exist|has no .*))')
"""What the macro to_regproc says of a name, as psql's `\\sf` asks for one."""
_NAMESPACES = [(11, "pg_catalog", 10), (2200, "public", 10), (13_000, "information_schema", 10)]


class CatalogDatabase:
    """The catalog as it was when its facts were read.

    Args:
        session: Of the client whose catalog it is.
        facts: What tables there are.
        settings: What pg_settings and current_setting() tell.
    """

    def __init__(self, session: Session, facts: CatalogFacts, settings: Mapping[str, str]) -> None:
        self._session, self._settings = session, settings
        self.facts = facts
        config: dict[str, Any] = {**NO_EXTENSIONS, **_LIMITS}
        self._engine = open_engine(config=config)
        self._previews: set[str] = set()
        try:
            self._fill()
        except BaseException:  # Ctrl-C, too, leaves no engine open
            self._engine.close()
            raise

    def close(self) -> None:
        """Closes the database."""
        self._tables.close()
        self._engine.close()

    def query(self, sql: str, parameters: Sequence[Any], *, of_tables: bool = False) -> pa.Table:
        """Returns the rows of a query over the catalog, or the empty ones of a query over tables.

        Args:
            sql: The query.
            parameters: Values for its parameters.
            of_tables: Whether it may name the tables themselves, which are empty here. Otherwise
                they are not found: nobody shall take an empty answer for one about their rows.

        Raises:
            ProgrammingError: DuckDB's own message: there is nothing private here.
        """
        words = tokens(sql)
        if name := next((t.name for t in words if _OF_DUCKDB.fullmatch(t.name)), ""):
            raise SqlStateError("42883", f"function or view {name} does not exist")
        text = to_duckdb(sql, self._session.principal)
        engine = self._tables if of_tables else self._engine
        try:
            with self._session.interruptible(engine):
                relation = bind_query(engine, text, list(parameters))
                return (
                    pa.table({})
                    if relation is None
                    else with_arrays_of_postgresql(read_whole(relation, _MOST_BYTES), sql)
                )
        except duckdb.Error as error:
            if match := _NO_FUNCTION.fullmatch(str(error)):
                state = "42883" if match[2] == "does not exist" else "0A000"
                raise SqlStateError(state, match[1]) from None
            raise ProgrammingError(str(error)) from None

    def is_of(self, facts: CatalogFacts) -> bool:
        """Tells whether facts that were read later describe the same catalog. A catalog that
        holds synthetic rows counts as outdated, because those rows may have changed."""
        if facts is not self.facts and not self._previews and facts == self.facts:
            self.facts = facts
        return facts is self.facts

    def has_preview(self, table: str) -> bool:
        """Tells whether a private table's place holds synthetic rows."""
        return table.lower() in self._previews

    def fill_preview(self, table: str, rows: pa.Table) -> None:
        """Puts synthetic rows into the empty place of a private table.

        Args:
            table: Its name.
            rows: Of a released table. Columns of the same names are taken; others stay NULL.
        """
        synthetic = {name.lower(): name for name in rows.column_names}
        own = [c for c in self.facts.columns if c["table_name"].lower() == table.lower()]
        common = [c for c in own if c["column_name"].lower() in synthetic]
        self._previews.add(table.lower())
        if not common:
            return
        names = ", ".join(quote_name(c["column_name"]) for c in common)
        values = ", ".join(
            f"TRY_CAST({quote_name(synthetic[c['column_name'].lower()])}"
            f" AS {_known_type(c['data_type'])})"
            for c in common
        )
        self._tables.register("preview_rows", rows)
        try:
            self._tables.execute(
                f"INSERT INTO public.{quote_name(common[0]['table_name'])} ({names})"
                f" SELECT {values} FROM preview_rows"
            )
        finally:
            self._tables.unregister("preview_rows")

    def _fill(self) -> None:
        run = self._engine.execute
        run("BEGIN; CREATE SCHEMA pgcat; CREATE SCHEMA infoschema; CREATE SCHEMA public")
        create_relations(self._engine)
        run("SET integer_division = true")  # as PostgreSQL divides: 7/2 is 3
        # clients that name no order expect a table's columns in theirs, also behind a join
        run("SET disabled_optimizers = 'build_side_probe_side'")
        run(f"SET VARIABLE principal = {literal(self._session.principal)}")
        run(f"SET VARIABLE database = {literal(self._session.vault.stem)}")
        oids = self._create_tables()
        run("SET search_path = 'pgcat'")
        self._create_types()
        self._create("settings", "name VARCHAR, setting VARCHAR", list(self._settings.items()))
        self._create_keys(oids)
        for name in ("pg_functions", "pg_catalog"):
            run(resources.files(__package__).joinpath(f"{name}.sql").read_text("utf-8"))
        run("COMMIT")
        self._tables = self._engine.cursor()
        self._tables.execute("SET search_path = 'public'")
        for setting in SEALED:
            run(setting)

    def _create_tables(self) -> dict[str, int]:
        """Makes every table, empty, and the rows that describe it; returns the tables' numbers."""
        by_table: dict[str, list[dict[str, Any]]] = {}
        for column in self.facts.columns:
            by_table.setdefault(column["table_name"], []).append(column)
        about = {row["table_name"]: row["comment"] for row in self.facts.comments}
        oids, classes, attributes, notes = {}, [], [], []
        for at, (table, columns) in enumerate(by_table.items()):
            oid = oids[table] = FIRST_TABLE + at
            parts = [
                f"{quote_name(c['column_name'])} {_known_type(c['data_type'])}" for c in columns
            ]
            target = f"public.{quote_name(table)}"
            self._engine.execute(f"CREATE TABLE {target} ({', '.join(parts)})")
            empty = self._engine.sql(f"FROM {target}").to_arrow_table().schema
            classes.append((oid, table, 2200, "r", len(columns)))
            if table in about:
                notes.append((oid, 0, about[table]))
            for number, (column, field) in enumerate(zip(columns, empty, strict=True), 1):
                kind = types.type_oid(field.type)
                required = not column["is_nullable"]
                modifier = types.type_modifier(field.type)
                attributes.append((oid, column["column_name"], kind, number, required, modifier))
                if column["comment"]:
                    notes.append((oid, number, column["comment"]))
        self._insert("pg_namespace (oid, nspname, nspowner)", _NAMESPACES)
        self._insert(
            "pg_description (objoid, objsubid, description, classoid)",
            [(*note, 1259) for note in notes],
        )
        self._create(
            "attributes",
            "attrelid BIGINT, attname VARCHAR, atttypid BIGINT,"
            " attnum SMALLINT, attnotnull BOOLEAN, atttypmod INTEGER",
            attributes,
        )
        self._create(
            "classes",
            "oid BIGINT, relname VARCHAR, relnamespace BIGINT, relkind VARCHAR, relnatts SMALLINT",
            classes,
        )
        return oids

    def _create_types(self) -> None:
        self._create(
            "types",
            "oid BIGINT, typname VARCHAR, sql_name VARCHAR, typelem BIGINT,"
            " typlen SMALLINT, typcategory VARCHAR, typtype VARCHAR",
            type_rows(),
        )

    def _create_keys(self, oids: dict[str, int]) -> None:
        numbers = {
            (row["table_name"], row["column_name"]): at for at, row in self._numbered_columns()
        }
        rows = key_rows(self.facts.keys, oids, numbers)
        self._create(
            "constraints",
            "oid BIGINT, conname VARCHAR, connamespace BIGINT,"
            " contype VARCHAR, conrelid BIGINT, conindid BIGINT, confrelid BIGINT,"
            " conkey SMALLINT[], confkey SMALLINT[], condef VARCHAR",
            rows.constraints,
        )
        self._create(
            "indexes",
            "indexrelid BIGINT, indrelid BIGINT, indisprimary BOOLEAN,"
            " indkey SMALLINT[], inddef VARCHAR, indcolumns VARCHAR[]",
            rows.indexes,
        )
        self._insert("classes", rows.classes)

    def _numbered_columns(self) -> Iterable[tuple[int, dict[str, Any]]]:
        table, number = None, 0
        for row in self.facts.columns:
            number = number + 1 if row["table_name"] == table else 1
            table = row["table_name"]
            yield number, row

    def _create(self, table: str, columns: str, rows: Sequence[Sequence[Any]]) -> None:
        self._engine.execute(f"CREATE TABLE pgcat.{table} ({columns})")
        self._insert(table, rows)

    def _insert(self, target: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            marks = ", ".join([f"({', '.join('?' * len(rows[0]))})"] * len(rows))
            values = [value for row in rows for value in row]
            self._engine.execute(f"INSERT INTO pgcat.{target} VALUES {marks}", values)


def _known_type(name: str) -> str:
    """Returns the type of a column in this database: VARCHAR for an ENUM, whose type is not
    here."""
    return "VARCHAR" if name.upper().startswith("ENUM") else name
