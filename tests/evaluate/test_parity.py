"""Parity error and disparity, against the authors' numbers and by hand."""

from __future__ import annotations

import csv

import duckdb
import numpy as np
import pytest
from support.places import SHARED

from sqlpriv.errors import DataError
from sqlpriv.evaluate.parity import max_disparity, means, parity_error, relative_errors

REFERENCE = SHARED / "reference"
NAN = float("nan")


def reference(file: str) -> list[dict[str, str]]:
    if not (REFERENCE / file).exists():
        pytest.skip("the authors' numbers of ../shared/reference are not here")
    with (REFERENCE / file).open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_the_authors_parity_errors_are_reproduced() -> None:
    strata: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in reference("ny2018_strata_true_means_and_sizes.csv"):
        key = (row["combination"], row["column_name"])
        strata.setdefault(key, []).append((float(row["true_mean"]), float(row["coinpress_mean"])))
    compared = 0
    for row in reference("mean_estimation_summary.csv"):
        known = strata[row["combination"], row["column"]]
        if len(known) != int(row["k"]):
            continue
        truth, estimate = np.array(
            [*known, (float(row["true_mean"]), float(row["strat_coinpress"]))]
        ).T
        found = parity_error(truth, estimate)
        assert found.undefined == ()
        assert found.error == pytest.approx(float(row["parity_error_strat_def10"]), rel=1e-6)
        compared += 1
    assert compared >= 100


def test_the_population_weighs_one_kth_or_what_is_said() -> None:
    truth, estimate = np.array([10.0, 20.0, 16.0]), np.array([11.0, 15.0, 20.0])
    assert parity_error(truth, estimate).error == pytest.approx(0.1 + 0.25 + 0.25 / 2)
    assert parity_error(truth, estimate, omega=2).error == pytest.approx(0.1 + 0.25 + 0.25 * 2)
    with pytest.raises(DataError, match="strata"):
        parity_error(truth[:1], estimate[:1])


def test_zero_and_missing_truths_are_left_out_and_named_missing_answers_count_as_one() -> None:
    truth, estimate = np.array([0.0, NAN, 4.0, 5.0, 2.0]), np.array([1.0, 1.0, NAN, 5.0, 2.0])
    found = parity_error(truth, estimate)
    assert found.undefined == (0, 1)
    assert found.error == 1.0
    assert np.array_equal(relative_errors(truth, estimate), [NAN, NAN, 1, 0, 0], equal_nan=True)


def test_disparity_is_between_the_worst_and_the_best_served_stratum() -> None:
    truth, estimate = np.array([10.0, 20.0, 0.0, 15.0]), np.array([11.0, 20.0, 3.0, 99.0])
    assert max_disparity(truth, estimate) == pytest.approx(0.1)
    assert np.isnan(max_disparity(truth[[0, 2, 3]], estimate[[0, 2, 3]]))


def test_means_align_strata_by_label_and_keep_those_that_one_table_lacks() -> None:
    engine = duckdb.connect()
    real = engine.sql(
        "SELECT * FROM (VALUES (2, 1, TRUE), (2, 3, FALSE), (NULL, 8, NULL)) v(s, x, y)"
    )
    made = engine.sql("SELECT * FROM (VALUES (5, 7, TRUE), (2, 4, TRUE)) v(s, x, y)")
    found = means(real, made, ["x", "y"], ["s"])
    assert found.strata == (("2",), ("5",), ("NULL",))
    assert found.rows.tolist() == [[2, 1], [0, 1], [1, 0], [3, 2]]
    assert np.array_equal(found.real, [[2, 0.5], [NAN, NAN], [8, NAN], [4, 0.5]], equal_nan=True)
    assert np.array_equal(found.synthetic, [[4, 1], [7, 1], [NAN, NAN], [5.5, 1]], equal_nan=True)
