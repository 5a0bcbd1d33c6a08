"""GoogleSQL's and Snowflake's spelling: what it asks for, and what it may not widen."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from suites.vault import make_vault

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8{}) {} FROM {}"


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(make_vault(tmp_path_factory.mktemp("google") / "people.duckdb")) as session:
        yield session


@pytest.mark.parametrize(
    ("options", "output", "table", "message"),
    [
        ("", "SUM(hours, contribution_bounds_per_row => (0, 100))", "people", r"\(0, 60\)"),
        ("", "AVG(hours, contribution_bounds_per_group => (-1, 9))", "people", r"\(0, 60\)"),
        ("", "ANON_SUM(hours CLAMPED BETWEEN 0 AND 61)", "people", r"owner's, which are \(0, 60\)"),
        ("", "COUNT(*, contribution_bounds_per_group => (0, 10))", "people", r"\(0, 1\)"),
        ("", "COUNT(*, contribution_bounds_per_group => (0, 4))", "visits", r"\(0, 3\)"),
        ("", "COUNT(*, contribution_bounds_per_group => (0, 2))", "visits", "max_rows_contributed"),
        ("", "SUM(ward, contribution_bounds_per_group => (0, 4))", "visits", "3 rows of a unit"),
        ("", "COUNT(*, contribution_bounds_per_row => (0, 1))", "people", "no values to clamp"),
        ("", "MODE(sex, contribution_bounds_per_row => (0, 1))", "people", "text"),
        ("", "SUM(hours, contribution_bounds_per_row => (9, 1))", "people", "the lower one first"),
        ("", "SUM(hours, contribution_bounds_per_row => 9)", "people", "takes two numbers"),
        ("", "SUM(hours, bounds => (0, 9))", "people", "arguments by name"),
        ("", "SUM(hours, report_format => 'JSON')", "people", "report = true"),
        (", delta = 1e-12", "COUNT(*)", "people", "stated at delta = 1e-09"),
        (", delta = 2", "COUNT(*)", "people", "from 0 to 1"),
        (", privacy_unit_column = person", "COUNT(*)", "people", "is its column id"),
        (", group_selection_strategy = magic", "COUNT(*)", "people", "no strategy magic"),
        (", report_format = 'xml'", "COUNT(*)", "people", "no report_format xml"),
        (", max_rows_contributed = 4", "COUNT(*)", "visits", "owner's bound, which is 3"),
        (", max_groups_contributed = 2", "COUNT(*)", "people", "owner's bound, which is 1"),
        (", kappa = 2", "COUNT(*)", "people", "owner's bound, which is 1"),
        (", min_privacy_units_per_group = 0", "COUNT(*)", "people", "whole number from 1 on"),
        (", min_privacy_units_per_group = 1.5", "COUNT(*)", "people", "whole number from 1 on"),
    ],
)
def test_an_argument_that_asks_for_more_is_refused_with_the_bound(
    session: Session, options: str, output: str, table: str, message: str
) -> None:
    before = session.budgets()
    with pytest.raises(Refused, match=message) as caught:
        session.execute(PRICED.format(options, output, table))
    assert caught.value.line == 1
    assert session.budgets() == before


def test_public_groups_need_a_public_list(session: Session) -> None:
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1, group_selection_strategy = "
    with pytest.raises(Refused, match=r"public list|no list|list"):
        session.execute(text + "PUBLIC_GROUPS) income, COUNT(*) FROM people GROUP BY income")


def test_groups_of_few_units_are_left_out(session: Session) -> None:
    """It is `HAVING COUNT(DISTINCT person) >= n`, which is measured with a share of the price."""
    text = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8{}) sex, COUNT(*) AS n{} GROUP BY sex"
    )
    least = ", min_privacy_units_per_group = "
    shown = [
        session.execute(text.format(f"{least}{n}", " FROM people")).table.num_rows
        for n in (2, 1_000_000)
    ]
    assert shown == [2, 0]
    joined = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 8{}) country, AVG(qty) AS q "
    joined += "FROM sales s JOIN customers c ON c.cid = s.cid GROUP BY country"
    measured = [
        session.execute(f"EXPLAIN PRIVACY {joined.format(option)}").table.num_rows
        for option in ("", f"{least}7", f"{least}1")
    ]
    assert measured[1] > measured[0] == measured[2]


def test_a_clamp_asks_what_least_and_greatest_ask(session: Session) -> None:
    """The same queries, so that the second statement is a replay."""
    clamp = PRICED.format("", "SUM(hours, contribution_bounds_per_row => (5, 10)) AS s", "people")
    first = session.execute(clamp).table.to_pylist()
    before = session.budgets()
    by_hand = "SUM(CASE WHEN hours IS NOT NULL THEN LEAST(GREATEST(hours, 5), 10) END) AS s"
    assert session.execute(PRICED.format("", by_hand, "people")).table.to_pylist() == first
    assert session.budgets() == before


def test_a_narrower_clamp_has_less_noise(session: Session) -> None:
    widths = []
    for most in (10, 60):
        output = f"ERROR(SUM(hours, contribution_bounds_per_row => (0, {most}))) AS e"
        widths.append(session.execute(PRICED.format("", output, "people")).table["e"][0].as_py())
    assert widths[1] / widths[0] == pytest.approx(6, rel=0.01)


def test_an_output_is_called_as_without_its_bounds(session: Session) -> None:
    output = "SUM(hours, contribution_bounds_per_row => (0, 9))"
    assert session.describe(PRICED.format("", output, "people")).names == ['sum("hours")']


@pytest.mark.parametrize(
    "spelling",
    [
        "APPROX_QUANTILES(age, 4)[OFFSET(3)]",
        "APPROX_QUANTILES(age, 4)[ORDINAL(4)]",
        "PERCENTILE_CONT(age, 0.75)",
        "ANON_PERCENTILE_CONT(age, 0.75)",
    ],
)
@pytest.mark.parametrize("dialect", ["duckdb", "bigquery"])
def test_quantiles_in_googlesqls_spelling(session: Session, spelling: str, dialect: str) -> None:
    expected = session.execute(PRICED.format("", "quantile_cont(age, 0.75) AS q", "people")).table
    before = session.budgets()
    session.execute(f"SET privacy_dialect = '{dialect}'")
    try:
        answer = session.execute(PRICED.format("", f"{spelling} AS q", "people")).table
    finally:
        session.execute("RESET privacy_dialect")
    assert answer.to_pylist() == expected.to_pylist()
    assert session.budgets() == before


def test_the_ends_of_snowflakes_interval_stand_around_the_answer(session: Session) -> None:
    text = "COUNT(*) AS n, DP_INTERVAL_LOW(n) AS low, DP_INTERVAL_HIGH(n) AS high, ERROR(n) AS e"
    (row,) = session.execute(PRICED.format("", text, "people")).table.to_pylist()
    assert row["high"] - row["n"] == pytest.approx(row["e"])
    assert row["n"] - row["low"] == pytest.approx(row["e"])
    assert row["e"] > 0


def test_report_format_is_a_report(session: Session) -> None:
    names = session.describe(PRICED.format(", report_format = 'JSON'", "COUNT(*) AS n", "people"))
    assert len(names.names) == 3
