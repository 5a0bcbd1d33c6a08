"""How many cells the answer of a statement has: a list of values for each key, multiplied."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.errors import Refused
from sqlpriv.plan.pricing.tuned_constants import MAX_CELLS
from sqlpriv.statements import tree as t


class TooManyCells(Refused):
    """A query that could be answered but for the number of its groups."""


def check_cell_count(sets: Sequence[Sequence[Sequence[object]]], select: t.Select) -> None:
    """Checks that the answer of a statement has not too many cells.

    Args:
        sets: Of each grouping set, the strata's lists of values and what stands along its axes.
        select: The statement.

    Raises:
        TooManyCells: It has more than `MAX_CELLS`.
    """
    cells = sum(math.prod(map(len, lists)) for lists in sets)
    if cells > MAX_CELLS:
        place = t.Literal(None, (select.stratify or select).pos)
        raise TooManyCells.at(
            place.pos,
            f"the answer would have {cells} cells; {MAX_CELLS} is the most",
            "group by fewer keys or wider bins, as in age // 10",
        )
