"""Every private read ends later by a random time, as long as its scans say, failed or not."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Sequence
from statistics import fmean

import pytest
from support.delays import WIDTH
from support.vaults import allowed, ask

from sqlpriv.errors import ReadFailed, Refused
from sqlpriv.kernel import gate, reader
from sqlpriv.kernel.proof import delay
from sqlpriv.kernel.proof.delay import OPERATIONS, Delay
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import YOCTO, Budget, Rho
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel

MakeKernel = Callable[..., Kernel]
PEOPLE = "CREATE TABLE people AS SELECT i AS id FROM range(100) r(i)"
DELTA, RHO = YOCTO // 10**7, Rho(10**7)
KEYS = Budget("people", Rho(10**18), 1e-9, DELTA)
N = 1000
FAR = 0.075
"""n = 1000. Of uniform times, the share below a quarter, a half and three quarters of the longest
is further off than this with probability below 1e-6 (sd 0.016). A time that is always the same is
off by a quarter at least."""
SHORT = WIDTH / 4
"""Seconds for each scan where a thousand delays are waited for."""


def delays(scans: int) -> list[float]:
    took = []
    for _ in range(N):
        begun = time.thread_time()
        with Delay() as waiting:
            waiting.scans = scans
        took.append(time.thread_time() - begun)
    return took


def furthest(took: Sequence[float], longest: float) -> float:
    """How far the times are from uniform ones, at three places."""
    return max(abs(fmean(t < share * longest for t in took) - share) for share in (0.25, 0.5, 0.75))


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of the width: what is drawn, and waited for, is in proportion to it."""
    monkeypatch.setattr(delay, "WIDTH", SHORT)


@pytest.mark.usefixtures("short")
def test_a_delay_is_uniform_up_to_its_scans() -> None:
    assert furthest(delays(1), SHORT) < FAR
    assert furthest(delays(3), 3 * SHORT) < FAR
    assert fmean(delays(0)) < SHORT / 20


@pytest.mark.usefixtures("short")
def test_twin_a_fixed_delay_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed:
        def uniform(self, low: float, high: float) -> float:
            return (low + high) / 2

    monkeypatch.setattr(delay, "SystemRandom", Fixed)
    assert furthest(delays(1), SHORT) > FAR


def fail_within_a_delay() -> None:
    with Delay() as waiting:
        waiting.scans = 1
        raise ReadFailed("as a read does")


@pytest.mark.usefixtures("delayed")
def test_what_fails_is_delayed_too() -> None:
    begun = time.thread_time()
    for _ in range(100):
        with pytest.raises(ReadFailed):
            fail_within_a_delay()
    assert time.thread_time() - begun > 100 * WIDTH / 4  # half is the mean: sd 0.03 of the whole


def union(parts: int) -> a.Union:
    target = a.Call("=", (a.Col("id"), a.Lit(42, Type.INTEGER)))
    return a.Union(("x",), ((a.Where(a.Scan("people"), target), (a.Col("id"),)),) * parts)


@pytest.fixture
def owed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The scans for which each `with` block of the gate was delayed."""
    seen: list[int] = []

    class Seen(Delay):
        def __exit__(self, *_: object) -> None:
            seen.append(self.scans)

    monkeypatch.setattr(gate, "Delay", Seen)
    return seen


def test_the_gate_delays_every_read_by_its_scans(make_kernel: MakeKernel, owed: list[int]) -> None:
    kernel = make_kernel(PEOPLE, budget=KEYS)
    counted = [Measurement(a.Count(union(n)), Rho(1)) for n in (1, 4, 8)]
    for each in counted:
        ask(kernel, each)
    assert owed == [1, 4, 8]
    ask(kernel, counted[0])  # a replay reads nothing
    ask(kernel, *(Measurement(each.query, Rho(2)) for each in counted))
    assert owed == [1, 4, 8, 13]  # three statements of one read
    with allowed(kernel) as allowance:
        allowance.select_keys(union(3), (a.Col("x"),), RHO, DELTA)
    assert owed == [1, 4, 8, 13, 3]


def test_where_rows_are_ranked_a_scan_counts_as_three(
    make_kernel: MakeKernel, owed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit is beyond its bound; a statement has a bound of its own, below what units have."""
    monkeypatch.setattr(gate, "OPERATIONS", 10**9)  # scans alone
    twice = f"{PEOPLE} UNION ALL SELECT 7"
    beyond = make_kernel(twice, budget=KEYS)
    ask(beyond, Measurement(a.Count(union(4)), Rho(1)))
    with allowed(beyond) as allowance:
        allowance.select_keys(union(3), (a.Col("x"),), RHO, DELTA)
    within = make_kernel(twice, "within.duckdb", m=2)
    ask(within, Measurement(a.Count(a.Scan("people")), Rho(1)))
    ask(within, Measurement(a.Count(a.Bounded(a.Scan("people"), 1, 1)), Rho(1)))
    assert owed == [12, 9, 1, 3]


