"""What was declared, paid and released: a store that only grows (store.py), in a SQLite file
(file.py) or in PostgreSQL (database.py).

* Nothing is undone. Triggers refuse UPDATE, DELETE and REPLACE; what was spent is the sum of the
  charges (running_sums.py), never a counter in the store that could disagree with them.
* Nothing is sold twice. What was spent is read and the charge committed in one transaction of the
  kind IMMEDIATE, of which there is one at a time for all processes.
* Nothing is guessed. A record of an unknown kind is refused.
* Nobody outspends the table's budget, nor a ceiling of their own under it, for any unit: see
  `charged_units`.

Not covered: whoever may write the files can put back both, or delete both (README.md).
"""

import json
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlpriv import errors
from sqlpriv.kernel.ledger.file import LedgerFile
from sqlpriv.kernel.ledger.pointer import mark_beside, pointer_of
from sqlpriv.kernel.ledger.running_sums import RunningSums
from sqlpriv.kernel.ledger.store import Store, insert, now
from sqlpriv.kernel.proof.charged_units import UnitFilter, largest_sum, tell_too_many_points
from sqlpriv.kernel.terms.budget import KINDS, MAX_NANO, NANO, Budget, Price, Rho, epsilon_of
from sqlpriv.kernel.terms.contract import UNDECLARED, Declared


class Booking(NamedTuple):
    """What a charge concerns: a snapshot, and in it some units (see `charged_units`)."""

    snapshot: int | None = None
    units: UnitFilter = MappingProxyType({})


EVERYBODY = Booking()


class Account(NamedTuple):
    """A budget or ceiling in force, the number of charges, and the most that any unit has lost: in
    this period, and `in_all` periods. `rest` (nano) is what the limit over all periods together
    leaves. `sums` are the sums of charges from which all this was read."""

    budget: Budget
    charges: int
    spent: Price
    keys_spent: int
    in_all: Price
    rest: int
    sums: RunningSums

    @property
    def left(self) -> Price:
        """The budget less what was spent, never below zero."""
        return type(self.spent)(max(0, min(self.budget.total.nano - self.spent.nano, self.rest)))


class Snapshot(NamedTuple):
    """A state of the vault, its 64-bit hash key and what was verified of its rows."""

    id: int
    hash_key: int
    facts: dict[str, Any] | None


class Sealed(NamedTuple):
    """A noised answer, as stored, to the query of that hash; `id` is 0 until it is sealed."""

    query_hash: str
    price: Price
    sigma: float
    payload: bytes
    id: int = 0


