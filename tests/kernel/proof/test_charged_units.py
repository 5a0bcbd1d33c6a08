"""Strata in the ledger: what is spent is what the unluckiest unit lost, and no less."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.vaults import allowed, contract, write

from sqlpriv.errors import BudgetExhausted
from sqlpriv.kernel.ledger import records
from sqlpriv.kernel.ledger.records import Booking, Ledger
from sqlpriv.kernel.ledger.store import insert
from sqlpriv.kernel.proof.charged_units import (
    MAX_POINTS,
    charged_units,
    largest_sum,
    tell_too_many_points,
)
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Rho
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel

SCAN = a.Scan("people")
COLUMNS = {"id": "BIGINT", "race": "INTEGER", "sex": "VARCHAR", "out": "BOOLEAN", "pay": "DOUBLE"}
PEOPLE = replace(contract(COLUMNS), unique=frozenset({"id"}))
RACE, SEX = a.Col("race"), a.Col("sex")
THREE = a.Lit(3, Type.INTEGER)
MakeKernel = Callable[..., Kernel]


def where(*predicates: a.Expr, source: a.Relation = SCAN) -> a.Relation:
    for predicate in predicates:
        source = a.Where(source, predicate)
    return source


# --- what one unit can have lost ---

POINTS = list(itertools.product((0, 1, 2), ("f", "m", "-"), (False, True, None)))
"""2, - and None are named by no charge."""
boxes = st.fixed_dictionaries(
    {},
    optional={
        "race": st.lists(st.sampled_from([0, 1]), unique=True, min_size=1, max_size=2),
        "sex": st.lists(st.sampled_from(["f", "m"]), unique=True, min_size=1, max_size=2),
        "out": st.lists(st.booleans(), unique=True, min_size=1, max_size=2),
    },
)


def holds(box: dict[str, Any], point: tuple[Any, ...]) -> bool:
    named = dict(zip(("race", "sex", "out"), point, strict=True))
    return all(named[column] in values for column, values in box.items())


@given(st.lists(st.tuples(boxes, st.integers(1, 9)), max_size=7), boxes)
@example([({"race": [0]}, 5), ({"sex": ["f"]}, 4), ({"race": [1]}, 7)], {})
def test_most_is_what_brute_force_finds(
    charges: list[tuple[dict[str, Any], int]], inside: dict[str, Any]
) -> None:
    """Points are tried one by one."""
    points = [p for p in POINTS if holds(inside, p)]
    worst = max(sum(n for box, n in charges if holds(box, p)) for p in points)
    assert largest_sum(charges, inside) == worst


prices = st.lists(
    st.tuples(st.integers(0, 2), boxes, st.integers(1, 60)),
    max_size=14,
)


@settings(max_examples=40, deadline=None)
@given(prices, st.integers(20, 150))
def test_no_unit_ever_loses_more_than_the_budget(
    tmp_path_factory: pytest.TempPathFactory,
    paid: list[tuple[int, dict[str, Any], int]],
    total: int,
) -> None:
    """Every unit that can be, with a point of its own in each of three snapshots, by brute force.

    A charge is refused only where some unit would lose more than there is."""
    losses = [dict.fromkeys(POINTS, 0) for _ in range(3)]
    with closing(Ledger(tmp_path_factory.mktemp("strata") / "l")) as ledger:
        ledger.set_budget(Budget("people", Rho(total), 1e-9), "owner")
        snapshots = [ledger.snapshot(str(i)).id for i in range(3)]
        for number, box, price in paid:
            at = Booking(snapshots[number], box)
            others = sum(max(x.values()) for i, x in enumerate(losses) if i != number)
            worst = others + max(n for p, n in losses[number].items() if holds(box, p))
            account = ledger.account("people", at=at)
            assert account is not None
            assert account.spent == Rho(worst)
            try:
                ledger.charge(ledger.begin_statement("ann", ""), "people", Rho(price), at=at)
                assert worst + price <= total
                for p in POINTS:
                    losses[number][p] += price * holds(box, p)
            except BudgetExhausted:
                assert worst + price > total
        account = ledger.account("people")
        assert account is not None
        assert account.spent == Rho(sum(max(x.values()) for x in losses))
        assert account.spent.nano <= total


def test_disjoint_strata_are_told_apart_inside_one_snapshot_alone() -> None:
    assert largest_sum([({"race": [1]}, 5), ({"race": [2]}, 7)], {}) == 7
    assert largest_sum([({"race": [1]}, 5), ({"race": [2]}, 7), ({}, 1)], {"race": [1]}) == 6
    assert largest_sum([({"race": [1]}, 5), ({"sex": ["f"]}, 7)], {}) == 12  # they may share a unit
    assert largest_sum([({"race": [1]}, 5)], {"race": [3]}) == 0
    assert largest_sum([], {}) == 0


def test_charges_outside_are_passed_over() -> None:
    """Of 4,000 filters one concerns the charge: an eighth of the time of all of them was measured,
    and a half while the others were listed first."""
    charges = [({"race": [n]}, 1 + n % 7) for n in range(4000)]

    def seconds(inside: dict[str, Any]) -> float:
        began = time.process_time()
        for _ in range(3):
            largest_sum(charges, inside)
        return time.process_time() - began

    assert min(seconds({"race": [17]}) for _ in range(9)) < seconds({}) / 4


def test_a_charge_looks_at_the_charges_near_it_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 strata that were charged one is near, and what is booked to everybody: 301 were added
    up before, and 10,000 made a statement half as long again."""
    lengths: list[int] = []
    monkeypatch.setattr(
        records,
        "largest_sum",
        lambda charges, inside: lengths.append(len(charges)) or largest_sum(charges, inside),
    )
    with closing(Ledger(tmp_path / "l")) as ledger:
        ledger.set_budget(Budget("people", Rho(1000), 1e-9), "owner")
        here = ledger.snapshot("a").id
        with ledger.begin("IMMEDIATE"):
            statement = ledger.begin_statement("ann", "")
            for box in [{}, *({"race": [n]} for n in range(300))]:
                insert(
                    ledger.store,
                    "charge",
                    Rho(1),
                    statement_id=statement,
                    unit_table="people",
                    snapshot_id=here,
                    strata=json.dumps(box),
                    yocto=0,
                )
        account = ledger.account("people", at=Booking(here, {"race": [7]}))
        assert account is not None
        assert account.spent == Rho(2)
        assert lengths == [2]


