"""How an owner lets one user spend: a default price, a ceiling a day, only old questions."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import sqlpriv
from sqlpriv.interfaces.server import spending_rules, users
from sqlpriv.interfaces.server.spending_rules import (
    SpendingRules,
    reserve_for_today,
    run_within_rules,
)
from sqlpriv.kernel.terms.budget import Epsilon, Rho
from sqlpriv.session.session import Charge, Quote, Session

UNASKED = "SELECT COUNT(*) FROM people WHERE income > 40.5"
COUNTS = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


def quote(epsilon, kind=Epsilon, delta=0.0):
    return Quote((Charge("people", kind.at_most(epsilon), kind.at_most(100.0), delta),))


def test_a_default_price_over_both_protocols(served):
    served.add_user("dash", epsilon=0.1)
    remote = served.connect("dash")
    first = remote.execute(COUNTS).fetchall()
    assert remote.session.settings == {"privacy_epsilon": 0.1}
    charges = served.account()[0]
    assert served.psycopg("dash").execute(COUNTS).fetchall() == first
    assert served.account()[0] == charges


@pytest.mark.usefixtures("one_day")
def test_a_ceiling_a_day_holds_over_both_protocols_and_a_refresh_is_free(served):
    psycopg = pytest.importorskip("psycopg")
    served.add_user("dash", epsilon=0.1, daily_epsilon=0.25)
    remote, wire = served.connect("dash"), served.psycopg("dash")
    first = remote.execute(COUNTS).fetchall()
    wire.execute(f"{COUNTS} HAVING n > 1")  # post-processing of the same
    wire.execute("SELECT COUNT(*) FROM people WHERE income > 50")
    before = served.account()
    words = "may spend epsilon 0.25 of people a day: 0.2 is spent since midnight"
    with pytest.raises(sqlpriv.BudgetExhausted, match=words):
        remote.execute("SELECT COUNT(*) FROM people WHERE income > 60")
    with pytest.raises(psycopg.Error, match=words):
        wire.execute("SELECT COUNT(*) FROM people WHERE income > 70")
    with pytest.raises(sqlpriv.BudgetExhausted, match=words):  # a text of several
        remote.session.run("SELECT 1; SELECT COUNT(*) FROM people WHERE income > 80")
    assert served.account() == before
    assert wire.execute(COUNTS).fetchall() == first
    assert remote.execute("SELECT COUNT(*) FROM made").fetchone() == (500,)
    with pytest.raises(sqlpriv.Refused, match="neither a key"):
        remote.execute("SELECT income FROM people")


def test_only_what_was_asked_before(served):
    psycopg = pytest.importorskip("psycopg")
    served.add_user("dash", epsilon=0.1, only_asked_before=True)
    remote, wire = served.connect("dash"), served.psycopg("dash")
    for ask, error in ((remote.execute, sqlpriv.Refused), (wire.execute, psycopg.Error)):
        with pytest.raises(error, match="is answered what was asked before, and this was not"):
            ask(COUNTS)
    ada = served.connect("ada")
    ada.execute("SET privacy_epsilon = 0.1")
    answer = ada.execute(COUNTS).fetchall()
    charges = served.account()[0]
    assert remote.execute(COUNTS).fetchall() == wire.execute(COUNTS).fetchall() == answer
    assert remote.execute("SELECT COUNT(*) FROM made").fetchone() == (500,)
    dearer = COUNTS.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.2)")
    with pytest.raises(sqlpriv.Refused, match="was not"):
        remote.execute(dearer)
    assert served.account()[0] == charges


@pytest.mark.parametrize("rules", [{"daily_epsilon": 0.01}, {"only_asked_before": True}])
def test_what_cannot_be_priced_just_now_is_not_run(served, monkeypatch, rules):
    """An owner wrote while the price was looked up, and had written when the statement was run."""
    before = served.account()
    with Session(served.vault, principal="dash") as session:
        session.execute("SET privacy_epsilon = 0.1")
        monkeypatch.setattr(session, "quote", busy)
        with pytest.raises(sqlpriv.errors.VaultBusy):
            run_within_rules(session, SpendingRules(**rules), UNASKED, None, lambda _: None)
    assert served.account() == before


@pytest.mark.usefixtures("one_day")
def test_what_the_budget_does_not_cover_is_neither_run_nor_booked(served):
    """A part of it could be paid, by nobody's ceiling."""
    before = served.account()
    with Session(served.vault, principal="dash") as session:
        epsilon = 1.5 * session.budgets()[0][2]
        parts = f"{UNASKED} AND income > (SELECT AVG(income) FROM people)".replace(
            "SELECT", f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon})", 1
        )
        for rules in (SpendingRules(daily_epsilon=1e-3), SpendingRules(daily_epsilon=1e6)):
            with pytest.raises(sqlpriv.BudgetExhausted, match="is left; nothing was read"):
                run_within_rules(session, rules, parts, None, lambda _: None)
    assert served.account() == before
    reserve_for_today(served.vault, "dash", quote(0.5), 0.5)


