"""The relations of PostgreSQL's catalog, all of them, with all of their columns.

What a client asks cannot be foreseen. A query over a relation that a vault has nothing for
(conversions, say) finds no rows, as on a small server, and is no error.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

import duckdb

from sqlpriv.statements import quote_name

SCHEMAS = {"pg_catalog": "pgcat", "information_schema": "infoschema"}
"""What stands for each schema: DuckDB has schemas of both names, and they are its own."""


def create_relations(engine: duckdb.DuckDBPyConnection) -> None:
    """Creates every relation of pg_catalog and information_schema, empty, in `SCHEMAS`."""
    engine.execute(_definitions())


@cache
def _definitions() -> str:
    text = resources.files(__package__).joinpath("pg_columns.txt").read_text("utf-8")
    lines = (line for line in text.splitlines() if not line.startswith("#"))
    relations = "\n".join(lines).replace("\n ", "").splitlines()
    return "".join(map(_definition, relations))


def _definition(relation: str) -> str:
    """Returns the statement that creates a relation.

    >>> _definition("pg_catalog.pg_range rngtypid:BIGINT rngcanonical")
    'CREATE TABLE pgcat."pg_range" ("rngtypid" BIGINT, "rngcanonical" VARCHAR);'
    """
    name, *columns = relation.split()
    schema, table = name.split(".")
    typed = (column.partition(":") for column in columns)
    listed = ", ".join(f"{quote_name(name)} {type_ or 'VARCHAR'}" for name, _, type_ in typed)
    return f"CREATE TABLE {SCHEMAS[schema]}.{quote_name(table)} ({listed});"
