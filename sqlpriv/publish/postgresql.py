"""Released tables into PostgreSQL: ingested under a new name, renamed in the same transaction."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from sqlpriv.errors import NotSupportedError, OperationalError, Refused, VaultBusy
from sqlpriv.publish.release_file import ReleaseStore, quote_identifier, refuse_foreign
from sqlpriv.publish.target import PostgreSQL

LONGEST_NAME = 63
"""Bytes of a PostgreSQL identifier; longer ones would be cut silently."""
LOCK_WAIT_MS, ATTEMPTS, PAUSE_S = 500, 60, 0.5
"""How long the rename waits for readers at a time, how often, and how long it lets others by."""
_BATCH = 100_000


def write(store: ReleaseStore, names: Sequence[str], target: PostgreSQL) -> None:
    """Replaces or makes the tables, all in one transaction, in the first schema of the search path.

    Readers go on with the old table until the commit. The rename needs a moment without any; it
    asks for that moment again and again for a minute, and never holds new readers up for more than
    half a second. Rights granted on the old table are granted on the new one.

    Raises:
        NotSupportedError: The driver is not installed.
        Refused: A table of one of the names is there that was not released, or a name is too long.
        VaultBusy: A reader held the old table all the while.
        OperationalError: PostgreSQL refused; everything there is as it was.
    """
    with _connect(target) as connection, connection.cursor() as cursor:
        there = _comments(cursor)
        for name in names:
            refuse_foreign(name, {name: there[name]} if name in there else {})
        new_names = {name: f"new {secrets.token_hex(8)}" for name in names}
        _ingest(store, new_names, cursor)
        _rename(cursor, new_names, frozenset(there))
        connection.commit()


@contextmanager
def _connect(target: PostgreSQL) -> Iterator[Any]:
    try:
        import adbc_driver_manager
        from adbc_driver_postgresql import dbapi
    except ModuleNotFoundError:
        raise NotSupportedError(
            'PostgreSQL needs a driver: pip install "sqlpriv[postgresql]"'
        ) from None
    try:
        with dbapi.connect(target.uri) as connection:
            yield connection
    except adbc_driver_manager.Error as error:
        raise OperationalError(f"PostgreSQL at {target.label}: {_first_line(error)}") from None


def _comments(cursor: Any) -> dict[str, str]:
    """Returns all that has a name of a table in the current schema, each with its comment."""
    cursor.execute(
        "SELECT relname::text, coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class"
        " WHERE relnamespace = current_schema()::regnamespace"
    )
    return dict(cursor.fetchall())


def _ingest(store: ReleaseStore, made: Mapping[str, str], cursor: Any) -> None:
    """Makes each table under its new name, comment and all."""
    comments = store.comments()
    with store.connect_read_only() as engine:
        for name, new in made.items():
            columns = engine.execute(f"DESCRIBE {quote_identifier(name)}").fetchall()
            _check_lengths(name, [column for column, *_ in columns])
            selected = ", ".join(_ingestible(column, kind) for column, kind, *_ in columns)
            rows = engine.sql(f"SELECT {selected} FROM {quote_identifier(name)}").to_arrow_reader(
                _BATCH
            )
            cursor.adbc_ingest(new, rows, mode="create")
            cursor.execute(f"COMMENT ON TABLE {quote_identifier(new)} IS {_text(comments[name])}")


def _rename(cursor: Any, made: Mapping[str, str], there: frozenset[str]) -> None:
    """Puts the new tables in place of the old ones; a try that has to wait is undone and tried
    again, so that readers who queue behind it get by.

    Raises:
        VaultBusy: It had to wait every time.
    """
    for name in made.keys() & there:
        _carry_rights(cursor, name, made[name])
    steps = [f"DROP TABLE {quote_identifier(name)};" for name in made if name in there]
    steps += [
        f"ALTER TABLE {quote_identifier(new)} RENAME TO {quote_identifier(name)};"
        for name, new in made.items()
    ]
    # The driver gives a transaction up at its first error, so the server has to catch this one.
    undone = "EXCEPTION WHEN lock_not_available THEN NULL;"
    attempt = f"DO {_text(' '.join(['BEGIN', *steps, undone, 'END']))}"
    cursor.execute(f"SET LOCAL lock_timeout = {LOCK_WAIT_MS}")
    for _ in range(ATTEMPTS):
        cursor.execute(attempt)
        if not set(made.values()) & _comments(cursor).keys():
            return
        time.sleep(PAUSE_S)
    raise VaultBusy("somebody has been reading the old table for a minute; nothing was changed")


def _carry_rights(cursor: Any, name: str, new: str) -> None:
    """Grants on the new table what others than its owner were granted on the old one."""
    cursor.execute(
        "SELECT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END,"
        " privilege_type::text FROM pg_class, aclexplode(relacl)"
        f" WHERE oid = {_text(quote_identifier(name))}::regclass AND grantee <> relowner"
    )
    for grantee, right in cursor.fetchall():
        cursor.execute(f"GRANT {right} ON {quote_identifier(new)} TO {grantee}")


def _check_lengths(table: str, columns: Sequence[str]) -> None:
    for name in (table, *columns):
        if len(name.encode()) > LONGEST_NAME:
            raise Refused(
                f'PostgreSQL has names of {LONGEST_NAME} bytes at most: "{name}" is longer'
            )


def _ingestible(column: str, kind: str) -> str:
    """Returns a column as the driver takes it: integers beyond 64 bits' sign as decimals, an ENUM
    as text."""
    name = quote_identifier(column)
    if kind in ("UBIGINT", "HUGEINT", "UHUGEINT"):
        return f"CAST({name} AS DECIMAL(38, 0)) AS {name}"
    return f"CAST({name} AS VARCHAR) AS {name}" if kind.startswith("ENUM(") else name


def _text(literal: str) -> str:
    escaped = literal.replace("\\", "\\\\").replace("'", "''")
    return f"E'{escaped}'"


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0]
