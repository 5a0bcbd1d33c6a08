"""How many rows a declaration leaves out, in words for the owner, who may see everything."""

from __future__ import annotations

from sqlpriv.kernel.sql.quoting import name
from sqlpriv.kernel.terms.contract import Categories, Column, Interval, Link, TableContract
from sqlpriv.session.access.owner_engine import OwnerEngine
from sqlpriv.system.count_text import count_text

MOST_LENGTHENED = 1.5
"""A bound that holds for all units is told where it is at most so many times the declared one, as
noise grows with it: nine of 150,000 customers made reads of TPC-H 3 to 8 times as long."""


def rows_outside(engine: OwnerEngine, contract: TableContract, column: Column) -> str:
    """Returns, in words for the owner, what a declared domain leaves out of the table's rows."""
    c, domain = name(column.name), column.domain
    if column.sql_type in ("DOUBLE", "FLOAT"):
        c = f"nullif({c}, 'nan')"  # it counts as NULL; to DuckDB it lies above all numbers
    match domain:
        case Categories(labels):
            labels_but_null = [v for v in labels if v is not None]
            # a list of parameters would be gone through for each row: minutes for 200,000 labels
            as_stored = "::UUID[]" if column.sql_type == "UUID" else ""  # all others compare
            listed = f"SELECT unnest(?{as_stored})" if labels_but_null else "NULL"
            test, nullable = f"{c} NOT IN ({listed})", None in labels
            values: list[object] = [labels_but_null] if labels_but_null else []
            consequence = "not listed, in no group of this column"
        case Interval(lower, upper, nullable):
            test, values = f"{c} < ? OR {c} > ?", [lower, upper]
            consequence = "beyond its ends, clamped to them"
        case _:
            return ""
    rows = f"SELECT {test} AS is_beyond, {c} IS NULL AS is_null FROM {name(contract.table)}"
    counts = "count(*) FILTER (is_beyond), count(*) FILTER (is_null)"
    ((beyond, null),) = engine.read_rows(f"SELECT {counts} FROM ({rows})", values)
    words = f"; {count_text(beyond, 'row')} {consequence}" if beyond else ""
    if null and not nullable:
        how = "list NULL, too" if isinstance(domain, Categories) else "add OR NULL"
        nulls = count_text(null, "row")
        words += f"; {nulls} with NULL, in no group of this column ({how}, to count them)"
    return words


def rows_beyond_bound(engine: OwnerEngine, contract: TableContract) -> str:
    """Returns, in words for the owner, how many rows of the table its bound leaves out.

    Of a unit, rows_per_unit rows in each of groups_per_unit strata count, so at most their product.
    Where a little larger bound holds for all units, it is told: no read has to enforce it.
    """
    unit = contract.unit
    if unit is None:
        return ""
    source, linked, at = f"{name(contract.table)} AS t0", contract, 0
    while link := linked.via:  # up to the table that names the unit
        child, at = f"t{at}.{name(link.column)}", at + 1
        source += f" JOIN {name(link.table)} AS t{at} ON {child} = t{at}.{name(link.parent)}"
        linked = contract.others[link.table.lower()]
    columns = [f"t{at}.{name(column)}" for column in (linked.unit or unit).columns]
    named = " AND ".join(f"{column} IS NOT NULL" for column in columns)
    most = unit.rows_per_unit * unit.groups_per_unit
    counts = f"SELECT count(*) AS n FROM {source} WHERE {named} GROUP BY {', '.join(columns)}"
    beyond = f"coalesce(sum(greatest(n - {most}, 0)), 0)::BIGINT"
    ((beyond_most, largest),) = engine.read_rows(f"SELECT {beyond}, max(n) FROM ({counts})")
    if not beyond_most:
        return ""
    kept = count_text(most, "row") if most > 1 else "one row"
    left_out = f"; {count_text(beyond_most, 'row')} beyond {kept} of a unit, left out"
    if unit.groups_per_unit > 1 or largest > MOST_LENGTHENED * most:
        return left_out
    return f"{left_out}; every read sorts all rows by unit: rows_per_unit = {largest} spares it"


def rows_of_no_parent(engine: OwnerEngine, contract: TableContract, link: Link) -> str:
    """Returns, in words for the owner, what becomes of rows that a link leads to no row of its
    parent, and whether the table is protected by the link.

    A link to a unit's key names the unit, whether its own table has a row of it or not. Over any
    other column it leads to a unit by way of a row there.
    """
    parent = contract.contract_of(link.table)
    if contract.unit is None:
        is_unique = link.parent.lower() in parent.unique
        missing = (
            f"{parent.table} protects nobody yet"
            if is_unique or parent.unit is None
            else f"{parent.table}.{link.parent} is neither PRIMARY KEY nor UNIQUE"
        )
        return f"; analysts are refused {contract.table}, because {missing}"
    pairs = [(f"mine.{name(here)}", f"theirs.{name(there)}") for here, there in link.pairs]
    named = " AND ".join(f"{here} IS NOT NULL" for here, _ in pairs)
    met = " AND ".join(f"{here} = {there}" for here, there in pairs)
    lone = f"NOT EXISTS (FROM {name(parent.table)} AS theirs WHERE {met})"
    counts = f"count(*) FILTER (NOT ({named})), count(*) FILTER ({named} AND {lone})"
    ((nobodys, orphans),) = engine.read_rows(f"SELECT {counts} FROM {name(contract.table)} AS mine")
    columns = ", ".join(here for here, _ in link.pairs)
    words = f"; {count_text(nobodys, 'row')} without {columns}, never read" if nobodys else ""
    if orphans:
        fate = "never read" if contract.via else f"each such {columns} is a unit of its own"
        words += f"; {count_text(orphans, 'row')} of nobody in {parent.table}: {fate}"
    return words