def test_strata_that_tell_too_many_points_apart_are_booked_to_everybody(tmp_path: Path) -> None:
    many = list(range(MAX_POINTS))
    assert tell_too_many_points([{"race": many}])
    assert not tell_too_many_points([{"race": many[:-1]}])
    assert tell_too_many_points([{"race": many[:64]}, {"sex": ["f"]}, {"age": many[:32]}])
    with closing(Ledger(tmp_path / "l")) as ledger:
        ledger.set_budget(Budget("people", Rho(100), 1e-9), "owner")
        here = ledger.snapshot("a").id
        for box in ({"race": many}, {"race": [MAX_POINTS]}):
            statement = ledger.begin_statement("ann", "")
            ledger.charge(statement, "people", Rho(10), at=Booking(here, box))
        other = ledger.account("people", at=Booking(here, {"race": [-1]}))
        assert other is not None
        assert other.spent == Rho(10)
        account = ledger.account("people")
        assert account is not None
        assert account.spent == Rho(20)


# --- which strata a query concerns ---


@pytest.mark.parametrize(
    ("source", "strata"),
    [
        (SCAN, {}),
        (where(a.Call("=", (RACE, THREE))), {"race": [3]}),
        (where(a.Call("=", (THREE, a.Col("RACE")))), {"race": [3]}),
        (where(a.In(SEX, ("m", "f"))), {"sex": ["f", "m"]}),
        (where(a.Call("=", (a.Col("out"), a.Lit(True, Type.BOOLEAN)))), {"out": [True]}),
        (where(a.Call("and", (a.In(RACE, (3,)), a.In(SEX, ("m",))))), {"race": [3], "sex": ["m"]}),
        (where(a.In(RACE, (3, 4)), a.In(RACE, (4, 5))), {"race": [4]}),
        (where(a.In(RACE, (3,)), a.In(RACE, (4,))), {"race": [4]}),  # no row at all
        (a.Derive(where(a.In(RACE, (3,))), "x", THREE), {"race": [3]}),
        # what does not pin
        (where(a.Call("or", (a.In(RACE, (3,)), a.In(SEX, ("m",))))), {}),
        (where(a.Call("not", (a.In(RACE, (3,)),))), {}),
        (where(a.Call(">", (RACE, THREE))), {}),
        (where(a.Call("=", (RACE, a.Lit(3.0, Type.REAL)))), {}),
        (where(a.In(RACE, (3, 4.0))), {}),
        (where(a.Call("=", (RACE, a.Lit(2**53, Type.REAL)))), {}),  # 2^53 + 1 equals it, too
        (where(a.In(a.Col("pay"), (3.0,))), {}),
        (where(a.Call("=", (a.Call("abs", (RACE,)), THREE))), {}),
        (where(a.In(a.Col("x"), (3,)), source=a.Derive(SCAN, "x", RACE)), {}),
        (where(a.In(RACE, (3,)), source=a.Scan("orders")), {}),
    ],
)
def test_a_predicate_pins_what_its_rows_must_have(source: a.Relation, strata: Any) -> None:
    assert charged_units([source], PEOPLE) == strata


