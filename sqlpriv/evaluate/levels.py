"""Columns as levels: what marginals and strata are counted over, from public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import duckdb

from sqlpriv.kernel.sql.quoting import name
from sqlpriv.kernel.terms.contract import Column, Interval, Type
from sqlpriv.statements.printer import literal

BINS = 32
"""Bins of equal width for an interval that has more levels than this."""
NUMERIC = (Type.INTEGER, Type.REAL, Type.BOOLEAN)
"""Types of which a mean can be taken."""


def stratum_labels(relation: duckdb.DuckDBPyRelation, strata: Sequence[str]) -> str:
    """Returns SQL that gives each stratum column as text, NULL as the text 'NULL'."""
    assert set(strata) <= set(relation.columns)
    return ", ".join(f"coalesce(CAST({name(c)} AS VARCHAR), 'NULL') AS {name(c)}" for c in strata)


def ask(relation: duckdb.DuckDBPyRelation, view: str, text: str) -> list[tuple[Any, ...]]:
    """Returns the rows of a query over the relation, which the query calls `view`."""
    result = relation.query(view, text)
    assert result is not None  # a SELECT has rows
    return result.fetchall()


def discretise(
    relation: duckdb.DuckDBPyRelation, columns: Sequence[Column]
) -> duckdb.DuckDBPyRelation:
    """Returns the columns, those over wide or continuous intervals as the number of their bin.

    Args:
        relation: Rows that have these columns.
        columns: With their declared domains; one without a domain is left as it is.

    Returns:
        One column of each name. An interval of more than `BINS` integers, or of reals, becomes
        0 … BINS - 1 by equal width on the declared ends (values beyond are in the end bins); NULL
        stays NULL and counts as a level.
    """
    return relation.project(", ".join(f"{_level(c)} AS {name(c.name)}" for c in columns))


def _level(column: Column) -> str:
    c, domain = name(column.name), column.domain
    if not isinstance(domain, Interval):
        return c
    lower, upper = domain.lower, domain.upper
    if not isinstance(lower, int | float) or not isinstance(upper, int | float):
        low, high = (f"epoch({literal(end)})" for end in (lower, upper))
        value = f"epoch({c})" if column.type is Type.TIME else f"epoch(CAST({c} AS TIMESTAMP))"
    elif column.type is Type.INTEGER and upper - lower < BINS:
        return c
    else:
        low, high = f"{float(lower)!r}::DOUBLE", f"{float(upper)!r}::DOUBLE"
        value = f"CAST({c} AS DOUBLE)"
    part = f"({value} - {low}) / greatest({high} - {low}, 1e-300)"
    bin_ = f"CAST(least(greatest(floor({part} * {BINS}), 0), {BINS - 1}) AS TINYINT)"
    return f"CASE WHEN {c} IS NOT NULL THEN {bin_} END"
