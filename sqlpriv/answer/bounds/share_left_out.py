"""Which share of the rows lies beyond the bound, in words, from noised counts of units by how many
rows they have (`plan.aggregates.rows_left_out`)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sqlpriv.answer.rounds.tail_model import noise_level
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.release import Release

_FALSE_CELL, _MARGIN = 1e-4, 2
"""Chance that noise makes any empty cell beyond the bound count, as one unit of 100,000 rows that
noise invents would be most of a table; and how many deviations a cell's count is given or taken."""


def left_out_words(release: Release, most: int) -> str:
    """Returns, in words, which share of the rows lies beyond the bound.

    >>> import numpy as np
    >>> from sqlpriv.kernel.terms.budget import Rho
    >>> key = a.Key(a.Bin(a.Col("n"), (2, 3, 4)), (0, 1, 2, 3))
    >>> query = a.Count(a.Scan("t"), keys=(key,))
    >>> left_out_words(Release(1, query, np.array([[100.0, 50, 0, 40]]), 0.5, Rho(1)), 2)
    'about 22 % of the rows are left out: beyond 2 of a unit (22 to 23 %)'
    """
    (key,) = release.query.keys
    assert isinstance(key.expr, a.Bin)
    starts = [1, *(edge for edge in key.expr.edges if isinstance(edge, int))]
    ends = [*(start - 1 for start in starts[1:]), starts[-1]]
    cells = [*zip(starts, ends, release.values[0].tolist(), strict=True)]
    level = noise_level(release, _FALSE_CELL / len(cells))
    margin = _MARGIN * release.sigma
    kept = sum(max(0.0, n) * (low + high) / 2 for low, high, n in cells if low <= most)
    large = [cell for cell in cells if cell[0] > most and cell[2] > level]
    kept += sum(n * most for _, _, n in large)
    beyond = [
        sum(n * ((low + high) / 2 - most) for low, high, n in large),
        sum((n - margin) * (low - most) for low, _, n in large),
        sum((n + margin) * (high - most) for _, high, n in large),
    ]
    about, least, up_to = _shares(beyond, kept)
    if not large:
        return (
            f"no rows beyond {most} of a unit were seen; noise hides up to"
            f" {math.ceil(level):,} units that have more"
        )
    return (
        f"about {about} % of the rows are left out: beyond {most} of a unit ({least} to {up_to} %)"
    )


def _shares(beyond: Sequence[float], kept: float) -> list[int]:
    """Returns parts of all rows, in percent."""
    return [round(100 * rows / max(1.0, kept + rows)) for rows in beyond]
