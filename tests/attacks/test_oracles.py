"""What a statement does, apart from its noised numbers, is the same whoever is in the table.

Every attack runs against two vaults that differ in the target alone and compares all that an
attacker can see: the kind of error and its text, the shape, sigma, the price, the order of cells.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import duckdb
import pytest
from support.vaults import EXACT, Engine, ask, contract

from sqlpriv import errors
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.contract import Categories, Interval, Type, Value
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.kernel.vault import Kernel

MakeKernel = Callable[..., Kernel]
SCAN = a.Scan("people")
SCHEMA = "id INTEGER UNIQUE, b BIGINT, h HUGEINT, x DOUBLE, s VARCHAR, day DATE"
OTHERS = "(2, 1, 1, 1.0, 'a', DATE '2000-01-01'), (3, 2, 5, 2.0, 'b', DATE '2010-01-01')"
TARGET = "(1, 9223372036854775807, 170141183460469231731687303715884105727, 'nan', 'x', 'infinity')"
DOMAINS = {"x": Interval(0.0, 10.0), "s": Categories(("a", "b"))}


def lit(value: Value) -> a.Lit:
    types = {int: Type.INTEGER, float: Type.REAL, str: Type.TEXT}
    return a.Lit(value, types[type(value)])


def call(op: str, *args: a.Expr) -> a.Call:
    return a.Call(op, args)


ID, B, H, X = map(a.Col, ("id", "b", "h", "x"))
ORACLES: dict[str, tuple[str | None, a.Expr]] = {
    "division by zero": ("10 // (id - 1)", call("//", lit(10), call("-", ID, lit(1)))),
    "modulo zero": ("10 % (id - 1)", call("%", lit(10), call("-", ID, lit(1)))),
    "overflow of BIGINT": ("b + 1", call("+", B, lit(1))),
    "overflow of HUGEINT": ("h * 2", call("*", H, lit(2))),
    "a cast that does not fit": ("h::BIGINT", call("integer", H)),
    "only on the target": (
        "CASE WHEN id = 1 THEN b * b ELSE 0 END",
        a.Case(((call("=", ID, lit(1)), call("*", B, B)),), lit(0)),
    ),
    "the year of infinity": (None, call("year", a.Col("day"))),
    "a sum beyond HUGEINT": ("sum(h) OVER () + h", call("+", H, H)),
}


@pytest.fixture
def both(make_kernel: MakeKernel) -> tuple[Kernel, Kernel]:
    """With the target and without."""
    return tuple(
        make_kernel(
            f"CREATE TABLE people ({SCHEMA}); INSERT INTO people VALUES {rows}",
            f"v{i}.duckdb",
            domains=DOMAINS,
        )
        for i, rows in enumerate((f"{TARGET}, {OTHERS}", OTHERS))
    )


def seen(kernel: Kernel, *queries: a.Query) -> list[Any]:
    """All that an attacker sees but the noise."""
    found: list[Any] = []
    try:
        for r in ask(kernel, *(Measurement(query, Rho(10**14)) for query in queries)):
            found.append((r.values.shape, r.sigma, r.price, r.replayed))
    except errors.Error as error:
        found.append((type(error), str(error)))
    return [*found, kernel.ledger.account("people").spent, kernel.ledger.account("people").charges]


@pytest.mark.parametrize("oracle", ORACLES)
def test_errors_tell_nothing(both: tuple[Kernel, Kernel], oracle: str) -> None:
    sql, expr = ORACLES[oracle]
    if sql is not None:  # the twin: in plain SQL the target makes the statement fail
        for kernel, fails in zip(both, (True, False), strict=True):
            with duckdb.connect(str(kernel.vault), read_only=True) as plain:
                failed = True
                with suppress(duckdb.Error):
                    plain.execute(f"SELECT {sql} FROM people").fetchall()
                    failed = False
                assert failed is fails
    derived = a.Derive(SCAN, "made", expr)
    only = a.Where(SCAN, call(">", expr, lit(0)))
    queries: list[a.Query] = [
        a.Count(SCAN, of=expr),
        a.Count(only),
        a.Count(derived, (a.Key(expr, (0, 1, None)),)),
        a.Count(a.Where(derived, call("=", a.Col("made"), lit(3)))),
        a.Sum(SCAN, call("integer", expr), -(2**61) + 1, 2**61 - 1),
        a.Sum(SCAN, H, 0, 9),
        a.Sum(only, X, 0.0, 9.0),
        a.Count(SCAN, keys=(a.Key(a.Bin(expr, (0, 1)), (0, 1, 2)),)),
    ]
    with_target, without = (seen(kernel, *queries) for kernel in both)
    print(f"{oracle}: with {with_target}, without {without}")
    assert with_target == without
    assert len(with_target) == len(queries) + 2  # all were answered


def test_refusals_tell_nothing(both: tuple[Kernel, Kernel]) -> None:
    """Casts of text do not exist; comparing text with a number is refused before any row."""
    as_number = call("=", a.Col("s"), lit(1))
    queries = [a.Count(a.Where(SCAN, as_number)), a.Count(SCAN, of=call("integer", a.Col("s")))]
    for query in queries:
        with_target, without = (seen(kernel, query) for kernel in both)
        print(f"with {with_target}, without {without}")
        assert with_target == without
        assert with_target[0][0] is errors.Refused
        assert with_target[-1] == 0


def test_guessing_labels(both: tuple[Kernel, Kernel]) -> None:
    """Only the cells that were asked for come back, whatever labels the rows hold.

    The target's label 'x' is not declared: with the noise bought away its row is in no cell."""
    keys = {"declared": ("a", "b"), "guessed": ("a", "b", "y", "z"), "none": ("q",)}
    for how, labels in keys.items():
        query = a.Count(SCAN, (a.Key(a.Col("s"), labels),))
        assert seen(both[0], query) == seen(both[1], query)
        answers = [ask(k, Measurement(query, EXACT))[0].values.tolist() for k in both]
        print(f"{how}: {answers}")
        assert answers[0] == answers[1]


