"""What was declared, what was paid and what was released: a durable record that only grows.

Claims, and why they hold (the SQLite file's own are in ledgerfile.py):

* Nothing is forgotten: a charge that `Ledger.charge` returned has been synced to the disk.
* Nothing is undone: no code updates or deletes, and the file would refuse it. What was spent is the
  sum of the charges, never a counter that could disagree with them.
* Nothing is sold twice: what was spent is read and the charge committed under one write lock.
* Nothing is guessed: a record of an unknown kind is refused.

Not covered: whoever may write the file can replace it by an older copy or delete it (README.md).
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlpriv.errors import BudgetExhausted, DeclarationError, LedgerError
from sqlpriv.kernel.budget import Budget, Kind, Price, amount, epsilon_shown, kind_of
from sqlpriv.kernel.ledgerfile import LedgerFile, insert

KINDS = frozenset({"key", "unit", "public", "link", "unlink", "domain", "bound"})
"""Kinds of declaration. A kind's meaning never changes; a new meaning takes a new kind."""


@dataclass(frozen=True)
class Record:
    """One declaration by the owner; `subject` is a lower-case table name, `body` was JSON."""

    id: int
    at: str
    principal: str
    subject: str
    kind: str
    body: dict[str, Any]


@dataclass(frozen=True)
class Snapshot:
    """A state of the vault. `hash_key` (64 bits) decides which rows of a unit are kept in it;
    `facts` is what `record_facts` stored for it last, or None."""

    id: int
    fingerprint: str
    hash_key: int
    facts: dict[str, Any] | None


@dataclass(frozen=True)
class Sealed:
    """A noised answer, as stored, to the query of that hash; `id` is 0 until it is sealed."""

    query_hash: str
    price: Price
    sigma: float
    payload: bytes
    id: int = 0


@dataclass(frozen=True)
class ReleaseRow:
    """A row of `SHOW PRIVACY RELEASES`; `id` is the seal's."""

    id: int
    at: str
    principal: str
    statement: str
    unit_table: str
    price: Price
    replays: int


class Ledger:
    """An open ledger; may be shared by threads, and raises what `LedgerFile` does."""

    def __init__(self, path: Path | str) -> None:
        self._file = LedgerFile(Path(path))

    def close(self) -> None:
        """Closes the file; the ledger is of no use after."""
        self._file.close()

    def append(self, subject: str, kind: str, body: dict[str, Any], principal: str) -> int:
        """Appends a declaration about a table; the contract is the fold of all of them."""
        if kind not in KINDS:
            raise LedgerError(f"{kind!r} is no kind of declaration")
        with self._file.writing() as db:
            row = {"principal": principal, "subject": subject.lower(), "kind": kind}
            return insert(db, "declaration", **row, body=json.dumps(body))

    def declarations(self) -> list[Record]:
        """Returns every declaration, oldest first; LedgerError if one is of an unknown kind."""
        with self._file.reading() as db:
            rows = db.execute("SELECT * FROM declaration ORDER BY id").fetchall()
            if unknown := sorted({row[4] for row in rows} - KINDS):
                raise LedgerError(f"the ledger holds declarations of unknown kind: {unknown}")
            return [Record(*(*row[:5], json.loads(row[5]))) for row in rows]

    def set_budget(self, budget: Budget, principal: str) -> None:
        """Replaces the budget of a unit table; what was spent stays spent.

        Raises DeclarationError where its kind would change after something was charged, because
        amounts of two kinds do not add up.
        """
        unit, kind = budget.unit_table.lower(), budget.kind
        with self._file.writing() as db:
            if (old := _account(db, unit)) and old[1].nano and old[0].kind is not kind:
                raise DeclarationError(
                    f"{unit} has spent {_shown(old[1], old[0].delta)}: a budget that was drawn on"
                    " stays zCDP (with a delta) or pure (without), as it is"
                )
            paid = _columns(budget.total)
            insert(db, "budget", principal=principal, unit_table=unit, **paid, delta=budget.delta)

    def budget(self, unit_table: str) -> Budget | None:
        """Returns the latest budget of a unit table, None where none was declared."""
        with self._file.reading() as db:
            account = _account(db, unit_table.lower())
            return account[0] if account else None

    def spent(self, unit_table: str) -> Price:
        """Returns the sum of all charges; DeclarationError where there is no budget."""
        with self._file.reading() as db:
            return _open_account(db, unit_table)[1]

    def left(self, unit_table: str) -> Price:
        """Returns the budget less what was spent, never below zero; see `spent`."""
        with self._file.reading() as db:
            return _left(*_open_account(db, unit_table))

    def charges(self, unit_table: str) -> int:
        """Returns how many charges there were."""
        sql = "SELECT count(*) FROM charge WHERE unit_table = ?"
        with self._file.reading() as db:
            return int(db.execute(sql, (unit_table.lower(),)).fetchone()[0])

    def snapshot(self, fingerprint: str) -> Snapshot:
        """Returns the latest snapshot if it is of that fingerprint, else a new one."""
        with self._file.reading() as db:
            latest = _latest_snapshot(db)
        if latest and latest.fingerprint == fingerprint:
            return latest
        with self._file.writing() as db:  # looked up again: another process may have been faster
            latest = _latest_snapshot(db)
            if latest and latest.fingerprint == fingerprint:
                return latest
            key = secrets.token_bytes(8)
            number = insert(db, "snapshot", fingerprint=fingerprint, hash_key=key)
            return Snapshot(number, fingerprint, int.from_bytes(key), None)

    def record_facts(self, snapshot_id: int, facts: dict[str, Any]) -> None:
        """Appends what was found true of a snapshot's rows; the latest record counts."""
        with self._file.writing() as db:
            insert(db, "fact", snapshot_id=snapshot_id, body=json.dumps(facts))

    def begin_statement(self, principal: str, text: str) -> int:
        """Appends a statement that is to be charged or replayed; returns its number."""
        with self._file.writing() as db:
            return insert(db, "statement", principal=principal, text=text)

    def charge(self, statement_id: int, unit_table: str, price: Price) -> int:
        """Pays a price, durably and for good; returns the charge's number.

        Raises:
            BudgetExhausted: The price exceeds what is left.
            LedgerError: The price is zero or not of the budget's kind.
            DeclarationError: The table has no budget.
        """
        with self._file.writing() as db:
            budget, spent = _open_account(db, unit_table)
            if price.nano <= 0 or kind_of(price) is not budget.kind:
                raise LedgerError(f"a {budget.kind.value} budget cannot be charged {price}")
            if price.nano > (left := _left(budget, spent)).nano:
                costs, rest = _shown(price, budget.delta), _shown(left, budget.delta)
                raise BudgetExhausted(f"costs {costs} but {rest} is left; nothing was read")
            unit = budget.unit_table
            paid = _columns(price)
            return insert(db, "charge", statement_id=statement_id, unit_table=unit, **paid)

    def seal(
        self, charge_id: int, statement_id: int, snapshot_id: int, answers: Sequence[Sealed]
    ) -> tuple[int, ...]:
        """Stores noised answers under their charge, all or none; returns their numbers."""
        under = {"charge_id": charge_id, "statement_id": statement_id, "snapshot_id": snapshot_id}
        rows = [
            {
                "query_hash": a.query_hash,
                **_columns(a.price),
                "sigma": a.sigma,
                "payload": a.payload,
            }
            for a in answers
        ]
        with self._file.writing() as db:
            return tuple(insert(db, "seal", **under, **row) for row in rows)

    def find_seal(self, snapshot_id: int, query_hash: str, price: Price) -> Sealed | None:
        """Returns the dearest answer sealed at that price or a higher one of its kind, or None."""
        with self._file.reading() as db:
            row = db.execute(
                "SELECT kind, nano, sigma, payload, id FROM seal WHERE snapshot_id = ? AND"
                " query_hash = ? AND kind = ? AND nano >= ? ORDER BY nano DESC, id LIMIT 1",
                (snapshot_id, query_hash, kind_of(price).value, price.nano),
            ).fetchone()
            return Sealed(query_hash, amount(Kind(row[0]), row[1]), *row[2:]) if row else None

    def replay(self, statement_id: int, seal_ids: Sequence[int]) -> None:
        """Appends that a statement was answered from these seals, at no cost."""
        with self._file.writing() as db:
            for seal_id in seal_ids:
                insert(db, "replay", seal_id=seal_id, statement_id=statement_id)

    def releases(self) -> list[ReleaseRow]:
        """Returns every sealed answer, oldest first."""
        with self._file.reading() as db:
            rows = db.execute(
                "SELECT s.id, s.at, t.principal, t.text, c.unit_table, s.kind, s.nano,"
                " (SELECT count(*) FROM replay r WHERE r.seal_id = s.id) FROM seal s"
                " JOIN statement t ON t.id = s.statement_id JOIN charge c ON c.id = s.charge_id"
                " ORDER BY s.id"
            )
            return [ReleaseRow(*(*r[:5], amount(Kind(r[5]), r[6]), r[7])) for r in rows]


