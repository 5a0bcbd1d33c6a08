"""Who asked what and paid how much, by statement and by day, and ceilings of everybody's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.templates import vault_of

from sqlpriv.errors import BudgetExhausted, DeclarationError
from sqlpriv.kernel.terms.budget import PERIODS
from sqlpriv.session.commands.spending import days_of
from sqlpriv.session.session import Result, Session

VAULT = """
CREATE TABLE people AS SELECT i AS id, i % 2 AS sex, i % 90 AS age FROM range(2000) r(i);
ALTER TABLE people SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1), COLUMN sex IN (0, 1),
    COLUMN age BETWEEN (0, 99), BUDGET (epsilon = 3));
"""
TWO = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) COUNT(*) AS n, SUM(age) FROM people"
MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d")


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return vault_of(VAULT, tmp_path / "people.duckdb")


def rows(result: Result) -> list[dict[str, object]]:
    assert result.table is not None
    return result.table.to_pylist()


def test_releases_are_shown_by_statement_and_in_detail(vault: Path) -> None:
    with Session(vault, principal="ada") as ada:
        ada.execute(TWO.format(0.5))
        ada.execute(TWO.format(0.25) + " WHERE sex = 1")
        ada.execute(TWO.format(0.5))
    with Session(vault, principal="bob") as bob:
        bob.execute(TWO.format(0.4))
        statements = rows(bob.execute("SHOW PRIVACY RELEASES"))
        details = rows(bob.execute("SHOW PRIVACY RELEASES DETAILS"))
    assert [(s["principal"], s["epsilon"], s["replays"]) for s in statements] == [
        ("ada", 0.5, 2),
        ("ada", 0.25, 0),
    ]
    assert sum(int(str(s["measurements"])) for s in statements) == len(details) > 2
    assert {s["statement"] for s in statements} == {d["statement"] for d in details}
    for row in (*statements, *details):
        assert MINUTE.fullmatch(str(row["at"])), "a finer time would tell how long a read took"


def test_a_statement_whose_parts_cost_more_than_is_left_pays_none_of_them(vault: Path) -> None:
    """Its first part alone would fit: it was charged, and the statement then refused."""
    parts = TWO.replace(", SUM(age)", "") + " WHERE age > (SELECT AVG(age) FROM people)"
    with Session(vault, principal="ada") as ada:
        words = "costs epsilon = 4 of people but epsilon = 3 is left; nothing was read or charged"
        with pytest.raises(BudgetExhausted, match=words):
            ada.execute(parts.format(4))
        assert rows(ada.execute("SHOW PRIVACY BUDGET"))[0]["charges"] == 0
        answer = rows(ada.execute(parts.format(3)))
        assert ada.budgets()[0][1] == 0
        assert rows(ada.execute(parts.format(3))) == answer  # free, though nothing is left


@pytest.mark.usefixtures("one_day")
def test_the_history_has_every_budget_and_every_day(vault: Path) -> None:
    with Session(vault, principal="ada") as ada:
        ada.execute(TWO.format(0.5))
        ada.execute(TWO.format(0.25))
        ada.execute(TWO.format(0.25) + " WHERE sex = 1")
        ada.execute(TWO.format(0.125) + " WHERE sex = 0")
        history = rows(ada.execute("SHOW PRIVACY BUDGET HISTORY"))
        (budget,) = rows(ada.execute("SHOW PRIVACY BUDGET"))
    assert [row["event"] for row in history] == ["budget set", "charged"]
    assert (history[0]["epsilon"], history[0]["principal"]) == (3, "olga")
    assert (history[1]["statements"], history[1]["epsilon"]) == (3, 0.875)
    assert history[1]["epsilon_spent"] == budget["epsilon_spent"]


def test_the_history_of_a_budget_of_months_adds_up_within_each() -> None:
    """Only the sum since the start was told, which is no month's."""
    charges = [
        (day, "people", "pure", 1, "{}", nano, number)
        for number, (day, nano) in enumerate(
            (("2026-01-10", 5), ("2026-01-31", 4), ("2026-02-01", 2)), start=1
        )
    ]
    lost = [spent.nano for _, _, spent in days_of(charges).values()]
    of_months = days_of(charges, {"people": PERIODS["month"]}).values()
    assert (lost, [spent.nano for _, _, spent in of_months]) == ([5, 9, 11], [5, 9, 2])


