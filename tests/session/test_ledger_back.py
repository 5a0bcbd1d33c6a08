"""A ledger moved from PostgreSQL back into a file: at every moment at most one of the two sells."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from support.ledger_rows import releases
from support.ledgers import pay, sealed

from sqlpriv.errors import LedgerError, OperationalError, PermissionDenied
from sqlpriv.interfaces.server import users
from sqlpriv.interfaces.server.spending_rules import SpendingRules
from sqlpriv.interfaces.server.users_file import connect_users, copy_users_home, users_path
from sqlpriv.kernel.ledger.pointer import pointer_of
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.session.commands.ledger_place import move_ledger, write_pointer
from sqlpriv.session.ledger_moves import move_to_file
from sqlpriv.session.ledger_moves.move_to_file import move_ledger_to_file


@pytest.fixture
def vault(url: str, tmp_path: Path) -> Path:
    """A vault whose ledger was moved from a file into PostgreSQL: a charge of before, one of after,
    and a seal."""
    path = tmp_path / "people.ledger"
    with closing(Ledger(path)) as ledger:
        ledger.declare("people", "owner", key="id")
        ledger.set_budget(Budget("people", Rho(1000), 1e-9), "owner")
        pay(ledger, 100)
        sealed(ledger, ledger.snapshot("f").id, "q", Rho(30))
    move_ledger(path, url)
    with closing(Ledger(path)) as ledger:
        pay(ledger, 5)
    return tmp_path / "people.duckdb"


def spent(vault: Path) -> int:
    with closing(Ledger(vault.with_suffix(".ledger"))) as ledger:
        account = ledger.account("people")
        assert account is not None
        return account.spent.nano


def test_all_records_come_back_and_the_file_sells_on(vault: Path) -> None:
    ledger = vault.with_suffix(".ledger")
    with closing(Ledger(ledger)) as before:
        records = before.declarations(), releases(before), before.snapshot("f")
    assert move_ledger_to_file(vault) == 5
    assert not pointer_of(ledger)
    assert ledger.stat().st_mode & 0o777 == 0o600
    with closing(Ledger(ledger)) as after:
        assert (after.declarations(), releases(after), after.snapshot("f")) == records
        assert after.find_seals(records[2].id, "q", Rho(30))
        pay(after, 7)
    assert spent(vault) == 142
    with pytest.raises(OperationalError, match=r"is in no database: people\.ledger is it"):
        move_ledger_to_file(vault)
    assert not [path.name for path in vault.parent.iterdir() if "from-postgresql" in path.name]


def test_the_file_that_was_moved_away_is_closed_without_its_log(url: str, tmp_path: Path) -> None:
    """A session had it open, so that the triggers that close it stood in its log alone."""
    path = tmp_path / "people.ledger"
    with closing(Ledger(path)) as open_before:
        open_before.set_budget(Budget("people", Rho(1000), 1e-9), "owner")
        move_ledger(path, url)
        shutil.copy(tmp_path / "people.ledger.moved", tmp_path / "copy.ledger")
    with pytest.raises(LedgerError, match="or it was moved elsewhere"):
        Ledger(tmp_path / "copy.ledger")


def test_the_database_sells_nothing_after_the_move(vault: Path, url: str) -> None:
    """Neither to who has it open, nor to another machine, nor as the place of another ledger."""
    elsewhere = vault.parent / "elsewhere"
    elsewhere.mkdir()
    write_pointer(elsewhere / "people.ledger", url)
    with closing(Ledger(elsewhere / "people.ledger")) as open_before:
        pay(open_before, 1)
        move_ledger_to_file(vault)
        with pytest.raises(OperationalError, match="it was moved elsewhere: connect again"):
            pay(open_before, 1)
        with pytest.raises(OperationalError, match="it was moved elsewhere: connect again"):
            open_before.set_budget(Budget("people", Rho(9000), 1e-9), "owner")
    with pytest.raises(LedgerError, match="or it was moved elsewhere"):
        Ledger(elsewhere / "people.ledger")
    with pytest.raises(OperationalError, match="before, on another machine: it sells there"):
        move_ledger_to_file(elsewhere / "people.duckdb")
    assert pointer_of(elsewhere / "people.ledger") == url
    with closing(Ledger(elsewhere / "new.ledger")) as new:
        new.declare("others", "owner", key="id")
    with pytest.raises(LedgerError, match="or it was moved elsewhere"):
        move_ledger(elsewhere / "new.ledger", url)
    assert spent(vault) == 136


def test_it_can_be_moved_on_from_the_file(vault: Path, url: str) -> None:
    move_ledger_to_file(vault)
    with psycopg.connect(url, autocommit=True) as db:
        db.execute("DROP SCHEMA sqlpriv_ledger CASCADE")
    assert move_ledger(vault.with_suffix(".ledger"), url) == 5
    with closing(Ledger(vault.with_suffix(".ledger"))) as ledger:
        pay(ledger, 1)
    assert move_ledger_to_file(vault) == 6
    assert spent(vault) == 136


@pytest.mark.parametrize("step", ["_copy_table", "CLOSING", "COMMIT", "into_place"])
def test_a_move_that_is_cut_off_is_finished_by_the_next(
    vault: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off in the copy, while PostgreSQL is closed, in its COMMIT, and behind that."""

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        if step == "CLOSING":
            patched.setattr(move_to_file, "CLOSING", "no SQL")
        elif step == "COMMIT":
            from sqlpriv.kernel.ledger.database import LedgerDatabase

            execute = LedgerDatabase.execute

            def lose_commit(self: LedgerDatabase, sql: str, *values: object) -> object:
                return cut_off() if sql == "COMMIT" else execute(self, sql, *values)  # type: ignore[arg-type]

            patched.setattr(LedgerDatabase, "execute", lose_commit)
        else:
            patched.setattr(move_to_file, step, cut_off)
        with pytest.raises((KeyboardInterrupt, LedgerError)):
            move_ledger_to_file(vault)
    assert pointer_of(vault.with_suffix(".ledger"))
    copies = [path for path in vault.parent.iterdir() if "from-postgresql" in path.name]
    assert bool(copies) == (step in ("COMMIT", "into_place"))
    if step == "into_place":  # PostgreSQL is closed, and the copy has a name that nobody opens
        with pytest.raises(LedgerError):
            spent(vault)
    else:
        assert spent(vault) == 135
    assert move_ledger_to_file(vault) == 5
    assert spent(vault) == 135
    assert not [path for path in vault.parent.iterdir() if "from-postgresql" in path.name]


