"""The ledger's file: guards, versions, damage."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.child_processes import ChildPython
from support.ledgers import TABLES, pay, sealed
from support.old_logins import with_logins

from sqlpriv.errors import BudgetExhausted, LedgerError, OperationalError
from sqlpriv.kernel.ledger import file as ledger_file
from sqlpriv.kernel.ledger.records import EVERYBODY, Booking, Ledger
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.session.commands.ledger_place import close_for_good


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "people of ? & #.ledger"  # a name that a URI must quote


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with closing(Ledger(path)) as made:
        made.set_budget(Budget("People", Rho(1000), 1e-9), "owner")
        yield made


def test_the_file_is_its_owners_alone_and_durable(ledger: Ledger, path: Path) -> None:
    pay(ledger, 1)
    for file in (path, path.with_name(path.name + "-wal")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with ledger.begin() as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert not list(path.parent.glob(".*"))  # the draft is gone


def test_every_table_is_append_only(ledger: Ledger, path: Path) -> None:
    ledger.declare("people", "owner", key="id")
    snapshot = ledger.snapshot("f")
    ledger.record_facts(snapshot.id, {})
    seal = sealed(ledger, snapshot.id, "q", Rho(1))
    ledger.replay(ledger.begin_statement("ann", "again"), [seal])
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        found = db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        assert {name for (name,) in found} == set(TABLES)
        for table in TABLES:
            before = db.execute(f"SELECT * FROM {table}").fetchall()
            assert before
            for sql in (
                f"UPDATE {table} SET at = 'never'",
                f"DELETE FROM {table}",
                f"REPLACE INTO {table} SELECT * FROM {table}",
            ):
                with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                    db.execute(sql)
            assert db.execute(f"SELECT * FROM {table}").fetchall() == before


def test_a_look_up_reads_no_seals_that_are_too_cheap(ledger: Ledger) -> None:
    """Its steps in SQLite's machine are as many after 200 seals as after one; by the index of
    version 1 (the twin) they grow with every seal of the query."""
    snapshot, db = ledger.snapshot("f").id, ledger.store.db

    def steps() -> int:
        taken = 0

        def count_step() -> int:
            nonlocal taken
            taken += 1
            return 0

        db.set_progress_handler(count_step, 1)
        assert ledger.find_seals(snapshot, "q", Rho(2)) == []
        db.set_progress_handler(None, 1)
        return taken

    sealed(ledger, snapshot, "q", Rho(1))
    few = steps()
    for _ in range(199):
        sealed(ledger, snapshot, "q", Rho(1))
    assert steps() <= few + 5
    db.execute("DROP INDEX seal_query")
    db.execute("CREATE INDEX seal_query ON seal (snapshot_id, query_hash)")
    assert steps() > few + 500


def version_1(path: Path) -> None:
    """A ledger as the first version made it, with one charge of 600 nano."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.executescript(ledger_file.SCHEMAS[0])
        db.execute("PRAGMA journal_mode = WAL")
        when = ("2026-01-01T00:00:00.000+00:00",)
        db.execute("INSERT INTO budget VALUES (1, ?, 'o', 'people', 'zcdp', 1000, 1e-9)", when)
        db.execute("INSERT INTO statement VALUES (1, ?, 'ann', 'SELECT 1')", when)
        db.execute("INSERT INTO charge VALUES (1, ?, 1, 'people', 'zcdp', 600)", when)


def test_a_ledger_of_the_first_version_is_brought_up(tmp_path: Path) -> None:
    """Its records mean what they did: the charge is every unit's, in every later snapshot."""
    version_1(tmp_path / "l")
    with closing(Ledger(tmp_path / "l")) as old:
        at = Booking(old.snapshot("a").id, {"race": [1]})
        for where in (EVERYBODY, at):
            account = old.account("people", at=where)
            assert (account.budget.total, account.spent) == (Rho(1000), Rho(600))
        with pytest.raises(BudgetExhausted):
            old.charge(old.begin_statement("ann", ""), "people", Rho(401), at=at)
    with closing(Ledger(tmp_path / "l")) as again:
        assert again.account("people").charges == 1


def test_processes_that_bring_up_one_ledger_all_open_it(tmp_path: Path) -> None:
    script = (
        "import sys; from sqlpriv.kernel.ledger.records import Ledger\n"
        "sys.stdin.read(); print(Ledger(sys.argv[1]).account('people').spent.nano)"
    )
    version_1(tmp_path / "l")
    openers = [ChildPython(script, tmp_path / "l") for _ in range(4)]
    assert [child.communicate(timeout=60)[0] for child in openers] == ["600\n"] * 4


def test_a_tampered_ledger_of_the_first_version_is_refused(tmp_path: Path) -> None:
    version_1(tmp_path / "l")
    with closing(sqlite3.connect(tmp_path / "l")) as db:
        db.execute("DROP TRIGGER charge_delete")
    with pytest.raises(LedgerError, match="guards are not as made"):
        Ledger(tmp_path / "l")


def test_unknown_records_are_refused(ledger: Ledger, path: Path) -> None:
    with pytest.raises(LedgerError, match="no such field"):
        ledger.declare("people", "owner", wish="more")
    with closing(sqlite3.connect(path)) as db, db:
        columns, values = "at, principal, subject, kind, body", "'', '', 'people', 'wish', '{}'"
        db.execute(f"INSERT INTO declaration ({columns}) VALUES ({values})")
    with pytest.raises(LedgerError, match="unknown kind"):
        ledger.declarations()


