"""Rows that no bin shows: they go on from what is seen, or are a clump of their own."""

from __future__ import annotations

import numpy as np
import pytest

from sqlpriv.answer.rounds.tail_model import place_hidden

BINS, SIGMA, HIDDEN = 64, 50.0, 500.0
DISTANCE = np.maximum(np.arange(BINS) - 15, 0)
IS_OPEN = DISTANCE > 0
"""Rows are seen in the first 16 bins."""


def _part_of_last_bins(shares: np.ndarray) -> float:
    """Returns the mean part, in 100 draws of noise, of 500 hidden rows that are taken to be in the
    last 24 bins.

    Args:
        shares: Of the hidden rows in each bin.
    """
    rng, parts = np.random.default_rng(9), []
    for _ in range(100):
        counts = HIDDEN * shares + rng.laplace(0, SIGMA / 2**0.5, BINS)
        missing = HIDDEN + rng.normal(0, 100), 100.0
        parts.append(place_hidden(counts, DISTANCE, IS_OPEN, missing, SIGMA)[-24:].sum())
    return float(np.mean(parts))


@pytest.mark.parametrize(("bins", "least", "most"), [(6, 0.6, 1.0), (0, 0.0, 0.05)])
def test_a_clump_that_no_bin_shows_alone_is_found(bins: int, least: float, most: float) -> None:
    """500 rows in six bins of noise 50 are 4 deviations of their noise together. In the twin the
    rows go on from what is seen: few are taken to be far out. The draws have a seed."""
    shares = 0.75**DISTANCE * IS_OPEN
    if bins:
        shares = np.zeros(BINS)
        shares[50 : 50 + bins] = 1.0
    assert least <= _part_of_last_bins(shares / shares.sum()) <= most