def test_a_log_that_the_old_file_left_is_not_read_as_the_new_one_s(
    url: str, tmp_path: Path
) -> None:
    """A session held the file open while it was moved away, so that SQLite did not remove its log,
    whose records have the numbers of the new file's pages."""
    path = tmp_path / "people.ledger"
    with closing(Ledger(path)) as open_before:
        open_before.set_budget(Budget("people", Rho(1000), 1e-9), "owner")
        pay(open_before, 100)
        with closing(sqlite3.connect(path)) as reader:  # no log is written back beyond it
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM charge").fetchone()
            pay(open_before, 20)
            move_ledger(path, url)
            with closing(Ledger(path)) as ledger:
                pay(ledger, 3)
            assert path.with_name("people.ledger-wal").stat().st_size
            move_ledger_to_file(tmp_path / "people.duckdb")
            assert spent(tmp_path / "people.duckdb") == 123


def test_a_copy_that_postgresql_does_not_name_takes_no_place(vault: Path, url: str) -> None:
    """A machine has a whole copy of a move that was cut off, and another one moves the ledger."""
    elsewhere = vault.parent / "elsewhere"
    elsewhere.mkdir()
    write_pointer(elsewhere / "people.ledger", url)
    move_ledger_to_file(vault)
    (left,) = (elsewhere / f"people.ledger{move_to_file.COPIES}{'0' * 16}",)
    shutil.copy(vault.with_suffix(".ledger"), left)
    with pytest.raises(OperationalError, match="on another machine"):
        move_ledger_to_file(elsewhere / "people.duckdb")
    assert pointer_of(elsewhere / "people.ledger") == url


def test_users_come_back_with_what_they_spent_today(vault: Path, url: str) -> None:
    secret = users.add_user(vault, "ann", "analyst", "owner")
    users.add_user(vault, "bob", "analyst", "owner", rules=SpendingRules(only_asked_before=True))
    users.remove_user(vault, "ann", "owner")
    users.add_user(vault, "ann", "analyst", "owner", secret="a better secret")
    with closing(connect_users(vault)) as database:
        price = ["2026-11-27", "ann", "people", "zcdp", 7]
        database.execute("INSERT INTO day_price VALUES (?, ?, ?, ?, ?)", price)
    listed = users.list_users(vault)
    move_ledger_to_file(vault)
    users_path(vault).write_bytes(b"users of this machine, which did not count")
    copy_users_home(vault, url)
    assert users_path(vault).with_name("people.users.moved").exists()
    assert users.list_users(vault) == listed
    with closing(connect_users(vault)) as file:
        assert list(map(list, file.execute("SELECT * FROM day_price"))) == [price]
    with closing(users.Doorkeeper(vault)) as doorkeeper:
        assert doorkeeper.user("ann", "a better secret").name == "ann"
        with pytest.raises(PermissionDenied):
            doorkeeper.user("ann", secret)
