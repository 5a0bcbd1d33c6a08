"""How often a text is lexed, parsed and planned on each road to an answer: any more is a repeat.

Parsing and planning are counted where they are done, so that a test fails if a road, or a check of
a price before it, begins to read or to plan a statement again.
"""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path

import pytest

from sqlpriv.dialect import syntax, tokens
from sqlpriv.errors import Refused
from sqlpriv.interfaces.shell.shell import Shell
from sqlpriv.session.queries import private_steps
from sqlpriv.session.session import Session

PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {})"
GROUPED = PRICED + " sex, COUNT(*) AS n FROM people GROUP BY sex"
ONCE = {"lexed": 1, "parsed": 1, "planned": 1}
FORMS = {
    GROUPED: 1,
    # a window is left to the tail: what is private in it is planned
    PRICED
    + " sex, COUNT(*) AS n, rank() OVER (ORDER BY COUNT(*)) AS r FROM people GROUP BY sex": 1,
    # both queries, and the outer one again with the average that was answered
    PRICED + " COUNT(*) AS n FROM people WHERE income > (SELECT AVG(income) FROM people)": 3,
    # as a join first, then as two queries, and the outer one again with the list
    PRICED + " COUNT(*) AS n FROM people WHERE sex IN"
    " (SELECT sex FROM people GROUP BY sex ORDER BY COUNT(*) DESC LIMIT 1)": 4,
    # two queries of one price: each at the whole price, to see what is answerable, and at its half
    "SELECT * FROM (" + GROUPED + ") a JOIN (" + PRICED + " sex, SUM(income) AS s FROM people"
    " GROUP BY sex) b USING (sex)": 2,
}
"""Statement → how many plans its answer takes."""


@pytest.fixture
def counts(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Counts what is lexed, parsed and planned, from when it is cleared."""
    counted: Counter[str] = Counter()

    def count(module: object, name: str, kind: str) -> None:
        work = getattr(module, name)

        def counting(*args: object, **more: object) -> object:
            counted[kind] += 1
            return work(*args, **more)

        monkeypatch.setattr(module, name, counting)

    tokens._kept_tokens.cache_clear()  # the texts are those of the tests before
    count(tokens, "_glots", "lexed")
    count(syntax, "_parse", "parsed")
    count(private_steps, "plan", "planned")
    return counted


@pytest.fixture
def vault(declared, tmp_path: Path) -> Path:
    from support.places import copy_vault

    copy_vault(declared[0], tmp_path)
    return tmp_path / "people.duckdb"


@pytest.mark.parametrize(("text", "plans"), FORMS.items())
@pytest.mark.parametrize("before", ["", "quote", "describe"])
def test_a_session_reads_and_plans_once(
    vault: Path, counts: Counter[str], text: str, plans: int, before: str
) -> None:
    text = text.format(0.1, 0.1)
    with Session(vault) as session:
        if before:
            getattr(session, before)(text)
        session.execute(text)
    assert counts == {**ONCE, "planned": plans}


def test_an_answer_that_is_asked_again_is_not_planned_again(
    vault: Path, counts: Counter[str]
) -> None:
    for text in FORMS:
        with Session(vault) as session:
            session.execute(text.format(0.1, 0.1))
            counts.clear()
            session.quote(text.format(0.1, 0.1))
        assert counts.keys() <= {"planned"}
        assert counts["planned"] <= 1  # the outer query, with what was answered inside it


@pytest.mark.parametrize(("text", "plans"), FORMS.items())
def test_explain_plans_once(vault: Path, counts: Counter[str], text: str, plans: int) -> None:
    with Session(vault) as session:
        session.execute("EXPLAIN PRIVACY " + text.format(0.1, 0.1))
    has_awaited = plans in (3, 4)  # nothing was answered yet: the outer one has any number in it
    assert counts == {**ONCE, "planned": plans - has_awaited}


@pytest.mark.parametrize("text", FORMS)
def test_explain_shows_the_price_that_is_quoted_and_charged(vault: Path, text: str) -> None:
    text = text.format(0.1, 0.1)
    with Session(vault) as session:
        rows = session.execute("EXPLAIN PRIVACY " + text).table.to_pylist()
        (total,) = [row for row in rows if row["measurement"] == "total"]
        quoted = session.quote(text).epsilon
        charged = session.execute(text).epsilon
    assert total["epsilon"] == pytest.approx(quoted, rel=1e-9)
    assert charged == pytest.approx(quoted, rel=1e-9)


def test_the_shell_plans_once_before_and_after_its_question(
    vault: Path, counts: Counter[str]
) -> None:
    questions: list[str] = []
    with Session(vault) as session:
        shell = Shell(session, io.StringIO(), io.StringIO())
        shell._answer = lambda question: questions.append(question) or "y"
        shell.take(GROUPED.format(0.1) + ";")
    assert len(questions) == 1
    # lexed with its semicolon, to part the entry into statements, and without it
    assert counts == {"lexed": 2, "parsed": 1, "planned": 1}


def test_a_refused_form_is_not_tried_again_as_a_part(vault: Path, counts: Counter[str]) -> None:
    with Session(vault) as session, pytest.raises(Refused, match="public list"):
        session.execute(GROUPED.replace("sex", "secret").format(0.1))
    # as it stands, and with its outputs left to the tail
    assert counts == {"lexed": 1, "parsed": 1, "planned": 2}


def test_flight_reads_and_plans_once(served, counts: Counter[str]) -> None:
    served.add_user("dora", daily_epsilon=5.0)
    for name, price in (("ada", 0.1), ("dora", 0.2)):
        cursor = served.adbc(name).cursor()
        with cursor:
            cursor.execute("SELECT 1 AS one")
            cursor.fetchall()
            counts.clear()
            cursor.execute(GROUPED.format(price))
            assert len(cursor.fetchall()) == 2
        assert counts == ONCE


def test_postgresql_reads_and_plans_once(served, counts: Counter[str]) -> None:
    served.add_user("dora", daily_epsilon=5.0)
    for name, price in (("ada", 0.1), ("dora", 0.2)):
        connection = served.psycopg(name)
        connection.execute("SELECT 1")
        counts.clear()
        assert len(connection.execute(GROUPED.format(price)).fetchall()) == 2
        assert counts == ONCE
        counts.clear()
        text = GROUPED.format(price) + " HAVING COUNT(*) > %s"
        assert len(connection.execute(text, [3], prepare=True).fetchall()) == 2
        assert counts == ONCE
