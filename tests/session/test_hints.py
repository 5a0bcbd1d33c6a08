"""What a hint says to write can be pasted: names that must be quoted are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.templates import vault_of

from sqlpriv.errors import Error
from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE "my people" AS SELECT i AS "the id", 'n' || i % 9 AS "free text", i * 1.5 AS "net pay",
    TIMESTAMP '2020-01-01' + to_hours(i) AS "at time", i % 7 AS "days off"
FROM range(500) r(i);
ALTER TABLE "my people" ADD PRIMARY KEY ("the id");
ALTER TABLE "my people" ADD PRIVACY_KEY ("the id");
ALTER TABLE "my people" SET PU;
ALTER TABLE "my people" ALTER COLUMN "at time"
    SET PRIVACY DOMAIN BETWEEN (TIMESTAMP '2020-01-01', TIMESTAMP '2021-01-01');
ALTER TABLE "my people" SET PRIVACY BUDGET (epsilon = 100);
"""
STATEMENTS = {
    'SELECT AVG("net pay") FROM "my people"': ("(low, high)", "(0, 1000)"),
    'SELECT "days off", COUNT(*) FROM "my people" GROUP BY 1': ("(low, high)", "(0, 6)"),
    'SELECT "free text", COUNT(*) FROM "my people" GROUP BY 1': (", or keeps.*", ""),
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_declaration_that_a_hint_names_runs(tmp_path: Path, statement: str) -> None:
    """`ALTER TABLE my people ALTER COLUMN net pay` was the hint."""
    vault = vault_of(SETUP, tmp_path / "a.duckdb")
    with Session(vault) as session:
        session.execute("SET privacy_epsilon = 1")
        with pytest.raises(Error) as refused:
            session.execute(statement)
    placeholder, value = STATEMENTS[statement]
    _, _, declaration = str(refused.value).partition("the owner runs ")
    declaration = re.sub(
        placeholder if "*" in placeholder else re.escape(placeholder), value, declaration
    )
    with Session(vault, role="owner") as owner:
        owner.execute(declaration)
    with Session(vault) as session:
        session.execute("SET privacy_epsilon = 1")
        assert session.execute(statement).table is not None


def test_a_key_that_a_hint_names_can_be_asked_for(tmp_path: Path) -> None:
    with Session(vault_of(SETUP, tmp_path / "a.duckdb")) as session:
        session.execute("SET privacy_epsilon = 1")
        with pytest.raises(Error) as refused:
            session.execute('SELECT "at time", COUNT(*) FROM "my people" GROUP BY 1')
        key = re.search(r"GROUP BY (.*?), or", str(refused.value))
        assert key is not None
        assert session.execute(f'SELECT {key[1]}, COUNT(*) FROM "my people" GROUP BY 1').table


@pytest.mark.parametrize(
    ("call", "what"), [("COUN(*)", "is no function"), ("LIST(1)", "has no private counterpart")]
)
def test_a_misspelt_aggregate_is_no_function(tmp_path: Path, call: str, what: str) -> None:
    """COUN had no private counterpart: a newcomer looked for a restriction, not for a slip."""
    with Session(vault_of(SETUP, tmp_path / "a.duckdb")) as session:
        session.execute("SET privacy_epsilon = 1")
        with pytest.raises(Error, match=what):
            session.execute(f'SELECT {call} FROM "my people"')


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ('foo("days off")', "the function foo cannot be used on private rows"),
        ('1 + foo("days off")', "the function foo cannot be used on private rows"),
        ('medain("days off")', "there is no function medain"),
        ('abs("days off")', 'the column "days off" is neither a key nor in an aggregate'),
        ('GROUPING("days off")', "GROUPING takes strata and grouping keys"),
    ],
)
def test_an_unknown_function_goes_before_its_argument(
    tmp_path: Path, output: str, message: str
) -> None:
    """Of foo(age) the column was complained of, which nothing is wrong with."""
    with Session(vault_of(SETUP, tmp_path / "a.duckdb")) as session:
        session.execute("SET privacy_epsilon = 1")
        with pytest.raises(Error, match=re.escape(message)):
            session.execute(f'SELECT {output} FROM "my people"')


def test_initcap_is_called_by_its_name(tmp_path: Path) -> None:
    with Session(vault_of(SETUP, tmp_path / "a.duckdb")) as session:
        session.execute("SET privacy_epsilon = 1; SET privacy_dialect = 'postgres'")
        with pytest.raises(Error, match="the function initcap cannot be used"):
            session.execute('SELECT COUNT(initcap("free text")) FROM "my people"')


@pytest.mark.parametrize(
    "query",
    [
        "SELECT n FROM ({})",
        "SELECT COUNT(*) FROM ({})",
        "SELECT * FROM (SELECT 1) JOIN ({}) ON n > 0",
        "SELECT 1 WHERE 1 < (SELECT n FROM ({}))",
    ],
)
def test_an_owners_query_over_a_private_one_is_answered(tmp_path: Path, query: str) -> None:
    """DuckDB was given it, and complained of WITH."""
    private = (
        'SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) AS n FROM "my people"'
    )
    with Session(vault_of(SETUP, tmp_path / "a.duckdb"), role="owner") as session:
        assert session.execute(query.format(private)).table.num_rows == 1
        assert session.budgets()[0][1] == pytest.approx(99)
