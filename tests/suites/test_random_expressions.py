"""Random statements are answered as DuckDB answers them, but for the noise, or they are refused.

The types of columns are DuckDB's, too.

Two things differ on purpose: a level that a list has and no row is listed with its count, and a
figure of few rows may be NULL, since the noised count decides whether anything is known of it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import duckdb
import pytest
from support.random_expressions import Statement, random_statement

from sqlpriv.errors import Error
from sqlpriv.session.session import Session
from suites.run import EPSILON, sorted_rows, without_noise
from suites.vault import make_vault, plain_duckdb

FIRST, FEW, MANY = 5_000_000, 40, 2_000
LITTLE_KNOWN = 200
"""Rows: a mean of fewer may be NULL, and one of those that a FILTER leaves."""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = make_vault(tmp_path_factory.mktemp("random") / "people.duckdb")
    with Session(path, principal="random") as session:
        session.execute(f"SET privacy_epsilon = {EPSILON}")
        for _ in without_noise():
            yield session


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with plain_duckdb() as connection:
        yield connection


def rows_with_people(
    statement: Statement, rows: list[tuple[Any, ...]]
) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """Returns keys → figures, the number of rows first; levels that no row has are left out."""
    of_keys = {row[: statement.keys]: row[statement.keys :] for row in sorted_rows(rows)}
    return {key: row for key, row in of_keys.items() if row[0] or not statement.keys}


def is_same_figure(one: Any, other: Any) -> bool:
    """Returns whether two figures are equal, but for the steps in which doubles are summed up."""
    if one is None or other is None:
        return one is other
    return math.isclose(float(one), float(other), rel_tol=1e-6, abs_tol=1e-6)


def differs(statement: Statement, ours: list[tuple[Any, ...]], theirs: list[Any]) -> bool:
    """Returns whether an answer is another than DuckDB's."""
    answered, expected = (rows_with_people(statement, rows) for rows in (ours, theirs))
    if answered.keys() != expected.keys():
        return True
    for key, (rows, *figures) in answered.items():
        pairs = zip((rows, *figures), expected[key], strict=True)
        is_known = rows >= LITTLE_KNOWN and "FILTER" not in statement.text
        known = [pair for pair in pairs if pair[0] is not None or is_known]
        if not all(is_same_figure(one, other) for one, other in known):
            return True
    return False


def check_seed(seed: int, session: Session, plain: duckdb.DuckDBPyConnection) -> str:
    """Asks both; returns "alike", or who refuses."""
    statement = random_statement(seed)
    try:
        rows = plain.sql(statement.text).to_arrow_table()
    except duckdb.Error:
        return "refused by DuckDB"
    try:
        table = session.execute(statement.text).table
    except Error:
        return "refused"
    assert table is not None
    ours, expected = (
        [tuple(row) for row in zip(*(c.to_pylist() for c in side.columns), strict=True)]
        for side in (table, rows)
    )
    assert not differs(statement, ours, expected), f"seed {seed}: {statement.text}"
    types = [[str(field.type) for field in side.schema] for side in (table, rows)]
    assert types[0] == types[1], f"seed {seed}: types {types}: {statement.text}"
    return "alike"


def check_many(
    session: Session, plain: duckdb.DuckDBPyConnection, number: int = MANY, first: int = FIRST
) -> Counter[str]:
    """Asks the statements of so many seeds."""
    return Counter(check_seed(seed, session, plain) for seed in range(first, first + number))


def test_random_statements_are_answered_as_duckdb_answers_them(
    session: Session, plain: duckdb.DuckDBPyConnection
) -> None:
    outcomes = check_many(session, plain, FEW)
    assert outcomes["alike"] > FEW / 2


@pytest.mark.slow
def test_very_many_statements(session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    """Other seeds at every run: a failure names its seed."""
    outcomes = check_many(session, plain, first=random.randrange(FIRST))
    print(f"learned: {dict(outcomes)}")
    assert outcomes["alike"] > MANY / 2


def test_twin_another_rounding_is_noticed(
    session: Session, plain: duckdb.DuckDBPyConnection
) -> None:
    """A break: DuckDB's macro in the place of its function rounds as sqlpriv does not."""
    plain.execute("CREATE TEMP MACRO abs(x) AS greatest(x, -x - 1)")
    with pytest.raises(AssertionError, match="seed"):
        check_many(session, plain)
    plain.execute("DROP MACRO abs")


def test_twin_another_type_is_noticed(session: Session, plain: duckdb.DuckDBPyConnection) -> None:
    """A break: DuckDB's macro in the place of its function gives the same value as a DOUBLE."""
    plain.execute("CREATE TEMP MACRO abs(x) AS greatest(x, -x)::DOUBLE")
    with pytest.raises(AssertionError, match="types"):
        check_many(session, plain)
    plain.execute("DROP MACRO abs")
