"""Columns that are drawn as differences, and published as sums: see `plan.difference_columns`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from sqlpriv.kernel.terms.contract import Column, Interval, Type
from sqlpriv.statements import quote_name, sql
from sqlpriv.statements import tree as t
from sqlpriv.system.quiet_engine import open_engine


@dataclass(frozen=True)
class Composed:
    """A column that is drawn as a difference.

    Args:
        column: As it is published.
        smaller: The published column that the difference is added to.
    """

    column: Column
    smaller: str


def add_differences(table: pa.Table, composed: Sequence[Composed]) -> pa.Table:
    """Returns the rows with sums in the place of differences, in types that hold any of them.

    Args:
        table: As drawn.
        composed: Each after the one that it is above, if it is above one.
    """
    if not composed:
        return table
    with open_engine() as engine:
        for one in composed:
            engine.register("drawn", table)
            name, below = quote_name(one.column.name), quote_name(one.smaller)
            match one.column.type:
                case Type.DATE:
                    total = f"CAST({below} + CAST({name} AS INTEGER) AS DATE)"
                case Type.TIMESTAMP:
                    total = f"{below} + to_seconds(CAST({name} AS BIGINT))"
                case Type.INTEGER:
                    total = f"CAST({below} AS BIGINT) + CAST({name} AS BIGINT)"
                case _:
                    total = f"{below} + {name}"
            sums = engine.sql(f"SELECT * REPLACE ({total} AS {name}) FROM drawn")
            table = sums.to_arrow_table()
            engine.unregister("drawn")
    return table


def outside_declared(composed: Sequence[Composed]) -> str:
    """Returns the predicate of rows in which a sum is outside its column's declared interval; ''
    without any."""
    parts = []
    for one in composed:
        domain, name = one.column.domain, quote_name(one.column.name)
        assert isinstance(domain, Interval)
        low, high = (sql(t.Literal(end)) for end in (domain.lower, domain.upper))
        parts.append(f"{name} < {low} OR {name} > {high}")
    return " OR ".join(parts)


def cast_sums(table: pa.Table, composed: Sequence[Composed]) -> pa.Table:
    """Returns the rows with sums of their columns' own types; all are in the declared intervals."""
    if not composed:
        return table
    casts = ", ".join(
        f"CAST({quote_name(one.column.name)} AS {one.column.sql_type})"
        f" AS {quote_name(one.column.name)}"
        for one in composed
    )
    with open_engine() as engine:
        engine.register("drawn", table)
        return engine.sql(f"SELECT * REPLACE ({casts}) FROM drawn").to_arrow_table()


def notes_of_sums(composed: Sequence[Composed]) -> tuple[str, ...]:
    """Returns a remark that says which columns are sums; none where no column is."""
    if not composed:
        return ()
    sums = ", ".join(f"{one.column.name} above {one.smaller}" for one in composed)
    return (f"every row keeps to the constraints: drawn as differences are {sums}",)
