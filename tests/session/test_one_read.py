"""A statement with means reads private rows once: what later rounds may ask is read ahead.

Two means whose bins would make thousands of joint groups are two statements of the engine, of the
same opening of the vault. Few rows have another grid of bins than many (`mean_bins`), and which it
is follows from counts that the same read gives.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlpriv.kernel.reader import Reader
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people AS SELECT i AS id, i % 6 AS g, i * i % 500 AS income, -i AS debt
    FROM range(3000) r(i);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN g SET PRIVACY DOMAIN BETWEEN (0, 5);
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 1000000);
ALTER TABLE people ALTER COLUMN debt SET PRIVACY DOMAIN BETWEEN (-100000, 100000);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 100000)
"""


@pytest.fixture(scope="module")
def analyst(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    vault: Path = tmp_path_factory.mktemp("reads") / "v.duckdb"
    with Session(vault, role="owner") as owner:
        owner.run(MAKE)
    with Session(vault) as session:
        yield session


@pytest.mark.parametrize(
    ("statement", "scans"),
    [
        ("g, COUNT(*), AVG(income), SUM(income) FROM people GROUP BY g", 1),
        ("AVG(debt) FROM people", 1),
        ("AVG(income), AVG(debt) FROM people STRATIFY BY g", 2),
    ],
)
@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1, 30])
def test_all_rounds_are_of_one_read(
    analyst: Session,
    monkeypatch: pytest.MonkeyPatch,
    statement: str,
    scans: int,
    epsilon: float,
) -> None:
    assert count_reads(analyst, monkeypatch, statement, epsilon) == (1, scans)


def test_rounds_that_follow_from_sums_read_again(
    analyst: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The twin: COINPRESS clips its second sum by the first."""
    openings, scans = count_reads(
        analyst, monkeypatch, "AVG(income USING coinpress) FROM people", 1
    )
    assert openings > 1
    assert scans > 1


def count_reads(
    session: Session, monkeypatch: pytest.MonkeyPatch, statement: str, epsilon: float
) -> tuple[int, int]:
    """Returns how often a statement opens the vault for reading rows, and how often it scans
    them."""
    readers: list[Reader] = []
    real = Reader.cells
    monkeypatch.setattr(
        Reader, "cells", lambda reader, text: readers.append(reader) or real(reader, text)
    )
    session.execute(f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon}) {statement}")
    return len({*map(id, readers)}), len(readers)
