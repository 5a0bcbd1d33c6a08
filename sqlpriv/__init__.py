"""Differentially private SQL over DuckDB, with strata as a first-class clause.

The module is a PEP 249 driver::

    import sqlpriv

    with sqlpriv.connect("people.duckdb") as con:  # an analyst's connection
        for row in con.execute("SELECT sex, AVG(income) FROM people STRATIFY BY sex"):
            print(row)

It is light on purpose: the engine is loaded when something is first connected to, so that tools
may import it to look at its errors and types in a few milliseconds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlpriv.errors import (
    BudgetExhausted,
    DatabaseError,
    DataError,
    DeclarationError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    KernelError,
    LedgerError,
    NotSupportedError,
    OperationalError,
    PermissionDenied,
    ProgrammingError,
    ReadFailed,
    Refused,
    VaultBusy,
    Warning,
)
from sqlpriv.interfaces.dbapi.types import (
    BINARY,
    DATETIME,
    NUMBER,
    ROWID,
    STRING,
    Binary,
    Date,
    DateFromTicks,
    Time,
    TimeFromTicks,
    Timestamp,
    TimestampFromTicks,
)

if TYPE_CHECKING:
    from pathlib import Path

    from sqlpriv.interfaces.dbapi.connection import Connection, Cursor

__version__ = "0.1.0"

apilevel = "2.0"
threadsafety = 1
"""Threads may share the module, not a connection."""
paramstyle = "qmark"
"""`?` takes the next of a sequence; `$1` of a sequence and `:name` of a mapping work as well."""

__all__ = [  # noqa: RUF022 (in the order of sorted(), which a test can say)
    "BINARY",
    "Binary",
    "BudgetExhausted",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "DeclarationError",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "KernelError",
    "LedgerError",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "PermissionDenied",
    "ProgrammingError",
    "ROWID",
    "ReadFailed",
    "Refused",
    "STRING",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "VaultBusy",
    "Warning",
    "__version__",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]


def connect(
    vault: str | Path,
    *,
    role: str | None = None,
    principal: str | None = None,
    token: str | tuple[str, str] | None = None,
    ca: str | Path | None = None,
    dialect: str = "duckdb",
    ledger: str | None = None,
    engine: str | None = None,
) -> Connection:
    """Opens a vault.

    Args:
        vault: Path of the DuckDB file that holds the private tables. Its ledger and its releases
            lie beside it (people.duckdb, people.ledger, people.release.duckdb). Or a server's
            address: grpc+tls://host:port. Or the name of a connection in sqlpriv.toml.
        role: "analyst", the default, asks under the budget; "owner" declares, loads data and runs
            plain SQL. The role keeps honest people from slips. It is no lock: whoever can read the
            file can read the data. A server knows it by the token.
        principal: Whose name the charges are recorded under; by default the system's user name.
        token: For a server, which knows role and name by it: what `sqlpriv user add` showed, or
            (name, password). Without one: that in $SQLPRIV_TOKEN, or in the file that
            $SQLPRIV_TOKEN_FILE names.
        ca: For a server: a PEM file of the certificates to trust; the system's by default.
        dialect: The SQL dialect that statements are read in: duckdb, postgres, bigquery, snowflake,
            mysql, tsql, spark, trino, presto, oracle, sqlite, redshift or databricks.
            `SET privacy_dialect = 'postgres'` changes it.
        ledger: For a vault without a ledger: postgresql://user@host/database, a ledger that servers
            on many machines share. The vault keeps to it from then on. A password comes from
            $PGPASSWORD or ~/.pgpass; `sqlpriv ledger move` moves a ledger that is there.
        engine: Who reads the vault's tables FROM PARQUET and FROM ICEBERG, from now on:
            spark://host:15002, a Spark Connect server that sees the same files, or "duckdb".

    Raises:
        InterfaceError: The role is neither of the two, or there is no such dialect.
        OperationalError: The vault cannot be opened, or the server not reached.
    """
    from sqlpriv.interfaces.dbapi import connection

    return connection.connect(
        vault,
        role=role,
        principal=principal,
        token=token,
        ca=ca,
        dialect=dialect,
        ledger=ledger,
        engine=engine,
    )


def __getattr__(name: str) -> Any:
    if name in ("Connection", "Cursor"):
        from sqlpriv.interfaces.dbapi import connection

        return getattr(connection, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
