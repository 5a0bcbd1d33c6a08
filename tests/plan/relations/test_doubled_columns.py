"""Columns of queries in FROM that double one another are refused before their text is written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.templates import vault_of

from sqlpriv.errors import Refused
from sqlpriv.plan.relations.derived_tables import MOST_WRITTEN
from sqlpriv.session.session import Session

ROWS = """
CREATE TABLE sales AS SELECT i AS id, i % 5 AS qty FROM range(600) AS r (i);
ALTER TABLE sales ADD PRIMARY KEY (id);
ALTER TABLE sales ADD PRIVACY_KEY (id);
ALTER TABLE sales SET PU;
ALTER TABLE sales ALTER COLUMN qty SET PRIVACY DOMAIN BETWEEN (0, 4);
ALTER TABLE sales SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(vault_of(ROWS, tmp_path_factory.mktemp("doubled") / "v.duckdb")) as session:
        session.execute("SET privacy_epsilon = 100")
        yield session


def doubled(levels: int) -> str:
    text = "SELECT qty * 1.5 AS q FROM sales"
    for _ in range(levels):
        text = f"SELECT q + q AS q FROM ({text})"
    return text


@pytest.mark.parametrize("levels", [10, 25])
@pytest.mark.parametrize("asked", ["COUNT(*)", "SUM(q)"])
def test_what_grows_too_long_is_refused_and_costs_nothing(
    session: Session, levels: int, asked: str
) -> None:
    """Twenty-five levels would be 3 * 10^7 columns: this ends because nothing is written out."""
    spent = session.execute("SHOW PRIVACY BUDGET").table.to_pylist()
    with pytest.raises(Refused, match=f"reads more than {MOST_WRITTEN} columns") as refused:
        session.execute(f"SELECT {asked} FROM ({doubled(levels)}) WHERE q > 3")
    assert refused.value.hint
    assert session.execute("SHOW PRIVACY BUDGET").table.to_pylist() == spent


def test_a_few_levels_are_answered(session: Session) -> None:
    """`q` is 32 times 1.5 times a quantity: above 50 for quantities 2, 3 and 4, of 120 rows each.
    At epsilon 100 an error of 1 has a probability below e^-99."""
    table = session.execute(f"SELECT COUNT(*) AS n FROM ({doubled(5)}) WHERE q > 50").table
    assert table["n"].to_pylist() == [360]


def test_columns_side_by_side_are_counted_each_for_itself(session: Session) -> None:
    """Two hundred columns that read one column each are no long expression."""
    listed = ", ".join(f"qty + {i} AS q{i}" for i in range(200))
    table = session.execute(f"SELECT COUNT(*) AS n FROM (SELECT {listed} FROM sales)").table
    assert table["n"].to_pylist() == [600]
