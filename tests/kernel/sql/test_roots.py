"""Bins found by roots: the engine's number at every edge, and by one unit in the last place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.vaults import Engine, contract

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Interval, TableFacts, Type
from sqlpriv.kernel.terms.operations import check
from sqlpriv.plan.aggregates.means.mean_bins import bin_edges

INTERVALS = [(0.0, 500_000.0), (0.0, 1.0), (3.0, 1e9), (1e9, 1e9 + 10), (0.0, 5e-300), (0.1, 0.7)]
WHOLE_INTERVALS = [(0, 5), (0, 99), (0, 500_000), (7, 2**40), (0, 2**53 - 1)]
X = a.Col("x")


def rows_beside(edges: tuple[float, ...], whole: bool) -> list[float]:
    if whole:
        return [int(x) for e in edges for x in (e - 1, e, e + 1)]
    return [
        x for e in edges for x in (math.nextafter(e, -math.inf), e, math.nextafter(e, math.inf))
    ]


def numbers_of(
    engine: Engine, expr: a.Bin, values: list[Any], sql: str, facts: TableFacts, domain: Interval
) -> list[int]:
    """Returns each value's bin, asked one row a unit with the row's number as a key."""
    made = contract({"id": "BIGINT", "x": sql}, {"x": domain}, facts=facts)
    engine.fill(made, list(enumerate(values)))
    keys = (
        a.Key(a.Col("id"), tuple(range(len(values)))),
        a.Key(expr, tuple(range(len(expr.edges) + 1))),
    )
    (cells,) = engine.exact([a.Count(a.Scan("people"), (), keys)], made)
    assert (cells.sum(axis=2) == 1).all()
    return cells[0].argmax(axis=1).tolist()


@pytest.mark.parametrize("facts", [TableFacts(), TableFacts(bounded=True)])
@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_reals_are_in_the_bin_of_their_edges(low: float, high: float, facts: TableFacts) -> None:
    """Before bounding and after it (facts), as comparing with the edges tells it."""
    edges = bin_edges(low, high)
    values = [*rows_beside(edges, whole=False), low, high, -1e308, 1e308, math.inf, -math.inf]
    expr, clamped = a.Roots(X, edges, low, high), np.clip(values, low, high)
    found = numbers_of(Engine(), expr, values, "DOUBLE", facts, Interval(low, high))
    assert found == np.searchsorted(edges, clamped, side="right").tolist()


@pytest.mark.parametrize(("low", "high"), WHOLE_INTERVALS)
def test_whole_numbers_are_in_the_bin_of_their_edges(low: int, high: int) -> None:
    edges = bin_edges(float(low), float(high), whole=True)
    values = [*rows_beside(edges, whole=True), low, high, -(2**62), 2**62]
    expr, facts = a.Roots(X, edges, float(low), float(high)), TableFacts(bounded=True)
    check(expr, {"x": Type.INTEGER})
    found = numbers_of(Engine(), expr, values, "BIGINT", facts, Interval(low, high))
    assert found == np.searchsorted(edges, np.clip(values, low, high), side="right").tolist()


@pytest.mark.parametrize("width", [300, 5_000, 2**40])
def test_edges_of_whole_numbers_that_doubles_are_wider_apart_than_end(width: int) -> None:
    """From 2^60 on doubles are 256 apart: a search by steps of 1 found no edge, and did not end."""
    edges = bin_edges(float(2**60), float(2**60 + width), whole=True)
    x = a.Roots(X, edges, float(2**60), float(2**60 + width))
    assert edges
    assert check(x, {"x": Type.INTEGER}) is Type.INTEGER


def test_an_undeclared_column_is_clamped_before_its_root() -> None:
    """A root of what lies below the start would be an error of the engine."""
    edges, made = bin_edges(0.0, 100.0), contract({"id": "BIGINT", "x": "DOUBLE"})
    engine, expr = Engine(), a.Roots(X, edges, 0.0, 100.0)
    engine.fill(made, [(1, -5.0), (2, 1e300), (3, math.nan), (4, None)])
    key = a.Key(expr, tuple(range(len(edges) + 1)))
    (cells,) = engine.exact([a.Count(a.Scan("people"), (), (key,))], made)
    assert (cells[0, 0], cells[0, -1], cells.sum()) == (1, 1, 2)


@pytest.mark.parametrize(("low", "high"), [(-50.0, 100.0), (0.0, 200.0)])
def test_a_column_declared_to_reach_further_is_clamped_before_its_root(
    low: float, high: float
) -> None:
    edges = bin_edges(0.0, 100.0)
    expr, facts = a.Roots(X, edges, 0.0, 100.0), TableFacts(bounded=True)
    found = numbers_of(Engine(), expr, [low, high], "DOUBLE", facts, Interval(low, high))
    assert found == [0, len(edges)]


def test_edges_at_which_no_number_rises_are_refused() -> None:
    edges, types = bin_edges(0.0, 500_000.0), {"x": Type.REAL}
    assert check(a.Roots(X, edges, 0.0, 500_000.0), types) is Type.INTEGER
    for off in (math.nextafter(edges[9], 0), math.nextafter(edges[9], 1e9)):
        with pytest.raises(Refused, match="rises"):
            check(a.Roots(X, (*edges[:9], off, *edges[10:]), 0.0, 500_000.0), types)
    for start, stop in ((0.0, 0.0), (-math.inf, 500_000.0), (0.0, math.inf)):
        with pytest.raises((Refused, ZeroDivisionError, ValueError, OverflowError)):
            check(a.Roots(X, edges, start, stop), types)


@pytest.mark.parametrize("facts", [TableFacts(), TableFacts(bounded=True)])
def test_a_value_is_counted_once_in_a_bin_of_several_roots(facts: TableFacts) -> None:
    """Eighty people of one town have other numbers, in two bins."""
    engine, key = Engine(), a.Key(a.Roots(X, (50.0,), 0.0, 100.0), (0, 1))
    columns = {"id": "BIGINT", "x": "DOUBLE", "town": "VARCHAR"}
    made = contract(columns, {"x": Interval(0.0, 100.0)}, facts=facts)
    engine.fill(made, [(i, float(i), "Ulm") for i in range(80)])
    towns = a.Distinct(a.Scan("people"), (), (key,), a.Col("town"))
    assert engine.exact([towns], made)[0].ravel().tolist() == [1, 1]


@pytest.mark.parametrize("together", [1, 2, 8])
def test_a_grid_keeps_its_bins_and_their_widths(together: int) -> None:
    """Edges move to where roots rise by 7 % of their distance from the lower end at most."""
    edges = np.array(bin_edges(0.0, 1024.0, together))
    steps = [1024.0 * 2 ** (-i / 4) for i in range(together, 49, together)]
    nearest = np.abs(edges[:, None] / steps - 1).min(axis=0)
    assert nearest.max() < 0.07
    assert set(edges) <= set(bin_edges(0.0, 1024.0))
