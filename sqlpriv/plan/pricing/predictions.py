"""What a measurement would do, told before it is paid for: nothing here draws or charges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from sqlpriv.kernel.proof import sensitivity
from sqlpriv.kernel.proof.unit_rows import check_work
from sqlpriv.kernel.sql.queries import render
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.kernel.terms.contract import TableContract, TableFacts
from sqlpriv.kernel.terms.release import Measurement

if TYPE_CHECKING:
    from sqlpriv.kernel.vault import Kernel  # needs the engine


class Prediction(NamedTuple):
    """What a measurement would do; sensitivity (L2 or L1) and sigma are in units of the sum.

    `sealed_sigma` is the noise of the answer that it would be replayed with, None without one.
    """

    mechanism: str
    cells: int
    sensitivity: float
    sigma: float
    price: Price
    sql: str
    sealed_sigma: float | None

    @property
    def replayed(self) -> bool:
        """Whether an answer is sealed that cost as much or more."""
        return self.sealed_sigma is not None

    @property
    def noise(self) -> float:
        """The standard deviation that the answer will have."""
        return self.sigma if self.sealed_sigma is None else self.sealed_sigma


def predict_measurements(
    kernel: Kernel, measurements: Sequence[Measurement], contract: TableContract
) -> list[Prediction]:
    """Returns a prediction for each measurement, in order. Reads no private row, charges nothing.

    Args:
        kernel: Knows what is sealed, and counts rows of public tables.
        measurements: What would be asked.
        contract: Of one of their tables; what was found in rows is not looked at.

    Raises:
        Refused: What the gate would refuse before its charge.
    """
    from sqlpriv.kernel.checked import parts_of, prepare_measurement  # loads OpenDP

    others = {t: replace(c, facts=TableFacts()) for t, c in contract.others.items()}
    unseen = replace(contract, facts=TableFacts(), others=others)
    for source in dict.fromkeys(m.query.source for m in measurements):
        check_work(source, contract, kernel.most_partners)
    predictions = []
    for m in measurements:
        checked = prepare_measurement(m, Scope(m.query.source, contract))
        mechanism, moved = _sensitivity(m, contract)
        sql = render(parts_of(m.query), unseen, 0).sql
        seals = kernel.find_seals(m.query.source, contract, a.query_hash(m.query), m.price)
        cells = math.prod(a.shape(m.query))
        sealed = seals[0].sigma if seals else None
        predictions.append(Prediction(mechanism, cells, moved, checked.sigma, m.price, sql, sealed))
    return predictions


def predict_threshold(
    source: a.Relation, contract: TableContract, price: Rho, yocto: int
) -> tuple[float, int]:
    """Returns the noise of a selection of keys, and how many units a value must seem to have.

    Args:
        source: Whose values are selected.
        contract: Of one of its tables.
        price: Of the selection.
        yocto: Its delta, in 1e-24.

    Returns:
        The standard deviation of a count's noise, in units; and the threshold, in units.
    """
    from sqlpriv.kernel.proof import noise  # loads OpenDP

    scale, least = noise.threshold_of(Scope(source, contract).unit.rows_per_unit, price, yocto)
    return scale, least + 1  # the selection counts a unit less


def _sensitivity(m: Measurement, contract: TableContract) -> tuple[str, float]:
    """Returns the mechanism's name and how far a unit moves the query, in the query's units."""
    query, scope = m.query, Scope(m.query.source, contract)
    gaussian = isinstance(m.price, Rho)
    if isinstance(query, a.Level):
        g = min(scope.unit.groups_per_unit, a.strata_count(query))
        moves = sensitivity.level_distance(query, scope.unit.rows_per_unit)
        rows = moves / (query.rank or (1, 1))[1]
        return "exponential mechanism", rows * (math.sqrt(g) if gaussian else g)
    of = query.bins.arg if isinstance(query, a.Clipped) else query.of
    type_ = scope.type(of) if of is not None else None
    lattice = sensitivity.lattice_of(query, type_)
    moved = sensitivity.sensitivity(query, scope.unit, lattice.steps)
    distance = math.sqrt(moved.l2_squared) if gaussian else moved.l1
    name = "discrete Gaussian" if gaussian else "discrete Laplace"
    return name, float(lattice.step) * distance
