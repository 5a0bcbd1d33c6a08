"""The ledger's primary dies: what was acknowledged is on the standby, or the standby is refused."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import duckdb
import psycopg
import pytest
from click.testing import CliRunner
from support.child_processes import ChildPython
from support.ledgers import pay
from support.postgres_server import FOUND, as_other_user

from sqlpriv.errors import LedgerError
from sqlpriv.interfaces.cli.main import main
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.session.commands.ledger_place import refuse_lone_primary, write_pointer

pytestmark = pytest.mark.skipif(FOUND is None, reason="no PostgreSQL server is installed")
PATIENCE = 60.0
PAY_FOR_EVER = """
import sys
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Rho
ledger = Ledger(sys.argv[1])
while True:
    ledger.charge(ledger.begin_statement('ann', 'SELECT 1'), 'people', Rho(1))
    print('paid', flush=True)
"""


class Pair:
    """A primary and its standby, on sockets in one folder."""

    def __init__(self, folder: Path, waits: bool) -> None:
        self.folder, self.programs = folder, Path(FOUND or "").resolve().parent
        self.quiet = {
            "stdout": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            "cwd": folder,
            **as_other_user(folder),
        }
        made = ["-D", folder / "5432", "-A", "trust", "-U", "bi", "-E", "UTF8", "--no-sync"]
        self.run("initdb", *made)
        names = "*" if waits else ""
        self.primary = self.serve("5432", "-c", f"synchronous_standby_names={names}")
        copy = ["-h", folder, "-p", "5432", "-U", "bi", "-D", folder / "5433", "-R", "-X", "stream"]
        self.run("pg_basebackup", *copy, "-c", "fast")
        self.standby = self.serve("5433")

    @property
    def url(self) -> str:
        """Of whichever of the two takes writes."""
        return f"postgresql://bi@/postgres?host={self.folder},{self.folder}&port=5432,5433"

    def run(self, program: str, *arguments: object) -> None:
        command = [self.programs / program, *map(str, arguments)]
        subprocess.run(command, check=True, timeout=PATIENCE, **self.quiet)

    def serve(self, port: str, *settings: str) -> subprocess.Popen[bytes]:
        command = ["postgres", "-D", self.folder / port, "-k", self.folder, "-p", port]
        command += ["-c", "listen_addresses=", "-c", "wal_level=replica", *settings]
        process = subprocess.Popen(
            [self.programs / command[0], *map(str, command[1:])],
            **self.quiet,
        )
        self.wait(port)
        return process

    def wait(self, port: str, writable: bool = False) -> None:
        """Returns when a server answers, or takes writes."""
        end, attributes = time.monotonic() + PATIENCE, "read-write" if writable else "any"
        url = f"postgresql://bi@/postgres?host={self.folder}&port={port}"
        while True:
            try:
                psycopg.connect(url, target_session_attrs=attributes).close()
                return
            except psycopg.OperationalError:
                assert time.monotonic() < end
                time.sleep(0.1)

    def promote(self) -> None:
        """Has the standby, started again if it does not run, take writes."""
        if self.standby.poll() is not None:
            self.standby = self.serve("5433")
        self.run("pg_ctl", "promote", "-D", self.folder / "5433")
        self.wait("5433", writable=True)


def kill(server: subprocess.Popen[bytes]) -> None:
    """Ends a server and its processes, each of which has a group of its own, as a crash would."""
    if server.poll() is None:
        below = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        for process in (server.pid, *map(int, below)):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        server.wait(PATIENCE)


@contextmanager
def two_servers(waits: bool) -> Iterator[Pair]:
    folder = Path(tempfile.mkdtemp(prefix="sqlpriv-pg-"))
    pair = Pair(folder, waits)
    try:
        yield pair
    finally:
        kill(pair.primary)
        kill(pair.standby)
        shutil.rmtree(folder)


def paid_until(pair: Pair, path: Path, least: int) -> int:
    """Kills the primary while another process pays; returns how many payments it was told of."""
    payer = ChildPython(PAY_FOR_EVER, path)
    for _ in range(least):
        assert payer.stdout.readline() == "paid\n"
    kill(pair.primary)
    pair.promote()
    rest, _ = payer.communicate(timeout=PATIENCE)  # it ends: its connection is lost
    return least + rest.count("paid")


def test_what_was_acknowledged_is_on_the_standby(tmp_path: Path) -> None:
    with two_servers(waits=True) as pair:
        write_pointer(tmp_path / "people.ledger", pair.url)
        with closing(Ledger(tmp_path / "people.ledger")) as ledger:
            ledger.set_budget(Budget("people", Rho(10**9), 1e-9), "owner")
            refuse_lone_primary(tmp_path / "people.duckdb")  # this one waits
            told = paid_until(pair, tmp_path / "people.ledger", 50)
        with closing(Ledger(tmp_path / "people.ledger")) as ledger:
            account = ledger.account("people")
            assert told <= account.charges <= told + 1  # one may be on the disk, not yet told of
            assert account.spent == Rho(account.charges)
            ledger.charge(ledger.begin_statement("bob", ""), "people", Rho(5))
            assert ledger.account("people").spent == Rho(account.charges + 5)


def test_a_primary_that_waits_for_no_standby_is_not_served(url: str, tmp_path: Path) -> None:
    """With one server named there is none to lose charges to, and such a ledger is served."""
    folder = url.partition("host=")[2]
    one, two = tmp_path / "one.duckdb", tmp_path / "two.duckdb"
    duckdb.connect(str(two)).close()
    write_pointer(one.with_suffix(".ledger"), url)
    refuse_lone_primary(one)
    served = ["serve", str(two), "--ledger", f"{url},{folder}", "--listen", "grpc://127.0.0.1:0"]
    result = CliRunner().invoke(main, served)
    assert result.exit_code == 1
    assert "waits for no standby" in result.output
    assert "synchronous_standby_names = '*'" in result.output


def test_a_standby_that_lacks_what_was_acknowledged_is_refused(tmp_path: Path) -> None:
    """The twin: a primary that waits for no standby loses charges, and no server goes on."""
    with two_servers(waits=False) as pair:
        write_pointer(tmp_path / "people.ledger", pair.url)
        with closing(Ledger(tmp_path / "people.ledger")) as ledger:
            ledger.set_budget(Budget("people", Rho(10**9), 1e-9), "owner")
        with psycopg.connect(pair.url.replace("5432,5433", "5433,5433")) as standby:
            end = time.monotonic() + PATIENCE
            while not standby.execute("SELECT to_regclass('sqlpriv_ledger.guard')").fetchone()[0]:
                assert time.monotonic() < end
                standby.rollback()
                time.sleep(0.1)
        kill(pair.standby)
        assert paid_until(pair, tmp_path / "people.ledger", 20) >= 20
        with pytest.raises(LedgerError, match="a copy was put back"):
            Ledger(tmp_path / "people.ledger")


def dump(url: str) -> str:
    """What pg_dump writes of a ledger."""
    command = ["pg_dump", "--schema=sqlpriv_ledger", url]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def put_back(url: str, dumped: str) -> None:
    """Puts a dump in the ledger's place, while servers are connected."""
    text = f"DROP SCHEMA sqlpriv_ledger CASCADE;\n{dumped}"
    command = ["psql", "-q", "-X", "-v", "ON_ERROR_STOP=1", "-o", os.devnull, url]
    subprocess.run(command, input=text, check=True, text=True)


