"""Distances to the closest record, and an attack on membership that catches a leaking table."""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from sqlpriv.evaluate.closest_record import closest_records, least_distances

NAMES = tuple("abcdefgh")


def people(rows: int, seed: int) -> pa.Table:
    """Eight columns of five levels; each depends on the one before, NULL among the levels."""
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, 5, rows)]
    for _ in NAMES[1:]:
        columns.append(np.where(rng.random(rows) < 0.4, columns[-1], rng.integers(0, 5, rows)))
    return pa.table({n: pa.array(c, mask=c == 4) for n, c in zip(NAMES, columns, strict=True)})


def measured(synthetic: pa.Table, held_out: bool = True):
    with duckdb.connect() as engine:
        real, other, made = (
            engine.from_arrow(t) for t in (people(3_000, 0), people(3_000, 1), synthetic)
        )
        return closest_records(real, made, NAMES, other if held_out else None)


def test_fresh_rows_are_as_far_as_real_ones_and_tell_nothing():
    """1,000 rows tried: the AUC's standard error is .013, .05 is 4 of them."""
    fresh = measured(people(3_000, 2))
    assert fresh.columns == 8
    assert fresh.of_synthetic == pytest.approx(fresh.of_real, rel=0.1)
    assert fresh.membership == pytest.approx(0.5, abs=0.05)


def test_a_leaking_table_is_caught():
    """The twin: a table that is half of the real rows themselves. Every second of its rows is in
    the half that is compared with, and members are nearer to it."""
    leaking = measured(people(3_000, 0).slice(0, 1_500))
    assert leaking.copies > leaking.real_copies + 0.3
    assert leaking.of_synthetic < 0.8 * leaking.of_real
    assert leaking.membership > 0.65


def test_without_held_out_rows_there_is_no_attack_and_few_rows_are_nothing():
    assert measured(people(3_000, 2), held_out=False).membership is None
    assert measured(people(1, 0)) is None


def test_distances_count_columns():
    rows, others = np.array([[0, 1, 2], [5, 5, 5]]), np.array([[0, 1, 3], [9, 9, 9]])
    assert least_distances(rows, others).tolist() == [1, 3]
