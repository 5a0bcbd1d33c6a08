"""What each statement does. What it may do follows from its form, the tables that it names and the
role of who asks; anything else is refused before it is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from sqlpriv.dialect import commands as cmd
from sqlpriv.dialect import tree as t
from sqlpriv.errors import DeclarationError, PermissionDenied, Refused
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.ledger.records import Account
from sqlpriv.kernel.sql.quoting import name
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.publish import publish
from sqlpriv.session.access.context import Access
from sqlpriv.session.access.owner_engine import outside
from sqlpriv.session.access.quote import Charge, Quote
from sqlpriv.session.access.result import Result
from sqlpriv.session.commands import show
from sqlpriv.session.commands.declare import declare
from sqlpriv.session.commands.evaluate import evaluated
from sqlpriv.session.queries import synthetic_tables
from sqlpriv.session.queries.query_answers import Queries
from sqlpriv.session.queries.read_statements import Unreadable
from sqlpriv.synth.api.progress import Report, silent
from sqlpriv.synth.synthesis import Job

SETTINGS = ("privacy_epsilon",)


@dataclass(frozen=True)
class Statements:
    """What a session can do, statement by statement.

    Args:
        access: What the session holds.
        files: Whether an owner may use other files than the vault, and the network.
    """

    access: Access
    files: bool

    @property
    def _vault(self) -> Path:
        return self.access.kernel.vault

    @property
    def _queries(self) -> Queries:
        return Queries(self.access)

    def run(self, statement: cmd.Statement | Unreadable, report: Report) -> Result:
        """Does what one statement says.

        Raises:
            sqlpriv.Error: As the statement deserves.
        """
        match statement:
            case Unreadable(explains=True):
                return self._queries.explain(statement)
            case t.Select() | cmd.Unanswerable() | Unreadable():
                return self._queries.answer(statement)
            case cmd.Explain():
                return self._explain(statement)
            case cmd.CreateSynthetic():
                return self._synthetic(statement, report)
            case cmd.Evaluate():
                self.access.needs_owner(
                    "see how far synthetic rows are from private ones", statement.pos
                )
                self._needs_files("report" in dict(statement.options), statement.pos)
                made = evaluated(
                    statement,
                    self._vault,
                    self.access.store,
                    self.access.tables.contracts(),
                    report,
                )
                return Result(made, exact=True)
            case cmd.DropSynthetic():
                self.access.needs_owner("drop a synthetic table", statement.pos)
                dropped = self.access.store.drop(statement.name)
                if not dropped and not statement.if_exists:
                    raise Refused.at(
                        statement.pos, f'there is no synthetic table "{statement.name}"'
                    )
                return Result(message=f"dropped {statement.name}")
            case cmd.AlterPrivacy():
                return self._alter(statement)
            case cmd.CreateUnitTable():
                return self._create_unit_table(statement)
            case cmd.Show():
                return Result(self._show(statement))
            case cmd.Describe():
                return self._describe(statement)
            case cmd.SetOption():
                return self.set(statement)
            case cmd.Publish():
                self.access.needs_owner(
                    "publish: it writes with the rights of this process", statement.pos
                )
                self._needs_files(True, statement.pos)
                to = statement.target
                return Result(message=publish(self.access.store, statement.tables, to, self._vault))

    def columns(self, statement: cmd.Statement | Unreadable) -> pa.Schema:
        """Returns the columns that a statement would give; nothing is run or charged.

        Raises:
            sqlpriv.Error: As running it would, before anything is read or charged.
        """
        match statement:
            case cmd.Unanswerable(cmd.Plain(reads_only=False)):
                return pa.schema([])
            case Unreadable(explains=False) | t.Select() | cmd.Unanswerable():
                return self._queries.columns(statement)
            case Unreadable() | cmd.Explain() | cmd.Show() | cmd.Describe():
                # free, and they read no private row
                table = self.run(statement, silent).table
                return pa.schema([]) if table is None else table.schema
        return pa.schema([])

    def quote(self, statement: cmd.Statement | Unreadable) -> Quote:
        """Returns what a statement would cost; nothing is read or charged.

        Raises:
            sqlpriv.Error: As running it would, before anything is read or charged.
        """
        match statement:
            case t.Select() | cmd.Unanswerable() | Unreadable(explains=False):
                return self._queries.quote(statement)
            case cmd.CreateSynthetic():
                job, contract, account = self._synthetic_job(statement)
                left = self.access.tables.amount_left(contract, [job.domain.source])
                charge = Charge(account.budget.unit_table, job.price, left, account.budget.delta)
                return Quote((charge,))
        return Quote()

    def _explain(self, explain: cmd.Explain) -> Result:
        if not isinstance(explain.statement, cmd.CreateSynthetic):
            return self._queries.explain(explain.statement)
        job, contract, account = self._synthetic_job(explain.statement)
        left = self.access.tables.amount_left(contract, [job.domain.source])
        kernel, delta = self.access.kernel, account.budget.delta
        return Result(synthetic_tables.explained(kernel, job, contract, left, delta))

    def _synthetic_job(self, create: cmd.CreateSynthetic) -> tuple[Job, TableContract, Account]:
        """Returns the checked job of a synthetic table, whom it is about, and who pays."""
        contract = self.access.tables.private_contract(
            create.select.table, create.pos, self.access.tables.contracts()
        )
        account = self.access.tables.account(contract, create.pos)
        job, _ = synthetic_tables.prepared(create, contract, account.budget, self.access.settings)
        return job, contract, account

    # --- synthetic tables ---

    def _synthetic(self, create: cmd.CreateSynthetic, report: Report) -> Result:
        contracts = self.access.tables.contracts()
        if create.name.lower() in contracts:
            raise Refused.at(
                create.pos, f'"{create.name}" is a table of the vault', "take another name"
            )
        if not create.or_replace and create.name.lower() in self.access.sql.released_names():
            raise Refused.at(
                create.pos,
                f'there is a table "{create.name}" already',
                "CREATE OR REPLACE SYNTHETIC TABLE …",
            )
        contract = self.access.tables.private_contract(create.select.table, create.pos, contracts)
        budget = self.access.tables.budget(contract, create.pos)
        job, weights = synthetic_tables.prepared(create, contract, budget, self.access.settings)
        shares = synthetic_tables.shares(job, self.access.tables.weights_of(weights), weights)
        with Allowance(
            self.access.kernel, contract, job.price, self.access.principal, create.text
        ) as allowance:
            made = synthetic_tables.synthesize(job, allowance, shares, report)
            spent = allowance.spent
        comment = synthetic_tables.comment(create, job, budget, self.access.principal)
        self.access.store.publish(create.name, made.table, comment, made.types, create.or_replace)
        said = (
            f"{create.name}: {made.table.num_rows} synthetic rows in {self.access.store.path.name}"
        )
        return Result(
            message="; ".join((said, *made.notes)),
            price=spent,
            epsilon=epsilon_shown(spent, budget.delta),
        )

    # --- declarations and settings ---

    def _alter(self, alter: cmd.AlterPrivacy) -> Result:
        self.access.needs_owner("declare what protects a table", alter.pos)
        contract = self.access.tables.contracts().get(alter.table.lower())
        if contract is None:
            raise Refused.at(
                alter.pos, f'there is no table "{alter.table}"', self.access.sql.tables_hint()
            )
        said = declare(self.access.kernel, alter.action, contract, self.access.principal)
        self.access.kernel.verify()
        return Result(message=said + self._left_out(alter.table, alter.action))

    def _left_out(self, table: str, action: cmd.Action) -> str:
        if not isinstance(action, cmd.SetDomainIn | cmd.SetDomainBetween | cmd.SetDomainReferences):
            return ""
        assert self.access.owner is not None
        contract = self.access.tables.contracts()[table.lower()]
        column = contract.column(action.column)
        left_out = outside(self.access.owner, contract, column) if column else ""
        self.access.tables.settle()
        return left_out

    def _create_unit_table(self, create: cmd.CreateUnitTable) -> Result:
        self.access.needs_owner("create a table", t.Pos())
        assert self.access.owner is not None
        table, existed = (
            create.table.lower(),
            create.table.lower() in self.access.tables.contracts(),
        )
        self.access.owner.run(create.create)
        try:
            for action in create.actions:
                declare(
                    self.access.kernel,
                    action,
                    self.access.tables.contracts()[table],
                    self.access.principal,
                )
        except DeclarationError:
            if not existed:
                self.access.owner.run(f"DROP TABLE {name(create.table)}")
            raise
        self.access.kernel.verify()
        return Result(message=f"created {create.table}; each of its units is protected")

    def set(self, option: cmd.SetOption) -> Result:
        """Keeps a setting, or forgets it."""
        if option.name not in SETTINGS:
            raise Refused.at(
                option.pos, f"there is no setting {option.name}", f"settings: {', '.join(SETTINGS)}"
            )
        if option.value is None:
            self.access.settings.pop(option.name, None)
            return Result(message=f"{option.name} is not set")
        value = option.value
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e6:
            raise Refused.at(option.pos, f"{option.name} is a positive number", "as in 0.5")
        self.access.settings[option.name] = float(value)
        return Result(message=f"{option.name} = {value}")

    # --- what there is ---

    def _show(self, statement: cmd.Show) -> pa.Table:
        contracts = self.access.tables.contracts()
        match statement.what:
            case "tables":
                return show.tables(contracts)
            case "budget":
                return show.budget(self.access.kernel, contracts)
            case "releases":
                return show.releases(self.access.kernel)
            case "synthesizers":
                return show.synthesizers()
        raise show.unknown(statement)

    def _needs_files(self, wanted: bool, pos: t.Pos) -> None:
        if wanted and not self.files:
            said = "this connection reaches no file but the vault"
            hint = "run it on the server's machine: sqlpriv shell VAULT --role owner"
            raise PermissionDenied.at(pos, said, hint)

    def _describe(self, describe: cmd.Describe) -> Result:
        contract = self.access.tables.contracts().get(describe.table.lower())
        if contract is not None:
            return Result(show.describe(contract))
        if describe.table.lower() in self.access.sql.released_names():
            return Result(self.access.sql.run({}, describe.text, None))
        raise Refused.at(
            describe.pos,
            f'there is no table "{describe.table}"',
            self.access.sql.tables_hint(),
        )