def test_logins_of_an_earlier_program_are_left_where_they_are(ledger: Ledger, path: Path) -> None:
    pay(ledger, 600)
    ledger.close()
    with_logins(path)
    before = logins(path)
    with closing(Ledger(path)) as again:
        assert again.account("people").spent == Rho(600)
        pay(again, 1)
    assert logins(path) == before != []


def logins(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute("SELECT * FROM user ORDER BY id").fetchall()


@pytest.mark.parametrize(
    "change",
    [
        "PRAGMA user_version = 6",
        "PRAGMA user_version = 0",
        "DROP TRIGGER charge_delete",
        "CREATE TABLE extra (x)",
        "DROP TABLE replay",
    ],
)
def test_a_file_of_another_make_is_refused(ledger: Ledger, path: Path, change: str) -> None:
    ledger.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute(change)
    with pytest.raises(LedgerError):
        Ledger(path)


@pytest.mark.parametrize("damage", ["empty", "text", "half", "zeros"])
def test_a_damaged_file_is_refused(ledger: Ledger, path: Path, damage: str) -> None:
    for _ in range(50):
        ledger.declare("people", "owner", key="c" * 4000)
    ledger.close()
    whole = path.read_bytes()
    half = len(whole) // 2
    bad = {"empty": b"", "text": b"people" * 999, "half": whole[:half]}
    path.write_bytes(bad.get(damage, whole[:8192] + bytes(len(whole) - 8192)))
    with pytest.raises(LedgerError):
        Ledger(path)


@pytest.mark.usefixtures("ledger")
def test_what_cannot_be_done_now_says_so(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(OperationalError, match="cannot be made"):
        Ledger(path.parent / "no such folder" / "people.ledger")
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.05)
    with closing(Ledger(path)) as hasty, closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert hasty.account("people").left == Rho(1000)  # readers do not wait for a writer
        with pytest.raises(OperationalError, match="SQLITE_BUSY"):
            pay(hasty, 1)
        other.rollback()
        pay(hasty, 1)


def test_a_full_disk_says_so_and_a_charge_is_whole_or_none(ledger: Ledger) -> None:
    """SQLite's own limit of pages stands for the disk."""
    database = ledger.store.db
    database.execute("PRAGMA max_page_count = 1")  # as many as there are
    paid = 0

    def fill_the_disk() -> None:
        nonlocal paid
        while paid < 1000:
            pay(ledger, 1)
            paid += 1

    with pytest.raises(OperationalError, match="the disk is full"):
        fill_the_disk()
    assert ledger.account("people").spent == Rho(paid)
    database.execute("PRAGMA max_page_count = 100000")
    pay(ledger, 1)
    assert ledger.account("people").spent == Rho(paid + 1)


def test_a_closed_file_says_to_connect_again_and_a_guard_that_it_is_damaged(
    ledger: Ledger, path: Path
) -> None:
    with (
        pytest.raises(LedgerError, match="damaged"),
        ledger.store.begin("IMMEDIATE") as store,
    ):
        store.execute("UPDATE budget SET at = 'never'")
    close_for_good(path, lambda _: None)
    with pytest.raises(OperationalError, match="connect again"):
        pay(ledger, 1)
    assert ledger.account("people").spent == Rho(0)


def test_few_charges_are_read_however_many_there_are(ledger: Ledger) -> None:
    """SQLite's steps for a statement after 400 charges are at most twice those after 20."""

    def steps(earlier: int) -> int:
        while ledger.account("people").charges < earlier:
            pay(ledger, 1)
        count = [0]
        with ledger.begin() as db:
            db.db.set_progress_handler(lambda: count.__setitem__(0, count[0] + 1), 1)
        ledger.account("people")
        pay(ledger, 1)
        with ledger.begin() as db:
            db.db.set_progress_handler(None, 0)
        return count[0]

    ledger.set_budget(Budget("People", Rho(10**6), 1e-9), "owner")
    few = steps(20)
    assert steps(400) <= 2 * few


CLOSE_AND_TELL = """
import sys
from contextlib import closing
from pathlib import Path
from sqlpriv.kernel.ledger.records import Ledger

with closing(Ledger(Path(sys.argv[1]))) as ledger:
    print(ledger.account("people").spent.nano)
"""


def test_who_opens_a_ledger_anew_gives_up_nobodys_lock(ledger: Ledger, path: Path) -> None:
    """A process that opened the ledger a second time had no lock on it any more: the next other
    process to close it took itself for the last, and removed the log with later charges."""
    with closing(Ledger(path)):
        assert ChildPython(CLOSE_AND_TELL, path).communicate(timeout=60)[0] == "0\n"
        assert path.with_name(path.name + "-wal").exists()
        pay(ledger, 900)
        assert ChildPython(CLOSE_AND_TELL, path).communicate(timeout=60)[0] == "900\n"


def test_the_lock_is_given_up_with_any_descriptor(ledger: Ledger, path: Path) -> None:
    """The twin: as it was, when the file was opened to see whether it is a pointer."""
    path.read_bytes()
    assert ledger.holders("people") == [""]
    ChildPython(CLOSE_AND_TELL, path).communicate(timeout=60)
    assert not path.with_name(path.name + "-wal").exists()
