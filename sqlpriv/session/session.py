"""The one use case: execute SQL for somebody, on a vault, within its budget.

Every interface is thin over `Session.execute`; `statements` says what each statement does. It is
loaded with the first one, and the planner, the estimators and the synthesizers with it: a shell's
prompt, a connection and its catalog need none of them.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

import duckdb
import pyarrow as pa

from sqlpriv import dialect as sql_dialect
from sqlpriv.errors import InterfaceError, OperationalError
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.publish.release_file import beside
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.kept_statements import KeptStatements
from sqlpriv.session.access.owner_engine import OwnerEngine, Parameters
from sqlpriv.session.access.quote import Charge, Quote
from sqlpriv.session.access.result import Catalog, Result
from sqlpriv.session.access.table_grants import paying_contracts
from sqlpriv.session.engine_settings import check_settings
from sqlpriv.statements import commands as cmd
from sqlpriv.synth.api.progress import Progress, Report, silent
from sqlpriv.system.database_files import refuse_other_file

if TYPE_CHECKING:
    from sqlpriv.session.dispatch import Statements

__all__ = ["Catalog", "Charge", "Progress", "Quote", "Result", "Session"]


class Session:
    """One person's way to one vault.

    Args:
        vault: The DuckDB file; an owner's session makes it if there is none.
        role: "analyst" or "owner".
        principal: Who asks, for the ledger; the operating system's user by default.
        files: Whether an owner may use other files than the vault, and the network.
        dialect: The SQL dialect that statements are read in, one of `dialect.DIALECTS`.

    Raises:
        InterfaceError: The role is neither, or there is no such dialect.
        OperationalError: There is no such vault, or the file is none.
    """

    def __init__(
        self,
        vault: str | Path,
        role: str = "analyst",
        principal: str | None = None,
        files: bool = True,
        dialect: str = "duckdb",
    ) -> None:
        if role not in ("analyst", "owner"):
            raise InterfaceError(f'the role is "analyst" or "owner", not "{role}"')
        if dialect not in sql_dialect.DIALECTS:
            names = ", ".join(sql_dialect.DIALECTS)
            raise InterfaceError(f'the dialect is one of {names}, not "{dialect}"')
        self.vault, self.role = Path(vault), role
        self.principal = principal or getpass.getuser()
        if role == "analyst" and not self.vault.exists():
            raise OperationalError(
                f"there is no vault at {self.vault}; an owner makes one:"
                f' sqlpriv query {self.vault} --role owner "CREATE TABLE …"'
            )
        # a file with a ledger was opened before
        if self.vault.is_dir() or not self.vault.with_suffix(".ledger").exists():
            refuse_other_file(self.vault)
        self._files = files
        owner = OwnerEngine(self.vault, files) if role == "owner" else None
        store = beside(self.vault)
        self._access = Access(Kernel(self.vault), store, owner, self.principal)
        self._access.dialect = dialect
        self._kept_statements = KeptStatements()
        self._access.tables.settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def settings(self) -> Mapping[str, float]:
        """What was SET and not RESET."""
        return dict(self._access.settings)

    @property
    def dialect(self) -> str:
        """The SQL dialect that statements are read in."""
        return self._access.dialect

    def restore(self, dialect: str, settings: Mapping[str, float]) -> None:
        """Takes over what was SET in another session, in place of what was SET in this one."""
        self._access.dialect, self._access.settings = dialect, dict(settings)

    def close(self) -> None:
        """Lets go of the vault and the ledger. An owner's open transaction is rolled back."""
        if self._access.owner is not None:
            self._access.owner.rollback()
        self._access.tables.settle()
        self._access.close()

    def commit(self) -> None:
        """Makes an owner's open transaction last, and lets others read the vault again."""
        if self._access.owner is not None:
            self._access.owner.commit()
            self._access.tables.settle()

    def rollback(self) -> None:
        """Undoes an owner's open transaction on the vault; a charge is never undone."""
        if self._access.owner is not None:
            self._access.owner.rollback()
            self._access.tables.settle()

    def statements(self, sql: str) -> tuple[str, ...]:
        """Returns the statements of a text."""
        return sql_dialect.split(sql, self.dialect)

    def execute(
        self, sql: str, parameters: Parameters = None, progress: Report | None = None
    ) -> Result:
        """Runs every statement of the text in turn; returns the last one's result.

        Args:
            sql: One or more statements.
            parameters: Values for `?`, `$1` or `:name`; bound, never pasted.
            progress: Told of long work.

        Raises:
            sqlpriv.Error: As the statement deserves; statements before it have been run.
        """
        results = self.run(sql, parameters, progress)
        return results[-1] if results else Result(message="nothing to do")

    def run(
        self, sql: str, parameters: Parameters = None, progress: Report | None = None
    ) -> tuple[Result, ...]:
        """Runs every statement as `execute` does; returns the result of each."""
        statements = self._read(sql, parameters)
        return self._statements.run_all(statements, progress or silent) if statements else ()

    def describe(self, sql: str, parameters: Parameters = None) -> pa.Schema:
        """Returns the columns that the text's last statement would give; none where it has no rows.

        Nothing is run or charged, and no private row is read; a SET before it counts, here alone.

        Raises:
            sqlpriv.Error: As executing it would, before anything is read or charged.
        """
        with self._last_statement(sql, parameters) as statement:
            return pa.schema([]) if statement is None else self._statements.columns(statement)

    def quote(self, sql: str, parameters: Parameters = None) -> Quote:
        """Returns what the text's last statement would cost, and who would pay.

        Nothing is run or charged, and no private row is read; a SET before it counts, here alone.

        Raises:
            sqlpriv.Error: As executing it would, before anything is read or charged.
        """
        with self._last_statement(sql, parameters) as statement:
            return Quote() if statement is None else self._statements.quote(statement)

    def interrupt(self) -> None:
        """Stops, from another thread, plain SQL that runs, and a question that waits for another
        session's answer to the same; it fails with an error.

        A private question that is paid for is not stopped: its answer is sealed, and free then.
        """
        self._access.intents.interrupt()
        for engine in tuple(self._access.sql.running):
            engine.interrupt()
        if self._access.owner is not None:
            self._access.owner.interrupt()

    @contextmanager
    def interruptible(self, engine: duckdb.DuckDBPyConnection) -> Iterator[None]:
        """Lets `interrupt` stop an engine of the caller's own, too, as long as the block runs."""
        self._access.sql.running.add(engine)
        try:
            yield
        finally:
            self._access.sql.running.discard(engine)

    def settle(self) -> None:
        """Lets go of the vault that an owner wrote, so that others may read it.

        Raises:
            OperationalError: A transaction is open.
        """
        self._access.tables.settle()

    def catalog(self) -> Catalog:
        """Returns the names of tables and columns, none of them secret."""
        contracts = self._access.tables.contracts()
        return Catalog(
            {c.table: tuple(x.name for x in c.columns) for c in contracts.values()},
            self._access.store.tables(),
        )

    def comments(self) -> dict[str, str]:
        """Returns what each released table says of itself: method, price, strata, when, whence."""
        return self._access.comments()

    def budgets(self) -> tuple[tuple[str, float, float], ...]:
        """Returns (unit's table, epsilon left, epsilon in all) for every declared budget.

        Where who asks has a ceiling of their own under it, that of the two with less left.
        """
        budgets_of_tables = []
        ledger = self._access.kernel.ledger
        for contract in paying_contracts(self._access.tables.contracts()):
            if accounts := ledger.accounts(contract.own_account, self.principal):
                account = min(accounts, key=lambda a: a.left.nano)
                budget, left = account.budget, account.left
                total = epsilon_shown(budget.total, budget.delta)
                budgets_of_tables.append((contract.table, epsilon_shown(left, budget.delta), total))
        return tuple(budgets_of_tables)

    def _read(self, sql: str, parameters: Parameters) -> tuple[cmd.Statement, ...]:
        if self._access.owner is None:
            check_settings(sql)
        return self._kept_statements.read(sql, parameters, self.dialect)

    @contextmanager
    def _last_statement(self, sql: str, parameters: Parameters) -> Iterator[cmd.Statement | None]:
        """Yields the last statement of a text, under the settings that it would be run with."""
        settings, dialect = dict(self._access.settings), self._access.dialect
        statement = None
        try:
            for statement in self._read(sql, parameters):
                if isinstance(statement, cmd.SetOption):
                    self._statements.set(statement)
            yield statement
        finally:
            self._access.settings, self._access.dialect = settings, dialect

    @cached_property
    def _statements(self) -> Statements:
        from sqlpriv.session.dispatch import Statements

        return Statements(self._access, self._files)