def busy(*_):
    raise sqlpriv.errors.VaultBusy("the vault is being written; nothing was read or charged")


def test_errors_of_columns_by_default(served):
    served.add_user("dash", epsilon=0.1, error_columns=True)
    cursor = served.psycopg("dash").execute("SELECT COUNT(*) AS n FROM people")
    assert [column.name for column in cursor.description] == ["n", "n_error"]


@pytest.mark.usefixtures("one_day")
def test_a_day_ends_at_midnight_and_amounts_add_up_as_the_budget_does(served, monkeypatch):
    reserve_for_today(served.vault, "x", quote(0.5), 1.0)
    reserve_for_today(served.vault, "x", quote(0.5), 1.0)
    with pytest.raises(sqlpriv.BudgetExhausted, match="1 is spent"):
        reserve_for_today(served.vault, "x", quote(1e-6), 1.0)
    reserve_for_today(served.vault, "y", quote(1.0), 1.0)
    # In zCDP two of rho 0.01 are one of rho 0.02: less than twice its epsilon.
    rho = quote(0.01, Rho, 1e-9)
    reserve_for_today(served.vault, "z", rho, rho.epsilon * 1.5)
    reserve_for_today(served.vault, "z", rho, rho.epsilon * 1.5)
    with pytest.raises(sqlpriv.BudgetExhausted):
        reserve_for_today(served.vault, "z", rho, rho.epsilon * 1.5)

    class Tomorrow(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime.now(tz) + timedelta(days=1)

    monkeypatch.setattr(spending_rules, "datetime", Tomorrow)
    reserve_for_today(served.vault, "x", quote(1.0), 1.0)
    assert Tomorrow.now(UTC).date() != datetime.now(UTC).date()


@pytest.mark.parametrize(
    "rules", [{"epsilon": 0}, {"daily_epsilon": -1}, {"epsilon": float("nan")}]
)
def test_rules_that_are_none(rules):
    with pytest.raises(sqlpriv.InterfaceError, match="positive numbers"):
        SpendingRules(**rules)


def test_a_file_of_users_of_before_is_brought_up(served):
    path = served.vault.with_suffix(".users")
    with closing(sqlite3.connect(path)) as db:
        db.executescript(_VERSION_1)
    names = [user.name for user in users.list_users(served.vault)]
    assert names == ["ada", "bob", "olga"]
    assert {user.rules for user in users.list_users(served.vault)} == {SpendingRules()}
    served.add_user("dash", daily_epsilon=0.5)
    assert users.list_users(Path(served.vault))[2].rules == SpendingRules(daily_epsilon=0.5)
    assert served.connect("ada").execute("SELECT COUNT(*) FROM made").fetchone() == (500,)


_VERSION_1 = """
DROP VIEW user;
DROP TABLE day_price;
ALTER TABLE login DROP COLUMN epsilon;
ALTER TABLE login DROP COLUMN daily_epsilon;
ALTER TABLE login DROP COLUMN only_asked_before;
ALTER TABLE login DROP COLUMN error_columns;
CREATE VIEW user AS
SELECT max(id) AS id, name, role, salt, hash, expires, timeout, concurrency, scram
FROM login GROUP BY name;
PRAGMA user_version = 1;
"""
"""What the file looked like before rules stood in it."""
