"""SET PRIVACY WINDOW: how it is declared, kept, shown, and what its owner is told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.closed_visits import DAY, LATE, MAKE, RECENT, ask, is_free, shown
from support.templates import vault_of

from sqlpriv.errors import DeclarationError, Error, Refused
from sqlpriv.interfaces.cli.main import main
from sqlpriv.session.commands.backup import back_up, restore
from sqlpriv.session.session import Session


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Session]:
    with Session(vault_of(MAKE, tmp_path / "v.duckdb"), role="owner") as session:
        yield session


def test_the_owner_alone_is_told_whether_closed_rows_changed(owner: Session):
    said = owner.execute(
        "ALTER TABLE visits SET PRIVACY WINDOW (closed_before = DATE '2026-10-02')"
    )
    assert "closed already: unchanged" in said.message
    owner.execute(RECENT)
    assert [w["closed_rows"] for w in shown(owner, "WINDOWS")] == ["unchanged", "unchanged"]
    owner.execute("UPDATE visits SET cost = 7 WHERE number = 3")
    told = {w["table"]: w["closed_rows"] for w in shown(owner, "WINDOWS")}
    assert told["visits"] == "CHANGED: 620 rows before 2026-10-02 then, 620 now"
    said = owner.execute(
        "ALTER TABLE visits SET PRIVACY WINDOW (closed_before = DATE '2026-10-03')"
    )
    assert "closed already: CHANGED: 620 rows" in said.message
    with Session(owner.vault) as analyst:
        windows = shown(analyst, "WINDOWS")
        assert [*windows[0]] == ["table", "column", "closed_before"]
        assert "CHANGED" not in str(shown(analyst, "DECLARATIONS"))


def test_where_the_owner_is_changes_no_closed_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Midnight is that of UTC, and the text of a moment of a zone is not compared."""
    vault = tmp_path / "v.duckdb"
    for zone, make in (("Asia/Tokyo", True), ("America/Lima", False)):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        with Session(vault, role="owner") as owner:
            if make:
                owner.run(
                    "CREATE TABLE stays AS SELECT i AS id, TIMESTAMPTZ '2026-09-30 00:00:00+00'"
                    " + to_hours(i::INTEGER) AS came, 'it''s, ' || i AS note FROM range(48) r(i);"
                    "ALTER TABLE stays SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1),"
                    " BUDGET (epsilon = 9), WINDOW (came, closed_before = '2026-10-01'))"
                )
            assert shown(owner, "WINDOWS")[0]["closed_rows"] == "unchanged"
            owner.execute("UPDATE stays SET note = 'x' WHERE id = 24")
            assert shown(owner, "WINDOWS")[0]["closed_rows"] == "unchanged"
    with Session(vault, role="owner") as owner:
        owner.execute("UPDATE stays SET note = 'x' WHERE id = 23")
        assert "CHANGED: 24 rows" in str(shown(owner, "WINDOWS")[0]["closed_rows"])
    monkeypatch.undo()
    time.tzset()


def test_windows_are_declared_anew_by_their_script(owner: Session, tmp_path: Path):
    lines = "\n".join(str(r["declaration"]) for r in shown(owner, "DECLARATIONS"))
    assert "WINDOW (day, closed_before = DATE '2026-10-01')" in lines
    owner.run(lines)
    assert "\n".join(str(r["declaration"]) for r in shown(owner, "DECLARATIONS")) == lines
    with Session(tmp_path / "other.duckdb", role="owner") as other:
        other.run(MAKE.partition("ALTER TABLE patients SET")[0])
        other.run(lines)
        assert "\n".join(str(r["declaration"]) for r in shown(other, "DECLARATIONS")) == lines