class Ledger:
    """The records of an open store; threads may share it.

    Args:
        path: The file, made where there is none; or a pointer to a ledger in PostgreSQL.

    All raise LedgerError for a store that is damaged or not ours, OperationalError for a busy one.
    """

    def __init__(self, path: Path | str) -> None:
        self.store = _open_store(Path(path))
        self.begin, self.close = self.store.begin, self.store.close
        self._sums = RunningSums()
        self._declared: tuple[int, int, dict[str, Declared]] = (0, 0, {})

    def declare(self, table: str, principal: str, **changes: Any) -> int:
        """Appends a table's latest declaration with some fields (see `UNDECLARED`) changed.

        No answer depends on the field `grants`. A record that changes nothing else stands under the
        number that counted before it (`as_of`), so what was sealed stays good."""
        table = table.lower()
        with self.begin("IMMEDIATE") as db:
            last, bodies = self.declarations()
            body = {**bodies.get(table, UNDECLARED), **changes}
            if body.keys() != UNDECLARED.keys():
                raise errors.LedgerError("a declaration has no such field")
            return insert(
                db,
                "declaration",
                principal=principal,
                subject=table,
                kind="contract",
                body=json.dumps(body | ({"as_of": last} if changes.keys() == {"grants"} else {})),
            )

    def declarations(self) -> tuple[int, dict[str, Declared]]:
        """Returns the number of the last declaration that answers can depend on, and the bodies in
        force by lower-case table, which nobody changes.

        Claim: they are those of all declarations that the transaction sees. Declarations are
        numbered upwards in the order in which their transactions end (`Store`), and keep their
        content, so those above the largest number that was read are all that is new. What a
        transaction that writes has read may be undone, and is not kept. Long lists are long texts:
        to read them took 20 ms of each statement on TPC-H at scale factor 1.
        """
        with self.begin() as db:
            newest, last, bodies = self._declared
            for number, subject, kind, text in db.execute(
                "SELECT id, subject, kind, body FROM declaration WHERE id > ? AND id IN"
                " (SELECT max(id) FROM declaration GROUP BY subject, kind) ORDER BY id",
                (newest,),
            ):
                body = {**UNDECLARED, **json.loads(text)}
                newest, last = number, max(last, body.pop("as_of", number))
                bodies = {**bodies, subject: body}
                if kind != "contract" or body.keys() != UNDECLARED.keys():
                    raise errors.LedgerError("the ledger holds a declaration of an unknown kind")
            self._declared = self._declared if self.store.writes else (newest, last, bodies)
            return last, bodies

    def set_budget(self, budget: Budget, principal: str, holder: str = "") -> None:
        """Appends the budget of a unit table, or somebody's ceiling under it: the latest counts.

        What was spent stays spent. Charges of another kind than the budget's are refused whenever
        the account is read, and prices of another kind whenever one is charged."""
        insert(
            self.store,
            "budget",
            budget.total,
            principal=principal,
            unit_table=budget.unit_table.lower(),
            holder=holder,
            delta=budget.delta,
            yocto=budget.keys,
            per=budget.per,
            until=budget.until,
            whole=budget.whole,
        )

    def account(
        self, unit_table: str, holder: str = "", at: Booking = EVERYBODY, who: str = ""
    ) -> Account | None:
        """Returns what a unit's table may spend, or a principal under it, and has spent.

        Spent is the most that any unit lost, of those that a charge at `at` would concern. None
        where there is no such budget or ceiling. Of the ceiling `*`, it is what `who` has spent.
        """
        unit = unit_table.lower()
        with self.begin() as db:
            rows = db.execute(
                "SELECT kind, nano, delta, yocto, per, until, whole FROM standing"
                " WHERE unit_table = ? AND holder = ?",
                (unit, holder),
            )
            if (row := rows.fetchone()) is None:
                return None
            sums = self._sums.read_new(db, keep=not self.store.holds_new_charge)
            spending = sums.of(unit, who if holder == "*" and who else holder)
            if spending.kinds - {row[0]}:
                raise errors.LedgerError(f"charges of {unit} are not of the kind {row[0]}")
            kind, today = KINDS[row[0]], max(sums.day, now().date().isoformat())
            budget = Budget(unit, kind(row[1]), *row[2:])
            days = dict.fromkeys((budget.period_start(today), ""))
            losses = [kind(_most_lost(spending.since(day), sums, unit, at)) for day in days]
            whole = 0 if "" < budget.until < today else budget.whole or MAX_NANO
            return Account(
                budget=budget,
                charges=spending.charges,
                spent=losses[0],
                keys_spent=spending.yocto,
                in_all=losses[-1],
                rest=whole - losses[-1].nano,
                sums=sums,
            )

    def accounts(self, unit_table: str, who: str, at: Booking = EVERYBODY) -> list[Account]:
        """Returns all that a charge of that principal has to fit: the budget, and their ceiling,
        in whatever case its holder was written: `FOR 'Ada'` binds ada. `FOR '*'` binds everybody
        who has none, each by what they spent themselves."""
        mine = [h for h in self.holders(unit_table) if h and h.lower() == who.lower()] or ["*"]
        return [x for h in ("", *mine) if (x := self.account(unit_table, h, at, who))]

    def holders(self, unit_table: str) -> list[str]:
        """Returns whose budget and ceilings are in force, '' for the table's own first."""
        with self.begin() as db:
            return [
                holder
                for (holder,) in db.execute(
                    "SELECT holder FROM standing WHERE unit_table = ? ORDER BY holder",
                    (unit_table.lower(),),
                )
            ]

    def snapshot(self, fingerprint: str) -> Snapshot:
        """Returns the latest snapshot if it is of that fingerprint, else a new one."""
        with self.begin() as db:
            row = db.execute(_LATEST_SNAPSHOT, (fingerprint,)).fetchone()
        if row is None:
            with self.begin("IMMEDIATE") as db:
                row = db.execute(_LATEST_SNAPSHOT, (fingerprint,)).fetchone()
                if row is None:  # no other process was faster
                    key = secrets.token_bytes(8)
                    row = insert(db, "snapshot", fingerprint=fingerprint, hash_key=key), key, None
        return Snapshot(row[0], int.from_bytes(row[1]), json.loads(row[2] or "null"))

    def record_facts(self, snapshot_id: int, facts: dict[str, Any]) -> None:
        """Appends what was found true of a snapshot's rows; the latest record counts."""
        insert(self.store, "fact", snapshot_id=snapshot_id, body=json.dumps(facts))

    def begin_statement(self, principal: str, text: str) -> int:
        """Appends a statement that is to be charged or replayed; returns its number."""
        return insert(self.store, "statement", principal=principal, text=text)

    def charge(
        self,
        statement: int,
        unit: str,
        price: Price,
        whole: Price | None = None,
        at: Booking = EVERYBODY,
        yocto: int = 0,
    ) -> int:
        """Pays a price, durably and for good; returns the charge's number.

        Raises BudgetExhausted where less is left, to the table or to who asks, than the `whole`
        statement costs (by default, the price), or than the `yocto` of delta that it selects keys
        with, DeclarationError without a budget, LedgerError for a price of nothing or no sense.
        """
        unit, total = unit.lower(), whole or price
        with self.begin("IMMEDIATE") as db:
            rows = db.execute("SELECT principal FROM statement WHERE id = ?", (statement,))
            who = next((name for (name,) in rows), "")
            if not (accounts := self.accounts(unit, who, at)):
                raise errors.DeclarationError(f"{unit} has no PRIVACY BUDGET; nothing was read")
            for account in accounts:
                delta, whose = account.budget.delta, "" if account is accounts[0] else f" to {who}"
                if price.nano <= 0 or price.kind != account.spent.kind:
                    raise errors.LedgerError(f"{account.budget} cannot be charged {price}")
                if total.nano > account.left.nano:
                    period = account.budget.per and f" in this {account.budget.per}"
                    costs, left = _price_text(total, delta), _price_text(account.left, delta)
                    raise errors.BudgetExhausted(
                        f"costs {costs} but {left} is left{whose}{period}; nothing was read"
                    )
                if account.keys_spent + yocto > account.budget.keys:
                    raise errors.BudgetExhausted(
                        f"nothing is left of keys_delta{whose}: the selection was not made"
                    )
            sums = accounts[0].sums  # nobody else writes behind the lock
            too_many = tell_too_many_points([at.units, sums.points[unit, at.snapshot]])
            self.store.holds_new_charge = True  # which could still be undone: see running_sums.py
            number = insert(
                db,
                "charge",
                price,
                statement_id=statement,
                unit_table=unit,
                snapshot_id=at.snapshot,
                strata=json.dumps({} if too_many else dict(at.units)),
                yocto=yocto,
            )
            if number <= sums.last:  # no sum would find it
                raise errors.LedgerError("the ledger's charges are not numbered upwards any more")
            return number

    def seal(
        self, statement: int, snapshot: int, new: Sequence[tuple[int, Sealed]]
    ) -> list[Sealed]:
        """Stores noised answers, each under its charge, all or none; returns them numbered."""
        with self.begin("IMMEDIATE") as db:
            return [
                seal._replace(
                    id=insert(
                        db,
                        "seal",
                        seal.price,
                        charge_id=charge,
                        statement_id=statement,
                        snapshot_id=snapshot,
                        query_hash=seal.query_hash,
                        sigma=seal.sigma,
                        payload=seal.payload,
                    )
                )
                for charge, seal in new
            ]

    def find_seals(self, snapshot_id: int, query_hash: str, price: Price) -> list[Sealed]:
        """Returns the answers sealed at that price or a higher one of its kind, dearest first."""
        with self.begin() as db:
            return [
                Sealed(query_hash, type(price)(nano), *rest)
                for nano, *rest in db.execute(
                    "SELECT nano, sigma, payload, id FROM seal WHERE snapshot_id = ?"
                    " AND query_hash = ? AND kind = ? AND nano >= ? ORDER BY nano DESC, id",
                    (snapshot_id, query_hash, price.kind, price.nano),
                )
            ]

    def replay(self, statement_id: int, seal_ids: Sequence[int]) -> None:
        """Appends that a statement was answered from these seals, at no cost."""
        with self.begin("IMMEDIATE") as db:
            for seal_id in seal_ids:
                insert(db, "replay", seal_id=seal_id, statement_id=statement_id)


