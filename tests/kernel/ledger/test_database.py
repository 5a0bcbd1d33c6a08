"""The ledger in PostgreSQL: its guards, older copies put back, a server that is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from support.child_processes import ChildPython
from support.ledgers import TABLES, pay, sealed

from sqlpriv.errors import BudgetExhausted, LedgerError, OperationalError
from sqlpriv.kernel.ledger import database
from sqlpriv.kernel.ledger.database import NAME, LedgerDatabase
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.session.commands.ledger_place import write_pointer


def run(url: str, *statements: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as db:
        db.execute(f"SET search_path = {NAME}")
        for sql in statements:
            cursor = db.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def path(url: str, tmp_path: Path) -> Path:
    """A pointer to a database without a ledger."""
    write_pointer(tmp_path / "people.ledger", url)
    return tmp_path / "people.ledger"


@pytest.fixture
def filled(url: str, path: Path) -> str:
    """The URL of a ledger with three charges."""
    with closing(Ledger(path)) as ledger:
        ledger.set_budget(Budget("people", Rho(1000), 1e-9), "owner")
        for nano in (100, 200, 300):
            pay(ledger, nano)
    return url


def test_every_table_is_append_only(filled: str) -> None:
    for table in (*TABLES, "guard"):
        column = "ledger" if table == "guard" else "at"
        for sql in (
            f"UPDATE {table} SET {column} = 'never'",
            f"DELETE FROM {table}",
            f"TRUNCATE {table} CASCADE",
        ):
            with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
                run(filled, sql)
    assert run(filled, "SELECT count(*), sum(nano) FROM charge") == [(3, 600)]


@pytest.mark.usefixtures("filled")
def test_a_commit_waits_for_the_disk_and_the_standbys(path: Path) -> None:
    with closing(Ledger(path)) as ledger, ledger.begin() as db:
        assert db.execute("SHOW synchronous_commit").fetchone() == ("on",)
        assert db.execute("SHOW transaction_isolation").fetchone() == ("repeatable read",)


@pytest.mark.parametrize(
    "change",
    [
        "DROP TRIGGER append_only ON charge",
        "ALTER TABLE charge DISABLE TRIGGER append_only",
        "ALTER TABLE budget DROP CONSTRAINT budget_nano_check",
        "ALTER TABLE charge ADD COLUMN refund BIGINT",
        "CREATE TABLE extra (x BIGINT)",
        "CREATE OR REPLACE FUNCTION append_only() RETURNS TRIGGER LANGUAGE plpgsql"
        " AS $$ BEGIN RETURN NEW; END $$",
        "ALTER TABLE charge ALTER COLUMN id DROP IDENTITY",
    ],
)
def test_a_schema_of_another_make_is_refused(filled: str, path: Path, change: str) -> None:
    run(filled, change)
    with pytest.raises(LedgerError, match="not as made"):
        Ledger(path)


def test_columns_are_those_of_the_file(url: str, path: Path, tmp_path: Path) -> None:
    """What one of them learns to keep the other has to learn."""
    with closing(Ledger(path)), closing(Ledger(tmp_path / "l")) as file, file.begin() as db:
        for table in TABLES:
            of_file = {row[1] for row in db.execute(f"PRAGMA table_info({table})")}
            sql = "SELECT column_name FROM information_schema.columns WHERE table_schema = '{}'"
            rows = run(url, sql.format(NAME) + f" AND table_name = '{table}'")
            assert of_file == {name for (name,) in rows}
        views = db.execute("SELECT name FROM sqlite_master WHERE type = 'view'").fetchall()
        assert {name for (name,) in views} - {"spending"} == set(database.VIEWS)


def test_an_older_copy_is_refused_by_whoever_saw_a_newer_one(filled: str, path: Path) -> None:
    run(
        filled,
        "ALTER TABLE charge DISABLE TRIGGER append_only",
        "DELETE FROM charge WHERE id = (SELECT max(id) FROM charge)",
        "ALTER TABLE charge ENABLE TRIGGER append_only",
    )
    with pytest.raises(LedgerError, match="a copy was put back"):
        Ledger(path)
    write_pointer(path.with_name("of a machine that saw nothing"), filled)
    with closing(Ledger(path.with_name("of a machine that saw nothing"))) as unaware:
        assert unaware.account("people").spent == Rho(300)


ADD_CHARGE = """INSERT INTO charge (id, at, statement_id, unit_table, kind, nano)
OVERRIDING SYSTEM VALUE VALUES ({}, '2026-01-01', 1, 'people', 'zcdp', 1)"""


@pytest.mark.parametrize(
    "others",
    [
        [ADD_CHARGE.format(2**62)],
        [ADD_CHARGE.format(10), "SELECT setval(pg_get_serial_sequence('charge', 'id'), 5)"],
    ],
)
def test_no_charge_is_made_that_the_sums_of_others_would_not_find(
    filled: str, path: Path, others: list[str]
) -> None:
    """Somebody with the ledger's login writes numbers of their own: what is sold later has lower
    ones, and who had summed up before would sell it again."""
    with closing(Ledger(path)) as ledger, closing(Ledger(path)) as other:
        run(filled, *others)
        before = run(filled, "SELECT count(*), sum(nano) FROM charge")
        for server in (ledger, other, ledger):
            with pytest.raises(LedgerError, match="not numbered upwards"):
                pay(server, 1)
        assert run(filled, "SELECT count(*), sum(nano) FROM charge") == before


SELLER = """CREATE ROLE {0} LOGIN; GRANT USAGE ON SCHEMA sqlpriv_ledger TO {0};
GRANT SELECT ON ALL TABLES IN SCHEMA sqlpriv_ledger TO {0};
GRANT INSERT ON snapshot, statement, charge, seal, replay TO {0};
GRANT UPDATE (one) ON guard TO {0}"""
"""What docs/how-to/operations.md gives servers."""


@pytest.fixture
def seller(filled: str) -> Iterator[str]:
    """The URL of a login that may ask, and add to the ledger what asking adds."""
    run(filled, *SELLER.format("seller").split(";"))
    yield f"postgresql://seller@{filled.partition('@')[2]}"
    run(filled, "DROP OWNED BY seller", "DROP ROLE seller")


def test_a_servers_login_sells_and_cannot_undo(seller: str, path: Path) -> None:
    path.unlink()
    write_pointer(path, seller)
    with closing(Ledger(path)) as ledger:
        pay(ledger, 50)
        sealed(ledger, ledger.snapshot("new").id, "q", Rho(5))
        with pytest.raises(LedgerError, match="this login may not"):
            ledger.set_budget(Budget("people", Rho(10**6), 1e-9), "mallory")
        with pytest.raises(LedgerError, match="this login may not"):
            ledger.declare("people", "mallory", public=True)
        with pytest.raises(LedgerError, match="this login may not"):
            ledger.record_facts(1, {"people": {"bounded": True, "constant": []}})
    for undoing in (
        "UPDATE charge SET nano = 1",
        "DELETE FROM charge",
        "TRUNCATE charge CASCADE",
        "UPDATE guard SET one = true",
        "ALTER TABLE charge DISABLE TRIGGER append_only",
        "SET session_replication_role = replica",
        "SELECT setval(pg_get_serial_sequence('charge', 'id'), 1)",
        "CREATE FUNCTION sqlpriv_ledger.max(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1'",
        "CREATE TABLE sqlpriv_ledger.extra (x INTEGER)",
        "DROP SCHEMA sqlpriv_ledger CASCADE",
    ):
        with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.RaiseException)):
            run(seller, undoing)
    with closing(Ledger(path)) as ledger:
        account = ledger.account("people")
        assert account is not None
        assert account.spent == Rho(655)


def test_another_ledger_is_refused(filled: str, path: Path) -> None:
    run(filled, f"DROP SCHEMA {NAME} CASCADE")
    with pytest.raises(LedgerError, match="another ledger"):
        Ledger(path)


def test_a_lost_connection_is_made_again(filled: str, path: Path) -> None:
    with closing(Ledger(path)) as ledger:
        end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '{}'"
        run(filled, end.format("sqlpriv"))
        with pytest.raises(OperationalError, match="cannot be used just now"):
            pay(ledger, 1)
        pay(ledger, 2)
        assert ledger.account("people").spent == Rho(602)


@pytest.mark.usefixtures("filled")
def test_who_waited_in_vain_for_the_lock_can_ask_again(path: Path) -> None:
    with closing(Ledger(path)) as ledger, closing(Ledger(path)) as other:
        other.store.execute("SET lock_timeout = '50ms'")
        with (
            ledger.begin("IMMEDIATE"),
            pytest.raises(OperationalError, match="cannot be used just now"),
        ):
            pay(other, 1)
        pay(other, 2)
        assert other.account("people").spent == Rho(602)


def test_a_server_that_is_not_there_says_so(tmp_path: Path) -> None:
    write_pointer(tmp_path / "l", "postgresql://nobody@127.0.0.1:1/none")
    with pytest.raises(OperationalError, match="cannot be used just now"):
        Ledger(tmp_path / "l")
    assert [p.name for p in tmp_path.iterdir()] == ["l"]


@pytest.mark.usefixtures("filled")
def test_who_reads_does_not_wait_for_who_writes(path: Path) -> None:
    with closing(Ledger(path)) as ledger, closing(Ledger(path)) as other:
        with ledger.begin("IMMEDIATE"):
            begun = time.monotonic()
            assert other.account("people").spent == Rho(600)
            assert time.monotonic() - begun < 10  # the lock is waited for 30 s
            waiting = threading.Thread(target=pay, args=(other, 400))
            waiting.start()
            waiting.join(0.3)
            assert waiting.is_alive()
        waiting.join(20)
        with pytest.raises(BudgetExhausted):
            pay(ledger, 1)


def test_numbers_follow_the_order_of_the_commits(filled: str, path: Path) -> None:
    """Else sums up to the last number seen would leave out a charge that was committed later."""
    script = (
        "import sys; from sqlpriv.kernel.ledger.records import Ledger\n"
        "from sqlpriv.kernel.terms.budget import Rho\n"
        "ledger = Ledger(sys.argv[1])\n"
        "for _ in range(40): ledger.charge(ledger.begin_statement('b', ''), 'people', Rho(1))"
    )
    with closing(Ledger(path)) as ledger:
        payers = [ChildPython(script, path) for _ in range(3)]
        while any(payer.poll() is None for payer in payers):
            account = ledger.account("people")
            (count,) = run(filled, "SELECT count(*) FROM charge")[0]
            assert account.charges <= count
        assert [payer.communicate(timeout=60)[0] for payer in payers] == [""] * 3
        assert ledger.account("people").charges == 3 + 120
        assert ledger.account("people").spent == Rho(720)


@pytest.mark.usefixtures("filled")
def test_sums_of_a_store_without_the_lock_would_be_wrong(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: a charge that is numbered first and committed last is left out without the lock."""
    execute = LedgerDatabase.execute

    def without_lock(self: LedgerDatabase, sql: str, values: object = ()) -> object:
        sql = sql.replace("SELECT one FROM guard FOR UPDATE", "SELECT 1")
        return execute(self, sql, values)

    monkeypatch.setattr(LedgerDatabase, "execute", without_lock)
    with (
        closing(Ledger(path)) as slow,
        closing(Ledger(path)) as fast,
        closing(Ledger(path)) as eyes,
    ):
        with slow.begin("IMMEDIATE"):
            pay(slow, 11)
            pay(fast, 5)
            assert eyes.account("people").spent == Rho(605)
        assert eyes.account("people").spent == Rho(605)  # 616 is true
