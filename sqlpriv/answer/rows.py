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
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.answer.aggregate_columns import (
    ARROW,
    NOTHING,
    CellFigures,
    aggregate_column,
    cell_figures,
    pooled_columns,
)
from sqlpriv.answer.integers.shown_types import in_shown_types
from sqlpriv.answer.integers.whole_counts import bias_note, make_counts_whole
from sqlpriv.answer.interval_notes import division_notes, few_stated_notes, interval_notes
from sqlpriv.answer.moments import Moments
from sqlpriv.answer.outputs.cell_engine import (
    POSITION,
    engine_of_cells,
    evaluate_outputs,
    evaluate_where_possible,
    marks_of_sums,
    rehearse_outputs,
)
from sqlpriv.answer.outputs.named_outputs import are_named, named_columns, shown_cells
from sqlpriv.answer.shared_noise import shift_columns, tells_shifts
from sqlpriv.answer.stratum_weights import align_weights
from sqlpriv.errors import DataError, Refused
from sqlpriv.kernel.terms.contract import Value
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.aggregates.rewrites import Recipe
from sqlpriv.plan.cells.axes import Axis
from sqlpriv.plan.cells.computed_columns import (
    AGGREGATE,
    GROUP,
    HALF,
    POPULATION,
    STRATUM,
    SUMMED,
    aggregates_in,
)
from sqlpriv.plan.cells.dimensions import Dimension
from sqlpriv.plan.notices import null_rule
from sqlpriv.plan.output_half_widths import has_half_width
from sqlpriv.plan.plan import GroupingSet, Output, Plan
from sqlpriv.statements import tree as t
from sqlpriv.system import arrow


@dataclass(frozen=True, eq=False)
class Answer:
    """What the user gets.

    Args:
        table: The result's rows.
        half_widths: For each output made of aggregates, by name: the half-width of its 95 %
            interval in every row, None where it is unknown. It is about the noise alone. For an
            expression over several aggregates see `plan.output_half_widths.half_width`.
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

    Runs the output over a few cells of numbers that are made up, and reads the weights.

    Raises:
        Refused: An unknown function, types that do not fit, an expression that fails on all of the
            numbers, or weights that miss a stratum.
    """
    if plan.output.weights:
        stratum_weights(plan.output, weights)
    output = plan.output
    nothing = _layout(_without_cells(output), NOTHING, None).slice(0, 0)
    if are_named(output):
        rows = named_columns(nothing, output, [], marks_of_sums(output))
        return _answer_of(rows, output, []).table.schema
    rows = rehearse_outputs(nothing, output)
    return _answer_of(rows, output, []).table.schema  # other numbers fit the types


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

    An output that cannot be computed of a row's numbers (a cast of 2,000 to TINYINT) is NULL there:
    its price is paid.
    """
    output = plan.output
    figures = cell_figures(output, releases, adapted or {})
    remarks: tuple[str, ...] = ()
    if plan.options.integers:
        figures, remarks = _in_whole_numbers(output, figures)
    shares = stratum_weights(output, weights) if output.weights else None
    halves = [i for i, item in enumerate(output.items) if has_half_width(item)]
    rows, halves, failures = _evaluate_with_halves(_layout(output, figures, shares), output, halves)
    rows = arrow.without_far_moments(rows)
    notes = (*remarks, *failures, *interval_notes(output, figures.moments))
    notes = (*notes, *division_notes(output, rows, halves))
    notes = (*notes, *few_stated_notes(output, rows, halves))
    if _has_empty_cells(output, rows):
        notes = (*notes, *null_rule(output))
    return replace(_answer_of(rows, output, halves), notes=notes)


def _in_whole_numbers(output: Output, figures: CellFigures) -> tuple[CellFigures, tuple[str, ...]]:
    """Returns the figures with whole counts, and a remark on what that biases."""
    moments = figures.moments
    noised = {r: m.n[0] for r, m in moments.items() if r.kind == "count"}
    whole = make_counts_whole(output, noised)
    with_whole = {r: replace(moments[r], n=counts[None]) for r, counts in whole.items()}
    finest = max(output.marginals, key=lambda marginal: len(marginal.keys))
    recipe = next(r for r in finest.recipes if r.kind == "count")
    note = bias_note(noised[recipe], whole[recipe], math.sqrt(moments[recipe].var_n))
    return figures._replace(moments={**moments, **with_whole}), (note,) if note else ()


def _evaluate_with_halves(
    cells: pa.Table, output: Output, halves: list[int]
) -> tuple[pa.Table, list[int], tuple[str, ...]]:
    """Returns the outputs' columns over the cells, the outputs whose half-widths are there, and
    sentences on what cannot be computed."""
    if are_named(output):
        cells_to_show = shown_cells(cells, output)
        return named_columns(cells_to_show, output, halves, marks_of_sums(output)), halves, ()
    with engine_of_cells(cells) as engine:
        for widths in (halves, []):  # an error may lie in the interval's ends
            try:
                return evaluate_outputs(engine, output, widths), widths, ()
            except Refused:
                pass
        rows, failures = evaluate_where_possible(engine, output, halves)
    return rows, halves, failures


def stratum_weights(output: Output, table: pa.Table | None) -> NDArray[np.float64]:
    """Returns the weights of the strata in declared order; see `estimate.weights.aligned`."""
    names = [d.node.name for d in output.strata if isinstance(d.node, t.Name)]
    return align_weights(table, output.weights, names, _labels(output.strata))


def _labels(dimensions: Sequence[Dimension]) -> list[tuple[object, ...]]:
    """Returns the cells of some dimensions, row-major."""
    return list(itertools.product(*(d.values for d in dimensions)))


def _layout(output: Output, inputs: CellFigures, weights: NDArray[np.float64] | None) -> pa.Table:
    """Returns the table of cells; without releases every aggregate is NULL."""
    table = pa.concat_tables([_block(output, m, inputs, weights) for m in output.marginals])
    return table.append_column(POSITION, arrow.numbers(np.arange(table.num_rows)))


def _block(
    output: Output, marginal: GroupingSet, inputs: CellFigures, weights: NDArray[np.float64] | None
) -> pa.Table:
    """Returns the rows of one marginal; keys that it is summed over are NULL."""
    strata = len(output.strata)
    numbers = _places_along([len(d.values) for d in output.strata], marginal.axes)
    first = numbers.shape[1]
    if strata:
        numbers = np.hstack([numbers, numbers[:, : first // _cell_count(output.strata)]])
        numbers[:strata, first:] = -1
    rows = numbers.shape[1]
    along = {
        i: ([row[n] for row in axis.rows], places)
        for axis, places in zip(marginal.axes, numbers[strata:], strict=True)
        for n, i in enumerate(axis.places)
    }
    columns = {}
    for i, dimension in enumerate(output.strata):
        columns[f"{STRATUM}{i}"] = _values_at(dimension, dimension.values, numbers[i])
    for i, dimension in enumerate(output.groups):
        values, places = along.get(i, ([], np.full(rows, -1)))
        columns[f"{GROUP}{i}"] = _values_at(dimension, values, places)
    told_apart = tells_shifts(output)
    for i, recipe in enumerate(marginal.recipes):
        values, halves = aggregate_column(i, output, marginal, inputs, weights, rows)
        columns[f"{AGGREGATE}{i}"], columns[f"{HALF}{i}"] = values, halves
        if recipe.pooled:
            columns |= pooled_columns(i, output, marginal, inputs, weights, rows)
        if told_apart:
            columns |= shift_columns(i, output, marginal, inputs, halves, weights is not None)
    columns[POPULATION] = arrow.numbers((np.arange(rows) >= first).astype(np.int64))
    for i in range(len(output.groups)):
        columns[f"{SUMMED}{i}"] = arrow.numbers(np.full(rows, int(i not in marginal.keys)))
    table = pa.table(columns)
    is_shown = [True] * rows
    if output.kept is not None:
        chosen = [i for i, dimension in enumerate(output.groups) if dimension.selected]
        is_shown = _rows_among(marginal, table, chosen, output.kept)
    for places, existing in output.existing:
        among = _rows_among(marginal, table, places, existing)
        is_shown = [one and other for one, other in zip(is_shown, among, strict=True)]
    return table if all(is_shown) else table.filter(arrow.array(is_shown, pa.bool_()))


def _without_cells(output: Output) -> Output:
    """Returns an output of the same columns whose keys have no values."""

    strata = tuple(replace(d, key=replace(d.key, values=())) for d in output.strata)
    marginals = tuple(
        replace(m, axes=tuple(axis._replace(rows=()) for axis in m.axes)) for m in output.marginals
    )
    return replace(output, strata=strata, marginals=marginals)


def _cell_count(dimensions: Sequence[Dimension]) -> int:
    return math.prod(len(d.values) for d in dimensions) or 1


def _places_along(strata: Sequence[int], axes: Sequence[Axis]) -> NDArray[np.int64]:
    """Returns where each cell lies along the strata's dimensions, of these sizes, and the axes:
    shape (dimensions and axes, cells), row-major."""
    sizes = [*strata, *(len(axis.rows) for axis in axes)]
    return np.indices(sizes).reshape(len(sizes), math.prod(sizes))


def _values_at(
    dimension: Dimension, values: Sequence[Value], places: NDArray[np.int64]
) -> pa.Array:
    """Returns the values at these places as a key's column: NULL at -1, of what is summed over."""
    return arrow.array(values, ARROW[dimension.type]).take(arrow.numbers(places, places < 0))


