"""What was declared, what was paid and what was released: an append-only SQLite file.

Claims, and why they hold:

* Nothing is forgotten. WAL with synchronous=FULL syncs before a commit returns, so a charge that
  `Ledger.charge` returned survives the process and the machine (sqlite.org/pragma.html).
* Nothing is undone. Triggers refuse UPDATE, DELETE and REPLACE on every table, and no code here
  tries; what was spent is the sum of the charges, never a counter that could disagree.
* Nothing is sold twice. Whoever writes holds BEGIN IMMEDIATE, SQLite's one write lock for all
  processes, from reading what was spent to committing the charge.
* Nothing is guessed. A file whose schema is not, to the letter, the one below is refused, and so is
  a record of an unknown kind. The file is created whole, by a link, so that no crash leaves an
  empty one that would read as an untouched budget.

Not covered: whoever may write the file can replace it by an older copy or delete it (README.md).
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlpriv import errors
from sqlpriv.errors import BudgetExhausted, DeclarationError, LedgerError, OperationalError
from sqlpriv.kernel.budget import MAX_NANO, Budget, Kind, Price, amount, epsilon_shown, kind_of

KINDS = frozenset({"key", "unit", "public", "link", "unlink", "domain", "bound"})
"""Kinds of declaration. A kind's meaning never changes; a new meaning takes a new kind."""

BUSY_SECONDS = 30.0
VERSION = 1

