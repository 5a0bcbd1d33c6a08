"""Structural zeros are never violated, public totals are met exactly; what cannot be is refused."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from fake_gate import FakeGate
from tables import contract

from sqlpriv.errors import Refused
from sqlpriv.kernel.budget import rho_of
from sqlpriv.kernel.contract import Categories, Interval
from sqlpriv.synth.synthesis import prepare, synthesize

TABLE = contract(
    {
        "age": ("INTEGER", Interval(0, 99)),
        "married": ("BOOLEAN", Categories((True, False))),
        "sex": ("VARCHAR", Categories(("m", "f"))),
        "secret": ("INTEGER", Categories((0, 1))),
    }
)
COLUMNS = ("age", "married", "sex")
ZEROS = "age < 15 AND married"
PRICE = rho_of(0.5, 1e-9)


def people(rows: int) -> dict[str, list]:
    rng = np.random.default_rng(0)
    age = rng.integers(0, 100, rows)
    married = (age >= 15) & (rng.random(rows) < 0.6)
    sex = np.where(rng.random(rows) < 0.3, "m", "f")
    return {
        "age": age.tolist(), "married": married.tolist(), "sex": sex.tolist(),
        "secret": [0] * rows,
    }  # fmt: skip


def made(method="independent", strata=(), weights=None, rows=2_000, **options):
    options = {"bins": 8, **options}
    job = prepare(TABLE, COLUMNS, strata, None, method, options, PRICE)
    return synthesize(job, FakeGate(people(rows), TABLE, PRICE), weights)


def children(table):
    pairs = zip(table["age"].to_pylist(), table["married"].to_pylist(), strict=True)
    return sum(age < 15 and married for age, married in pairs)


@pytest.mark.parametrize("method", ["independent", "mst", "privbayes", "histogram"])
@pytest.mark.parametrize("strata", [(), ("sex",)])
def test_no_row_is_impossible(method, strata):
    """Bins of 12 and 13 years, so that one straddles 15. Without zeros the same has such rows."""
    out = made(method, strata, zeros=ZEROS).table
    assert children(out) == 0
    assert out.num_rows > 1_500
    if method == "independent":
        assert children(made(method, strata).table) > 50


def test_a_stratum_whose_rows_are_all_impossible_is_left_out():
    out = made(strata=("sex",), zeros="sex = 'm'").table
    assert set(out["sex"].to_pylist()) == {"f"}


def test_a_rare_possibility_is_kept_to():
    """One row in a hundred or so is possible: those that stay impossible become one that is."""
    out = made(zeros="NOT (married AND age = 50)", rows=300).table
    assert set(out["age"].to_pylist()) <= {50}
    assert out.num_rows in (0, *range(150, 450))


@pytest.mark.parametrize(
    ("zeros", "says"),
    [
        ("age <", "predicate|expected|found"),
        ("age < 15) GROUP BY (age", "predicate|expected|found|bracket"),
        ("secret = 1", "published"),
        ("nosuch = 1", "nosuch"),
        ("COUNT(*) > 1", "aggregate"),
        ("age", "BOOLEAN|boolean|condition"),
        (3, "quotes"),
    ],
)
def test_what_is_no_predicate_of_published_columns_is_refused(zeros, says):
    with pytest.raises(Refused, match=says):
        prepare(TABLE, COLUMNS, (), None, "mst", {"zeros": zeros}, PRICE)


def test_public_totals_are_met_exactly():
    weights = np.array([123.0, 4_567.0])
    out = made("mst", ("sex",), weights, totals="weights", zeros=ZEROS).table
    assert Counter(out["sex"].to_pylist()) == {"m": 123, "f": 4_567}
    assert children(out) == 0


@pytest.mark.parametrize("weights", [None, np.array([0.5, 0.5]), np.array([1e9, 1.0])])
def test_totals_are_whole_numbers_of_rows(weights):
    job = prepare(TABLE, COLUMNS, ("sex",), None, "mst", {"totals": "weights"}, PRICE)
    gate = FakeGate(people(5), TABLE, PRICE)
    with pytest.raises(Refused, match="whole numbers"):
        synthesize(job, gate, weights)
    assert not gate.spent
