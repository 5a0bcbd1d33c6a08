"""Random queries over random small databases: right without noise, and no unit moves them too far.

Each seed makes a query, as text. Where no bound cuts, what is planned, run without noise and put
together is what plain DuckDB says of the same text. Where bounds are tight and rows are dirty (rows
of nobody, orphans, values beyond their domains), a database that lacks one unit answers each
measurement within the sensitivity that is claimed for it.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import replace
from typing import Any

import duckdb
import numpy as np
import pytest
from support.vaults import decoded

from sqlpriv.answer.rows import answer
from sqlpriv.dialect import read
from sqlpriv.kernel.checked import check_expressions
from sqlpriv.kernel.proof.sensitivity import bound_of, lattice_of, sensitivity
from sqlpriv.kernel.sql.queries import MACROS, render
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import (
    UNDECLARED,
    Categories,
    Column,
    Interval,
    TableContract,
    contracts_in_force,
)
from sqlpriv.kernel.terms.operations import type_of
from sqlpriv.kernel.terms.release import Release
from sqlpriv.plan.plan import Plan
from sqlpriv.plan.planner import plan
from sqlpriv.plan.relations import correlated
from sqlpriv.session.declarations.budgets import budget_at
from sqlpriv.session.declarations.declared_domains import domain_body
from sqlpriv.statements.tree import Select

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")

FEW, MANY = 300, 10_000
BUDGET = budget_at("people", 3, 1e-9)
TABLES = {
    "people": {"id": "INTEGER", "sex": "VARCHAR", "age": "INTEGER"},
    "orders": {"num": "INTEGER", "person": "INTEGER", "shop": "INTEGER", "x": "DOUBLE"},
    "items": {"ord": "INTEGER", "kind": "VARCHAR", "y": "INTEGER"},
    "shops": {"shop": "INTEGER", "town": "VARCHAR"},
}
DOMAINS = {
    "people": {"sex": (Categories(("f", "m")), True), "age": (Interval(0, 4), True)},
    "orders": {"shop": (Interval(0, 3), True), "x": (Interval(0.0, 1.0), False)},
    "items": {"kind": (Categories(("ab", "b", None)), False), "y": (Interval(0, 5, True), False)},
    "shops": {"town": (Categories(("s", "t")), True)},
}
DECLARED: dict[str, dict[str, Any]] = {
    "people": {"key": "id", "unit": True},
    "orders": {"links": [["person", "people", "id"]]},
    "items": {"links": [["ord", "orders", "num"]]},
    "shops": {"public": True},
}
UNIQUE = {"people": {"id"}, "orders": {"num"}}
Rows = dict[str, list[tuple[Any, ...]]]


def contracts(m: int, g: int) -> dict[str, TableContract]:
    catalog, bodies = [], {}
    for table, columns in TABLES.items():
        made = tuple(Column(c, type_of(t), t) for c, t in columns.items())
        catalog.append(TableContract(table, made, unique=frozenset(UNIQUE.get(table, ()))))
        domains = {c: domain_body(*domain) for c, domain in DOMAINS[table].items()}
        bound = None if table == "people" else [m, g]
        bodies[table] = {**UNDECLARED, **DECLARED[table], "domains": domains, "bound": bound}
    return contracts_in_force(catalog, json.loads(json.dumps(bodies)), {}, 1)


LOOSE, TIGHT = contracts(40, 1), contracts(2, 2)

SUBQUERY = (
    "(SELECT person, COUNT(*) AS n, SUM(x) AS spent, MAX(shop) AS top FROM orders GROUP BY person)"
)
FROMS = {
    "people p": "p",
    "orders o": "o",
    "items i": "i",
    "people p JOIN orders o ON p.id = o.person": "po",
    "people p LEFT JOIN orders o ON p.id = o.person AND o.shop > 0": "po",
    "orders o LEFT JOIN items i ON o.num = i.ord": "oi",
    "items i, orders o, people p WHERE i.ord = o.num AND p.id = o.person AND": "iop",
    "shops s JOIN orders o ON o.shop = s.shop": "os",
    "orders o LEFT JOIN shops s USING (shop)": "os",
    f"people p LEFT JOIN {SUBQUERY} q ON q.person = p.id": "pq",
    f"{SUBQUERY} q": "q",
    "(SELECT shop AS k, x AS v FROM orders UNION ALL SELECT y, 0.5 FROM items) u": "u",
    "(SELECT num, shop, x * 2 AS z FROM orders WHERE shop > 0) d": "d",
    "(WITH w AS (SELECT * FROM orders) SELECT w.shop AS k, i.y AS v FROM w JOIN items i"
    " ON w.num = i.ord) u": "u",
}
KEYS = {
    "p": ["p.sex", "p.age"],
    "o": ["o.shop"],
    "i": ["i.kind", "i.y"],
    "s": ["s.town"],
    "q": ["q.n", "q.top"],
    "u": ["u.k"],
    "d": ["d.shop"],
}
NUMBERS = {
    "p": ["p.age"],
    "o": ["o.x", "o.shop"],
    "i": ["i.y"],
    "s": [],
    "q": ["q.n", "q.spent"],
    "u": ["u.v"],
    "d": ["d.z", "d.shop * 2 + 1"],
}
UNITS = {"p": "p.id", "o": "o.person", "i": "i.ord", "q": "q.person"}
TESTS = {
    "p": [
        "p.sex = 'f'",
        "p.age BETWEEN 1 AND 3",
        "NOT p.age IN (0, 2)",
        "EXISTS (SELECT * FROM orders e WHERE e.person = p.id AND e.shop = p.age)",
        "p.id NOT IN (SELECT person FROM orders WHERE x > 0.5)",
        "(SELECT COUNT(*) FROM orders e WHERE e.person = p.id AND e.shop > 0) > 1",
        "p.age = 2 OR NOT EXISTS (SELECT * FROM orders e WHERE e.person = p.id)",
        "p.sex = 'f' OR p.id IN (SELECT person FROM orders WHERE shop = 1)",
    ],
    "o": [
        "o.shop < 3",
        "o.x IS NOT NULL",
        "o.x > 0.25 OR o.shop = 0",
        "coalesce(o.x, 1) < 0.8",
        "EXISTS (SELECT * FROM items e WHERE e.ord = o.num AND e.y > o.shop)",
        "NOT EXISTS (SELECT * FROM items e WHERE e.ord = o.num)",
        "o.shop IN (SELECT shop FROM shops WHERE town = 's')",
        "o.shop NOT IN (SELECT shop FROM shops WHERE town LIKE 't%')",
        "o.x >= (SELECT AVG(e.x) FROM orders e WHERE e.person = o.person)",
        "o.shop = 0 OR o.num IN (SELECT ord FROM items WHERE y > 1)",
        "(SELECT MAX(e.y) + COUNT(*) FROM items e WHERE e.ord = o.num) > o.shop",
    ],
    "i": [
        "i.kind LIKE '%b'",
        "i.kind ILIKE 'A_'",
        "i.y + 1 > 2",
        "i.y IS NULL",
        "i.ord IN (SELECT num FROM orders WHERE shop > 1)",
        "CASE WHEN i.kind = 'b' THEN i.y = 1 ELSE TRUE END",
    ],
    "s": ["s.town = 's'"],
    "q": ["q.n > 1", "q.spent < 1.5"],
    "u": ["u.k <> 2", "u.v IS NOT NULL"],
    "d": ["d.z > 0.5", "d.shop = 2"],
}


def query(rng: random.Random) -> tuple[str, int]:
    """A query and the number of its keys."""
    source, tables = rng.choice(list(FROMS.items()))
    keys = [k for t in tables for k in KEYS[t]]
    keys = rng.sample(keys, min(len(keys), rng.choice([0, 0, 1, 1, 2])))
    numbers = [n for t in tables for n in NUMBERS[t]]
    tests = [x for t in tables for x in TESTS[t]]
    picked = ["COUNT(*) AS a0"]
    for number in range(rng.choice([0, 1, 2])):
        of, test = rng.choice(numbers), rng.choice([x for x in tests if "SELECT" not in x])
        unit = [UNITS[t] for t in tables if t in UNITS]
        picked.append(
            rng.choice(
                [
                    f"COUNT({of})",
                    f"SUM({of})",
                    f"AVG({of})",
                    f"SUM(CASE WHEN {test} THEN {of} END)",
                    f"COUNT(*) FILTER (WHERE {test})",
                    f"SUM({of} * (1 - {of}))",
                    f"COUNT(DISTINCT {rng.choice(unit)})" if unit else "COUNT(*)",
                    f"COUNT(DISTINCT {of})",
                ]
            )
            + f" AS a{number + 1}"
        )
    kept = rng.sample(tests, min(len(tests), rng.choice([0, 1, 1, 2])))
    where = " AND ".join(f"({test})" for test in kept) or "TRUE"
    source = source if " WHERE i.ord" in source else f"{source} WHERE"
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    if len(keys) == 2 and rng.random() < 0.4:
        x, y = keys
        grouped = " GROUP BY " + rng.choice(
            [
                f"ROLLUP ({x}, {y})",
                f"CUBE ({x}, {y})",
                f"{x}, CUBE ({y})",
                f"GROUPING SETS (({x}), ({y}))",
            ]
        )
        keys.append(f"GROUPING({x}, {y})")
    return f"SELECT {', '.join([*keys, *picked])} FROM {source} {where}{grouped}", len(keys)


def database(rng: random.Random, dirty: bool) -> Rows:
    """Random rows: within their domains and somebody's, unless they may be dirty."""
    extra: list[Any] = [None] if dirty else []
    people = [(i, rng.choice("fm"), rng.randint(0, 9 if dirty else 4)) for i in range(1, 6)]
    orders = [
        (
            n,
            rng.choice([1, 1, 2, 3, 4, *extra]),
            rng.randint(0, 3),
            rng.choice([None, 0.0, 0.25, 0.5, 1.0, *([9.0, math.nan] if dirty else [])]),
        )
        for n in range(rng.randint(0, 9))
    ]
    items = [
        (
            rng.choice([*range(len(orders)), *([77, None] if dirty else [])]),
            rng.choice(["ab", "b", None]),
            rng.choice([None, 0, 1, 2, 5]),
        )
        for _ in range(rng.randint(0, 12))
        if orders or dirty
    ]
    shops = [(n % 4, rng.choice("st")) for n in range(rng.randint(0, 5))]
    return {"people": people, "orders": orders, "items": items, "shops": shops}


