"""Bins by noised quantiles, and values inside bins by their noised shape."""

from __future__ import annotations

import datetime as dt
from functools import cache

import numpy as np
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms.budget import Epsilon, Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.synth.domain import binning
from sqlpriv.synth.domain.domain import discretise
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.quality.measured_error import price_parts
from sqlpriv.synth.synthesis import prepare, synthesize

TABLE = contract(
    {
        "pay": ("DOUBLE", Interval(0, 1_000_000, nullable=True)),
        "age": ("INTEGER", Interval(0, 20_000)),
        "day": ("DATE", Interval(dt.date(2000, 1, 1), dt.date(2009, 12, 31))),
        "sex": ("VARCHAR", Categories(("m", "f"))),
    }
)
COLUMNS = ("pay", "age", "day", "sex")


@cache
def people(rows: int, seed: int = 0) -> dict[str, list]:
    """Log-normal pay of median 30,000 with a tenth missing; ages at 18, 65 and between."""
    rng = np.random.default_rng(seed)
    pay = np.minimum(np.exp(rng.normal(np.log(30_000), 0.6, rows)), 1e6)
    age = rng.choice([18, 65, 40, 19_999], rows, p=[0.5, 0.3, 0.1, 0.1])
    day = [dt.date(2005, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 60, rows)]
    return {
        "pay": [None if i % 10 == 0 else float(v) for i, v in enumerate(pay)],
        "age": age.tolist(),
        "day": day,
        "sex": ["m" if i % 3 else "f" for i in range(rows)],
    }


def made(price, by, method="independent", strata=(), rows=20_000, columns=COLUMNS, bins=8):
    options = {"bins": bins, "binning": by}
    job = prepare(TABLE, columns, strata, None, method, options, price)
    gate = FakeGate(people(rows), TABLE, price)
    out = synthesize(job, gate)
    assert gate.spent == price.nano
    return job, gate, out.table


@pytest.mark.parametrize(("by", "near"), [("width", 0.15), ("quantile", 0.05)])
def test_values_inside_bins_have_the_datas_quantiles(by, near):
    """20,000 people, epsilon 1, 8 bins, of 125,000 where they are equally wide: drawn evenly in its
    bin, the median of 30,000 would be above 60,000 (see the twin below)."""
    _, _, table = made(rho_of(1.0, 1e-9), by)
    drawn = np.array([v for v in table["pay"].to_pylist() if v is not None])
    truth = np.array([v for v in people(20_000)["pay"] if v is not None])
    for q in (0.25, 0.5, 0.75):
        assert np.quantile(drawn, q) == pytest.approx(np.quantile(truth, q), rel=near)
    assert table["pay"].null_count == pytest.approx(2_000, abs=200)
    days = table["day"].to_pylist()
    inside = sum(dt.date(2004, 12, 20) <= d <= dt.date(2005, 3, 12) for d in days)
    assert inside > 0.9 * len(days)


def test_without_the_shape_the_median_would_be_off():
    """The twin: the same bins, their insides unknown."""
    from sqlpriv.synth.domain.decode import decode

    domain = discretise(TABLE, ("pay",), (), None, 8)
    codes = np.zeros(4_000, dtype=np.int64)
    drawn = decode(domain.attributes[0], codes, np.random.default_rng(0)).to_numpy()
    assert np.median(drawn) > 60_000


def test_quantile_bins_hold_about_as_many_people_and_have_the_declared_ends():
    price = rho_of(1.0, 1e-9)
    job, gate, _ = made(price, "quantile", columns=("pay",))
    two = [m for m in gate.tables if m.query.keys]
    bins = two[-1].query.keys[0]
    counts = gate._counts(two[-1].query).ravel()[:8]
    assert len(bins.values) == 9  # eight bins and NULL, whatever the data
    assert counts == pytest.approx([20_000 * 0.9 / 8] * 8, rel=0.35)
    assert len(bins.expr.edges) == 7
    assert list(bins.expr.edges) == sorted(set(bins.expr.edges))
    equal = prepare(TABLE, ("pay",), (), None, "independent", {"bins": 8}, price)
    assert equal.domain.sizes == job.domain.sizes


def test_heaps_do_not_make_bins_collide():
    """Half of the ages are 18 and a tenth lie in the last part: ends still ascend, inside."""
    _, gate, table = made(rho_of(2.0, 1e-9), "quantile", columns=("age",), bins=32)
    edges = gate.tables[-1].query.keys[0].expr.edges
    assert list(edges) == sorted(set(edges))
    assert len(edges) == 31
    ages = table["age"].to_numpy()
    assert ages.min() >= 0
    assert ages.max() <= 20_000
    assert np.mean(ages < 100) == pytest.approx(0.9, abs=0.03)


