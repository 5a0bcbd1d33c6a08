"""`EXPLAIN PRIVACY`: what a statement would measure, cost and be worth, from public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.kernel.terms.algebra import Asked, Count, Distinct, Level
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.plan.aggregates.cost_of_strata import population_cost, share_for, stratum_cost
from sqlpriv.plan.aggregates.means.mean_rounds import round_templates
from sqlpriv.plan.aggregates.price_shares import Paid
from sqlpriv.plan.aggregates.quantile_method import rank_error
from sqlpriv.plan.explanation.output_errors import (
    NOTHING_EXPECTED,
    Expected,
    group_rows,
    keys_label,
    output_rows,
    query_noises,
)
from sqlpriv.plan.plan import Output, Plan
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.plan.pricing.statement import half_width
from sqlpriv.plan.pricing.tuned_constants import WORTH_TELLING
from sqlpriv.system import arrow

if TYPE_CHECKING:
    from sqlpriv.plan.pricing.predictions import Prediction

_COLUMNS: dict[str, pa.DataType] = {
    "measurement": pa.string(),
    "mechanism": pa.string(),
    "cells": pa.int64(),
    "sensitivity": pa.float64(),
    "sigma": pa.float64(),
    "rho": pa.float64(),
    "epsilon": pa.float64(),
    "expected_error": pa.float64(),
    "relative_error": pa.float64(),
    "epsilon_for_10_percent": pa.float64(),
    "sql": pa.string(),
}
OTHER_DELTA = 1e-9
"""At which EXPLAIN states zCDP as epsilon to those whose budget is of pure epsilon."""
SCHEMA = pa.schema(_COLUMNS)


def explain(
    plan: Plan,
    explained: Sequence[Prediction],
    due: Price,
    left: Price,
    delta: float,
    sizes: NDArray[np.float64] | None = None,
    threshold: tuple[float, int] | None = None,
    other: Price | None = None,
    later: Sequence[Prediction] = (),
    expected: Expected = NOTHING_EXPECTED,
) -> pa.Table:
    """Returns the rows of EXPLAIN PRIVACY.

    One row per measurement; one per output that is an aggregate; where sizes are known, one per
    output and group, with the epsilon at which its error would be a tenth of its typical size;
    the total; the budget left after.
    `expected_error` is the half-width of a 95 % interval of one cell, in the output's units: known
    for counts and sums, and for means and variances where cell sizes are; of a quantile's choice it
    is in rows of rank. `relative_error` is the
    median, over cells, of the 95 % half-width as a fraction of the output's typical size (see
    `price` for what is typical); it needs cell sizes.

    Args:
        plan: What would be run.
        explained: `predict_measurements` of the plan's.
        due: What would be charged now: less than the plan's price where answers are sealed.
        left: The budget left before.
        delta: The delta at which epsilon is stated.
        sizes: Public sizes of the cells, of shape (strata, key 1, …): sealed counts, say.
        other: What the same noise would cost under the other kind of budget.
        threshold: Of a selection of keys: its noise, and how many units a key must seem to have.
        later: `Kernel.explain` of the measurements of `plan.rounds.templates`.
        expected: Half-widths of clipped means by histograms that were released.
    """
    rows = []
    if plan.selection is not None and threshold is not None:
        label = f"keys of at least {threshold[1]} units"
        mechanism = {"mechanism": "Gaussian threshold", "sigma": threshold[0]}
        rows.append(price_row(label, delta, plan.selection.price, **mechanism))
    own, measured = bool(plan.output.strata), plan.measurements
    measurements = [
        (
            "units by how many rows they have"
            if m is plan.left_out
            else _measurement_label(m.query, own) + keys_label(plan.output, m.query.keys),
            m,
        )
        for m in measured
    ] + round_templates(plan.rounds)
    rows += [
        measurement_row(label, delta, e, _measurement_error(m.query, e))
        for (label, m), e in zip(measurements, (*explained, *later), strict=True)
    ]
    if measurements:
        sigmas = query_noises(plan, explained, later)
        z = half_width(plan.price)
        rows += output_rows(plan.output, sigmas, z, sizes, expected)
        rows += [] if sizes is None else group_rows(plan, sigmas, z, sizes, delta, expected)
    rows += total_rows(due, left, delta)
    if isinstance(other, Rho):
        rows.append(
            price_row(f"the same noise under zCDP, delta = {OTHER_DELTA:g}", OTHER_DELTA, other)
        )
    elif other is not None and measurements:
        rows.append(price_row("the same noise under pure epsilon", 0.0, other))
    return arrow.table(rows, SCHEMA)


def strata_cost_notes(
    plan: Plan,
    explained: Sequence[Prediction],
    sizes: NDArray[np.float64] | None = None,
    later: Sequence[Prediction] = (),
    expected: Expected = NOTHING_EXPECTED,
) -> tuple[str, ...]:
    """Returns what the strata cost the population's figures, and what each of them gets.

    Arguments as in `explain`. Empty for a statement without strata.
    """
    output, price = plan.output, type(plan.price)
    share = plan.options.population_share or 0.0
    k = math.prod(len(d.values) for d in output.strata)
    if k < 2:
        return ()
    z = half_width(plan.price)
    gains = ", ".join(
        _stratum_gains(output, query_noises(plan, explained, later), z, sizes, expected)
    )
    if all(isinstance(recipe.whole, Distinct) for recipe in output.recipes):
        line = "different values of strata do not add up: half of the price is for the population's"
        return (f"{line}, and each stratum has {gains}" if gains else line,)
    cost = population_cost(k, price, share)
    without = "the noise that they have without STRATIFY BY"
    noise = f"the population's figures have {cost:.2f} times {without}"
    if any(one.both_levels for one in plan.rounds):
        noise += "; a clipped AVG has less, where that makes no stratum's ± a quarter longer"
    notes = [noise] if share or cost <= WORTH_TELLING else [noise, _cheaper_population(k, price)]
    return (*notes, f"each stratum gets {gains}") if gains else tuple(notes)


def _cheaper_population(k: int, price: type[Price]) -> str:
    """Returns what to write where k strata cost the population's figures much."""
    share = share_for(k, price, WORTH_TELLING)
    dearer = stratum_cost(price, share)
    return (
        f"OPTIONS (population_share = {share:.2f}) makes that {WORTH_TELLING} times, "
        f"and each stratum's ± {dearer:.1f} times as long"
    )


