"""Rows far beyond all that is seen, which noise may hide: they are told of."""

from __future__ import annotations

import numpy as np
import pytest

from sqlpriv.answer.rounds.histogram.far_rows import moved_by_far_rows
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds

BINS = BinEnds.between(np.append(0.0, 2.0 ** (np.arange(1, 61) / 4)))
"""60 bins up to 32,768, four for each doubling."""


def _moved(sigma: float, seen: int, hidden: float = 0.0) -> float:
    """Returns what 1,000 rows in the first bins may be moved by; `hidden` of them are in the last
    twenty bins, a twentieth in each."""
    counts = np.zeros(60)
    counts[:seen] = (1000 - hidden) / seen
    is_visible = counts > 0
    estimated = counts / 1000
    counts[-20:] += hidden / 20
    return moved_by_far_rows(counts, is_visible, BINS, 1_000.0, (sigma, 4.0), estimated)


@pytest.mark.parametrize(
    ("sigma", "seen", "hidden", "said"),
    [
        (15.0, 12, 0.0, True),  # noise may hide a twelfth of the rows
        (5.0, 12, 0.0, False),
        (5.0, 12, 60.0, True),  # and fewer, where the rows that are missing speak for them
        (15.0, 40, 0.0, False),  # what is seen reaches to a thirty-second of the domain
    ],
)
def test_hidden_rows_are_told_of_where_they_are_many_and_the_domain_is_wide(
    sigma: float, seen: int, hidden: float, said: bool
) -> None:
    assert (_moved(sigma, seen, hidden) > 0) == said
