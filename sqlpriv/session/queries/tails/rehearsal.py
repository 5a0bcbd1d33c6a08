"""A tail run over answers that are made up, before anything is charged."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from sqlpriv.errors import ProgrammingError, Refused
from sqlpriv.plan.cells.computed_columns import aggregates_in
from sqlpriv.plan.plan import Output
from sqlpriv.session.queries.tails.computable_text import RunAlone, rescue_tail
from sqlpriv.statements.keywords import REAL_AVERAGE, REAL_QUOTIENT, WHOLE_AVERAGE, WHOLE_QUOTIENT
from sqlpriv.system import arrow

MOST_CELLS = 1_000
"""Of the answers that a tail is rehearsed on: it is to take milliseconds."""

_OF_TYPES = ((WHOLE_QUOTIENT, REAL_QUOTIENT), (WHOLE_AVERAGE, REAL_AVERAGE))
"""What fails by the types of the answers alone, and what to write."""


def with_made_up_numbers(rows: pa.Table, output: Output, least: int) -> pa.Table:
    """Returns an answer's rows with another number in the place of each that is measured.

    Args:
        rows: The keys beside zeros.
        output: Whose answer they are like.
        least: The first of the numbers, which are not far above it.
    """
    for place, item in enumerate(output.items):
        field = rows.schema.field(place)
        if aggregates_in(item) and (
            pa.types.is_integer(field.type)
            or pa.types.is_floating(field.type)
            or field.type == arrow.HUGEINT
        ):
            numbers = [least + 7 * place + n % 11 for n in range(rows.num_rows)]
            rows = rows.set_column(place, field, arrow.array(numbers, field.type))
    return rows


def never_runs(
    text: str, run_alone: RunAlone, runs: tuple[Callable[[str], pa.Table], ...]
) -> Refused | None:
    """Returns why a tail fails on all answers that it is tried on, also where what fails of a row
    is NULL (`LIMIT (SELECT -1)`); None where it does not.

    Args:
        text: The tail.
        run_alone: Runs a query over nothing.
        runs: Each runs a query over other answers.
    """
    refusal = None
    for run in runs:
        try:
            run(text)
        except ProgrammingError as error:
            reason = str(error).split("\n", 1)[0]
            for what, hint in _OF_TYPES:
                if what in reason:  # whatever the answers are
                    return Refused(what, hint=hint)
            try:
                rescue_tail(text, None, error, run_alone, run)
            except ProgrammingError:
                refusal = Refused(reason)
                continue
        return None
    return refusal
