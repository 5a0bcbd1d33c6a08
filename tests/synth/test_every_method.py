"""What holds for every synthesizer of the registry, whatever it does: price, inputs, outputs."""

from __future__ import annotations

import itertools
import math

import pytest
from support.fake_gate import FakeGate
from support.synth_tables import contract

from sqlpriv.errors import DataError, Error, Refused
from sqlpriv.kernel.terms.budget import Epsilon, Rho, rho_of
from sqlpriv.kernel.terms.contract import Categories, Interval
from sqlpriv.synth.explained_steps import steps
from sqlpriv.synth.methods.aim import MOST_COLUMNS
from sqlpriv.synth.registry import REGISTRY
from sqlpriv.synth.synthesis import prepare, synthesize

METHODS = tuple(method for method in REGISTRY if method not in ("topdown", "stability"))
"""topdown needs a hierarchy and takes no strata: methods/test_topdown.py. stability needs a delta,
and leaves out what few have: methods/test_stability.py."""
COMPILED = ("gem", "rap", "rap++", "dpmerf")
"""These compile for each domain and number of strata, or for each choice: seconds a case."""
COMPILES = tuple(pytest.param(m, marks=pytest.mark.slow) if m in COMPILED else m for m in METHODS)
RELAXED = {"tables": 2, "steps": 30, "points": 100}
QUICK = {
    "gem": {"rounds": 2, "steps": 200, "components": 20},
    "pmw": {"rounds": 2},
    "dpmerf": {"features": 30, "steps": 300, "points": 60},
    "rap": RELAXED,
    "rap++": RELAXED,
}
"""Options that make a method quick where its accuracy is not what is tested."""
PEOPLE = contract(
    {
        "a": ("INTEGER", Categories((0, 1, 2))),
        "b": ("VARCHAR", Categories(("x", "y", None))),
        "c": ("DOUBLE", Interval(0, 1, nullable=True)),
        "one": ("INTEGER", Interval(5, 5)),
        "s": ("INTEGER", Categories((0, 1))),
        "wide": ("INTEGER", Categories(tuple(range(0, 20_000, 2)))),
        "cells": ("INTEGER", Interval(0, 39)),
    }
)


def people(rows: int) -> dict[str, list]:
    return {
        "a": [i % 3 for i in range(rows)],
        "b": [("x", "y", None)[i % 3] for i in range(rows)],
        "c": [None if i % 5 == 0 else (i % 7) / 7 for i in range(rows)],
        "one": [5] * rows,
        "s": [i % 2 for i in range(rows)],
        "wide": [2 * (i % 100) for i in range(rows)],
        "cells": [i % 40 for i in range(rows)],
    }


def made(method, data, columns, price, strata=(), unit=None, **options):
    table = (
        PEOPLE
        if unit is None
        else contract({c.name: (c.sql_type, c.domain) for c in PEOPLE.columns}, **unit)
    )
    given = {"bins": 4, **QUICK.get(method, {}), **options}
    job = prepare(table, columns, strata, None, method, given, price)
    gate = FakeGate(data, table, price)
    return job, gate, synthesize(job, gate)


@pytest.mark.parametrize("method", COMPILES)
@pytest.mark.parametrize("price", [Rho(10**7 + 1), Epsilon(10**9 - 1)])
@pytest.mark.parametrize(
    ("strata", "unit"), [((), {}), (("s",), {"groups_per_unit": 2}), (("s",), {"rows_per_unit": 3})]
)
def test_the_charge_is_the_price_to_the_last_nano(method, price, strata, unit):
    """And what EXPLAIN PRIVACY tells adds up to it, and tells every measurement that it names."""
    job, gate, _ = made(method, people(60), ("a", "b", "c"), price, strata, unit)
    assert gate.spent == price.nano
    told = steps(job)
    assert sum(step.price.nano for step in told) == price.nano
    assert {s.measurement for s in told if s.measurement is not None} <= set(gate.asked)


@pytest.mark.parametrize("method", METHODS)
def test_a_few_nanos_are_enough_or_refused_before_anything_is_asked(method):
    for nano in (1, 2, 3, 7, 20):
        price = Rho(nano)
        try:
            job = prepare(PEOPLE, ("a", "b", "c"), (), None, method, {}, price)
        except (DataError, Refused):
            continue
        gate = FakeGate(people(5), PEOPLE, price)
        synthesize(job, gate)
        assert gate.spent == nano


