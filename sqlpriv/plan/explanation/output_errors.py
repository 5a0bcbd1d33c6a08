"""How far an output is expected to be off, cell by cell, and what it takes to be within a tenth."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sqlpriv.kernel.terms.algebra import Key
from sqlpriv.kernel.terms.budget import Price, Rho
from sqlpriv.plan.aggregates.estimators import half_interval, is_too_narrow
from sqlpriv.plan.aggregates.means.mean_rounds import round_templates
from sqlpriv.plan.aggregates.price_shares import Paid, coefficients
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.cells.computed_columns import AGGREGATE
from sqlpriv.plan.plan import GroupingSet, Output, Plan
from sqlpriv.plan.pricing.display import epsilon_shown
from sqlpriv.statements import sql
from sqlpriv.statements.tree import Name

if TYPE_CHECKING:
    from sqlpriv.plan.pricing.predictions import Prediction

TENTH = 0.1
"""The relative error whose price EXPLAIN PRIVACY tells."""
GUESS = (
    "± of {} is a guess from the declared domain alone: the answer's ± depends on where values "
    "lie, and is mostly between a hundredth of the guess and five times the guess"
)
BY_HISTOGRAM = "± of {} is expected by the histogram of its values that was released before"
"""How near that comes is measured by `tests/bench/expected_errors.py`."""
"""Of random columns without strata (`tests/bench/random_shapes.py`) the medians of two runs were
there in .78 (cells 401 to 550) and .97 (cells 1001 to 1150)."""
Expected = Mapping[Recipe, NDArray[np.float64]]
"""By recipe: half-widths that its cells are expected to have, of shape (strata, key 1, …)."""
NOTHING_EXPECTED: Expected = {}
MOST_GROUPS = 100
"""More groups than this have no rows of their own; the median of all has one."""


def query_noises(
    plan: Plan, explained: Sequence[Prediction], later: Sequence[Prediction]
) -> dict[Paid, float]:
    """Returns the noise of every query, that of the sealed answer where it would be replayed; of a
    mean in rounds what its last round is expected to have, in units of x.
    """
    pairs = zip(plan.measurements, explained, strict=True)
    sigmas: dict[Paid, float] = {m.query: e.noise for m, e in pairs}
    at = 0
    for mean in plan.rounds:
        at += len(round_templates([mean]))
        sigmas[mean.recipe] = later[at - 1].sigma * half_interval(mean.recipe.width, mean.sigma)
    return sigmas


def output_rows(
    output: Output,
    sigmas: Mapping[Paid, float],
    z: float,
    sizes: NDArray[np.float64] | None,
    expected: Expected = NOTHING_EXPECTED,
) -> list[dict[str, Any]]:
    """Returns a row for every output that is an aggregate by itself."""
    rows = []
    strata = output.strata_count
    for (name, number), marginal in product(_aggregate_outputs(output), output.marginals):
        marginal_sizes = None if sizes is None else sum_to_marginal(output, marginal, sizes)
        recipe = marginal.recipes[number]
        absolute, relative = expected_error_of(recipe, sigmas, z, marginal_sizes)
        if (halves := expected.get(recipe)) is not None and np.isfinite(halves).any():
            absolute = float(np.nanmedian(halves))
            relative = _median_relative(recipe, halves, marginal_sizes)
        by = keys_label(output, [axis.key for axis in marginal.axes])
        rows.append(
            {
                "measurement": f"output {name}{by}",
                "cells": strata * marginal.cells,
                "expected_error": absolute,
                "relative_error": relative,
            }
        )
    return rows


def _aggregate_outputs(output: Output) -> list[tuple[str, int]]:
    """Returns the outputs that are aggregates by themselves: name, and the aggregate's number."""
    return [
        (n, int(i.name.removeprefix(AGGREGATE)))
        for n, i in zip(output.names, output.items, strict=True)
        if isinstance(i, Name) and i.name.startswith(AGGREGATE)
    ]


def group_rows(
    plan: Plan,
    noises: Mapping[Paid, float],
    z: float,
    sizes: NDArray[np.float64],
    delta: float,
    expected: Expected = NOTHING_EXPECTED,
) -> list[dict[str, Any]]:
    """Returns a row for each output in each group of a known size: what it is expected to be off
    by, and the epsilon of a statement in which that is a tenth of its typical size.

    Args:
        plan: Of the statement.
        noises: `query_noises` of it.
        z: The 95 % half-width in standard deviations.
        sizes: Rows of the groups, of shape (strata, key 1, …); groups below one row have no row.
        delta: At which epsilon is stated.
        expected: Half-widths of the cells of some recipes, which take the place of those by noise.
    """
    output = plan.output
    rows: list[dict[str, Any]] = []
    for (name, number), marginal in product(_aggregate_outputs(output), output.marginals):
        recipe, of_groups = marginal.recipes[number], sum_to_marginal(output, marginal, sizes)
        labels = [*_group_labels(output, marginal)]
        if not 1 < len(labels) <= MOST_GROUPS:
            continue
        halves = expected.get(recipe, np.full(of_groups.shape, np.nan)).ravel()
        for label, size, half in zip(labels, of_groups.ravel(), halves.tolist(), strict=True):
            error, relative = expected_error_of(recipe, noises, z, np.array([size]))
            if math.isfinite(half):
                error = half
                relative = _median_relative(recipe, np.array([half]), np.array([size]))
            if relative is None:
                continue
            tenth = epsilon_shown(price_of_tenth(plan.price, relative), delta)
            rows.append(
                {
                    "measurement": f"{name} where {label}",
                    "expected_error": error,
                    "relative_error": relative,
                    "epsilon_for_10_percent": tenth,
                }
            )
    return rows


