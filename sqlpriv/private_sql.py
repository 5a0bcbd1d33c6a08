"""A private SELECT put to the gate, and what it would cost: between a plan and its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.estimate import rounds
from sqlpriv.estimate.means import Moments
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.budget import NANO, Epsilon, Price, Rho
from sqlpriv.kernel.contract import TableContract
from sqlpriv.kernel.gate import Allowance, Kernel
from sqlpriv.kernel.release import Measurement, Release
from sqlpriv.kernel.sensitivity import batch_price, joint_price
from sqlpriv.plan.explain import explain, told
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.rounds import templates
from sqlpriv.plan.rules import Recipe


def asked(
    planned: Plan, allowance: Allowance
) -> tuple[tuple[Release, ...], Mapping[Recipe, Moments]]:
    """Asks a plan's measurements, then its rounds; returns what `answer.answer` takes.

    Raises:
        sqlpriv.Error: As `Allowance.release`.
    """
    if not planned.output.cells:
        return (), {}
    releases = allowance.release(planned.measurements)
    return releases, rounds.asked(planned.rounds, releases, allowance.release)


def explained(
    kernel: Kernel, planned: Plan, contract: TableContract, left: Price, delta: float
) -> tuple[pa.Table, str]:
    """Returns the rows of EXPLAIN PRIVACY, and its one line on what the strata cost.

    `left` is the budget before, `delta` what epsilon is stated at.
    """
    now = kernel.explain(planned.measurements, contract)
    later = kernel.explain([m for _, m in templates(planned.rounds)], contract)
    known, price = _sizes(kernel, planned, contract), due(kernel, planned, contract)
    selected = _threshold(kernel, planned, contract)
    other = _other_kind(kernel, planned, contract)
    table = explain(planned, now, price, left, delta, known, selected, other, later)
    return table, told(planned, now, known, later)


def due(kernel: Kernel, planned: Plan, contract: TableContract) -> Price:
    """Returns what a plan would be charged now: less than its price where answers are sealed."""
    if planned.selection is not None:
        return planned.price  # what of it is sealed depends on the keys
    sealed = [_sealed(kernel, m, contract) for m in planned.measurements]
    fresh = [m for m, old in zip(planned.measurements, sealed, strict=True) if old is None]
    nano = batch_price(fresh, contract).nano if fresh else 0
    nano += rounds.outstanding(planned.rounds, sealed, lambda m: _sealed(kernel, m, contract))
    return type(planned.price)(nano)


def _other_kind(kernel: Kernel, planned: Plan, contract: TableContract) -> Price:
    """Returns what the same noise would cost under the other kind of budget, rounds and all.

    Sigma is proportional to 1 / epsilon, or to 1 / sqrt(rho), so one probe tells each price. A
    choice among levels is as good at epsilon = sqrt(8 rho).
    """
    pure = isinstance(planned.price, Rho)
    unit: Price = Epsilon(NANO) if pure else Rho(NANO)
    asked = [*planned.measurements, *(m for _, m in templates(planned.rounds))]
    probes = [Measurement(m.query, unit) for m in asked]
    same = []
    now, then = kernel.explain(asked, contract), kernel.explain(probes, contract)
    for m, here, there in zip(asked, now, then, strict=True):
        ratio = there.sigma / here.sigma if here.sigma else 0.0
        price = ratio if pure else ratio**2
        if isinstance(m.query, a.Level):
            price = math.sqrt(8 * m.price.value) if pure else m.price.value**2 / 8
        same.append(Measurement(m.query, type(unit)(max(1, math.ceil(price * NANO)))))
    return joint_price(same, contract, {})[0]


def _threshold(kernel: Kernel, planned: Plan, contract: TableContract) -> tuple[float, int] | None:
    """Returns the noise of a plan's selection of keys, and how many units a key must have."""
    if (chosen := planned.selection) is None:
        return None
    return kernel.threshold(chosen.source, contract, chosen.price, chosen.yocto)


def _sealed(kernel: Kernel, m: Measurement, contract: TableContract) -> Release | None:
    seal = kernel.ledger.find_seal(contract.snapshot, a.fingerprint(m.query), m.price)
    if seal is None:
        return None
    values = np.frombuffer(seal.payload, "<f8").reshape(a.shape(m.query))
    return Release(seal.id, m.query, values, seal.sigma, seal.price, replayed=True)


def _sizes(kernel: Kernel, planned: Plan, contract: TableContract) -> NDArray[np.float64] | None:
    """Returns sealed counts of the plan's cells, if they were released before; else None."""
    output = planned.output
    strata, groups = (tuple(d.key for d in x) for x in (output.strata, output.groups))
    count = a.Count(output.recipes[0].queries[0].source, strata, groups)
    found = _sealed(kernel, Measurement(count, type(planned.price)(0)), contract)
    return None if found is None else found.values
