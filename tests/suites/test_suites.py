"""Every statement of the suites is answered, without noise as plain DuckDB answers it."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb
import pytest

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session
from suites.run import EPSILON, Outcome, alike, classes, run_class, sorted_rows, without_noise
from suites.vault import make_vault, plain_duckdb


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    vault = make_vault(tmp_path_factory.mktemp("suites") / "people.duckdb")
    with Session(vault, principal="suites") as session:
        session.execute(f"SET privacy_epsilon = {EPSILON}")
        yield session


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with plain_duckdb() as connection:
        yield connection


@pytest.mark.parametrize("name", classes())
def test_every_statement_is_answered_right(
    name: str, session: Session, plain: duckdb.DuckDBPyConnection
) -> None:
    outcome = Outcome()
    for _ in without_noise():
        outcome = run_class(name, session, plain)
    assert (outcome.refused, outcome.wrong) == ({}, {})
    assert len(outcome.answered) == outcome.total > 0


def test_the_comparison_can_fail() -> None:
    rows = sorted_rows([("a", 1.0), ("b", None)])
    assert alike(rows, sorted_rows([("b", None), ("a", 1)]))
    assert not alike(rows, sorted_rows([("a", 1.001), ("b", None)]))
    assert not alike(rows, rows[:1])


def test_keys_alone_are_free_where_their_list_is_public(session: Session) -> None:
    result = session.execute("SELECT DISTINCT educ FROM people")
    assert (result.price, result.exact) == (None, False)
    assert session.quote("SELECT educ FROM people GROUP BY educ").charges == ()


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT DISTINCT educ FROM people WHERE income > 900", "depends on the rows"),
        ("SELECT DISTINCT p.educ FROM people p JOIN visits v ON v.person = p.id", "rows"),
        ("SELECT DISTINCT income FROM people", "income"),
        ("SELECT DISTINCT id FROM people", "belongs to one unit"),
        ("SELECT DISTINCT * FROM people", "DISTINCT"),
    ],
)
def test_keys_that_only_the_rows_know_are_refused(
    session: Session, statement: str, message: str
) -> None:
    before = session.budgets()
    with pytest.raises(Refused, match=message):
        session.execute(statement)
    assert session.budgets() == before
