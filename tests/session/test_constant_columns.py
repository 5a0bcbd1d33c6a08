"""What divides by a variance is NULL where the variance may be noise alone; types that are not read
say what to keep instead, and cost nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

TABLES = """
CREATE TABLE c AS SELECT i AS id, 5 AS x, (i % 10)::INTEGER AS y, '01'::BIT AS bits,
    to_minutes(i) AS length, {'a': i} AS parts, 'a'::BLOB AS bytes FROM range(5000) AS r (i);
ALTER TABLE c ALTER COLUMN bytes SET NOT NULL;
ALTER TABLE c ADD PRIMARY KEY (id);
ALTER TABLE c ADD PRIVACY_KEY (id);
ALTER TABLE c SET PU;
ALTER TABLE c SET PRIVACY BUDGET (epsilon = 1000, delta = 1e-9);
ALTER TABLE c ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN (0, 10) NOT NULL;
ALTER TABLE c ALTER COLUMN y SET PRIVACY DOMAIN BETWEEN (0, 10) NOT NULL
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = tmp_path_factory.mktemp("constant") / "c.duckdb"
    _make(path)
    with Session(path, principal="constant") as session:
        yield session


def _make(path: Path) -> None:
    with Session(path, role="owner", principal="owner") as owner:
        owner.execute(TABLES)


def test_a_constant_column_has_no_skewness(session: Session) -> None:
    """A noised variance of nothing is above its half-width with probability .025: n = 20 prices in
    rising steps, more than 6 figures come with a probability below 5e-7. Half of them came before,
    as large as 800."""
    shown = 0
    for step in range(20):
        price = f"OPTIONS (epsilon = {1 + step * 1e-5})"
        outputs = "skewness(x) AS s, regr_slope(y, x) AS r, skewness(y) AS t"
        table = session.execute(f"SELECT WITH DIFFERENTIAL_PRIVACY {price} {outputs} FROM c").table
        (row,) = table.to_pylist()
        shown += row["s"] is not None
        assert (row["s"] is None) == (row["r"] is None)
        assert row["t"] is not None
    assert shown <= 6


@pytest.mark.parametrize(
    ("condition", "hint"),
    [
        ("bits IS NULL", "BOOLEAN columns"),
        ("length IS NULL", "number of days or seconds"),
        ("parts.a = 3", "columns of their own"),
        ("bytes IS NULL", "no public list"),
    ],
)
def test_what_is_not_read_says_what_to_keep(session: Session, condition: str, hint: str) -> None:
    with pytest.raises(Refused, match="is not read in private rows") as refusal:
        session.execute(f"SELECT COUNT(*) AS n FROM c WHERE {condition}")
    assert hint in str(refusal.value)


def test_values_that_are_surely_there_are_counted_as_rows(session: Session) -> None:
    count = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2) COUNT({}) AS n FROM c"
    first, second = (session.execute(count.format(x)).table.to_pylist() for x in ("*", "bytes"))
    assert first == second  # one question, replayed
