"""A table of made-up people, its contract, and a gate without noise: for tests of what is above.

The queries are rendered by the kernel itself and answered exactly, so that a plan's whole way from
SQL text to rows can be compared with SQL written by hand.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace

import duckdb
import numpy as np
import pyarrow as pa

from sqlpriv.answer.rows import Answer, answer, rehearse
from sqlpriv.dialect import read
from sqlpriv.kernel.proof.sensitivity import lattice_of, level_scores
from sqlpriv.kernel.sql.queries import MACROS, render
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Budget
from sqlpriv.kernel.terms.contract import (
    Categories,
    Column,
    Interval,
    PrivacyUnit,
    TableContract,
    TableFacts,
    Type,
)
from sqlpriv.kernel.terms.release import Measurement, Release
from sqlpriv.plan.expressions.facts.inference import infer_shape
from sqlpriv.plan.expressions.facts.value_facts import scope_of
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan
from sqlpriv.session.declarations.budgets import budget_at
from sqlpriv.statements.commands import Unanswerable
from sqlpriv.statements.tree import Select
from support.vaults import decoded

BUDGET = budget_at("people", 3, 1e-9)
PURE = budget_at("people", 3)
PEOPLE = TableContract(
    "people",
    (
        Column("id", Type.INTEGER, "BIGINT"),
        Column("sex", Type.TEXT, "VARCHAR", Categories(("F", "M")), required=True),
        Column("race", Type.INTEGER, "INTEGER", Interval(1, 3), required=True),
        Column("age", Type.INTEGER, "INTEGER", Interval(0, 99), required=True),
        Column("income", Type.REAL, "DOUBLE", Interval(0.0, 1000.0), required=True),
        Column("debt", Type.REAL, "DOUBLE", Interval(-500.0, 500.0), required=True),
        Column("hours", Type.INTEGER, "INTEGER", Interval(0, 80, nullable=True)),
        Column("region", Type.TEXT, "VARCHAR", Categories(("N", "S", None))),
        Column(
            "born",
            Type.DATE,
            "DATE",
            Interval(dt.date(1920, 1, 1), dt.date(2019, 12, 31)),
            required=True,
        ),
        Column("employed", Type.BOOLEAN, "BOOLEAN"),
        Column("wealth", Type.REAL, "DOUBLE"),
        Column("tips", Type.REAL, "DOUBLE", Interval(0.0, 50.0)),
        Column("note", Type.TEXT, "VARCHAR"),
        Column("tags", None, "VARCHAR[]"),
    ),
    unit=PrivacyUnit("people", "id"),
    facts=TableFacts(bounded=True),
)
_ROWS = """
CREATE TABLE people AS
SELECT i AS id,
    CASE WHEN i % 3 = 0 THEN 'F' ELSE 'M' END AS sex,
    (1 + i // 3 % 3)::INTEGER AS race,
    (i * 37 % 100)::INTEGER AS age,
    (i * 7919 % 100000 / 100)::DOUBLE AS income,
    (i * 104729 % 1000 - 500)::DOUBLE AS debt,
    CASE WHEN i % 5 <> 0 THEN (i * 13 % 81)::INTEGER END AS hours,
    CASE i % 4 WHEN 0 THEN 'N' WHEN 1 THEN 'S' END AS region,
    DATE '1920-01-01' + (i * 89 % 36500)::INTEGER AS born,
    i % 7 < 3 AS employed,
    (i * 31 % 977)::DOUBLE AS wealth,
    CASE i % 6 WHEN 0 THEN NULL WHEN 1 THEN 'NaN'::DOUBLE ELSE (i * 11 % 50)::DOUBLE END AS tips,
    'n' || i AS note,
    ['t'] AS tags
FROM range(1, 601) AS t(i)
"""


def engine() -> duckdb.DuckDBPyConnection:
    """Returns a DuckDB that holds the people and the kernel's macros."""
    connection = duckdb.connect()
    connection.execute(_ROWS)
    connection.execute(MACROS)
    return connection


def select(sql: str) -> Select:
    """Returns the statement, which is a SELECT in private form."""
    (statement,) = read(sql)
    if isinstance(statement, Unanswerable):
        raise statement.why
    assert isinstance(statement, Select), statement
    return statement


def planned(sql: str, budget: Budget = BUDGET, contract: TableContract = PEOPLE) -> Plan:
    """Returns the plan of a statement at a session price of 0.5."""
    return plan(select(sql), contract, budget, 0.5)


def exact(
    connection: duckdb.DuckDBPyConnection,
    measurements: Sequence[Measurement],
    contract: TableContract = PEOPLE,
) -> tuple[Release, ...]:
    """Answers measurements without noise; sigma says 1 all the same, so that widths show."""
    found = []
    for number, measurement in enumerate(measurements):
        query = measurement.query
        if isinstance(query, a.Level):
            (counts,) = exact(
                connection, [Measurement(query.histogram, measurement.price)], contract
            )
            scores = level_scores(query, counts.values.astype(int).ravel().tolist())
            best = np.array(scores).argmax(axis=1).astype(float).reshape(a.shape(query))
            found.append(Release(number, query, best, 0.0, measurement.price))
            continue
        of = infer_shape(query.of, scope_of(contract)).type if query.of is not None else None
        step = float(lattice_of(query, of).step)
        (whole,) = decoded(connection, render([query], contract, 0))
        values = whole.astype(float) * step
        found.append(Release(number, query, values, 1.0, measurement.price))
    return tuple(found)


def noised(
    releases: Sequence[Release], sigma: Sequence[float], rng: np.random.Generator
) -> tuple[Release, ...]:
    """Returns the releases with Gaussian noise of the given standard deviations added."""
    return tuple(
        replace(r, values=r.values + rng.normal(0, s, r.values.shape), sigma=s)
        for r, s in zip(releases, sigma, strict=True)
    )


def rows(
    connection: duckdb.DuckDBPyConnection, sql: str, weights: pa.Table | None = None
) -> Answer:
    """Runs a statement all the way without noise."""
    found = planned(sql)
    rehearse(found, weights)
    return answer(found, exact(connection, found.measurements), weights)
