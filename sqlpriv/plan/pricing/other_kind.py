"""What the noise of a statement would cost under the other kind of budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sqlpriv.kernel.proof.sensitivity import joint_price
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import NANO, Epsilon, Price, Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.plan.pricing.predictions import predict_measurements

if TYPE_CHECKING:
    from sqlpriv.kernel.vault import Kernel  # needs the engine

LARGEST_SHOWN = 1e8
"""The largest epsilon, or rho, that is shown. No budget is larger, and with so little noise a more
exact price would tell the reader nothing."""


def price_of_other_kind(
    kernel: Kernel, measurements: Sequence[Measurement], price: Price, contract: TableContract
) -> Price | None:
    """Returns what the same noise would cost under the other kind of budget; None where that is
    next to none, and costs more than `LARGEST_SHOWN`.

    Sigma is proportional to 1 / epsilon, or to 1 / sqrt(rho), so one probe tells each price. A
    choice among levels is as good at epsilon = sqrt(8 rho).

    Args:
        kernel: Tells the noise of measurements.
        measurements: Of a statement, its rounds included.
        price: Of the statement.
        contract: Of one of its tables.
    """
    pure = isinstance(price, Rho)
    unit: Price = Epsilon(NANO) if pure else Rho(NANO)
    probes = [Measurement(m.query, unit) for m in measurements]
    same = []
    now = predict_measurements(kernel, measurements, contract)
    then = predict_measurements(kernel, probes, contract)
    for m, here, there in zip(measurements, now, then, strict=True):
        ratio = there.sigma / here.sigma if here.sigma else 0.0
        other = ratio if pure else ratio * ratio
        if isinstance(m.query, a.Level):
            other = math.sqrt(8 * m.price.value) if pure else m.price.value**2 / 8
        if other > LARGEST_SHOWN:
            return None
        same.append(Measurement(m.query, type(unit)(max(1, math.ceil(other * NANO)))))
    return joint_price(same, contract, {})[0] if same else type(unit)(0)
