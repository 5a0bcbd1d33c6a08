"""Budgets of periods: a new allowance in each, their sum, a last day, and no way back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sqlpriv.errors import BudgetExhausted
from sqlpriv.kernel.ledger import records, store
from sqlpriv.kernel.ledger.records import Booking, Ledger
from sqlpriv.kernel.terms.budget import PERIODS, Budget, Epsilon, Rho

Clock = Callable[[str], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Sets the machine's clock, for ledgers, to noon of a day."""

    def set_clock(day: str) -> None:
        moment = dt.datetime.fromisoformat(f"{day}T12:00:00+00:00")
        monkeypatch.setattr(store, "now", lambda: moment)
        monkeypatch.setattr(records, "now", lambda: moment)

    return set_clock


@pytest.fixture
def ledger(place: Path, clock: Clock) -> Iterator[Ledger]:
    clock("2026-01-15")
    with closing(Ledger(place)) as opened:
        opened.set_budget(Budget("people", Rho(100), 1e-9, per="month"), "owner")
        yield opened


def pay(ledger: Ledger, nano: int, at: Booking = records.EVERYBODY, who: str = "ann") -> None:
    ledger.charge(ledger.begin_statement(who, "s"), "people", Rho(nano), at=at)


def state(ledger: Ledger) -> tuple[int, int, int]:
    account = ledger.account("people")
    assert account is not None
    return account.spent.nano, account.in_all.nano, account.left.nano


def test_each_month_has_an_allowance_and_all_months_add_up(ledger: Ledger, clock: Clock) -> None:
    pay(ledger, 70)
    assert state(ledger) == (70, 70, 30)
    with pytest.raises(BudgetExhausted, match="in this month; nothing was read"):
        pay(ledger, 31)
    clock("2026-01-31")
    pay(ledger, 30)
    assert state(ledger) == (100, 100, 0)
    clock("2026-02-01")
    assert state(ledger) == (0, 100, 100)
    pay(ledger, 100)
    clock("2026-04-01")
    pay(ledger, 1)
    assert state(ledger) == (1, 201, 99)


def test_a_clock_that_is_set_back_brings_no_month_back(ledger: Ledger, clock: Clock) -> None:
    """The attack: spend February's allowance in January's name, again and again."""
    pay(ledger, 100)
    clock("2026-02-10")
    pay(ledger, 60)
    clock("2026-01-20")
    assert state(ledger) == (60, 160, 40), "February it is, once something was charged in it"
    pay(ledger, 40)
    with pytest.raises(BudgetExhausted):
        pay(ledger, 1)
    clock("2026-02-20")
    assert state(ledger) == (100, 200, 0)
    with pytest.raises(BudgetExhausted):
        pay(ledger, 1)


def test_the_total_and_the_last_day_end_it(ledger: Ledger, clock: Clock) -> None:
    ends = Budget("people", Rho(100), 1e-9, per="month", until="2026-03-31", whole=250)
    ledger.set_budget(ends, "owner")
    for month in ("01", "02"):
        clock(f"2026-{month}-28")
        pay(ledger, 100)
    clock("2026-03-31")
    assert state(ledger) == (0, 200, 50)
    with pytest.raises(BudgetExhausted):
        pay(ledger, 51)
    clock("2026-04-01")
    assert state(ledger) == (0, 200, 0)
    with pytest.raises(BudgetExhausted):
        pay(ledger, 1)


def test_what_was_spent_before_counts_when_the_period_is_declared(
    ledger: Ledger, clock: Clock
) -> None:
    ledger.set_budget(Budget("people", Rho(500), 1e-9), "owner")
    pay(ledger, 300)
    assert state(ledger) == (300, 300, 200)
    ledger.set_budget(Budget("people", Rho(100), 1e-9, per="month"), "owner")
    assert state(ledger) == (300, 300, 0)
    clock("2026-02-01")
    assert state(ledger) == (0, 300, 100)
    ledger.set_budget(Budget("people", Rho(500), 1e-9), "owner")
    assert state(ledger) == (300, 300, 200), "for all time again, and nothing is forgotten"


def test_strata_do_not_add_up_inside_a_period_and_ceilings_have_periods(
    ledger: Ledger, clock: Clock
) -> None:
    ledger.set_budget(Budget("people", Rho(40), 1e-9, per="month"), "owner", "*")
    here = ledger.snapshot("a").id
    clock("2026-01-16")
    for day, race in (("17", 1), ("18", 2), ("19", 3)):
        clock(f"2026-01-{day}")
        pay(ledger, 40, Booking(here, {"race": [race]}), who=f"ann{race}")
    assert state(ledger) == (40, 40, 60), "three strata of one month, on three days"
    with pytest.raises(BudgetExhausted, match="to ann1 in this month"):
        pay(ledger, 1, Booking(here, {"race": [1]}), who="ann1")
    clock("2026-02-01")
    pay(ledger, 40, Booking(here, {"race": [1]}), who="ann1")
    assert state(ledger) == (40, 80, 60)


@pytest.mark.parametrize(
    ("per", "first", "last", "after"),
    [
        ("day", "2026-02-28", "2026-02-28", "2026-03-01"),
        ("week", "2026-02-23", "2026-03-01", "2026-03-02"),
        ("month", "2024-02-01", "2024-02-29", "2024-03-01"),
        ("quarter", "2026-10-01", "2026-12-31", "2027-01-01"),
        ("year", "2026-01-01", "2026-12-31", "2027-01-01"),
    ],
)
def test_periods_are_those_of_the_calendar(per: str, first: str, last: str, after: str) -> None:
    budget = Budget("t", Epsilon(1), 0.0, per=per)
    assert per in PERIODS
    assert [budget.period_start(day) for day in (first, last, after)] == [first, first, after]
    assert Budget("t", Epsilon(1), 0.0).period_start(first) == ""
