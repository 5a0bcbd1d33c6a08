"""A private SELECT put to the gate, and what it would cost: between a plan and its answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.answer.moments import Moments
from sqlpriv.answer.rounds import adaptive_means
from sqlpriv.answer.rounds.expected_means import CountNoise, expected_half_widths
from sqlpriv.errors import Refused
from sqlpriv.kernel.proof.sensitivity import joint_price
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import NANO, Budget, Price, Rho
from sqlpriv.kernel.terms.contract import TableContract
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.kernel.vault import Kernel, release_of
from sqlpriv.plan.aggregates.means.mean_queries import clipped_sum_of_all
from sqlpriv.plan.aggregates.means.mean_rounds import first_rounds, round_templates, rounds_of
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.explanation.explain import explain, strata_cost_notes
from sqlpriv.plan.explanation.output_errors import (
    expected_error_of,
    guessed_errors,
    query_noises,
    sizes_of_tenth,
    sum_to_marginal,
)
from sqlpriv.plan.notices import null_rule, plan_notices, selection_notices
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.plan.pricing.other_kind import price_of_other_kind
from sqlpriv.plan.pricing.predictions import predict_measurements, predict_threshold
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.statements import tree as t

TARGET = "max_relative_error"
SMALLER_STEP = 10.0
"""By how much the search for the least price raises the error at each step. The search begins at
the whole budget, where noise may round to none: from no noise the least price cannot be computed.
"""


def has_lasting_plan(select: t.Select) -> bool:
    """Returns whether a query is planned alike whatever was released before.

    >>> has_lasting_plan(t.Select((), "people"))
    True
    >>> has_lasting_plan(t.Select((), "people", options=((TARGET, 0.1),)))
    False
    """
    by_releases = ("max_rows_contributed", "auto") in select.options
    return not by_releases and TARGET not in dict(select.options)


def sealed_releases(
    kernel: Kernel, measurement: Measurement, contract: TableContract
) -> list[Release]:
    """Returns the answers that a measurement is replayed with at no cost, dearest first."""
    query = measurement.query
    seals = kernel.find_seals(query.source, contract, a.query_hash(query), measurement.price)
    return [release_of(seal, query, replayed=True) for seal in seals]


def release_measurements(
    planned: Plan,
    measure: adaptive_means.Measure,
    seals: adaptive_means.Seals = adaptive_means.nothing_sealed,
    remembered: adaptive_means.Remembered | None = None,
) -> tuple[tuple[Release, ...], Mapping[Recipe, Moments]]:
    """Asks a plan's measurements, then its rounds; returns what `answer.answer` takes.

    Args:
        planned: What is asked.
        measure: `Allowance.release`.
        seals: `sealed_releases`, of the plan's contract.
        remembered: What `price_now` found among the seals.

    Raises:
        sqlpriv.Error: As `Allowance.release`.
    """
    if not planned.output.cells:
        return (), {}
    some = [m for m in planned.measurements if math.prod(a.shape(m.query))]
    measured = {release.query: release for release in measure(some)}
    releases = tuple(measured.get(m.query) or _empty_release(m) for m in planned.measurements)
    return releases, adaptive_means.ask_rounds(planned.rounds, releases, measure, seals, remembered)


def foreseen_queries(planned: Plan) -> list[a.Asked]:
    """Returns what a plan's rounds may ask, whatever is answered: of clipped means, all but the
    ends, and the exact sums of any ends are made of the same bins. The counts decide between two
    grids, of which the finer one tells the other, so that both are one read's."""
    foreseeable = [one for one in planned.rounds if one.recipe.using == "quantile"]
    rounds = [step for one in foreseeable for step in (*rounds_of(one), *first_rounds(one))]
    queries = [m.query for step in rounds for m in step.measurements]
    of_all = [clipped_sum_of_all(one.recipe, None) for one in foreseeable if one.both_levels]
    return [*dict.fromkeys(queries), *of_all]


def names_of_plan(planned: Plan) -> list[str]:
    """Returns the names of what a plan asks, as far as they are known beforehand."""
    measurements = [*planned.measurements, *(m for _, m in round_templates(planned.rounds))]
    if planned.rows_choice is not None:
        measurements.append(planned.rows_choice)
    queries: list[object] = [m.query for m in measurements]
    if planned.selection is not None:
        queries.append((planned.selection.source, planned.selection.exprs))
    return [a.query_hash(query) for query in queries]


