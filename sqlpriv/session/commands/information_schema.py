"""DuckDB's catalog functions, and information_schema, over what is public.

Tools learn of a schema by asking duckdb_tables(), duckdb_columns() and duckdb_constraints(), or the
views of information_schema, in which privacy links are foreign keys. Here they are asked of an
engine that holds the released tables and, for each table of the vault, an empty one made from its
contract: names, types, keys, links and declarations, never a row. So a schema is read without
opening the vault, charges nothing, and shows the same to everybody; an owner's own catalog of the
vault lacks only the engine's estimates of size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from sqlpriv.errors import ProgrammingError
from sqlpriv.kernel.sql.quoting import literal, name
from sqlpriv.kernel.terms.contract import Categories, Column, TableContract
from sqlpriv.publish.release_file import ReleaseStore
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.result import Result
from sqlpriv.session.commands import show
from sqlpriv.statements import commands as cmd
from sqlpriv.system.idle_engines import IdleEngines
from sqlpriv.system.quiet_engine import read_whole

FUNCTIONS = frozenset(
    f"duckdb_{what}()" for what in ("columns", "constraints", "schemas", "tables", "views")
)
VIEWS = frozenset(
    {
        "columns",
        "key_column_usage",
        "referential_constraints",
        "schemata",
        "table_constraints",
        "tables",
    }
)
"""The views of information_schema."""
_ANALYSTS = "SELECT table_name AS name FROM duckdb_tables() WHERE NOT internal ORDER BY ALL"
"""What SHOW TABLES shows to who has no vault of their own: every table's name."""
UNLISTED = "enum_without_labels"
"""The type of a column that is an ENUM and has no declared labels: shown as ENUM()."""
_ENGINES = IdleEngines[duckdb.DuckDBPyConnection](most=4)
"""Of catalogs: one takes 6 MiB, and threads."""
VAULT = "vault"
"""The database that those functions say the vault's tables are in; released ones: release."""


def asks_only_this(plain: cmd.Plain, *, of_views: bool) -> bool:
    """Tells whether a query is one about the schema, and nothing else.

    Args:
        plain: The query.
        of_views: Whether it may be about information_schema, which an owner's engine has itself,
            with what an open transaction has made.
    """
    text = re.sub(r'["\s]', "", plain.text.lower())
    views = {view for view in VIEWS if of_views and f"information_schema.{view}" in text}
    names = frozenset(plain.tables)
    return plain.reads_only and bool(names) and names <= FUNCTIONS | views


def lists_tables(plain: cmd.Plain) -> bool:
    """Tells whether a statement is SHOW TABLES, in one of DuckDB's spellings."""
    words = " ".join(plain.text.upper().split())
    return words in ("SHOW TABLES", "SHOW ALL TABLES", "PRAGMA SHOW_TABLES")


def table_names(access: Access, plain: cmd.Plain) -> pa.Table:
    """Returns the names of all tables, of the vault and released, in one column `name`.

    Args:
        access: An owner's sees the tables that an open transaction has made, too.
        plain: SHOW TABLES, which DuckDB runs on an owner's vault.
    """
    if access.owner is None:
        return query(access, cmd.Plain(_ANALYSTS, ("duckdb_tables()",), True))
    in_vault = access.sql.run_exactly(plain.text, (), ()).table
    assert in_vault is not None  # SHOW TABLES has rows
    names = {*in_vault.column("name").to_pylist(), *access.sql.released_names()}
    return pa.table({"name": sorted(names)})


def table_info(statement: cmd.Describe, access: Access) -> Result:
    """Returns what DuckDB's `PRAGMA table_info` gives of a table, as its contract says it is.

    Raises:
        Refused: There is no such table.
    """
    contract = access.tables.contracts().get(statement.table.lower())
    if contract is None:
        return show.describe_table(statement, access)
    table = literal(f"{VAULT}.main.{name(contract.table)}")
    return Result(query(access, cmd.Plain(f"SELECT * FROM pragma_table_info({table})", (), True)))


def query(access: Access, plain: cmd.Plain) -> pa.Table:
    """Runs a query over the catalog functions, as if there were no tables that may not be used; see
    `asks_only_this`.

    Raises:
        ProgrammingError: DuckDB's own message: there is nothing private in this engine.
    """
    definitions = tuple(_definitions(access.tables.contracts()))
    try:
        with _engine_with(definitions, access.store) as engine, engine.cursor() as cursor:
            if access.tables.hides_tables():
                _empty_released_tables(engine, access.comments())
            ((database,),) = engine.execute("SELECT current_database()").fetchall()
            cursor.execute(f"USE {name(database)}")
            # a connection of its own: setseed() would have the next one's random() be the same
            return read_whole(cursor.sql(plain.text, params=plain.parameters or None))
    except duckdb.Error as error:
        raise ProgrammingError(str(error)) from None