_TABLES = {
    "declaration": "principal TEXT NOT NULL, subject TEXT NOT NULL, kind TEXT NOT NULL,"
    " body TEXT NOT NULL",
    "budget": "principal TEXT NOT NULL, unit_table TEXT NOT NULL, {price}, delta REAL NOT NULL",
    "snapshot": "fingerprint TEXT NOT NULL, hash_key BLOB NOT NULL",
    "fact": "snapshot_id INTEGER NOT NULL REFERENCES snapshot, body TEXT NOT NULL",
    "statement": "principal TEXT NOT NULL, text TEXT NOT NULL",
    "charge": "statement_id INTEGER NOT NULL REFERENCES statement, unit_table TEXT NOT NULL,"
    " {price}",
    "seal": "charge_id INTEGER NOT NULL REFERENCES charge,"
    " statement_id INTEGER NOT NULL REFERENCES statement,"
    " snapshot_id INTEGER NOT NULL REFERENCES snapshot, query_hash TEXT NOT NULL, {price},"
    " sigma REAL NOT NULL, payload BLOB NOT NULL",
    "replay": "seal_id INTEGER NOT NULL REFERENCES seal,"
    " statement_id INTEGER NOT NULL REFERENCES statement",
}
_PRICE = (
    "kind TEXT NOT NULL CHECK (kind IN ('zcdp', 'pure')),"
    f" nano INTEGER NOT NULL CHECK (typeof(nano) = 'integer' AND nano BETWEEN 1 AND {MAX_NANO})"
)
_TABLE = "CREATE TABLE {t} (id INTEGER PRIMARY KEY, at TEXT NOT NULL, {columns})"
_GUARDS = (  # NEW.id is -1 where SQLite is to choose it; a REPLACE must name it
    "CREATE TRIGGER {t}_update BEFORE UPDATE ON {t} BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER {t}_delete BEFORE DELETE ON {t} BEGIN SELECT RAISE(ABORT, 'append-only'); END",
    "CREATE TRIGGER {t}_replace BEFORE INSERT ON {t} WHEN EXISTS (SELECT 1 FROM {t}"
    " WHERE id = NEW.id) BEGIN SELECT RAISE(ABORT, 'append-only'); END",
)
_INDEXES = (
    "CREATE INDEX charge_unit ON charge (unit_table)",
    "CREATE INDEX seal_query ON seal (snapshot_id, query_hash)",
    "CREATE INDEX replay_seal ON replay (seal_id)",
)
_SCHEMA = [
    *(_TABLE.format(t=t, columns=c.format(price=_PRICE)) for t, c in _TABLES.items()),
    *(guard.format(t=table) for table in _TABLES for guard in _GUARDS),
    *_INDEXES,
]


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
    """An open ledger; made, readable by its owner alone, where there is none.

    Threads may share it and a forked child may go on using it. Every method may raise LedgerError
    (the file is damaged or unknown) or OperationalError (SQLite cannot do its work just now).
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        with _translated():
            if not self.path.exists():
                _create(self.path)
            self._open()

    def close(self) -> None:
        """Closes the file; the ledger is of no use after."""
        self._db.close()

    def append(self, subject: str, kind: str, body: dict[str, Any], principal: str) -> int:
        """Appends a declaration about a table; the contract is the fold of all of them."""
        if kind not in KINDS:
            raise LedgerError(f"{kind!r} is no kind of declaration")
        with self._writing() as db:
            row = (principal, subject.lower(), kind, json.dumps(body))
            return _insert(db, "declaration", "principal, subject, kind, body", *row)

    def declarations(self) -> list[Record]:
        """Returns every declaration, oldest first; LedgerError if one is of an unknown kind."""
        with self._reading() as db:
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
        with self._writing() as db:
            if (old := _account(db, unit)) and old[1].nano and old[0].kind is not kind:
                raise DeclarationError(
                    f"{unit} has spent {_shown(old[1], old[0].delta)}: a budget that was drawn on"
                    " stays zCDP (with a delta) or pure (without), as it is"
                )
            row = (principal, unit, kind.value, budget.total.nano, budget.delta)
            _insert(db, "budget", "principal, unit_table, kind, nano, delta", *row)

    def budget(self, unit_table: str) -> Budget | None:
        """Returns the latest budget of a unit table, None where none was declared."""
        with self._reading() as db:
            account = _account(db, unit_table.lower())
            return account[0] if account else None

    def spent(self, unit_table: str) -> Price:
        """Returns the sum of all charges; DeclarationError where there is no budget."""
        with self._reading() as db:
            return _open_account(db, unit_table)[1]

    def left(self, unit_table: str) -> Price:
        """Returns the budget less what was spent, never below zero; see `spent`."""
        with self._reading() as db:
            return _left(*_open_account(db, unit_table))

    def charges(self, unit_table: str) -> int:
        """Returns how many charges there were."""
        sql = "SELECT count(*) FROM charge WHERE unit_table = ?"
        with self._reading() as db:
            return int(db.execute(sql, (unit_table.lower(),)).fetchone()[0])

    def snapshot(self, fingerprint: str) -> Snapshot:
        """Returns the latest snapshot if it is of that fingerprint, else a new one."""
        with self._reading() as db:
            latest = _latest_snapshot(db)
        if latest and latest.fingerprint == fingerprint:
            return latest
        with self._writing() as db:  # looked up again: another process may have been faster
            latest = _latest_snapshot(db)
            if latest and latest.fingerprint == fingerprint:
                return latest
            key = secrets.token_bytes(8)
            number = _insert(db, "snapshot", "fingerprint, hash_key", fingerprint, key)
            return Snapshot(number, fingerprint, int.from_bytes(key), None)

    def record_facts(self, snapshot_id: int, facts: dict[str, Any]) -> None:
        """Appends what was found true of a snapshot's rows; the latest record counts."""
        with self._writing() as db:
            _insert(db, "fact", "snapshot_id, body", snapshot_id, json.dumps(facts))

    def begin_statement(self, principal: str, text: str) -> int:
        """Appends a statement that is to be charged or replayed; returns its number."""
        with self._writing() as db:
            return _insert(db, "statement", "principal, text", principal, text)

    def charge(self, statement_id: int, unit_table: str, price: Price) -> int:
        """Pays a price, durably and for good; returns the charge's number.

        Raises:
            BudgetExhausted: The price exceeds what is left.
            LedgerError: The price is zero or not of the budget's kind.
            DeclarationError: The table has no budget.
        """
        with self._writing() as db:
            budget, spent = _open_account(db, unit_table)
            if price.nano <= 0 or kind_of(price) is not budget.kind:
                raise LedgerError(f"a {budget.kind.value} budget cannot be charged {price}")
            if price.nano > (left := _left(budget, spent)).nano:
                costs, rest = _shown(price, budget.delta), _shown(left, budget.delta)
                raise BudgetExhausted(f"costs {costs} but {rest} is left; nothing was read")
            row = (statement_id, budget.unit_table, budget.kind.value, price.nano)
            return _insert(db, "charge", "statement_id, unit_table, kind, nano", *row)

    def seal(
        self, charge_id: int, statement_id: int, snapshot_id: int, answers: Sequence[Sealed]
    ) -> tuple[int, ...]:
        """Stores noised answers under their charge, all or none; returns their numbers."""
        columns = "charge_id, statement_id, snapshot_id, query_hash, kind, nano, sigma, payload"
        under = (charge_id, statement_id, snapshot_id)
        rows = [
            (*under, a.query_hash, kind_of(a.price).value, a.price.nano, a.sigma, a.payload)
            for a in answers
        ]
        with self._writing() as db:
            return tuple(_insert(db, "seal", columns, *row) for row in rows)

    def find_seal(self, snapshot_id: int, query_hash: str, price: Price) -> Sealed | None:
        """Returns the dearest answer sealed at that price or a higher one of its kind, or None."""
        with self._reading() as db:
            row = db.execute(
                "SELECT kind, nano, sigma, payload, id FROM seal WHERE snapshot_id = ? AND"
                " query_hash = ? AND kind = ? AND nano >= ? ORDER BY nano DESC, id LIMIT 1",
                (snapshot_id, query_hash, kind_of(price).value, price.nano),
            ).fetchone()
            return Sealed(query_hash, amount(Kind(row[0]), row[1]), *row[2:]) if row else None

    def replay(self, statement_id: int, seal_ids: Sequence[int]) -> None:
        """Appends that a statement was answered from these seals, at no cost."""
        with self._writing() as db:
            for seal_id in seal_ids:
                _insert(db, "replay", "seal_id, statement_id", seal_id, statement_id)

    def releases(self) -> list[ReleaseRow]:
        """Returns every sealed answer, oldest first."""
        with self._reading() as db:
            rows = db.execute(
                "SELECT s.id, s.at, t.principal, t.text, c.unit_table, s.kind, s.nano,"
                " (SELECT count(*) FROM replay r WHERE r.seal_id = s.id) FROM seal s"
                " JOIN statement t ON t.id = s.statement_id JOIN charge c ON c.id = s.charge_id"
                " ORDER BY s.id"
            )
            return [ReleaseRow(*(*r[:5], amount(Kind(r[5]), r[6]), r[7])) for r in rows]

    def _open(self) -> None:
        self._pid, self._lock = os.getpid(), threading.Lock()
        self._db = _connect(self.path, "rw")
        try:
            _check(self._db)
        except BaseException:
            self._db.close()
            raise

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        """Runs the block in one transaction: committed and synced at its end, or undone."""
        with _translated():
            if os.getpid() != self._pid:  # SQLite's connections may not cross a fork, nor be
                self._inherited = self._db  # closed beyond it: that would drop the parent's locks
                self._open()
            with self._lock:
                self._db.execute(begin)
                try:
                    yield self._db
                    self._db.execute("COMMIT")
                finally:
                    if self._db.in_transaction:
                        self._db.execute("ROLLBACK")

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        return self._transaction("BEGIN")

    def _writing(self) -> AbstractContextManager[sqlite3.Connection]:
        """Waits for the one write lock of all processes."""
        return self._transaction("BEGIN IMMEDIATE")


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


