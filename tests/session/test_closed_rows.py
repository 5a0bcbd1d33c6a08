"""Questions about rows that the owner declared closed: free after a write, whatever was written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.closed_visits import DAY, LATE, MAKE, RECENT, ask, is_free, shown
from support.templates import vault_of

from sqlpriv.errors import Refused
from sqlpriv.session.access import closed_rows
from sqlpriv.session.session import Session

CLOSED = {
    "before": f"COUNT(*) AS n FROM visits WHERE day < {DAY}",
    "before, backwards": f"COUNT(*) AS n FROM visits WHERE {DAY} > day",
    "up to": "COUNT(*) AS n FROM visits WHERE day <= DATE '2026-09-30'",
    "on": "COUNT(*) AS n FROM visits WHERE day = DATE '2026-09-30'",
    "between": "SUM(cost) AS s FROM visits WHERE day BETWEEN DATE '2026-09-02' AND '2026-09-30'",
    "some": "COUNT(*) AS n FROM visits WHERE day IN (DATE '2026-09-02', DATE '2026-09-04')",
    "and": f"ward, AVG(cost) AS a FROM visits WHERE day < {DAY} AND cost > 5 GROUP BY ward",
    "shifted": f"COUNT(*) AS n FROM visits WHERE day < {DAY} - INTERVAL 1 DAY",
    "strata": f"AVG(cost) AS a FROM visits WHERE day < {DAY} STRATIFY BY ward",
    "quantile": f"MEDIAN(cost) AS m FROM visits WHERE day < {DAY}",
    "distinct": f"COUNT(DISTINCT patient) AS n FROM visits WHERE day < {DAY}",
    "with": f"COUNT(*) AS n FROM (SELECT * FROM visits WHERE day < {DAY}) AS v WHERE cost > 3",
    "renamed": f"COUNT(*) AS n FROM (SELECT day AS d FROM visits) AS v WHERE d < {DAY}",
    "months": f"date_trunc('month', day) AS m, COUNT(*) AS n FROM visits WHERE day < {DAY}"
    " AND day >= DATE '2026-08-01' GROUP BY m",
    "inside a patient": "AVG(n) AS a FROM (SELECT patient, COUNT(*) AS n FROM visits"
    f" WHERE day < {DAY} GROUP BY patient)",
    "both sides": "COUNT(*) AS n FROM visits AS v JOIN tests AS t ON v.patient = t.patient"
    f" AND v.day = t.taken WHERE v.day < {DAY} AND t.taken < {DAY}",
    "semi": "COUNT(*) AS n FROM visits WHERE patient IN (SELECT patient FROM tests"
    f" WHERE taken < {DAY}) AND day < {DAY}",
    "keys": f"doctor, COUNT(*) AS n FROM visits WHERE day < {DAY} GROUP BY doctor",
}
OPEN = {
    "all": "COUNT(*) AS n FROM visits",
    "a day more": f"COUNT(*) AS n FROM visits WHERE day <= {DAY}",
    "on the day": f"COUNT(*) AS n FROM visits WHERE day = {DAY}",
    "after a closed day": "COUNT(*) AS n FROM visits WHERE day > DATE '2026-09-05'",
    "later": f"COUNT(*) AS n FROM visits WHERE day > {DAY}",
    "one of them": f"COUNT(*) AS n FROM visits WHERE day IN (DATE '2026-09-02', {DAY})",
    "or": f"COUNT(*) AS n FROM visits WHERE day < {DAY} OR cost > 5",
    "in each case": f"COUNT(*) AS n FROM visits WHERE (day < {DAY} AND ward = 1)"
    f" OR (day < {DAY} AND cost > 5)",
    "not": f"COUNT(*) AS n FROM visits WHERE NOT day < {DAY}",
    "a case": f"COUNT(*) AS n FROM visits WHERE CASE WHEN day < {DAY} THEN TRUE ELSE cost > 5 END",
    "no NULL": f"COUNT(*) AS n FROM visits WHERE coalesce(day, DATE '2026-09-01') < {DAY}",
    "unlike": f"COUNT(*) AS n FROM visits WHERE day <> {DAY}",
    "a function": "COUNT(*) AS n FROM visits WHERE year(day) = 2025",
    "a month": f"COUNT(*) AS n FROM visits WHERE date_trunc('month', day) < {DAY}",
    "another column": f"COUNT(*) AS n FROM visits WHERE moment < {DAY}",
    "a filter": f"COUNT(*) FILTER (WHERE day < {DAY}) AS n FROM visits",
    "one side": "COUNT(*) AS n FROM visits AS v JOIN tests AS t ON v.patient = t.patient"
    f" AND v.day = t.taken WHERE v.day < {DAY}",
    "a public table": "COUNT(*) AS n FROM visits AS v JOIN wards AS w ON v.ward = w.number"
    f" WHERE v.day < {DAY}",
    "the patients": "COUNT(*) AS n FROM visits AS v JOIN patients AS p ON v.patient = p.id"
    f" WHERE v.day < {DAY}",
    "anti": "COUNT(*) AS n FROM visits AS v WHERE NOT EXISTS (SELECT 1 FROM tests AS t"
    f" WHERE t.patient = v.patient) AND v.day < {DAY}",
}


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Session]:
    with Session(vault_of(MAKE, tmp_path / "v.duckdb"), role="owner") as session:
        yield session


@pytest.mark.parametrize("what", CLOSED.values(), ids=CLOSED)
def test_closed_rows_are_free_after_a_write(owner: Session, what: str):
    first = ask(owner, what)
    owner.execute(LATE)
    again = ask(owner, what)
    assert not is_free(first)
    assert is_free(again)
    assert again.table == first.table
    assert "rows that the owner declared closed: as answered on 2" in again.message
    assert "declared closed" not in first.message


@pytest.mark.parametrize("what", OPEN.values(), ids=OPEN)
def test_open_rows_are_new_after_a_write(owner: Session, what: str):
    first = ask(owner, what)
    assert is_free(ask(owner, what))
    owner.execute(LATE)
    again = ask(owner, what)
    assert not is_free(first)
    assert not is_free(again)
    assert "declared closed" not in again.message


def test_a_table_without_a_window_is_new_after_a_write(owner: Session):
    """The twin: what makes closed rows free is the declaration alone."""
    owner.execute("ALTER TABLE visits DROP PRIVACY WINDOW")
    for what in CLOSED.values():
        ask(owner, what)
    owner.execute(LATE)
    assert not any(is_free(ask(owner, what)) for what in CLOSED.values())


def test_rows_that_were_closed_by_another_column_were_not_closed(owner: Session):
    what = f"COUNT(*) AS n FROM visits WHERE moment < {DAY}"
    ask(owner, what)
    owner.execute(f"ALTER TABLE visits SET PRIVACY WINDOW (moment, closed_before = {DAY})")
    assert not is_free(ask(owner, what))
    owner.execute(LATE)
    assert is_free(ask(owner, what))


def test_answers_of_before_the_rows_were_closed_do_not_serve(owner: Session):
    october = "COUNT(*) AS n FROM visits WHERE day < DATE '2026-11-01'"
    ask(owner, october)  # October still comes in
    owner.execute(RECENT)
    owner.execute("ALTER TABLE visits SET PRIVACY WINDOW (closed_before = DATE '2026-11-01')")
    assert not is_free(ask(owner, october))
    owner.execute(LATE)
    assert is_free(ask(owner, october))


SAME = {
    "a day that moves on": "ALTER TABLE visits SET PRIVACY WINDOW (closed_before = '2026-12-01')",
    "the day again": f"ALTER TABLE visits SET PRIVACY WINDOW (day, closed_before = {DAY})",
    "a grant": "GRANT SELECT ON visits TO 'ada'",
    "another table": "ALTER TABLE tests ALTER COLUMN kind DROP PRIVACY DOMAIN",
    "a new table": "CREATE TABLE x (a INTEGER); ALTER TABLE x SET PUBLIC",
    "the budget": "ALTER TABLE patients SET PRIVACY BUDGET (epsilon = 88888, delta = 1e-9)",
}
OTHERWISE = {
    "a bound": "ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 5)",
    "a domain": "ALTER TABLE visits ALTER COLUMN cost SET PRIVACY DOMAIN BETWEEN (0, 50)",
    "a unit": "ALTER TABLE patients SET PRIVACY BOUND (rows_per_unit = 2)",
    "another window": "ALTER TABLE visits"
    " SET PRIVACY WINDOW (moment, closed_before = DATE '2026-12-01')",
    "no window between": "ALTER TABLE visits DROP PRIVACY WINDOW;"
    f"ALTER TABLE visits SET PRIVACY WINDOW (day, closed_before = {DAY})",
    "a bound and back": "ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 5);"
    "ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 4)",
}


@pytest.mark.parametrize("declared", SAME.values(), ids=SAME)
def test_what_does_not_concern_the_rows_keeps_answers(owner: Session, declared: str):
    what = CLOSED["and"]
    first = ask(owner, what)
    owner.run(declared)
    owner.execute(LATE)
    again = ask(owner, what)
    assert is_free(again)
    assert again.table == first.table


@pytest.mark.parametrize("declared", OTHERWISE.values(), ids=OTHERWISE)
def test_other_declarations_make_closed_rows_new(owner: Session, declared: str):
    what = CLOSED["and"]
    ask(owner, what)
    owner.run(declared)
    assert not is_free(ask(owner, what))


def test_the_first_answer_that_costs_enough_serves_ever_after(owner: Session):
    what = CLOSED["strata"]
    first = ask(owner, what, 700.0)
    owner.execute(LATE)
    dearer = ask(owner, what, 800.0)
    assert not is_free(dearer)
    assert ask(owner, what, 600.0).table == first.table
    owner.execute(RECENT)
    assert ask(owner, what, 700.0).table == first.table
    assert ask(owner, what, 600.0).table == first.table
    assert ask(owner, what, 800.0).table == dearer.table
    assert not is_free(ask(owner, what, 850.0))


def test_many_states_are_looked_through(owner: Session, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(closed_rows, "STATES_AT_ONCE", 2)
    what = CLOSED["before"]
    first = ask(owner, what)
    for _ in range(6):
        owner.execute(RECENT)
        assert not is_free(ask(owner, OPEN["all"]))
    assert ask(owner, what).table == first.table
    assert is_free(ask(owner, what))


def test_each_part_of_a_statement_goes_by_its_own_rows(owner: Session):
    both = (
        "day, n FROM (SELECT 'closed' AS day, COUNT(*) AS n FROM visits WHERE day < {0}"
        " UNION ALL SELECT 'open', COUNT(*) FROM visits WHERE day >= {0})"
    )
    first = ask(owner, both.format(DAY))
    owner.execute(LATE)
    again = ask(owner, both.format(DAY))
    assert not is_free(again)
    assert again.price.nano < first.price.nano
    values = [
        dict(zip(*[c.to_pylist() for c in r.table.columns], strict=True)) for r in (first, again)
    ]
    assert values[0]["closed"] == values[1]["closed"]


def test_explain_says_free_and_why(owner: Session):
    question = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 900) " + CLOSED["and"]
    before = owner.execute(f"EXPLAIN PRIVACY {question}").message
    assert before.startswith("about rows that the owner declared closed: once answered, free")
    ask(owner, CLOSED["and"])
    owner.execute(LATE)
    explained = owner.execute(f"EXPLAIN PRIVACY {question}")
    assert explained.message.startswith("about rows that the owner declared closed: as answered on")
    total = next(r for r in explained.table.to_pylist() if r["measurement"] == "total")
    assert total["epsilon"] == 0
    opened = question.replace("AND cost > 5", "OR cost > 5")
    words = owner.execute(f"EXPLAIN PRIVACY {opened}").message
    assert "new after every write: closed rows are WHERE day < DATE '2026-10-01'" in words
    joined = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 900) " + OPEN["the patients"]
    assert "patients has no closed rows" in owner.execute(f"EXPLAIN PRIVACY {joined}").message


def test_a_replay_is_recorded_and_costs_nothing(owner: Session):
    ask(owner, CLOSED["and"])
    spent = shown(owner, "BUDGET")
    owner.execute(LATE)
    for _ in range(3):  # the third by the session's own memory
        ask(owner, CLOSED["and"])
    assert shown(owner, "BUDGET") == spent
    assert spent[0]["per"] == "month"
    (release,) = [r for r in shown(owner, "RELEASES") if "cost > 5" in str(r["statement"])]
    assert release["replays"] == 3


@pytest.mark.parametrize("method", ["mst", "aim", "independent"])
def test_synthetic_tables_of_closed_rows_are_free(owner: Session, method: str):
    create = (
        "CREATE OR REPLACE SYNTHETIC TABLE s AS SELECT ward, cost FROM visits WHERE day < {}"
        f" USING {method} OPTIONS (epsilon = 30)"
    )
    explained = owner.execute(f"EXPLAIN PRIVACY {create.format(DAY)}").message
    assert explained.endswith("declared closed: once answered, free whatever is written")
    first = owner.execute(create.format(DAY))
    assert not is_free(first)
    assert "declared closed" not in first.message
    owner.execute(LATE)
    again = owner.execute(create.format(DAY))
    assert is_free(again)
    assert "about rows that the owner declared closed: as answered on 2" in again.message
    assert not is_free(owner.execute(create.format("DATE '2026-10-02'")))


def test_a_write_to_a_table_with_closed_rows_says_so(owner: Session):
    """It said "done: 1 row", and answers about the new row stayed those of before."""
    for insert in (LATE, RECENT):
        message = owner.execute(insert).message
        assert message.startswith("done: 1 row; rows of visits before 2026-10-01 are closed")
        assert "SHOW PRIVACY WINDOWS" in message
    message = owner.execute("INSERT INTO wards VALUES (4, 'w4')").message
    assert message == "done: 1 row"
    # so did what reads such rows, or drops them
    for other in (
        "CREATE TABLE kept AS FROM visits",
        "INSERT INTO kept FROM visits",
        "ALTER TABLE visits ADD COLUMN note VARCHAR",
        "DROP TABLE visits",
    ):
        assert "closed" not in owner.execute(other).message


def test_a_window_is_unset_as_it_is_dropped(owner: Session):
    """UNSET PRIVACY WINDOW gave DuckDB's own error, about a table."""
    said = owner.execute("ALTER TABLE visits UNSET PRIVACY WINDOW").message
    assert said.startswith("visits has no closed rows")
    with pytest.raises(Refused, match="a window alone can be unset"):
        owner.execute("ALTER TABLE visits UNSET PRIVACY BOUND")
