"""What a method takes at most: strata, and cells of the marginals that it looks at."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from sqlpriv.errors import Refused
from sqlpriv.synth.api.method import Method


def check_size(method: Method, sizes: Sequence[int], strata: int) -> None:
    """Refuses what a method would take too long for: see the limits of `Method`.

    Args:
        method: The synthesizer.
        sizes: Levels of each column.
        strata: How many there are.
    """
    if strata > method.max_strata:
        raise Refused(
            f"{method.name} takes at most {method.max_strata} strata, not {strata}",
            hint="STRATIFY BY fewer columns",
        )
    several = sum(size > 1 for size in sizes)
    if method.max_columns is not None and several > method.max_columns:
        raise Refused(
            f"{method.name} compares all pairs of columns in every round: it takes"
            f" {method.max_columns} columns at most, not {several}",
            hint="select fewer columns, or USING mst, which chooses its pairs once",
        )
    arity = len(sizes) if method.arity is None else method.arity
    cells = strata * sum(map(math.prod, itertools.combinations(sizes, arity)))
    if cells > method.max_cells:
        raise Refused(
            f"{method.name} looks at {method.max_cells} cells at most; this has {cells}",
            hint="select fewer columns, OPTIONS (bins = 8), fewer strata, or USING independent",
        )
