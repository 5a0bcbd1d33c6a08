"""What was declared, paid and released: one SQLite file that only grows.

* Nothing is forgotten. WAL with synchronous=FULL syncs before COMMIT returns (sqlite.org/pragma):
  a charge that `Ledger.charge` returned survives the process and the machine.
* Nothing is undone. Triggers refuse UPDATE, DELETE and REPLACE on every table; what was spent is
  the sum of the charges, never a counter that could disagree with them.
* Nothing is sold twice. What was spent is read and the charge committed under BEGIN IMMEDIATE,
  SQLite's one write lock for all processes.
* Nothing is guessed. A record of an unknown kind is refused, as is a file whose schema is not, to
  the letter, the one below. A file is created whole, by a link, so that no crash leaves an empty
  one that reads as an untouched budget.

Not covered: whoever may write the file can replace it by an older copy or delete it (README.md).
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlpriv import errors
from sqlpriv.kernel.budget import MAX_NANO, Budget, Kind, Price, Rho, amount, epsilon_shown, kind_of

VERSION = 1
BUSY_SECONDS = 30.0
# Kinds of declaration. A kind's meaning never changes; a new meaning takes a new kind.
KINDS = frozenset({"key", "unit", "public", "link", "unlink", "domain", "bound"})

_TABLES = {  # every column is NOT NULL
    "declaration": "principal TEXT, subject TEXT, kind TEXT, body TEXT",
    "budget": "principal TEXT, unit_table TEXT, {price}, delta REAL",
    "snapshot": "fingerprint TEXT, hash_key BLOB",
    "fact": "snapshot_id {of} snapshot, body TEXT",
    "statement": "principal TEXT, text TEXT",
    "charge": "statement_id {of} statement, unit_table TEXT, {price}",
    "seal": "charge_id {of} charge, statement_id {of} statement, snapshot_id {of} snapshot,"
    " query_hash TEXT, {price}, sigma REAL, payload BLOB",
    "replay": "seal_id {of} seal, statement_id {of} statement",
}
_PRICE = (
    "kind TEXT NOT NULL CHECK (kind IN ('zcdp', 'pure')),"
    f" nano INTEGER CHECK (typeof(nano) = 'integer' AND nano BETWEEN 1 AND {MAX_NANO})"
)


def _schema() -> Iterator[str]:
    for t, columns in _TABLES.items():
        filled = columns.replace(",", " NOT NULL,").format(price=_PRICE, of="INTEGER REFERENCES")
        yield f"CREATE TABLE {t} (id INTEGER PRIMARY KEY, at TEXT NOT NULL, {filled} NOT NULL)"
        for event in (  # NEW.id is -1 where SQLite is to choose it; a REPLACE must name it
            f"update BEFORE UPDATE ON {t}",
            f"delete BEFORE DELETE ON {t}",
            f"replace BEFORE INSERT ON {t} WHEN EXISTS (SELECT 1 FROM {t} WHERE id = NEW.id)",
        ):
            yield f"CREATE TRIGGER {t}_{event} BEGIN SELECT RAISE(ABORT, 'append-only'); END"
    yield "CREATE INDEX seal_query ON seal (snapshot_id, query_hash)"
    yield "CREATE INDEX replay_seal ON replay (seal_id)"


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
    """A state of the vault; `hash_key` (64 bits) decides which rows of a unit are kept in it."""

    id: int
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
    """An open ledger, made for its owner alone (0600) where there is none.

    Threads may share it; a forked child opens its own. Every method raises LedgerError where the
    file is damaged or of another make, OperationalError where SQLite cannot work just now.
    """

    def __init__(self, path: Path | str) -> None:
        path = Path(path)
        with _translated():
            if not path.exists():
                _create(path)
            self._lock, self._db = threading.Lock(), _connect(path)

    def close(self) -> None:
        """Closes the file; the ledger is of no use after."""
        self._db.close()

    @contextmanager
    def _begin(self, mode: str = "") -> Iterator[sqlite3.Connection]:
        """Runs the block in one transaction: committed and synced at its end, or undone."""
        with _translated(), self._lock:
            self._db.execute(f"BEGIN {mode}")
            try:
                yield self._db
                self._db.execute("COMMIT")
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def append(self, subject: str, kind: str, body: dict[str, Any], principal: str) -> int:
        """Appends a declaration about a table; the contract is the fold of all of them."""
        if kind not in KINDS:
            raise errors.LedgerError(f"{kind!r} is no kind of declaration")
        row: dict[str, Any] = {"subject": subject.lower(), "kind": kind, "body": json.dumps(body)}
        with self._begin("IMMEDIATE") as db:
            return insert(db, "declaration", principal=principal, **row)

    def declarations(self) -> list[Record]:
        """Returns every declaration, oldest first; LedgerError if one is of an unknown kind."""
        with self._begin() as db:
            rows = db.execute("SELECT * FROM declaration ORDER BY id").fetchall()
            if unknown := sorted({row[4] for row in rows} - KINDS):
                raise errors.LedgerError(
                    f"the ledger's declarations are of unknown kind: {unknown}"
                )
            return [Record(*(*row[:5], json.loads(row[5]))) for row in rows]

    def set_budget(self, budget: Budget, principal: str) -> None:
        """Replaces the budget of a unit table; what was spent stays spent.

        Raises DeclarationError where that is of the other kind: the two do not add up.
        """
        unit, row = budget.unit_table.lower(), {"principal": principal, "delta": budget.delta}
        with self._begin("IMMEDIATE") as db:
            old = _budget(db, unit)
            if old and old.kind is not budget.kind and _account(db, unit)[1].nano:
                kept = "zCDP, with a delta" if old.kind is Kind.ZCDP else "pure, without a delta"
                raise errors.DeclarationError(f"the budget of {unit} was drawn on: it stays {kept}")
            insert(db, "budget", budget.total, unit_table=unit, **row)

    def budget(self, unit_table: str) -> Budget | None:
        """Returns the latest budget of a unit table, None where none was declared."""
        with self._begin() as db:
            return _budget(db, unit_table)

    def spent(self, unit_table: str) -> Price:
        """Returns the sum of all charges; DeclarationError where there is no budget."""
        with self._begin() as db:
            return _account(db, unit_table)[1]

    def left(self, unit_table: str) -> Price:
        """Returns the budget less what was spent, never below zero; see `spent`."""
        with self._begin() as db:
            return _account(db, unit_table)[2]

    def charges(self, unit_table: str) -> int:
        """Returns how many charges there were."""
        sql = "SELECT count(*) FROM charge WHERE unit_table = ?"
        with self._begin() as db:
            return int(db.execute(sql, (unit_table.lower(),)).fetchone()[0])

    def snapshot(self, fingerprint: str) -> Snapshot:
        """Returns the latest snapshot if it is of that fingerprint, else a new one."""
        sql = (
            "SELECT id, hash_key, (SELECT body FROM fact WHERE snapshot_id = s.id ORDER BY id DESC"
            " LIMIT 1), fingerprint FROM snapshot s ORDER BY id DESC LIMIT 1"
        )
        with self._begin("IMMEDIATE") as db:
            row = db.execute(sql).fetchone()
            if row is None or row[3] != fingerprint:
                key = secrets.token_bytes(8)
                number = insert(db, "snapshot", fingerprint=fingerprint, hash_key=key)
                row = (number, key, None)
            return Snapshot(row[0], int.from_bytes(row[1]), json.loads(row[2] or "null"))

    def record_facts(self, snapshot_id: int, facts: dict[str, Any]) -> None:
        """Appends what was found true of a snapshot's rows; the latest record counts."""
        with self._begin("IMMEDIATE") as db:
            insert(db, "fact", snapshot_id=snapshot_id, body=json.dumps(facts))

    def begin_statement(self, principal: str, text: str) -> int:
        """Appends a statement that is to be charged or replayed; returns its number."""
        with self._begin("IMMEDIATE") as db:
            return insert(db, "statement", principal=principal, text=text)

    def charge(self, statement_id: int, unit_table: str, price: Price) -> int:
        """Pays a price, durably and for good; returns the charge's number.

        Raises BudgetExhausted where less is left, DeclarationError where there is no budget, and
        LedgerError for a price of nothing or of the other kind.
        """
        with self._begin("IMMEDIATE") as db:
            budget, _, left = _account(db, unit_table)
            if price.nano <= 0 or kind_of(price) is not budget.kind:
                raise errors.LedgerError(f"a {budget.kind.value} budget cannot be charged {price}")
            if price.nano > left.nano:
                costs, rest = _shown(price, budget.delta), _shown(left, budget.delta)
                raise errors.BudgetExhausted(f"costs {costs} but {rest} is left; nothing was read")
            unit = budget.unit_table
            return insert(db, "charge", price, statement_id=statement_id, unit_table=unit)

    def seal(
        self, charge_id: int, statement_id: int, snapshot_id: int, answers: Sequence[Sealed]
    ) -> tuple[int, ...]:
        """Stores noised answers under their charge, all or none; returns their numbers."""
        of = {"charge_id": charge_id, "statement_id": statement_id, "snapshot_id": snapshot_id}
        with self._begin("IMMEDIATE") as db:
            numbers = []
            for a in answers:
                row = {"query_hash": a.query_hash, "sigma": a.sigma, "payload": a.payload}
                numbers.append(insert(db, "seal", a.price, **of, **row))
            return tuple(numbers)

    def find_seal(self, snapshot_id: int, query_hash: str, price: Price) -> Sealed | None:
        """Returns the dearest answer sealed at that price or a higher one of its kind, or None."""
        with self._begin() as db:
            row = db.execute(
                "SELECT kind, nano, sigma, payload, id FROM seal WHERE snapshot_id = ? AND"
                " query_hash = ? AND kind = ? AND nano >= ? ORDER BY nano DESC, id LIMIT 1",
                (snapshot_id, query_hash, kind_of(price).value, price.nano),
            ).fetchone()
            return Sealed(query_hash, amount(Kind(row[0]), row[1]), *row[2:]) if row else None

    def replay(self, statement_id: int, seal_ids: Sequence[int]) -> None:
        """Appends that a statement was answered from these seals, at no cost."""
        with self._begin("IMMEDIATE") as db:
            for seal_id in seal_ids:
                insert(db, "replay", seal_id=seal_id, statement_id=statement_id)

    def releases(self) -> list[ReleaseRow]:
        """Returns every sealed answer, oldest first."""
        with self._begin() as db:
            rows = db.execute(
                "SELECT s.id, s.at, t.principal, t.text, c.unit_table, s.kind, s.nano,"
                " (SELECT count(*) FROM replay r WHERE r.seal_id = s.id) FROM seal s"
                " JOIN statement t ON t.id = s.statement_id JOIN charge c ON c.id = s.charge_id"
                " ORDER BY s.id"
            )
            return [ReleaseRow(*(*r[:5], amount(Kind(r[5]), r[6]), r[7])) for r in rows]


