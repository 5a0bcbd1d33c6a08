"""What follows from a joint group's keys, and reals that are clamped once: the same integers."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.vaults import Engine, contract

from sqlpriv.kernel.proof.sensitivity import REAL_STEPS, lattice_of
from sqlpriv.kernel.sql.queries import render
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Interval, Number, TableFacts, Type
from sqlpriv.plan.aggregates.means.mean_bins import bin_edges

SCAN, X = a.Scan("people"), a.Col("x")
BOUNDED, WINDOWED = TableFacts(bounded=True), TableFacts()
ALL = a.Where(SCAN, a.Call(">=", (a.Col("id"), a.Lit(0, Type.INTEGER))))
G = a.Key(a.Col("g"), (0, 1))


def bins_of(low: Number, high: Number, *, whole: bool) -> a.Bin:
    """The bins of a mean's x, by roots where they can be."""
    edges = bin_edges(float(low), float(high), whole=whole)
    return a.Roots(X, edges, float(low), float(high)) if low >= 0 else a.Bin(X, edges)


def every(bins: a.Bin) -> a.Key:
    return a.Key(bins, tuple(range(len(bins.edges) + 1)))


def exact(
    values: list[Any],
    sql: str,
    domain: Interval | None,
    queries: list[a.Query],
    facts: TableFacts = BOUNDED,
) -> list[np.ndarray[Any, Any]]:
    """The integers of queries over rows of these values, every second one of group 1."""
    made = contract(
        {"id": "BIGINT", "g": "TINYINT", "x": sql}, {"x": domain} if domain else {}, facts=facts
    )
    engine = Engine()
    engine.fill(made, [(i, i % 2, value) for i, value in enumerate(values)])
    return engine.exact(queries, made)


INTERVALS = [(0, 99), (-40, 60), (0, 256), (2**30 + 3, 2**30 + 90), (2**52 - 90, 2**52), (0, 9999)]


@pytest.mark.parametrize("facts", [BOUNDED, WINDOWED])
@pytest.mark.parametrize("source", [SCAN, ALL])
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_sums_of_whole_numbers_and_of_their_bins(
    low: int, high: int, source: a.Relation, facts: TableFacts
) -> None:
    """Beside the same asked alone, and by hand; 2 x of an INTEGER needs more than 32 bits."""
    rng = np.random.default_rng(5)
    values = [*map(int, rng.integers(low, high, 300, endpoint=True)), low, high, None, low - 9]
    if high < 2**60:
        values += [high + 7]
    bins = bins_of(low, high, whole=True)
    last, sql = len(bins.edges), "INTEGER" if high < 2**31 else "BIGINT"
    queries: list[a.Query] = [
        a.Count(source, (), (G, every(bins))),
        a.Sum(source, X, low, high, (), (G, every(bins))),
        a.Sum(source, bins, 0, last, (), (G,)),
        a.Sum(source, bins, 1, 3, (), (G,)),
        a.Count(source, (), (G,), X),
        a.Count(source, (), (G,)),
    ]
    together = exact(values, sql, Interval(low, high), queries, facts)
    for query, cells in zip(queries, together, strict=True):
        (alone,) = exact(values, sql, Interval(low, high), [query], facts)
        assert cells.tolist() == alone.tolist()
    of_group = [
        [min(max(v, low), high) for v in values[side::2] if v is not None] for side in (0, 1)
    ]
    assert together[1].sum(axis=2)[0].tolist() == [
        sum(2 * v - low - high for v in x) for x in of_group
    ]
    numbers = [np.searchsorted(bins.edges, x, side="right") for x in of_group]
    assert together[2][0].tolist() == [(2 * n - last).sum() for n in numbers]
    assert together[3][0].tolist() == [(2 * n.clip(1, 3) - 4).sum() for n in numbers]
    assert together[4][0].tolist() == [len(x) for x in of_group]


@pytest.mark.parametrize("source", [SCAN, ALL])
@pytest.mark.parametrize("sql", ["DOUBLE", "FLOAT", "DECIMAL(12, 2)"])
def test_sums_of_reals_and_of_their_bins(sql: str, source: a.Relation) -> None:
    """By rows they are as by groups; NaN and NULL are in no bin, and nowhere counted."""
    rng = np.random.default_rng(6)
    values: list[Any] = [*(rng.integers(-900, 11_000, 300) / 100), 0.0, 99.0, None]
    values += [] if sql.startswith("DECIMAL") else [math.nan, math.inf, -math.inf]
    bins = bins_of(0.0, 99.0, whole=False)
    queries: list[a.Query] = [
        a.Sum(source, X, 0.0, 99.0, (), (G, every(bins))),
        a.Sum(source, bins, 0, len(bins.edges), (), (G,)),
        a.Count(source, (), (G,), X),
    ]
    together = exact(values, sql, Interval(0.0, 99.0), queries)
    for query, cells in zip(queries, together, strict=True):
        (alone,) = exact(values, sql, Interval(0.0, 99.0), [query])
        assert cells.tolist() == alone.tolist()
    there = [
        np.clip([v for v in values[side::2] if v is not None and v == v], 0, 99) for side in (0, 1)
    ]
    assert together[2][0].tolist() == [len(x) for x in there]
    steps = [np.round((x - 49.5) / (99 / (2 * REAL_STEPS))) for x in there]
    assert (
        np.abs(together[0][0].sum(axis=1) - [s.sum() for s in steps]).max() <= len(values) * 2**17
    )


