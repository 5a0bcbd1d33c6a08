"""What every session does, on a file or on a server: interfaces are typed by it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePath
from typing import Protocol, Self

import pyarrow as pa

from sqlpriv.session.access.owner_engine import Parameters
from sqlpriv.session.access.quote import Quote
from sqlpriv.session.access.result import Catalog, Result
from sqlpriv.synth.api.progress import Report


class SessionLike(Protocol):
    """One person's way to one vault.

    Attributes:
        role: "analyst" or "owner".
        principal: Who asks.
    """

    role: str
    principal: str

    @property
    def vault(self) -> PurePath:
        """The vault's file, where it lies."""

    @property
    def settings(self) -> Mapping[str, float]:
        """What was SET and not RESET."""

    @property
    def dialect(self) -> str:
        """The SQL dialect that statements are read in."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def close(self) -> None:
        """Lets go of the vault; an owner's open transaction is rolled back."""

    def commit(self) -> None:
        """Makes an owner's open transaction last."""

    def rollback(self) -> None:
        """Undoes an owner's open transaction; a charge is never undone."""

    def statements(self, sql: str) -> tuple[str, ...]:
        """Returns the texts of a text's statements."""

    def execute(
        self, sql: str, parameters: Parameters = None, progress: Report | None = None
    ) -> Result:
        """Runs every statement of a text in turn; returns the last one's result."""

    def run(
        self, sql: str, parameters: Parameters = None, progress: Report | None = None
    ) -> tuple[Result, ...]:
        """Runs every statement as `execute` does; returns the result of each."""

    def interrupt(self) -> None:
        """Stops, from another thread, the statement that runs: it fails with an error. A private
        question that is paid for may go on: its answer is sealed, and free then."""

    def describe(self, sql: str, parameters: Parameters = None) -> pa.Schema:
        """Returns the columns that the last statement would give; runs and charges nothing."""

    def quote(self, sql: str, parameters: Parameters = None) -> Quote:
        """Returns what the last statement would cost; runs and charges nothing."""

    def catalog(self) -> Catalog:
        """Returns the names of tables and columns, none of them secret."""

    def comments(self) -> dict[str, str]:
        """Returns what each released table says of itself: method, price, strata, when, whence."""

    def budgets(self) -> tuple[tuple[str, float, float], ...]:
        """Returns (unit's table, epsilon left, epsilon in all) for every declared budget."""


@contextmanager
def reading_duckdb(session: SessionLike) -> Iterator[None]:
    """Lets statements of our own be read as the DuckDB SQL that they are.

    A user may have set another dialect, in which `"people"` is a text, say; it is set again behind
    the block.
    """
    chosen = session.dialect
    if chosen == "duckdb":
        yield
        return
    session.execute("SET privacy_dialect = 'duckdb'")
    try:
        yield
    finally:
        session.execute(f"SET privacy_dialect = {chosen}")
