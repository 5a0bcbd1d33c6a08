"""TIMESTAMP_S, TIMESTAMP_MS and TIMESTAMP_NS, which pandas' frames become, are TIMESTAMPs."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from support.vaults import Engine, contract

from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Interval, Type

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
    engine.duckdb.register("rows", rows)
    engine.duckdb.execute(f"INSERT INTO of_{unit} SELECT * FROM rows")
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
