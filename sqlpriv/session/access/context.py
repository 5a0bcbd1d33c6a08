"""What a session holds: the vault, its ledger, what was released, and who asks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from sqlpriv.dialect import tree as t
from sqlpriv.dialect.lower_query import tables
from sqlpriv.errors import PermissionDenied, Refused
from sqlpriv.kernel.ledger.records import Account
from sqlpriv.kernel.terms.algebra import Relation
from sqlpriv.kernel.terms.budget import Budget, Price
from sqlpriv.kernel.terms.contract import UNDECLARED, TableContract
from sqlpriv.kernel.vault import Kernel
from sqlpriv.publish.release_file import ReleaseStore, empty_engine
from sqlpriv.session.access import free_sql
from sqlpriv.session.access.owner_engine import OwnerEngine, Parameters
from sqlpriv.session.access.result import Result

KEPT_BYTES = 2**26
"""Rows of public tables that a session keeps."""


@dataclass
class Access:
    """One person's way to one vault.

    Attributes:
        kernel: The gate, and the ledger.
        store: The released tables.
        owner: The vault, open for plain SQL, if it is an owner who asks; else None.
        principal: Who asks, for the ledger.
        settings: What was SET.
        running: Engines that run plain SQL just now, which another thread may interrupt.
    """

    kernel: Kernel
    store: ReleaseStore
    owner: OwnerEngine | None
    principal: str
    settings: dict[str, float] = field(default_factory=dict)
    running: set[duckdb.DuckDBPyConnection] = field(default_factory=set)
    _public: dict[tuple[int, str], pa.Table] = field(default_factory=dict)
    _empty: list[duckdb.DuckDBPyConnection] = field(default_factory=list)

    def close(self) -> None:
        """Lets go of the ledger and of what was kept."""
        self.kernel.close()
        while self._empty:
            self._empty.pop().close()

    def private(
        self, table: str, pos: t.Pos, contracts: Mapping[str, TableContract]
    ) -> TableContract:
        """Returns the contract of a private table; refuses what no private query can be of."""
        contract = contracts.get(table.lower())
        free = "leave out STRATIFY BY and WITH DIFFERENTIAL_PRIVACY"
        if contract is None and table.lower() in self.released_names():
            raise Refused.at(pos, f'"{table}" is released: plain SQL on it is free', free)
        if contract is None:
            known = ", ".join(c.table for c in contracts.values()) or "none"
            raise Refused.at(pos, f'there is no table "{table}"', f"tables of this vault: {known}")
        if contract.public:
            raise Refused.at(pos, f'"{table}" is public: plain SQL on it is free', free)
        if contract.unit is None:
            hint = f"the owner runs ALTER TABLE {table} ADD PRIVACY_KEY (…), then … SET PU"
            if contract.links:
                hint = "the owner links it straight to the key of the unit's own table"
            raise Refused.at(pos, f'nobody declared whom "{table}" protects', hint)
        return contract

    def budget(self, contract: TableContract, pos: t.Pos) -> Budget:
        """Returns the budget that a table's unit has."""
        return self.account(contract, pos).budget

    def account(self, contract: TableContract, pos: t.Pos) -> Account:
        """Returns what a table's unit may spend and has spent; refuses where it has no budget."""
        unit = contract.unit.table if contract.unit else contract.table
        account = self.kernel.ledger.account(unit)
        if account is None:
            raise Refused.at(
                pos,
                f'no budget is declared for "{unit}"',
                f"the owner runs ALTER TABLE {unit} SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9)",
            )
        return account

    def left(self, contract: TableContract, sources: Iterable[Relation]) -> Price:
        """Returns what may still be charged for such rows: to the table, and to who asks."""
        accounts = self.kernel.accounts(contract, self.principal, sources)
        return min((account.left for account in accounts), key=lambda price: price.nano)

    def weights(self, table: str) -> pa.Table | None:
        """Returns the rows of a public table of weights; None where none is named."""
        return self.kernel.public(table) if table else None

    def released_names(self) -> frozenset[str]:
        """Returns the names of what was released, in lower case."""
        return frozenset(name.lower() for name in self.store.tables())

    def released(
        self,
        text: str,
        tables: Sequence[str],
        contracts: Mapping[str, TableContract],
        parameters: Parameters = None,
    ) -> Result:
        """Runs plain SQL where only released and public tables are: free, and exact on those."""
        named = {table.lower() for table in tables}
        public = [c.table for c in contracts.values() if c.public and c.table.lower() in named]
        if missing := named - self.released_names() - {p.lower() for p in public}:
            table = sorted(missing)[0]
            raise Refused.at(
                t.Pos(), f'there is no released or public table "{table}"', self.known()
            )
        rows = self.public(public, contracts)
        return Result(self.free(rows, text, parameters))

    def free(self, rows: Mapping[str, pa.Table], text: str, parameters: Parameters) -> pa.Table:
        """Runs plain SQL on released tables and these rows."""
        engine = self.store.connect_read_only()
        return free_sql.query(engine, rows, text, parameters, self.running)

    def subquery(
        self, part: t.Subquery | t.InQuery, contracts: Mapping[str, TableContract]
    ) -> pa.Table:
        """Runs a subquery over released and public tables alone; see `released`."""
        named = tables(part.query)
        if not all(name.lower() in contracts and contracts[name.lower()].public for name in named):
            found = self.released(part.text, named, contracts, part.parameters).table
            return pa.table({}) if found is None else found
        return self.lookup(self.public(named, contracts), part.text, part.parameters)

    def lookup(self, rows: Mapping[str, pa.Table], text: str, parameters: Parameters) -> pa.Table:
        """Runs a query, cut out of a larger one, on these rows alone, in an engine that is kept."""
        if not self._empty:
            self._empty.append(empty_engine())
        return free_sql.query(self._empty[0].cursor(), rows, text, parameters, self.running)

    def public(
        self, names: Iterable[str], contracts: Mapping[str, TableContract]
    ) -> dict[str, pa.Table]:
        """Returns the rows of public tables, small ones kept as long as nothing is written."""
        found = {}
        for name in names:
            if (contract := contracts.get(name.lower())) is None:
                raise Refused.at(t.Pos(), f'there is no public table "{name}"', self.known())
            key = (contract.snapshot, contract.table)
            rows = self._public.get(key)
            if rows is None:
                rows = self.kernel.public(contract.table)
                if any(snapshot != contract.snapshot for snapshot, _ in self._public):
                    self._public.clear()
                if sum(kept.nbytes for kept in (*self._public.values(), rows)) <= KEPT_BYTES:
                    self._public[key] = rows
            found[contract.table] = rows
        return found

    def known(self) -> str:
        """Says, for a hint, which tables there are."""
        return "SHOW PRIVACY TABLES lists them; released: " + (
            ", ".join(self.store.tables()) or "none so far"
        )

    def contracts(self) -> dict[str, TableContract]:
        """Returns what is declared of every table, by lower-case name, as the vault is now."""
        self.settle()
        return self.kernel.contracts()

    def settle(self) -> None:
        """Lets the vault go after an owner's writing, and verifies what was declared anew.

        A table that was dropped takes its declarations with it: another one of its name is nobody's
        until its owner says whose. CREATE OR REPLACE keeps them. What was spent stays spent.
        """
        if self.owner is not None and self.owner.release():
            there = self.kernel.contracts()
            for table, body in self.kernel.ledger.declared()[1].items():
                if table not in there and body != UNDECLARED:
                    self.kernel.ledger.declare(table, self.principal, **UNDECLARED)
            self.kernel.verify()

    def needs_owner(self, doing: str, pos: t.Pos) -> None:
        """Raises PermissionDenied unless it is an owner who asks."""
        if self.owner is None:
            hint = 'connect with role="owner" (sqlpriv shell VAULT --role owner)'
            raise PermissionDenied.at(pos, f"only an owner can {doing}", hint)

    def exactly(self, text: str, parameters: Parameters, tables: Sequence[str] = ()) -> Result:
        """Runs plain SQL for the owner: on the vault, or on released tables if all are that."""
        assert self.owner is not None
        released = self.released_names()
        if tables and all(table.lower() in released for table in tables):
            return self.released(text, tables, self.contracts(), parameters)
        table = self.owner.run(text, parameters)
        return Result(table, exact=table is not None)
