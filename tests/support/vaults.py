"""What tests of the kernel build on: contracts by hand, an engine without noise, small vaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from sqlpriv.kernel.engine import CONFIG, FORGET
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.proof.sensitivity import joint_price
from sqlpriv.kernel.sql.cells import added_up
from sqlpriv.kernel.sql.queries import MACROS, Rendered, render, verifying
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget, Price, Rho
from sqlpriv.kernel.terms.contract import (
    Column,
    ColumnDomain,
    PrivacyUnit,
    TableContract,
    TableFacts,
)
from sqlpriv.kernel.terms.operations import type_of
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.kernel.vault import Kernel
from sqlpriv.session.access.owner_engine import OwnerEngine
from sqlpriv.session.declarations.declared_domains import domain_body

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
    return TableContract(table, made, owner, key=(unit,), facts=facts or TableFacts())


def decoded(
    engine: duckdb.DuckDBPyConnection, asked: Rendered, made_lists: set[str] | None = None
) -> list[np.ndarray[Any, Any]]:
    """The exact integers of rendered queries, of `algebra.shape(query)`, in the plainest way."""
    make_lists(engine, asked, made_lists)
    return decode_groups(asked, *run(engine, asked.sql))


def make_lists(
    engine: duckdb.DuckDBPyConnection, asked: Rendered, made_lists: set[str] | None = None
) -> None:
    """Makes the lists that a statement reads, of the tables as they are now.

    Args:
        engine: The engine that has the tables.
        asked: The statement.
        made_lists: The names of the lists that were made of the very same rows, which are left as
            they are, as the gate leaves them; new names are added. Without, all are made anew.
    """
    kept = set() if made_lists is None else made_lists
    if asked.lists and not kept:
        engine.execute(FORGET)
    for table, select in asked.lists.items():
        if table not in kept:
            engine.execute(f"CREATE TABLE {table} AS {select}")
            kept.add(table)


def run(engine: duckdb.DuckDBPyConnection, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
    """The names of the columns that SQL gives, and the rows."""
    groups = engine.execute(sql)
    return [column[0] for column in groups.description], groups.fetchall()


def decode_groups(
    asked: Rendered, names: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> list[np.ndarray[Any, Any]]:
    """The exact integers of rendered queries in what their SQL gave; see `decoded`."""
    queries = [*asked.values]
    keys = [*dict.fromkeys(key for query in queries for key in query.keys)]
    told = {key: fine for key in keys for fine in keys if key != fine and nested(key, fine)}
    numbers = {key: f"k{i}" for i, key in enumerate(key for key in keys if key not in told)}
    strata_keys = [*dict.fromkeys(key for query in queries for key in query.strata)]

    def level(key: a.Key, group: Mapping[str, int]) -> int:
        if key in numbers:
            return group[numbers[key]]
        fine, number = told[key], group[numbers[told[key]]]
        if number == len(fine.values):
            return len(key.values)
        return sum(number and edge <= fine.expr.edges[number - 1] for edge in key.expr.edges)

    answers = [np.zeros(a.shape(query), dtype=object) for query in queries]
    for group in (dict(zip(names, row, strict=True)) for row in rows):
        for query, answer in zip(queries, answers, strict=True):
            strata = [group[f"s{strata_keys.index(key)}"] for key in query.strata]
            sizes = [len(key.values) for key in (*query.strata, *query.keys)]
            at = [*strata, *(level(key, group) for key in query.keys)]
            if any(level == size for level, size in zip(at, sizes, strict=True)):
                continue  # of no cell
            stratum = int(np.ravel_multi_index(strata, sizes[: len(strata)])) if strata else 0
            if stratum in a.measured_strata(query):
                row = a.measured_strata(query).index(stratum)
                answer[(row, *at[len(strata) :])] += group[asked.values[query]]
    return answers


def nested(coarse: a.Key, fine: a.Key) -> bool:
    """Whether bins of one expression are put together of finer ones."""
    pair = (coarse.expr, fine.expr)
    if not all(isinstance(expr, a.Bin) for expr in pair) or pair[0].arg != pair[1].arg:
        return False
    all_bins = all(
        len(k.values) == len(k.expr.edges) + 1 and None not in k.values for k in (coarse, fine)
    )
    return all_bins and set(coarse.expr.edges) < set(fine.expr.edges)


class Engine:
    """DuckDB in memory with our macros: what the vault's reader is, without a file."""

    def __init__(self) -> None:
        # a second thread has nothing to do in tables of some rows, and takes a tenth more of time
        self.duckdb = duckdb.connect(config={**CONFIG, "threads": 1})
        self.duckdb.execute(MACROS)

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
        self,
        queries: Sequence[a.Query],
        made: TableContract,
        hash_key: int = 7,
        made_lists: set[str] | None = None,
    ) -> list[np.ndarray[Any, Any]]:
        """The exact integers of each query, of `algebra.shape(query)`, decoded independently.
        `made_lists`: see `make_lists`."""
        asked = render(queries, made, hash_key)
        make_lists(self.duckdb, asked, made_lists)
        names, rows = run(self.duckdb, asked.sql)
        found = decode_groups(asked, names, rows)
        columns = np.array(rows, object).reshape(-1, len(names)).T
        added = added_up(asked.values, dict(zip(names, columns, strict=True)))
        for query, values in zip(queries, found, strict=True):
            assert added[query] == values.ravel().tolist()
        return found

    def with_lists(self, asked: Rendered) -> Rendered:
        """Makes the lists that a statement reads, of the tables as they are now; returns it."""
        make_lists(self.duckdb, asked)
        return asked

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
    owner = OwnerEngine(path)
    try:
        owner.run(sql)
    finally:
        owner.release()


def ask(
    kernel: Kernel, *measurements: Measurement, limit: Price | None = None, table: str = "people"
) -> tuple[Release, ...]:
    """Buys measurements, within what is left of the budget unless another limit is given."""
    with allowed(kernel, limit, table) as allowance:
        return allowance.release(measurements)


def allowed(
    kernel: Kernel, limit: Price | None = None, table: str = "people", **how: bool
) -> Allowance:
    """An allowance for an analyst named ann; `how` are the last arguments of one."""
    found = kernel.contracts()[table]
    assert found.unit is not None
    allowance = limit if limit is not None else kernel.ledger.account(found.unit.table).left
    return Allowance(kernel, found, allowance, "ann", "SELECT …", **how)


def is_sealed(kernel: Kernel, measurement: Measurement) -> bool:
    """Whether a measurement of the people would be replayed at no cost."""
    snapshot, named = kernel.contracts()["people"].snapshot, a.query_hash(measurement.query)
    return bool(kernel.ledger.find_seals(snapshot, named, measurement.price))


def batch_price(asked: Sequence[Measurement], made: TableContract) -> Price:
    """What a batch costs that is all of a statement."""
    return joint_price(asked, made, {})[0]


def left(allowance: Any) -> Price:
    """What a statement may still spend."""
    return type(allowance._limit)(allowance._limit.nano - allowance.spent.nano)