def insert(db: sqlite3.Connection, table: str, price: Price | None = None, **row: Any) -> int:
    """Appends a row, with its price and the time in UTC; returns its number."""
    row["at"] = datetime.now(UTC).isoformat(timespec="milliseconds")
    if price:
        row |= {"kind": kind_of(price).value, "nano": price.nano}
    sql = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})"
    return int(db.execute(sql, tuple(row.values())).lastrowid or 0)


def _budget(db: sqlite3.Connection, unit_table: str) -> Budget | None:
    sql = "SELECT kind, nano, delta FROM budget WHERE unit_table = ? ORDER BY id DESC LIMIT 1"
    row = db.execute(sql, (unit_table.lower(),)).fetchone()
    return row and Budget(unit_table.lower(), amount(Kind(row[0]), row[1]), row[2])


def _account(db: sqlite3.Connection, unit_table: str) -> tuple[Budget, Price, Price]:
    """Returns the latest budget of a unit table, the sum of its charges and what is left."""
    if (budget := _budget(db, unit_table)) is None:
        raise errors.DeclarationError(f"{unit_table} has no PRIVACY BUDGET; nothing was read")
    sql = "SELECT kind, sum(nano) FROM charge WHERE unit_table = ? GROUP BY kind"
    spent = dict(db.execute(sql, (budget.unit_table,)).fetchall())
    nano = spent.pop(budget.kind.value, 0)
    if spent:
        raise errors.LedgerError(f"the charges of {unit_table} are not of its budget's kind")
    left = amount(budget.kind, max(0, budget.total.nano - nano))
    return budget, amount(budget.kind, nano), left


