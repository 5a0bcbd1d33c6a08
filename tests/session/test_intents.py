"""The same question in two sessions at the same moment: one charge, in whatever process each is."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.child_processes import ChildPython

import sqlpriv
from sqlpriv.interfaces.cli.main import main
from sqlpriv.kernel.ledger.records import Account
from sqlpriv.session.intents import intents
from sqlpriv.session.intents.intents import Intents
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people (id INTEGER, sex INTEGER, age INTEGER, job TEXT);
INSERT INTO people SELECT i // 2, i % 2, i % 90, 'j' || (i % 3) FROM range(1000) t(i);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PRIVACY BOUND (rows_per_unit = 4, groups_per_unit = 2);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (0, 1);
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 90);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 10, delta = 1e-9, keys_delta = 1e-9)
"""
ASK = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) sex, count(*) FROM people GROUP BY 1"
)
ASKED = {
    "count": ASK,
    "mean": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) avg(age) FROM people",
    # so dear that a job is released: without one, the counts of jobs would not be bought
    "keys": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 5)"
    " job, count(*) FROM people GROUP BY 1",
    "rows": "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, max_rows_contributed = auto)"
    " count(*) FROM people",
    "synthetic": "CREATE OR REPLACE SYNTHETIC TABLE s AS SELECT sex, age FROM people USING mst"
    " OPTIONS (epsilon = 0.5, rows = 10)",
}
PATIENCE = 60

CHILD = """
import sys
from pathlib import Path
from sqlpriv.kernel.ledger.pointer import pointer_of
from sqlpriv.session.intents.number_locks import DatabaseLocks, FileLocks
from sqlpriv.session.session import Session
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.proof.noise import Noise
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.ledger.records import Ledger

vault, when, step, sql = sys.argv[1:]
if step:
    owners = {"_charge": Allowance, "cells": Reader, "draw": Noise, "seal": Ledger}
    locks = DatabaseLocks if pointer_of(Path(vault).with_suffix(".ledger")) else FileLocks
    owner = {**owners, "take": locks}[step]
    real = getattr(owner, step)

    def halt(*args):
        if when == "before":
            print("halted", flush=True)
            sys.stdin.readline()
        result = real(*args)
        if when == "after":
            print("halted", flush=True)
            sys.stdin.readline()
        return result

    setattr(owner, step, halt)
with Session(vault) as session:
    print(sorted(session.execute(sql).table.to_pylist(), key=str), flush=True)
"""


@pytest.fixture(params=["file", "postgresql"])
def servers(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, Path]:
    """Where two servers find their vaults: one on one machine, or copies that share a ledger."""
    first, second = tmp_path / "a" / "people.duckdb", tmp_path / "b" / "people.duckdb"
    first.parent.mkdir()
    with Session(first, role="owner") as owner:
        owner.run(MAKE)
    if request.param == "file":
        return first, first
    second.parent.mkdir()
    url = request.getfixturevalue("url")
    assert CliRunner().invoke(main, ["ledger", "move", str(first), "--to", url]).exit_code == 0
    shutil.copy2(first, second)
    sqlpriv.connect(second, ledger=url).close()
    return first, second


def account(vault: Path) -> Account:
    with Session(vault) as session:
        spending = session._access.kernel.ledger.account("people")
    assert spending is not None
    return spending


def charges(vault: Path) -> int:
    return account(vault).charges


@contextmanager
def halted(vault: Path, when: str, step: str) -> Iterator[ChildPython]:
    """A process that asks, and stops at a step of the gate until it is told to go on."""
    child = ChildPython(CHILD, vault, when, step, ASK)
    try:
        assert child.stdout.readline() == "halted\n"
        yield child
    finally:
        child.kill()
        child.communicate(timeout=PATIENCE)