def _account(db: sqlite3.Connection, unit: str) -> tuple[Budget, Price] | None:
    """Returns the latest budget of a unit table and the sum of its charges."""
    sql = "SELECT kind, nano, delta FROM budget WHERE unit_table = ? ORDER BY id DESC LIMIT 1"
    if (row := db.execute(sql, (unit,)).fetchone()) is None:
        return None
    budget = Budget(unit, amount(Kind(row[0]), row[1]), row[2])
    sql = "SELECT kind, sum(nano) FROM charge WHERE unit_table = ? GROUP BY kind"
    spent = dict(db.execute(sql, (unit,)).fetchall())
    if spent.keys() - {budget.kind.value}:
        raise LedgerError(f"the charges of {unit} are not of its budget's kind")
    return budget, amount(budget.kind, spent.get(budget.kind.value, 0))


def _open_account(db: sqlite3.Connection, unit_table: str) -> tuple[Budget, Price]:
    if (account := _account(db, unit_table.lower())) is None:
        raise DeclarationError(f"{unit_table} has no PRIVACY BUDGET; nothing was read")
    return account


def _left(budget: Budget, spent: Price) -> Price:
    return amount(budget.kind, max(0, budget.total.nano - spent.nano))


def _latest_snapshot(db: sqlite3.Connection) -> Snapshot | None:
    row = db.execute(
        "SELECT id, fingerprint, hash_key, (SELECT body FROM fact WHERE snapshot_id = snapshot.id"
        " ORDER BY fact.id DESC LIMIT 1) FROM snapshot ORDER BY id DESC LIMIT 1"
    ).fetchone()
    return row and Snapshot(
        row[0], row[1], int.from_bytes(row[2]), json.loads(row[3]) if row[3] else None
    )


def _columns(price: Price) -> dict[str, Any]:
    return {"kind": kind_of(price).value, "nano": price.nano}


def _shown(price: Price, delta: float) -> str:
    """Returns the exact amount in words, and what rho means as epsilon."""
    number = f"{Decimal(price.nano).scaleb(-9).normalize():f}"
    if kind_of(price) is Kind.PURE:
        return f"epsilon = {number}"
    return f"rho = {number} (epsilon = {epsilon_shown(price, delta):.6g} at delta = {delta:g})"
