"""What a session's statements buy of a vault, and what one unit loses by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pytest

from sqlpriv.kernel.checked import parts_of
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.ledger.records import EVERYBODY, Booking, Ledger, Sealed
from sqlpriv.kernel.proof import noise
from sqlpriv.kernel.proof import sensitivity as proof
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement
from support.unit_losses import Laboratory, check_scores, integers, loss


@dataclass(frozen=True)
class Purchase:
    """One batch of measurements, a choice among candidates, or a selection of keys.

    Attributes:
        contract: Of the table that the statement is about.
        measurements: What is charged; of a choice or selection one that stands for it.
        candidates: What is chosen among, or whose distances are added up.
        summed: The distances are added up.
        keys: The expressions whose values are selected, and the delta of that in 1e-24.
    """

    contract: TableContract
    measurements: tuple[Measurement, ...]
    candidates: tuple[proof.Candidate, ...] = ()
    summed: bool = False
    keys: tuple[tuple[a.Expr, ...], int] | None = None


class Charge(NamedTuple):
    """A charge as the ledger was asked for it."""

    unit_table: str
    price: Price
    at: Booking
    yocto: int


class Draw(NamedTuple):
    """One use of a mechanism of OpenDP's.

    Attributes:
        mechanism: What OpenDP calls it: "make_gaussian", say.
        scale: Of its noise.
        exact: What it was given: zeros for additive noise, scores, or counts by position.
        threshold: What a count has to reach, of a selection of keys.
    """

    mechanism: str
    scale: float
    exact: list[int]
    threshold: int = 0


@dataclass
class Purchases:
    """All that is bought and charged while the recorder is in place.

    Attributes:
        bought, charges: In order.
        draws: What OpenDP was asked for each purchase.
        sealed: What the ledger was given to keep.
    """

    bought: list[Purchase] = field(default_factory=list)
    charges: list[Charge] = field(default_factory=list)
    draws: list[list[Draw]] = field(default_factory=list)
    sealed: list[Sealed] = field(default_factory=list)

    def record(self, patched: pytest.MonkeyPatch) -> None:
        """Has the gate and the ledger tell what they are asked for; both do what they did."""
        pay, of_scores, select = Allowance._charge, Allowance._seal_of_scores, Allowance.select_keys
        charge = Ledger.charge
        asked: list[dict[str, Any]] = []

        def _charge(of: Allowance, measurements: Sequence[Measurement], yocto: int = 0) -> int:
            number = pay(of, measurements, yocto)
            more = dict(asked[-1]) if asked else {}
            if "exprs" in more:
                more = {"keys": (more["exprs"], yocto)}
            self.bought.append(Purchase(of.contract, tuple(measurements), **more))
            self.draws.append([])
            return number

        def _seal_of_scores(
            of: Allowance, candidates: Any, price: Price, named: str, *rest: Any
        ) -> Any:
            summed = named.startswith("distance ")
            asked.append({"candidates": tuple(candidates), "summed": summed})
            try:
                return of_scores(of, candidates, price, named, *rest)
            finally:
                asked.pop()

        def select_keys(of: Allowance, source: a.Relation, exprs: Any, *rest: Any) -> Any:
            asked.append({"exprs": exprs})
            try:
                return select(of, source, exprs, *rest)
            finally:
                asked.pop()

        def pay_ledger(
            of: Ledger,
            statement: int,
            unit: str,
            price: Price,
            whole: Price | None = None,
            at: Booking = EVERYBODY,
            yocto: int = 0,
        ) -> int:
            number = charge(of, statement, unit, price, whole, at, yocto)
            self.charges.append(Charge(unit.lower(), price, at, yocto))
            return number

        seal = Ledger.seal

        def keep(of: Ledger, statement: int, snapshot: int, new: Any) -> list[Sealed]:
            self.sealed += [sealed for _, sealed in new]
            return seal(of, statement, snapshot, new)

        self._record_draws(patched)
        patched.setattr(Ledger, "seal", keep)
        patched.setattr(Allowance, "_charge", _charge)
        patched.setattr(Allowance, "_seal_of_scores", _seal_of_scores)
        patched.setattr(Allowance, "select_keys", select_keys)
        patched.setattr(Ledger, "charge", pay_ledger)

    def _record_draws(self, patched: pytest.MonkeyPatch) -> None:
        """Has OpenDP's constructors and each measurement tell what they are given."""
        made: dict[int, tuple[Any, str, float, int]] = {}  # keeps each, so that no number is reused
        measure = noise._measure

        def recorded(name: str) -> Any:
            construct = getattr(noise.measurements, name)

            def make(*given: Any) -> Any:
                measurement = construct(*given)
                at = 3 if name == "make_noisy_max" else 2
                least = given[3] if name == "make_gaussian_threshold" else 0
                made[id(measurement)] = measurement, name, given[at], least
                return measurement

            return make

        def _measure(measurement: Any, exact: Any) -> Any:
            _, name, scale, least = made[id(measurement)]
            given = [*exact.values()] if isinstance(exact, dict) else [*map(int, exact)]
            self.draws[-1].append(Draw(name, scale, given, least))
            return measure(measurement, exact)

        for name in ("make_gaussian", "make_laplace", "make_noisy_max", "make_gaussian_threshold"):
            patched.setattr(noise.measurements, name, recorded(name))
        for kept in (noise.gaussian, noise.laplace):
            kept.cache_clear()
        patched.setattr(noise, "_measure", _measure)


