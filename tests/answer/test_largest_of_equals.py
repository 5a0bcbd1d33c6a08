"""Half-widths of the largest of many noised numbers, and of how far they are apart."""

from __future__ import annotations

import numpy as np
import pytest
from bench.answers_over_answers import TAILS, ask_tail


@pytest.mark.parametrize("name", ["largest", "range"])
def test_the_largest_of_equal_counts_lies_in_its_interval(name: str) -> None:
    """40 equal counts, of which noise alone makes one the largest; 30 answers, whose noise has a
    seed. By the farther move of each number .60 of the largest held, and .38 of the ranges."""
    rng = np.random.default_rng(7)
    errors, halves = ask_tail(TAILS[name], np.full(40, 60.0), 8.0, "zcdp", 30, rng)
    assert np.isfinite(halves).all()
    assert (np.abs(errors) <= halves).mean() >= 0.9


def test_the_largest_of_counts_that_differ_has_the_half_width_of_one() -> None:
    """One count lies far above all others: nothing is added for a choice that noise does not make.
    The smooth spread of equal counts has none, either: it holds without."""
    rng = np.random.default_rng(7)
    counts = np.append(np.full(11, 60.0), 500.0)
    _, halves = ask_tail(TAILS["largest"], counts, 8.0, "zcdp", 5, rng)
    assert np.allclose(halves, 1.96 * 8.0, rtol=1e-3)
    errors, halves = ask_tail(TAILS["spread"], np.full(18, 60.0), 8.0, "zcdp", 20, rng)
    assert np.median(halves) < 2 * np.quantile(np.abs(errors), 0.95)