class Asking(threading.Thread):
    """A session that asks in a thread of this process."""

    def __init__(self, vault: Path, sql: str = ASK) -> None:
        super().__init__()
        self.session = Session(vault)
        self.session.describe(ASK)  # whatever takes long the first time
        self.sql, self.answer, self.error = sql, "", ""

    def run(self) -> None:
        with self.session as session:
            try:
                table = session.execute(self.sql).table
                self.answer = str(sorted(table.to_pylist(), key=str) if table else "made")
            except sqlpriv.Error as error:
                self.error = str(error)

    def waits(self) -> bool:
        """Whether it has not answered after a while in which it would have."""
        self.join(0.7)
        return self.is_alive()

    def end(self) -> str:
        """What it was answered."""
        self.join(PATIENCE)
        assert self.error == ""
        return self.answer


def ask(vault: Path, sql: str = ASK) -> Asking:
    asking = Asking(vault, sql)
    asking.start()
    return asking


def test_who_comes_second_waits_for_the_seal(servers: tuple[Path, Path]) -> None:
    with halted(servers[0], "before", "cells") as first:
        second = ask(servers[1])
        assert second.waits()
        told, _ = first.communicate("\n", timeout=PATIENCE)
        assert second.end() == told.strip()
        assert "count" in told
    assert charges(servers[0]) == 1


@pytest.mark.parametrize(
    ("when", "step", "charged"),
    [
        ("before", "_charge", 0),
        ("after", "_charge", 1),
        ("after", "cells", 1),
        ("before", "seal", 1),
    ],
)
def test_who_waits_buys_when_the_first_is_killed(
    servers: tuple[Path, Path], when: str, step: str, charged: int
) -> None:
    """A charge of the one that was killed stays."""
    with halted(servers[0], when, step) as first:
        second = ask(servers[1])
        assert second.waits()
        first.kill()
        assert "count" in second.end()
    assert charges(servers[0]) == charged + 1


def test_an_answer_that_was_sealed_before_the_kill_is_replayed(servers: tuple[Path, Path]) -> None:
    with halted(servers[0], "after", "seal") as first:
        first.kill()
        assert "count" in ask(servers[1]).end()
    assert charges(servers[0]) == 1


def test_who_is_killed_while_it_waits_has_paid_nothing(servers: tuple[Path, Path]) -> None:
    with halted(servers[0], "before", "cells") as first:
        with halted(servers[1], "after", "take"):
            pass  # the lock was not had; it is killed here
        assert "count" in first.communicate("\n", timeout=PATIENCE)[0]
    assert charges(servers[0]) == 1


def test_other_questions_do_not_wait(servers: tuple[Path, Path]) -> None:
    with halted(servers[0], "before", "cells"):
        assert "avg" in ask(servers[1], ASKED["mean"]).end()


def test_who_waits_can_be_interrupted(servers: tuple[Path, Path]) -> None:
    with halted(servers[0], "before", "cells"):
        second = ask(servers[1])
        while second.is_alive() and not second.session._access.intents._waiting:
            time.sleep(0.01)
        second.session.interrupt()
        second.join(PATIENCE)
        assert "nothing was read or charged" in second.error
    assert charges(servers[0]) == 1


def test_a_question_whose_buyer_hangs_is_bought_again(
    servers: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(intents, "EXPIRY_SECONDS", 0.5)
    with halted(servers[0], "before", "cells"):
        assert "count" in ask(servers[1]).end()
    assert charges(servers[0]) == 2


@pytest.mark.parametrize("question", ASKED)
def test_two_sessions_of_one_moment_pay_as_one(servers: tuple[Path, Path], question: str) -> None:
    both = [Asking(vault, ASKED[question]) for vault in servers]
    (charge,) = both[0].session.quote(ASKED[question]).charges
    for asking in both:
        asking.start()
    first, second = (asking.end() for asking in both)
    assert first == second
    assert account(servers[0]).spent == charge.price


def test_without_intents_both_would_pay(
    servers: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin."""
    monkeypatch.setattr(Intents, "hold", lambda *_: nullcontext())
    with halted(servers[0], "before", "cells") as first:
        assert "count" in ask(servers[1]).end()
        first.communicate("\n", timeout=PATIENCE)
    assert charges(servers[0]) == 2
