"""The one use case: execute SQL for somebody, on a vault, within its budget.

Every interface is thin over `Session.execute`. What a statement may do follows from its form, the
tables that it names and the role of who asks; anything else is refused before it is read.
"""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from pathlib import Path
from typing import Self

import pyarrow as pa

from sqlpriv import catalog, dialect, release_sql, show
from sqlpriv.access import Access, refused
from sqlpriv.answer import rehearse
from sqlpriv.columns import columns
from sqlpriv.declarations import declare
from sqlpriv.dialect import tree as t
from sqlpriv.errors import (
    DeclarationError,
    InterfaceError,
    OperationalError,
    PermissionDenied,
)
from sqlpriv.evaluation_sql import evaluated
from sqlpriv.kernel.gate import Allowance, Kernel
from sqlpriv.kernel.scope import name
from sqlpriv.owner import OwnerEngine, Parameters, outside
from sqlpriv.plan.price import epsilon_shown
from sqlpriv.publish import publish
from sqlpriv.questions import Questions
from sqlpriv.result import Catalog, Result
from sqlpriv.store import beside
from sqlpriv.synth.progress import Progress, Report, silent

__all__ = ["Catalog", "Progress", "Result", "Session"]

SETTINGS = ("privacy_epsilon",)


class Session:
    """One person's way to one vault.

    Args:
        vault: The DuckDB file; an owner's session makes it if there is none.
        role: "analyst" or "owner".
        principal: Who asks, for the ledger; the operating system's user by default.
        files: Whether an owner may use other files than the vault, and the network.

    Raises:
        InterfaceError: The role is neither.
        OperationalError: There is no such vault.
    """

    def __init__(
        self,
        vault: str | Path,
        role: str = "analyst",
        principal: str | None = None,
        files: bool = True,
    ) -> None:
        if role not in ("analyst", "owner"):
            raise InterfaceError(f'the role is "analyst" or "owner", not "{role}"')
        self.vault, self.role = Path(vault), role
        self.principal = principal or getpass.getuser()
        if role == "analyst" and not self.vault.exists():
            raise OperationalError(
                f"there is no vault at {self.vault}; an owner makes one:"
                f' sqlpriv query {self.vault} --role owner "CREATE TABLE …"'
            )
        self._files = files
        owner = OwnerEngine(self.vault, files) if role == "owner" else None
        store = beside(self.vault)
        self._access = Access(Kernel(self.vault), store, owner, self.principal)
        self._questions = Questions(self._access)
        self._access.settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def settings(self) -> Mapping[str, float]:
        """What was SET and not RESET."""
        return dict(self._access.settings)

    def close(self) -> None:
        """Lets go of the vault and the ledger. An owner's open transaction is rolled back."""
        if self._access.owner is not None:
            self._access.owner.rollback()
        self._access.settle()
        self._access.kernel.close()

    def commit(self) -> None:
        """Makes an owner's open transaction last, and lets others read the vault again."""
        if self._access.owner is not None:
            self._access.owner.commit()
            self._access.settle()

    def rollback(self) -> None:
        """Undoes an owner's open transaction on the vault; a charge is never undone."""
        if self._access.owner is not None:
            self._access.owner.rollback()
            self._access.settle()

    def statements(self, sql: str) -> tuple[str, ...]:
        """Returns the statements of a text."""
        return dialect.split(sql)

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
        statements = dialect.read(sql, parameters)
        return tuple(self._run(statement, progress or silent) for statement in statements)

    def describe(self, sql: str, parameters: Parameters = None) -> pa.Schema:
        """Returns the columns that the text's last statement would give; none where it has no rows.

        Nothing is run or charged, and no private row is read; a SET before it counts, here alone.

        Raises:
            sqlpriv.Error: As executing it would, before anything is read or charged.
        """
        kept, statement = dict(self._access.settings), None
        try:
            for statement in dialect.read(sql, parameters):
                if isinstance(statement, t.SetOption):
                    self._set(statement)
            return pa.schema([]) if statement is None else self._columns(statement)
        finally:
            self._access.settings = kept

    def interrupt(self) -> None:
        """Stops, from another thread, plain SQL that runs; it fails with an error.

        A private question that is paid for is not stopped: its answer is sealed, and free then.
        """
        for engine in tuple(self._access.running):
            engine.interrupt()
        if self._access.owner is not None:
            self._access.owner.interrupt()

    def settle(self) -> None:
        """Lets go of the vault that an owner wrote, so that others may read it.

        Raises:
            OperationalError: A transaction is open.
        """
        self._access.settle()

    def catalog(self) -> Catalog:
        """Returns the names of tables and columns, none of them secret."""
        contracts = self._access.contracts()
        return Catalog(
            {c.table: tuple(x.name for x in c.columns) for c in contracts.values()},
            self._access.store.tables(),
        )

    def comments(self) -> dict[str, str]:
        """Returns what each released table says of itself: method, price, strata, when, whence."""
        return self._access.store.comments()

    def budgets(self) -> tuple[tuple[str, float, float], ...]:
        """Returns (unit's table, epsilon left, epsilon in all) for every declared budget.

        Where who asks has a ceiling of their own under it, that of the two with less left.
        """
        found = []
        for table, contract in self._access.contracts().items():
            if accounts := self._access.kernel.ledger.accounts(table, self.principal):
                account = min(accounts, key=lambda a: a.left.nano)
                budget, left = account.budget, account.left
                total = epsilon_shown(budget.total, budget.delta)
                found.append((contract.table, epsilon_shown(left, budget.delta), total))
        return tuple(found)

    def _run(self, statement: t.Statement, report: Report) -> Result:
        match statement:
            case t.Select():
                return self._questions.select(statement)
            case t.Plain():
                return self._plain(statement)
            case t.Explain():
                return self._questions.explain(statement)
            case t.CreateSynthetic():
                return self._synthetic(statement, report)
            case t.Evaluate():
                self._access.needs_owner(
                    "see how far synthetic rows are from private ones", statement.pos
                )
                self._needs_files("report" in dict(statement.options), statement.pos)
                made = evaluated(
                    statement, self.vault, self._access.store, self._access.contracts(), report
                )
                return Result(made, exact=True)
            case t.DropSynthetic():
                self._access.needs_owner("drop a synthetic table", statement.pos)
                dropped = self._access.store.drop(statement.name)
                if not dropped and not statement.if_exists:
                    raise refused(f'there is no synthetic table "{statement.name}"', statement.pos)
                return Result(message=f"dropped {statement.name}")
            case t.AlterPrivacy():
                return self._alter(statement)
            case t.CreateUnitTable():
                return self._create_unit_table(statement)
            case t.Show():
                return Result(self._show(statement))
            case t.Describe():
                return self._describe(statement)
            case t.SetOption():
                return self._set(statement)
            case t.Publish():
                self._access.needs_owner(
                    "publish: it writes with the rights of this process", statement.pos
                )
                self._needs_files(True, statement.pos)
                to = statement.target
                return Result(message=publish(self._access.store, statement.tables, to, self.vault))

    def _columns(self, statement: t.Statement) -> pa.Schema:
        match statement:
            case t.Select() if self._questions.noised(
                statement, contracts := self._access.contracts()
            ):
                planned, _ = self._questions.planned(statement, contracts)
                return rehearse(planned, self._access.weights(planned.output.weights))
            case t.Select():
                return columns(statement, lambda query: self._questions.select(query).table)
            case t.Plain(reads_only=True):
                return columns(statement, lambda query: self._plain(query).table)
            case t.Explain() | t.Show() | t.Describe():  # free, and they read no private row
                shown = self._run(statement, silent).table
                return pa.schema([]) if shown is None else shown.schema
        return pa.schema([])

    # --- synthetic tables ---

    def _synthetic(self, create: t.CreateSynthetic, report: Report) -> Result:
        contracts = self._access.contracts()
        if create.name.lower() in contracts:
            raise refused(
                f'"{create.name}" is a table of the vault', create.pos, "take another name"
            )
        if not create.or_replace and create.name.lower() in self._access.released_names():
            raise refused(
                f'there is a table "{create.name}" already',
                create.pos,
                "CREATE OR REPLACE SYNTHETIC TABLE …",
            )
        contract = self._access.private(create.select.table, create.pos, contracts)
        budget = self._access.budget(contract, create.pos)
        job, weights = release_sql.prepared(create, contract, budget, self._access.settings)
        shares = release_sql.shares(job, self._access.weights(weights), weights)
        with Allowance(
            self._access.kernel, contract, job.price, self.principal, create.text
        ) as allowance:
            made = release_sql.synthesize(job, allowance, shares, report)
            spent = allowance.spent
        comment = release_sql.comment(create, job, budget, self.principal)
        self._access.store.publish(create.name, made.table, comment, made.types, create.or_replace)
        said = (
            f"{create.name}: {made.table.num_rows} synthetic rows in {self._access.store.path.name}"
        )
        return Result(
            message="; ".join((said, *made.notes)),
            price=spent,
            epsilon=epsilon_shown(spent, budget.delta),
        )

    # --- plain SQL ---

    def _plain(self, plain: t.Plain) -> Result:
        if plain.reads_only and catalog.asks_only_this(plain.tables):
            return Result(catalog.query(self._access.store, self._access.contracts(), plain))
        if self._access.owner is not None:
            if plain.reads_only:
                return self._access.exactly(plain.text, plain.parameters, plain.tables)
            changed = _changed(self._access.owner.run(plain.text, plain.parameters))
            said = "done" if changed < 0 else f"done: {changed} row(s)"
            return Result(message=said, changed=changed)
        contracts, released = self._access.contracts(), self._access.released_names()
        if not plain.reads_only:
            raise plain.refusal
        for table in plain.tables:
            contract = contracts.get(table.lower())
            if table.endswith("()") or table.startswith("'"):
                said = (
                    f"{table} is no table of the vault: files and table functions are out of reach"
                )
                raise refused(said, t.Pos(), self._access.known())
            if contract is None and table.lower() not in released:
                raise refused(
                    f'there is no released or public table "{table}"', t.Pos(), self._access.known()
                )
            if contract is not None and not contract.public:
                raise plain.refusal
        return self._access.released(plain.text, plain.tables, contracts, plain.parameters)

    # --- declarations and settings ---

    def _alter(self, alter: t.AlterPrivacy) -> Result:
        self._access.needs_owner("declare what protects a table", alter.pos)
        contract = self._access.contracts().get(alter.table.lower())
        if contract is None:
            raise refused(f'there is no table "{alter.table}"', alter.pos, self._access.known())
        said = declare(self._access.kernel, alter.action, contract, self.principal)
        self._access.kernel.verify()
        return Result(message=said + self._left_out(alter.table, alter.action))

    def _left_out(self, table: str, action: t.Action) -> str:
        if not isinstance(action, t.SetDomainIn | t.SetDomainBetween | t.SetDomainReferences):
            return ""
        assert self._access.owner is not None
        contract = self._access.contracts()[table.lower()]
        column = contract.column(action.column)
        left_out = outside(self._access.owner, contract, column) if column else ""
        self._access.settle()
        return left_out

    def _create_unit_table(self, create: t.CreateUnitTable) -> Result:
        self._access.needs_owner("create a table", t.Pos())
        assert self._access.owner is not None
        table, existed = create.table.lower(), create.table.lower() in self._access.contracts()
        self._access.owner.run(create.create)
        try:
            for action in create.actions:
                declare(
                    self._access.kernel, action, self._access.contracts()[table], self.principal
                )
        except DeclarationError:
            if not existed:
                self._access.owner.run(f"DROP TABLE {name(create.table)}")
            raise
        self._access.kernel.verify()
        return Result(message=f"created {create.table}; each of its units is protected")

    def _set(self, option: t.SetOption) -> Result:
        if option.name not in SETTINGS:
            raise refused(
                f"there is no setting {option.name}", option.pos, f"settings: {', '.join(SETTINGS)}"
            )
        if option.value is None:
            self._access.settings.pop(option.name, None)
            return Result(message=f"{option.name} is not set")
        value = option.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
            raise refused(f"{option.name} is a positive number", option.pos, "as in 0.5")
        self._access.settings[option.name] = float(value)
        return Result(message=f"{option.name} = {value}")

    # --- what there is ---

    def _show(self, statement: t.Show) -> pa.Table:
        contracts = self._access.contracts()
        match statement.what:
            case "tables":
                return show.tables(contracts)
            case "budget":
                return show.budget(self._access.kernel, contracts)
            case "releases":
                return show.releases(self._access.kernel)
            case "synthesizers":
                return show.synthesizers()
        raise show.unknown(statement)

    def _needs_files(self, wanted: bool, pos: t.Pos) -> None:
        if wanted and not self._files:
            said = "this connection reaches no file but the vault"
            hint = "run it on the server's machine: sqlpriv shell VAULT --role owner"
            raise PermissionDenied(said, hint=hint, line=pos.line, column=pos.column)

    def _describe(self, describe: t.Describe) -> Result:
        contract = self._access.contracts().get(describe.table.lower())
        if contract is not None:
            return Result(show.describe(contract))
        if describe.table.lower() in self._access.released_names():
            return Result(
                release_sql.query(self._access.store, {}, describe.text, None, self._access.running)
            )
        raise refused(f'there is no table "{describe.table}"', describe.pos, self._access.known())


def _changed(said: pa.Table | None) -> int:
    """Returns how many rows a statement changed, as DuckDB says; -1 if it does not."""
    if said is None or said.column_names != ["Count"] or not said.num_rows:
        return -1
    return int(said.column(0)[0].as_py())