@contextmanager
def _engine_with(
    definitions: tuple[str, ...], store: ReleaseStore
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Yields an engine that has these tables and sees the released ones, for one caller alone.

    It is kept for whoever asks next about the same tables, without the file of released ones, which
    others may write then. A tool asks dozens of times: of 32 tables with 20 columns each time took
    69 ms of processor time, and takes 5.
    """
    has_file = store.path.exists()  # an engine that never saw a file cannot open one
    made_of = (store.path, has_file, definitions)
    engine = _ENGINES.take(made_of)
    if engine is not None and has_file:
        store.attach(engine)
    is_new, engine = engine is None, engine or store.connect_read_only()
    try:
        for statement in definitions if is_new else ():
            engine.execute(statement)
        yield engine
        store.detach(engine)
    except BaseException:  # whatever it was, also an interrupt: its engine is not used again
        engine.close()
        raise
    _ENGINES.keep(engine, made_of)


def _empty_released_tables(engine: duckdb.DuckDBPyConnection, comments: Mapping[str, str]) -> None:
    """Puts empty tables with other comments in the place of the released ones.

    Args:
        engine: Has the released tables attached as `release`.
        comments: What they say of themselves; those in the file tell which statement made them.
    """
    if not comments:
        return
    engine.execute("ATTACH ':memory:' AS empty_tables")
    for there, here in (("release", "empty_tables"), ("empty_tables", "release")):
        for table in comments:
            source = f"{there}.main.{name(table)}"
            engine.execute(f"CREATE TABLE {here}.main.{name(table)} AS FROM {source} LIMIT 0")
        engine.execute(f"USE {here}")
        engine.execute(f"DETACH {there}")
        if here == "empty_tables":
            engine.execute("ATTACH ':memory:' AS release")
    for table, comment in comments.items():
        engine.execute(f"COMMENT ON TABLE release.main.{name(table)} IS {literal(comment)}")


def _definitions(contracts: Mapping[str, TableContract]) -> list[str]:
    """Returns the SQL that makes the vault's tables, empty: those linked to before those that link.

    A link whose parent has no key of its own, or is made later, cannot be said as a constraint.
    """
    defined: dict[str, TableContract] = {}
    statements = [
        f"ATTACH ':memory:' AS {VAULT}",
        f"CREATE TYPE {VAULT}.main.{UNLISTED} AS ENUM ()",
    ]
    for contract in sorted(contracts.values(), key=lambda c: len(c.links)):
        table = f"{VAULT}.main.{name(contract.table)}"
        parts = [_column(column) for column in contract.columns]
        parts += _keys(contract) + _links(contract, defined)
        statements.append(f"CREATE TABLE {table} ({', '.join(parts)})")
        statements.append(f"COMMENT ON TABLE {table} IS {literal(_about(contract))}")
        for column in contract.columns:
            if about := _about_column(contract, column):
                where = f"{table}.{name(column.name)}"
                statements.append(f"COMMENT ON COLUMN {where} IS {literal(about)}")
        defined[contract.table.lower()] = contract
    return statements


def _column(column: Column) -> str:
    sql_type = column.sql_type
    if sql_type == "ENUM":  # the labels of the type are private, those that are declared are not
        domain = column.domain
        labels = domain.labels if isinstance(domain, Categories) else ()
        texts = ", ".join(literal(label) for label in labels if label is not None)
        sql_type = f"ENUM ({texts})" if texts else f"{VAULT}.main.{UNLISTED}"
    return f"{name(column.name)} {sql_type}{' NOT NULL' if column.required else ''}"


def _keys(contract: TableContract) -> list[str]:
    """The first column that is unique and never NULL is the primary key, the others are unique."""
    keys = [c for c in contract.columns if c.name.lower() in contract.unique]
    primary = next((c for c in keys if c.required), None)
    return [
        f"{'PRIMARY KEY' if column is primary else 'UNIQUE'} ({name(column.name)})"
        for column in keys
    ]


def _links(contract: TableContract, made: Mapping[str, TableContract]) -> list[str]:
    return [
        f"FOREIGN KEY ({name(x.column)}) REFERENCES {name(x.table)} ({name(x.parent)})"
        for x in contract.links
        if x.table.lower() in made
        and not x.further  # the key of several columns is no PRIMARY KEY there
        and x.parent.lower() in made[x.table.lower()].unique
    ]


def _about(contract: TableContract) -> str:
    status = show.status(contract)
    if contract.unit is None:
        return status
    unit = contract.unit
    bounds = f"rows_per_unit = {unit.rows_per_unit}, groups_per_unit = {unit.groups_per_unit}"
    table, columns = show.unit_as_written(contract)
    return f"{status}: protects each {columns} of {table}; {bounds}"


def _about_column(contract: TableContract, column: Column) -> str:
    domain = show.domain_sql(column.domain)
    parts = (show.role(contract, column), domain and f"privacy domain {domain}")
    return "; ".join(part for part in parts if part)
