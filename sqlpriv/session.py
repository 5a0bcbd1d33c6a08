"""The one use case: execute SQL for somebody, on a vault, within its budget.

Every interface is thin over `Session.execute`. What a statement may do follows from its form, the
tables that it names and the role of who asks; anything else is refused before it is read.
"""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import duckdb
import pyarrow as pa

from sqlpriv import catalog, dialect, private_sql, release_sql, show, stages
from sqlpriv.answer import answer, rehearse
from sqlpriv.columns import columns
from sqlpriv.declarations import declare
from sqlpriv.dialect import tree as t
from sqlpriv.dialect.sources import tables
from sqlpriv.errors import (
    DeclarationError,
    InterfaceError,
    OperationalError,
    PermissionDenied,
    ProgrammingError,
    Refused,
)
from sqlpriv.evaluation_sql import evaluated
from sqlpriv.kernel.algebra import Relation
from sqlpriv.kernel.budget import Budget, Price
from sqlpriv.kernel.contract import UNDECLARED, TableContract
from sqlpriv.kernel.gate import Allowance, Kernel
from sqlpriv.kernel.ledger import Account
from sqlpriv.kernel.scope import name
from sqlpriv.owner import OwnerEngine, Parameters, outside
from sqlpriv.plan.plan import Plan, plan
from sqlpriv.plan.price import epsilon_shown, statement_price
from sqlpriv.publish import publish
from sqlpriv.store import beside
from sqlpriv.synth.progress import Progress, Report, silent

__all__ = ["Catalog", "Progress", "Result", "Session"]

SETTINGS = ("privacy_epsilon",)


@dataclass(frozen=True, eq=False)
class Result:
    """What a statement gave.

    Args:
        table: Its rows; None for a statement without rows.
        message: What was done, for a statement without rows; else one line about the rows, or ''.
        half_widths: For noised columns, by name: the half-width of a 95 % interval in every row.
        price: What was charged; None where nothing could be.
        epsilon: The same as an epsilon.
        exact: The rows were computed exactly on the vault, for an owner: they are not protected.
        changed: How many rows of the vault an owner's statement changed; -1 if that is not known.
    """

    table: pa.Table | None = None
    message: str = ""
    half_widths: Mapping[str, list[float | None]] = field(default_factory=dict)
    price: Price | None = None
    epsilon: float | None = None
    exact: bool = False
    changed: int = -1


@dataclass(frozen=True)
class Catalog:
    """Names that may be completed: tables of the vault and released ones, with their columns."""

    tables: Mapping[str, tuple[str, ...]]
    released: Mapping[str, tuple[str, ...]]


