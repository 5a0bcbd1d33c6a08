"""A hostile fuzzer of whole statements: no unit loses more by a session than it is charged.

Each seed fills a vault with random rows, asks statements of random kinds in a session, as an
analyst does, and writes down what the gate buys and what the ledger is charged. Then the same
queries are asked, before noise, of the same rows without one unit (`support.purchases`). The rows
are changed once in the middle, so that charges of two states of the vault add up.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.desks import ASKED, Desk, check_seed
from support.private_tables import BUDGETS
from support.random_statements import KINDS

from sqlpriv.kernel.proof import sensitivity as proof
from sqlpriv.kernel.sql import queries
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import PrivacyUnit

FEW, MANY = 2, 400
FIRST = 12_000_000
ONE_ROW = ("distinct on", "aggregates inside a unit")
"""Kinds that ask about one row of each unit: bounding leaves none out. The price of "distinct on"
is of more rows: `test_prices_by_noise.py` has its twin."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk whose budgets are of zCDP."""
    return Desk(tmp_path_factory.mktemp("desk") / "people.duckdb", "zcdp")


def test_no_unit_loses_more_by_a_session_than_it_is_charged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other seeds at every run: a failure names its seed."""
    for seed in random.sample(range(FIRST), FEW):
        print(f"seed {seed}: {dict(check_seed(desk, seed, monkeypatch))}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*BUDGETS])
@pytest.mark.parametrize("part", range(4))
def test_no_unit_loses_more_by_very_many_sessions(
    tmp_path: Path, part: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk, outcomes = Desk(tmp_path / "people.duckdb", kind), Counter[str]()
    for seed in range(FIRST + part * MANY // 4, FIRST + (part + 1) * MANY // 4):
        outcomes += check_seed(desk, seed, monkeypatch)
    moved = sum(n for what, n in outcomes.items() if what.endswith("moved"))
    print(f"learned: nothing; {dict(outcomes)}")
    assert moved > MANY / 4 * ASKED / 3  # else it would ask of rows that nobody has


def keep_all(*_: object, **__: object) -> bool:
    """A break: no unit's rows are bounded."""
    return True


def move_less(
    query: a.Query | a.Clipped, unit: PrivacyUnit, steps: int, proved: Any = proof.sensitivity
) -> proof.Sensitivity:
    """A break: sums are said to move three quarters as far as they do."""
    claim = proved(query, unit, steps)
    return proof.Sensitivity(max(1, claim.l1 * 3 // 4), max(1, claim.l2_squared * 9 // 16))


def check_kind(desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asks statements of one kind alone, of up to sixteen seeds."""
    for seed in range(16):
        check_seed(desk, seed, monkeypatch, kind)


@pytest.mark.parametrize(
    "kind",
    [
        "strata",
        *(
            pytest.param(kind, marks=pytest.mark.slow)
            for kind in KINDS
            if kind not in (*ONE_ROW, "strata")
        ),
    ],
)
def test_every_kind_notices_units_that_are_not_bounded(
    desk: Desk, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twins: a few seeds of each kind are enough."""
    monkeypatch.setattr(queries, "_keeps_all", keep_all)
    with pytest.raises(AssertionError):
        check_kind(desk, kind, monkeypatch)


def test_aggregates_inside_a_unit_notice_a_sensitivity_that_is_too_small(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A twin: such a statement asks about one row of each unit, so bounding leaves none out."""
    monkeypatch.setattr(proof, "sensitivity", move_less)
    with pytest.raises(AssertionError):
        check_kind(desk, "aggregates inside a unit", monkeypatch)
