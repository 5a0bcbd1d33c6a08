"""Prices of whole statements, computed anew from the noise that OpenDP was asked for.

Random statements are asked in a session, as in `test_statement_neighbours.py`; what a unit loses is
told by the scales of the noise and by how far the unit moves what is noised, with formulas that are
no part of the kernel (`support.noise_losses`). The ledger must have been charged as much. Some
statements are charged exactly what their worst unit loses, so a charge half as large is noticed.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import pytest
from support import purchases
from support.desks import Desk, MoreLost, check_seed
from support.noise_losses import noise_loss
from support.private_tables import BUDGETS

from sqlpriv.kernel.proof import noise
from sqlpriv.kernel.terms.budget import Price, Rho

FIRST, EVERY = 40_000_000, 10_000_000
"""The first seed, and how many there are."""
FEW, MANY = 1, 100
TWINS = 8
"""Seeds of a twin, at most: of the first 8, four or more attain their price, of each kind."""


@pytest.fixture(scope="module", params=[*BUDGETS])
def desk(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A desk for each kind of budget."""
    return Desk(tmp_path_factory.mktemp("desk") / "people.duckdb", request.param)


def test_no_unit_loses_more_to_the_noise_than_it_is_charged(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other seeds at every run: a failure names its seed."""
    for seed in random.sample(range(FIRST + MANY, FIRST + EVERY), FEW):
        outcomes = check_seed(desk, seed, monkeypatch, loss_of=noise_loss)
        print(f"seed {seed}: {dict(outcomes)}")


@pytest.mark.slow
def test_very_many_prices(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of so many seeds some statements cost exactly what a unit loses by them."""
    outcomes = Counter[str]()
    for seed in range(FIRST, FIRST + MANY):
        outcomes += check_seed(desk, seed, monkeypatch, loss_of=noise_loss)
    print(f"learned: nothing; the largest share is {desk.largest_share}, {dict(outcomes)}")
    assert desk.largest_share > 0.999999


def check_some(desk: Desk, monkeypatch: pytest.MonkeyPatch, kind: str = "") -> None:
    for seed in range(FIRST, FIRST + TWINS):
        check_seed(desk, seed, monkeypatch, kind, noise_loss)


def test_twin_a_charge_half_as_large_is_noticed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half(unit_table: str, price: Price, *rest: Any) -> purchases.Charge:
        return charge(unit_table, type(price)(price.nano // 2), *rest)

    charge = purchases.Charge
    monkeypatch.setattr(purchases, "Charge", half)
    with pytest.raises(MoreLost):
        check_some(desk, monkeypatch)


def shrink_noise(monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """A break: noise has a smaller scale, and nothing confirms its price."""
    proved = noise._noise_scale

    def smaller(*given: Any) -> float:
        return proved(*given) * factor

    monkeypatch.setattr(noise, "_noise_scale", smaller)
    monkeypatch.setattr(noise, "_confirm_price", lambda measurement, *_: measurement)


def test_twin_noise_a_tenth_too_small_is_noticed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel's own claims, by which `test_statement_neighbours.py` tells losses, do not."""
    shrink_noise(monkeypatch, 0.9)
    with pytest.raises(MoreLost):
        check_some(desk, monkeypatch)


@pytest.fixture(scope="module")
def zcdp(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("zcdp") / "people.duckdb", "zcdp")


def test_twin_distinct_on_notices_noise_of_a_thirtieth(
    zcdp: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DISTINCT ON leaves one row of a unit, and noise is made for the m rows that its table may
    have, up to 25: a unit loses 1 / m² of the price, and no smaller break can be seen."""
    shrink_noise(monkeypatch, 1 / 30)
    with pytest.raises(MoreLost):
        check_some(zcdp, monkeypatch, "distinct on")


def test_twin_a_threshold_that_is_too_low_is_noticed(
    zcdp: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A unit's own key passes e^6 times as often where the threshold is one deviation lower."""

    def too_low(groups: int, rho: Rho, yocto: int) -> tuple[float, int]:
        scale = noise._noise_scale(noise.root_above(groups), rho)
        far = math.sqrt(2 * math.log(groups * 10**24 / yocto)) - 1
        return scale, 1 + math.ceil(scale * far)

    monkeypatch.setattr(noise, "threshold_of", too_low)
    monkeypatch.setattr(noise, "YOCTO", 1)  # any delta is confirmed
    with pytest.raises(MoreLost):
        check_some(zcdp, monkeypatch, "selected keys")


def test_twin_other_rows_than_the_gates_are_noticed(
    zcdp: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores of choices are computed anew: where other rows of a unit are kept, they differ."""
    monkeypatch.setattr(Desk, "use_hash_key", lambda _: None)
    with pytest.raises(AssertionError):
        check_some(zcdp, monkeypatch, "levels")
