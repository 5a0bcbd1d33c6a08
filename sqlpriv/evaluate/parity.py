"""Means by stratum in two tables, and how evenly the second one misses the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import duckdb
import numpy as np
from numpy.typing import NDArray

from sqlpriv.errors import DataError
from sqlpriv.evaluate.levels import ask, stratum_labels
from sqlpriv.evaluate.workload_error import Stratum
from sqlpriv.kernel.sql.quoting import name

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Means:
    """Sizes and means by stratum; the last row of each array is the population's.

    Attributes:
        columns: d names.
        strata: k labels: those that either table has, in order.
        rows: (k + 1, 2): rows of the real and of the synthetic table.
        real: (k + 1, d) true means; NaN where no value is.
        synthetic: (k + 1, d), in the same order.
    """

    columns: tuple[str, ...]
    strata: tuple[Stratum, ...]
    rows: NDArray[np.int64]
    real: Floats
    synthetic: Floats


@dataclass(frozen=True)
class Parity:
    """A parity error, and what it could not count.

    Attributes:
        error: The sum of Definition 10 over the strata and the population that have a truth.
        undefined: Positions whose truth is zero or missing: there is nothing to divide by, so they
            are left out of the sum. The population's position is k.
    """

    error: float
    undefined: tuple[int, ...]


def means(
    real: duckdb.DuckDBPyRelation,
    synthetic: duckdb.DuckDBPyRelation,
    columns: Sequence[str],
    strata: Sequence[str],
) -> Means:
    """Returns the means of the columns in every stratum of both tables, each in one pass.

    Args:
        real: The private rows.
        synthetic: Rows with the same columns; both are of one DuckDB connection.
        columns: Numeric ones, or BOOLEAN.
        strata: The columns that make the strata, at least one.

    Raises:
        DataError: No column of strata is given.
    """
    if not strata:
        raise DataError("means are compared by stratum: name at least one column of strata")
    tables = [_table(relation, columns, strata) for relation in (real, synthetic)]
    labels = tuple(sorted(set().union(*tables) - {()}))
    # (table, stratum, 1 + columns): a stratum that a table lacks has 0 rows there and no mean
    figures = np.full((2, len(labels) + 1, len(columns) + 1), np.nan)
    figures[:, :, 0] = 0
    for side, rows in enumerate(tables):
        for at, label in enumerate((*labels, ())):
            figures[side, at] = rows.get(label, figures[side, at])
    sizes = figures[:, :, 0].T.astype(np.int64)
    return Means(tuple(columns), labels, sizes, figures[0, :, 1:], figures[1, :, 1:])


def _table(
    relation: duckdb.DuckDBPyRelation, columns: Sequence[str], strata: Sequence[str]
) -> dict[Stratum, list[float]]:
    """Returns stratum → its number of rows, then the mean of each column (NaN without a value).

    The population's label is (), the empty one.
    """
    keys = ", ".join(map(name, strata))
    values = "".join(f", {name(c)}" for c in columns if c not in strata)
    averages = "".join(f", avg(CAST({name(c)} AS DOUBLE))" for c in columns)
    labelled = relation.project(f"{stratum_labels(relation, strata)}{values}")
    rows = ask(
        labelled,
        "labelled",
        f"SELECT GROUPING({keys}) > 0, {keys}, count(*){averages} FROM labelled"
        f" GROUP BY GROUPING SETS (({keys}), ())",
    )
    at = len(strata) + 1
    return {
        () if row[0] else tuple(row[1:at]): [np.nan if v is None else float(v) for v in row[at:]]
        for row in rows
    }


def relative_errors(truth: Floats, estimate: Floats) -> Floats:
    """Returns |truth - estimate| / |truth|, elementwise.

    The error is NaN where the truth is zero or missing. It is 1 where only the estimate is missing:
    a missing answer counts as far off as the answer 0.

    >>> relative_errors(np.array([4.0, 0.0, 5.0]), np.array([5.0, 1.0, np.nan])).tolist()
    [0.25, nan, 1.0]
    """
    error = np.full(truth.shape, np.nan)
    has_truth = ~np.isnan(truth) & (truth != 0)
    error[has_truth] = 1.0
    both = has_truth & ~np.isnan(estimate)
    error[both] = np.abs((truth[both] - estimate[both]) / truth[both])
    return error


def parity_error(truth: Floats, estimate: Floats, omega: float | None = None) -> Parity:
    """Returns the parity error of one statistic (Definition 10; the appendix's Definition 11).

    omega * |relative error of the population| + sum over the strata of |relative error|.

    Args:
        truth: (k + 1,): the k strata, then the population.
        estimate: (k + 1,), in the same order.
        omega: The population's weight; 1 / k if None, as the paper sets it.

    Raises:
        DataError: The arrays are not of one length, or hold no stratum.

    >>> parity_error(np.array([10.0, 20.0, 15.0]), np.array([11.0, 18.0, 15.0])).error
    0.2
    """
    if truth.shape != estimate.shape or truth.ndim != 1 or len(truth) < 2:
        raise DataError("parity error takes k strata and then the population, twice")
    errors = relative_errors(truth, estimate)
    weights = np.ones(len(errors))
    weights[-1] = 1 / (len(errors) - 1) if omega is None else omega
    undefined = tuple(int(i) for i in np.flatnonzero(np.isnan(errors)))
    return Parity(float(np.nansum(errors * weights)), undefined)


def max_disparity(truth: Floats, estimate: Floats) -> float:
    """Returns how much worse the worst-served stratum is than the best-served one.

    The largest less the smallest relative error of the strata's means; NaN where fewer than two
    strata have a truth to compare with.

    Args:
        truth: (k + 1,): the k strata, then the population, which is not looked at.
        estimate: (k + 1,), in the same order.
    """
    errors = relative_errors(truth[:-1], estimate[:-1])
    defined = errors[~np.isnan(errors)]
    return float(defined.max() - defined.min()) if len(defined) > 1 else float("nan")
