"""Contracts and budgets that were read before. They follow from the vault and the ledger."""

from __future__ import annotations

from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.access.table_grants import usable_contracts

_LAST_RECORDS = "SELECT " + ", ".join(
    f"(SELECT coalesce(max(id), 0) FROM {table})"
    for table in ("declaration", "budget", "snapshot", "fact")
)
"""Records are numbered upwards and never changed: the last ones tell all of them."""
State = tuple[str, tuple[int, ...]]


class KeptContracts:
    """The contracts of one vault, as they were read last.

    It is a matter of speed alone: the gate compares a plan's contracts with those of the vault that
    it has opened, and reads nothing where they differ.
    """

    def __init__(self) -> None:
        self._kept: tuple[State, dict[str, TableContract]] | None = None
        self._usable: tuple[dict[str, TableContract], str, dict[str, TableContract]] | None = None

    def contracts_of(self, kernel: Kernel) -> dict[str, TableContract]:
        """Returns `Kernel.contracts`: the same object while neither the vault was written nor a
        declaration, budget or fact added. They are kept under the state before they were read: what
        is added meanwhile has them read anew."""
        kept, state = self._kept, _state_of(kernel)
        if kept is not None and kept[0] == state:
            return kept[1]
        # a copy: plans are kept by the object, and the kernel returns its own again where a budget
        # alone was declared
        self._kept = state, dict(kernel.contracts())
        return self._kept[1]

    def usable_contracts_of(self, kernel: Kernel, principal: str) -> dict[str, TableContract]:
        """Returns those of `contracts_of` that somebody may use; the same object while that is."""
        contracts = self.contracts_of(kernel)
        usable = self._usable
        if usable is None or usable[0] is not contracts or usable[1] != principal:
            usable = contracts, principal, usable_contracts(contracts, principal)
            self._usable = usable
        return usable[2]


class KeptBudgets:
    """The budgets in force, as they were read last: what was spent is no part of them.

    Planning needs a budget's kind and delta. To read its account adds up what was charged, which
    takes longer the more filters the charges have; the gate does that before each charge.
    """

    def __init__(self) -> None:
        self._kept: tuple[int | None, dict[str, Budget | None]] = (None, {})

    def budget_of(self, ledger: Ledger, payer: str) -> Budget | None:
        """Returns the budget of `Ledger.account`; read anew once a budget was declared."""
        with ledger.begin() as db:
            (last,) = db.execute("SELECT max(id) FROM budget").fetchone()
            if last != self._kept[0]:
                self._kept = last, {}
            budgets = self._kept[1]
            if payer not in budgets:
                account = ledger.account(payer)
                budgets[payer] = None if account is None else account.budget
            return budgets[payer]


def has_facts(ledger: Ledger, snapshot: int) -> bool:
    """Returns whether the ledger has what was verified of a snapshot, whatever it found."""
    with ledger.begin() as db:
        sql = "SELECT count(*) FROM fact WHERE snapshot_id = ?"
        return bool(db.execute(sql, (snapshot,)).fetchone()[0])


def _state_of(kernel: Kernel) -> State:
    with kernel.ledger.begin() as db:
        return kernel.fingerprint(), tuple(db.execute(_LAST_RECORDS).fetchone())
