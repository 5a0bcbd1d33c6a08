"""What a tail reads: answers to private queries, their noised columns and keys, and whether
what they measure is noised apart."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sqlpriv.answer.tails.stable_rows import NamedValues, hashable_values, holds_numbers
from sqlpriv.plan.output_half_widths import has_half_width
from sqlpriv.plan.plan import Plan

Array = NDArray[np.float64]


@dataclass(frozen=True)
class TailInput:
    """The answer to one private query, which a tail reads.

    Args:
        plan: Of the query.
        table: The answer's rows.
        half_widths: As those of an `Answer`.
    """

    plan: Plan
    table: pa.Table
    half_widths: Mapping[str, list[float | None]]


@dataclass(frozen=True)
class NoisedColumn:
    """A column of an answer that is made of aggregates."""

    answer: str
    name: str
    values: Array
    half_widths: Array
    """NaN where unknown."""


def noised_columns(answer_name: str, answer: TailInput) -> list[NoisedColumn]:
    """Returns the numeric columns of an answer that are made of aggregates."""
    columns = []
    for name, item in zip(answer.plan.output.names, answer.plan.output.items, strict=True):
        if name in answer.table.column_names and has_half_width(item):
            values = answer.table.column(name)
            if holds_numbers(values.type):
                widths = answer.half_widths.get(name) or [None] * len(values)
                halves = np.array(widths, float)
                columns.append(NoisedColumn(answer_name, name, as_floats(values), halves))
    return columns


def as_floats(column: pa.ChunkedArray) -> Array:
    """Returns a column's numbers, NaN for NULL, of shape (rows,)."""
    return np.array([np.nan if x is None else float(x) for x in column.to_pylist()], float)


def named_key_values(answer: TailInput) -> list[NamedValues]:
    """Returns the columns of an answer that are not made of aggregates."""
    names = zip(answer.plan.output.names, answer.plan.output.items, strict=True)
    keys = {name for name, item in names if not has_half_width(item)}
    return [
        (name, frozenset(hashable_values(answer.table.column(name))))
        for name in answer.table.column_names
        if name in keys
    ]


def measure_apart(answers: Collection[TailInput]) -> bool:
    """Whether two cells' noises are independent: there are no totals beside the cells, nothing is
    drawn together, and no two queries measure the same, as far as that is known before keys are
    selected."""
    if sum(answer.plan.selection is not None for answer in answers) > 1:
        return False
    queries = [m.query for answer in answers for m in answer.plan.measurements]
    apart = all(_has_cells_alone(answer.plan) for answer in answers)
    return apart and all(query not in queries[:at] for at, query in enumerate(queries))


def _has_cells_alone(plan: Plan) -> bool:
    output, options = plan.output, plan.options
    pooled = options.smooth or any(recipe.pooled for recipe in output.recipes)
    return not output.strata and len(output.marginals) == 1 and not pooled and not options.integers
