"""What a measurement would do, checked before anything is read: lattice, noise, price."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.proof import noise, sensitivity
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import TableContract, Type
from sqlpriv.kernel.terms.operations import NUMBERS, check_key
from sqlpriv.kernel.terms.release import Measurement

MAX_CELLS = 2_000_000


class Ready(NamedTuple):
    """A measurement, checked: nothing in it comes from a row.

    Attributes:
        reads: Whose exact integers it is made of.
        sigma: Its noise's standard deviation, in the query's units; 0 where it is a choice.
        answer: Makes the answer of the exact integers: what leaves the kernel.
    """

    reads: a.Query
    sigma: float
    answer: Callable[[list[int]], NDArray[np.float64]]


def ready(measurement: Measurement, contract: TableContract) -> Ready:
    """Returns what draws the noise of a measurement; raises as `Allowance.release` does."""
    query, price = measurement.query, measurement.price
    scope = Scope(query.source, contract)
    if isinstance(query, a.Level):
        return _ready_level(query, price, scope)
    return _ready_sum(query, price, scope)


def _ready_sum(query: a.Query, price: Price, scope: Scope) -> Ready:
    """Returns a count or sum: noise is added to the exact integers, on their lattice."""
    lattice = sensitivity.lattice_of(query, check_expressions(query, scope))
    moved = sensitivity.sensitivity(query, scope.unit, lattice.steps)
    up, down = lattice.step.as_integer_ratio()
    if lattice.steps == 0:  # an interval of one number: all integers are 0, in every database
        return Ready(query, 0.0, lambda exact: np.zeros(len(exact)))
    added = noise.additive(moved.l1, moved.l2_squared, price)

    def add_noise(exact: list[int]) -> NDArray[np.float64]:
        pairs = zip(exact, added.draw(len(exact)), strict=True)
        return np.array([(x + z) * up / down for x, z in pairs], "<f8")

    return Ready(query, float(lattice.step) * added.sigma, add_noise)


def _ready_level(query: a.Level, price: Price, scope: Scope) -> Ready:
    """Returns a choice of a level in each cell; as in `choose`, a stratum pays price / g."""
    check_expressions(query.histogram, scope)
    g = min(scope.unit.groups_per_unit, a.strata_count(query))
    distance = sensitivity.level_distance(query, scope.unit.rows_per_unit)
    choose = noise.chooser(distance, type(price)(price.nano // g))

    def choose_levels(exact: list[int]) -> NDArray[np.float64]:
        return np.array([choose(row) for row in sensitivity.level_scores(query, exact)], "<f8")

    return Ready(query.histogram, 0.0, choose_levels)


def check_expressions(query: a.Query, scope: Scope) -> Type | None:
    """Returns the type of what is added up, or refuses what is too large or could fail on a row."""
    total, within = a.strata_count(query), query.within
    if total > MAX_CELLS or math.prod(a.shape(query)) > MAX_CELLS:
        raise Refused(f"the query has more than {MAX_CELLS} cells")
    if within is not None and not (within and [*within] == sorted({*within} & {*range(total)})):
        raise KernelError("`within` names existing strata in ascending order")
    for key in (*query.strata, *query.keys):
        check_key(key, scope.type(key.expr))
    of = scope.type(query.of) if query.of is not None else None
    if isinstance(query, a.Sum) and of not in NUMBERS:
        raise Refused("only numbers are summed")
    return of