def test_relations_of_one_charge_are_booked_to_all_that_they_concern() -> None:
    one, two = where(a.In(RACE, (1,))), where(a.In(RACE, (2,)), a.In(SEX, ("f",)))
    assert charged_units([one, two], PEOPLE) == {"race": [1, 2]}
    assert charged_units([one, SCAN], PEOPLE) == {}
    assert charged_units([], PEOPLE) == {}


def test_only_the_units_own_table_with_a_unique_key_has_strata() -> None:
    pinned = [where(a.In(RACE, (3,)))]
    assert PEOPLE.unit is not None
    assert charged_units(pinned, replace(PEOPLE, unique=frozenset())) == {}
    linked = replace(PEOPLE.unit, table="customers")
    assert charged_units(pinned, replace(PEOPLE, unit=linked)) == {}
    assert charged_units(pinned, replace(PEOPLE, unit=None)) == {}
    by_text = [where(a.In(SEX, ("f",)))]
    assert charged_units(by_text, PEOPLE) == {"sex": ["f"]}
    assert charged_units(by_text, replace(PEOPLE, collated=True)) == {}


# --- through the gate ---

ROWS = """CREATE TABLE people AS SELECT i AS id, i % 4 AS race FROM range(100) r(i);
ALTER TABLE people ADD PRIMARY KEY (id)"""


def ask_of(kernel: Kernel, race: int, nano: int) -> None:
    with allowed(kernel, Rho(nano)) as allowance:
        other = a.Call(">", (a.Col("id"), a.Lit(nano, Type.INTEGER)))  # never asked before
        query = a.Count(where(a.In(RACE, (race,)), other))
        allowance.release([Measurement(query, Rho(nano))])


@pytest.fixture
def kernel(make_kernel: MakeKernel) -> Kernel:
    return make_kernel(ROWS, budget=Budget("people", Rho(1000), 1e-9))


def test_analysts_of_disjoint_strata_do_not_eat_each_others_budget(kernel: Kernel) -> None:
    for race in range(4):
        ask_of(kernel, race, 900)
    assert kernel.ledger.account("people").spent == Rho(900)
    with pytest.raises(BudgetExhausted):
        ask_of(kernel, 3, 101)
    with allowed(kernel, Rho(101)) as allowance, pytest.raises(BudgetExhausted):
        allowance.release([Measurement(a.Count(SCAN), Rho(101))])
    ask_of(kernel, 3, 100)


def test_a_stratum_pays_nothing_ahead(kernel: Kernel) -> None:
    """What is asked about everybody later would not be paid by the other strata."""
    with allowed(kernel, Rho(500), whole=True) as allowance:
        of_one = a.Count(where(a.In(RACE, (1,))))
        allowance.release([Measurement(of_one, Rho(200))])
        assert allowance.spent == Rho(200)
        allowance.release([Measurement(a.Count(SCAN), Rho(300))])
    ask_of(kernel, 2, 700)
    with pytest.raises(BudgetExhausted):
        ask_of(kernel, 2, 1)


def test_a_change_of_the_rows_makes_what_was_spent_everybodys(kernel: Kernel) -> None:
    """Whoever was in stratum 1 may be in stratum 2 now: the two add up."""
    ask_of(kernel, 1, 600)
    write(kernel.vault, "UPDATE people SET race = 2 WHERE race = 1")
    ask_of(kernel, 2, 300)
    assert kernel.ledger.account("people").spent == Rho(900)
    with pytest.raises(BudgetExhausted):
        ask_of(kernel, 3, 401)


def test_text_that_may_equal_other_text_is_no_stratum(make_kernel: MakeKernel) -> None:
    """Under NOCASE 'F' and 'f' name the same rows: told apart they would be sold twice."""
    rows = """CREATE TABLE people (id INTEGER PRIMARY KEY, sex VARCHAR COLLATE NOCASE);
        INSERT INTO people VALUES (1, 'F')"""
    kernel = make_kernel(rows, budget=Budget("people", Rho(1000), 1e-9))
    for sex in "fF":
        with allowed(kernel, Rho(400)) as allowance:
            allowance.release([Measurement(a.Count(where(a.In(SEX, (sex,)))), Rho(400))])
    assert kernel.ledger.account("people").spent == Rho(800)


def test_numbers_that_a_double_cannot_tell_apart_are_no_strata(make_kernel: MakeKernel) -> None:
    """As doubles 2^53 and 2^53 + 1 are one: told apart, their rows would be sold twice."""
    rows = "CREATE TABLE people (id BIGINT PRIMARY KEY); INSERT INTO people VALUES (1 + 2**53)"
    kernel = make_kernel(rows, budget=Budget("people", Rho(1000), 1e-9))
    for number in (2**53, 2**53 + 1):
        same = a.Call("=", (a.Col("id"), a.Lit(number, Type.REAL)))
        with allowed(kernel, Rho(400)) as allowance:
            allowance.release([Measurement(a.Count(where(same)), Rho(400))])
    assert kernel.ledger.account("people").spent == Rho(800)
