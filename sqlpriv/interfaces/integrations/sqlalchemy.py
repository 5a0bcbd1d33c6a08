"""The SQLAlchemy dialect `sqlpriv://`, for SQLAlchemy 1.4, 2.0 and 2.1.

    create_engine("sqlpriv:////data/people.duckdb?privacy_epsilon=0.1")

opens that vault for an analyst, each of whose private statements costs epsilon 0.1 unless it says
otherwise itself. Other options: `role=owner`, `principal=ada`. A server is reached by

    create_engine("sqlpriv://token@host:31337/?privacy_epsilon=0.1&ca=cert.pem")

or by `user:password@` (a token `ada.xyz` is `ada:xyz`, too). An engine hides the token and the
password where it is printed: `Engine(sqlpriv://ada:***@host:31337/)`. Without either, the token
comes from $SQLPRIV_TOKEN. `tls=false` speaks to a server of this machine without TLS.
`sqlpriv:///census` is the connection `census` of sqlpriv.toml. `dialect=bigquery` lets texts be
written in another SQL dialect, on a file or a server.

Private queries are written as text, or with the two clauses as they stand in SQL::

    price = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)"
    select(people.c.sex, func.count()).prefix_with(price).suffix_with("STRATIFY BY sex")

SQLAlchemy's compiler for PostgreSQL writes the SQL, because DuckDB's SQL is close to PostgreSQL's.
The classes below change what differs.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import sqlalchemy
from sqlalchemy import exc, pool
from sqlalchemy.dialects.postgresql import base as pg
from sqlalchemy.engine import URL, Connection
from sqlalchemy.engine.default import DefaultDialect, DefaultExecutionContext
from sqlalchemy.engine.reflection import Inspector
from sqlalchemy.sql.compiler import DDLCompiler

import sqlpriv
from sqlpriv.interfaces.integrations.sqlalchemy_reflection import SCHEMA, Reflection
from sqlpriv.statements.keywords import NO_ALIAS

OPTIONS = ("role", "principal", "privacy_epsilon", "dialect")
SERVER_OPTIONS = ("ca", "privacy_epsilon", "tls", "dialect")
_QUOTES = {
    **dict.fromkeys(("mysql", "bigquery", "spark", "databricks"), ("`", "`")),
    "tsql": ("[", "]"),
}
"""SQL dialect → what stands around a name; elsewhere it is as in PostgreSQL."""
PORT = 31337


_IS_OLD = sqlalchemy.__version__.startswith("1.")


class _DbapiLikeConnection(Connection):
    """A connection of SQLAlchemy 1.4 with what pandas 3 asks of a DB-API connection."""

    def cursor(self) -> Any:
        """Returns a cursor of the connection underneath."""
        return self.connection.cursor()

    def rollback(self) -> None:
        """Has nothing to undo: pandas calls it where a statement failed."""


def _detached_cursor(engine: Any) -> Any:
    """Returns a cursor whose connection stays open when SQLAlchemy's wrapper of it is freed."""
    connection = engine.raw_connection()
    connection.detach()
    return connection.cursor()


def _hide_token(url: URL) -> URL:
    """Returns a URL whose token stands as the password, which SQLAlchemy prints as `***`.

    >>> _hide_token(sqlalchemy.engine.make_url("sqlpriv://ada.secret@host/"))
    sqlpriv://ada:***@host/
    """
    if url.password or not url.username:
        return url
    name, _, secret = url.username.partition(".")
    if not secret or "." in secret:  # a token of a login, valid for some hours
        name, secret = "", url.username
    return url.set(username=name, password=secret)


class Compiler(pg.PGCompiler):
    """PostgreSQL's, with DuckDB's division: `/` is true, `//` is whole."""

    def visit_floordiv_binary(self, binary: Any, operator: Any, **kw: Any) -> str:
        return f"{self.process(binary.left, **kw)} // {self.process(binary.right, **kw)}"


class Definitions(pg.PGDDLCompiler):
    """PostgreSQL's, without SERIAL: keys are given, not made."""

    def get_column_specification(self, column: Any, **kw: Any) -> str:
        return str(DDLCompiler.get_column_specification(self, column, **kw))


class Types(pg.PGTypeCompiler):
    """PostgreSQL's, but DuckDB's FLOAT is of single precision."""

    def visit_FLOAT(self, type_: Any, **kw: Any) -> str:  # noqa: N802 (SQLAlchemy's name)
        return "FLOAT" if type_.precision and type_.precision <= 24 else "DOUBLE"