class Lost(NamedTuple):
    """What a unit loses: nano of rho or epsilon, and 1e-24 of delta for keys; did it move any?"""

    nano: Fraction
    yocto: Fraction
    moved: bool


Exact = dict[Purchase, Any]


def exact_answers(laboratory: Laboratory, bought: Sequence[Purchase], helped: bool) -> list[Any]:
    """The exact integers that each purchase is made of, in the laboratory's tables as they are.

    Args:
        laboratory: Holds the rows.
        bought: What was bought.
        helped: With what was found true of the rows; the bounding passes are run without.
    """
    answers: list[Any] = []
    for purchase in bought:
        contract = purchase.contract if helped else _without_facts(purchase.contract)
        queries = [m.query for m in purchase.measurements]
        if purchase.keys:
            answers.append(laboratory.groups(queries[0].source, purchase.keys[0], contract))
        elif purchase.candidates:
            answers.append(laboratory.scores(purchase.candidates, contract))
        else:
            answers.append(laboratory.parts(queries, contract))
    return answers


def unit_loss(seen: Purchases, whole: Sequence[Any], other: Sequence[Any]) -> Lost:
    """What the unit loses that makes the difference of these answers, by the kernel's own claims
    about each query. Raises AssertionError where such a claim is wrong."""
    nano, yocto, moved = Fraction(0), Fraction(0), False
    for purchase, mine, others in zip(seen.bought, whole, other, strict=True):
        scope = Scope(purchase.measurements[0].query.source, purchase.contract)
        price = purchase.measurements[0].price
        zcdp, m = isinstance(price, Rho), scope.unit.rows_per_unit
        if purchase.keys:
            changes = [abs(mine.get(k, 0) - others.get(k, 0)) for k in mine | others]
            new = sum((k in mine) != (k in others) for k in mine | others)
            assert sum(changes) <= m
            assert max(changes, default=0) <= 1
            nano += Fraction(sum(changes), m) * price.nano
            yocto += Fraction(new, m) * purchase.keys[1]
            moved |= any(changes)
        elif purchase.candidates:
            check_scores(purchase.candidates, scope, mine, others)
            change = abs(np.array(mine, object) - np.array(others, object))
            candidates, strata = purchase.candidates, a.strata_count(purchase.candidates[0].query)
            g = min(scope.unit.groups_per_unit, strata)
            far = (proof.total_distance if purchase.summed else proof.distance)(candidates, m)
            parts = change.sum(axis=0) if purchase.summed else change.max(axis=0)
            shares = [Fraction(int(x), far) for x in parts]
            nano += sum((x * x if zcdp else x for x in shares), Fraction(0)) / g * price.nano
            moved |= any(shares)
        else:
            for one in purchase.measurements:
                parts = parts_of(one.query)
                change = integers(one.query, mine[parts], scope)
                change = change - integers(one.query, others[parts], scope)
                lost = loss(one.query, change, Scope(one.query.source, purchase.contract))
                nano += (lost.rho if isinstance(one.price, Rho) else lost.epsilon) * one.price.nano
                moved |= bool(lost.strata)
    return Lost(nano, yocto, moved)


def _without_facts(contract: TableContract) -> TableContract:
    plain = {t: replace(c, facts=type(c.facts)()) for t, c in contract.others.items()}
    return replace(contract, facts=type(contract.facts)(), others=plain)
