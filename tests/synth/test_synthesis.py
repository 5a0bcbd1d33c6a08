"""Whole synthetic tables: strata, NULLs, weights, and the smallest and oddest inputs."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from support.fake_gate import FakeGate
from support.synth_tables import assert_sizes, census, contract

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Epsilon, Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories, Interval, Type
from sqlpriv.synth.synthesis import prepare, synthesize

METHODS = ("independent", "gaussian", "histogram", "mst")
RICH = Rho(10**15)
PEOPLE = contract(
    {
        "sex": ("VARCHAR", Categories(("m", "f"))),
        "town": ("VARCHAR", Categories(("x", "y", "z", None))),
        "age": ("TINYINT", Interval(0, 99, nullable=True)),
        "pay": ("DOUBLE", Interval(0, 10)),
        "born": ("DATE", Interval(dt.date(2000, 1, 1), dt.date(2000, 1, 10))),
        "one": ("INTEGER", Interval(5, 5)),
    }
)
ALL = ("sex", "town", "age", "pay", "born", "one")


def people(rows: int, seed: int = 0) -> dict[str, list]:
    rng = np.random.default_rng(seed)
    sex = rng.choice(["m", "f"], rows, p=[0.3, 0.7])
    town = rng.choice(["x", "y", None], rows)  # nobody lives in z
    age = [None if rng.random() < 0.1 else int(v) for v in rng.integers(0, 100, rows)]
    day = [dt.date(2000, 1, 1 + int(d)) for d in rng.integers(0, 10, rows)]
    pay = rng.random(rows) * 10
    return {
        "sex": sex.tolist(),
        "town": town.tolist(),
        "age": age,
        "pay": pay.tolist(),
        "born": day,
        "one": [5] * rows,
    }


def made(method, data, columns=ALL, strata=(), price=RICH, where=None, weights=None, **options):
    job = prepare(PEOPLE, columns, strata, where, method, options, price)
    gate = FakeGate(data, PEOPLE, price)
    found = synthesize(job, gate, weights)
    assert gate.spent == price.nano
    return found


@pytest.mark.parametrize("method", METHODS)
def test_columns_keep_their_types_and_order(method):
    found = made(method, people(500), ("pay", "sex", "age", "born"), ("town",))
    assert found.table.schema == pa.schema(
        [
            ("town", pa.string()),
            ("pay", pa.float64()),
            ("sex", pa.string()),
            ("age", pa.int8()),
            ("born", pa.date32()),
        ]
    )
    assert found.types == {
        "town": "VARCHAR",
        "pay": "DOUBLE",
        "sex": "VARCHAR",
        "age": "TINYINT",
        "born": "DATE",
    }


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("strata", [(), ("sex",), ("sex", "town")])
def test_with_a_huge_budget_the_marginals_are_the_datas(method, strata):
    data = people(2_000)
    table = made(method, data, strata=strata).table
    assert table.num_rows == 2_000
    for name in ("sex", "town", "born", "one"):
        assert_sizes(table[name].to_pylist(), Counter(data[name]), 2 + 8)
    missing = table["age"].null_count
    assert missing == pytest.approx(data["age"].count(None), abs=10)


@pytest.mark.parametrize("method", METHODS)
def test_strata_sizes_are_those_of_the_data(method):
    data = people(2_000)
    table = made(method, data, strata=("sex", "town")).table
    strata = zip(table["sex"].to_pylist(), table["town"].to_pylist(), strict=True)
    assert_sizes(strata, Counter(zip(data["sex"], data["town"], strict=True)), 2)


@pytest.mark.parametrize("method", METHODS)
def test_weights_and_rows_decide_the_sizes(method):
    weights = np.array([3.0, 1.0])
    table = made(method, people(500), strata=("sex",), weights=weights, rows=100).table
    assert Counter(table["sex"].to_pylist()) == {"m": 75, "f": 25}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("strata", [(), ("sex", "town")])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 100.0])
def test_no_rows_and_one_row(method, rows, strata, epsilon):
    """Noise makes some rows of nothing; the domain is never left and nothing fails."""
    table = made(method, people(rows), strata=strata, price=rho_of(epsilon, 1e-9)).table
    assert table.column_names == list(ALL)
    assert set(table["town"].to_pylist()) <= {"x", "y", "z", None}
    if epsilon == 100.0 and not strata:
        assert table.num_rows <= rows + 10


@pytest.mark.parametrize("method", METHODS)
def test_no_rows_wanted(method):
    assert made(method, people(50), rows=0).table.num_rows == 0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("columns", "strata"),
    [(("sex",), ()), (("one",), ()), (("sex",), ("sex",)), (("one", "sex"), ("sex",))],
)
def test_one_column_constant_columns_and_nothing_but_strata(method, columns, strata):
    data = people(300)
    table = made(method, data, columns, strata).table
    assert table.column_names == list(columns)
    for name in columns:
        assert_sizes(table[name].to_pylist(), Counter(data[name]), 1)


@pytest.mark.parametrize("method", METHODS)
def test_a_column_that_is_all_null(method):
    data = people(300) | {"age": [None] * 300}
    assert made(method, data).table["age"].null_count == 300


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_a_level_take_no_part_anywhere(method):
    data = people(300)
    data["sex"][:100] = ["?"] * 100
    table = made(method, data, ("town", "sex")).table
    assert table.num_rows == 200
    where = a.Call("=", (a.Col("sex"), a.Lit("m", Type.TEXT)))
    table = made(method, data, ("town", "sex"), where=where).table
    assert_sizes(table["sex"].to_pylist(), {"m": data["sex"].count("m")}, 2)


@pytest.mark.parametrize("method", METHODS)
def test_pure_epsilon_pays_for_it_too(method):
    data = people(2_000)
    table = made(method, data, strata=("sex",), price=Epsilon(5 * 10**9)).table
    assert table.num_rows == pytest.approx(2_000, abs=100)


@pytest.mark.parametrize("method", METHODS)
def test_a_pair_is_not_taken_for_more_than_it_is(method):
    """The parts add up: a NULL age is as frequent in each town's rows as overall, give or take."""
    table = made(method, people(4_000), ("town", "age")).table
    assert table.num_rows == 4_000


