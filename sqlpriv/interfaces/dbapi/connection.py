"""PEP 249 over a session.

Every statement takes effect when it is executed, unless an owner has said BEGIN: commit() and
rollback() end such a transaction and otherwise do nothing. A charge is durable and never undone.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sqlpriv import errors
from sqlpriv.interfaces.configuration.config_file import (
    ConnectionSettings,
    is_connection_name,
    load_config,
)
from sqlpriv.interfaces.configuration.token_sources import find_token
from sqlpriv.interfaces.dbapi.cursor import Cursor, Parameters
from sqlpriv.session.commands.engine_place import keep_engine_at
from sqlpriv.session.commands.ledger_place import keep_ledger_at
from sqlpriv.session.session import Session
from sqlpriv.session.session_like import SessionLike
from sqlpriv.statements import literal

if TYPE_CHECKING:
    from sqlpriv.interfaces.dbapi.remote_session import RemoteSession

__all__ = ["Connection", "Cursor", "connect"]


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
    """Opens a vault; see `sqlpriv.connect`."""
    if ledger is not None:
        if "://" in str(vault):
            raise errors.InterfaceError("a server knows its vault's ledger: leave ledger out")
        keep_ledger_at(Path(vault), ledger)
    if engine is not None:
        if "://" in str(vault):
            raise errors.InterfaceError("a server knows its vault's engine: leave engine out")
        keep_engine_at(Path(vault), engine)
    settings = ConnectionSettings(str(vault), role, principal, ca=Path(ca) if ca else None)
    if dialect != "duckdb":
        settings = replace(settings, dialect=dialect)
    if isinstance(vault, str) and is_connection_name(vault):
        settings = _settings_by_name(settings)
    return Connection(open_session(settings, token))


def open_session(
    settings: ConnectionSettings, token: str | tuple[str, str] | None = None
) -> SessionLike:
    """Opens a session on a file, or on a server.

    Args:
        settings: Of which vault, and how.
        token: For a server; None for the one in a file or in the environment.

    Raises:
        InterfaceError: The settings do not fit what is connected to.
        OperationalError: The vault cannot be opened, or the server not reached.
    """
    is_remote = "://" in settings.vault
    session: SessionLike = (_connect_to_server if is_remote else _open_file)(settings, token)
    try:
        if is_remote and settings.dialect is not None:
            session.execute(f"SET privacy_dialect = {literal(settings.dialect)}")
        if settings.privacy_epsilon is not None:
            session.execute(f"SET privacy_epsilon = {settings.privacy_epsilon!r}")
    except BaseException:  # Ctrl-C, too, leaves no session open
        session.close()
        raise
    return session


def _settings_by_name(settings: ConnectionSettings) -> ConnectionSettings:
    """Returns the settings of a connection of sqlpriv.toml; of a file where it has no such name."""
    config = load_config()
    if settings.vault not in config.connections:
        return settings
    configured = config.settings_of(settings.vault)
    return replace(settings, vault=configured.vault).filled_from(configured)


def _open_file(settings: ConnectionSettings, token: str | tuple[str, str] | None) -> Session:
    if token is not None or settings.ca is not None:
        raise errors.InterfaceError("a token and a ca are for a server: grpc+tls://HOST:PORT")
    role = settings.role or "analyst"
    if role not in ("analyst", "owner"):
        raise errors.InterfaceError(f'role is "analyst" or "owner", not {role!r}')
    return Session(
        Path(settings.vault),
        role=role,
        principal=settings.principal,
        dialect=settings.dialect or "duckdb",
    )


def _connect_to_server(
    settings: ConnectionSettings, token: str | tuple[str, str] | None
) -> RemoteSession:
    if not settings.vault.startswith(("grpc+tls://", "grpc://")):
        scheme = settings.vault.partition("://")[0]
        raise errors.InterfaceError(
            f"the address of a server is grpc+tls://HOST:PORT, not {scheme}://…;"
            " a file is named by its path alone"
        )
    if "@" in settings.vault:
        raise errors.InterfaceError(
            "an address has no token in it, because others may see it: set SQLPRIV_TOKEN,"
            " or connect(url, token=…)"
        )
    if settings.role is not None or settings.principal is not None:
        raise errors.InterfaceError(
            "a server knows role and principal by the token: leave them out"
        )
    try:
        from sqlpriv.interfaces.dbapi.remote_session import RemoteSession
    except ImportError:
        raise errors.NotSupportedError(
            'protobuf is not installed; pip install "sqlpriv[server]"'
        ) from None
    token = find_token(settings.token_file) if token is None else token
    try:
        ca = settings.ca.read_bytes() if settings.ca else None
    except OSError as error:
        raise errors.InterfaceError(f"{settings.ca} cannot be read: {error.strerror}") from None
    return RemoteSession(settings.vault, token, ca)


class Connection:
    """One session on one vault. Use it from one thread at a time; close it, or use `with`."""

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, session: SessionLike) -> None:
        self._session: SessionLike | None = session

    @property
    def session(self) -> SessionLike:
        """The session underneath. Raises InterfaceError when the connection is closed."""
        if self._session is None:
            raise errors.InterfaceError("the connection is closed; open another with connect()")
        return self._session

    def cursor(self) -> Cursor:
        """Returns a new cursor; cursors of one connection see each other's work at once."""
        return Cursor(self, self.session)

    def execute(self, sql: str, parameters: Parameters | None = None) -> Cursor:
        """Executes on a new cursor and returns it, as duckdb's connections do."""
        return self.cursor().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Parameters]) -> Cursor:
        """Executes once for each set of parameters on a new cursor and returns it."""
        return self.cursor().executemany(sql, parameters)

    def interrupt(self) -> None:
        """Stops, from another thread, the statement that runs, as duckdb's connections do: it
        raises an error there. What was paid for a private question is not lost: its answer, once
        sealed, is free."""
        self.session.interrupt()

    def commit(self) -> None:
        """Makes an owner's open transaction last; without one there is nothing to do."""
        self.session.commit()

    def rollback(self) -> None:
        """Undoes an owner's open transaction; what was charged stays charged."""
        self.session.rollback()

    def close(self) -> None:
        """Closes the vault. Raises InterfaceError when it is closed already (PEP 249)."""
        session, self._session = self.session, None
        session.close()

    def __enter__(self) -> Self:
        self.session  # noqa: B018 (raises when closed)
        return self

    def __exit__(self, *_: object) -> None:
        if self._session is not None:
            self.close()
