"""What keeps a subquery from being answered by itself is what the statement is refused for."""

from __future__ import annotations

import pytest
from suites.vault import make_vault

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

SHOWN = "SELECT a.k, a.n, b.n FROM a JOIN b ON a.k = b.k"


@pytest.fixture(scope="module")
def analyst(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A session on the suites' vault."""
    session = Session(make_vault(tmp_path_factory.mktemp("parts") / "vault.duckdb"))
    session.execute("SET privacy_epsilon = 1")
    return session


def with_second(query: str) -> str:
    """Returns a statement that joins two aggregates, of which the first can be answered."""
    first = "SELECT channel AS k, COUNT(*) AS n FROM sales GROUP BY channel"
    return f"WITH a AS ({first}), b AS ({query}) {SHOWN}"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            "SELECT s.channel AS k, COUNT(*) AS n FROM sales s, visits v WHERE v.ward = s.store"
            " GROUP BY s.channel",
            "rows of different units would meet",
        ),
        ("SELECT channel AS k, string_agg(pid) AS n FROM sales GROUP BY channel", "string_agg"),
    ],
)
def test_the_reason_is_that_of_the_part(analyst: Session, query: str, reason: str) -> None:
    with pytest.raises(Refused, match=f"(?i){reason}"):
        analyst.execute(with_second(query))


@pytest.mark.parametrize("keys", ["PARTITION BY pid ", ""])
def test_an_order_of_rows_of_many_units_is_called_that(analyst: Session, keys: str) -> None:
    """The error was about a join, which nobody had written."""
    ranked = f"SELECT price, ROW_NUMBER() OVER ({keys}ORDER BY price DESC) AS place FROM sales"
    with pytest.raises(Refused, match="puts rows of different units in order"):
        analyst.execute(f"SELECT AVG(price) FROM ({ranked}) r WHERE place <= 2")
