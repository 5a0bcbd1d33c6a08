"""Values that are clamped to a declared end, where noise hides how many."""

from __future__ import annotations

import numpy as np
import pytest

from sqlpriv.answer.rounds.clipping import choose_clipping
from sqlpriv.answer.rounds.clipping_errors import CellNoise
from sqlpriv.answer.rounds.histogram import end_atoms
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds
from sqlpriv.answer.rounds.tail_model import estimate_tails
from sqlpriv.kernel.terms.algebra import Count, Scan
from sqlpriv.kernel.terms.budget import Epsilon
from sqlpriv.kernel.terms.release import Release


def _upper_end(at_end: float) -> float:
    """Returns where 1,000 values below 3,200 are clipped, of which some are counted at the end.

    Counts have no noise, but are told to have a deviation of 14.6; 25 do not stand out of it.
    """
    low = np.array([0, *(3_200 * 2.0 ** (-np.arange(12, -1, -1) / 4))])
    bins = BinEnds(low, np.append(low[1:], low[-1]))
    counts = np.array([0, 0, 45, 75, 150, 230, 230, 100, 60, 40, 25, 15, 5, at_end])
    price, query = Epsilon(150_000_000), Count(Scan("people"))
    histogram = Release(0, query, counts[None], 14.6, price)
    counted = Release(0, query, np.array([1_000.0]), 4.0, price)
    tails = estimate_tails(histogram, None, counted, bins, low[1:])
    noise = CellNoise(np.array([1_000.0]), np.ones(1), 6.0, 4.0)
    return float(choose_clipping(tails, noise, 0.0, 3_200.0).high[0])


def test_a_hidden_atom_at_an_end_moves_the_end_of_clipping(monkeypatch: pytest.MonkeyPatch) -> None:
    """A count of 25 at the end is no atom that stands out, and yet a reason not to clip far below.
    Where nothing is counted there, and in the twin, which takes what is hidden for none, the
    values are clipped at the same, lower end."""
    with_atom, without = _upper_end(25), _upper_end(-10)
    assert with_atom >= 3_200 > without
    monkeypatch.setattr(end_atoms, "MOST_CLAMPED", 0.0)
    assert _upper_end(25) < 3_200


def test_an_end_that_the_tail_does_not_reach_has_no_atom() -> None:
    """A count of 25 under noise of 14 counts as 12 rows where the bin next to the end is as full
    as the last that is seen, and as less than a tenth of a row where it holds a thousandth."""
    ends = np.array([0.0, 0, 1, 2, 4, 8])
    bins = BinEnds(ends, np.array([0.0, 1, 2, 4, 8, 8]))
    counts = np.array([0.0, 300, 400, 200, 10, 25])
    seen = np.array([False, True, True, True, False, False])

    def expected(next_to_end: float) -> float:
        shares = np.array([0.0, 0.3, 0.4, 0.2, 0.2 * next_to_end, 0.0])
        rows, deviation = end_atoms.hidden_end_atoms(
            counts, seen, bins, shares, 1_000.0, (14.0, False)
        )
        assert (rows[1:-1] == 0).all()
        assert deviation[-1] >= 0
        return float(rows[-1])

    assert 10 < expected(1.0) < 15
    assert 0 < expected(1e-3) < 0.1