def fill(engine: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    for table, columns in TABLES.items():
        types = ", ".join(f"{c} {t}" for c, t in columns.items())
        engine.execute(f"CREATE OR REPLACE TABLE {table} ({types})")
        if rows[table]:
            marks = ", ".join([f"({', '.join('?' * len(columns))})"] * len(rows[table]))
            flat = [value for row in rows[table] for value in row]
            engine.execute(f"INSERT INTO {table} VALUES {marks}", flat)


def planned(text: str, made: dict[str, TableContract]) -> Plan:
    (select,) = read(text)
    assert isinstance(select, Select), text
    of = "people" if select.source else select.table  # any private table of a join
    return plan(correlated.join_correlated(select, made), made[of], BUDGET, 1.0)


def exact(
    engine: duckdb.DuckDBPyConnection, query: a.Query, made: TableContract, there: set[str]
) -> tuple[np.ndarray[Any, Any], int, float]:
    """The integers of a query, the steps of its lattice and their length; `there` as in
    `vaults.make_lists`."""
    lattice = lattice_of(query, check_expressions(query, Scope(query.source, made)))
    (values,) = decoded(engine, render([query], made, 7), there)
    return values, lattice.steps, float(lattice.step)


def ours(engine: duckdb.DuckDBPyConnection, found: Plan, made: TableContract) -> list[Any]:
    releases, there = [], set[str]()
    for number, m in enumerate(found.measurements):
        values, _, step = exact(engine, m.query, made, there)
        floats = np.array(values * step, dtype="<f8").reshape(values.shape)
        sigma = 1e-9  # without noise every mean is known, else one of few rows is NULL
        releases.append(Release(number, m.query, floats, sigma, m.price))
    return [tuple(row.values()) for row in answer(found, releases, None).table.to_pylist()]


def same(x: Any, y: Any) -> bool:
    return (abs(x or 0) < 1e-9 and not y) or (
        x is not None and y is not None and math.isclose(x, y, rel_tol=1e-6, abs_tol=1e-6)
    )


def check_right(engine: duckdb.DuckDBPyConnection, seed: int) -> None:
    rng = random.Random(seed)
    text, keys = query(rng)
    fill(engine, database(rng, dirty=False))
    mine = {row[:keys]: row[keys:] for row in ours(engine, planned(text, LOOSE), LOOSE["people"])}
    theirs = {row[:keys]: row[keys:] for row in engine.execute(text).fetchall()}
    assert set(theirs) <= set(mine), (text, theirs, mine)
    for key, row in mine.items():  # a declared cell without rows counts 0
        its = theirs.get(key, (0,) * len(row))
        fits = [same(x, y) for x, y in zip(row, its, strict=True)]
        assert all(fits) or (key not in theirs and row[0] == 0), (text, key, row, its)


def check_moved(engine: duckdb.DuckDBPyConnection, seed: int) -> None:
    rng = random.Random(seed)
    text, _ = query(rng)
    rows = database(rng, dirty=True)
    person = rng.choice([1, 1, 2, 3])
    gone = {n for n, owner, *_ in rows["orders"] if owner == person}
    less = {
        **rows,
        "people": [r for r in rows["people"] if r[0] != person],
        "orders": [r for r in rows["orders"] if r[1] != person],
        "items": [r for r in rows["items"] if r[0] not in gone],
    }
    made, found = TIGHT["people"], planned(text, TIGHT)
    fill(engine, rows)
    there: set[str] = set()
    whole = [exact(engine, m.query, made, there) for m in found.measurements]
    fill(engine, less)
    there.clear()
    for m, (with_, steps, _) in zip(found.measurements, whole, strict=True):
        without, _, _ = exact(engine, m.query, made, there)
        change = [abs(int(z)) for z in (with_ - without).ravel()]
        moved = sensitivity(m.query, bound_of(m.query.source, made), steps)
        assert sum(change) <= moved.l1, text
        assert sum(z * z for z in change) <= moved.l2_squared, text


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect(config={"threads": 1})
    made.execute(MACROS)
    return made


@pytest.mark.parametrize("start", range(0, FEW, 50))
def test_random_queries_are_right_and_move_no_further_than_claimed(
    engine: duckdb.DuckDBPyConnection, start: int
) -> None:
    for seed in range(start, start + 50):
        (check_right if seed % 2 else check_moved)(engine, seed)


@pytest.mark.slow
@pytest.mark.parametrize("start", range(FEW, FEW + MANY, 500))
def test_many_random_queries(engine: duckdb.DuckDBPyConnection, start: int) -> None:
    for seed in range(start, start + 500):
        check_right(engine, seed)
        check_moved(engine, seed)


def test_the_checks_can_fail(engine: duckdb.DuckDBPyConnection) -> None:
    """Twins: a join that says too little is another query; a bound of 1 claims too little."""
    fill(
        engine,
        {
            "people": [(1, "f", 1)],
            "orders": [(n, 1, 1, 0.5) for n in range(3)],
            "items": [],
            "shops": [],
        },
    )
    text = "SELECT COUNT(*) FROM orders"
    (row,) = ours(engine, planned(text, TIGHT), TIGHT["people"])
    assert row[0] == 2  # of 3: the bound cuts, so equality with plain SQL fails here
    made = TIGHT["people"]
    values, _, _ = exact(engine, planned(text, TIGHT).measurements[0].query, made, set())
    assert values.sum() > replace(bound_of(a.Scan("orders"), made), rows_per_unit=1).rows_per_unit
