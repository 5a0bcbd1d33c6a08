"""Groups of an answer that may have no rows, where a tail counts or averages over groups.

An answer has a row for each listed group. DuckDB's GROUP BY has none for a group without rows, so
that `AVG(n)`, `COUNT(*)` or `MIN(n)` over its groups are of fewer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlpriv.answer.tails.noised_columns import TailInput
from sqlpriv.plan.cells.computed_columns import aggregates_in
from sqlpriv.statements import tree as t
from sqlpriv.statements.keywords import ROWS_ERROR

_OVER_GROUPS = re.compile(
    r"\b(avg|mean|count|min|median|mode|quantile\w*|var\w*|stddev\w*)\s*\(", re.IGNORECASE
)


def empty_group_notes(text: str, inputs: Mapping[str, TailInput]) -> tuple[str, ...]:
    """Returns a sentence on the groups whose count is within its half-width, where there are any.

    Args:
        text: Of the tail.
        inputs: The answers that it reads, by name.
    """
    if not _OVER_GROUPS.search(text):
        return ()
    empty = groups = 0
    for answer in inputs.values():
        counts = _count_column(answer)
        if counts and answer.plan.output.groups:
            values = answer.table.column(counts).to_pylist()
            halves = answer.half_widths[counts]
            empty += sum(abs(n) <= (h or 0) for n, h in zip(values, halves, strict=True))
            groups += len(values)
    if not empty:
        return ()
    if ROWS_ERROR in text:
        return (
            f"{empty:,} of {groups:,} listed groups are taken to have no rows, as their count is "
            "within its half-width",
        )
    return (
        f"{empty:,} of {groups:,} listed groups may have no rows, as their count is within its "
        "half-width; AVG, COUNT and MIN over groups count them, and HAVING COUNT(*) > … does not",
    )


def _count_column(answer: TailInput) -> str:
    """Returns the first output that is a count of the groups' rows; '' without one."""
    output = answer.plan.output
    recipes = output.marginals[0].recipes if output.marginals else ()
    for name, item in zip(output.names, output.items, strict=True):
        numbers = aggregates_in(item) if isinstance(item, t.Name) else []
        if name in answer.half_widths and any(recipes[i].kind == "count" for i in numbers):
            return name
    return ""