POISON = [math.nan, math.inf, -math.inf, 1e308, -1e308, None, 10.0, 0.0]


@pytest.mark.parametrize("poison", POISON)
def test_one_row_cannot_poison_a_sum(engine: Engine, poison: float | None) -> None:
    """Its sum moves by no more than half the interval; the twin in plain SQL becomes NaN or inf."""
    made = contract({"id": "INTEGER", "x": "DOUBLE"})
    query = a.Sum(SCAN, X, 0.0, 10.0)
    rows = [(i, float(i)) for i in range(2, 9)]
    engine.fill(made, rows)
    before = int(engine.exact([query], made)[0][0])
    engine.fill(made, [(1, poison), *rows])
    moved = int(engine.exact([query], made)[0][0]) - before
    print(f"{poison} moved the sum by {moved} of 2^40 steps")
    expected = 0 if poison is None or math.isnan(poison) else 2**40 if poison >= 10 else -(2**40)
    assert moved == expected
    plain = engine.duckdb.execute("SELECT sum(x) FROM people").fetchone()
    assert plain is not None
    assert poison is None or abs(poison) <= 10 or not abs(plain[0]) < 1e300


def test_extremes_do_not_overflow_a_sum(engine: Engine) -> None:
    made = contract({"id": "INTEGER", "h": "HUGEINT"})
    rows = [(i, 2**127 - 1) for i in range(100)] + [(i, -(2**127)) for i in range(100, 300)]
    engine.fill(made, rows)
    most = 2**62 - 1
    found = engine.exact([a.Sum(SCAN, H, -most, most)], made)[0][0]
    print(f"the sum is {found} half steps")
    assert found == -100 * 2 * most


def test_the_order_of_rows_is_not_in_a_sum(engine: Engine) -> None:
    """Adding doubles depends on their order, and the order on who is in the table."""
    made = contract({"id": "INTEGER", "x": "DOUBLE"})
    rows = [(i, x) for i, x in enumerate([1e16, 1.0, -1e16, 0.3, 7.7, 1e-9] * 50)]
    ours, plain = set(), set()
    for turn in range(5):
        engine.fill(made, random.Random(turn).sample(rows, len(rows)))
        ours.add(int(engine.exact([a.Sum(SCAN, X, -1e17, 1e17)], made)[0][0]))
        row = engine.duckdb.execute("SELECT sum(x) FROM people").fetchone()
        assert row is not None
        plain.add(row[0])
    print(f"plain SQL gave {len(plain)} sums, the kernel {len(ours)}")
    assert len(ours) == 1
    assert len(plain) > 1


@pytest.mark.parametrize("verified", [True, False])
def test_rows_of_nobody_are_never_read(make_kernel: MakeKernel, verified: bool) -> None:
    """UNIQUE allows many NULLs: rows of no unit, which no bound would hold back."""
    nobody = ", ".join(["(NULL, 1, 1, 5.0, 'a', NULL)"] * 50)
    kernel = make_kernel(
        f"CREATE TABLE people ({SCHEMA}); INSERT INTO people VALUES {OTHERS}, {nobody}",
        domains=DOMAINS,
    )
    if not verified:
        kernel.ledger.record_facts(kernel.contracts()["people"].snapshot, {})
    assert kernel.contracts()["people"].facts.bounded is verified
    key = a.Key(a.Col("s"), ("a", "b", None))
    queries = [a.Count(SCAN), a.Count(SCAN, (key,)), a.Count(SCAN, of=X)]
    found = [r.values.tolist() for r in ask(kernel, *(Measurement(q, EXACT) for q in queries))]
    print(f"counts {found}: the 50 rows of nobody are in none")
    assert found == [[2], [1, 1, 0], [2]]
