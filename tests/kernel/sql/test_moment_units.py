"""TIMESTAMP_S, TIMESTAMP_MS and TIMESTAMP_NS, which pandas' frames become, are TIMESTAMPs."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from support.vaults import Engine, contract

from sqlpriv.kernel.proof.unit_rows import reach_of
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Interval, TableFacts, Type

SECONDS = {"s": 1, "ms": 1_000, "ns": 1_000_000_000}
NOON = dt.datetime(2024, 3, 1, 12)
FARTHEST = (2**63 - 1, 2**63 - 2, 2**62, -(2**62), -(2**63) + 2, -(2**63) + 1)
"""Numbers of units: infinities among them, and seconds beyond the ends of a TIMESTAMP."""


@pytest.mark.parametrize("unit", SECONDS)
def test_moments_of_every_unit_are_compared_and_counted_whatever_a_row_holds(
    engine: Engine, unit: str
) -> None:
    sql_type = f"TIMESTAMP_{unit.upper()}"
    ends = Interval(dt.datetime(2024, 1, 1), dt.datetime(2024, 12, 31))
    table = contract({"id": "INTEGER", "x": sql_type}, {"x": ends}, table=f"of_{unit}")
    epoch = int((NOON - dt.datetime(1970, 1, 1)).total_seconds()) * SECONDS[unit]
    stored = [epoch, None, *FARTHEST]
    rows = pa.table({"id": range(len(stored)), "x": pa.array(stored, pa.timestamp(unit))})
    engine.fill(table, [])
    engine.duckdb.register("of_arrow", rows)
    engine.duckdb.execute(f"INSERT INTO of_{unit} SELECT * FROM of_arrow")
    engine.duckdb.unregister("of_arrow")
    source, column = a.Scan(table.table), a.Col("x")
    month = a.Key(a.Call("trunc month", (column,)), (dt.datetime(2024, 3, 1),))
    is_noon = a.Call("=", (column, a.Lit(NOON, Type.TIMESTAMP)))
    later = a.Shift(column, 1, 0, 0)
    of_april = a.Key(a.Call("month", (later,)), (4,))
    questions = [
        a.Count(source, keys=(month,)),
        a.Count(a.Where(source, is_noon)),
        a.Count(source, keys=(of_april,)),
    ]
    answers = [engine.exact([question], table)[0] for question in questions]
    assert [np.ravel(answer).tolist() for answer in answers] == [[1], [1], [1]]


@pytest.mark.parametrize("unit", ["ns", "ms"])
def test_a_unique_moment_of_nanoseconds_names_no_row(engine: Engine, unit: str) -> None:
    """Three moments of one microsecond make nine pairs, of which three are kept; no two moments of
    milliseconds are one."""
    holds = TableFacts(bounded=True)
    made = contract({"id": "INTEGER", "at": f"TIMESTAMP_{unit.upper()}"}, m=3, facts=holds)
    table = replace(made, unique=frozenset({"at"}))
    engine.fill(table, [])
    moments = pa.array(range(3), pa.timestamp(unit))
    engine.duckdb.register("of_arrow", pa.table({"id": [1, 1, 1], "at": moments}))
    engine.duckdb.execute("INSERT INTO people SELECT * FROM of_arrow")
    engine.duckdb.unregister("of_arrow")
    pairs = [a.Call("=", (a.Col(c), a.Col(f"r.{c}"))) for c in ("id", "at")]
    both = a.Join(a.Scan("people"), a.Scan("people", "r."), a.Call("and", tuple(pairs)), "inner")
    assert engine.exact([a.Count(both)], table)[0].item() == 3
    assert reach_of(both, table, lambda *_: 1).rows == (9 if unit == "ns" else 3)
