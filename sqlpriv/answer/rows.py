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

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.answer.aggregate_columns import (
    ARROW,
    NOTHING,
    CellFigures,
    aggregate_column,
    cell_figures,
)
from sqlpriv.answer.cell_engine import (
    POSITION,
    engine_of_cells,
    evaluate_outputs,
    marks_of_sums,
)
from sqlpriv.answer.interval_notes import interval_notes
from sqlpriv.answer.means import Moments
from sqlpriv.answer.stratum_weights import align_weights
from sqlpriv.errors import DataError, Refused
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


@dataclass(frozen=True, eq=False)
class Answer:
    """What the user gets.

    Args:
        table: The result's rows.
        half_widths: For each output made of aggregates, by name: the half-width of its 95 %
            interval in every row, None where it is unknown. It is about the noise alone. For an
            expression over several aggregates see `plan.outputs.half_width`.
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
    figures = cell_figures(output, releases, adapted or {})
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
        values, halves = aggregate_column(i, output, marginal, inputs, weights, len(rows))
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
