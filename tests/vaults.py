"""What tests of the kernel build on: contracts by hand, an engine without noise, small vaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from sqlpriv.declarations import domain_body
from sqlpriv.kernel import algebra as a
from sqlpriv.kernel.budget import Budget, Price, Rho
from sqlpriv.kernel.contract import (
    Column,
    ColumnDomain,
    PrivacyUnit,
    TableContract,
    TableFacts,
)
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.operations import type_of
from sqlpriv.kernel.release import Measurement, Release
from sqlpriv.kernel.render import MACROS, parts, render, verifying
from sqlpriv.kernel.sensitivity import joint_price
from sqlpriv.kernel.vault import Kernel

PLENTY = Budget("people", Rho(10**18), 1e-9)
EXACT = Rho(10**15)
"""A count bought for rho = 10^6 has sigma < 0.001: noise other than 0 has probability below
exp(-500,000) a cell. So the gate's answers can be compared with plain SQL."""


def contract(
    columns: Mapping[str, str],
    domains: Mapping[str, ColumnDomain] | None = None,
    *,
    table: str = "people",
    unit: str = "id",
    m: int = 1,
    g: int = 1,
    facts: TableFacts | None = None,
) -> TableContract:
    """A table's contract from its columns' SQL types."""
    made = tuple(Column(c, type_of(t), t, (domains or {}).get(c)) for c, t in columns.items())
    owner = PrivacyUnit(table, unit, m, g)
    return TableContract(table, made, owner, key=unit, facts=facts or TableFacts())


class Engine:
    """DuckDB in memory with our macros: what the vault's reader is, without a file."""

    def __init__(self) -> None:
        self.duckdb = duckdb.connect()
        for macro in MACROS:
            self.duckdb.execute(macro)

    def fill(self, made: TableContract, rows: Sequence[Sequence[Any]]) -> None:
        """Makes the contract's table anew, of these rows."""
        table = '"' + made.table.replace('"', '""') + '"'
        types = ", ".join('"' + c.name.replace('"', '""') + f'" {c.sql_type}' for c in made.columns)
        self.duckdb.execute(f"CREATE OR REPLACE TABLE main.{table} ({types})")
        if rows:
            marks = ", ".join(["(" + ", ".join("?" * len(made.columns)) + ")"] * len(rows))
            flat = [value for row in rows for value in row]
            self.duckdb.execute(f"INSERT INTO main.{table} VALUES {marks}", flat)

    def exact(
        self, queries: Sequence[a.Query], made: TableContract, hash_key: int = 7
    ) -> list[np.ndarray[Any, Any]]:
        """The exact integers of each query, of `algebra.shape(query)`, decoded independently."""
        sql = render(queries, made, hash_key)
        answers = [np.zeros(a.shape(q), dtype=object) for q in queries]
        for part, cell, *values in self.duckdb.execute(sql).fetchall():
            for query, value in zip(parts(queries)[part], values, strict=False):
                sizes = [len(k.values) for k in query.keys]
                stratum, *levels = np.unravel_index(cell, (a.strata_count(query), *sizes))
                at = a.measured_strata(query).index(int(stratum))
                answers[queries.index(query)][(at, *map(int, levels))] = value
        return answers

    def facts(self, made: TableContract) -> TableFacts:
        """What the gate would find true of the rows, with the gate's own query."""
        assert made.unit is not None
        row = self.duckdb.execute(verifying(made)).fetchone()
        assert row is not None
        steady = {c.name.lower() for c, holds in zip(made.columns, row[1:], strict=True) if holds}
        return TableFacts(bool(row[0]), frozenset({*steady, made.unit.column}))


def declare(
    kernel: Kernel,
    key: str = "id",
    domains: Mapping[str, ColumnDomain] | None = None,
    *,
    table: str = "people",
    m: int = 1,
    g: int = 1,
    budget: Budget | None = PLENTY,
) -> None:
    """Says what an owner says of a table of units, and verifies it."""
    known = {column.lower(): domain_body(domain) for column, domain in (domains or {}).items()}
    kernel.ledger.declare(table, "owner", key=key, unit=True, bound=[m, g], domains=known)
    if budget is not None:
        kernel.ledger.set_budget(budget, "owner")
    kernel.verify()


def write(path: Path, sql: str) -> None:
    """Runs SQL on a vault as its owner does, and lets go of it."""
    with duckdb.connect(str(path)) as connection:
        connection.execute(sql)


def ask(
    kernel: Kernel, *measurements: Measurement, limit: Price | None = None, table: str = "people"
) -> tuple[Release, ...]:
    """Buys measurements, within what is left of the budget unless another limit is given."""
    with allowed(kernel, limit, table) as allowance:
        return allowance.release(measurements)


def allowed(kernel: Kernel, limit: Price | None = None, table: str = "people") -> Allowance:
    """An allowance for an analyst named ann."""
    found = kernel.contracts()[table]
    assert found.unit is not None
    allowance = limit if limit is not None else kernel.ledger.account(found.unit.table).left
    return Allowance(kernel, found, allowance, "ann", "SELECT …")


def batch_price(asked: Sequence[Measurement], made: TableContract) -> Price:
    """What a batch costs that is all of a statement."""
    return joint_price(asked, made, {})[0]


def left(allowance: Any) -> Price:
    """What a statement may still spend."""
    return type(allowance._limit)(allowance._limit.nano - allowance.spent.nano)