@pytest.mark.parametrize("weights", [[1.0], [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0]])
def test_weights_that_do_not_fit_are_refused_before_anything_is_asked(weights):
    job = prepare(PEOPLE, ALL, ("sex",), None, "mst", {}, RICH)
    gate = FakeGate(people(5), PEOPLE, RICH)
    with pytest.raises(Refused, match="WEIGHTS"):
        synthesize(job, gate, np.array(weights))
    assert not gate.asked


def test_progress_runs_to_the_end():
    told = []
    job = prepare(PEOPLE, ALL, ("sex",), None, "mst", {}, RICH)
    synthesize(job, FakeGate(people(50), PEOPLE, RICH), report=told.append)
    assert all(0 <= p.done <= p.of for p in told)
    assert {p.stage for p in told if p.done == p.of} >= {"fitting strata", "drawing rows"}


COLUMNS = ("AGEP", "SCHL", "MAR", "DIS", "MIL", "SEX", "RAC1P", "ESR")


def real() -> tuple:
    data = census(COLUMNS, 40_000)
    domains = {}
    for name, values in data.items():
        listed = sorted({v for v in values if v is not None})
        labels = Categories((*listed, *([None] if None in values else [])))
        wide = name in ("AGEP", "SCHL")
        domains[name] = ("TINYINT", Interval(listed[0], listed[-1]) if wide else labels)
    return data, contract(domains)


def pair_error(data, table) -> float:
    """The mean total variation of all two-way tables, ages in five bins."""
    codes = []
    for source in (data, {n: table[n].to_pylist() for n in COLUMNS}):
        columns = {n: [-1 if v is None else int(v) for v in source[n]] for n in COLUMNS}
        columns["AGEP"] = [v // 10 for v in columns["AGEP"]]
        codes.append(columns)
    errors = []
    for u, v in itertools.combinations(COLUMNS, 2):
        tables = [Counter(zip(c[u], c[v], strict=True)) for c in codes]
        sizes = [sum(t.values()) for t in tables]
        cells = set(tables[0]) | set(tables[1])
        shares = ([t[c] / n for c in cells] for t, n in zip(tables, sizes, strict=True))
        errors.append(np.abs(np.subtract(*shares)).sum() / 2)
    return float(np.mean(errors))


@pytest.mark.parametrize("strata", [(), ("SEX", "RAC1P")])
def test_on_real_people_mst_is_far_better_than_independent(strata):
    """40,000 census rows, epsilon 1: at least a third better; the reverse order would fail."""
    data, declared = real()
    errors = {}
    for method in METHODS:
        price = rho_of(1.0, 1e-9)
        job = prepare(declared, COLUMNS, strata, None, method, {}, price)
        gate = FakeGate(data, declared, price)
        errors[method] = pair_error(data, synthesize(job, gate).table)
        assert gate.spent == price.nano
    assert errors["mst"] < 0.67 * errors["independent"]
