"""Quantiles of times of day are times of day, to the minute."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import pyarrow as pa
import pytest
from support.templates import vault_of

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE people AS SELECT i AS id, CASE WHEN i % 2 = 0 THEN 'a' ELSE 'b' END AS team,
    TIME '07:30:20' + to_hours((i % 2)::INTEGER) AS wakes FROM range(4000) AS t(i);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people SET PRIVACY (KEY (id), COLUMN team IN ('a', 'b'), BUDGET (epsilon = 1000));
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(
        vault_of(SETUP, tmp_path_factory.mktemp("times") / "people.duckdb"),
    ) as opened:
        opened.execute("SET privacy_epsilon = 20")
        yield opened


def test_each_is_that_of_its_group(session: Session) -> None:
    """All 2000 rows of a team have one time. Another one would take noise of hundreds of rows; its
    scale is below ten at this price, so that it has probability below exp(-50)."""
    table = session.execute(
        "SELECT team, MIN(wakes) AS first, MEDIAN(wakes) AS middle, MAX(wakes) AS last, COUNT(*) AS"
        " n FROM people GROUP BY team ORDER BY team"
    ).table
    assert table is not None
    assert {table.schema.field(name).type for name in ("first", "middle", "last")} == {
        pa.time64("us")
    }
    for row, hour in zip(table.to_pylist(), (7, 8), strict=True):
        assert {row["first"], row["middle"], row["last"]} == {dt.time(hour, 30)}


def test_other_outputs_keep_their_half_widths(session: Session) -> None:
    result = session.execute("SELECT MEDIAN(wakes) AS m, COUNT(*) AS n FROM people")
    assert set(result.half_widths) == {"n"}


def test_of_no_rows_it_is_null(session: Session) -> None:
    """The count of values costs ε = 70: it is not 0 with a probability of 2 exp(-70)."""
    ask = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 400) MEDIAN(wakes) AS m"
    table = session.execute(f"{ask} FROM people WHERE id < 0").table
    assert table is not None
    assert table.column("m").to_pylist() == [None]


def test_a_mean_says_what_to_write(session: Session) -> None:
    with pytest.raises(Refused, match="count minutes: AVG"):
        session.execute("SELECT AVG(wakes) FROM people")