class Session:
    """One person's way to one vault.

    Args:
        vault: The DuckDB file; an owner's session makes it if there is none.
        role: "analyst" or "owner".
        principal: Who asks, for the ledger; the operating system's user by default.
        files: Whether an owner's plain SQL may use other files than the vault, and the network.

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
        self._owner = OwnerEngine(self.vault, files) if role == "owner" else None
        self._kernel = Kernel(self.vault)
        self._store = beside(self.vault)
        self._settings: dict[str, float] = {}
        self._running: set[duckdb.DuckDBPyConnection] = set()
        self._settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def settings(self) -> Mapping[str, float]:
        """What was SET and not RESET."""
        return dict(self._settings)

    def close(self) -> None:
        """Lets go of the vault and the ledger. An owner's open transaction is rolled back."""
        if self._owner is not None:
            self._owner.rollback()
        self._settle()
        self._kernel.close()

    def commit(self) -> None:
        """Makes an owner's open transaction last, and lets others read the vault again."""
        if self._owner is not None:
            self._owner.commit()
            self._settle()

    def rollback(self) -> None:
        """Undoes an owner's open transaction on the vault; a charge is never undone."""
        if self._owner is not None:
            self._owner.rollback()
            self._settle()

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
        kept, statement = dict(self._settings), None
        try:
            for statement in dialect.read(sql, parameters):
                if isinstance(statement, t.SetOption):
                    self._set(statement)
            return pa.schema([]) if statement is None else self._columns(statement)
        finally:
            self._settings = kept

    def interrupt(self) -> None:
        """Stops, from another thread, plain SQL that runs; it fails with an error.

        A private question that is paid for is not stopped: its answer is sealed, and free then.
        """
        for engine in tuple(self._running):
            engine.interrupt()
        if self._owner is not None:
            self._owner.interrupt()

    def settle(self) -> None:
        """Lets go of the vault that an owner wrote, so that others may read it.

        Raises:
            OperationalError: A transaction is open.
        """
        self._settle()

    def catalog(self) -> Catalog:
        """Returns the names of tables and columns, none of them secret."""
        contracts = self._contracts()
        return Catalog(
            {c.table: tuple(x.name for x in c.columns) for c in contracts.values()},
            self._store.tables(),
        )

    def comments(self) -> dict[str, str]:
        """Returns what each released table says of itself: method, price, strata, when, whence."""
        return self._store.comments()

    def budgets(self) -> tuple[tuple[str, float, float], ...]:
        """Returns (unit's table, epsilon left, epsilon in all) for every declared budget.

        Where who asks has a ceiling of their own under it, that of the two with less left.
        """
        found = []
        for table, contract in self._contracts().items():
            if accounts := self._kernel.ledger.accounts(table, self.principal):
                account = min(accounts, key=lambda a: a.left.nano)
                budget, left = account.budget, account.left
                total = epsilon_shown(budget.total, budget.delta)
                found.append((contract.table, epsilon_shown(left, budget.delta), total))
        return tuple(found)

    def _run(self, statement: t.Statement, report: Report) -> Result:
        match statement:
            case t.Select():
                return self._select(statement)
            case t.Plain():
                return self._plain(statement)
            case t.Explain():
                return self._explain(statement)
            case t.CreateSynthetic():
                return self._synthetic(statement, report)
            case t.Evaluate():
                self._needs_owner("see how far synthetic rows are from private ones", statement.pos)
                made = evaluated(statement, self.vault, self._store, self._contracts(), report)
                return Result(made, exact=True)
            case t.DropSynthetic():
                self._needs_owner("drop a synthetic table", statement.pos)
                dropped = self._store.drop(statement.name)
                if not dropped and not statement.if_exists:
                    raise _refuse(f'there is no synthetic table "{statement.name}"', statement.pos)
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
                self._needs_owner(
                    "publish: it writes with the rights of this process", statement.pos
                )
                to = statement.target
                return Result(message=publish(self._store, statement.tables, to, self.vault))

    def _columns(self, statement: t.Statement) -> pa.Schema:
        match statement:
            case t.Select() if self._noised(statement, contracts := self._contracts()):
                planned, _ = self._planned(statement, contracts)
                return rehearse(planned, self._weights(planned.output.weights))
            case t.Select():
                return columns(statement, lambda query: self._select(query).table)
            case t.Plain(reads_only=True):
                return columns(statement, lambda query: self._plain(query).table)
            case t.Explain() | t.Show() | t.Describe():  # free, and they read no private row
                shown = self._run(statement, silent).table
                return pa.schema([]) if shown is None else shown.schema
        return pa.schema([])

    # --- private queries ---

    def _noised(self, select: t.Select, contracts: Mapping[str, TableContract]) -> bool:
        """Tells whether a query is answered under the budget, and not exactly by DuckDB."""
        return select.private or (self._owner is None and stages.is_private(select, contracts))

    def _select(self, select: t.Select) -> Result:
        contracts = self._contracts()
        if not self._noised(select, contracts):
            if self._owner is not None:
                return self._exactly(select.text, select.parameters, tables(select))
            return self._released(select.text, tables(select), contracts, select.parameters)
        select, private = self._settled(select, contracts)
        if (why := self._unplanned(select, private, contracts)) is not None:
            return self._in_stages(select, contracts, why)
        if private:
            return self._adaptively(select, private, contracts)
        planned, contract = self._planned(select, contracts)
        weights = self._weights(planned.output.weights)
        rehearse(planned, weights)
        due = private_sql.due(self._kernel, planned, contract)
        budget = self._budget(contract, select.pos)
        with Allowance(self._kernel, contract, due, self.principal, select.text) as allowance:
            if (asked := planned.selection) is not None:
                found = allowance.select_keys(asked.source, asked.expr, asked.price, asked.yocto)
                planned = plan(select, contract, budget, self._epsilon, found)
            releases, adapted = private_sql.asked(planned, allowance)
            spent = allowance.spent
        made = answer(planned, releases, weights, adapted)
        return Result(
            made.table,
            half_widths=made.half_widths,
            price=spent,
            epsilon=epsilon_shown(spent, budget.delta),
        )

    def _planned(
        self, select: t.Select, contracts: Mapping[str, TableContract]
    ) -> tuple[Plan, TableContract]:
        named = [name for name in tables(select) if name in contracts]
        private = [name for name in named if contracts[name].unit is not None]
        table = next(iter([*private, *named, select.table]))
        contract = self._private(table, select.pos, contracts)
        budget, left = self._budget(contract, select.pos), self._left(contract, ())
        select = private_sql.targeted(self._kernel, select, contract, budget, left)
        return plan(select, contract, budget, self._epsilon), contract

    @property
    def _epsilon(self) -> float | None:
        return self._settings.get("privacy_epsilon")

    def _settled(
        self, select: t.Select, contracts: Mapping[str, TableContract]
    ) -> tuple[t.Select, list[t.Subquery]]:
        """Returns the statement with what public subqueries give, and its private ones."""
        public, _ = stages.inner(select, contracts)
        select = stages.resolved(select, public, self._public_value) if public else select

        def members(part: t.InQuery) -> pa.Table | None:
            with suppress(ProgrammingError, Refused):  # it looks at the row around it, say
                return self._released(part.text, tables(part.query), contracts).table
            return None

        select = stages.listed(select, contracts, members)
        return select, list(dict.fromkeys(stages.inner(select, contracts)[1]))

    def _unplanned(
        self, select: t.Select, private: list[t.Subquery], contracts: Mapping[str, TableContract]
    ) -> Refused | None:
        """Returns why a statement with WITH cannot be planned as a whole, if it cannot."""
        if not select.stages:
            return None
        try:
            self._planned(stages.rehearsed(select, private), contracts)
            for part in private:
                self._planned(stages.asked(part), contracts)
        except Refused as why:
            return why
        return None

    def _public_value(self, part: t.Subquery) -> pa.Table:
        found = self._released(part.text, tables(part.query), self._contracts()).table
        return pa.table({}) if found is None else found

    def _price(self, select: t.Select, contracts: Mapping[str, TableContract]) -> Price:
        named = [n for n in tables(select) if n in contracts and contracts[n].unit is not None]
        contract = self._private((named or [select.table])[0], select.pos, contracts)
        setting = self._settings.get("privacy_epsilon")
        return statement_price(select.options, self._budget(contract, select.pos), setting,
                               select.pos)  # fmt: skip

    def _adaptively(
        self,
        select: t.Select,
        private: list[t.Subquery],
        contracts: Mapping[str, TableContract],
    ) -> Result:
        """Answers scalar subqueries first, each with an equal part of the price; see `stages`."""
        price, parts = self._price(select, contracts), len(private) + 1
        outer = stages.priced(select, price, parts)
        planned, _ = self._planned(stages.rehearsed(outer, private), contracts)
        rehearse(planned, self._weights(planned.output.weights))
        asked = {p: stages.priced(stages.asked(p), price, parts) for p in private}
        for part, query in asked.items():
            try:
                first, _ = self._planned(query, contracts)
            except Refused as why:
                raise stages.alone(part, why) from None
            rehearse(first, None)
        made = {part: self._select(query) for part, query in asked.items()}
        rows = {part: result.table for part, result in made.items()}
        last = self._select(stages.resolved(outer, private, lambda part: rows[part]))
        return self._together(last, list(made.values()), contracts, select)

    def _in_stages(
        self, select: t.Select, contracts: Mapping[str, TableContract], why: Refused
    ) -> Result:
        """Answers the queries of WITH first, and runs the rest on their rows; see `stages`."""
        found = stages.stages(select, contracts, why)
        (body,) = dialect.read(select.body)
        known = {name.lower() for name, _ in found}
        named = body.tables if isinstance(body, t.Plain) else tables(body)  # type: ignore[arg-type]
        public = [n for n in named if n not in known]
        if any(n not in contracts or not contracts[n].public for n in public):
            raise why
        price = self._price(found[0][1], contracts)
        asked = [(name, stages.priced(query, price, len(found))) for name, query in found]
        shown = {contracts[n].table: self._kernel.public(n) for n in public}
        empty = {}
        for stage, query in asked:
            planned, _ = self._planned(self._settled(query, contracts)[0], contracts)
            empty[stage] = pa.Table.from_pylist([], rehearse(planned, None))
        release_sql.query(
            self._store, {**shown, **empty}, select.body, select.parameters, self._running
        )
        made = [(name, self._select(query)) for name, query in asked]
        rows = {**shown, **{name: result.table for name, result in made}}
        last = Result(
            release_sql.query(self._store, rows, select.body, select.parameters, self._running)
        )
        return self._together(last, [result for _, result in made], contracts, select)

    def _together(
        self,
        last: Result,
        before: list[Result],
        contracts: Mapping[str, TableContract],
        select: t.Select,
    ) -> Result:
        """Returns the last result with the price of all."""
        prices = [r.price for r in (*before, last) if r.price is not None]
        spent = type(prices[0])(sum(price.nano for price in prices))
        named = [n for n in tables(select) if n in contracts and contracts[n].unit is not None]
        budget = self._budget(contracts[named[0]], select.pos)
        return replace(last, price=spent, epsilon=epsilon_shown(spent, budget.delta))

    def _private(
        self, table: str, pos: t.Pos, contracts: Mapping[str, TableContract]
    ) -> TableContract:
        contract = contracts.get(table.lower())
        free = "leave out STRATIFY BY and WITH DIFFERENTIAL_PRIVACY"
        if contract is None and table.lower() in self._released_names():
            raise _refuse(f'"{table}" is released: plain SQL on it is free', pos, free)
        if contract is None:
            known = ", ".join(c.table for c in contracts.values()) or "none"
            raise _refuse(f'there is no table "{table}"', pos, f"tables of this vault: {known}")
        if contract.public:
            raise _refuse(f'"{table}" is public: plain SQL on it is free', pos, free)
        if contract.unit is None:
            hint = f"the owner runs ALTER TABLE {table} ADD PRIVACY_KEY (…), then … SET PU"
            if contract.links:
                hint = "the owner links it straight to the key of the unit's own table"
            raise _refuse(f'nobody declared whom "{table}" protects', pos, hint)
        return contract

    def _budget(self, contract: TableContract, pos: t.Pos) -> Budget:
        return self._account(contract, pos).budget

    def _account(self, contract: TableContract, pos: t.Pos) -> Account:
        unit = contract.unit.table if contract.unit else contract.table
        account = self._kernel.ledger.account(unit)
        if account is None:
            raise _refuse(
                f'no budget is declared for "{unit}"',
                pos,
                f"the owner runs ALTER TABLE {unit} SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9)",
            )
        return account

    def _left(self, contract: TableContract, sources: Iterable[Relation]) -> Price:
        """Returns what may still be charged for such rows: to the table, and to who asks."""
        accounts = self._kernel.accounts(contract, self.principal, sources)
        return min((account.left for account in accounts), key=lambda price: price.nano)

    def _weights(self, table: str) -> pa.Table | None:
        return self._kernel.public(table) if table else None

    def _explain(self, statement: t.Explain) -> Result:
        contracts = self._contracts()
        match statement.statement:
            case t.Select() as select:
                if (several := self._explained(select, contracts)) is not None:
                    return Result(several)
                planned, contract = self._planned(select, contracts)
                rehearse(planned, self._weights(planned.output.weights))
                account = self._account(contract, select.pos)
                left = self._left(contract, [m.query.source for m in planned.measurements])
                delta = account.budget.delta
                return Result(*private_sql.explained(self._kernel, planned, contract, left, delta))
            case t.CreateSynthetic() as create:
                contract = self._private(create.select.table, create.pos, contracts)
                account = self._account(contract, create.pos)
                job, _ = release_sql.prepared(create, contract, account.budget, self._settings)
                left = self._left(contract, [job.domain.source])
                delta = account.budget.delta
                return Result(release_sql.explained(self._kernel, job, contract, left, delta))
            case t.Plain() as plain:
                raise plain.refusal

    def _explained(
        self, select: t.Select, contracts: Mapping[str, TableContract]
    ) -> pa.Table | None:
        """Returns the rows of a statement of several questions, each with its own total."""
        settled, private = self._settled(select, contracts)
        public = settled != select
        select = settled
        why = self._unplanned(select, private, contracts)
        if why is not None:
            found = stages.stages(select, contracts, why)
            price = self._price(found[0][1], contracts)
            queries = [stages.priced(query, price, len(found)) for _, query in found]
        elif private:
            price, parts = self._price(select, contracts), len(private) + 1
            outer = self._foreseen(stages.priced(select, price, parts), private, price, contracts)
            queries = [*(stages.priced(stages.asked(p), price, parts) for p in private), outer]
        elif public:
            queries = [select]
        else:
            return None
        each = (self._explain(t.Explain(query)).table for query in queries)
        return pa.concat_tables([table for table in each if table is not None])

    def _foreseen(
        self,
        outer: t.Select,
        private: list[t.Subquery],
        price: Price,
        contracts: Mapping[str, TableContract],
    ) -> t.Select:
        """Returns a statement as it will be asked: answers of subqueries that are sealed are known,
        for others any number stands, whose price is the same."""
        parts, known = len(private) + 1, {}
        for part in private:
            query = stages.priced(stages.asked(part), price, parts)
            if private_sql.due(self._kernel, *self._planned(query, contracts)).nano:
                return stages.rehearsed(outer, private)
            known[part] = self._select(query).table
        return stages.resolved(outer, private, lambda part: known[part])

    # --- synthetic tables ---

    def _synthetic(self, create: t.CreateSynthetic, report: Report) -> Result:
        contracts = self._contracts()
        if create.name.lower() in contracts:
            raise _refuse(
                f'"{create.name}" is a table of the vault', create.pos, "take another name"
            )
        if not create.or_replace and create.name.lower() in self._released_names():
            raise _refuse(
                f'there is a table "{create.name}" already',
                create.pos,
                "CREATE OR REPLACE SYNTHETIC TABLE …",
            )
        contract = self._private(create.select.table, create.pos, contracts)
        budget = self._budget(contract, create.pos)
        job, weights = release_sql.prepared(create, contract, budget, self._settings)
        shares = release_sql.shares(job, self._weights(weights), weights)
        with Allowance(self._kernel, contract, job.price, self.principal, create.text) as allowance:
            made = release_sql.synthesize(job, allowance, shares, report)
            spent = allowance.spent
        comment = release_sql.comment(create, job, budget, self.principal)
        self._store.publish(create.name, made.table, comment, made.types, create.or_replace)
        said = f"{create.name}: {made.table.num_rows} synthetic rows in {self._store.path.name}"
        return Result(
            message="; ".join((said, *made.notes)),
            price=spent,
            epsilon=epsilon_shown(spent, budget.delta),
        )

    def _released_names(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self._store.tables())

    # --- plain SQL ---

    def _plain(self, plain: t.Plain) -> Result:
        if plain.reads_only and catalog.asks_only_this(plain.tables):
            return Result(catalog.query(self._store, self._contracts(), plain))
        if self._owner is not None:
            if plain.reads_only:
                return self._exactly(plain.text, plain.parameters, plain.tables)
            changed = _changed(self._owner.run(plain.text, plain.parameters))
            said = "done" if changed < 0 else f"done: {changed} row(s)"
            return Result(message=said, changed=changed)
        contracts, released = self._contracts(), self._released_names()
        if not plain.reads_only:
            raise plain.refusal
        for table in plain.tables:
            contract = contracts.get(table.lower())
            if table.endswith("()") or table.startswith("'"):
                said = (
                    f"{table} is no table of the vault: files and table functions are out of reach"
                )
                raise _refuse(said, t.Pos(), self._known())
            if contract is None and table.lower() not in released:
                raise _refuse(
                    f'there is no released or public table "{table}"', t.Pos(), self._known()
                )
            if contract is not None and not contract.public:
                raise plain.refusal
        return self._released(plain.text, plain.tables, contracts, plain.parameters)

    def _exactly(self, text: str, parameters: Parameters, tables: Sequence[str] = ()) -> Result:
        """Runs plain SQL for the owner: on the vault, or on released tables if all are that."""
        assert self._owner is not None
        released = self._released_names()
        if tables and all(table.lower() in released for table in tables):
            return self._released(text, tables, self._contracts(), parameters)
        table = self._owner.run(text, parameters)
        return Result(table, exact=table is not None)

    def _released(
        self,
        text: str,
        tables: Sequence[str],
        contracts: Mapping[str, TableContract],
        parameters: Parameters = None,
    ) -> Result:
        """Runs plain SQL where only released and public tables are: free, and exact on those."""
        named = {table.lower() for table in tables}
        public = [c.table for c in contracts.values() if c.public and c.table.lower() in named]
        if missing := named - self._released_names() - {p.lower() for p in public}:
            table = sorted(missing)[0]
            raise _refuse(f'there is no released or public table "{table}"', t.Pos(), self._known())
        rows = {table: self._kernel.public(table) for table in public}
        return Result(release_sql.query(self._store, rows, text, parameters, self._running))

    def _known(self) -> str:
        return "SHOW PRIVACY TABLES lists them; released: " + (
            ", ".join(self._store.tables()) or "none so far"
        )

    # --- declarations and settings ---

    def _alter(self, alter: t.AlterPrivacy) -> Result:
        self._needs_owner("declare what protects a table", alter.pos)
        contract = self._contracts().get(alter.table.lower())
        if contract is None:
            raise _refuse(f'there is no table "{alter.table}"', alter.pos, self._known())
        said = declare(self._kernel, alter.action, contract, self.principal)
        self._kernel.verify()
        return Result(message=said + self._left_out(alter.table, alter.action))

    def _left_out(self, table: str, action: t.Action) -> str:
        if not isinstance(action, t.SetDomainIn | t.SetDomainBetween | t.SetDomainReferences):
            return ""
        assert self._owner is not None
        contract = self._contracts()[table.lower()]
        column = contract.column(action.column)
        left_out = outside(self._owner, contract, column) if column else ""
        self._settle()
        return left_out

    def _create_unit_table(self, create: t.CreateUnitTable) -> Result:
        self._needs_owner("create a table", t.Pos())
        assert self._owner is not None
        table, existed = create.table.lower(), create.table.lower() in self._contracts()
        self._owner.run(create.create)
        try:
            for action in create.actions:
                declare(self._kernel, action, self._contracts()[table], self.principal)
        except DeclarationError:
            if not existed:
                self._owner.run(f"DROP TABLE {name(create.table)}")
            raise
        self._kernel.verify()
        return Result(message=f"created {create.table}; each of its units is protected")

    def _set(self, option: t.SetOption) -> Result:
        if option.name not in SETTINGS:
            raise _refuse(
                f"there is no setting {option.name}", option.pos, f"settings: {', '.join(SETTINGS)}"
            )
        if option.value is None:
            self._settings.pop(option.name, None)
            return Result(message=f"{option.name} is not set")
        value = option.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
            raise _refuse(f"{option.name} is a positive number", option.pos, "as in 0.5")
        self._settings[option.name] = float(value)
        return Result(message=f"{option.name} = {value}")

    # --- what there is ---

    def _show(self, statement: t.Show) -> pa.Table:
        contracts = self._contracts()
        match statement.what:
            case "tables":
                return show.tables(contracts)
            case "budget":
                return show.budget(self._kernel, contracts)
            case "releases":
                return show.releases(self._kernel)
            case "synthesizers":
                return show.synthesizers()
        raise show.unknown(statement)

    def _describe(self, describe: t.Describe) -> Result:
        contract = self._contracts().get(describe.table.lower())
        if contract is not None:
            return Result(show.describe(contract))
        if describe.table.lower() in self._released_names():
            return Result(release_sql.query(self._store, {}, describe.text, None, self._running))
        raise _refuse(f'there is no table "{describe.table}"', describe.pos, self._known())

    def _contracts(self) -> dict[str, TableContract]:
        self._settle()
        return self._kernel.contracts()

    def _settle(self) -> None:
        """Lets the vault go after an owner's writing, and verifies what was declared anew.

        A table that was dropped takes its declarations with it: another one of its name is nobody's
        until its owner says whose. CREATE OR REPLACE keeps them. What was spent stays spent.
        """
        if self._owner is not None and self._owner.release():
            there = self._kernel.contracts()
            for table, body in self._kernel.ledger.declared()[1].items():
                if table not in there and body != UNDECLARED:
                    self._kernel.ledger.declare(table, self.principal, **UNDECLARED)
            self._kernel.verify()

    def _needs_owner(self, doing: str, pos: t.Pos) -> None:
        if self._owner is None:
            raise PermissionDenied(
                f"only an owner can {doing}",
                hint='connect with role="owner" (sqlpriv shell VAULT --role owner)',
                line=pos.line,
                column=pos.column,
            )


def _changed(said: pa.Table | None) -> int:
    """Returns how many rows a statement changed, as DuckDB says; -1 if it does not."""
    if said is None or said.column_names != ["Count"] or not said.num_rows:
        return -1
    return int(said.column(0)[0].as_py())


def _refuse(message: str, pos: t.Pos, hint: str | None = None) -> Refused:
    return Refused(message, hint=hint, line=pos.line, column=pos.column)
