"""What a measurement would do, checked before anything is read: lattice, noise, price."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import KernelError, Refused
from sqlpriv.kernel.proof import noise, sensitivity
from sqlpriv.kernel.proof.clipped_sums import Clip, clipped_sums, clips_of
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Price
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.operations import NUMBERS, check_key
from sqlpriv.kernel.terms.release import Measurement

MAX_CELLS = 2_000_000


class PreparedMeasurement(NamedTuple):
    """A measurement, checked: nothing in it comes from a row.

    Attributes:
        sigma: The standard deviation of the noise, in the query's units; 0 for a choice.
        answer: Takes the exact integers of each of `parts_of(query)`; returns the noised answer,
            which may leave the kernel.
    """

    sigma: float
    answer: Callable[..., NDArray[np.float64]]


def parts_of(query: a.Asked) -> a.Parts:
    """Returns the queries whose exact answers make the exact answer of a measurement."""
    if isinstance(query, a.Clipped):
        return query.by_bin
    return (query.histogram if isinstance(query, a.Level) else query,)


def prepare_measurement(measurement: Measurement, scope: Scope) -> PreparedMeasurement:
    """Checks a measurement, whose relation is that of the scope, and fits its noise to its price.
    Raises what `Allowance.release` raises."""
    query, price = measurement.query, measurement.price
    if isinstance(query, a.Level):
        return _prepare_level(query, price, scope)
    # a count or sum: noise is added to the exact integers, on their lattice
    type_ = [check_expressions(part, scope) for part in parts_of(query)][-1]
    lattice = sensitivity.lattice_of(query, type_)
    clips = _clips(query, type_, scope) if isinstance(query, a.Clipped) else []
    moved = sensitivity.sensitivity(query, scope.unit, lattice.steps)
    up, down = lattice.step.as_integer_ratio()
    if lattice.steps == 0:  # an interval of one number: all integers are 0, in every database
        return PreparedMeasurement(0.0, lambda exact: np.zeros(len(exact)))
    added = noise.additive(moved.l1, moved.l2_squared, price)

    def add_noise(*parts: list[int]) -> NDArray[np.float64]:
        exact = clipped_sums(clips, *parts) if clips else parts[0]
        pairs = zip(exact, added.draw(len(exact)), strict=True)
        return np.array([(x + z) * up / down for x, z in pairs], "<f8")

    return PreparedMeasurement(float(lattice.step) * added.sigma, add_noise)


def _prepare_level(query: a.Level, price: Price, scope: Scope) -> PreparedMeasurement:
    """Returns a choice of a level in each cell; as in `choose`, a stratum pays price / g."""
    check_expressions(query.histogram, scope)
    g = min(scope.unit.groups_per_unit, a.strata_count(query))
    distance = sensitivity.level_distance(query, scope.unit.rows_per_unit)
    choose = noise.chooser(distance, type(price)(price.nano // g))

    def choose_levels(exact: list[int]) -> NDArray[np.float64]:
        return np.array([choose(row) for row in sensitivity.level_scores(query, exact)], "<f8")

    return PreparedMeasurement(0.0, choose_levels)


def _clips(query: a.Clipped, type_: Type | None, scope: Scope) -> list[Clip]:
    """Returns how each cell is clipped.

    The value that is told apart into bins must be the value that is summed, once it is clamped to
    the query's interval. A stored column is summed as stored, but its bins see it clamped to its
    declared domain: so the interval has to lie inside that domain."""
    low, high = scope.clamped_to(query.bins.arg) or (query.lower, query.upper)
    inside = low <= query.lower and query.upper <= high
    if not inside or type_ is None or len(query.ends) != math.prod(a.shape(query)):
        raise KernelError("a clipped sum is of one interval inside its column's, and of each cell")
    return clips_of(query, type_, sensitivity.lattice_of(query.by_bin[1], type_))


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