_LATEST_SNAPSHOT = "SELECT id, hash_key, facts FROM state WHERE fingerprint = ?"


def _most_lost(
    amounts: Mapping[int | None, Mapping[str, int]], sums: RunningSums, unit: str, at: Booking
) -> int:
    """Returns the most nano that a unit lost, of those that a charge at `at` would concern.

    Args:
        amounts: What was charged, by snapshot and text of the charged units' filter.
        sums: Of all charges, to the units of this table among others.
        unit: The unit's table, in lower case.
        at: What a charge would concern.
    """
    most = 0
    for snapshot, paid in amounts.items():
        inside = at.units if snapshot == at.snapshot else {}
        near = paid.keys() & sums.texts_near(unit, snapshot, inside) if inside else paid.keys()
        most += largest_sum([(sums.filters[text], paid[text]) for text in near], inside)
    return most


def _open_store(path: Path) -> Store:
    if not (url := pointer_of(path)):
        return LedgerFile(path)
    try:
        from sqlpriv.kernel.ledger.database import LedgerDatabase
    except ImportError:
        raise errors.OperationalError(
            "a ledger in PostgreSQL needs pip install 'sqlpriv[postgresql-ledger]'"
        ) from None
    return LedgerDatabase(url, mark_beside(path))


def _price_text(price: Price, delta: float) -> str:
    """Returns the exact amount, and what rho means as epsilon."""
    number = f"{price.nano // NANO}.{price.nano % NANO:09}".rstrip("0").rstrip(".")
    if not isinstance(price, Rho):
        return f"epsilon = {number}"
    return f"rho = {number} (epsilon = {epsilon_of(price, delta):.6g} at delta = {delta:g})"
