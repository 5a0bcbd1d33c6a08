"""Asking again, asking around: each test prints what the attacker learned, and it is nothing."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from contextlib import closing

import numpy as np
import pytest
from support.child_processes import ChildPython
from support.ledger_rows import releases
from support.vaults import EXACT, allowed, ask

from sqlpriv.errors import BudgetExhausted, Refused
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Price, Rho
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel

MakeKernel = Callable[..., Kernel]
SCAN = a.Scan("people")
COUNT = a.Count(SCAN)
PEOPLE = "CREATE TABLE people AS SELECT i AS id FROM range(1000) r(i)"


def test_averaging_the_same_query(make_kernel: MakeKernel) -> None:
    """40 times, under other principals, in other sessions, at other prices: one sample."""
    kernel = make_kernel(PEOPLE)
    price = Rho.at_most(0.001)
    heard = set()
    for i in range(40):
        with closing(Kernel(kernel.vault)) if i % 10 == 0 else _kept(kernel) as session:
            contract = session.contracts()["people"]
            cheaper = Rho(price.nano - i)
            with Allowance(session, contract, price, f"analyst {i}", "SELECT") as allowance:
                heard.add(float(allowance.release([Measurement(COUNT, cheaper)])[0].values[0]))
    print(f"40 answers, {len(heard)} different, {kernel.ledger.account('people').spent} spent")
    assert len(heard) == 1
    assert kernel.ledger.account("people").spent == price


class _kept:  # noqa: N801  # reads as a function where it is used
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel

    def __enter__(self) -> Kernel:
        return self.kernel

    def __exit__(self, *_: object) -> None:
        return None


def guesses(kernel: Kernel, targets: range, price: Price) -> tuple[list[bool], Rho]:
    """Whether each target is there, as COUNT(*) less COUNT(*) WHERE id <> target says."""
    others = [a.Where(SCAN, a.Call("<>", (a.Col("id"), a.Lit(t, Type.INTEGER)))) for t in targets]
    asked = [Measurement(q, price) for q in (COUNT, *map(a.Count, others))]
    whole, *rest = (r.values[0] for r in ask(kernel, *asked))
    spent = kernel.ledger.account("people").spent
    assert isinstance(spent, Rho)
    return [bool(whole - other > 0.5) for other in rest], spent


def test_differencing_overlapping_queries(make_kernel: MakeKernel) -> None:
    """n = 100 targets, each present by a coin. At sigma = 20 a difference has a standard deviation
    of 28, so a guess is right with probability 0.507. Threshold: more than 74 right of 100 is no
    luck (p < 1e-6). Twin: with the noise bought away all 100 are right. Overlap is never free:
    every query is paid in full."""
    coin = random.Random(20240607)
    present = [coin.random() < 0.5 for _ in range(100)]
    rows = ", ".join(f"({i})" for i, there in enumerate(present) if there)
    kernel = make_kernel(f"CREATE TABLE people AS SELECT * FROM (VALUES {rows}) v(id)")
    price = Rho.at_most(1 / (2 * 20**2))
    noisy, spent = guesses(kernel, range(100), price)
    exact, _ = guesses(kernel, range(100), EXACT)
    right = sum(g == p for g, p in zip(noisy, present, strict=True))
    print(f"{right} of 100 right, for rho = {spent.value}")
    assert right <= 74
    assert spent.nano == 101 * price.nano
    assert exact == present


def test_splitting_a_query_into_cells_gains_nothing(make_kernel: MakeKernel) -> None:
    """One query with 400 cells against the whole: their sum is 20 times as noisy as one cell. Of a
    variance, seven standard deviations are passed by chance with probability below 1e-7."""
    kernel = make_kernel(PEOPLE)
    key = a.Key(a.Col("id"), tuple(range(400)))
    (release,) = ask(kernel, Measurement(a.Count(SCAN, keys=(key,)), Rho.at_most(0.005)))
    noise = release.values.ravel() - 1
    print(f"the sum of 400 cells is {noise.sum():.0f} off, a cell {np.abs(noise).mean():.0f}")
    assert release.sigma == pytest.approx(10, rel=1e-3)
    assert abs(float(np.mean(noise**2)) / 100 - 1) < 7 * math.sqrt(2 / 400)


BUY = """
import sys
from pathlib import Path
from support.vaults import ask
from sqlpriv.errors import BudgetExhausted
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.vault import Kernel
from sqlpriv.kernel.terms.release import Measurement
kernel = Kernel(Path(sys.argv[1]))
try:
    ask(kernel, Measurement(a.Count(a.Scan("people"), within=None), Rho(600)), limit=Rho(600))
    print("answered")
except BudgetExhausted:
    print("refused")
"""


def test_a_second_process_does_not_reset_the_budget(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(PEOPLE, budget=Budget("people", Rho(1000), 1e-9))
    key = a.Key(a.Col("id"), (1, 2))
    ask(kernel, Measurement(a.Count(SCAN, (key,)), Rho(600)))
    said, _ = ChildPython(BUY, kernel.vault).communicate()
    print(f"a new process was {said}")
    assert said == "refused\n"
    assert kernel.ledger.account("people").spent == Rho(600)


@pytest.mark.parametrize("how", ["copied", "linked", "ledger deleted"])
def test_a_vault_without_its_ledger_answers_nobody(make_kernel: MakeKernel, how: str) -> None:
    """Contracts live in the ledger: where it is not, no table is declared, and all are refused.

    What remains (kernel/README.md): who may write the folder can put back an older ledger."""
    kernel = make_kernel(PEOPLE, budget=Budget("people", Rho(1000), 1e-9))
    ask(kernel, Measurement(COUNT, Rho(1000)))
    vault = kernel.vault
    kernel.close()
    if how == "copied":
        vault = vault.with_name("other.duckdb")
        vault.write_bytes(kernel.vault.read_bytes())
    elif how == "linked":
        vault = vault.with_name("other.duckdb")
        vault.symlink_to(kernel.vault)
    else:
        for file in vault.parent.glob("people.ledger*"):
            file.unlink()
    with closing(Kernel(vault)) as fresh:
        contract = fresh.contracts()["people"]
        with pytest.raises(Refused) as caught:
            Allowance(fresh, contract, Rho(1000), "mallory", "SELECT")
        print(f"{how}: {caught.value}")
        assert releases(fresh.ledger) == []


def test_many_small_statements_do_not_outspend(make_kernel: MakeKernel) -> None:
    """100 nano sold in bites of 7: 14 bites, and the 2 left buy nothing that costs 7."""
    kernel = make_kernel(PEOPLE, budget=Budget("people", Rho(100), 1e-9))
    bought = 0
    with allowed(kernel) as allowance:
        for i in range(18):
            key = a.Key(a.Col("id"), (i,))
            try:
                allowance.release([Measurement(a.Count(SCAN, (key,)), Rho(7))])
                bought += 1
            except BudgetExhausted:
                pass
    print(f"{bought} answers, {kernel.ledger.account('people').left.nano} nano left")
    assert (bought, kernel.ledger.account("people").left.nano) == (14, 2)
