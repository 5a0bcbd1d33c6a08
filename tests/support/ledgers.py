"""What tests of the ledger build on: payments, sealed answers, other processes."""

from __future__ import annotations

from sqlpriv.kernel.ledger.records import Ledger, Sealed
from sqlpriv.kernel.terms.budget import Price, Rho

TABLES = (
    "declaration",
    "budget",
    "snapshot",
    "fact",
    "statement",
    "charge",
    "seal",
    "replay",
)
"""What is appended to, and never changed."""


def pay(ledger: Ledger, nano: int, unit_table: str = "people") -> int:
    return ledger.charge(ledger.begin_statement("ann", "SELECT 1"), unit_table, Rho(nano))


def sealed(ledger: Ledger, snapshot_id: int, query: str, price: Price) -> int:
    statement = ledger.begin_statement("ann", "SELECT 1")
    charge = ledger.charge(statement, "people", price)
    answer = Sealed(query, price, 2.5, query.encode())
    return ledger.seal(statement, snapshot_id, [(charge, answer)])[0].id