def _rows_among(
    marginal: GroupingSet,
    table: pa.Table,
    places: Sequence[int],
    combinations: Iterable[tuple[object, ...]],
) -> list[bool]:
    """Returns which rows have one of some combinations of values in the keys at these places."""
    at = [(n, i) for n, i in enumerate(places) if i in marginal.keys]
    kept_keys = {tuple(values[n] for n, _ in at) for values in combinations}
    if not at:
        return [True] * table.num_rows
    columns = [table.column(f"{GROUP}{i}").to_pylist() for _, i in at]
    return [row in kept_keys for row in zip(*columns, strict=True)]


def _has_empty_cells(output: Output, rows: pa.Table) -> bool:
    """Returns whether an output that is made of aggregates is NULL somewhere."""
    places = [i for i, item in enumerate(output.items) if aggregates_in(item)]
    return any(rows.column(i).null_count for i in places)


def _answer_of(rows: pa.Table, output: Output, halves: list[int]) -> Answer:
    count = len(output.items)
    marks = marks_of_sums(output)
    if rows.num_columns != count + len(halves) + len(marks):
        raise DataError("the outputs do not fit the statement")
    columns = in_shown_types(rows.select(range(count)), output.types)
    table = columns.rename_columns(list(output.names))
    half_widths = {
        output.names[i]: rows.column(count + j).to_pylist()
        for j, i in enumerate(halves)
        if _numeric(table.schema.field(i).type)
    }
    summed = {}
    for j, (i, _) in enumerate(marks):
        of_all = rows.column(count + len(halves) + j).to_pylist()
        summed[output.names[i]] = frozenset(at for at, mark in enumerate(of_all) if mark)
    return Answer(table, half_widths, {name: places for name, places in summed.items() if places})


def _numeric(type_: pa.DataType) -> bool:
    numeric: bool = (
        pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_decimal(type_)
    )
    return numeric