def test_a_list_of_some_bins_tells_no_bin() -> None:
    """A level is its place in the list: 1 and 3 would stand for bins 0 and 1."""
    bins = a.Bin(X, (1, 2, 3))
    by_some: list[a.Query] = [
        a.Count(SCAN, (), (a.Key(bins, (1, 3)),)),
        a.Sum(SCAN, bins, 0, 3),
        a.Count(SCAN, of=X),
    ]
    cells = exact([0, 1, 2, 3, 3, None], "INTEGER", Interval(0, 3), by_some)
    assert [c.tolist() for c in cells] == [[[1, 2]], [2 * 9 - 3 * 5], [5]]


def test_different_values_are_counted_by_value() -> None:
    bins = bins_of(0, 99, whole=True)
    key = a.Key(bins, tuple(range(len(bins.edges) + 1)))
    (cells,) = exact(
        [5, 5, 6, 90, None], "INTEGER", Interval(0, 99), [a.Distinct(SCAN, (), (key,), X)]
    )
    assert cells.sum() == 3


@pytest.mark.parametrize(
    ("high", "sql", "by_value"),
    [(256, "INTEGER", True), (257, "INTEGER", False), (99, "DOUBLE", False)],
)
def test_rows_are_grouped_by_few_whole_numbers(high: int, sql: str, by_value: bool) -> None:
    """More groups than roots would take memory that no public number bounds."""
    bins = bins_of(0, high, whole=sql == "INTEGER")
    made = contract({"id": "BIGINT", "x": sql}, {"x": Interval(0, high)}, facts=BOUNDED)
    rows, _ = render([a.Count(SCAN, (), (every(bins),))], made, 7).sql.split("kept AS")
    assert ("sqrt" not in rows) is by_value


def test_a_column_that_is_declared_to_reach_further_is_grouped_by_roots() -> None:
    made = contract({"id": "BIGINT", "x": "INTEGER"}, {"x": Interval(0, 9999)}, facts=BOUNDED)
    sql = render([a.Count(SCAN, (), (every(bins_of(0, 99, whole=True)),))], made, 7).sql
    assert "sqrt" in sql.split("kept AS")[0]


@pytest.mark.parametrize(
    ("low", "high", "declared"),
    [
        (0.0, 100.0, (0.0, 100.0)),
        (0.1, 0.7, (0.1, 0.7)),
        (2.0**60, 2.0**60 + 256, (2.0**60, 2.0**60 + 256)),  # no double is its middle
        (0.0, 100.0, (0.0, 200.0)),
        (0.0, 100.0, (0.0, 50.0)),
        (0.0, 5e-300, (0.0, 5e-300)),
        (0.0, 5e-320, (0.0, 5e-320)),  # a step of 0
        (-1e9, 1e-9, (-1e9, 1e-9)),
    ],
)
def test_no_real_is_more_than_the_steps_of_its_lattice(
    low: float, high: float, declared: tuple[float, float]
) -> None:
    """One row a cell, and what lies between the ends as plain arithmetic has it."""
    inside = [low + (high - low) * i / 7 for i in range(1, 7)]
    values = [low, high, *inside, -1e300, 1e300, math.inf, -math.inf, math.nan, None]
    key = a.Key(a.Col("id"), tuple(range(len(values))))
    (cells,) = exact(values, "DOUBLE", Interval(*declared), [a.Sum(SCAN, X, low, high, (), (key,))])
    assert np.abs(cells).max() <= REAL_STEPS
    if high > 1e-290 and low < 2.0**60 and declared == (low, high):
        assert cells[0, 0] == -REAL_STEPS
        assert cells[0, 1] == REAL_STEPS
        middle, step = (Fraction(low) + Fraction(high)) / 2, Fraction(high) - Fraction(low)
        exactly = [(Fraction(v) - middle) / step * 2 * REAL_STEPS for v in inside]
        assert (
            max(abs(int(c) - e) for c, e in zip(cells[0, 2:8].tolist(), exactly, strict=True))
            < 2**10
        )


def test_ends_of_which_one_is_a_double_are_added_exactly() -> None:
    """0.0 + (2^54 + 3) is 2^54 + 4 in doubles: a row would add more than a sum's steps."""
    bins, upper = a.Bin(X, (1,)), 2**54 + 3
    query = a.Sum(SCAN, bins, 0.0, upper, (), (every(bins),))
    (sums,) = exact([0], "INTEGER", None, [query])
    assert sums.ravel().tolist() == [-upper, 0]
    assert lattice_of(query, Type.INTEGER).steps == upper
