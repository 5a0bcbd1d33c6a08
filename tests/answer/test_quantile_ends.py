"""Quantiles at the shares 0 and 1, which are those of MIN and MAX."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from suites.vault import make_vault

from sqlpriv.session.session import Session


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(make_vault(tmp_path_factory.mktemp("ends") / "people.duckdb")) as session:
        yield session


@pytest.mark.parametrize(("share", "low", "high"), [(0, 55, 70), (1.0, 30, 45)])
def test_the_ends_of_a_quantile_lie_at_the_rows(
    session: Session, share: float, low: int, high: int
) -> None:
    """Its score was that of every level of an empty end. The shares are those of MIN and MAX, 8
    rows of 800 away from it: at rho > 60 a level beyond is chosen with less than 60 * exp(-80)."""
    rows = "age % 100 >= 60" if share == 0 else "age % 100 < 40"
    text = (
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 200) QUANTILE_CONT(age, {share}) AS q"
    )
    table = session.execute(
        f"{text}, quantile_cont(age, [{share}]) AS l FROM people WHERE {rows}"
    ).table
    (row,) = table.to_pylist()
    assert low <= row["q"] <= high
    assert row["l"] == [row["q"]]
