"""Golden rewrites: what the kernel is asked, and that it answers what plain SQL answers."""

from __future__ import annotations

import datetime as dt
import math
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.exact_people import planned, rows

from sqlpriv.plan.aggregates import rewrites

sys.path.insert(0, str(Path(__file__).parent.parent / "rewrites"))

import golden

pytestmark = pytest.mark.usefixtures("narrow_means_are_plain")

ACCEPTED = [(name, case) for name in golden.names() for case in golden.cases(name)]
REJECTED = golden.cases("rejected")


def _named(value: object) -> str:
    return value.title if isinstance(value, golden.Case) else str(value)


@pytest.mark.parametrize(("name", "case"), ACCEPTED, ids=_named)
def test_the_kernel_is_asked_what_the_golden_file_says(name: str, case: golden.Case) -> None:
    assert case.kernel
    assert golden.kernel_sql(case.sql) == case.kernel, f"{name}: {case.title}"


@pytest.mark.parametrize(("name", "case"), ACCEPTED, ids=_named)
def test_without_noise_the_answer_is_that_of_plain_sql(
    people: duckdb.DuckDBPyConnection, name: str, case: golden.Case
) -> None:
    ours = [tuple(row.values()) for row in rows(people, case.sql).table.to_pylist()]
    plain = people.execute(case.plain).fetchall()
    assert ours, name
    if "ORDER BY" not in case.sql:
        ours, plain = sorted(ours, key=_sortable), sorted(plain, key=_sortable)
    assert _close(ours, plain), f"{ours}\n{plain}"


def test_the_comparison_with_plain_sql_can_fail(people: duckdb.DuckDBPyConnection) -> None:
    ours = rows(people, "SELECT WITH DIFFERENTIAL_PRIVACY AVG(income) AS a FROM people").table
    wrong = people.execute("SELECT AVG(income) + 1e-4 FROM people").fetchall()
    assert not _close([tuple(row.values()) for row in ours.to_pylist()], wrong)


@pytest.mark.parametrize("case", REJECTED, ids=_named)
def test_a_rejected_statement_says_where_and_what_to_write(case: golden.Case) -> None:
    assert case.error
    assert "Hint: " in case.error
    assert case.error.startswith("line ")
    assert golden.refusal(case.sql) == case.error


def test_there_is_a_golden_file_for_every_rule() -> None:
    files = set(golden.names())
    assert {rule.__name__ for rule in rewrites.RULES.values()} | {"merged"} <= files
    assert len(REJECTED) >= 40


@pytest.mark.parametrize(
    ("sql", "measured"),
    [
        (
            "SELECT COUNT(*), AVG(income), SUM(income), STDDEV(income) FROM people STRATIFY BY sex",
            3,
        ),
        ("SELECT COUNT(*), AVG(income) FROM people STRATIFY BY sex HAVING COUNT(*) > 5", 2),
        ("SELECT COUNT(*), AVG(hours) FROM people STRATIFY BY sex", 3),
        ("SELECT SUM(debt) FROM people STRATIFY BY sex ORDER BY AVG(debt)", 2),
        ("SELECT SUM(7), COUNT(*) FROM people STRATIFY BY sex", 1),
    ],
)
def test_equal_measurements_are_paid_once(sql: str, measured: int) -> None:
    assert len(planned(sql).measurements) == measured


def _sortable(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple((value is None, str(value)) for value in row)


def _close(ours: list[tuple[Any, ...]], plain: list[tuple[Any, ...]]) -> bool:
    return len(ours) == len(plain) and all(
        (x is None and y is None)
        or (isinstance(x, str | dt.date) and x == y)
        or (
            isinstance(x, int | float | Decimal)
            and y is not None
            and math.isclose(x, y, rel_tol=1e-8)
        )
        for mine, theirs in zip(ours, plain, strict=True)
        for x, y in zip(mine, theirs, strict=True)
    )