@pytest.mark.parametrize("lost", [0, 1, 3])
def test_a_dump_that_is_put_back_is_refused_by_whoever_saw_more(
    url: str, tmp_path: Path, lost: int
) -> None:
    """Two servers sold: one that runs on and one that is started again are asked. Of what they sold
    last the dump lacks one charge, or three; a dump that lacks none goes on selling."""
    paths = [tmp_path / name for name in ("a.ledger", "b.ledger")]
    for path in paths:
        write_pointer(path, url)
    with closing(Ledger(paths[0])) as ledger, closing(Ledger(paths[1])) as other:
        ledger.set_budget(Budget("people", Rho(100), 1e-9), "owner")
        for seller in (ledger, other):
            pay(seller, 1)
        older = dump(url)
        for _ in range(lost):
            pay(ledger, 1)
        assert other.account("people").spent == Rho(2 + lost)
        pay(other, 1)
        put_back(url, older if lost else dump(url))
        if not lost:
            pay(ledger, 1)
            with closing(Ledger(paths[1])) as again:
                assert again.account("people").spent == Rho(4)
            return
        for path in paths:
            with pytest.raises(LedgerError, match="a copy was put back"):
                Ledger(path)
        for _ in range(2 * lost + 3):
            for seller in (ledger, other):
                with pytest.raises(LedgerError):
                    pay(seller, 1)
