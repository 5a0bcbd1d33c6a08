"""Workload error over all k-way marginals, of the population and inside every stratum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import duckdb

from sqlpriv.errors import DataError
from sqlpriv.evaluate.levels import ask, stratum_labels
from sqlpriv.kernel.sql.quoting import name

SETS_A_PASS = 256
"""Grouping sets that one pass counts: bounds the memory of a workload over many columns."""
Stratum = tuple[str, ...]


@dataclass(frozen=True)
class WorkloadError:
    """The mean error of all `ways`-way marginals (Definition 14 with weights of one).

    Of one marginal it is the L1 distance between the two tables' frequencies: 0 where they agree,
    2 where they have no cell in common. Where both tables have as many rows, that is the
    definition's ||M(D) - M(D')||_1 / |D|.

    Attributes:
        ways: How many columns a marginal has.
        marginals: How many marginals the population's figure is the mean of.
        population: Over all columns, those of the strata among them.
        strata: By stratum, over the other columns, among its own rows. A stratum that only the
            real table has is 1 (nothing is told of it); one that only the synthetic table has has
            no truth to compare with and is None.
    """

    ways: int
    marginals: int
    population: float
    strata: Mapping[Stratum, float | None]


def workload_error(
    real: duckdb.DuckDBPyRelation,
    synthetic: duckdb.DuckDBPyRelation,
    columns: Sequence[str],
    strata: Sequence[str] = (),
    ways: int = 3,
) -> WorkloadError:
    """Returns the workload error of a synthetic table, from one pass of GROUPING SETS.

    Args:
        real: The private rows, its columns taken as levels (see `levels.discretised`).
        synthetic: Rows with the same columns; both are of one DuckDB connection.
        columns: Those beside the strata.
        strata: The columns that make the strata.
        ways: From 1 to the number of columns.

    Raises:
        DataError: There are fewer columns than `ways`, or no row.
    """
    return error_of_cells(joint_cells(real, synthetic, (*strata, *columns)), columns, strata, ways)


def joint_cells(
    real: duckdb.DuckDBPyRelation, synthetic: duckdb.DuckDBPyRelation, columns: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    """Returns the occupied cells of all columns: one row each, with `real_rows`, `made_rows`.

    Workloads over any of the columns, by any strata among them, are counted from these alone.
    """
    levels = ", ".join(map(name, columns))
    both = real.project(f"{levels}, 1 AS real_rows, 0 AS made_rows").union(
        synthetic.project(f"{levels}, 0 AS real_rows, 1 AS made_rows")
    )
    summed = f"{levels}, sum(real_rows) AS real_rows, sum(made_rows) AS made_rows"
    return both.aggregate(summed, levels).materialize()


def error_of_cells(
    cells: duckdb.DuckDBPyRelation, columns: Sequence[str], strata: Sequence[str], ways: int
) -> WorkloadError:
    """Returns what `workload_error` does, of cells that were counted before."""
    if not 1 <= ways <= len(columns) + len(strata):
        raise DataError(f"{ways}-way marginals need that many columns; there are fewer")
    others = "".join(f", {name(c)}" for c in columns)
    labelled = cells.project(
        f"{stratum_labels(cells, strata)}{others}, real_rows, made_rows".removeprefix(", ")
    )
    sizes = _sizes(labelled, strata)
    if not sum(sizes.values()):
        raise DataError("the table has no rows to compare with")
    workload = list(combinations((*strata, *columns), ways))
    (whole,) = _errors(labelled, workload, ()).values()
    inside: dict[Stratum, float | None] = {}
    if strata and len(columns) >= ways:
        own = _errors(labelled, list(combinations(columns, ways)), strata)
        inside = {s: own[s] if real_rows else None for s, real_rows in sizes.items()}
    return WorkloadError(ways, len(workload), whole, inside)


def _sizes(cells: duckdb.DuckDBPyRelation, strata: Sequence[str]) -> dict[Stratum, int]:
    """Returns how many real rows each stratum has that either table has."""
    keys = "".join(f"{name(c)}, " for c in strata)
    text = f"SELECT {keys}sum(real_rows) FROM cells" + (
        " GROUP BY ALL ORDER BY ALL" if keys else ""
    )
    return {tuple(stratum): int(n or 0) for *stratum, n in ask(cells, "cells", text)}


def _errors(
    cells: duckdb.DuckDBPyRelation, workload: Sequence[tuple[str, ...]], strata: Sequence[str]
) -> dict[Stratum, float]:
    """Returns the mean L1 distance of the workload's marginals, by stratum."""
    distances_by_stratum: dict[Stratum, list[float]] = {}
    keys = "".join(f"{name(c)}, " for c in strata)
    by = f" GROUP BY {keys.removesuffix(', ')}" if strata else ""
    joined = f"JOIN totals USING ({keys.removesuffix(', ')})" if strata else "CROSS JOIN totals"
    for at in range(0, len(workload), SETS_A_PASS):
        part = workload[at : at + SETS_A_PASS]
        marked = ", ".join(map(name, dict.fromkeys(chain.from_iterable(part))))
        sets = ", ".join(f"({', '.join(map(name, (*strata, *clique)))})" for clique in part)
        text = f"""
            WITH counted AS (
                SELECT {keys}GROUPING({marked}) AS clique, sum(real_rows) AS r, sum(made_rows) AS m
                FROM cells GROUP BY GROUPING SETS ({sets})),
            totals AS (
                SELECT {keys}greatest(sum(real_rows), 1) AS of_r,
                       greatest(sum(made_rows), 1) AS of_m
                FROM cells{by})
            SELECT {keys}sum(abs(r / of_r - m / of_m))
            FROM counted {joined} GROUP BY {keys}clique"""
        for *stratum, distance in ask(cells, "cells", text):
            distances_by_stratum.setdefault(tuple(stratum), []).append(float(distance))
    return {
        stratum: sum(distances) / len(distances)
        for stratum, distances in distances_by_stratum.items()
    }
