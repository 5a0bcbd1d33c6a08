"""Releases → rows: post-processing, free of charge.

The cells are laid out as a table: strata in declared order, each with its groups, then the
population's rows, whose strata columns are NULL. Outputs, HAVING, ORDER BY and LIMIT are evaluated
over it by a DuckDB in memory that has no private table, no files and no network. It holds public
numbers alone, so its error texts may be shown.

Counts are the unbiased noised integers: one near zero may be negative. Raising it to zero would
make every sum over cells too large; whoever wants that writes GREATEST(COUNT(*), 0).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.answer import means, quantiles
from sqlpriv.answer.cell_engine import (
    POSITION,
    engine_of_cells,
    evaluate_outputs,
    marks_of_sums,
)
from sqlpriv.answer.interval_notes import interval_notes
from sqlpriv.answer.marginal_agreement import make_marginals_agree
from sqlpriv.answer.means import Estimate, Moments
from sqlpriv.answer.reconcile import round_counts, two_levels
from sqlpriv.answer.stratum_weights import align_weights
from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.terms.algebra import Asked, Distinct
from sqlpriv.kernel.terms.contract import Type
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.group_keys import Dimension
from sqlpriv.plan.notices import null_rule
from sqlpriv.plan.outputs import (
    AGGREGATE,
    GROUP,
    HALF,
    POPULATION,
    STRATUM,
    SUMMED,
    aggregates_in,
    has_half_width,
)
from sqlpriv.plan.plan import GroupingSet, Output, Plan
from sqlpriv.statements import tree as t
from sqlpriv.system import arrow

ARROW = {
    Type.INTEGER: pa.int64(), Type.REAL: pa.float64(), Type.TEXT: pa.string(),
    Type.BOOLEAN: pa.bool_(), Type.DATE: pa.date32(), Type.TIMESTAMP: pa.timestamp("us"),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Answer:
    """What the user gets.

    Args:
        table: The result's rows.
        half_widths: For each output made of aggregates, by name: the half-width of its 95 %
            interval in every row, None where it is unknown. It is about the noise alone. For an
            expression over several aggregates it is the sum of what each contributes: to first
            order an upper bound.
        summed: For each output that is a key, by name: the numbers of the rows that are of all the
            key's values together, where it is NULL.
        notes: Sentences on what the half-widths rest on, and on groups of which nothing is known.
    """

    table: pa.Table
    half_widths: dict[str, list[float | None]]
    summed: dict[str, frozenset[int]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def rehearse(plan: Plan, weights: pa.Table | None) -> pa.Schema:
    """Refuses what could not be evaluated, before anything is charged; returns the columns to come.

    Runs the output over a table of no cells, and reads the weights.

    Raises:
        Refused: An unknown function, types that do not fit, or weights that miss a stratum.
    """
    if plan.output.weights:
        stratum_weights(plan.output, weights)
    with engine_of_cells(_layout(plan.output, NOTHING, None).slice(0, 0)) as engine:
        rows = evaluate_outputs(engine, plan.output, [])
    return _answer_of(rows, plan.output, []).table.schema


def answer(
    plan: Plan,
    releases: Sequence[Release],
    weights: pa.Table | None,
    adapted: Mapping[Recipe, Moments] | None = None,
) -> Answer:
    """Returns the rows of a plan whose measurements were released.

    Args:
        plan: What was asked.
        releases: One per measurement of the plan, in its order.
        weights: The rows of the plan's WEIGHTS FROM table; None without one.
        adapted: The moments of the means measured in rounds; see `adaptive_means.ask_rounds`.

    Raises:
        Refused: An output cannot be evaluated on these numbers (a failing cast, say).
    """
    output = plan.output
    figures = _cell_figures(output, releases, adapted or {})
    shares = stratum_weights(output, weights) if output.weights else None
    with engine_of_cells(_layout(output, figures, shares)) as engine:
        halves = [i for i, item in enumerate(output.items) if has_half_width(item)]
        try:
            rows = evaluate_outputs(engine, output, halves)
        except Refused:
            halves = []  # an error may lie in the interval's ends alone
            rows = evaluate_outputs(engine, output, halves)
    notes = interval_notes(output, figures.moments)
    if _has_empty_cells(output, rows):
        notes = (*notes, *null_rule(output))
    return replace(_answer_of(rows, output, halves), notes=notes)


def stratum_weights(output: Output, table: pa.Table | None) -> NDArray[np.float64]:
    """Returns the weights of the strata in declared order; see `estimate.weights.aligned`."""
    names = [d.node.name for d in output.strata if isinstance(d.node, t.Name)]
    return align_weights(table, output.weights, names, _labels(output.strata))


def _labels(dimensions: Sequence[Dimension]) -> list[tuple[object, ...]]:
    """Returns the cells of some dimensions, row-major."""
    return list(itertools.product(*(d.values for d in dimensions)))


class CellFigures(NamedTuple):
    """What was released: answers by query, and the moments of every recipe that has them."""

    releases: Mapping[Asked, Release]
    moments: Mapping[Recipe, Moments]


NOTHING = CellFigures({}, {})


def _cell_figures(
    output: Output, releases: Sequence[Release], adapted: Mapping[Recipe, Moments]
) -> CellFigures:
    """Returns what was released; `adapted` are the recipes that asked in rounds."""
    if not releases:  # no key was selected
        return NOTHING
    by_query = {release.query: release for release in releases}
    recipes = (*output.recipes, *output.own)
    plain = [recipe for recipe in recipes if not recipe.using and recipe.kind != "level"]
    moments = {r: means.moments(r, by_query) for r in plain}
    return CellFigures(by_query, make_marginals_agree(output, moments) | dict(adapted))


def _layout(output: Output, inputs: CellFigures, weights: NDArray[np.float64] | None) -> pa.Table:
    """Returns the table of cells; without releases every aggregate is NULL."""
    table = pa.concat_tables([_block(output, m, inputs, weights) for m in output.marginals])
    return table.append_column(POSITION, arrow.numbers(np.arange(table.num_rows)))


def _block(
    output: Output, marginal: GroupingSet, inputs: CellFigures, weights: NDArray[np.float64] | None
) -> pa.Table:
    """Returns the rows of one marginal; keys that it is summed over are NULL."""
    kept = dict(zip(marginal.keys, range(len(marginal.keys)), strict=True))
    groups = [
        tuple(cell[kept[i]] if i in kept else None for i in range(len(output.groups)))
        for cell in _labels([output.groups[i] for i in marginal.keys])
    ]
    rows = [(*s, *g) for s in _labels(output.strata) for g in groups]
    first = len(rows)
    rows += [(*(None for _ in output.strata), *g) for g in groups] if output.strata else []
    columns = {}
    for i, dimension in enumerate((*output.strata, *output.groups)):
        inside = i < len(output.strata)
        name = f"{STRATUM}{i}" if inside else f"{GROUP}{i - len(output.strata)}"
        columns[name] = arrow.array([row[i] for row in rows], ARROW[dimension.type])
    for i in range(len(marginal.recipes)):
        values, halves = _estimates(i, output, marginal, inputs, weights, len(rows))
        columns[f"{AGGREGATE}{i}"], columns[f"{HALF}{i}"] = values, halves
    columns[POPULATION] = arrow.numbers((np.arange(len(rows)) >= first).astype(np.int64))
    for i in range(len(output.groups)):
        columns[f"{SUMMED}{i}"] = arrow.numbers(np.full(len(rows), int(i not in kept)))
    table = pa.table(columns)
    is_shown = [True] * len(rows)
    if output.kept is not None:
        chosen = [i for i, dimension in enumerate(output.groups) if dimension.selected]
        is_shown = _rows_among(output, marginal, rows, chosen, output.kept)
    for places, existing in output.existing:  # all NULL: of a left join without a partner
        partner = [*existing, (None,) * len(places)]
        among = _rows_among(output, marginal, rows, places, partner)
        is_shown = [one and other for one, other in zip(is_shown, among, strict=True)]
    return table if all(is_shown) else table.filter(arrow.array(is_shown, pa.bool_()))


def _rows_among(
    output: Output,
    marginal: GroupingSet,
    rows: Sequence[tuple[object, ...]],
    places: Sequence[int],
    combinations: Iterable[tuple[object, ...]],
) -> list[bool]:
    """Returns which rows have one of some combinations of values in the keys at these places."""
    at = [(n, len(output.strata) + i) for n, i in enumerate(places) if i in marginal.keys]
    kept_keys = {tuple(values[n] for n, _ in at) for values in combinations}
    return [tuple(row[i] for _, i in at) in kept_keys for row in rows]


def _estimates(
    number: int,
    output: Output,
    marginal: GroupingSet,
    inputs: CellFigures,
    weights: NDArray[np.float64] | None,
    rows: int,
) -> tuple[Any, Any]:
    """Returns the column of an aggregate and that of its half-widths."""
    recipe = marginal.recipes[number]
    whole = pa.int64() if recipe.kind == "count" else ARROW[recipe.type]
    if not inputs.releases:
        return pa.nulls(rows, whole), pa.nulls(rows, pa.float64())
    if recipe.kind == "level":
        values, widths = quantiles.cells(recipe, inputs.releases)
        if output.strata:
            of_all, widths_of_all = quantiles.population(recipe, inputs.releases, weights)
            values, widths = values + of_all, widths + widths_of_all
        return arrow.array(values, whole), arrow.array(widths, pa.float64())
    parts: tuple[Estimate, ...] = (means.cells(recipe, inputs.moments[recipe]),)
    if isinstance(recipe.whole, Distinct):
        apart = replace(recipe, count=recipe.whole, whole=None)
        parts += (means.cells(apart, means.moments(apart, inputs.releases)),)
    elif output.strata:
        own = marginal.own[number] if marginal.own else None
        alone = (own, inputs.moments[own]) if own else None
        parts = two_levels(recipe, inputs.moments[recipe], weights, alone)
    figures = tuple(part.values for part in parts)
    if recipe.kind == "count" and len(parts) == 2 and recipe.whole is None:
        figures = round_counts(*figures)
    halves = np.concatenate([part.half_widths.ravel() for part in parts])
    column = np.concatenate([part.ravel() for part in figures])
    if recipe.kind == "sum" and recipe.count is not None:  # SUM over no rows is NULL, as AVG is
        counts = inputs.moments[recipe].n
        levels = [counts] if len(parts) == 1 else [counts, counts.sum(axis=0)]
        empty = np.concatenate([level.ravel() for level in levels]) <= 0
        column, halves = np.where(empty, np.nan, column), np.where(empty, np.nan, halves)
    if recipe.kind == "count":
        return arrow.numbers(np.rint(column).astype(np.int64)), arrow.numbers(halves)
    return arrow.numbers(column, np.isnan(column)), arrow.numbers(halves, np.isnan(halves))


def _has_empty_cells(output: Output, rows: pa.Table) -> bool:
    """Returns whether an output that is made of aggregates is NULL somewhere."""
    places = [i for i, item in enumerate(output.items) if aggregates_in(item)]
    return any(rows.column(i).null_count for i in places)


def _answer_of(rows: pa.Table, output: Output, halves: list[int]) -> Answer:
    count = len(output.items)
    marks = marks_of_sums(output)
    if rows.num_columns != count + len(halves) + len(marks):
        raise DataError("the outputs do not fit the statement")
    table = rows.select(range(count)).rename_columns(list(output.names))
    half_widths = {output.names[i]: rows.column(count + j).to_pylist() for j, i in enumerate(halves)
             if _numeric(table.schema.field(i).type)}  # fmt: skip
    summed = {
        output.names[i]: frozenset(np.flatnonzero(rows.column(count + len(halves) + j)).tolist())
        for j, (i, _) in enumerate(marks)
    }
    return Answer(table, half_widths, {name: places for name, places in summed.items() if places})


def _numeric(type_: pa.DataType) -> bool:
    numeric: bool = (
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    )
    return numeric