def _median_relative(
    recipe: Recipe, halves: NDArray[np.float64], sizes: NDArray[np.float64] | None
) -> float | None:
    """Returns the median of the cells' half-widths as parts of what is typical; None if unknown."""
    rows = np.ones(halves.shape) if recipe.kind == "mean" else sizes
    if rows is None:
        return None
    parts = halves / (typical_size(recipe) * np.where(rows >= 1, rows, np.nan))
    return float(np.nanmedian(parts)) if np.isfinite(parts).any() else None


def _group_labels(output: Output, marginal: GroupingSet) -> Iterator[str]:
    """Yields what a marginal's groups are, in the order of its cells."""
    titles = [d.title for d in (*output.strata, *(output.groups[i] for i in marginal.keys))]
    strata = product(*(d.values for d in output.strata))
    for stratum, group in product(strata, marginal.combinations()):
        pairs = zip(titles, (*stratum, *group), strict=True)
        yield ", ".join(f"{title} = {'NULL' if v is None else v}" for title, v in pairs)


def price_of_tenth(price: Price, relative: float) -> Price:
    """Returns the price at which a relative error would be a tenth: noise is in proportion to
    1 / epsilon, or to 1 / √rho.

    >>> price_of_tenth(Rho(1000), 0.2)
    Rho(nano=4000)
    """
    power = 2 if isinstance(price, Rho) else 1
    return type(price)(math.ceil(price.nano * (relative / TENTH) ** power - 1e-6))


def sizes_of_tenth(plan: Plan, noises: Mapping[Paid, float], z: float) -> tuple[str, ...]:
    """Returns, in words, from how many rows on each output is within a tenth at this price."""
    output, phrases = plan.output, []
    if not plan.measurements:  # no group can pass: nothing is asked
        return ()
    for name, number in _aggregate_outputs(output):
        recipe = output.marginals[0].recipes[number]
        relative = expected_error_of(recipe, noises, z, np.array([1.0]))[1]
        if relative is not None:
            phrases.append(f"{name} of {math.ceil(relative / TENTH):,} rows or more")
    if not phrases:
        return ()
    return (f"± is expected to be within 10 % in groups for {', '.join(phrases)}",)


def guessed_errors(plan: Plan, expected: Expected) -> tuple[str, ...]:
    """Returns, in words, which outputs have an expected error that is a guess, and which have one
    by a histogram: means that are clipped where noised counts show their values to be."""
    recipes = plan.output.marginals[0].recipes
    in_rounds = [mean.recipe for mean in plan.rounds if is_guessed(mean.recipe)]
    outputs = [
        (n, recipes[i]) for n, i in _aggregate_outputs(plan.output) if recipes[i] in in_rounds
    ]
    by_domain = ", ".join(name for name, recipe in outputs if recipe not in expected)
    by_histogram = ", ".join(name for name, recipe in outputs if recipe in expected)
    lines = ((GUESS, by_domain), (BY_HISTOGRAM, by_histogram))
    return tuple(line.format(names) for line, names in lines if names)


def is_guessed(recipe: Recipe) -> bool:
    """Returns whether a mean's noise follows from what its histogram will show."""
    return recipe.using == "quantile" and not is_too_narrow(recipe.width)


def sum_to_marginal(
    output: Output, marginal: GroupingSet, sizes: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Returns the sizes of a marginal's cells from those of all strata and keys."""
    return np.asarray(
        sizes.sum(axis=tuple(i + 1 for i in range(len(output.groups)) if i not in marginal.keys))
    )


def keys_label(output: Output, keys: Sequence[Key]) -> str:
    """Returns which set of keys it is, where there are several."""
    if len(output.marginals) == 1:
        return ""
    axes = (axis for marginal in output.marginals for axis in marginal.axes)
    places = {i for axis in axes if axis.key in keys for i in axis.places}
    names = [sql(output.groups[i].node) for i in sorted(places)]
    return f" by {', '.join(names)}" if names else ", total"


def expected_error_of(
    recipe: Recipe, sigmas: Mapping[Paid, float], z: float, sizes: NDArray[np.float64] | None
) -> tuple[float | None, float | None]:
    """Returns the expected 95 % half-width of one cell and its relative size, None if unknown."""
    if recipe.kind == "level":
        return None, None
    of_cell = coefficients(recipe).items()
    spread = sum(c * sigmas[part] ** 2 for part, c in of_cell if part != recipe.whole)
    scale = typical_size(recipe)
    occupied = sizes[sizes >= 1] if sizes is not None else np.empty(0)
    relative = float(np.median(z * spread**0.5 / occupied)) if occupied.size else None
    if recipe.kind in ("count", "sum"):
        return z * scale * spread**0.5, relative
    return (relative * scale if relative is not None else None), relative


def typical_size(recipe: Recipe) -> float:
    """Returns the typical size of an output per row of its cell: x taken as uniform."""
    w2 = recipe.width**2 / 12
    match recipe.kind:
        case "count":
            return 1.0
        case "variance":
            return float(w2)
        case "stddev":
            return float(w2**0.5)
    return float((recipe.middle**2 + w2) ** 0.5)
