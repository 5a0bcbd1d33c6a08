"""A process that is forked leaves its child no connection to a ledger."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Budget, Rho

SELLING = """
import os, sys
from contextlib import suppress
from pathlib import Path
from sqlpriv.errors import BudgetExhausted
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.terms.budget import Rho

def charge(ledger, nano):
    "Pays as the gate does: a statement and its charge, or neither."
    with ledger.begin("IMMEDIATE"):
        ledger.charge(ledger.begin_statement("ada", "…"), "people", Rho(nano))

def sell(ledger):
    "Sells a nano whenever it is told to, 11 times; says how many it sold."
    sold = 0
    print("open", flush=True)
    for _ in range(11):
        sys.stdin.readline()
        with suppress(BudgetExhausted):
            charge(ledger, 1)
            sold += 1
        print(sold, flush=True)

path = Path(sys.argv[1])
"""
FORKING = """
ledger = Ledger(path)
ledger.account("people")
ready, ended = os.pipe()
if os.fork():
    ledger.close()
    os._exit(0)
os.close(ended)
os.read(ready, 1)  # until its parent has ended
sell(ledger)
os._exit(0)
"""
OPENING = """
ledger = Ledger(path)
ledger.account("people")
sell(ledger)
"""
SHARING = """
ledger = Ledger(path)
ledger.account("people")
is_child = any(os.fork() == 0 for _ in range(3))
sold = 0
with suppress(BudgetExhausted):
    while True:
        charge(ledger, 23)
        sold += 1
os.write(1, f"{sold}\\n".encode())
while not is_child:
    try:
        os.wait()
    except ChildProcessError:
        break
os._exit(0)
"""


class Seller:
    """A process that sells when it is told to."""

    def __init__(self, script: str, path: Path) -> None:
        command = [sys.executable, "-c", SELLING + script, str(path)]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert self._line() == "open"

    def sell(self) -> int:
        """Has it try to sell a nano; returns how many it has sold."""
        assert self._process.stdin is not None
        print(file=self._process.stdin, flush=True)
        return int(self._line())

    def close(self) -> None:
        self._process.communicate(timeout=60)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


def test_a_child_that_outlives_its_parent_and_another_process_share_one_budget(place: Path) -> None:
    """Each of them sold all of it: the parent had removed the log that the child went on writing
    to. In PostgreSQL the parent ended the child's connection."""
    with closing(Ledger(place)) as ledger:
        ledger.set_budget(Budget("people", Rho(10), 1e-9), "owner")
    with closing(Seller(FORKING, place)) as child, closing(Seller(OPENING, place)) as other:
        sold = [(child.sell(), other.sell()) for _ in range(11)][-1]
    print(f"the child sold {sold[0]} and the other process {sold[1]} of 10")
    assert sum(sold) == 10
    with closing(Ledger(place)) as ledger:
        account = ledger.account("people")
    assert account is not None
    assert account.charges == 10


def test_a_parent_and_its_children_share_one_budget(ledger: Ledger, place: Path) -> None:
    """Each uses the ledger that the parent had open. One connection of PostgreSQL gave the answers
    of one process to the other."""
    done = subprocess.run(
        [sys.executable, "-c", SELLING + SHARING, str(place)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.stderr == ""
    sold = [int(line) for line in done.stdout.split()]
    print(f"a parent and three children sold {sold} of 43")
    assert len(sold) == 4
    assert sum(sold) == 43
    assert ledger.account("people").charges == 43  # type: ignore[union-attr]  # it has a budget
