"""PEP 249 over a session, and what data people expect beyond it.

Every statement takes effect when it is executed, unless an owner has said BEGIN: commit() and
rollback() end such a transaction and otherwise do nothing. A charge is durable and never undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from sqlpriv import errors
from sqlpriv.interfaces import html
from sqlpriv.interfaces.rows import Description, batches, description, rows
from sqlpriv.session import Result, Session

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

Parameters = Sequence[Any] | Mapping[str, Any]


def connect(
    vault: str | Path, *, role: str = "analyst", principal: str | None = None
) -> Connection:
    """Opens a vault; see `sqlpriv.connect`."""
    if role not in ("analyst", "owner"):
        raise errors.InterfaceError(f'role is "analyst" or "owner", not {role!r}')
    return Connection(Session(Path(vault), role=role, principal=principal))


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

    def __init__(self, session: Session) -> None:
        self._session: Session | None = session

    @property
    def session(self) -> Session:
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if self._session is not None:
            self.close()


class Cursor:
    """Executes statements and hands out the rows of the last one.

    Attributes:
        connection: The connection it belongs to.
        arraysize: How many rows fetchmany() hands out by default.
        result: The whole result of the last statement: half-widths, price, message; or None.
    """

    def __init__(self, connection: Connection, session: Session) -> None:
        self.connection = connection
        self.arraysize = 1
        self.result: Result | None = None
        self._session: Session | None = session
        self._affected, self._next = -1, 0

    def execute(self, sql: str, parameters: Parameters | None = None) -> Self:
        """Runs every statement of the text; the last one's rows can be fetched then.

        Args:
            sql: Statements, parted by semicolons.
            parameters: A sequence for `?` or `$1`, a mapping for `:name`. They are bound as values,
                never pasted into the text.

        Raises:
            Error: See `sqlpriv.errors`; each says whether anything was read or charged.
        """
        session = self._open()
        self.result, self._affected, self._next = None, -1, 0
        self.result = session.execute(sql, parameters)
        self._affected = _rowcount(self.result)
        return self

    def executemany(self, sql: str, parameters: Iterable[Parameters]) -> Self:
        """Runs the text once for each set of parameters; rows that they give are not kept.

        A private query costs its price each time: to ask for several groups, one GROUP BY or
        STRATIFY BY costs less.
        """
        total = 0
        for each in parameters:
            count = self.execute(sql, each)._affected
            total = -1 if count < 0 or total < 0 else total + count
        self.result, self._affected = None, total
        self._open()
        return self

    @property
    def description(self) -> tuple[Description, ...] | None:
        """Seven items for each column of the result; None where there are no rows to fetch."""
        table = self.result.table if self.result else None
        return None if table is None else description(table)

    @property
    def rowcount(self) -> int:
        """Rows of the result, rows that a statement changed, or -1 where that is not known."""
        return self._affected

    @property
    def rownumber(self) -> int | None:
        """Index of the next row to be fetched, from 0; None without a result."""
        return None if self.result is None or self.result.table is None else self._next

    @property
    def lastrowid(self) -> None:
        """None: rows have no ids."""

    def fetchone(self) -> tuple[Any, ...] | None:
        """Returns the next row, or None after the last."""
        found = self.fetchmany(1)
        return found[0] if found else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Returns the next `size` rows (by default `arraysize`); fewer at the end."""
        found = rows(self._table(), self._next, self.arraysize if size is None else size)
        self._next += len(found)
        return found

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns the rest of the rows."""
        return self.fetchmany(max(0, self._table().num_rows - self._next))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for batch in batches(self._table().slice(self._next)):
            for row in batch:
                self._next += 1
                yield row

    def df(self) -> pd.DataFrame:
        """Returns the whole result as a pandas DataFrame."""
        frame: pd.DataFrame = self._table().to_pandas()
        return frame

    def arrow(self) -> pa.Table:
        """Returns the whole result as a pyarrow Table."""
        return self._table()

    def pl(self) -> pl.DataFrame:
        """Returns the whole result as a polars DataFrame.

        Raises:
            NotSupportedError: polars is not installed (`pip install "sqlpriv[polars]"`).
        """
        try:
            import polars
        except ImportError:
            raise errors.NotSupportedError(
                'polars is not installed; pip install "sqlpriv[polars]"'
            ) from None
        frame = polars.from_arrow(self._table())
        assert isinstance(frame, polars.DataFrame)  # from_arrow gives a Series for arrays only
        return frame

    def setinputsizes(self, _sizes: Sequence[Any]) -> None:
        """Does nothing: parameters need no sizes (PEP 249)."""
        self._open()

    def setoutputsize(self, _size: int, _column: int | None = None) -> None:
        """Does nothing: columns have no limit of size (PEP 249)."""
        self._open()

    def close(self) -> None:
        """Forgets the result; every later use raises InterfaceError."""
        self._session = self.result = None

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return html.cursor_html(self.result)

    def _open(self) -> Session:
        if self._session is None:
            raise errors.InterfaceError("the cursor is closed; make another with cursor()")
        return self.connection.session

    def _table(self) -> pa.Table:
        self._open()
        if self.result is None or self.result.table is None:
            raise errors.ProgrammingError("there are no rows to fetch; execute a query first")
        return self.result.table


def _rowcount(result: Result) -> int:
    return result.changed if result.table is None else result.table.num_rows
