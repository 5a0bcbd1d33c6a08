"""Attacks on closed rows: does a price, a time or an answer tell that somebody's row came in late?

Two worlds begin with the same vault and the same sealed answers. In one, a row of a closed day
comes in afterwards; in the other, a row of a day that is open. A write is public, so an analyst
must see the same in both: prices, answers, words, and how often private rows were read, which a
clock shows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.closed_visits import DAY, LATE, MAKE, RECENT, ask
from support.templates import vault_of

from sqlpriv.kernel.reader import Reader
from sqlpriv.session.access.closed_rows import ClosedRows
from sqlpriv.session.session import Session

QUESTIONS = (
    f"COUNT(*) AS n FROM visits WHERE day < {DAY}",
    "COUNT(*) AS n FROM visits WHERE day = DATE '2026-09-05'",
    f"ward, AVG(cost) AS a FROM visits WHERE day < {DAY} GROUP BY ward",
    f"SUM(cost) AS s FROM visits WHERE day < {DAY} AND doctor = 'd1' STRATIFY BY ward",
    f"MEDIAN(cost) AS m FROM visits WHERE day < {DAY}",
    f"doctor, COUNT(*) AS n FROM visits WHERE day < {DAY} GROUP BY doctor",
    "COUNT(*) AS n FROM visits AS v JOIN tests AS t ON v.patient = t.patient"
    f" WHERE v.day < {DAY} AND t.taken < {DAY}",
)
WORLDS = {
    "a late row": LATE,
    "a late row of somebody new": LATE.replace("9000, 7", "9000, NULL"),
    "rows are gone": "DELETE FROM visits WHERE day < DATE '2026-09-20'",
    "rows of one patient are gone": "DELETE FROM visits WHERE patient = 7 AND day < '2026-09-20'",
}


@pytest.fixture
def world(tmp_path: Path) -> Callable[[str], Path]:
    """Makes vaults of the same sealed answers, each with one write more."""
    first = vault_of(MAKE, tmp_path / "first" / "v.duckdb")
    with Session(first, role="owner") as owner:
        for question in QUESTIONS:
            ask(owner, question)

    def copy_with(write: str) -> Path:
        folder = tmp_path / f"world {len([*tmp_path.iterdir()])}"
        shutil.copytree(first.parent, folder)
        with Session(folder / "v.duckdb", role="owner") as owner:
            owner.execute(write)
        return folder / "v.duckdb"

    return copy_with


def seen_by_an_analyst(vault: Path, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Returns all that an analyst sees of closed rows, and how often private rows were read."""
    reads: list[object] = []
    with monkeypatch.context() as patched, Session(vault, principal="eve") as eve:
        for name in ("cells", "groups"):
            read = getattr(Reader, name)
            patched.setattr(Reader, name, lambda *a, _read=read: reads.append(0) or _read(*a))
        seen: list[object] = []
        for question in QUESTIONS:
            priced = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 900) {question}"
            explained = eve.execute(f"EXPLAIN PRIVACY {priced}")
            seen += [explained.table.to_pylist(), explained.message]
            answer = eve.execute(priced)
            seen += [answer.table.to_pylist(), answer.message, answer.price, len(reads)]
        for what in ("BUDGET", "WINDOWS", "DECLARATIONS", "TABLES"):
            seen.append(eve.execute(f"SHOW PRIVACY {what}").table.to_pylist())
        return seen


@pytest.mark.parametrize("write", WORLDS.values(), ids=WORLDS)
def test_a_row_of_a_closed_day_is_not_seen(
    world: Callable[[str], Path], write: str, monkeypatch: pytest.MonkeyPatch
):
    late, recent = (seen_by_an_analyst(world(x), monkeypatch) for x in (write, RECENT))
    assert late == recent
    assert [value for value in late if isinstance(value, int)] == [0] * len(QUESTIONS)  # no read
    print("learned of a late row: nothing")


def test_a_replay_only_where_rows_are_the_same_is_caught(
    world: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
):
    """The twin: were rows compared at the question, its price would tell of the late row."""
    closed = "SELECT md5(string_agg(CAST(v AS VARCHAR), '' ORDER BY v)) FROM visits v WHERE day < "
    serve = ClosedRows.earlier_states
    vaults = {write: world(write) for write in (LATE, RECENT)}
    rows = {}
    for write, vault in {"": world("SELECT 1"), **vaults}.items():
        with Session(vault, role="owner") as owner:
            rows[write] = owner.execute(closed + DAY).table.to_pylist()
    seen = []
    for write, vault in vaults.items():
        with monkeypatch.context() as patched:
            same = rows[write] == rows[""]
            patched.setattr(
                ClosedRows, "earlier_states", lambda *a, _same=same: serve(*a) if _same else []
            )
            seen.append(seen_by_an_analyst(vault, monkeypatch))
    assert seen[0] != seen[1]
    assert rows[LATE] != rows[""] == rows[RECENT]
