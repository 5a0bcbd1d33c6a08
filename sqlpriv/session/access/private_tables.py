"""The private tables of a vault: what is declared of each, who pays, and what is left."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from sqlpriv.errors import Refused
from sqlpriv.kernel.ledger.records import Account
from sqlpriv.kernel.terms.algebra import Relation
from sqlpriv.kernel.terms.budget import Budget, Price
from sqlpriv.kernel.terms.contract import UNDECLARED, Declared, TableContract
from sqlpriv.kernel.vault import Kernel, booking
from sqlpriv.publish.release_file import ReleaseStore
from sqlpriv.session.access.kept_contracts import KeptBudgets, KeptContracts, has_facts
from sqlpriv.session.access.owner_engine import OwnerEngine
from sqlpriv.session.access.renames import FollowedTables, carry_over, set_aside
from sqlpriv.session.access.table_grants import may_use
from sqlpriv.statements import alter_text
from sqlpriv.statements import tree as t

_OF_CATALOG = ("pg_", "duckdb_", "sqlite_", "pragma_")
"""How the names of DuckDB's views of its catalog begin that are found without a schema."""


@dataclass(frozen=True)
class PrivateTables:
    """What is declared of a vault's tables, as one person may use it.

    Args:
        kernel: The gate, and the ledger.
        store: The released tables. No private table has a name of theirs.
        owner: The vault, open for plain SQL, if it is an owner who asks; else None.
        principal: Who asks, for the ledger.
        kept: What `contracts` returned last, and of which state.
        kept_budgets: What `budget` returned last.
        before: What was declared of tables that are being renamed; see `_detach_declarations`.
    """

    kernel: Kernel
    store: ReleaseStore
    owner: OwnerEngine | None
    principal: str
    kept: KeptContracts = field(default_factory=KeptContracts)
    kept_budgets: KeptBudgets = field(default_factory=KeptBudgets)
    before: dict[str, Declared] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.owner is not None:
            self.owner.before_renames_last = self._detach_declarations

    def is_released(self, table: str) -> bool:
        """Returns whether a table of that name was released."""
        return table.lower() in {name.lower() for name in self.store.tables()}

    def check_name(self, table: str, pos: t.Pos) -> None:
        """Refuses a name for a released table that is one of the vault's; of a hidden table, too,
        because the two would be mixed up by those who may use it; and one that DuckDB's views of
        the catalog have, which everybody would look for there in vain."""
        if table.lower().startswith(_OF_CATALOG):
            raise Refused.at(pos, f'"{table}" is a name of the catalog\'s', "take another name")
        if table.lower() in self.all_contracts():
            is_hidden = table.lower() not in self.contracts()
            message = "this name is taken" if is_hidden else f'"{table}" is a table of the vault'
            raise Refused.at(pos, message, "take another name")

    def private_contract(
        self, table: str, pos: t.Pos, contracts: Mapping[str, TableContract]
    ) -> TableContract:
        """Returns the contract of a private table; refuses a table that no private query can be
        about."""
        contract = contracts.get(table.lower())
        free = "leave out STRATIFY BY and WITH DIFFERENTIAL_PRIVACY"
        if contract is None and self.is_released(table):
            raise Refused.at(pos, f'"{table}" is released: plain SQL on it is free', free)
        if contract is None:
            names = ", ".join(c.table for c in contracts.values()) or "none"
            raise Refused.at(pos, f'there is no table "{table}"', f"tables of this vault: {names}")
        if contract.public:
            raise Refused.at(pos, f'"{table}" is public: plain SQL on it is free', free)
        if contract.unit is None:
            declared = "SET PRIVACY (KEY (…), BOUND (rows_per_unit = …))"
            hint = f"the owner runs {alter_text(table)} {declared}"
            if contract.links:
                hint = "the owner links it straight to the key of the unit's own table"
            raise Refused.at(pos, f'nobody declared whom "{table}" protects', hint)
        return contract

    def budget(self, contract: TableContract, pos: t.Pos) -> Budget:
        """Returns the budget that a table's unit has; refuses where it has none."""
        budget = self.kept_budgets.budget_of(self.kernel.ledger, contract.payer)
        if budget is None:
            raise _without_budget(contract, pos)
        return replace(budget, unit_table=_unit_table(contract))

    def account(self, contract: TableContract, pos: t.Pos) -> Account:
        """Returns what a table's unit may spend and has spent; refuses where it has no budget."""
        account = self.kernel.ledger.account(contract.payer)
        if account is None:
            raise _without_budget(contract, pos)
        return account._replace(budget=replace(account.budget, unit_table=_unit_table(contract)))

    def amount_left(self, contract: TableContract, sources: Iterable[Relation]) -> Price:
        """Returns what may still be charged for rows of `sources`: the least that is left of the
        unit's budget and of the principal's own ceiling."""
        concerned = booking(sources, contract)
        accounts = self.kernel.ledger.accounts(contract.payer, self.principal, concerned)
        return min((account.left for account in accounts), key=lambda price: price.nano)

    def weights_of(self, table: str) -> pa.Table | None:
        """Returns the rows of a public table of weights; None where none is named."""
        if table and table.lower() not in self.contracts():
            raise Refused(f'the table "{table}" is not public')
        return self.kernel.public(table) if table else None

    def contracts(self) -> dict[str, TableContract]:
        """Returns what is declared of every table that may be used, by lower-case name, as the
        vault is now: of all tables for an owner, else of those that `table_grants` leaves.

        It is the same object until the vault is written, or a declaration, budget or fact is added.
        """
        self.settle()
        if self.owner is not None:
            return self.kept.contracts_of(self.kernel)
        return self.kept.usable_contracts_of(self.kernel, self.principal)

    def all_contracts(self) -> dict[str, TableContract]:
        """Returns what is declared of every table, whoever asks."""
        self.settle()
        return self.kept.contracts_of(self.kernel)

    def hides_tables(self) -> bool:
        """Returns whether the vault has, or once had, tables that the principal may not use."""
        if self.owner is not None:
            return False
        declared = self.kernel.ledger.declarations()[1].values()
        return not all(may_use(body["grants"], self.principal) for body in declared)

    def settle(self) -> None:
        """Closes the vault behind an owner's statements. What is declared is verified where the
        ledger has no facts of the vault's state: where it, or a declaration, has changed since.

        A table that was dropped takes its declarations with it, all but its grants: another one of
        its name is nobody's until its owner says whose. CREATE OR REPLACE keeps them, and a table
        or a column that is renamed takes them along (see `renames`). What was spent stays spent.
        """
        if self.owner is None or (followed := self.owner.release()) is None:
            return
        before = dict(self.before)
        self.before.clear()  # not used again if a step below fails
        there, ledger = self.kernel.contracts(), self.kernel.ledger
        with ledger.begin("IMMEDIATE"):
            declared = ledger.declarations()[1]
            if {table.name for table in followed.now.values()} >= set(there):
                changed = {
                    **before,
                    **self._declarations_to_append(followed, there, {**declared, **before}),
                }
            else:  # another database is in use now: renames were not followed
                changed = {
                    table: {**UNDECLARED, "grants": body["grants"]}
                    for table, body in declared.items()
                    if table not in there
                }
            for table, body in changed.items():
                if body != declared.get(table, UNDECLARED):
                    ledger.declare(table, self.principal, **body)
        # facts are of a snapshot: of these contents and declarations alone. They are recorded for
        # all tables at once, so none of a table may be one of them: it is over its bound
        snapshots = {contract.snapshot for contract in there.values() if contract.unit}
        if changed or not all(has_facts(ledger, snapshot) for snapshot in snapshots):
            self.kernel.verify()

    def _declarations_to_append(
        self, followed: FollowedTables, there: Container[str], declared: Mapping[str, Declared]
    ) -> dict[str, Declared]:
        """Returns the declarations that have to be appended, by lower-case table."""
        ledger = self.kernel.ledger
        accounts = frozenset(name for name in followed.first_names if ledger.holders(name))
        return carry_over(followed, there, declared, accounts)

    def _detach_declarations(self, followed: FollowedTables) -> None:
        """Takes the declarations away from all tables that a rename is about to change. `settle`
        gives them back, under the names that the tables have then.

        Claim: rows never have a declaration that was made of other rows under the same name, at
        whatever moment the process ends or the ledger fails. A table that has not got its
        declarations back is undeclared, so analysts are refused. It has its account before it has
        its name.
        """
        there = {table.name for table in followed.now.values()}
        with self.kernel.ledger.begin("IMMEDIATE"):
            declared = self.kernel.ledger.declarations()[1]
            bodies = {**declared, **self.before}
            changed = self._declarations_to_append(followed, there, bodies)
            for table, body in changed.items():
                if (rest := set_aside(body)) != declared.get(table, UNDECLARED):
                    self.kernel.ledger.declare(table, self.principal, **rest)
            self.before.update({t: bodies[t] for t in changed if t in bodies})


def _unit_table(contract: TableContract) -> str:
    return contract.unit.table if contract.unit else contract.table


def _without_budget(contract: TableContract, pos: t.Pos) -> Refused:
    unit = _unit_table(contract)
    return Refused.at(
        pos,
        f'no budget is declared for "{unit}"',
        f"the owner runs {alter_text(unit)} SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9)",
    )
