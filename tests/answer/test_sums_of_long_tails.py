"""`SUM(x USING …)`: the estimators of means, times the count."""

from __future__ import annotations

from collections.abc import Iterator

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


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("sums") / "v.duckdb", role="owner") as session:
        session.run(MAKE)
        yield session


def _sums(owner: Session, using: str) -> tuple[np.ndarray, np.ndarray]:
    """Returns both groups' errors at twelve prices, and their half-widths: shape (12, 2)."""
    values, halves = [], []
    for run in range(12):
        select = SELECT.format(1 + run * 1e-3, using)
        answer = owner.run(f"{select} FROM people STRATIFY BY sex")[-1]
        assert answer.table is not None
        values.append(answer.table["s"].to_pylist()[:2])
        halves.append(answer.half_widths["s"][:2])
    return np.array(values) - EXACT, np.array(halves, float)


def test_sums_of_long_tails_err_less_than_plain_ones(owner: Session) -> None:
    """A plain sum's median error is 7e8, that of a clipped one 7e7, because ends are chosen for the
    slow tails that the noise may hide: the median of 24 is above 2.8e8 with a chance below 1e-6.
    Intervals hold 95 %: fewer than 12 of 24 would with a chance below 1e-9. The twin: plain sums
    are not within a clipped one's interval."""
    clipped, halves = _sums(owner, " USING quantile")
    plain, _ = _sums(owner, "")
    assert np.median(np.abs(clipped)) < np.median(np.abs(plain)) / 2.5
    assert (np.abs(clipped) <= halves).sum() >= 12
    assert (np.abs(plain) <= np.median(halves)).sum() < 18


def test_pooled_sums_are_of_the_rounds_that_were_paid_for(owner: Session) -> None:
    """Like `quantile` they clip; half-widths, 8e8 for the slow tails that the counts allow, are
    below half of the plain ones, 4.2e9."""
    errors, halves = _sums(owner, " USING pooled")
    assert np.median(np.abs(errors)) < 2.8e8
    assert np.median(halves) < 2.1e9


def test_the_sums_of_strata_add_up_to_everybodys(owner: Session) -> None:
    answer = owner.run(f"{SELECT.format(2, ' USING quantile')} FROM people STRATIFY BY sex")[-1]
    assert answer.table is not None
    first, second, everybody = answer.table["s"].to_pylist()
    assert first + second == pytest.approx(everybody)
