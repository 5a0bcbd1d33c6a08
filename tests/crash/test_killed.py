"""kill -9 before and after each of charge, read, noise and seal.

Whatever happens: the ledger opens, the charge is there if and only if the kill came after it, an
answer is sealed whole or not at all, and the next statement is answered.
"""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from support.child_processes import ChildPython
from support.ledger_rows import releases
from support.vaults import allowed, ask, is_sealed

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import Categories
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel

ROWS = "CREATE TABLE people AS SELECT i AS id, ['f', 'm'][i % 2 + 1] AS sex FROM range(100) r(i)"
BY_SEX = a.Key(a.Col("sex"), ("f", "m"))
BATCH = (
    Measurement(a.Count(a.Scan("people"), (BY_SEX,)), Rho(40)),
    Measurement(a.Count(a.Scan("people"), keys=(BY_SEX,)), Rho(60)),
)

CHILD = """
import os, signal, sys
from pathlib import Path
from test_killed import BATCH
from support.vaults import ask
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.vault import Kernel
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.proof.noise import Noise
from sqlpriv.kernel.reader import Reader

_, vault, when, step = sys.argv
owner = {"_charge": Allowance, "cells": Reader, "draw": Noise, "seal": Ledger}[step]
real = getattr(owner, step)

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def deadly(*args):
    if when == "before":
        die()
    found = real(*args)
    if when == "after":
        die()
    return found

setattr(owner, step, deadly)
ask(Kernel(Path(vault)), *BATCH)
"""
STEPS = ["_charge", "cells", "draw", "seal"]


def run_child(vault: Path, when: str, step: str) -> int:
    return ChildPython(CHILD, vault, when, step).wait()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("step", STEPS)
def test_a_killed_statement_forgets_nothing(
    make_kernel: Callable[..., Kernel], when: str, step: str
) -> None:
    kernel = make_kernel(
        ROWS, domains={"sex": Categories(("f", "m"))}, budget=Budget("people", Rho(250), 1e-9)
    )
    kernel.close()
    assert run_child(kernel.vault, when, step) == -signal.SIGKILL
    charged = (when, step) != ("before", "_charge")
    sealed = (when, step) == ("after", "seal")
    kernel = Kernel(kernel.vault)
    try:
        assert kernel.ledger.account("people").spent == Rho(100 if charged else 0)
        assert len(releases(kernel.ledger)) == (2 if sealed else 0)
        assert [is_sealed(kernel, m) for m in BATCH] == [sealed] * 2
        again = ask(kernel, *BATCH, limit=Rho(100))
        assert [r.replayed for r in again] == [sealed] * 2
        assert [r.values.shape for r in again] == [(2,), (1, 2)]
        assert kernel.ledger.account("people").spent == Rho(100 * (charged + (not sealed)))
        with allowed(kernel) as allowance:
            assert allowance.release(BATCH)[1].replayed
    finally:
        kernel.close()


def test_a_child_that_is_not_killed_answers(make_kernel: Callable[..., Kernel]) -> None:
    """The twin: the child's patching alone changes nothing."""
    kernel = make_kernel(ROWS, domains={"sex": Categories(("f", "m"))})
    assert run_child(kernel.vault, "never", "draw") == 0
    assert kernel.ledger.account("people").spent == Rho(100)
    assert len(releases(kernel.ledger)) == 2
