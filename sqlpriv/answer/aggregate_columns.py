"""The column of one aggregate over all cells, and that of its half-widths."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.answer import means, quantiles
from sqlpriv.answer.interval_notes import without_unknown
from sqlpriv.answer.intervals.estimate import Estimate
from sqlpriv.answer.marginal_agreement import make_marginals_agree
from sqlpriv.answer.moments import Moments, read_moments
from sqlpriv.answer.pooled_strata import own_weights
from sqlpriv.answer.reconcile import round_counts, two_levels
from sqlpriv.kernel.terms.algebra import Asked, Distinct
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.cells.computed_columns import OWN_WEIGHT, PLAIN
from sqlpriv.plan.plan import GroupingSet, Output
from sqlpriv.system import arrow

ARROW = {
    Type.INTEGER: pa.int64(),
    Type.REAL: pa.float64(),
    Type.TEXT: pa.string(),
    Type.BOOLEAN: pa.bool_(),
    Type.DATE: pa.date32(),
    Type.TIMESTAMP: pa.timestamp("us"),
    Type.TIME: pa.time64("us"),
}


class CellFigures(NamedTuple):
    """What was released: answers by query, and the moments of every recipe that has them."""

    releases: Mapping[Asked, Release]
    moments: Mapping[Recipe, Moments]


NOTHING = CellFigures({}, {})


def cell_figures(
    output: Output, releases: Sequence[Release], adapted: Mapping[Recipe, Moments]
) -> CellFigures:
    """Returns what was released; `adapted` are the recipes that asked in rounds."""
    if not releases:  # no key was selected
        return NOTHING
    by_query = quantiles.in_order({release.query: release for release in releases})
    recipes = (*output.recipes, *output.own)
    plain = [recipe for recipe in recipes if not recipe.using and recipe.kind != "level"]
    moments = {r: read_moments(r, by_query) for r in plain}
    return CellFigures(by_query, make_marginals_agree(output, moments) | dict(adapted))


def aggregate_column(
    number: int,
    output: Output,
    marginal: GroupingSet,
    inputs: CellFigures,
    weights: NDArray[np.float64] | None,
    rows: int,
) -> tuple[Any, Any]:
    """Returns the column of an aggregate and that of its half-widths."""
    recipe = marginal.recipes[number]
    is_whole = recipe.kind == "count" or (recipe.kind == "sum" and recipe.type is Type.INTEGER)
    type_ = pa.int64() if is_whole else ARROW[recipe.type]
    if recipe.zoned:
        type_ = pa.timestamp("us", tz="UTC")
    if not inputs.releases:
        return pa.nulls(rows, type_), pa.nulls(rows, pa.float64())
    if recipe.kind == "level":
        if recipe.pooled:
            (values, widths), _ = quantiles.pooled_cells(recipe, inputs.releases, weights)
            values = [round(x) for x in values] if recipe.type is Type.INTEGER else values
        else:
            values, widths = quantiles.cells(recipe, inputs.releases)
        if output.strata:
            of_all, widths_of_all = quantiles.population(recipe, inputs.releases, weights)
            values, widths = values + of_all, widths + widths_of_all
        if recipe.digits is not None:
            values = [None if x is None else round(x, recipe.digits) for x in values]
        return arrow.array(values, type_), arrow.array(widths, pa.float64())
    parts: tuple[Estimate, ...] = (means.cells(recipe, inputs.moments[recipe]),)
    if isinstance(recipe.whole, Distinct):
        apart = replace(recipe, count=recipe.whole, whole=None)
        parts += (means.cells(apart, read_moments(apart, inputs.releases)),)
    elif output.strata:
        alone = _measured_alone(number, marginal, inputs)
        parts = two_levels(recipe, inputs.moments[recipe], weights, alone)
    parts = tuple(without_unknown(recipe, part) for part in parts)
    if is_whole:
        parts = tuple(replace(part, whole=True) for part in parts)
    figures = tuple(part.values for part in parts)
    digits = 0 if is_whole else recipe.digits
    if digits is not None and len(parts) == 2 and recipe.whole is None and not recipe.pooled:
        strata, everybody = round_counts(*(figure * 10.0**digits for figure in figures))
        figures = (strata / 10.0**digits, everybody / 10.0**digits)
    halves = np.concatenate([part.half_widths.ravel() for part in parts])
    column = np.concatenate([part.ravel() for part in figures])
    if recipe.kind == "sum" and recipe.count is not None:  # SUM over no rows is NULL, as AVG is
        counts = inputs.moments[recipe].n
        levels = [counts] if len(parts) == 1 else [counts, counts.sum(axis=0)]
        empty = np.concatenate([level.ravel() for level in levels]) <= 0
        column, halves = np.where(empty, np.nan, column), np.where(empty, np.nan, halves)
    if is_whole:
        column, blank = np.rint(column), np.isnan(column)
        whole = np.where(blank, 0, column).astype(np.int64)
        return arrow.numbers(whole, blank), arrow.numbers(halves, np.isnan(halves))
    column = column if digits is None else np.round(column, digits)
    return arrow.numbers(column, np.isnan(column)), arrow.numbers(halves, np.isnan(halves))


def _measured_alone(
    number: int, marginal: GroupingSet, inputs: CellFigures
) -> tuple[Recipe, Moments] | None:
    """Returns the population's own recipe and moments, where it was measured."""
    own = marginal.own[number] if marginal.own else None
    return (own, inputs.moments[own]) if own else None


def pooled_columns(
    number: int,
    output: Output,
    marginal: GroupingSet,
    inputs: CellFigures,
    weights: NDArray[np.float64] | None,
    rows: int,
) -> dict[str, Any]:
    """Returns, by name, the figures of strata's own rows alone and these rows' weights in what is
    shown, where strata are drawn together. Everybody's figure is of all rows: its weight is 1."""
    names = [f"{PLAIN}{number}", f"{OWN_WEIGHT}{number}"]
    if not inputs.releases or not output.strata:
        return {name: pa.nulls(rows, pa.float64()) for name in names}
    recipe = marginal.recipes[number]
    if recipe.kind == "level":
        own, of_all = (
            quantiles.cells(recipe, inputs.releases),
            quantiles.population(recipe, inputs.releases, weights),
        )
        _, level_weights = quantiles.pooled_cells(recipe, inputs.releases, weights)
        return _plain_and_weights(
            names, np.array(own[0] + of_all[0], float), level_weights.ravel(), rows
        )
    m = inputs.moments[recipe]
    alone = _measured_alone(number, marginal, inputs)
    parts = two_levels(replace(recipe, pooled=False), m, weights, alone)
    figures = [without_unknown(recipe, part).values.ravel() for part in parts]
    of_mean, everybody = recipe, parts[1]
    if recipe.kind == "sum":
        of_mean = replace(recipe, kind="mean")
        everybody = means.combine_strata(of_mean, m, None)
    own_rows = own_weights(of_mean, m, everybody).ravel()
    return _plain_and_weights(names, np.concatenate(figures), own_rows, rows)


def _plain_and_weights(
    names: list[str], plain: NDArray[np.float64], own_rows: NDArray[np.float64], rows: int
) -> dict[str, Any]:
    """Returns the two columns of `pooled_columns`; everybody's weights are 1."""
    weights = np.append(own_rows.round(6), np.ones(rows - len(own_rows)))
    return {
        name: arrow.numbers(column, np.isnan(column))
        for name, column in zip(names, (plain, weights), strict=True)
    }
