"""The gate: paid before read, noised before seen, sealed for ever; a refusal costs nothing."""

from __future__ import annotations

import _thread
import math
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from support.ledger_rows import releases
from support.vaults import EXACT, allowed, ask, batch_price, is_sealed, left, write

from sqlpriv.errors import (
    BudgetExhausted,
    DeclarationError,
    KernelError,
    LedgerError,
    OperationalError,
    ReadFailed,
    Refused,
    VaultBusy,
)
from sqlpriv.kernel import gate
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.ledger.records import Ledger
from sqlpriv.kernel.proof.noise import Noise
from sqlpriv.kernel.proof.sensitivity import Candidate
from sqlpriv.kernel.reader import Reader
from sqlpriv.kernel.sql.queries import Rendered
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Epsilon, Price, Rho
from sqlpriv.kernel.terms.contract import Categories, Interval, TableFacts, Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.aggregates.means.mean_bins import bin_edges
from sqlpriv.plan.pricing.predictions import predict_measurements
from sqlpriv.session.declarations.declared_domains import domain_body

PEOPLE = """
CREATE TABLE people AS
SELECT i AS id, CASE WHEN i % 3 = 0 THEN 'f' ELSE 'm' END AS sex, i % 5 AS age,
       i / 10.0 AS x, 'secret-' || i AS s FROM range(60) r(i);
"""
DOMAINS = {"sex": Categories(("f", "m")), "age": Interval(0, 4), "x": Interval(0.0, 6.0)}
SMALL = Budget("people", Rho(1000), 1e-9)
MakeKernel = Callable[..., Kernel]
SCAN = a.Scan("people")
BY_SEX = a.Key(a.Col("sex"), ("f", "m"))
BY_AGE = a.Key(a.Col("age"), tuple(range(5)))
COUNT = a.Count(SCAN, (BY_SEX,))


@pytest.fixture
def people(make_kernel: MakeKernel) -> Kernel:
    return make_kernel(PEOPLE, domains=DOMAINS)


@pytest.fixture
def small(make_kernel: MakeKernel) -> Kernel:
    """1000 nano of rho in all: enough for small prices and no more."""
    return make_kernel(PEOPLE, domains=DOMAINS, budget=SMALL)


def test_contracts_are_made_once_of_one_state_and_anew_of_another(people: Kernel) -> None:
    first = people.contracts()
    assert people.contracts() is first
    people.ledger.declare("people", "owner", bound=[2, 1])
    assert people.contracts()["people"].unit.rows_per_unit == 2
    people.ledger.declare("people", "owner", grants={"ada": False})
    assert people.contracts()["people"].grants == (("ada", False),)
    snapshot = people.contracts()["people"].snapshot
    people.ledger.record_facts(snapshot, {"people": {"bounded": False, "constant": ["sex"]}})
    assert people.contracts()["people"].facts == TableFacts(False, frozenset({"sex"}))


def spent(kernel: Kernel) -> int:
    return kernel.ledger.account("people").spent.nano