def _shown(price: Price, delta: float) -> str:
    """Returns the exact amount in words, and what rho means as epsilon."""
    number = f"{Decimal(price.nano).scaleb(-9).normalize():f}"
    if not isinstance(price, Rho):
        return f"epsilon = {number}"
    return f"rho = {number} (epsilon = {epsilon_shown(price, delta):.6g} at delta = {delta:g})"


def _connect(path: Path) -> sqlite3.Connection:
    """Opens a file; LedgerError unless it is ours, of this version, and whole where money is."""
    uri = f"file:{quote(str(path.resolve()))}?mode=rw"
    db = sqlite3.connect(uri, BUSY_SECONDS, 0, None, check_same_thread=False, uri=True)
    try:
        for pragma in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
            db.execute(f"PRAGMA {pragma}")
        if db.execute("PRAGMA user_version").fetchone() != (VERSION,):
            raise errors.LedgerError(f"this is no ledger of version {VERSION}")
        if {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master")} != set(_schema()):
            raise errors.LedgerError("the ledger's tables or guards are not as they were made")
        for table in ("declaration", "budget", "charge"):
            if db.execute(f"PRAGMA quick_check({table})").fetchone() != ("ok",):
                raise errors.LedgerError("the ledger is damaged")
        if db.execute("PRAGMA journal_mode = WAL").fetchone() != ("wal",):
            raise errors.OperationalError("SQLite cannot keep a write-ahead log beside the ledger")
    except BaseException:
        db.close()
        raise
    return db


def _create(path: Path) -> None:
    """Makes a whole empty ledger beside `path` and links it there, unless another was faster."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(draft, isolation_level=None)) as db:
            script = ("BEGIN", *_schema(), f"PRAGMA user_version = {VERSION}", "COMMIT")
            db.executescript(";".join(("PRAGMA synchronous = FULL", *script)))
            db.execute("PRAGMA journal_mode = WAL")
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


_PASSING = {"PERM", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "FULL", "CANTOPEN"}


@contextmanager
def _translated() -> Iterator[None]:
    """Turns SQLite's errors, and those of records that cannot be read, into ours, without data."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "SQLITE_UNKNOWN")
        if name.split("_")[1] in _PASSING:
            raise errors.OperationalError(f"the ledger cannot be used just now ({name})") from error
        raise errors.LedgerError(f"the ledger is damaged or refused a record ({name})") from error
    except OSError as error:
        raise errors.OperationalError(f"the ledger cannot be made: {error.strerror}") from error
    except (ValueError, errors.DataError) as error:
        raise errors.LedgerError("the ledger holds a record that cannot be read") from error