def test_a_renamed_table_is_shown_by_its_name(vault: Path) -> None:
    with Session(vault, role="owner") as owner:
        owner.execute(TWO.format(0.5))
        owner.execute("ALTER TABLE people RENAME TO persons")
        (statement,) = rows(owner.execute("SHOW PRIVACY RELEASES"))
        history = rows(owner.execute("SHOW PRIVACY BUDGET HISTORY"))
    assert statement["unit_table"] == "persons"
    assert {row["unit_table"] for row in history} == {"persons"}


def _left_to_each(session: Session) -> dict[str | None, float]:
    table = rows(session.execute("SHOW PRIVACY BUDGET"))
    return {row["principal"]: row["epsilon_left"] for row in table}


def test_a_ceiling_for_everybody_binds_each_by_what_they_spent_themselves(vault: Path) -> None:
    with Session(vault, role="owner", principal="olga") as owner:
        message = owner.execute(
            "ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1) FOR '*'"
        ).message
        owner.execute("ALTER TABLE people SET PRIVACY BUDGET (epsilon = 2) FOR 'Eve'")
    assert message.startswith("what everybody without a ceiling of their own may spend of people")
    for i, who in enumerate(("ada", "bob")):
        with Session(vault, principal=who) as analyst:
            analyst.execute(TWO.format(0.75) + f" WHERE age > {i}")
            assert analyst.budgets() == (("people", 0.25, 1.0),)
            with pytest.raises(BudgetExhausted, match=f"is left to {who}"):
                analyst.execute(TWO.format(0.5) + f" WHERE age < {i + 50}")
        with Session(vault, principal=who) as analyst:  # sees what is left to them, not to others
            assert _left_to_each(analyst) == {None: 2.25 - 0.75 * i, "*": 1, who: 0.25, "Eve": 2}
    with Session(vault, role="owner") as owner:
        assert _left_to_each(owner) == {None: 1.5, "*": 1, "ada": 0.25, "bob": 0.25, "Eve": 2}
    with Session(vault, principal="eve") as eve:  # has a ceiling of her own, and the table 1.5 left
        assert eve.budgets() == (("people", 1.5, 3.0),)
        eve.execute(TWO.format(1.25) + " WHERE age > 7")


@pytest.mark.usefixtures("one_day")
def test_a_budget_of_periods_says_what_it_promises_and_shows_all_that_was_spent(
    vault: Path,
) -> None:
    with Session(vault, role="owner") as owner:
        owner.execute(TWO.format(0.5))
        said = owner.execute(
            "ALTER TABLE people SET PRIVACY BUDGET"
            " (epsilon = 1, per = 'month', total = 12, until = DATE '2999-12-31')"
        ).message
        (budget,) = rows(owner.execute("SHOW PRIVACY BUDGET"))
    assert said == (
        "the budget of people is pure epsilon = 1, delta = 0 in each month (UTC): a unit loses at"
        " most this in every month, and at most epsilon = 12 in all, with what was spent before;"
        " nothing after 2999-12-31"
    )
    shown = {
        "per": "month",
        "epsilon_spent": 0.5,
        "epsilon_in_all": 0.5,
        "epsilon_left": 0.5,
        "epsilon_total": 12,
        "until": "2999-12-31",
    }
    assert shown.items() <= budget.items()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (
            "epsilon = 1, per = 'fortnight'",
            "per day, week, month, quarter or year, not per fortnight",
        ),
        ("epsilon = 1, until = 'soon'", "until is a day"),
        ("epsilon = 1, until = 3", "until is a day"),
        ("epsilon = 1, per = 'month', total = 0.5", "less than the budget of one"),
        ("epsilon = 1, total = -3", "a privacy loss lies between"),
        ("per = 'month'", "a budget is"),
    ],
)
def test_a_wrong_budget_of_periods_is_refused(vault: Path, options: str, says: str) -> None:
    with Session(vault, role="owner") as owner, pytest.raises(DeclarationError, match=says):
        owner.execute(f"ALTER TABLE people SET PRIVACY BUDGET ({options})")


def test_releases_name_keys_as_they_were_written(vault: Path) -> None:
    """A key was called "__group0:who", as it is between a private query and its tail."""
    with Session(vault, role="owner") as owner:
        owner.execute(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)"
            " sex AS who, COUNT(*) AS n, n / SUM(n) OVER () AS part FROM people GROUP BY ALL"
        )
        for details in ("", " DETAILS"):
            (text,) = (
                owner.execute(f"SHOW PRIVACY RELEASES{details}").table["statement"].to_pylist()
            )
            assert ('"who"' in text, "__" in text) == (True, False), text