def measured(query: a.Query = COUNT, price: Price = EXACT) -> Measurement:
    return Measurement(query, price)


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any read for an analyst fails the test (an owner's verifying is another method)."""

    def never(*_: object) -> Any:
        pytest.fail("a private row was read")

    monkeypatch.setattr(Reader, "cells", never)


# --- the order of things ---


def test_charge_read_noise_seal(people: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []

    def watch(owner: type, method: str) -> None:
        real = getattr(owner, method)

        def watched(*args: Any, **named: Any) -> Any:
            happened.append(method)
            if method == "cells":
                assert (
                    people.ledger.account("people").charges == 1
                )  # on disk, not merely on its way
            return real(*args, **named)

        monkeypatch.setattr(owner, method, watched)

    for owner, method in [(Ledger, "charge"), (Reader, "cells"), (Noise, "draw"), (Ledger, "seal")]:
        watch(owner, method)
    ask(people, measured())
    assert happened == ["charge", "cells", "draw", "seal"]


@pytest.mark.parametrize(
    "asks",
    [
        lambda allowance: allowance.release([measured()]),
        lambda allowance: allowance.choose(candidates(4, 7, 8), EXACT, EVERYWHERE),
    ],
)
@pytest.mark.parametrize("mode", ["", "IMMEDIATE"])
@pytest.mark.usefixtures("unread")
def test_nothing_is_read_in_a_transaction_that_could_undo_its_charge(
    people: Kernel, asks: Callable[[Allowance], object], mode: str
) -> None:
    """The answer had left when the charge was undone."""
    with (
        allowed(people) as allowance,
        pytest.raises(KernelError, match="undo"),
        people.ledger.begin(mode),
    ):
        asks(allowance)
    assert spent(people) == 0


def test_exact_answers_where_noise_is_bought_away(people: Kernel) -> None:
    batch = [
        COUNT,
        a.Count(SCAN, (BY_SEX,), (BY_AGE,), within=(1,)),
        a.Count(SCAN, keys=(BY_AGE,)),
        a.Sum(SCAN, a.Col("age"), 0, 4, (BY_SEX,)),
        a.Count(SCAN, (BY_SEX,), (BY_AGE,)),
    ]
    counts, males, ages, sums, table = (
        r.values for r in ask(people, *(measured(q, Rho(10**16)) for q in batch))
    )
    assert counts.tolist() == [20, 40]
    assert table.tolist() == [[4] * 5, [8] * 5]
    assert males.tolist() == table[1:].tolist()
    assert ages.tolist() == [[12] * 5]
    assert sums.tolist() == [0, 0]  # of age - 2
    different = a.Distinct(SCAN, (BY_SEX,), (), a.Col("age"))
    known = a.Count(SCAN, (BY_SEX,), (), a.Col("age"))
    both = ask(people, *(measured(q, Rho(10**16)) for q in (different, known)))
    assert [r.values.tolist() for r in both] == [[5, 5], [20, 40]]  # read apart, sealed apart
    real = ask(people, measured(a.Sum(SCAN, a.Col("x"), 0.0, 6.0), Rho(10**17)))[0]
    assert abs(real.values[0] - sum(i / 10 - 3 for i in range(60))) < 6 * real.sigma < 0.01


def test_a_batch_is_charged_once_at_its_price(people: Kernel) -> None:
    batch = [measured(a.Count(SCAN, (BY_SEX,), within=(i,)), Rho(500)) for i in (0, 1)]
    contract = people.contracts()["people"]
    assert contract.unit is not None
    assert batch_price(batch, contract) == Rho(500)
    ask(people, *batch)
    assert spent(people) == 500
    assert people.ledger.account("people").charges == 1


@pytest.mark.usefixtures("unread")
def test_explaining_reads_and_costs_nothing(people: Kernel) -> None:
    contract = people.contracts()["people"]
    query = a.Sum(SCAN, a.Col("x"), 0.0, 6.0, (BY_SEX,), (BY_AGE,))
    (said,) = predict_measurements(people, [measured(query, Rho.at_most(0.5))], contract)
    assert (said.mechanism, said.cells, said.price) == ("discrete Gaussian", 10, Rho.at_most(0.5))
    assert said.sensitivity == pytest.approx(3.0)
    assert said.sigma == pytest.approx(3.0)
    assert "WITH" in said.sql
    assert spent(people) == 0


def test_explaining_tells_nothing_that_was_found_in_rows(people: Kernel) -> None:
    found = people.contracts()["people"]
    unseen = replace(found, facts=TableFacts(), others={})
    via = replace(unseen, table="orders", others={"people": found})  # of a child of people
    assert found.facts.bounded
    assert (
        len({predict_measurements(people, [measured()], c)[0].sql for c in (found, unseen, via)})
        == 1
    )


# --- replay ---


def test_a_replay_is_free_and_the_same(people: Kernel) -> None:
    first = ask(people, measured(price=Rho(500)))[0]
    for nano in (500, 499, 1):
        (again,) = ask(people, measured(price=Rho(nano)), limit=Rho(nano))
        assert again.replayed
        assert (again.price, again.sigma) == (first.price, first.sigma)
        assert (again.values == first.values).all()
        assert is_sealed(people, measured(price=Rho(nano)))
    assert spent(people) == 500
    assert [row["replays"] for row in releases(people.ledger)] == [3]


def test_answers_are_sealed_when_the_allowance_is_closed(people: Kernel) -> None:
    """At once, whatever ends it; asked again before that, a query is sealed then and replayed."""
    one = measured(price=Rho(500))
    other = measured(a.Count(SCAN, (BY_SEX,), (BY_AGE,)), Rho(30))
    with suppress(ZeroDivisionError), allowed(people) as allowance:
        (first,) = allowance.release([one])
        assert (first.id, spent(people), releases(people.ledger)) == (0, 500, [])
        (again,) = allowance.release([one])
        assert again.replayed
        assert (again.values == first.values).all()
        allowance.release([other])
        assert len(releases(people.ledger)) == 1
        raise ZeroDivisionError
    assert [is_sealed(people, m) for m in (one, other)] == [True, True]
    assert [row["replays"] for row in releases(people.ledger)] == [1, 0]
    assert spent(people) == 530
    with allowed(people) as allowance:
        allowance.repeatable = True  # its answers are sealed as they are given
        allowance.release([measured(price=Rho(600))])
        assert len(releases(people.ledger)) == 3


def test_a_higher_price_is_paid_again(people: Kernel) -> None:
    first = ask(people, measured(price=Rho(500)))[0]
    assert not is_sealed(people, measured(price=Rho(501)))
    dearer = ask(people, measured(price=Rho(501)))[0]
    assert not dearer.replayed
    assert (dearer.values != first.values).any()  # sigma is 31,623: equal with odds below 1e-8
    assert spent(people) == 1001


def test_of_several_seals_the_cheapest_answers_what_is_to_be_repeatable(people: Kernel) -> None:
    """The twin: another statement is answered by the dearest, which is another after each sale."""
    for nano in (500, 700):
        ask(people, measured(price=Rho(nano)))
    sold = [row["id"] for row in releases(people.ledger)]

    def replayed(nano: int, repeatable: bool) -> int:
        with allowed(people, Rho(nano)) as allowance:
            allowance.repeatable = repeatable
            (release,) = allowance.release([measured(price=Rho(nano))])
            assert release.replayed
            return release.id

    assert [replayed(nano, True) for nano in (1, 500, 501)] == [sold[0], sold[0], sold[1]]
    assert [replayed(nano, False) for nano in (1, 500, 501)] == [sold[1], sold[0], sold[1]]


def test_of_a_batch_only_what_is_new_is_paid(people: Kernel) -> None:
    first = ask(people, measured(price=Rho(500)))[0]
    other = a.Count(SCAN, (BY_SEX,), (BY_AGE,))
    old, new = ask(people, measured(price=Rho(500)), measured(other, Rho(30)))
    assert (old.replayed, new.replayed) == (True, False)
    assert (old.values == first.values).all()
    assert spent(people) == 530


def test_another_session_replays_too(people: Kernel) -> None:
    first = ask(people, measured(price=Rho(500)))[0]
    other = Kernel(people.vault)
    assert (ask(other, measured(price=Rho(500)))[0].values == first.values).all()
    other.close()


@pytest.mark.parametrize("change", ["data", "domain", "bound", "wal"])
def test_nothing_is_replayed_across_a_change(people: Kernel, change: str) -> None:
    first = ask(people, measured(price=Rho(500)))[0]
    if change == "data":
        write(people.vault, "UPDATE people SET age = 0 WHERE id = 1")
    elif change == "wal":
        write(people.vault, "PRAGMA disable_checkpoint_on_shutdown; DELETE FROM people WHERE id=1")
    elif change == "domain":
        people.ledger.declare("people", "owner", domains={})
    else:
        people.ledger.declare("people", "owner", bound=[2, 1])
    assert not is_sealed(people, measured(price=Rho(500)))
    again = ask(people, measured(price=Rho(500)))[0]
    assert not again.replayed
    assert (again.values != first.values).any()
    assert spent(people) == 1000


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize("change", ["data", "declaration", "facts"])
def test_a_plan_that_is_out_of_date_is_refused(people: Kernel, change: str) -> None:
    with allowed(people) as allowance:
        if change == "data":
            write(people.vault, "INSERT INTO people VALUES (60, 'f', 1, 0.0, '')")
        elif change == "declaration":
            people.ledger.declare("people", "owner", key="age")
        else:
            snapshot = people.contracts()["people"].snapshot
            people.ledger.record_facts(snapshot, {})
        with pytest.raises(OperationalError, match="changed since"):
            allowance.release([measured()])
    assert spent(people) == 0


@pytest.mark.usefixtures("unread")
def test_what_is_said_of_other_tables_is_compared_too(people: Kernel) -> None:
    """Else a contract that calls a private table public would have it read as such."""
    mine = people.contracts()["people"]
    forged = replace(mine, others={**mine.others, "more": replace(mine, unit=None, public=True)})
    with (
        Allowance(people, forged, EXACT, "ann", "SELECT") as allowance,
        pytest.raises(OperationalError, match="changed since"),
    ):
        allowance.release([measured()])
    assert spent(people) == 0


# --- money ---


@pytest.mark.usefixtures("unread")
def test_what_cannot_be_paid_is_not_read(small: Kernel) -> None:
    with pytest.raises(BudgetExhausted):
        ask(small, measured(price=Rho(1001)), limit=Rho(1001))
    with pytest.raises(BudgetExhausted):
        ask(small, measured(price=Rho(600)), measured(a.Count(SCAN), Rho(401)), limit=Rho(5000))
    assert spent(small) == 0


def test_the_whole_budget_can_be_spent_and_then_nothing(small: Kernel) -> None:
    first = ask(small, measured(price=Rho(1000)))[0]
    assert small.ledger.account("people").left == Rho(0)
    with pytest.raises(BudgetExhausted):
        ask(small, measured(a.Count(SCAN), Rho(1)), limit=Rho(1))
    (again,) = ask(small, measured(price=Rho(1000)), limit=Rho(0))
    assert (again.values == first.values).all()
    assert spent(small) == 1000


def test_an_allowance_is_kept(people: Kernel) -> None:
    with allowed(people, Rho(100)) as allowance:
        allowance.release([measured(price=Rho(60))])
        assert left(allowance) == Rho(40)
        with pytest.raises(BudgetExhausted):
            allowance.release([measured(a.Count(SCAN), Rho(41))])
        allowance.release([measured(price=Rho(60))])  # a replay
        allowance.release([measured(a.Count(SCAN), Rho(40))])
        assert (left(allowance), allowance.spent) == (Rho(0), Rho(100))
    with pytest.raises(KernelError):
        allowance.release([measured(price=Rho(60))])
    assert spent(people) == 100


def test_a_read_whose_clock_cannot_be_started_costs_nothing(
    people: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Near the end of a server's memory no thread can be started: the charge had been paid."""
    ask(people, measured(price=Rho(60)))  # what is started once is started
    started: list[int] = []
    start = _thread.start_new_thread

    def start_and_note(*run: Any) -> None:
        started.append(spent(people))
        start(*run)

    def fail(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(_thread, "start_new_thread", fail)
        with pytest.raises(OperationalError, match="nothing was read or charged"):
            ask(people, measured(a.Count(SCAN), Rho(40)))
        assert spent(people) == 60
    monkeypatch.setattr(_thread, "start_new_thread", start_and_note)
    ask(people, measured(a.Count(SCAN), Rho(40)))
    assert started == [60]  # before it was paid
    assert spent(people) == 100


def test_a_statement_is_recorded_with_its_first_charge_or_not_at_all(small: Kernel) -> None:
    """What was refused leaves no statement, and what is paid then is of one that is there."""
    with small.ledger.begin() as db:
        count = db.execute("SELECT count(*) FROM statement").fetchone()[0]
    with allowed(small, Rho(5000)) as allowance:
        with pytest.raises(BudgetExhausted):
            allowance.release([measured(price=Rho(1001))])
        with allowed(small, Rho(10)) as another:
            another.release([measured(a.Count(SCAN), Rho(10))])
        object.__setattr__(allowance, "_limit", Rho(900))
        allowance.release([measured(price=Rho(900))])
    with small.ledger.begin() as db:
        statements = db.execute("SELECT count(*) FROM statement").fetchone()[0]
        charges = db.execute("SELECT statement_id, nano FROM charge ORDER BY id").fetchall()
    assert statements == count + 2
    assert [nano for _, nano in charges] == [10, 900]
    assert len({number for number, _ in charges}) == 2


def test_two_threads_of_one_allowance_pay_twice(
    people: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first has computed its price when the second pays as much: that is not its payment."""
    real, late = gate.sensitivity.joint_price, threading.Event()

    def slow(*args: Any) -> Any:
        found = real(*args)
        if threading.current_thread() is first:
            late.set()
            time.sleep(1)
        return found

    monkeypatch.setattr(gate.sensitivity, "joint_price", slow)
    with allowed(people) as allowance:
        first = threading.Thread(target=allowance.release, args=([measured(price=Rho(10))],))
        first.start()
        late.wait(10)
        allowance.release([measured(a.Count(SCAN), Rho(10))])
        first.join()
    assert spent(people) == 20


@pytest.mark.usefixtures("unread")
def test_a_statement_that_could_not_end_does_not_begin(small: Kernel) -> None:
    """It would ask for 600 and then for 600 more; only the first could be paid."""
    with allowed(small, Rho(1200)) as allowance, pytest.raises(BudgetExhausted):
        allowance.release([measured(price=Rho(600))])
    assert spent(small) == 0


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize(
    ("prices", "error"),
    [((Epsilon(5),), LedgerError), ((Rho(5), Epsilon(5)), KernelError), ((Rho(0),), KernelError)],
)
def test_prices_that_make_no_sense(people: Kernel, prices: Any, error: type[Exception]) -> None:
    batch = [measured(a.Count(SCAN, (BY_SEX,), within=(i,)), p) for i, p in enumerate(prices)]
    with pytest.raises(error):
        ask(people, *batch)
    assert spent(people) == 0


@pytest.mark.usefixtures("unread")
def test_without_a_budget_nothing_is_read(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(PEOPLE, domains=DOMAINS, budget=None)
    with pytest.raises(DeclarationError, match="nothing was read"):
        ask(kernel, measured(), limit=EXACT)


@pytest.mark.usefixtures("unread")
@pytest.mark.parametrize(
    "query",
    [
        a.Count(SCAN, of=a.Col("missing")),
        a.Count(a.Where(SCAN, a.Col("age"))),
        a.Count(SCAN, (a.Key(a.Call("=", (a.Col("s"), a.Lit(1, Type.INTEGER))), (True,)),)),
        a.Count(SCAN, (a.Key(a.Col("age"), ("1 OR 1=1",)),)),
        a.Count(SCAN, keys=(a.Key(a.Col("age"), tuple(range(1500))),) * 2),
        a.Sum(SCAN, a.Col("s"), 0, 1),
        a.Sum(SCAN, a.Col("age"), 4, 0),
        a.Sum(SCAN, a.Col("age"), 0, 2**62),
        a.Count(a.Scan("other")),
    ],
)
def test_queries_that_are_refused_cost_nothing(people: Kernel, query: a.Query) -> None:
    with pytest.raises(Refused):
        ask(people, measured(query))
    assert spent(people) == 0


@pytest.mark.usefixtures("unread")
def test_tables_without_a_unit_are_refused(people: Kernel) -> None:
    write(people.vault, "CREATE TABLE other (id INTEGER); CREATE TABLE open (id INTEGER)")
    people.ledger.declare("open", "owner", public=True)
    for table in ("other", "open"):
        contract = people.contracts()[table]
        with pytest.raises(Refused):
            Allowance(people, contract, EXACT, "ann", "SELECT")
    for table in ("people", "other", "missing"):
        with pytest.raises(Refused):
            people.public(table)
    assert people.public("OPEN").num_rows == 0


def test_a_table_with_a_unit_is_never_public(people: Kernel) -> None:
    """Whatever else was declared of it before or after: `SET PU` on a re-made public table, say."""
    people.ledger.declare("people", "owner", public=True)
    with pytest.raises(Refused):
        people.public("people")


# --- selection ---


def candidates(*estimates: float) -> list[Candidate]:
    """Marginals over age inside each sex; an estimate says how many are in every cell."""
    query = a.Count(SCAN, (BY_SEX,), (BY_AGE,))
    return [Candidate(query, np.full((2, 5), float(e))) for e in estimates]


EVERYWHERE = np.ones((2, 3), dtype=bool)


def test_each_stratum_chooses_what_is_worst_believed(people: Kernel) -> None:
    """Females are 4 in every cell, males 8."""
    with allowed(people) as allowance:
        assert allowance.choose(candidates(4, 7, 8), EXACT, EVERYWHERE) == (2, 0)
        only = np.array([[True, True, False], [False, True, True]])
        assert allowance.choose(candidates(4, 7, 8), EXACT, only) == (1, 1)
        weighed = candidates(4, 7, 8)
        weighed[1] = Candidate(weighed[1].query, weighed[1].estimate, weight=9.0)
        assert allowance.choose(weighed, EXACT, EVERYWHERE) == (1, 1)
        fined = candidates(4, 7, 8)
        fined[2] = Candidate(fined[2].query, fined[2].estimate, penalty=np.array([6.0, 0.0]))
        assert allowance.choose(fined, EXACT, EVERYWHERE) == (1, 0)
    assert spent(people) == 4 * EXACT.nano  # strata in parallel: each choice is paid once


def test_a_choice_reads_each_marginal_once(people: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    reads, real = [], Reader.cells
    monkeypatch.setattr(Reader, "cells", lambda *args: reads.append(1) or real(*args))
    with allowed(people) as allowance:
        allowance.choose(candidates(4, 7, 8), Rho(10), EVERYWHERE)
        allowance.choose(candidates(4, 7, 9), Rho(10), EVERYWHERE)
        assert (len(reads), spent(people)) == (1, 20)
        allowance.release([measured(candidates(4)[0].query, Rho(10))])
        assert (len(reads), spent(people)) == (1, 30)
        allowance.release([measured(a.Count(SCAN, (BY_SEX,), (BY_AGE,), of=a.Col("age")), Rho(10))])
    assert (len(reads), spent(people)) == (2, 40)


BINS = a.Roots(a.Col("x"), bin_edges(0.0, 6.0), 0.0, 6.0)


def test_what_is_foreseen_is_read_once_and_charged_when_it_is_asked(
    people: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """x is i / 10 of people 0 to 59, females being every third: they have the sum 57, which
    is 57 - 20 × 3 around 3, in threes; males have 120, which is 120 - 40 × 6 around 6, in sixes."""
    reads, real = [], Reader.cells
    monkeypatch.setattr(Reader, "cells", lambda *args: reads.append(1) or real(*args))
    histogram = a.Count(SCAN, (), (a.Key(BINS, tuple(range(len(BINS.edges) + 1))),))
    total = a.Clipped(SCAN, BINS, 0.0, 6.0, ((0.0, 6.0),) * 2, (BY_SEX,))
    later = replace(total, ends=((0.0, 6.0), (0.0, 12.0)))
    with allowed(people) as allowance:
        allowance.foresee([histogram, total])
        assert (len(reads), spent(people)) == (0, 0)
        allowance.release([measured(COUNT)])
        assert (len(reads), spent(people)) == (1, EXACT.nano)
        (counts,) = allowance.release([measured(histogram)])
        assert (len(reads), spent(people)) == (1, 2 * EXACT.nano)
        (sums,) = allowance.release([measured(later)])
        assert (len(reads), spent(people)) == (1, 3 * EXACT.nano)
    assert np.rint(counts.values).sum() == 60
    np.testing.assert_allclose(sums.values, [-1, -20], atol=0.01)
    with pytest.raises(KernelError, match="closed"):
        allowance.release([measured(total, Rho(EXACT.nano + 1))])
    assert not allowance._kept


def test_what_one_answer_is_made_of_is_of_one_read(make_kernel: MakeKernel) -> None:
    """40 units of two rows, 0 and 930, of which one is kept; each unit is a cell. A clipped sum is
    within ±1 of a kept row. Were its counts those that were read before, of other kept rows than
    its sums, every other cell would be 16 or -17: those that keep one row here and another there.
    At this price the noise is 0.0007: 1.02 is 28 standard deviations off."""
    kernel = make_kernel(
        "CREATE TABLE people AS SELECT i % 40 AS id, 930.0 * (i // 40) AS x FROM range(80) r(i)",
        domains={"x": Interval(0.0, 1000.0)},
    )
    cells = a.Key(a.Col("id"), tuple(range(40)))
    bins = a.Bin(a.Col("x"), (900.0, 950.0))
    query = a.Clipped(SCAN, bins, 0.0, 1000.0, ((900.0, 950.0),) * 40, (), (cells,))
    counts, _ = query.by_bin
    with allowed(kernel) as allowance:
        allowance.foresee([counts])
        allowance.release([Measurement(a.Count(SCAN), EXACT)])
        (clipped,) = allowance.release([Measurement(query, EXACT)])
        assert np.abs(clipped.values).max() < 1.02
        (again,) = allowance.release([Measurement(counts, EXACT)])
    assert np.abs(again.values.sum() - 40) < 0.1


@pytest.mark.usefixtures("unread")
def test_what_is_foreseen_is_checked_before_anything_is_read(people: Kernel) -> None:
    """A root of a text would make the engine fail, on rows alone."""
    of_text = a.Roots(a.Col("s"), BINS.edges, 0.0, 6.0)
    with allowed(people) as allowance:
        allowance.foresee([a.Count(SCAN, (), (a.Key(of_text, (0, 1)),))])
        with pytest.raises(Refused):
            allowance.release([measured()])
    assert spent(people) == 0


@pytest.mark.parametrize("within", [None, (0,), (1,)])
def test_what_a_choice_has_read_is_what_a_release_reads(
    people: Kernel, within: tuple[int, ...] | None
) -> None:
    """Females are 4 in every cell, males 8; the noise of EXACT is below one."""
    query = a.Count(SCAN, (BY_SEX,), (BY_AGE,), within=within)
    expected = np.repeat([4, 8], 5).reshape(2, 5)[[0, 1] if within is None else list(within)]
    with allowed(people) as allowance:
        allowance.choose(candidates(4, 7, 8), EXACT, EVERYWHERE)
        (kept,) = allowance.release([measured(query, EXACT)])
    with allowed(people) as allowance:
        (read,) = allowance.release([measured(query, Rho(EXACT.nano + 1))])
    assert (np.rint(kept.values) == expected).all()
    assert (np.rint(read.values) == expected).all()


def test_a_choice_in_some_strata_scores_those(people: Kernel) -> None:
    """In males, of whom there are 8 in every cell, 4 is the worst estimate; females are not asked,
    and what is later chosen for them costs nothing more: a unit lies in one stratum."""

    def inside(stratum: int) -> list[Candidate]:
        query = a.Count(SCAN, (BY_SEX,), (BY_AGE,), within=(stratum,))
        return [Candidate(query, np.full((1, 5), float(e))) for e in (4, 7, 8)]

    with allowed(people) as allowance:
        assert allowance.choose(inside(1), EXACT, EVERYWHERE[:1]) == (0,)
        assert spent(people) == EXACT.nano
        assert allowance.choose(inside(0), EXACT, EVERYWHERE[:1]) == (2,)
        assert spent(people) == EXACT.nano
        assert left(allowance).nano == allowance._limit.nano - EXACT.nano


def test_strata_catch_up_with_what_was_charged(people: Kernel) -> None:
    """One stratum is asked 100, then 120, the other 50, 60 and 115: the dearer of them counts."""
    with allowed(people) as allowance:
        for stratum, nano, charged in (
            (0, 100, 100),
            (1, 50, 100),
            (1, 60, 110),
            (0, 120, 220),
            (1, 115, 225),
        ):
            query = a.Count(SCAN, (BY_SEX,), within=(stratum,))
            allowance.release([measured(query, Rho(nano))])
            assert spent(people) == charged
        with pytest.raises(LedgerError):
            allowance.release([measured(a.Count(SCAN, (BY_SEX,), within=(0,)), Epsilon(1))])
        everybody = a.Count(SCAN, (), (BY_SEX,))
        allowance.release([measured(everybody, Rho(7))])
    assert spent(people) == 232


def test_a_whole_allowance_is_paid_once_and_before_the_first_row_is_read(people: Kernel) -> None:
    later = a.Count(SCAN, (BY_SEX,), (BY_AGE,))
    with allowed(people, Rho(500), whole=True) as allowance:
        allowance.release([measured(price=Rho(200))])
        assert (spent(people), allowance.spent) == (500, Rho(500))
        allowance.release([measured(later, Rho(300))])
        assert people.ledger.account("people").charges == 1
        with pytest.raises(BudgetExhausted):
            allowance.release([measured(a.Count(SCAN, (), (BY_AGE,)), Rho(1))])
    with allowed(people, Rho(500), whole=True) as allowance:
        allowance.release([measured(price=Rho(200))])  # replayed: nothing is read or paid
    assert spent(people) == 500


def test_a_price_of_another_kind_is_not_covered_by_what_was_paid(people: Kernel) -> None:
    with allowed(people, Rho(500), whole=True) as allowance:
        allowance.release([measured(price=Rho(200))])
        with pytest.raises(LedgerError):
            allowance.release([measured(a.Count(SCAN, (), (BY_AGE,)), Epsilon(1))])


def test_a_choice_is_replayed(people: Kernel) -> None:
    many = candidates(*range(3))
    with allowed(people) as allowance:
        first = [allowance.choose(many, Rho(10), EVERYWHERE) for _ in range(30)]
    with allowed(people) as allowance:
        assert {*first, allowance.choose(many, Rho(9), EVERYWHERE)} == {first[0]}
        assert spent(people) == 10
        allowance.choose(candidates(0, 1, 2.5), Rho(10), EVERYWHERE)
        allowance.choose(many, Rho(11), EVERYWHERE)
    assert spent(people) == 31


@pytest.mark.usefixtures("unread")
def test_choices_that_make_no_sense_cost_nothing(people: Kernel) -> None:
    one = candidates(1, 2, 3)
    text = a.Key(a.Call("+", (a.Col("s"), a.Lit(1, Type.INTEGER))), (1,))
    failing = a.Where(SCAN, a.Call("=", (a.Col("s"), a.Lit(1, Type.INTEGER))))
    bad: list[tuple[list[Candidate], Any]] = [
        ([], np.ones((2, 0), bool)),
        (one, np.ones((1, 3), bool)),
        (one, np.array([[True] * 3, [False] * 3])),
        ([*one[:2], Candidate(COUNT, np.zeros(2))], np.ones((2, 3), bool)[:, :2]),
        ([Candidate(one[0].query, np.zeros((2, 4)))], np.ones((2, 1), bool)),
        ([Candidate(one[0].query, np.full((2, 5), math.nan))], np.ones((2, 1), bool)),
        ([Candidate(one[0].query, one[0].estimate, weight=-1.0)], np.ones((2, 1), bool)),
        ([Candidate(a.Count(SCAN, (BY_SEX,), (text,)), np.zeros((2, 1)))], np.ones((2, 1), bool)),
        ([Candidate(a.Count(failing, (BY_SEX,)), np.zeros(2))], np.ones((2, 1), bool)),
        ([Candidate(a.Count(SCAN, (BY_SEX,), within=(5,)), np.zeros(1))], np.ones((1, 1), bool)),
    ]
    with allowed(people) as allowance:
        for asked, where in bad:
            with pytest.raises((KernelError, Refused)):
                allowance.choose(asked, EXACT, where)
    assert spent(people) == 0


# --- what could go wrong outside ---


def chain(error: BaseException) -> list[BaseException]:
    """An exception with all that hangs on it, however it was raised."""
    found: list[BaseException] = []
    queue: list[BaseException | None] = [error]
    while queue:
        if (one := queue.pop()) is not None and one not in found:
            found.append(one)
            queue += [one.__cause__, one.__context__]
    return found


@pytest.mark.parametrize("where", ["release", "choose"])
def test_the_engines_words_never_leave(
    people: Kernel, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    """DuckDB quotes the row that it failed on. Twin: without the gate, it does."""
    failing = (
        "SELECT 0 AS part, 0::BIGINT AS cell, sum(CAST(s AS INTEGER))::BIGINT AS value0 FROM people"
    )
    with (
        duckdb.connect(str(people.vault), read_only=True) as plain,
        pytest.raises(duckdb.Error, match="secret-"),
    ):
        plain.execute(failing)
    monkeypatch.setattr(gate, "render", lambda *_: Rendered(failing, {}))
    allowance = allowed(people)
    asking = {
        "release": lambda: allowance.release([measured(price=Rho(7))]),
        "choose": lambda: allowance.choose(candidates(1, 2, 3), Rho(7), EVERYWHERE),
    }
    with pytest.raises(ReadFailed) as caught:
        asking[where]()
    said = "".join(traceback.format_exception(caught.value))
    for one in chain(caught.value):
        said += f"{one} {one!r} {one.__dict__} {getattr(one, '__notes__', '')}"
    assert "secret-" not in said
    assert "Conversion" not in said
    assert "the charge stays" in said
    assert spent(people) == 7


HOLD = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('held', flush=True); input()"


@pytest.mark.parametrize("who", ["another process", "this process"])
def test_a_vault_that_is_written_is_busy(people: Kernel, who: str) -> None:
    contract = people.contracts()["people"]
    if who == "this process":
        with duckdb.connect(str(people.vault)), pytest.raises(VaultBusy, match="nothing was read"):
            Allowance(people, contract, EXACT, "ann", "SELECT").release([measured()])
    else:
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLD, people.vault],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(VaultBusy) as caught:
            Allowance(people, contract, EXACT, "ann", "SELECT").release([measured()])
        assert chain(caught.value) == [caught.value]
        holder.communicate("\n")
    assert spent(people) == 0
    ask(people, measured())


def test_a_file_that_is_no_vault(tmp_path: Path) -> None:
    (tmp_path / "v.duckdb").write_text("not a database")
    for vault in (tmp_path / "v.duckdb", tmp_path / "none.duckdb"):
        kernel = Kernel(vault)
        with pytest.raises(OperationalError):
            kernel.contracts()
        kernel.close()


# --- facts ---


def test_facts_are_found_when_they_hold(make_kernel: MakeKernel) -> None:
    twice = "INSERT INTO people SELECT id, sex, 4 - age, x, s FROM people WHERE id < 3"
    kernel = make_kernel(PEOPLE, domains=DOMAINS)
    assert kernel.contracts()["people"].facts == TableFacts(
        True, frozenset({"id", "sex", "age", "x"})
    )
    write(kernel.vault, twice)
    assert kernel.contracts()["people"].facts == TableFacts()  # until the owner verifies again
    kernel.verify()
    assert kernel.contracts()["people"].facts == TableFacts(False, frozenset({"id", "sex", "x"}))


def test_a_constraint_elsewhere_says_nothing_here(make_kernel: MakeKernel) -> None:
    """A table of that name in another schema is unique; ours has five rows a unit."""
    kernel = make_kernel(
        "CREATE SCHEMA s; CREATE TABLE s.people (id INTEGER PRIMARY KEY);"
        "CREATE TABLE people AS SELECT i // 5 AS id FROM range(50) r(i)"
    )
    assert not kernel.contracts()["people"].facts.bounded
    assert ask(kernel, measured(a.Count(SCAN)))[0].values.tolist() == [10]


def test_a_view_is_no_table(make_kernel: MakeKernel) -> None:
    kernel = make_kernel(
        "CREATE TABLE people (id INTEGER PRIMARY KEY); CREATE VIEW v AS SELECT * FROM people;"
        "CREATE SCHEMA s; CREATE TABLE s.v (id INTEGER)"
    )
    assert set(kernel.contracts()) == {"people"}


def test_bounding_is_done_by_the_gate_where_facts_do_not_hold(make_kernel: MakeKernel) -> None:
    rows = "CREATE TABLE people AS SELECT i // 10 AS id, 'f' AS sex FROM range(100) r(i)"
    for m in (1, 3, 10, 11):
        kernel = make_kernel(rows, f"v{m}.duckdb", m=m)
        assert ask(kernel, measured(a.Count(SCAN), EXACT))[0].values.tolist() == [10 * min(m, 10)]


# --- the noise, measured through the gate ---

CELLS = 14_000
MANY = a.Key(a.Col("age"), tuple(range(CELLS)))


@pytest.mark.parametrize(
    ("query", "price", "sigma"),
    [
        (a.Count(SCAN, keys=(MANY,)), Rho.at_most(0.02), 2 / math.sqrt(0.04)),
        (a.Count(SCAN, (BY_SEX, MANY)), Rho.at_most(0.02), 2 * math.sqrt(3) / math.sqrt(0.04)),
        (a.Sum(SCAN, a.Col("x"), 0.0, 6.0, (MANY,)), Rho(10**8), 6 * math.sqrt(3) / math.sqrt(0.2)),
        (a.Count(SCAN, (MANY,)), Epsilon.at_most(0.3), 6 / 0.3 * math.sqrt(2)),
        (a.Sum(SCAN, a.Col("age"), -50, 50, (BY_SEX, MANY)), Epsilon(10**8), 3000 * math.sqrt(2)),
    ],
)
def test_the_noise_is_what_was_paid_for(
    make_kernel: MakeKernel, query: a.Query, price: Price, sigma: float
) -> None:
    """n >= 14,000 cells, nearly all of them empty; m = 2, g = 3. The mean size of noise has a
    relative standard deviation of 0.755/sqrt(n) = 0.0064 (Gaussian) or 1/sqrt(n) = 0.0085
    (Laplace). Threshold 0.047: 5.5 of the latter (p < 1e-7). A scale that is off by 10 % moves it
    by 0.09 or more, another 5 beyond. The threshold on the mean is 5 (p < 1e-6).
    """
    total = type(price)(10**12)
    budget = Budget("people", total, 1e-9 if isinstance(price, Rho) else 0.0)
    table = "CREATE TABLE people (id INTEGER, sex VARCHAR, age INTEGER, x DOUBLE)"
    one = "INSERT INTO people VALUES (1, 'f', 3, 1.0)"
    kernel = make_kernel(f"{table}; {one}", m=2, g=3, budget=budget)
    release = ask(kernel, Measurement(query, price))[0]
    assert release.sigma == pytest.approx(sigma, rel=2e-3)
    noise = release.values.ravel() / sigma
    n = len(noise)
    assert n >= CELLS
    size = float(np.abs(noise).mean()) / math.sqrt(2 / math.pi if isinstance(price, Rho) else 1 / 2)
    assert abs(size - 1) < 0.047
    assert abs(size / 0.9 - 1) > 0.047
    assert abs(size / 1.1 - 1) > 0.047
    assert abs(noise.mean()) < 5 / math.sqrt(n)


def test_a_declaration_reads_only_the_tables_that_it_is_about(
    make_kernel: MakeKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Verifying is asked once of the same contents: a domain or a budget reads no row again."""
    two = "CREATE TABLE other AS SELECT range // 2 AS id, 1 AS x FROM range(6)"
    kernel = make_kernel(f"{PEOPLE}; {two}")
    counted: list[str] = []
    truths = Reader.truths

    def counting(reader: Reader, sql: str, engine: str) -> tuple[Any, ...]:
        counted.append(sql)
        return truths(reader, sql, engine)

    monkeypatch.setattr(Reader, "truths", counting)
    kernel.verify()
    assert counted == []  # `make_kernel` has verified these contents and declarations
    kernel.ledger.declare("other", "owner", key="id", unit=True, bound=[2, 1])
    kernel.verify()
    assert len(counted) == 1
    assert '"other"' in counted[0]
    kernel.ledger.declare("other", "owner", domains={"x": domain_body(Interval(0, 9))})
    kernel.verify()
    assert len(counted) == 1
    assert kernel.contracts()["other"].facts == TableFacts(True, frozenset({"id", "x"}))
    kernel.ledger.declare("other", "owner", bound=[1, 1])
    kernel.verify()
    assert len(counted) == 2
    assert not kernel.contracts()["other"].facts.bounded
