"""Of many cells some say which ends of clipping are compared for all: what that costs."""

from __future__ import annotations

import numpy as np
import pytest

from sqlpriv.answer.rounds import cell_shapes, clipping
from sqlpriv.answer.rounds.clipping_errors import CellNoise
from sqlpriv.answer.rounds.histogram import pooled_bins
from sqlpriv.answer.rounds.tail_model import Tails

LOWER, UPPER = 1.0, 1024.0


def cells_of(count: int, seed: int, parts: int = 1) -> tuple[Tails, CellNoise]:
    """Ten doublings of falling shares, of so many bins each; cells of 1 to 10,000 rows, tilted
    either way."""
    rng = np.random.default_rng(seed)
    doublings = np.arange(10 * parts) / parts
    pooled = 0.6**doublings / (0.6**doublings).sum()
    shape = cell_shapes.pooled_shapes(pooled_bins.Pooled(pooled, 0, pooled.size - 1), (count,))
    tilted = shape._replace(rate=rng.normal(0, 0.2, count), spread=np.full(count, 0.05))
    n = 10 ** rng.uniform(0, 4, count)
    edges = 2.0 ** (np.arange(10 * parts + 1) / parts)
    tails = Tails(pooled, pooled_bins.BinEnds.between(edges), 0.001, tilted)
    return tails, CellNoise(n, n / n.sum(), 10.0, 5.0)


def predicted_error(chosen: clipping.Clipping, shares: np.ndarray) -> float:
    """What is minimised: the geometric mean of the cells' errors, by rows, and of everybody's."""
    everybody = chosen.scattered + chosen.common**2
    return float(np.exp(((shares * np.log(chosen.variance)).sum() + np.log(everybody)) / 4))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_ends_of_some_cells_serve_all(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """To 1 % of what all pairs give. Twin: ends that one cell chose, whichever it is, do not."""
    tails, noise = cells_of(1500, seed)
    some = predicted_error(clipping.choose_clipping(tails, noise, LOWER, UPPER), noise.shares)
    monkeypatch.setattr(clipping, "SAMPLED_CELLS", 1)
    one = predicted_error(clipping.choose_clipping(tails, noise, LOWER, UPPER), noise.shares)
    monkeypatch.setattr(clipping, "FEW_PAIRS", 10**9)
    every = predicted_error(clipping.choose_clipping(tails, noise, LOWER, UPPER), noise.shares)
    assert some < 1.01 * every < one


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_ends_are_looked_for_near_those_of_a_coarse_grid(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To .5 % of what all pairs give. Twin: the ends of the coarse grid by themselves do not."""
    tails, noise = cells_of(18, seed, parts=8)
    ends = clipping.candidate_ends(tails.bins, LOWER, UPPER)
    assert noise.n.size * ends[0].size * ends[1].size > clipping.FEW_PAIRS
    near = predicted_error(clipping.choose_clipping(tails, noise, LOWER, UPPER), noise.shares)
    coarse_ends = [end[:: clipping.STRIDE] for end in ends]
    coarse = predicted_error(clipping._choose_among(tails, noise, *coarse_ends), noise.shares)
    monkeypatch.setattr(clipping, "FEW_PAIRS", 10**9)
    every = predicted_error(clipping.choose_clipping(tails, noise, LOWER, UPPER), noise.shares)
    assert near < 1.005 * every < coarse


@pytest.mark.parametrize(("at_once", "kept"), [(1, 10**9), (1000, 10**9), (1000, 0)])
def test_cells_are_chosen_in_pieces_as_together(
    at_once: int, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Errors that are kept from turn to turn are those of the piece: the same ends and errors."""
    tails, noise = cells_of(60, 5)
    monkeypatch.setattr(clipping, "PAIRS_AT_ONCE", 10**9)
    together = clipping.choose_clipping(tails, noise, LOWER, UPPER)
    monkeypatch.setattr(clipping, "PAIRS_AT_ONCE", at_once)
    monkeypatch.setattr(clipping, "PAIRS_KEPT", kept)
    in_pieces = clipping.choose_clipping(tails, noise, LOWER, UPPER)
    assert len(np.unique(together.high)) > 1
    np.testing.assert_array_equal(in_pieces.low, together.low)
    np.testing.assert_array_equal(in_pieces.high, together.high)
    np.testing.assert_allclose(in_pieces.variance, together.variance, rtol=1e-9)


def test_cells_whose_rows_are_none_are_clipped_too() -> None:
    """Noised counts of a statement on an empty table: no share is above 0."""
    tails, noise = cells_of(1500, 4)
    chosen = clipping.choose_clipping(tails, noise._replace(shares=np.zeros(1500)), LOWER, UPPER)
    assert (chosen.low < chosen.high).all()
