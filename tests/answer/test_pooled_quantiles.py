"""Pooled quantiles: intervals that hold, and errors that gain, from the statement to the figure."""

import numpy as np
import pytest
from bench.pooled_quantiles import measure_table, shape_tables

from sqlpriv.answer import quantiles
from sqlpriv.answer.pooled_strata import pool_levels

SHAPES = ["normal", "log-normal", "Pareto", "integers", "zeros"]


def _lines(rows: str, how: str) -> np.ndarray:
    """Medians of 30 strata, of each shape, price and kind, of two runs each: 20 lines."""
    tables = [table for of, table in shape_tables(SHAPES, [rows]) if how in of]
    return np.array([measure_table(table, 0.5, 2) for table in tables])


@pytest.mark.parametrize(("rows", "how"), [("50", "apart"), ("2000", "apart"), ("20000", "apart")])
def test_pooled_medians_gain_and_their_intervals_hold(
    rows: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 1,200 intervals .95 or more hold: of those that hold .99 each, 30 of a run together,
    less than .95 do with a chance below .001. Errors are below those of the better of the strata's
    own and everybody's by the geometric mean. The twin: intervals of a quarter of the length hold
    .9 or less of strata that are known."""
    measured = _lines(rows, how)
    assert measured[:, 3].mean() >= 0.95
    assert np.exp(np.log(np.maximum(measured[:, 2], 0.01)).mean()) < 1.0
    if rows == "50":
        return  # most may be anything

    def short(*given):  # type: ignore[no-untyped-def]  # as pool_levels
        drawn, halves = pool_levels(*given)
        return drawn, halves / 4

    monkeypatch.setattr(quantiles, "pool_levels", short)
    assert _lines(rows, how)[:, 3].mean() < 0.9