def test_a_window_goes_with_its_column_and_table(owner: Session):
    owner.run("ALTER TABLE visits RENAME COLUMN day TO date_of; ALTER TABLE visits RENAME TO stays")
    (window,) = [w for w in shown(owner, "WINDOWS") if w["table"] == "stays"]
    assert window["column"] == "date_of"
    assert window["closed_rows"] in (
        "unchanged",
        "CHANGED: 600 rows before 2026-10-01 then, 600 now",
    )
    what = f"COUNT(*) AS n FROM stays WHERE date_of < {DAY}"
    ask(owner, what)
    owner.execute(LATE.replace("visits", "stays"))
    assert is_free(ask(owner, what))
    owner.run("ALTER TABLE stays DROP COLUMN date_of")
    assert [w["table"] for w in shown(owner, "WINDOWS")] == ["tests"]


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        (
            "SET PRIVACY WINDOW (closed_before = DATE '2026-09-01')",
            "the day moves on from 2026-10-01",
        ),
        ("SET PRIVACY WINDOW (ward, closed_before = DATE '2026-12-01')", "visits has day, moment"),
        ("SET PRIVACY WINDOW (no_such, closed_before = DATE '2026-12-01')", "no_such is none"),
        ("SET PRIVACY WINDOW (day, closed_before = 5)", "closed_before = DATE '2026-11-01'"),
        (
            "SET PRIVACY WINDOW (day, closed_before = TIMESTAMP '2026-11-01 12:00:00')",
            "before a day",
        ),
        ("SET PRIVACY WINDOW (day)", "before which day rows are closed"),
        ("SET PRIVACY WINDOW (day, until = DATE '2026-12-01')", "before which day rows are closed"),
        (
            "SET PRIVACY (WINDOW (closed_before = DATE '2026-09-01'), COLUMN ward IN (1))",
            "of all 2",
        ),
    ],
)
def test_windows_that_make_no_sense_are_refused(owner: Session, declared: str, words: str):
    before = shown(owner, "DECLARATIONS")
    with pytest.raises(Error, match=words.replace("(", r"\(")):
        owner.execute(f"ALTER TABLE visits {declared}")
    assert shown(owner, "DECLARATIONS") == before


def test_tables_without_time_or_rows_of_anybody_have_no_window(owner: Session):
    with pytest.raises(DeclarationError, match="name the time column"):
        owner.execute("ALTER TABLE patients SET PRIVACY WINDOW (closed_before = DATE '2026-09-01')")
    with pytest.raises(DeclarationError, match="patients has none"):
        owner.execute("ALTER TABLE patients SET PRIVACY WINDOW (sex, closed_before = '2026-09-01')")
    with pytest.raises(DeclarationError, match="has no PRIVACY WINDOW"):
        owner.execute("ALTER TABLE patients DROP PRIVACY WINDOW")
    owner.execute("CREATE TABLE days AS SELECT DATE '2026-01-01' AS day")
    owner.execute("ALTER TABLE days SET PUBLIC")
    with pytest.raises(DeclarationError, match="days is public"):
        owner.execute("ALTER TABLE days SET PRIVACY WINDOW (day, closed_before = '2026-09-01')")
    with Session(owner.vault) as analyst, pytest.raises(Error, match="only an owner"):
        analyst.execute(f"ALTER TABLE visits SET PRIVACY WINDOW (day, closed_before = {DAY})")
    with pytest.raises(Refused, match="expected"):
        owner.execute("SHOW PRIVACY WINDOW")


def test_a_day_to_come_is_pointed_out(owner: Session):
    said = owner.execute(
        "ALTER TABLE visits SET PRIVACY WINDOW (closed_before = DATE '2999-01-01')"
    )
    assert "the day is still to come" in said.message


def test_answers_about_closed_rows_come_back_with_a_backup(owner: Session, tmp_path: Path):
    what = f"ward, COUNT(*) AS n FROM visits WHERE day < {DAY} GROUP BY ward"
    first = ask(owner, what)
    owner.close()
    back_up(owner.vault, tmp_path / "kept")
    restore(tmp_path / "kept", tmp_path / "other.duckdb")
    with Session(tmp_path / "other.duckdb", role="owner") as other:
        other.execute(LATE)
        assert ask(other, what).table == first.table
        assert {str(w["closed_before"]) for w in shown(other, "WINDOWS")} == {"2026-10-01"}


def test_answers_about_closed_rows_are_shared_through_postgresql(owner: Session, url: str):
    what = f"ward, COUNT(*) AS n FROM visits WHERE day < {DAY} GROUP BY ward"
    owner.close()
    assert (
        CliRunner().invoke(main, ["ledger", "move", str(owner.vault), "--to", url]).exit_code == 0
    )
    with Session(owner.vault, role="owner") as first:
        answer = ask(first, what)
        first.execute(LATE)
        again = ask(first, what)
        assert is_free(again)
        assert again.table == answer.table