@pytest.mark.parametrize("price", [Rho(10**7 + 1), Rho(3_003), Epsilon(10**9 - 1)])
@pytest.mark.parametrize("by", ["auto", "width", "quantile"])
def test_it_costs_a_share_and_is_told(price, by):
    job, gate, _ = made(price, by, rows=50, strata=("sex",))
    told = steps(job)
    assert sum(step.price.nano for step in told) == price.nano
    look = [s for s in told if s.name.startswith(("inside the bins", "last digits"))]
    rounds = "finer (3 rounds)"
    assert [s.name for s in look] == [
        "inside the bins: pay",
        f"inside the bins: pay, {rounds}",
        "last digits: pay",
        "inside the bins: age",
        f"inside the bins: age, {rounds}",
        "last digits: age",
        "inside the bins: day",
        f"inside the bins: day, {rounds}",
    ]
    of_looks = sum(s.price.nano for s in look)
    assert of_looks == pytest.approx(price_parts(price)[1].nano * 0.15, abs=5)
    of_table = [s for s in told if not s.name.startswith("error of the table")]
    known = [s.measurement for s in of_table if s.measurement is not None]
    assert set(known) <= set(gate.asked)
    assert len(known) == (8 if by == "width" else 5)  # levels by histograms are not known before


def test_columns_of_values_cost_nothing_more():
    job = prepare(TABLE, ("sex",), (), None, "independent", {}, Rho(10**6))
    assert job.binned == ()
    assert job.parts == ((), price_parts(Rho(10**6))[1])
    assert binning.binned_columns(discretise(TABLE, ("sex", "age"), (), None, 30_000)) == ()


def test_a_price_too_small_for_it_goes_to_the_method():
    job, gate, _ = made(Rho(2_999), "quantile", rows=50)
    assert job.binned == ()
    assert len(gate.asked) == 4


ODD = contract(
    {
        "gain": ("INTEGER", Interval(0, 99_999)),
        "hours": ("INTEGER", Interval(1, 99)),
        "price": ("DOUBLE", Interval(0.0, 500.0)),
        "asset": ("DOUBLE", Interval(-1_000.0, 2_000.0)),
        "pay": ("DECIMAL(9,2)", Interval(0, 100_000)),
        "seen": ("TIMESTAMP", Interval(dt.datetime(2024, 1, 1), dt.datetime(2024, 12, 31))),
    }
)


@cache
def odd_people(rows: int, seed: int = 0) -> dict[str, list]:
    """Gains: 0 of nine tenths, 7688 of a twentieth. Hours: 40 of half. Prices in cents, a third of
    them 0. Assets: 0 of a fifth, no grid. Pay in hundreds. Moments in whole seconds."""
    rng = np.random.default_rng(seed)
    kind = rng.random(rows)
    gain = np.where(kind < 0.9, 0, np.where(kind < 0.95, 7_688, rng.integers(1, 20_000, rows)))
    hours = np.where(rng.random(rows) < 0.5, 40, rng.integers(20, 60, rows))
    price = np.where(rng.random(rows) < 1 / 3, 0.0, rng.integers(1, 20_000, rows) / 100)
    asset = np.where(rng.random(rows) < 0.2, 0.0, np.clip(rng.normal(0, 100, rows), -1_000, 2_000))
    pay = np.clip(np.rint(rng.normal(300, 100, rows)), 0, 1_000) * 100
    begin = dt.datetime(2024, 3, 1)
    seen = [begin + dt.timedelta(seconds=int(s)) for s in rng.integers(0, 10**7, rows)]
    return {
        "gain": gain.tolist(),
        "hours": hours.tolist(),
        "price": price.tolist(),
        "asset": asset.tolist(),
        "pay": pay.tolist(),
        "seen": seen,
    }


@cache
def drawn_odd(price, by="auto", seed=0):
    """A table of odd people, the same one for every test: who asks for it changes nothing."""
    gate = FakeGate(odd_people(20_000), ODD, price, seed=seed)
    job = prepare(ODD, tuple(odd_people(1)), (), None, "independent", {"binning": by}, price)
    return synthesize(job, gate).table


def test_heaps_and_grids_survive():
    """20,000 people at epsilon 1: each heap holds a twentieth of the people at least, 1,000 of them
    beside noise of some 100 in each of four histograms."""
    table = drawn_odd(rho_of(1.0, 1e-9))
    real = {name: np.array(values) for name, values in odd_people(20_000).items()}
    for name, heap in (("gain", 0), ("gain", 7_688), ("hours", 40), ("price", 0), ("asset", 0)):
        share = np.mean(table[name].to_numpy() == heap)
        assert share == pytest.approx(np.mean(real[name] == heap), abs=0.03), (name, heap)
    cents = table["price"].to_numpy() * 100
    assert np.abs(cents - np.rint(cents)).max() < 1e-6
    asset = table["asset"].to_numpy() * 100
    assert np.mean(np.abs(asset - np.rint(asset)) > 1e-6) > 0.7
    hundreds = [value % 100 == 0 for value in table["pay"].to_pylist()]
    assert np.mean(hundreds) > 0.95
    assert all(moment.microsecond == 0 for moment in table["seen"].to_pylist())