def _insert(db: sqlite3.Connection, table: str, columns: str, *values: object) -> int:
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    marks = ", ?" * len(values)
    sql = f"INSERT INTO {table} (at, {columns}) VALUES (?{marks})"
    return int(db.execute(sql, (now, *values)).lastrowid or 0)


def _shown(price: Price, delta: float) -> str:
    """Returns the exact amount in words, and what rho means as epsilon."""
    number = f"{Decimal(price.nano).scaleb(-9).normalize():f}"
    if kind_of(price) is Kind.PURE:
        return f"epsilon = {number}"
    return f"rho = {number} (epsilon = {epsilon_shown(price, delta):.6g} at delta = {delta:g})"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(str(path.resolve()))}?mode={mode}", BUSY_SECONDS, 0, None, False, uri=True
    )
    for pragma in ("synchronous = FULL", "fullfsync = ON", "foreign_keys = ON"):
        db.execute(f"PRAGMA {pragma}")
    return db


def _create(path: Path) -> None:
    """Makes a whole empty ledger beside `path` and links it there, unless another was faster."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(_connect(draft, "rw")) as db:
            script = ";".join(("BEGIN", *_SCHEMA, f"PRAGMA user_version = {VERSION}", "COMMIT"))
            db.executescript(script)
            db.execute("PRAGMA journal_mode = WAL")
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def _check(db: sqlite3.Connection) -> None:
    """Raises LedgerError unless the file is ours, of this version, and whole where money is."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version != VERSION:
        raise LedgerError(f"this is no ledger of version {VERSION} (the file says {version})")
    found = {sql for (sql,) in db.execute("SELECT sql FROM sqlite_master")}
    if found != set(_SCHEMA):
        raise LedgerError("the ledger's tables or their guards are not as they were made")
    for table in ("declaration", "budget", "charge"):
        if (said := db.execute(f"PRAGMA quick_check({table})").fetchone()[0]) != "ok":
            raise LedgerError(f"the ledger is damaged: {said}")
    if db.execute("PRAGMA journal_mode = WAL").fetchone()[0] != "wal":
        raise OperationalError("the ledger's folder does not let SQLite keep a write-ahead log")


_PASSING = {"PERM", "BUSY", "LOCKED", "NOMEM", "READONLY", "INTERRUPT", "IOERR", "FULL", "CANTOPEN"}


@contextmanager
def _translated() -> Iterator[None]:
    """Turns SQLite's errors, and those of records that cannot be read, into ours."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "SQLITE_UNKNOWN")
        if name.split("_")[1] in _PASSING:
            raise OperationalError(f"the ledger cannot be used just now ({name})") from error
        raise LedgerError(f"the ledger is damaged or refused a record ({name})") from error
    except OSError as error:
        raise OperationalError(f"the ledger cannot be made: {error.strerror}") from error
    except (ValueError, errors.DataError) as error:
        raise LedgerError("the ledger holds a record that cannot be read") from error
