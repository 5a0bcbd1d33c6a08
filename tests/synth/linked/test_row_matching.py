"""Child rows go to parents that are like the ones that they were drawn with."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

from sqlpriv.synth.linked.row_matching import match_rows


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def test_a_slot_takes_a_row_of_its_own_group(rng):
    pool = pa.table({"place": ["north", "south"] * 50, "kind": ["ship", "plough"] * 50})
    slots = pa.table({"place": ["south", "north", "north"]})
    taken = pool.take(pa.array(match_rows(slots, pool, ["place"], rng)))
    assert taken["kind"].to_pylist() == ["plough", "ship", "ship"]


def test_no_row_of_a_group_is_taken_twice_before_each_was_taken_once(rng):
    pool = pa.table({"place": ["north"] * 10 + ["south"] * 10, "number": list(range(20))})
    slots = pa.table({"place": ["north"] * 25})
    taken = np.bincount(match_rows(slots, pool, ["place"], rng), minlength=20)
    assert sorted(taken[:10].tolist()) == [2] * 5 + [3] * 5
    assert not taken[10:].any()


def test_where_no_row_is_alike_the_column_that_tells_least_is_dropped_first(rng):
    """`kind` follows place always and season half of the time; no row is of the south in summer."""
    places = ["north"] * 400 + ["south"] * 200
    seasons = ["summer"] * 200 + ["winter"] * 400
    kinds = ["ship"] * 400 + ["plough"] * 200
    pool = pa.table({"season": seasons, "place": places, "kind": kinds})
    slots = pa.table({"season": ["summer"], "place": ["south"]})
    taken = pool.take(pa.array(match_rows(slots, pool, ["season", "place"], rng)))
    assert taken["kind"].to_pylist() == ["plough"]


def test_a_column_that_tells_nothing_is_not_asked_for(rng):
    """Ten rows of each badge: matching by badge would take one kind for each badge's slots."""
    pool = pa.table(
        {"badge": np.arange(1_000) % 500, "kind": rng.permutation(np.arange(1_000) % 2)}
    )
    slots = pa.table({"badge": np.full(400, 7)})
    taken = pool.take(pa.array(match_rows(slots, pool, ["badge"], rng)))
    assert 100 < sum(taken["kind"].to_pylist()) < 300


@pytest.mark.parametrize("kind", ["numbers", "dates", "moments", "missing"])
def test_ordered_columns_are_matched_by_groups(rng, kind):
    """n = 4,000: `kind` is whether the parent's value is in its upper half; 1 in 20 may miss."""
    numbers = rng.permutation(np.arange(4_000))
    begin = dt.date(2000, 1, 1)
    values = {
        "numbers": numbers,
        "dates": [begin + dt.timedelta(days=int(x)) for x in numbers],
        "moments": np.datetime64("2000-01-01", "us") + numbers.astype("timedelta64[h]"),
        "missing": [int(x) if x % 10 else None for x in numbers],
    }[kind]
    pool = pa.table({"value": values, "kind": (numbers >= 2_000).astype(int)})
    slots = pool.slice(0, 1_000).select(["value"])
    taken = pool.take(pa.array(match_rows(slots, pool, ["value"], rng)))
    alike = np.array(taken["kind"]) == np.array(pool["kind"].slice(0, 1_000))
    asked = np.ones(1_000, bool) if kind != "missing" else numbers[:1_000] % 10 > 0
    assert alike[asked].mean() > 0.95
