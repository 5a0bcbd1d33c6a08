"""The workload error equals the definition computed by hand and by brute force."""

from __future__ import annotations

import datetime as dt
from itertools import combinations

import duckdb
import numpy as np
import pandas as pd
import pytest

from sqlpriv.errors import DataError
from sqlpriv.evaluate import workload_error as module
from sqlpriv.evaluate.levels import BINS, discretise
from sqlpriv.evaluate.workload_error import workload_error
from sqlpriv.kernel.terms.contract import Column, Interval, Type


@pytest.fixture
def pair() -> tuple[duckdb.DuckDBPyRelation, duckdb.DuckDBPyRelation]:
    engine = duckdb.connect()
    rng = np.random.default_rng(5)

    def table(rows: int, tilt: float) -> pd.DataFrame:
        a = rng.integers(0, 3, rows)
        b = np.where(rng.random(rows) < tilt, a, rng.integers(0, 3, rows))
        c = pd.array(rng.integers(0, 2, rows), dtype="Int64")
        c[rng.random(rows) < 0.2] = pd.NA
        s = rng.choice(["x", "y", "z"], rows, p=[0.8, 0.15, 0.05])
        return pd.DataFrame({"s": s, "a": a, "b": b, "c": c})

    engine.register("real_rows_of_it", table(700, 0.5))
    engine.register("made_rows_of_it", table(400, 0.2))
    return engine.table("real_rows_of_it"), engine.table("made_rows_of_it")


def brute_force(real: pd.DataFrame, made: pd.DataFrame, columns: list[str], ways: int) -> float:
    """Definition 14 in frequencies, marginal after marginal."""
    distances = []
    for clique in combinations(columns, ways):
        by = [frame[list(clique)].astype(str) for frame in (real, made)]
        shares = [frame.value_counts(normalize=True, dropna=False) for frame in by]
        distances.append(float(shares[0].sub(shares[1], fill_value=0).abs().sum()))
    return float(np.mean(distances))


@pytest.mark.parametrize("ways", [1, 2, 3])
@pytest.mark.parametrize("sets_a_pass", [1, 2, 256])
def test_it_is_what_brute_force_gives(
    pair: tuple[duckdb.DuckDBPyRelation, duckdb.DuckDBPyRelation],
    ways: int,
    sets_a_pass: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SETS_A_PASS", sets_a_pass)
    found = workload_error(*pair, ["a", "b", "c"], ["s"], ways)
    real, made = (relation.df() for relation in pair)
    assert found.population == pytest.approx(brute_force(real, made, ["s", "a", "b", "c"], ways))
    assert list(found.strata) == [("x",), ("y",), ("z",)]
    for (label,), error in found.strata.items():
        inside = [frame[frame.s == label] for frame in (real, made)]
        assert error == pytest.approx(brute_force(*inside, ["a", "b", "c"], ways))


def test_equal_tables_differ_by_nothing_and_disjoint_ones_by_two() -> None:
    engine = duckdb.connect()
    one = engine.sql("SELECT 1 AS a, 'p' AS b UNION ALL SELECT 2, 'q'")
    assert workload_error(one, one, ["a", "b"], (), 2).population == 0
    other = engine.sql("SELECT 3 AS a, 'p' AS b")
    assert workload_error(one, other, ["a", "b"], (), 2).population == 2
    # b agrees by half: |1/2 - 1| + |1/2 - 0| = 1; with a's 2 the mean is 1.5
    assert workload_error(one, other, ["a", "b"], (), 1).population == 1.5


def test_strata_of_one_table_only_are_told_apart() -> None:
    engine = duckdb.connect()
    real = engine.sql("SELECT 1 AS s, 1 AS a UNION ALL SELECT NULL, 1")
    made = engine.sql("SELECT 1 AS s, 1 AS a UNION ALL SELECT 2, 1")
    found = workload_error(real, made, ["a"], ["s"], 1)
    assert found.strata == {("1",): 0.0, ("2",): None, ("NULL",): 1.0}


def test_what_cannot_be_compared_says_so() -> None:
    engine = duckdb.connect()
    one = engine.sql("SELECT 1 AS a")
    with pytest.raises(DataError, match="3-way"):
        workload_error(one, one, ["a"], (), 3)
    with pytest.raises(DataError, match="no rows"):
        workload_error(one.filter("a > 1"), one.filter("a > 1"), ["a"], (), 1)


def test_wide_intervals_become_bins_of_equal_width_on_the_declared_ends() -> None:
    engine = duckdb.connect()
    rows = engine.sql(
        "SELECT * FROM (VALUES (0.0, 5, DATE '2000-01-01'), (99.9, 9, NULL),"
        " (-7.0, 5, DATE '2001-01-01'), (NULL, 5, DATE '2000-07-01')) v(x, n, d)"
    )
    days = Interval(dt.date(2000, 1, 1), dt.date(2001, 1, 1))
    columns = [
        Column("x", Type.REAL, "DOUBLE", Interval(0, 100)),
        Column("n", Type.INTEGER, "INTEGER", Interval(0, 10)),
        Column("d", Type.DATE, "DATE", days),
    ]
    found = discretise(rows, columns).fetchall()
    assert [row[0] for row in found] == [0, BINS - 1, 0, None]
    assert [row[1] for row in found] == [5, 9, 5, 5]
    assert [row[2] for row in found] == [0, None, BINS - 1, 15]
