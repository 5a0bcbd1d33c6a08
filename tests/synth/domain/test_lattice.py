"""The classes of a column's last digits, as both engines' statements have them."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import replace

import numpy as np
import pytest
from support.vaults import Engine, contract

from sqlpriv.kernel.sql.queries import render
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, Interval, TableContract, Type
from sqlpriv.synth.domain.lattice import (
    MOMENT_STEPS,
    SECOND,
    ValueLattice,
    grid_query,
    ladder,
    measured_lattice,
)

LONGEST = 2**17
"""Spark's session refuses a statement of more characters."""
PAY = Column("pay", Type.REAL, "DOUBLE")


def reals_between(low: float, high: float) -> TableContract:
    return contract({"id": "BIGINT", "pay": "DOUBLE"}, {"pay": Interval(low, high)})


@pytest.mark.parametrize("high", [1.0, 1e7, 1e9, 1e15])
def test_the_digits_of_reals_are_one_statement_of_spark(high: float) -> None:
    """It writes an argument up to fifteen times, and a longer statement is refused there."""
    table = reals_between(0.0, high)
    query = grid_query(a.Scan("people"), PAY, ladder(PAY, Interval(0.0, high)))
    text = render([query], replace(table, engine="spark"), 7).sql
    assert len(text) < LONGEST


def test_a_value_is_of_the_coarsest_step_that_it_is_a_multiple_of() -> None:
    """Values far below a step are near 0 steps, and no multiples of it."""
    steps = ladder(PAY, Interval(-5e3, 5e3))
    assert steps[:3] == (1000.0, 100.0, 10.0)
    class_of = {
        None: 0,
        math.nan: len(steps) + 1,
        0.0: 0,
        3000.0: 1,
        -1000.0: 1,
        500.0: 2,
        -20.0: 3,
        1.0: 4,
        0.05: 1 + steps.index(0.01),
        1e-9: len(steps) + 1,
        math.pi: len(steps) + 1,
        500.0 + 1e-9: 2,  # within NEAR, as what is stored of a decimal is
    }
    made, engine = reals_between(-5e3, 5e3), Engine()
    engine.fill(made, list(enumerate(class_of)))
    digits = grid_query(a.Scan("people"), PAY, steps).keys[0]
    by_row = a.Key(a.Col("id"), tuple(range(len(class_of))))
    (cells,) = engine.exact([a.Count(a.Scan("people"), (), (by_row, digits))], made)
    assert cells[0].argmax(axis=1).tolist() == list(class_of.values())


def test_a_moment_is_of_the_coarsest_step_of_a_clock_that_it_lies_on() -> None:
    """Days alone were looked for: times to the quarter of an hour came out to the second."""
    at = Column("at", Type.TIMESTAMP, "TIMESTAMP")
    interval = Interval(dt.datetime(1960, 1, 1), dt.datetime(2030, 1, 1))
    steps = ladder(at, interval)
    assert steps == MOMENT_STEPS
    class_of = {
        None: 0,
        dt.datetime(2024, 5, 6): 1,
        dt.datetime(1963, 5, 6, 17): 2,
        dt.datetime(2024, 5, 6, 17, 45): 3,
        dt.datetime(1963, 5, 6, 17, 50): 4,
        dt.datetime(2024, 5, 6, 17, 51): 5,
        dt.datetime(2024, 5, 6, 17, 51, 3): 6,
        dt.datetime(1963, 5, 6, 17, 0, 0, 1): 6,
    }
    declared, engine = contract({"id": "BIGINT", "at": "TIMESTAMP"}, {"at": interval}), Engine()
    engine.fill(declared, list(enumerate(class_of)))
    clock = grid_query(a.Scan("people"), at, steps).keys[0]
    by_row = a.Key(a.Col("id"), tuple(range(len(class_of))))
    (cells,) = engine.exact([a.Count(a.Scan("people"), (), (by_row, clock))], declared)
    assert cells[0].argmax(axis=1).tolist() == list(class_of.values())


def test_times_to_five_minutes_are_drawn_so() -> None:
    """The twin: of times to the second a few lie on minutes, by chance."""
    seconds = ValueLattice(1.0, steps=((SECOND, 1.0),))
    counts = np.array([0.0, 2, 98, 300, 800, -3, 4])
    assert measured_lattice(seconds, MOMENT_STEPS, counts, 10.0).unit == 300 * SECOND
    twin = np.array([0.0, 2, 9, 3, 18, 30, 1_130])
    assert measured_lattice(seconds, MOMENT_STEPS, twin, 10.0).usual_step == SECOND
