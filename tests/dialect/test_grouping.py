"""GROUP BY with ROLLUP, CUBE and GROUPING SETS: the sets of keys are those that DuckDB makes."""

from __future__ import annotations

from collections import Counter

import duckdb
import pytest

from sqlpriv.dialect import read
from sqlpriv.statements.commands import Unanswerable
from sqlpriv.statements.tree import Name, Select

CASES = [
    "ROLLUP (a, b, c)",
    "CUBE (a, b, c)",
    "GROUPING SETS ((a, b), (c), ())",
    "a, ROLLUP (b, c)",
    "ROLLUP (a), CUBE (b, c)",
    "ROLLUP ((a, b), c)",
    "CUBE ((a, b), (c))",
    "GROUPING SETS (ROLLUP (a, b), CUBE (c), a)",
    "GROUPING SETS ((a), (a), GROUPING SETS ((b), ()))",
    "a, b, GROUPING SETS ((a), (c))",
    "()",
    "a, ()",
]


def ours(text: str) -> Counter[frozenset[str]]:
    (found,) = read(f"SELECT COUNT(*) FROM t GROUP BY {text}")
    assert isinstance(found, Select), found
    names = [key.name for key in found.group_by if isinstance(key, Name)]
    assert len(names) == len(found.group_by)
    return Counter(frozenset(names[i] for i in one) for one in found.sets)


def theirs(text: str) -> Counter[frozenset[str]]:
    """One row of t makes one row of each set, in which NULL means that it is summed over."""
    rows = duckdb.sql(
        f"SELECT a, b, c FROM (SELECT 1 AS a, 1 AS b, 1 AS c) GROUP BY {text}, CUBE ((a, b, c))"
    ).fetchall()
    doubled = Counter(frozenset(n for n, v in zip("abc", row, strict=True) if v) for row in rows)
    doubled[frozenset("abc")] -= len(rows) // 2  # those with all keys, from the CUBE beside it
    return +doubled


@pytest.mark.parametrize("text", CASES)
def test_the_sets_are_those_of_duckdb(text: str) -> None:
    assert ours(text) == theirs(text)


def test_other_sets_are_noticed() -> None:
    assert ours("ROLLUP (a, b)") != theirs("ROLLUP (b, a)")
    assert ours("a, CUBE (b)") != theirs("CUBE (a, b)")


@pytest.mark.parametrize("text", ["a, b", "(a), (b + 1) * 2", "(a + b)", "ALL", "1, 2"])
def test_a_plain_grouping_has_no_sets(text: str) -> None:
    (found,) = read(f"SELECT a FROM t GROUP BY {text}")
    assert isinstance(found, Select)
    assert found.sets == ()


@pytest.mark.parametrize(
    "text", ["ROLLUP ()", "CUBE (a", "GROUPING SETS (a, )", "ROLLUP (a b)", "GROUPING SETS ()"]
)
def test_what_is_no_grouping_is_refused(text: str) -> None:
    (found,) = read(f"SELECT a FROM t GROUP BY {text}")
    assert isinstance(found, Unanswerable)
