"""Rows that noise hides beyond what is seen: where the counts speak for them, and what is said."""

from __future__ import annotations

import numpy as np
import pytest
from bench.coverage import rows_of, run
from bench.value_shapes import ValueShape

from sqlpriv.answer.rounds.histogram.hidden_clumps import (
    NoisedHistogram,
    hidden_clumps,
)
from sqlpriv.answer.rounds.histogram.pooled_bins import BinEnds
from sqlpriv.answer.rounds.histogram.slow_tails import believed_beyond

ROWS, SIGMA = 10_000.0, 40.0
BINS = BinEnds.between(np.append(0.0, 2.0 ** (np.arange(1, 61) / 4)))
"""60 bins up to 32,768, four for each doubling."""


def _belief(hidden: dict[int, float], is_gaussian: bool, placed: float = 0.0) -> float:
    """Returns the belief in rows above the 20th bin, where all rows that are seen are.

    Args:
        hidden: Rows in other bins, by number.
        is_gaussian: The kind of noise.
        placed: Which part of all rows is thought to be in the next bin, because it is missing.
    """
    counts = np.zeros(60)
    counts[list(hidden)] = list(hidden.values())
    counts[20] = ROWS - counts.sum()
    estimated, in_next_bin = np.zeros(60), np.zeros(60)
    in_next_bin[21] = placed
    estimated[20] = 1 - placed
    histogram = NoisedHistogram(counts, np.arange(60) == 20, BINS, ROWS, SIGMA, 5.0, is_gaussian)
    clumps = hidden_clumps(histogram, estimated + in_next_bin, in_next_bin)
    assert clumps.below.belief[0] > 0.9
    return 1 - float(clumps.above.belief[0])


@pytest.mark.parametrize("is_gaussian", [True, False], ids=["Gaussian", "Laplace"])
def test_bins_that_noise_hides_are_told_of_together(is_gaussian: bool) -> None:
    """Each of eight bins has fewer rows than the deviation of its noise."""
    assert _belief({}, is_gaussian) < 0.05
    assert _belief(dict.fromkeys(range(24, 32), 10.0), is_gaussian) < 0.2
    assert _belief(dict.fromkeys(range(24, 32), 30.0), is_gaussian) > 0.5


def test_missing_rows_are_where_the_counts_have_them() -> None:
    """240 rows that no bin shows were placed next to those that are seen."""
    near, far = {21: 240.0}, dict.fromkeys(range(32, 36), 60.0)
    assert _belief(near, True, 0.024) < 0.01
    assert _belief(far, True, 0.024) > 0.9


def test_the_belief_is_in_rows_where_they_are() -> None:
    """400 rows from 128 to 512, of 10,000 at 32 and below, hold 2.4 to 19 of the mean above 32."""
    counts = np.zeros(60)
    counts[28:36], counts[20] = 50.0, 9_600.0
    visible = np.arange(60) == 20
    estimated = np.where(visible, 1.0, 0.0)
    histogram = NoisedHistogram(counts, visible, BINS, ROWS, SIGMA, 5.0, True)
    above = hidden_clumps(histogram, estimated, np.zeros(60)).above
    excess = np.maximum(BINS.means - 32, 0.0)
    middle, most = (float(believed_beyond(above, excess, part)) for part in (0.5, 0.95))
    held = float(counts[28:36] / ROWS @ excess[28:36])
    assert 0.5 * held < middle < 2 * held < most < 20 * held


OUTLIERS = ValueShape(
    lambda r, n: np.where(r.random(n) < 0.02, r.uniform(1, 4.5, n), 1.0), 0.0, 65.0
)


def test_an_answer_over_outliers_that_noise_hides_holds_or_says_so() -> None:
    """1,000 equal values, of which .02 lie up to 4.5 times as far; 60 runs. Of 150, .77 held or had
    a note: fewer than 26 of 60 have a chance of 1e-8. Without the belief in such rows .17 of 150
    held and none had a note: 26 have one of 1e-6."""
    answers = run(rows_of(OUTLIERS, 1_000, "1"), "zcdp", "auto", 60)
    assert (answers.whole_covered | answers.doubtful).sum() >= 26
