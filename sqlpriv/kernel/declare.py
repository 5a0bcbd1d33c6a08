"""Declarations in the ledger, folded into the contracts that are in force.

The ledger keeps what the owner said, record by record; a record's meaning never changes. Folding is
a pure function of the records and of the catalog. Where the records leave something open the fold
takes the safe side: no domain, one row per unit, one stratum per unit, undeclared.

Bodies, by kind: key {column | null} · unit {on} · public {on} · link {column, table, parent} ·
unlink {column} · bound {rows_per_unit, groups_per_unit} · domain {column, type, labels | lower,
upper, nullable | null}. Values of domains are written by `encode`.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlpriv.errors import LedgerError
from sqlpriv.kernel.contract import (
    CatalogTable,
    Categories,
    Column,
    ColumnDomain,
    Interval,
    Link,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Value,
)
from sqlpriv.kernel.ledger import Record
from sqlpriv.kernel.render import ROW, name


def encode(value: Value) -> Any:
    """Returns a value as JSON that `decode` reads back, type and all."""
    if isinstance(value, dt.datetime):
        return {"timestamp": value.isoformat()}
    return {"date": value.isoformat()} if isinstance(value, dt.date) else value


def decode(stored: Any) -> Any:
    """Returns the value that `encode` wrote; LedgerError for anything else."""
    match stored:
        case {"timestamp": str(text)}:
            return dt.datetime.fromisoformat(text)
        case {"date": str(text)}:
            return dt.date.fromisoformat(text)
        case None | bool() | int() | float() | str():
            return stored
    raise LedgerError("the ledger holds a domain value of an unknown form")


def domain_body(column: str, domain: ColumnDomain | None) -> dict[str, Any]:
    """Returns the body of a `domain` record; None drops the domain."""
    match domain:
        case None:
            return {"column": column, "domain": None}
        case Categories(labels):
            return {"column": column, "domain": {"labels": [encode(v) for v in labels]}}
        case Interval(lower, upper, nullable):
            ends = {"lower": encode(lower), "upper": encode(upper), "nullable": nullable}
            return {"column": column, "domain": ends}


def fold(
    records: Iterable[Record],
    catalog: Sequence[CatalogTable],
    facts: Mapping[str, TableFacts],
    snapshot: int,
) -> dict[str, TableContract]:
    """Returns every table's contract, by lower-case name.

    Args:
        records: All declarations, oldest first; those of dropped tables are passed over.
        catalog: The tables that exist.
        facts: What was verified on this very snapshot, by lower-case table name.
        snapshot: Its number.
    """
    contracts = {
        t.name.lower(): TableContract(t.name, t.columns, snapshot=snapshot) for t in catalog
    }
    units: dict[str, bool] = {}
    bounds: dict[str, tuple[int, int]] = {}
    for record in records:
        table, body = record.subject, record.body
        if table not in contracts:
            continue
        match record.kind:
            case "unit":
                units[table] = bool(body["on"])
            case "bound":
                bounds[table] = (int(body["rows_per_unit"]), int(body["groups_per_unit"]))
            case _:
                contracts[table] = _applied(contracts[table], record.kind, body)
    own = {t for t, c in contracts.items() if units.get(t) and c.key and c.column(c.key)}
    for table, contract in contracts.items():
        m, g = bounds.get(table, (1, 1))
        unit = None
        if table in own and contract.key:
            unit = PrivacyUnit(table, contract.key.lower(), m, g)
        elif parent := _direct_parent(contract, contracts, own):
            unit = PrivacyUnit(parent[0], parent[1], m, g)
        known = facts.get(table, TableFacts())
        facts_now, public = (known, False) if unit else (TableFacts(), contract.public)
        contracts[table] = replace(contract, unit=unit, public=public, facts=facts_now)
    return contracts


def _applied(contract: TableContract, kind: str, body: Mapping[str, Any]) -> TableContract:
    match kind:
        case "key":
            return replace(contract, key=body["column"])
        case "public":
            return replace(contract, public=bool(body["on"]))
        case "link":
            kept = tuple(x for x in contract.links if x.column.lower() != body["column"].lower())
            link = Link(body["column"], body["table"].lower(), body["parent"])
            return replace(contract, links=(*kept, link))
        case "unlink":
            kept = tuple(x for x in contract.links if x.column.lower() != body["column"].lower())
            return replace(contract, links=kept)
        case "domain":
            return replace(contract, columns=_with_domain(contract.columns, body))
    raise LedgerError("the ledger holds a declaration of an unknown kind")


def _with_domain(columns: tuple[Column, ...], body: Mapping[str, Any]) -> tuple[Column, ...]:
    match body["domain"]:
        case None:
            domain: ColumnDomain | None = None
        case {"labels": labels}:
            domain = Categories(tuple(decode(v) for v in labels))
        case {"lower": lower, "upper": upper, "nullable": bool(nullable)}:
            domain = Interval(decode(lower), decode(upper), nullable)
        case _:
            raise LedgerError("the ledger holds a domain of an unknown form")
    named = body["column"].lower()
    return tuple(replace(c, domain=domain) if c.name.lower() == named else c for c in columns)


def _direct_parent(
    contract: TableContract, contracts: Mapping[str, TableContract], own: set[str]
) -> tuple[str, str] | None:
    """Returns (unit's table, our column that names the unit) along a link to a unit's key."""
    for link in contract.links:
        parent = contracts.get(link.table)
        names_key = parent is not None and (parent.key or "").lower() == link.parent.lower()
        if link.table in own and names_key and contract.column(link.column):
            return link.table, link.column.lower()
    return None


def verifying_sql(contract: TableContract, unit: PrivacyUnit) -> tuple[str, tuple[str, ...]]:
    """Returns a query of one row, and the columns that it tests.

    The row: whether no unit has more than `rows_per_unit` rows, then for each column with a
    declared domain whether it never varies inside a unit (NULL being a value of its own).
    """
    tested = tuple(c.name for c in contract.columns if c.domain is not None)
    parts = ["count(*) AS n"]
    for i, column in enumerate(tested):
        c = f"{ROW}.{name(column)}"
        steady = f"(count({c}) = 0 OR (count({c}) = count(*) AND min({c}) = max({c})))"
        parts.append(f"{steady} AS c{i}")
    table, key = f"main.{name(contract.table)} AS {ROW}", f"{ROW}.{name(unit.column)}"
    inner = f"SELECT {', '.join(parts)} FROM {table} WHERE {key} IS NOT NULL GROUP BY {key}"
    outer = [f"coalesce(max(n), 0) <= {unit.rows_per_unit}"]
    outer += [f"coalesce(bool_and(c{i}), true)" for i in range(len(tested))]
    return f"SELECT {', '.join(outer)} FROM ({inner})", tested
