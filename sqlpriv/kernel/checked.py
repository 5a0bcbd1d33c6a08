"""What a measurement would do, checked before anything is read: lattice, noise, price."""

import math

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.proof import noise, sensitivity
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.kernel.terms.operations import NUMBERS, check_literal
from sqlpriv.kernel.terms.release import Measurement

MAX_CELLS = 2_000_000


class _Noisy:
    """A count or sum, checked, with its noise: nothing in it comes from a row."""

    def __init__(self, query: a.Query, price: Price, contract: TableContract) -> None:
        scope = Scope(query.source, contract)
        lattice = sensitivity.lattice_of(query, check_expressions(query, scope))
        moved = sensitivity.sensitivity(query, scope.unit, lattice.steps)
        self.reads, self.step = query, lattice.step
        self.noise = noise.additive(moved.l1, moved.l2_squared, price) if lattice.steps else None
        self.sigma = float(self.step) * (self.noise.sigma if self.noise else 0.0)

    def noised(self, exact: list[int]) -> NDArray[np.float64]:
        """Adds noise to the exact integers, then leaves the lattice for the query's own units."""
        drawn = self.noise.draw(len(exact)) if self.noise else [0] * len(exact)
        up, down = self.step.as_integer_ratio()
        return np.array([(x + z) * up / down for x, z in zip(exact, drawn, strict=True)], "<f8")


class _Choosing:
    """A choice of a level in each cell, checked; as in `choose`, a stratum pays price / g."""

    sigma = 0.0

    def __init__(self, query: a.Level, price: Price, contract: TableContract) -> None:
        scope = Scope(query.source, contract)
        check_expressions(query.histogram, scope)
        g = min(scope.unit.groups_per_unit, a.strata_count(query))
        distance = sensitivity.level_distance(query, scope.unit.rows_per_unit)
        self.query, self.reads = query, query.histogram
        self.choose = noise.chooser(distance, type(price)(price.nano // g))

    def noised(self, exact: list[int]) -> NDArray[np.float64]:
        """Returns the position of the level chosen in each cell."""
        scores = sensitivity.level_scores(self.query, exact)
        return np.array([self.choose(row) for row in scores], "<f8")


def ready(measurement: Measurement, contract: TableContract) -> _Noisy | _Choosing:
    """Returns what draws the noise of a measurement; raises as `Allowance.release` does."""
    query, price = measurement.query, measurement.price
    if isinstance(query, a.Level):
        return _Choosing(query, price, contract)
    return _Noisy(query, price, contract)


def check_expressions(query: a.Query, scope: Scope) -> Type | None:
    """Returns the type of what is added up, or refuses what is too large or could fail on a row."""
    total, within = a.strata_count(query), query.within
    if total > MAX_CELLS or math.prod(a.shape(query)) > MAX_CELLS:
        raise Refused(f"the query has more than {MAX_CELLS} cells")
    if within is not None and not (within and [*within] == sorted({*within} & {*range(total)})):
        raise KernelError("`within` names existing strata in ascending order")
    for key in (*query.strata, *query.keys):
        of_key = scope.type(key.expr)
        for value in key.values:
            check_literal(value, of_key)
    of = scope.type(query.of) if query.of is not None else None
    if isinstance(query, a.Sum) and of not in NUMBERS:
        raise Refused("only numbers are summed")
    return of