def zero_releases(measurements: Sequence[Measurement]) -> tuple[Release, ...]:
    """Returns releases of the right shapes that say nothing: every value is 0, nothing was read."""
    return tuple(_empty_release(measurement) for measurement in measurements)


def _empty_release(m: Measurement) -> Release:
    """Returns what is known of a table without cells: no key was selected."""
    return Release(0, m.query, np.zeros(a.shape(m.query)), 0.0, m.price)


def explain_plan(
    kernel: Kernel, planned: Plan, contract: TableContract, left: Price, delta: float
) -> tuple[pa.Table, str]:
    """Returns the rows of EXPLAIN PRIVACY, and its notes, a line each.

    `left` is the budget before, `delta` what epsilon is stated at.
    """
    now = predict_measurements(kernel, planned.measurements, contract)
    rounds = [m for _, m in round_templates(planned.rounds)]
    later = predict_measurements(kernel, rounds, contract)
    cell_sizes, price = _cell_sizes(kernel, planned, contract), price_now(kernel, planned, contract)
    selected = _selection_threshold(planned, contract)
    other = price_of_other_kind(kernel, [*planned.measurements, *rounds], planned.price, contract)
    priced = zip(planned.measurements, now, strict=True)
    counts = {m.query: CountNoise(one.sigma, m.price) for m, one in priced}
    expected = expected_half_widths(
        planned.rounds, counts, partial(_dearest_sealed, kernel, contract, type(planned.price)(0))
    )
    table = explain(planned, now, price, left, delta, cell_sizes, selected, other, later, expected)
    lines = strata_cost_notes(planned, now, cell_sizes, later, expected)
    if planned.awaits_rows:
        lines = (*lines, "errors are at the owner's bound: fewer rows of a unit may be chosen")
    if cell_sizes is None:
        noises = query_noises(planned, now, later)
        lines = (*lines, *sizes_of_tenth(planned, noises, half_width(planned.price)))
    lines = (*lines, *guessed_errors(planned, expected))
    notices = (*selection_notices(planned, contract), *plan_notices(planned, contract))
    notices = (*null_rule(planned.output), *notices)
    return table, "\n".join((*lines, *notices))


def price_now(
    kernel: Kernel,
    planned: Plan,
    contract: TableContract,
    remembered: adaptive_means.Remembered | None = None,
    seals: adaptive_means.Seals | None = None,
) -> Price:
    """Returns what a plan would be charged now: less than its price where answers are sealed.

    `remembered` gets the rounds that were found among the seals, `seals` is what finds those.
    """
    find_seals = seals or (lambda m: sealed_releases(kernel, m, contract))
    if planned.selection is not None:
        return planned.price  # what of it is sealed depends on the keys
    if planned.awaits_rows:
        return planned.price  # and here on how many rows of a unit will count
    sealed = [first_replayed(find_seals(m), m.price) for m in planned.measurements]
    fresh = [m for m, old in zip(planned.measurements, sealed, strict=True) if old is None]
    nano = joint_price(fresh, contract, {})[0].nano if fresh else 0
    nano += adaptive_means.outstanding_price(planned.rounds, sealed, find_seals, remembered)
    return type(planned.price)(nano)


def first_replayed(sealed: Sequence[Release], price: Price) -> Release | None:
    """Returns the answer that the gate replays: that of the very price, else the dearest."""
    return min(sealed, key=lambda release: release.price != price, default=None)