@pytest.mark.parametrize("method", COMPILES)
@pytest.mark.parametrize("epsilon", [1e-3, 100.0])
@pytest.mark.parametrize("rows", [0, 1, 12])
def test_few_rows_and_more_strata_than_rows(method, epsilon, rows):
    """In 40 strata; a method that refuses as many says its limit, and takes 18."""
    price, most = rho_of(epsilon, 1e-9), REGISTRY[method].max_strata
    levels = {"cells": set(range(40))}
    if most < 40:
        with pytest.raises(Refused, match=f"at most {most} strata"):
            made(method, people(rows), ("c", "cells"), price, ("cells",))
        levels = {"a": {0, 1, 2}, "b": {"x", "y", None}, "s": {0, 1}}
    _, _, out = made(method, people(rows), ("c", *levels), price, tuple(levels), rows=50)
    assert out.table.column_names == ["c", *levels]
    for name, labels in levels.items():
        assert set(out.table[name].to_pylist()) <= labels


@pytest.mark.parametrize("method", COMPILES)
@pytest.mark.parametrize("columns", [("a",), ("one",), ("one", "b"), ("c", "one", "a")])
def test_one_column_and_columns_of_one_level(method, columns):
    _, _, out = made(method, people(90), columns, Rho(10**13))
    assert out.table.column_names == list(columns)
    assert out.table.num_rows == pytest.approx(90, abs=2)
    for name in set(columns) & {"one"}:
        assert set(out.table[name].to_pylist()) == {5}


@pytest.mark.parametrize("method", COMPILES)
@pytest.mark.parametrize("strata", [("one",), ("one", "s"), ("b", "one")])
def test_strata_of_one_level_and_of_null(method, strata):
    _, _, out = made(method, people(90), ("a", "c"), Rho(10**13), strata)
    assert out.table.column_names == [*strata, "a", "c"]
    assert out.table.num_rows == pytest.approx(90, abs=4)
    if "b" in strata:
        assert out.table["b"].null_count == pytest.approx(30, abs=2)


def _cells(method: str, columns: tuple[str, ...]) -> int:
    sizes, arity = [PEOPLE.column(c).domain for c in columns], REGISTRY[method].arity
    levels = [len(d.labels) for d in sizes]
    width = len(levels) if arity is None else arity
    return sum(map(math.prod, itertools.combinations(levels, width)))


@pytest.mark.parametrize("method", COMPILES)
def test_a_column_of_ten_thousand_levels_is_made_or_refused(method):
    """With 400 rows in 100 of the levels: what is made has them, or the refusal says what to do."""
    columns, price = ("wide", "a"), Rho(10**12)
    if _cells(method, columns) > REGISTRY[method].max_cells:
        with pytest.raises(Refused, match="cells at most") as refused:
            made(method, people(400), columns, price)
        assert refused.value.hint
        return
    _, _, out = made(method, people(400), columns, price)
    drawn = out.table["wide"].to_pylist()
    assert sum(v < 200 for v in drawn) > 0.9 * len(drawn)


@pytest.mark.parametrize("method", COMPILES)
def test_all_null(method):
    data = people(60) | {"b": [None] * 60, "c": [None] * 60}
    _, _, out = made(method, data, ("b", "c"), Rho(10**13))
    assert out.table["c"].null_count > 0.9 * out.table.num_rows > 0


@pytest.mark.parametrize("method", METHODS)
def test_a_functional_column_stays_one(method):
    """b is a function of a. `independent` has no way to know, and is the twin that fails."""
    _, _, out = made(method, people(600), ("a", "b"), Rho(10**12))
    pairs = zip(out.table["a"].to_pylist(), out.table["b"].to_pylist(), strict=True)
    held = sum(b == ("x", "y", None)[a] for a, b in pairs) / out.table.num_rows
    assert (held > 0.8) == (method != "independent")


@pytest.mark.parametrize("method", METHODS)
def test_what_is_refused_is_refused_in_words(method):
    with pytest.raises(Error) as refused:
        prepare(PEOPLE, ("a", "nosuch"), (), None, method, {}, Rho(10**9))
    assert "nosuch" in str(refused.value)


def test_more_columns_than_aim_ends_with_are_refused_before_anything_is_asked():
    names = tuple(f"c{i}" for i in range(MOST_COLUMNS + 1))
    wide = contract({name: ("INTEGER", Categories((0, 1))) for name in names})
    prepare(wide, names[1:], (), None, "aim", {}, Rho(10**9))
    with pytest.raises(Refused, match="40 columns at most, not 41") as refused:
        prepare(wide, names, (), None, "aim", {}, Rho(10**9))
    assert "USING mst" in str(refused.value.hint)
