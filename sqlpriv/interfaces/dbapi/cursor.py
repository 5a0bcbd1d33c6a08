"""PEP 249's cursor over a session, and the frames that data people expect beyond it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from sqlpriv import errors
from sqlpriv.interfaces.dbapi.fetching import Fetcher, Row
from sqlpriv.interfaces.display import html
from sqlpriv.interfaces.display.footnote import footnote
from sqlpriv.interfaces.display.values import (
    Description,
    description,
    with_plain_decimals,
    with_plain_integers,
)
from sqlpriv.session.session import Result
from sqlpriv.session.session_like import SessionLike

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from sqlpriv.interfaces.dbapi.connection import Connection

Parameters = Sequence[Any] | Mapping[str, Any]


class Cursor:
    """Executes statements and hands out their rows.

    A text of several statements gives a set of rows for each of them that has any: the cursor
    stands at the first, nextset() goes on to the next.

    Attributes:
        connection: The connection it belongs to.
        arraysize: How many rows fetchmany() hands out by default.
        result: The whole result it stands at: half-widths, price, message; None before any.
    """

    def __init__(self, connection: Connection, session: SessionLike) -> None:
        self.connection = connection
        self.arraysize = 1
        self.result: Result | None = None
        self._session: SessionLike | None = session
        self._fetcher: Fetcher | None = None
        self._later: list[Result] = []
        self._affected = -1

    def execute(self, sql: str, parameters: Parameters | None = None) -> Self:
        """Runs every statement of the text, and charges for each; then rows can be fetched.

        Args:
            sql: Statements, parted by semicolons.
            parameters: A sequence for `?` or `$1`, a mapping for `:name`. They are bound as values,
                never pasted into the text.

        Raises:
            Error: See `sqlpriv.errors`; each says whether anything was read or charged. Statements
                before the one that failed have been run.
        """
        session = self._open()
        self._stand_at(None, [])
        results = session.run(sql, parameters)
        sets = [result for result in results if result.table is not None] or list(results[-1:])
        self._stand_at(sets[0] if sets else None, sets[1:])
        return self

    def executemany(self, sql: str, parameters: Iterable[Parameters]) -> Self:
        """Runs the text once for each set of parameters; rows that they give are not kept.

        A private query costs its price each time: to ask for several groups, one GROUP BY or
        STRATIFY BY costs less.
        """
        self._open()
        total = 0
        for each in parameters:
            count = self.execute(sql, each)._affected
            total = -1 if count < 0 or total < 0 else total + count
        self._stand_at(None, [])
        self._affected = total
        return self

    def nextset(self) -> bool | None:
        """Goes on to the next set of rows; returns True, or None if there is no other.

        Whatever is left of the present set is given up. All sets were made, and paid for, when the
        text was executed.
        """
        self._open()
        if not self._later:
            return None
        self._stand_at(self._later[0], self._later[1:])
        return True

    @property
    def description(self) -> tuple[Description, ...] | None:
        """Seven items for each column of the result; None where there are no rows to fetch."""
        return description(self._fetcher.table) if self._fetcher else None

    @property
    def rowcount(self) -> int:
        """Rows of the result, rows that a statement changed, or -1 where that is not known."""
        return self._affected

    @property
    def rownumber(self) -> int | None:
        """Index of the next row to be fetched, from 0; None without a result."""
        return self._fetcher.position if self._fetcher else None

    @property
    def lastrowid(self) -> None:
        """None: rows have no ids."""

    def fetchone(self) -> Row | None:
        """Returns the next row, or None after the last."""
        return self._fetching().one()

    def fetchmany(self, size: int | None = None) -> list[Row]:
        """Returns the next `size` rows (by default `arraysize`); fewer at the end."""
        return self._fetching().some(self.arraysize if size is None else size)

    def fetchall(self) -> list[Row]:
        """Returns the rest of the rows."""
        return self._fetching().rest()

    def __iter__(self) -> Self:
        self._fetching()
        return self

    def __next__(self) -> Row:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def df(self) -> pd.DataFrame:
        """Returns the whole result as a pandas DataFrame; DECIMALs are floats, as in DuckDB's."""
        frame: pd.DataFrame = with_plain_decimals(with_plain_integers(self.arrow())).to_pandas()
        return frame

    def arrow(self) -> pa.Table:
        """Returns the whole result as a pyarrow Table."""
        return self._fetching().table

    def fetch_record_batch(self, rows_per_batch: int = 1_000_000) -> pa.RecordBatchReader:
        """Returns a pyarrow RecordBatchReader over the whole result."""
        table = self.arrow()
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(rows_per_batch))

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
        frame = polars.from_arrow(self.arrow())
        assert isinstance(frame, polars.DataFrame)  # from_arrow gives a Series for arrays only
        return frame

    def plot(self, *columns: str) -> Any:
        """Returns an altair chart: of each noised column the values with their ±, by the keys.

        Args:
            columns: Which to draw; all that have half-widths by default, else all numbers.

        Raises:
            DataError: There are no rows, too many, or a column of that name has no numbers.
            NotSupportedError: altair is not installed (`pip install "sqlpriv[plot]"`).
        """
        from sqlpriv.interfaces.display.chart import result_chart

        self._fetching()
        assert self.result is not None
        return result_chart(self.result, columns)

    def setinputsizes(self, _sizes: Sequence[Any]) -> None:
        """Does nothing: parameters need no sizes (PEP 249)."""
        self._open()

    def setoutputsize(self, _size: int, _column: int | None = None) -> None:
        """Does nothing: columns have no limit of size (PEP 249)."""
        self._open()

    def close(self) -> None:
        """Forgets the results; every later use raises InterfaceError. The count of rows stays."""
        self._session = self.result = self._fetcher = None
        self._later = []

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """The result as a terminal shows it; without rows, the message or what is there."""
        if self.result is None:
            return "<Cursor: nothing was executed>"
        from sqlpriv.interfaces.display.table import console_for, print_table

        out = StringIO()
        print_table(self.result, console_for(out), html.SHOWN)
        return out.getvalue() + footnote(self.result, html.SHOWN)

    def _repr_html_(self) -> str:
        return html.cursor_html(self.result)

    def _open(self) -> SessionLike:
        if self._session is None:
            raise errors.InterfaceError("the cursor is closed; make another with cursor()")
        return self.connection.session

    def _stand_at(self, result: Result | None, later: list[Result]) -> None:
        table = result.table if result else None
        self.result, self._later = result, later
        self._fetcher = None if table is None else Fetcher(table)
        self._affected = -1 if result is None else _rowcount(result)

    def _fetching(self) -> Fetcher:
        self._open()
        if self._fetcher is None:
            raise errors.ProgrammingError("there are no rows to fetch; execute a query first")
        return self._fetcher


def _rowcount(result: Result) -> int:
    return result.changed if result.table is None else result.table.num_rows