def with_price_for_target(
    kernel: Kernel, select: t.Select, contract: TableContract, budget: Budget, left: Price
) -> t.Select:
    """Returns a statement with `max_relative_error = e` turned into the least price that meets it.

    Met is: the predicted 95 % half-width of every output, relative to its typical size (see
    `plan.price`), is at most e in the smallest group. Sizes are those of a COUNT(*) over the same
    groups that was released before; nothing is read.

    Raises:
        Refused: No such sizes, an output of unknown error, or more than is left.
    """
    options = dict(select.options)
    if TARGET not in options:
        return select
    target, rest = options.pop(TARGET), tuple(x for x in select.options if x[0] != TARGET)
    if isinstance(target, bool) or not isinstance(target, int | float) or not 1e-6 <= target <= 1:
        raise Refused.at(select.pos, f"{TARGET} lies from 0.000001 to 1", f"write {TARGET} = 0.02")
    if {"epsilon", "rho"} & options.keys():
        raise Refused.at(
            select.pos, f"a statement has a price or a {TARGET}", "leave one of them out"
        )
    name, power = ("rho", 2) if isinstance(left, Rho) else ("epsilon", 1)

    def priced_select(nano: float) -> t.Select:
        return replace(select, options=(*rest, (name, math.ceil(nano) / NANO)))

    def error(nano: float) -> float:
        return _worst_relative_error(
            kernel,
            plan(priced_select(nano), contract, budget, None, partners=kernel.most_partners),
            select,
            contract,
        )

    nano = float(budget.total.nano)
    while nano > SMALLER_STEP**power and error(nano) < target / SMALLER_STEP:
        nano /= SMALLER_STEP**power
    nano *= (error(nano) / float(target)) ** power
    while nano <= left.nano and error(nano) > target:
        nano = 1.01 * nano + 1  # rounding, and discrete noise at small scales
    if nano > left.nano:
        most = epsilon_shown(left, budget.delta)
        hint = "ask for fewer groups or outputs, or a larger error"
        raise Refused.at(
            select.pos, f"{TARGET} = {target} costs more than epsilon = {most:.6g}", hint
        )
    return priced_select(nano)


def _worst_relative_error(
    kernel: Kernel, planned: Plan, select: t.Select, contract: TableContract
) -> float:
    """Returns the largest relative error of the outputs, in the smallest group."""
    sizes = None if planned.selection else _cell_sizes(kernel, planned, contract)
    if sizes is None or sizes.min() < 1:
        reason = "is not known yet" if sizes is None else "is 0"
        hint = "release COUNT(*) over the same rows and groups first; leave out empty ones by WHERE"
        raise Refused.at(select.pos, f"the size of the smallest group {reason}", hint)
    now = predict_measurements(kernel, planned.measurements, contract)
    later = predict_measurements(kernel, [m for _, m in round_templates(planned.rounds)], contract)
    noise, z = query_noises(planned, now, later), half_width(planned.price)
    errors: list[float] = []
    for marginal in planned.output.marginals:
        smallest = np.array([sum_to_marginal(planned.output, marginal, sizes).min()])
        for recipe in marginal.recipes:
            relative = expected_error_of(recipe, noise, z, smallest)[1]
            if relative is None:
                raise Refused.at(
                    select.pos, "the error of a quantile is not known beforehand", "give it a price"
                )
            errors.append(relative)
    return max(errors)


def _selection_threshold(planned: Plan, contract: TableContract) -> tuple[float, int] | None:
    """Returns the noise of a plan's selection of keys, and how many units a key must have."""
    if (chosen := planned.selection) is None:
        return None
    return predict_threshold(chosen.source, contract, chosen.price, chosen.yocto)


def _dearest_sealed(
    kernel: Kernel, contract: TableContract, free: Price, query: a.Asked
) -> Release | None:
    sealed = sealed_releases(kernel, Measurement(query, free), contract)
    return sealed[0] if sealed else None


def _cell_sizes(
    kernel: Kernel, planned: Plan, contract: TableContract
) -> NDArray[np.float64] | None:
    """Returns sealed counts of the plan's cells, if they were released before; else None. Those of
    several grouping sets are added up from the counts by all keys, where each key has an axis."""
    output = planned.output
    strata, groups = (tuple(d.key for d in x) for x in (output.strata, output.groups))
    if len(output.marginals) == 1:
        groups = tuple(axis.key for axis in output.marginals[0].axes)
    elif any(axis.key not in groups for marginal in output.marginals for axis in marginal.axes):
        return None
    count = a.Count(output.recipes[0].queries[0].source, strata, groups)
    sealed = _dearest_sealed(kernel, contract, type(planned.price)(0), count)
    return None if sealed is None else sealed.values
