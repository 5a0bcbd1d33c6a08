"""DECIMALs are compared as stored, and that is what their doubles say."""

from __future__ import annotations

import math
import random
from decimal import Decimal

import duckdb
import pytest

from sqlpriv.kernel.sql.queries import MACROS
from sqlpriv.kernel.sql.relations import Scope
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Column, Interval, TableContract, Type
from sqlpriv.kernel.terms.operations import COMPARISONS

TYPES = [(4, 1), (15, 2), (15, 0), (15, 15), (18, 2), (28, 4)]


def written(test: a.Expr, sql_type: str) -> str:
    """Returns a comparison of the column x as the kernel writes it."""
    column = Column("x", Type.REAL, sql_type, Interval(-1, 1))
    return Scope(a.Scan("t"), TableContract("t", (column,), public=True), part=True).value(test)


def numbers_of(digits: int, scale: int) -> list[Decimal]:
    """Returns DECIMALs: the ends of the type, small ones, and neighbours at random."""
    draw, end = random.Random(digits * 100 + scale), 10**digits - 1
    at = [0, 1, 5, end - 1, *(draw.randrange(end - 1) for _ in range(2))]
    return [
        Decimal(sign * (n + step)).scaleb(-scale) for n in at for step in (0, 1) for sign in (1, -1)
    ]


@pytest.mark.parametrize(("digits", "scale"), TYPES)
def test_a_decimal_compares_as_its_double_does(digits: int, scale: int) -> None:
    """With the double of each, the doubles next to that, and a number beyond the type."""
    sql_type, values = f"DECIMAL({digits},{scale})", numbers_of(digits, scale)
    engine = duckdb.connect()
    engine.execute(f"CREATE TABLE t (x {sql_type}); {MACROS}")
    rows = ", ".join(f"('{value:f}'::{sql_type})" for value in values)
    engine.execute(f"INSERT INTO t VALUES {rows}, (NULL)")
    ends = {
        near
        for end in map(float, values)
        for near in (end, math.nextafter(end, math.inf), math.nextafter(end, -math.inf))
    }
    tests = [
        (op, end) for op in COMPARISONS for end in [*sorted(ends), -0.0, 10.0 ** (digits - scale)]
    ]
    differences = [
        f"count(*) FILTER ({written(a.Call(op, (a.Col('x'), a.Lit(end, Type.REAL))), sql_type)}"
        f" IS DISTINCT FROM (CAST(x AS DOUBLE) {op} {end!r}::DOUBLE))"
        for op, end in tests
    ]
    counts = engine.execute(f"SELECT {', '.join(differences)} FROM t AS sqlpriv_row").fetchone()
    assert counts is not None
    assert [test for test, n in zip(tests, counts, strict=True) if n] == []


def test_a_literal_with_the_columns_digits_is_compared_as_stored() -> None:
    less = a.Call("<", (a.Col("x"), a.Lit(24, Type.INTEGER)))
    assert written(less, "DECIMAL(15,2)") == '(sqlpriv_row."x" < CAST(24 AS DECIMAL(15,2)))'
    assert "AS DOUBLE" in written(less, "DECIMAL(16,2)")
    assert "AS DOUBLE" in written(
        a.Call("<", (a.Col("x"), a.Lit(0.055, Type.REAL))), "DECIMAL(9,2)"
    )
