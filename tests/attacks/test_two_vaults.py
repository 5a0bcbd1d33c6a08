"""Two vaults whose private rows have nothing in common, one transcript.

The second vault is told the exact integers that were read of the first, and draws the same noise.
All else that an analyst is shown (columns, prices, errors, notes, half-widths, the number and order
of rows, EXPLAIN, what is spent) must then be the same, to the letter: otherwise it came from rows
by another way than the gate.
"""

from __future__ import annotations

import random
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from suites.run import classes, in_its_dialect, statements
from suites.vault import make_vault
from support.recorded_reads import RecordedReads

from sqlpriv.errors import Error
from sqlpriv.session.commands import show
from sqlpriv.session.queries import step_runner
from sqlpriv.session.session import Result, Session
from sqlpriv.synth.registry import REGISTRY

FEW = 6
KEYS = (
    "ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1e5, delta = 1e-9, keys_delta = 1e-9);"
    " ALTER TABLE stays SET PRIVACY WINDOW (day, closed_before = DATE '2023-02-01')"
)
LOOKS = (
    *(
        f"SHOW PRIVACY {what}"
        for what in (
            "TABLES",
            "BUDGET",
            "BUDGET HISTORY",
            "RELEASES",
            "RELEASES DETAILS",
            "DECLARATIONS",
            "WINDOWS",
        )
    ),
    "SHOW GRANTS",
    "SHOW TABLES",
    "DESCRIBE odd",
    "PRAGMA table_info('events')",
    "SELECT * FROM information_schema.columns ORDER BY ALL",
    "SELECT * EXCLUDE (sql) FROM duckdb_tables() ORDER BY ALL",
    "SELECT * FROM duckdb_constraints() ORDER BY ALL",
)
"""All that an analyst can look at for nothing; hours and minutes are those of the question."""
MORE_OPTIONS = {"topdown": ", hierarchy = 'sex, educ'"}
PRIVATE = ("people", "visits", "stays", "events", "odd", "customers", "sales", "members", "logins")
OTHER_ROWS = {
    "none": "; ".join(f"DELETE FROM {table}" for table in (*PRIVATE, "baskets")),
    "doubled": "INSERT INTO visits SELECT * FROM visits; INSERT INTO events SELECT * FROM events;"
    " UPDATE people SET age = -5, sex = 'Q', income = NULL; DELETE FROM odd WHERE id % 3 > 0;"
    " UPDATE members SET nick = 'other', level = NULL; DELETE FROM customers WHERE cid % 2 = 0",
}


def changed_copy(vault: Path, name: str) -> Path:
    """The vault, in a folder of its own, with other private rows."""
    copy = shutil.copytree(vault.parent, vault.parent.with_name(name)) / vault.name
    with Session(copy, role="owner") as owner:
        owner.run(OTHER_ROWS[name])
    return copy


def written(result: Result) -> str:
    rows = None if result.table is None else (result.table.schema, result.table.to_pydict())
    return f"{rows} {result.message} {result.half_widths} {result.price} {result.summed}"


def transcript(vault: Path, asked: list[str]) -> list[str]:
    lines = []
    with Session(vault, principal="ann") as session:
        session.execute("SET privacy_epsilon = 8")
        for text in asked:
            dialect, sql = in_its_dialect(text)
            session.execute(f"SET privacy_dialect = '{dialect}'")
            for look in (
                lambda sql: str(session.describe(sql)),
                lambda sql: str(session.quote(sql)),
                lambda sql: written(session.execute(f"EXPLAIN PRIVACY {sql}")),
                lambda sql: written(session.execute(sql)),
                lambda sql: written(session.execute(f"EXPLAIN PRIVACY {sql}")),
            ):
                try:
                    lines.append(f"{sql}: {look(sql)}")
                except Error as error:
                    lines.append(f"{sql}: {type(error).__name__} {error}")
            session.execute("RESET privacy_dialect")
        clock = r"\d\d:\d\d(:\d\d)?"
        lines += [re.sub(clock, "", written(session.execute(look))) for look in LOOKS]
        catalog = f"{session.catalog()} {session.comments()} {session.budgets()}"
        lines.append(re.sub(r"T\d\d:\d\d:\d\d", "", catalog))  # when a table was made
    return lines


def check_statements(
    tmp_path: Path, asked: list[str], names: list[str], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Returns the first vault's transcript, which those of others were compared with."""
    reads, folder = RecordedReads(monkeypatch), tmp_path / "first"
    folder.mkdir()
    first = make_vault(folder / "people.duckdb")
    with Session(first, role="owner") as owner:
        owner.run(KEYS)
    others = {name: changed_copy(first, name) for name in names}
    expected = transcript(first, asked)
    reads.replaying = True
    for name, vault in others.items():
        for line, of_first in zip(transcript(vault, asked), expected, strict=True):
            assert line == of_first, name
    return expected


def all_statements() -> list[str]:
    return [text for name in classes() for text in statements(name)]


def test_a_few_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others at every run: of 2,200."""
    name = random.choice([*OTHER_ROWS])
    check_statements(tmp_path, random.sample(all_statements(), FEW), [name], monkeypatch)


def test_what_was_found_true_of_the_rows_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: whether the bound of visits was found to hold stands under the answer."""
    monkeypatch.setattr(step_runner, "plan_notices", lambda _, contract: [str(contract.facts)])
    with pytest.raises(AssertionError, match="doubled"):
        check_statements(tmp_path, ["SELECT COUNT(*) AS n FROM visits"], ["doubled"], monkeypatch)


def test_what_a_look_tells_of_the_rows_would_be_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: SHOW GRANTS tells whether the bound of visits was found to hold."""
    monkeypatch.setattr(
        show, "grants", lambda contracts, _: pa.table({"x": [str(contracts["visits"].facts)]})
    )
    with pytest.raises(AssertionError, match="doubled"):
        check_statements(tmp_path, [], ["doubled"], monkeypatch)


@pytest.mark.slow
def test_all_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_statements(tmp_path, all_statements(), [*OTHER_ROWS], monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "strata"),
    [(x, y) for x in REGISTRY for y in ("", " STRATIFY BY region") if not y or x != "topdown"],
)
def test_every_synthesizer(
    method: str, strata: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it asks for next, the rows that it draws, and what it says of them.

    Rows are drawn by entropy of their own, which is the same here for both vaults.
    """
    draw = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed=None: draw(seed or 7))
    options = f"OPTIONS (epsilon = 1{MORE_OPTIONS.get(method, '')})"
    made = f"CREATE SYNTHETIC TABLE made AS SELECT sex, educ, age FROM people{strata}"
    asked = [f"{made} USING {method} {options}", "SELECT * FROM made"]
    lines = check_statements(tmp_path, asked, [*OTHER_ROWS], monkeypatch)
    assert not [line for line in lines if ": Refused" in line or ": OperationalError" in line]
