"""PEP 249 over a session.

Every statement takes effect when it is executed, unless an owner has said BEGIN: commit() and
rollback() end such a transaction and otherwise do nothing. A charge is durable and never undone.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sqlpriv import errors
from sqlpriv.interfaces.dbapi.cursor import Cursor, Parameters
from sqlpriv.session.session import Session
from sqlpriv.session.session_like import SessionLike

if TYPE_CHECKING:
    from sqlpriv.interfaces.dbapi.remote_session import RemoteSession

__all__ = ["Connection", "Cursor", "connect"]


def connect(
    vault: str | Path,
    *,
    role: str = "analyst",
    principal: str | None = None,
    token: str | tuple[str, str] | None = None,
    ca: str | Path | None = None,
) -> Connection:
    """Opens a vault; see `sqlpriv.connect`."""
    if isinstance(vault, str) and "://" in vault:
        return Connection(_connect_to_server(vault, token, ca))
    if token is not None or ca is not None:
        raise errors.InterfaceError("a token and a ca are for a server: grpc+tls://HOST:PORT")
    if role not in ("analyst", "owner"):
        raise errors.InterfaceError(f'role is "analyst" or "owner", not {role!r}')
    return Connection(Session(Path(vault), role=role, principal=principal))


def _connect_to_server(
    url: str, token: str | tuple[str, str] | None, ca: str | Path | None
) -> RemoteSession:
    try:
        from sqlpriv.interfaces.dbapi.remote_session import RemoteSession
    except ImportError:
        raise errors.NotSupportedError(
            'protobuf is not installed; pip install "sqlpriv[server]"'
        ) from None
    if token is None:
        raise errors.InterfaceError("a server asks for a token: connect(url, token=…)")
    return RemoteSession(url, token, Path(ca).read_bytes() if ca else None)


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