def _stratum_gains(
    output: Output,
    noises: Mapping[Paid, float],
    z: float,
    sizes: NDArray[np.float64] | None,
    expected: Expected,
) -> list[str]:
    """Returns what a stratum gets, output by output: where sizes are unknown, one of 1,000 rows."""
    sizes_known = sizes is not None and bool((sizes >= 1).any())
    at = sizes if sizes_known else np.array([1000.0])
    phrases, blind = [], output_rows(output, noises, z, None)
    for row, alone in zip(output_rows(output, noises, z, at, expected), blind, strict=True):
        per = "" if sizes_known or alone["expected_error"] is not None else " per 1,000 rows"
        name = row["measurement"].removeprefix("output ")
        if row["expected_error"] is not None:  # that of a quantile is not known beforehand
            phrases.append(f"{name} ±{row['expected_error']:.4g}{per}")
    return phrases


def total_rows(due: Price, left: Price, delta: float) -> list[dict[str, Any]]:
    """Returns the rows of what is due now and what is left after it."""
    label = "short of budget by" if due.nano > left.nano else "budget left after"
    rest = type(left)(abs(left.nano - due.nano))
    return [price_row("total", delta, due), price_row(label, delta, rest)]


def price_row(label: str, delta: float, price: Price, **rest: Any) -> dict[str, Any]:
    rho = price.value if isinstance(price, Rho) else None
    return {"measurement": label, "rho": rho, "epsilon": epsilon_shown(price, delta), **rest}


def measurement_row(label: str, delta: float, e: Prediction, error: float) -> dict[str, Any]:
    """Returns the row of a measurement, with the error that is expected of it."""
    return price_row(
        label,
        delta,
        e.price,
        mechanism=e.mechanism,
        cells=e.cells,
        sensitivity=e.sensitivity,
        sigma=e.sigma,
        sql=e.sql,
        expected_error=error,
    )


def _measurement_error(query: Asked, e: Prediction) -> float:
    if isinstance(query, Level):
        return rank_error(query, e.sensitivity, e.price)
    return half_width(e.price) * e.sigma


def _measurement_label(query: Asked, stratified: bool) -> str:
    """Returns what is measured, in short."""
    where = ", population" if stratified and not query.strata else ""
    if isinstance(query, Level):
        subject = f"{100 * query.rank[0] / query.rank[1]:g} % quantile" if query.rank else "mode"
        return f"{subject} among {len(query.levels.values)} levels{where}"
    if isinstance(query, Distinct):
        return "count of different values" + where
    if isinstance(query, Count):
        return ("count of rows" if query.of is None else "count of values") + where
    return f"centred sum over [{query.lower:g}, {query.upper:g}]" + where
