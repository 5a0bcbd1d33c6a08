"""A subquery that only names columns of a table is that table: one question, paid once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.templates import vault_of

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

ROWS = """
CREATE TABLE sales AS SELECT i AS id, ['a', 'b'][1 + i % 2] AS kind, i % 5 AS qty, i % 3 = 0 AS ok
FROM range(600) AS r (i);
ALTER TABLE sales ADD PRIMARY KEY (id);
ALTER TABLE sales ADD PRIVACY_KEY (id);
ALTER TABLE sales SET PU;
ALTER TABLE sales ALTER COLUMN kind SET PRIVACY DOMAIN IN ('a', 'b');
ALTER TABLE sales ALTER COLUMN qty SET PRIVACY DOMAIN BETWEEN (0, 4);
ALTER TABLE sales SET PRIVACY BUDGET (epsilon = 100000, delta = 1e-9);
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(vault_of(ROWS, tmp_path_factory.mktemp("bare") / "v.duckdb")) as session:
        session.execute("SET privacy_epsilon = 100")
        yield session


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "SELECT kind, COUNT(*) AS n FROM sales GROUP BY kind",
            "SELECT kind, COUNT(*) AS n FROM (SELECT kind, qty FROM sales) AS t GROUP BY kind",
        ),
        (
            "SELECT kind, SUM(qty) AS n FROM sales WHERE ok GROUP BY kind",
            "SELECT t.kind, SUM(t.qty) AS n FROM (SELECT s.* FROM sales s WHERE s.ok) AS t "
            "GROUP BY 1",
        ),
        (
            "SELECT SUM(qty) AS n FROM sales WHERE qty > 1 AND ok",
            "WITH t AS (SELECT qty AS qty, ok FROM sales WHERE qty > 1) "
            "SELECT SUM(qty) AS n FROM t WHERE ok",
        ),
        (
            "SELECT kind, AVG(qty) AS n FROM sales WHERE id > 7 STRATIFY BY kind",
            "SELECT kind, AVG(qty) AS n FROM (SELECT * FROM sales WHERE id > 7) STRATIFY BY kind",
        ),
        (
            "SELECT kind, COUNT(*) AS n FROM sales WHERE ok AND qty > 2 GROUP BY kind",
            "SELECT kind, COUNT(*) AS n FROM (SELECT kind, qty FROM (SELECT * FROM sales WHERE ok) "
            "AS a WHERE a.qty > 2) AS b GROUP BY kind",
        ),
        (
            "SELECT COUNT(*) AS n FROM sales WHERE id > 9",
            "SELECT COUNT(*) AS n FROM (SELECT * FROM (SELECT * FROM sales WHERE id > 9))",
        ),
    ],
)
def test_both_are_one_question(session: Session, one: str, other: str) -> None:
    paid = session.execute(one).table
    before = session.budgets()
    free = session.execute(other).table
    assert free == paid
    assert session.budgets() == before


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT SUM(qty) AS n FROM (SELECT kind FROM sales)", 'no column "qty"'),
        ("SELECT SUM(u.qty) AS n FROM (SELECT qty FROM sales) AS t", 'no column "u.qty"'),
        ("SELECT SUM(sales.qty) AS n FROM (SELECT qty FROM sales) AS t", 'no column "sales.qty"'),
        ("SELECT SUM(t.kind) AS n FROM (SELECT qty FROM sales) AS t", 'no column "t.kind"'),
        ("SELECT SUM(qty) FROM (SELECT sales.qty FROM sales AS s)", 'no column "sales.qty"'),
        ("SELECT SUM(qty) FROM (SELECT qty FROM sales AS s WHERE sales.ok)", "sales.ok"),
        (
            "SELECT SUM(qty) FROM (SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) qty "
            "FROM sales WHERE ok)",
            "no price of their own",
        ),
    ],
)
def test_what_a_subquery_does_not_give_is_not_there(
    session: Session, statement: str, message: str
) -> None:
    with pytest.raises(Refused, match=message):
        session.execute(statement)


def test_a_name_of_an_output_is_not_a_column_that_the_subquery_leaves_out(session: Session) -> None:
    """`ORDER BY qty` is by the count, and not by the column of the table."""
    table = session.execute(
        "SELECT kind, COUNT(*) + 0 AS qty FROM "
        "(SELECT kind FROM sales WHERE id < 500 OR kind = 'b') GROUP BY kind HAVING qty > 260 "
        "ORDER BY qty"
    ).table
    assert table is not None
    assert table.column("kind").to_pylist() == ["b"]  # 300 of 250, at a deviation below 1
