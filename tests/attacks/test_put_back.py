"""Old ledgers and long reads: each test prints what the attacker gained, and it is nothing."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from support.ledgers import pay
from support.vaults import ask

from sqlpriv.errors import BudgetExhausted, LedgerError, OperationalError, ReadFailed
from sqlpriv.kernel import reader
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.commands import backup
from sqlpriv.session.commands.backup import back_up, restore
from sqlpriv.session.commands.ledger_place import close_for_good

MakeKernel = Callable[..., Kernel]
COUNT = a.Count(a.Scan("people"))
PEOPLE = "CREATE TABLE people AS SELECT i AS id FROM range(1000) r(i)"


def spend(kernel: Kernel) -> None:
    ask(kernel, Measurement(COUNT, Rho(900)), limit=Rho(900))


@pytest.fixture
def spent(make_kernel: MakeKernel, tmp_path: Path) -> Path:
    """A ledger whose budget was spent, and beside it a copy from before."""
    kernel = make_kernel(PEOPLE, budget=Budget("people", Rho(1000), 1e-9))
    ledger = tmp_path / "people.ledger"
    kernel.close()
    shutil.copy(ledger, tmp_path / "before")
    with closing(Kernel(kernel.vault)) as again:
        spend(again)
    for log in tmp_path.glob("people.ledger-*"):
        log.unlink()
    shutil.copy(tmp_path / "before", ledger)
    return ledger


def test_a_copy_of_the_ledger_put_back_is_refused(spent: Path) -> None:
    with pytest.raises(LedgerError, match="a copy was put back") as refusal:
        Ledger(spent)
    print("gained:", refusal.value)


def test_what_remains_who_puts_back_the_mark_too_is_not_noticed(spent: Path) -> None:
    """The documented limit: the budget is whole again for whoever can write both files."""
    spent.with_name("people.ledger.mark").unlink()
    with closing(Ledger(spent)) as ledger:
        account = ledger.account("people")
        assert account is not None
        print("what remains:", account.left)
        assert account.left == Rho(1000)


def test_a_ledger_that_is_ahead_of_its_mark_is_believed(make_kernel: MakeKernel) -> None:
    """A crash after the commit and before the mark: nothing is lost, and the mark catches up."""
    kernel = make_kernel(PEOPLE, budget=Budget("people", Rho(1000), 1e-9))
    mark = kernel.vault.with_name("people.ledger.mark")
    low = mark.read_text()
    spend(kernel)
    high = mark.read_text()
    assert int(high) == int(low) + 1
    mark.write_text(low)
    with closing(Ledger(kernel.vault.with_suffix(".ledger"))) as again:
        assert again.account("people") is not None
        assert mark.read_text() == high
    assert mark.stat().st_mode & 0o777 == 0o600


def test_a_backup_that_is_put_back_under_an_open_session_is_not_spent_twice(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    """A server goes on with the ledger that it has open, whose file has no name any more; where it
    and others charge in turns, neither counts fewer than the mark."""
    server = make_kernel(PEOPLE, budget=Budget("people", Rho(1000), 1e-9))
    back_up(server.vault, tmp_path / "backup")
    restore(tmp_path / "backup", server.vault)
    with closing(Kernel(server.vault)) as other:
        gained = 0
        for part in range(6):
            for kernel in (other, server):
                asked = Measurement(
                    a.Count(a.Scan("people"), of=a.Lit(part, Type.INTEGER)), Rho(300)
                )
                with suppress(BudgetExhausted, OperationalError):
                    ask(kernel, asked, limit=Rho(300))
                    gained += 300
    print("gained:", gained - 900)
    assert gained == 900
    with pytest.raises(
        OperationalError, match=r"a backup was put back in its place.*connect again"
    ):
        spend(server)


def test_what_a_server_sells_while_a_backup_is_put_back_is_not_forgotten(
    make_kernel: MakeKernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was counted before the ledger was closed, and what was sold between was sold again."""
    server = make_kernel(PEOPLE, budget=Budget("people", Rho(1000), 1e-9))
    back_up(server.vault, tmp_path / "backup")
    closing_ledger = backup.close_for_good

    def sell_before(*of: Any) -> None:
        spend(server)
        closing_ledger(*of)

    with monkeypatch.context() as patched:
        patched.setattr(backup, "close_for_good", sell_before)
        with pytest.raises(OperationalError, match="1 record that this backup has not"):
            restore(tmp_path / "backup", server.vault)
    pay(server.ledger, 1)  # all is as it was
    with pytest.raises(OperationalError, match="2 records that this backup has not"):
        restore(tmp_path / "backup", server.vault)
    restore(tmp_path / "backup", server.vault, older=True)


def test_a_ledger_that_is_closed_for_good_is_closed_without_its_log(
    make_kernel: MakeKernel, tmp_path: Path
) -> None:
    """A restore removes the log before it replaces the file; who opened it then could sell."""
    server = make_kernel(PEOPLE, budget=Budget("people", Rho(1000), 1e-9))
    close_for_good(server.vault.with_suffix(".ledger"), lambda _: None)
    shutil.copy(server.vault.with_suffix(".ledger"), tmp_path / "copy.ledger")
    with pytest.raises(LedgerError):
        Ledger(tmp_path / "copy.ledger")


def test_threads_that_spend_at_once_do_not_cry_wolf(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(PEOPLE)
    path, failed = kernel.vault.with_suffix(".ledger"), []

    def pay() -> None:
        try:
            with closing(Ledger(path)) as ledger:
                for _ in range(5):
                    ledger.charge(ledger.begin_statement("ann", ""), "people", Rho(1))
        except LedgerError as error:
            failed.append(error)

    threads = [threading.Thread(target=pay) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failed == []
    assert kernel.ledger.account("people").charges == 20


def test_a_read_that_takes_too_long_is_stopped_and_says_nothing(
    make_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text is the one of any failed read, and the clock is the same for every question."""
    kernel = make_kernel(PEOPLE)
    monkeypatch.setattr(reader, "TIMEOUT_SECONDS", 0.2)
    endless = "SELECT count(*) FROM range(60000) a(i), range(60000) b(j) WHERE i * j % 7 = 3"
    with Reader(kernel.vault) as opened:
        began = time.monotonic()
        with pytest.raises(ReadFailed) as refusal:
            opened.groups(endless, "duckdb")
        print(f"learned after {time.monotonic() - began:.1f} s: {refusal.value}")
        monkeypatch.undo()
        assert opened.groups("SELECT 1, 2", "duckdb") == [(1, 2)]  # the clock of before is gone
    assert str(refusal.value) == "the engine could not finish reading; the charge stays"
