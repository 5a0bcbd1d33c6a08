"""A ledger moved from its file into PostgreSQL: at every moment at most one of the two sells."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from support.ledger_rows import releases
from support.ledgers import pay, sealed

from sqlpriv.errors import LedgerError, OperationalError
from sqlpriv.interfaces.server.users_file import connect_users
from sqlpriv.kernel.ledger.database import NAME
from sqlpriv.kernel.ledger.pointer import mark_beside
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget, Price, Rho
from sqlpriv.session.commands import ledger_place
from sqlpriv.session.commands.ledger_place import move_ledger, refuse_lone_primary, write_pointer


@pytest.fixture
def ledger_url(url: str, tmp_path: Path) -> str:
    """The URL of a ledger with three charges."""
    write_pointer(tmp_path / "people.ledger", url)
    with closing(Ledger(tmp_path / "people.ledger")) as ledger:
        ledger.set_budget(Budget("people", Rho(1000), 1e-9), "owner")
        for nano in (100, 200, 300):
            pay(ledger, nano)
    return url


def drop_ledger(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"DROP SCHEMA {NAME} CASCADE")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://ann:secret@h/d", "PGPASSWORD"),
        ("postgresql://h/d?password=secret", "PGPASSWORD"),
        ("mysql://h/d", "postgresql://user@host"),
    ],
)
def test_a_pointer_holds_no_secret(tmp_path: Path, url: str, words: str) -> None:
    with pytest.raises(OperationalError, match=words) as refusal:
        write_pointer(tmp_path / "l", url)
    assert "secret" not in str(refusal.value)
    assert not (tmp_path / "l").exists()


def spent(path: Path) -> Price:
    with closing(Ledger(path)) as ledger:
        account = ledger.account("people")
        assert account is not None
        return account.spent


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger in a file, with two charges and a seal."""
    with closing(Ledger(tmp_path / "old.ledger")) as ledger:
        ledger.declare("people", "owner", key="id")
        ledger.set_budget(Budget("people", Rho(1000), 1e-9), "owner")
        pay(ledger, 100)
        sealed(ledger, ledger.snapshot("f").id, "q", Rho(30))
    return tmp_path / "old.ledger"


def test_a_ledger_is_moved_with_all_that_it_holds(file: Path, url: str) -> None:
    with closing(Ledger(file)) as before:
        records = before.declarations(), releases(before), before.snapshot("f")
    assert move_ledger(file, url) == 4
    assert file.read_text() == url + "\n"
    with psycopg.connect(url) as db:  # the server knows how many there are: see `move_ledger`
        of_charges = f"SELECT reltuples FROM pg_class WHERE oid = '{NAME}.charge'::regclass"
        assert db.execute(of_charges).fetchone() == (2,)
    with closing(Ledger(file)) as after:
        assert (after.declarations(), releases(after), after.snapshot("f")) == records
        assert after.find_seals(records[2].id, "q", Rho(30))
        pay(after, 5)
    assert spent(file) == Rho(135)
    with pytest.raises(LedgerError):
        Ledger(file.with_name("old.ledger.moved"))
    with pytest.raises(OperationalError, match="was moved before"):
        move_ledger(file, url)


def test_who_had_the_file_open_sells_nothing_after_the_move(file: Path, url: str) -> None:
    with closing(Ledger(file)) as open_before:
        move_ledger(file, url)
        with pytest.raises(OperationalError, match="or it was moved: connect again"):
            pay(open_before, 1)
    assert spent(file) == Rho(130)


def test_a_ledger_is_not_moved_into_another(ledger_url: str, file: Path) -> None:
    before = {path.name for path in file.parent.iterdir()}
    with pytest.raises(OperationalError, match="another ledger"):
        move_ledger(file, ledger_url)
    assert {path.name for path in file.parent.iterdir()} == before
    assert spent(file) == Rho(130)  # the file is as it was
    assert not mark_beside(file).exists()
    drop_ledger(ledger_url)
    # the other ledger's mark had stayed, and this was refused for ever
    assert move_ledger(file, ledger_url) == 4
    assert spent(file) == Rho(130)


def test_a_database_that_is_not_reached_says_why(file: Path, url: str) -> None:
    """All that was told was "no connection", and a pointer's draft stayed behind."""
    before = {path.name for path in file.parent.iterdir()}
    nowhere = "postgresql://bi@127.0.0.1:1/x"
    with pytest.raises(OperationalError, match=rf"{nowhere} cannot be reached: .*refused"):
        move_ledger(file, nowhere)
    with pytest.raises(OperationalError, match='database "none" does not exist'):
        move_ledger(file, url.replace("/postgres?", "/none?"))
    assert {path.name for path in file.parent.iterdir()} == before


@pytest.mark.parametrize("missing", ["psycopg", "psycopg.conninfo"])
def test_without_psycopg_or_libpq_it_is_told_what_to_install(
    file: Path, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    """psycopg without libpq is there, and fails when it is imported: a traceback."""
    before = {path.name for path in file.parent.iterdir()}
    monkeypatch.setitem(sys.modules, missing, None)
    told = r"needs pip install 'sqlpriv\[postgresql-ledger\]'"
    with pytest.raises(OperationalError, match=told):
        move_ledger(file, "postgresql://bi@127.0.0.1:1/x")
    assert {path.name for path in file.parent.iterdir()} == before
    write_pointer(file.with_name("new.ledger"), "postgresql://bi@127.0.0.1:1/x")
    with pytest.raises(OperationalError, match=told):
        refuse_lone_primary(file.with_name("new.duckdb"))
    for module in ("shared.users_database", "shared.server_database"):  # loaded by other tests
        monkeypatch.delitem(sys.modules, f"sqlpriv.interfaces.server.{module}", raising=False)
    if missing == "psycopg":
        with pytest.raises(OperationalError, match=told):
            connect_users(file.with_name("new.duckdb"))


@pytest.mark.parametrize("step", ["_copy_table", "closing", "replace"])
def test_a_move_that_is_cut_off_is_finished_by_the_next(
    file: Path, url: str, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cut off in the copy, behind it and before the file is closed, and behind that."""

    def cut_off(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        if step == "closing":
            patched.setattr(ledger_place, "CLOSING", "{0} is no SQL")
        else:
            patched.setattr(ledger_place.os if step == "replace" else ledger_place, step, cut_off)
        with pytest.raises((KeyboardInterrupt, LedgerError)):
            move_ledger(file, url)
    if step == "closing":  # the copy is there and the file open: it must not be sold from twice
        assert spent(file) == Rho(130)
        with pytest.raises(OperationalError, match="another ledger"):
            move_ledger(file, url)
        drop_ledger(url)
    if step == "replace":
        with pytest.raises(LedgerError):
            Ledger(file)
    assert move_ledger(file, url) == 4
    assert spent(file) == Rho(130)
