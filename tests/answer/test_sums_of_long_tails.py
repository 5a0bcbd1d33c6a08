"""`SUM(x USING …)`: the estimators of means, times the count."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people (id BIGINT PRIMARY KEY, sex BIGINT, worth DOUBLE);
INSERT INTO people SELECT range, 1 + range % 2, exp(10 + range % 2 + 1.5 * (
    (hash(range) % 1000 + hash(range + 7) % 1000 + hash(range + 13) % 1000) / 500.0 - 3))
    FROM range(40000);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2) NOT NULL;
ALTER TABLE people ALTER COLUMN worth SET PRIVACY DOMAIN BETWEEN (-10000000, 1000000000) NOT NULL;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000)
"""
SELECT = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {}) sex, SUM(worth{}) AS s"
EXACT = np.array([1.24509630e9, 3.40708548e9])
"""What DuckDB says of the same rows, which are made of hashes."""


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Session]:
    """A vault of a test's own: dearer sums of an earlier test would be answered again."""
    with Session(tmp_path / "v.duckdb", role="owner") as session:
        session.run(MAKE)
        yield session


def _sums(owner: Session, using: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns both groups' errors at 24 prices, and their half-widths: shape (24, 2)."""
    values, halves = [], []
    for run in range(24):
        select = SELECT.format(1 + run * 1e-3, using)
        answer = owner.run(f"{select} FROM people STRATIFY BY sex")[-1]
        assert answer.table is not None
        values.append(answer.table["s"].to_pylist()[:2])
        halves.append(answer.half_widths["s"][:2])
    return np.array(values) - EXACT, np.array(halves, float)


def test_sums_of_long_tails_err_less_than_plain_ones(owner: Session) -> None:
    """A clipped sum's median error is 3e7, and one of 15 is above 1.4e8: the median of 48, two of
    each of 24 answers, is above it with a chance below 1e-7. All of 200 intervals held, so that
    fewer than 24 of 48 have a chance below 1e-9. The twin: plain sums err by 1.3e9, nine of ten
    above 1.4e8."""
    clipped, halves = _sums(owner, " USING quantile")
    plain, _ = _sums(owner, "")
    assert np.median(np.abs(clipped)) < 1.4e8 < np.median(np.abs(plain))
    assert (np.abs(clipped) <= halves).sum() >= 24


def test_pooled_sums_are_of_the_rounds_that_were_paid_for(owner: Session) -> None:
    """Like `quantile` they clip; half-widths, 1.4e9 for the slow tails that the counts allow, are
    below half of the plain ones, 4.2e9. Nine of ten were below 1.6e9 (100 answers)."""
    errors, halves = _sums(owner, " USING pooled")
    assert np.median(np.abs(errors)) < 1.4e8
    assert np.median(halves) < 2.1e9


def test_the_sums_of_strata_add_up_to_everybodys(owner: Session) -> None:
    answer = owner.run(f"{SELECT.format(2, ' USING quantile')} FROM people STRATIFY BY sex")[-1]
    assert answer.table is not None
    first, second, everybody = answer.table["s"].to_pylist()
    assert first + second == pytest.approx(everybody)