def long_filter(terms: int) -> a.Where:
    """Rows of the named unit, of which many terms are computed."""
    target = a.Call("=", (a.Col("id"), a.Lit(42, Type.INTEGER)))
    sums = (a.Call("+", (a.Col("id"), a.Lit(float(i), Type.REAL))) for i in range(terms))
    tests = (a.Call("=", (a.Call("exp", (x,)), a.Lit(-1.0, Type.REAL))) for x in sums)
    return a.Where(a.Where(a.Scan("people"), target), a.Call("or", tuple(tests)))


def test_what_a_statement_computes_of_a_row_is_delayed(
    make_kernel: MakeKernel, owed: list[int]
) -> None:
    """A term has three operations, and a branch of bins or an item of a list one."""
    columns = "AS id, DATE '2024-01-01' AS day, i::VARCHAR AS label"
    kernel = make_kernel(PEOPLE.replace("AS id", columns))
    days = tuple(dt.date(2024, 1, 1) + dt.timedelta(i) for i in range(1_000))
    bins = a.Key(a.Bin(a.Col("day"), days), (*range(1_001),))
    labels = a.Key(a.Col("label"), tuple(map(str, range(1_000))))
    filtered = [a.Count(long_filter(terms)) for terms in (10, 400)]
    for query in (*filtered, *(a.Count(a.Scan("people"), (), (key,)) for key in (bins, labels))):
        ask(kernel, Measurement(query, Rho(1)))
    assert owed[0] == 1
    assert owed[1] >= 1 + 3 * 400 // OPERATIONS
    assert owed[2] >= 1 + 1_000 // OPERATIONS
    assert 1 + 1_000 // OPERATIONS <= owed[3] <= 1 + 2_000 // OPERATIONS


TARGET = a.Where(a.Scan("people"), a.Call("=", (a.Col("id"), a.Lit(42, Type.INTEGER))))
DAYS = tuple(dt.date(2024, 1, 1) + dt.timedelta(i) for i in range(1_000))
ITEMS = {
    "texts": a.In(a.Col("label"), tuple(map(str, range(1_000)))),
    "days": a.In(a.Col("day"), DAYS),
    "truths": a.In(a.Col("flag"), (True,) * 1_000),
    "columns": a.Call("coalesce", (a.Col("flag"),) * 1_000),
    "any of columns": a.Call("or", (a.Col("flag"),) * 1_000),
    "all columns": a.Call("and", (a.Col("flag"),) * 1_000),
}


def test_what_is_listed_is_compared_item_by_item(make_kernel: MakeKernel, owed: list[int]) -> None:
    """An item writes no bracket: 3,000 listed texts took 1.4 ms for one row, and no delay more."""
    columns = "AS id, DATE '2024-01-01' AS day, i::VARCHAR AS label, i > 3 AS flag"
    kernel = make_kernel(PEOPLE.replace("AS id", columns))
    for test in ITEMS.values():
        ask(kernel, Measurement(a.Count(a.Where(TARGET, test)), Rho(1)))
    assert all(scans >= 1 + 1_000 // OPERATIONS for scans in owed)
    numbers = a.Pick((a.Key(a.Col("id"), (*range(20_000),)),), tuple(map(float, range(20_000))))
    ask(kernel, Measurement(a.Sum(TARGET, numbers, 0.0, 9.0), Rho(1)))
    assert owed[-1] >= 1 + 20_000 // 20 // OPERATIONS


def test_a_read_that_fails_is_delayed_and_a_refused_one_is_not(
    make_kernel: MakeKernel, owed: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = make_kernel(PEOPLE)
    with pytest.raises(Refused):
        ask(kernel, Measurement(a.Count(union(9)), Rho(1)))
    assert owed == [0]
    monkeypatch.setattr(reader.Reader, "_run_within_limit", lambda *_: 1 // 0)
    with pytest.raises(ReadFailed):
        ask(kernel, Measurement(a.Count(union(5)), Rho(1)))
    assert owed == [0, 5]
