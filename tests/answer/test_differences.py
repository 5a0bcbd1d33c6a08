"""Intervals of differences and ratios: those of independent figures add up by their squares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE people (id BIGINT PRIMARY KEY, sex BIGINT, pay DOUBLE);
INSERT INTO people SELECT range, 1 + range % 2, range % 100 FROM range(4000);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2) NOT NULL;
ALTER TABLE people ALTER COLUMN pay SET PRIVACY DOMAIN BETWEEN (0, 200) NOT NULL;
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000)
"""
MAN, WOMAN = (f"AVG(pay USING laplace) FILTER (WHERE sex = {sex})" for sex in (1, 2))


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("gaps") / "v.duckdb", role="owner") as session:
        session.run(MAKE)
        yield session


def _row(owner: Session, select: str, epsilon: float = 1.0) -> dict[str, float]:
    price = f"WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = {epsilon})"
    answer = owner.run(f"SELECT {price} {select} FROM people")[-1]
    assert answer.table is not None
    (row,) = answer.table.to_pylist()
    return row | {f"± {name}": halves[0] for name, halves in answer.half_widths.items()}


def test_the_errors_of_two_groups_add_up_by_their_squares(owner: Session) -> None:
    row = _row(
        owner, f"{MAN} - {WOMAN} AS gap, ERROR({MAN} - {WOMAN}) AS e, {MAN} AS m, {WOMAN} AS w"
    )
    assert row["± gap"] == pytest.approx(np.hypot(row["± m"], row["± w"]))
    assert row["e"] == pytest.approx(row["± gap"])


@pytest.mark.parametrize("rows", ["", "STRATIFY BY sex"])
def test_what_figures_are_made_of_has_the_interval_of_what_is_made(
    owner: Session, rows: str
) -> None:
    """SUM / COUNT is AVG, and AVG × COUNT is SUM, half-widths and all; as if each erred in the
    worst direction they would be twice as long, and more."""
    outputs = (
        "SUM(pay) / COUNT(*) AS ratio, AVG(pay USING laplace) AS mean,"
        " AVG(pay USING laplace) * COUNT(*) AS product, SUM(pay) AS total"
    )
    price = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)"
    answer = owner.run(f"SELECT {price} {outputs} FROM people {rows}")[-1]
    halves = {name: np.array(half, float) for name, half in answer.half_widths.items()}
    assert halves["ratio"] == pytest.approx(halves["mean"], rel=0.01)
    assert halves["product"] == pytest.approx(halves["total"], rel=0.01)


def test_error_of_several_figures_is_their_half_width(owner: Session) -> None:
    of = "SUM(pay) / COUNT(*)"
    row = _row(owner, f"{of} AS ratio, ERROR({of}) AS e")
    assert row["e"] == pytest.approx(row["± ratio"])


def test_intervals_of_differences_and_ratios_hold_95_percent(owner: Session) -> None:
    """120 prices, ascending, as a lower one is answered from a dearer. The difference of 2,000 rows
    each is -1, the ratio 49 / 50: at 95 % fewer than 95 of 120 would hold with a chance below 1e-9.
    The twin, a third of the half-widths, holds 49 % of normal errors."""
    gaps, ratios = [], []
    for run in range(120):
        row = _row(owner, f"{MAN} - {WOMAN} AS gap, {MAN} / {WOMAN} AS ratio", 2 + run * 1e-3)
        gaps.append(abs(row["gap"] + 1) / row["± gap"])
        ratios.append(abs(row["ratio"] - 49 / 50) / row["± ratio"])
    for apart in (np.array(gaps), np.array(ratios)):
        assert (apart <= 1).sum() >= 95
        assert (apart <= 1 / 3).sum() < 95


def test_a_ratio_has_no_interval_where_its_divisor_may_be_0(owner: Session) -> None:
    """The divisor is a count of at most 60 rows, whose ± is 100 and more at these prices: the ratio
    has a ± where the noised count is farther from 0 than that, with a chance of .1 at most. That no
    answer of twenty has the note has a chance below 1e-20."""
    few, many = "COUNT(*) FILTER (WHERE id < 40)", "COUNT(*) FILTER (WHERE sex = 1)"
    for run in range(20):
        row = _row(
            owner, f"{many} / {few} AS r, {few} AS n, {few} / {many} AS s", 0.02 + run * 1e-4
        )
        assert (row["± r"] is None) == (abs(row["n"]) <= row["± n"])
    price = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.019)"
    notes = []
    for limit in range(41, 61):
        select = f"SELECT {price} COUNT(*) / COUNT(*) FILTER (WHERE id < {limit}) AS r FROM people"
        notes.append(owner.run(select)[-1].message)
    assert any(
        "± of r is not known where noise may make what it is divided by 0" in n for n in notes
    )


def test_the_farther_end_of_a_ratio_counts(owner: Session) -> None:
    """Of 1 / n the end at n - h lies farther off than that at n + h: the ± reaches it."""
    row = _row(owner, "1000.0 / COUNT(*) AS r, COUNT(*) AS n", 0.01)
    n, half = row["n"], row["± n"]
    assert half < n  # 4,000 rows, ± 300: with a chance of 1e-17 the noise is as large
    assert row["± r"] == pytest.approx(1000 / (n - half) - 1000 / n)
