"""`OPTIONS (max_rows_contributed = auto)`: how many rows of a unit count in one statement.

Units are counted by how many rows they have, for a fifth of the statement's price. The choice
is made of these noised counts and of public facts, so it is free; the plan is then made anew.
"""

from __future__ import annotations

import math

from sqlpriv.answer.bounds.rows_per_unit import bound_of_least_error, expected_units
from sqlpriv.kernel.proof.sensitivity import bound_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.kernel.vault import Kernel
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.pricing.predictions import predict_measurements

OF_SIGMA = {True: math.sqrt(2 / math.pi), False: math.sqrt(1 / 2)}
"""Mean absolute noise in standard deviations: of Gaussian noise, and of Laplace's."""


def choose_rows(kernel: Kernel, awaiting: Plan, of_units: Release, contract: TableContract) -> int:
    """Returns how many rows of a unit are to be kept in a stratum.

    What is weighed is the sum over all figures of what is left out and of the noise, as a count
    would have it that gets the largest part of the price that any query gets. Everybody's figure by
    strata leaves out the sum of what they do, and has the root of the sum of their squared noises;
    the two levels weigh the same.

    Args:
        kernel: Predicts noise.
        awaiting: The plan at the owner's bound.
        of_units: The answer to its `rows_choice`.
        contract: Of the table whose rows are counted.
    """
    source = awaiting.output.recipes[0].queries[0].source
    bound, strata = bound_of(source, contract), tuple(d.key for d in awaiting.output.strata)
    prices = [m.price for m in awaiting.measurements if m != awaiting.rows_choice]
    most_paid = max((*prices, *(r.price for r in awaiting.rounds)), key=lambda price: price.nano)
    counted = Measurement(a.Count(source, strata), most_paid)
    (prediction,) = predict_measurements(kernel, [counted], contract)
    cells = max(1, awaiting.output.cells)
    figures = (cells + math.sqrt(cells)) / 2 if strata else cells
    noise = prediction.sigma * OF_SIGMA[isinstance(most_paid, Rho)] * figures
    groups = min(bound.groups_per_unit, awaiting.output.strata_count)
    kept = bound_of_least_error(
        expected_units(of_units),
        noise / (bound.rows_per_unit * groups),
        bound.rows_per_unit * groups,
    )
    return max(1, math.ceil(kept / groups))