def test_without_histograms_heaps_are_lost():
    """The twin: a price of which nothing is spent on histograms."""
    table = drawn_odd(Rho(5_999))
    gain, real = table["gain"].to_numpy(), np.array(odd_people(20_000)["gain"])
    assert np.mean(gain == 0) < 0.1
    assert gain.mean() - real.mean() > real.std()


@pytest.mark.parametrize("name", ["gain", "hours", "price", "asset", "pay"])
def test_means_do_not_drift_into_empty_tails(name):
    """20,000 people, epsilon 1, three runs. The mean of the errors of the mean is at most 0.1
    standard deviations of the column. In ten runs it was 0.03 of `gain` with a standard deviation
    of 0.03, and less of the others; without histograms (the twin above) it is 1.4."""
    real = np.array(odd_people(20_000)[name])
    errors = []
    for seed in range(3):
        column = drawn_odd(rho_of(1.0, 1e-9), seed=seed)[name].to_pylist()
        errors.append((np.mean([float(v) for v in column]) - real.mean()) / real.std())
    assert abs(np.mean(errors)) < 0.1


def test_levels_are_as_many_as_the_noise_allows():
    sizes = []
    for epsilon in (0.1, 1.0, 10.0):
        price = rho_of(epsilon, 1e-9)
        gate = FakeGate(people(20_000), TABLE, price)
        job = prepare(TABLE, ("pay", "age", "day"), (), None, "independent", {}, price)
        synthesize(job, gate)
        sizes.append(sum(len(m.query.keys[0].values) for m in gate.tables[-3:]))
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] <= 3 * 32 + 1


GRIDDED = contract(
    {
        "pay": ("DOUBLE", Interval(0, 1_000)),
        "hours": ("INTEGER", Interval(0, 2_000)),
        "seen": (
            "TIMESTAMP",
            Interval(dt.datetime(2024, 1, 1), dt.datetime(2024, 3, 1)),
        ),
        "sex": ("INTEGER", Categories((0, 1))),
    }
)


def drawn_on(grid: str | None, epsilon: float):
    rng = np.random.default_rng(0)
    data = {
        "pay": (rng.integers(0, 2_500, 800) * 0.25).tolist(),
        "hours": (rng.integers(0, 200, 800) * 5).tolist(),
        "seen": [
            dt.datetime(2024, 1, 1) + dt.timedelta(hours=int(h))
            for h in rng.integers(0, 1_400, 800)
        ],
        "sex": rng.integers(0, 2, 800).tolist(),
    }
    price = rho_of(epsilon, 1e-9)
    job = prepare(GRIDDED, tuple(data), (), None, "mst", {"grid": grid} if grid else {}, price)
    gate = FakeGate(data, GRIDDED, price)
    table = synthesize(job, gate).table
    assert gate.spent == price.nano
    return table


def test_values_near_0_are_no_multiples_of_a_large_step():
    """2,000 values of a standard normal column declared within a million: within 10 steps of
    100,000 times NEAR, they were taken for multiples of 100,000, and all came out as 0."""
    wide = contract({"x": ("DOUBLE", Interval(-1_000_000, 1_000_000))})
    data = {"x": np.random.default_rng(0).normal(size=2_000).tolist()}
    price = rho_of(10.0, 1e-9)
    job = prepare(wide, ("x",), (), None, "independent", {}, price)
    drawn = synthesize(job, FakeGate(data, wide, price)).table["x"].to_numpy()
    assert len(set(drawn.tolist())) > 1_000
    assert drawn.std() == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("epsilon", [0.05, 3.0])
def test_values_lie_on_the_grid_that_is_said_however_large_the_noise(epsilon):
    table = drawn_on("pay = 0.25; hours = 5; seen = 3600", epsilon)
    assert {v % 0.25 for v in table["pay"].to_pylist()} <= {0.0}
    assert {v % 5 for v in table["hours"].to_pylist()} <= {0}
    assert {(v.minute, v.second) for v in table["seen"].to_pylist()} <= {(0, 0)}


def test_without_a_grid_noise_is_to_tell():
    """The twin: at epsilon = .05 of 800 rows nothing is seen of a quarter or of five."""
    table = drawn_on(None, 0.05)
    assert len({v % 5 for v in table["hours"].to_pylist()}) > 1


@pytest.mark.parametrize(
    "grid", ["pay", "sex = 2", "hours = 2.5", "pay = -1", "pay = nan", "hours = 3000", "no = 1"]
)
def test_what_is_no_grid_is_refused(grid):
    with pytest.raises(Refused) as refused:
        drawn_on(grid, 1.0)
    assert refused.value.hint