class Preparer(pg.PGIdentifierPreparer):
    """PostgreSQL's, with the words that DuckDB and STRATIFY BY have reserved beside."""

    reserved_words = pg.PGIdentifierPreparer.reserved_words.union(
        {"stratify"}, (word.lower() for word in NO_ALIAS)
    )


class SqlprivDialect(Reflection, pg.PGDialect):
    """What SQLAlchemy asks of a dialect."""

    name = driver = "sqlpriv"
    default_paramstyle = "qmark"
    default_schema_name = SCHEMA
    statement_compiler = Compiler
    ddl_compiler = Definitions
    type_compiler = type_compiler_cls = Types
    preparer = Preparer
    execution_ctx_cls = DefaultExecutionContext
    inspector = Inspector

    supports_statement_cache = True
    supports_native_decimal = True
    supports_native_enum = False
    supports_sequences = preexecute_autoincrement_sequences = False
    use_insertmanyvalues = False
    div_is_floordiv = False
    bind_typing = getattr(DefaultDialect, "bind_typing", None)  # since 2.0: no casts around `?`

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        return sqlpriv

    dbapi = import_dbapi  # as SQLAlchemy 1.4 calls it

    @classmethod
    def get_pool_class(cls, url: URL) -> type[pool.Pool]:
        """No pool: a vault opens in milliseconds, and SET holds for one connection alone."""
        return pool.NullPool

    def create_connect_args(self, url: URL) -> Any:
        """Returns what `connect` is given for `sqlpriv:///PATH?OPTIONS`, or for a server's URL.

        Raises:
            ArgumentError: There is no path or host, or an option that we do not have.
        """
        if not url.host and not url.database:
            raise exc.ArgumentError(
                "the vault is missing: sqlpriv:///people.duckdb, or sqlpriv://TOKEN@HOST:PORT/"
            )
        options = SERVER_OPTIONS if url.host else OPTIONS
        if unknown := set(url.query) - set(options):
            raise exc.ArgumentError(
                f"there is no option {', '.join(sorted(unknown))}; options: {', '.join(options)}"
            )
        query = dict(url.query)
        if quotes := _QUOTES.get(str(query.get("dialect"))):
            first, last = quotes
            self.identifier_preparer = Preparer(self, first, last, escape_quote=last)
        if not url.host:
            return [url.database], query
        scheme = "grpc" if query.pop("tls", "true") == "false" else "grpc+tls"
        host = f"[{url.host}]" if ":" in url.host else url.host
        if url.username and url.password:
            query["token"] = (url.username, url.password)
        elif token := url.username or url.password:
            query["token"] = token
        return [f"{scheme}://{host}:{url.port or PORT}"], query

    @classmethod
    def engine_created(cls, engine: Any) -> None:
        """Hides a token where the engine is printed, and lets pandas 3 read from an engine of
        SQLAlchemy 1.4, which it takes for a DB-API one."""
        engine.url = _hide_token(engine.url)
        if _IS_OLD:
            engine.cursor = lambda: _detached_cursor(engine)
            engine.rollback = lambda: None
            engine._connection_cls = _DbapiLikeConnection

    def connect(self, *args: Any, privacy_epsilon: Any = None, **options: Any) -> Any:
        """Opens the vault, and sets what each private statement costs."""
        connection = sqlpriv.connect(*args, **options)
        if privacy_epsilon is not None:
            connection.execute(f"SET privacy_epsilon = {float(privacy_epsilon)}")
        return connection

    def initialize(self, connection: Connection) -> None:
        """Asks nothing of the server: there is none, and we know its version."""
        DefaultDialect.initialize(self, connection)

    def _get_server_version_info(self, _connection: Connection) -> tuple[int, ...]:
        return tuple(int(part) for part in sqlpriv.__version__.split("."))

    def _get_default_schema_name(self, _connection: Connection) -> str:
        return SCHEMA

    def get_isolation_level_values(self, _connection: Any) -> tuple[str, ...]:
        return ("AUTOCOMMIT",)

    def get_isolation_level(self, _connection: Any) -> str:
        """Statements take effect at once, unless an owner says BEGIN."""
        return "AUTOCOMMIT"

    get_default_isolation_level = get_isolation_level

    def set_isolation_level(self, _connection: Any, level: str) -> None:
        """There is one, which holds already; SQLAlchemy has refused any other."""
