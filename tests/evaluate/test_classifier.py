"""Rates by hand; a classifier that learns what there is to learn and tells who it fails."""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from sqlpriv.errors import DataError
from sqlpriv.evaluate.classifier import classify, rates

pytest.importorskip("sklearn")


def test_rates_are_shares_of_the_right_rows() -> None:
    truth = np.array([True, True, True, False, False])
    said = np.array([True, False, False, True, False])
    found = rates(truth, said)
    assert (found.rows, found.selected) == (5, 0.4)
    assert (found.false_positive, found.false_negative) == (0.5, pytest.approx(2 / 3))
    alone = rates(np.array([True]), np.array([True]))
    assert (alone.false_positive, alone.false_negative) == (None, 0.0)


@pytest.fixture
def engine() -> duckdb.DuckDBPyConnection:
    """`fair`: y follows x in both groups; `unfair`: in group b, y is the opposite."""
    made = duckdb.connect()
    made.execute("""CREATE TABLE fair AS SELECT if(range % 4 = 0, 'b', 'a') AS s, range % 7 AS x,
        x > 3 AS y, CASE range % 3 WHEN 0 THEN 'u' WHEN 1 THEN 'v' END AS t FROM range(2000)""")
    made.execute("CREATE TABLE unfair AS SELECT s, x, y != (s = 'b') AS y, t FROM fair")
    return made


def test_what_can_be_learnt_is_learnt(engine: duckdb.DuckDBPyConnection) -> None:
    found = classify(engine.table("fair"), engine.table("fair"), "y", True, ["s"])
    assert (found.accuracy, found.macro_f1) == (1, 1)
    assert (found.fpr_difference, found.fnr_difference) == (0, 0)
    assert found.demographic_parity is not None
    assert found.demographic_parity > 0.98
    assert found.strata[("a",)].rows == 1500


def test_enums_and_identifiers_are_texts_and_zoned_moments_numbers(
    engine: duckdb.DuckDBPyConnection,
) -> None:
    """These three types ended in an error of DuckDB's: none is a number."""
    typed = """SELECT s, t::ENUM('u', 'v') AS t, uuid() AS key,
        make_timestamptz(x * 86400000000) AS day, y FROM fair"""
    found = classify(engine.sql(typed), engine.sql(typed), "y", True, ["s"])
    assert (found.accuracy, found.macro_f1) == (1, 1)


def test_a_group_that_it_fails_shows(engine: duckdb.DuckDBPyConnection) -> None:
    found = classify(engine.table("fair"), engine.table("unfair"), "y", True, ["s"])
    assert found.accuracy == 0.75
    assert (found.fpr_difference, found.fnr_difference) == (1, 1)
    assert found.strata[("b",)].false_positive == 1


def test_what_cannot_be_learnt_says_so(engine: duckdb.DuckDBPyConnection) -> None:
    fair = engine.table("fair")
    with pytest.raises(DataError, match="one class"):
        classify(fair.filter("y"), fair, "y", True, ["s"])
    with pytest.raises(DataError, match="no rows to test"):
        classify(fair, fair.filter("x > 99"), "y", True, ["s"])
