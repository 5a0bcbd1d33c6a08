"""Synthesis through the kernel's own gate, on a vault file."""

from __future__ import annotations

import datetime as dt

import pytest
from support.vaults import allowed, left

from sqlpriv.kernel.terms.budget import Budget, Epsilon, Rho
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.plan.pricing.predictions import predict_measurements
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.synthesis import prepare, synthesize

SQL = """
CREATE TABLE people AS
SELECT i AS id, ['m', 'f', '?'][1 + (hash(i) % 3)::INT] AS sex,
       CASE WHEN i % 10 > 0 THEN (hash(i, 1) % 90)::TINYINT END AS age,
       (hash(i, 1) % 90 / 10)::DOUBLE + 0.5 AS pay,
       CASE WHEN i % 7 = 0 THEN 'nan'::DOUBLE ELSE hash(i, 2) % 100 / 10 END AS odd,
       DATE '2020-01-01' + (hash(i, 3) % 400)::INT AS day,
       (hash(i, 4) % 1000 / 100)::DECIMAL(9, 2) AS fee
FROM range(3000) t(i);
ALTER TABLE people ADD PRIMARY KEY (id);
"""
DOMAINS = {
    "sex": Categories(("m", "f")),
    "age": Interval(0, 99, nullable=True),
    "pay": Interval(0, 10),
    "odd": Interval(0, 10, nullable=True),
    "day": Interval(dt.date(2020, 1, 1), dt.date(2020, 12, 31)),
    "fee": Interval(0, 10),
}
COLUMNS = ("age", "pay", "odd", "day", "fee", "sex")
PRICES = {
    "zcdp": (Budget("people", Rho(10**18), 1e-9), Rho(10**13)),
    "pure": (Budget("people", Epsilon(10**15), 0.0), Epsilon(10**13)),
}


@pytest.mark.parametrize("kind", PRICES)
@pytest.mark.parametrize("method", ["independent", "mst"])
def test_the_gate_sells_it_at_its_price_and_replays_it_for_nothing(make_kernel, method, kind):
    """At rho = 10,000 (epsilon = 10,000) noise is below one row, so rows can be counted:
    those of sex '?' have no level and take no part; NaN counts as NULL."""
    budget, price = PRICES[kind]
    kernel = make_kernel(SQL, domains=DOMAINS, budget=budget)
    job = prepare(kernel.contracts()["people"], COLUMNS, ("sex",), None, method, {"bins": 8}, price)
    told = [s.measurement for s in steps(job) if s.measurement is not None]
    assert len(predict_measurements(kernel, told, kernel.contracts()["people"])) == len(told)
    tables = []
    for paid in (price.nano, 0):
        with allowed(kernel, price, repeatable=True) as allowance:
            tables.append(synthesize(job, allowance).table)
            assert price.nano - left(allowance).nano == paid
    first, again = tables
    assert first.num_rows == again.num_rows
    assert 1800 < first.num_rows < 2200
    assert set(first["sex"].to_pylist()) == {"m", "f"}
    assert first["odd"].null_count == pytest.approx(first.num_rows / 7, abs=60)
    assert first["age"].null_count == pytest.approx(first.num_rows / 10, abs=60)
    if method == "mst":
        both = zip(first["age"].to_pylist(), first["pay"].to_pylist(), strict=True)
        near = [abs(p - a / 10 - 0.5) < 3 for a, p in both if a is not None]
        assert sum(near) > 0.95 * len(near)
