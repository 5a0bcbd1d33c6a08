"""`public LEFT JOIN private` is answered where public rows without a partner add nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sqlpriv.errors import ProgrammingError, Refused
from sqlpriv.session.session import Session

DECLARED = """
CREATE TABLE shops AS SELECT * FROM (VALUES ('a', 1), ('b', 2), ('c', NULL)) v (shop, size);
CREATE TABLE people AS SELECT range AS id, ['a', 'b'][1 + range % 2] AS shop FROM range(100);
ALTER TABLE people ADD PRIMARY KEY (id);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN shop SET PRIVACY DOMAIN IN ('a', 'b', 'c');
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 1000000);
ALTER TABLE shops SET PUBLIC;
SET privacy_epsilon = 100
"""
JOIN = "FROM shops s LEFT JOIN people p ON p.shop = s.shop"
PRIVATE = " WITH DIFFERENTIAL_PRIVACY"
KEEPS = "a public row without a private one would count here"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with Session(tmp_path_factory.mktemp("kept") / "v.duckdb", role="owner") as session:
        session.execute(DECLARED)
        yield session


def test_every_public_group_has_a_row(owner: Session) -> None:
    """Laplace noise of scale 1 / 50: beyond 1 with probability exp(-50)."""
    table = owner.execute(
        f"SELECT s.shop, COUNT(p.id) AS n {JOIN} GROUP BY s.shop ORDER BY 1"
    ).table
    assert table is not None
    rows = [tuple(row.values()) for row in table.to_pylist()]
    assert [(shop, round(n)) for shop, n in rows] == [("a", 50), ("b", 50), ("c", 0)]


@pytest.mark.parametrize(
    ("statement", "place"),
    [
        (f"SELECT s.shop, COUNT(*) AS n {JOIN} GROUP BY s.shop", 16),
        (f"SELECT s.shop, SUM(s.size) AS n {JOIN} GROUP BY s.shop", 16),
        (f"SELECT s.shop, COUNT(coalesce(p.id, 1)) AS n {JOIN} GROUP BY s.shop", 16),
        (f"SELECT s.shop, COUNT(p.id IS NULL) AS n {JOIN} GROUP BY s.shop", 16),
        (f"SELECT p.shop, COUNT(p.id) AS n {JOIN} GROUP BY p.shop", 93),
        (f"SELECT p.shop AS k, COUNT(p.id) AS n {JOIN} GROUP BY k", 98),
        (f"SELECT p.shop AS k, COUNT(p.id) AS n {JOIN} GROUP BY 1", 8),
        (f"SELECT p.shop AS k, COUNT(p.id) AS n {JOIN} GROUP BY ALL", 8),
        (f"SELECT s.shop, COUNT(p.id) AS n {JOIN} WHERE p.id IS NULL GROUP BY s.shop", None),
        (f"SELECT s.shop, COUNT(p.id) AS n {JOIN} WHERE p.id > 5 OR s.size > 1 GROUP BY 1", None),
        (f"SELECT COUNT(p.id) AS n {JOIN} HAVING COUNT(*) > 1", None),
        (f"SELECT COUNT(shop) AS n FROM (SELECT s.shop {JOIN}) AS x", None),
    ],
)
def test_a_row_without_a_partner_is_never_counted_for_one(
    owner: Session, statement: str, place: int | None
) -> None:
    spent = owner.execute("SHOW PRIVACY BUDGET").table
    with pytest.raises(Refused, match=KEEPS) as refusal:
        owner.execute(statement.replace("SELECT", f"SELECT{PRIVATE}", 1))
    assert place is None or refusal.value.column == place + len(PRIVATE)
    assert owner.execute("SHOW PRIVACY BUDGET").table == spent


def test_only_the_last_join_keeps_public_rows(owner: Session) -> None:
    source = "shops s LEFT JOIN people p ON p.shop = s.shop JOIN shops u ON u.shop = p.shop"
    with pytest.raises(Refused, match="a join that keeps public rows"):
        owner.execute(f"SELECT WITH DIFFERENTIAL_PRIVACY COUNT(p.id) AS n FROM {source}")


def test_public_rows_that_private_ones_pick_are_counted(owner: Session) -> None:
    """50 people are of each of two shops, and nobody of the third: the noise, of scale 1 / 100,
    moves a count by 40 with probability below exp(-4000)."""
    semi = "FROM shops s SEMI JOIN people p ON p.shop = s.shop"
    answer = owner.execute(f"SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n {semi}").table
    assert answer is not None
    assert answer.column("n").to_pylist() == [2]
    spent = owner.execute("SHOW PRIVACY BUDGET").table
    with pytest.raises(ProgrammingError, match='no table "p" in FROM'):
        owner.execute(f"SELECT WITH DIFFERENTIAL_PRIVACY COUNT(p.id) AS n {semi}")
    assert owner.execute("SHOW PRIVACY BUDGET").table == spent


def test_a_where_that_drops_them_makes_it_an_inner_join(owner: Session) -> None:
    counted = "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n"
    answer = owner.execute(f"{counted} {JOIN} WHERE p.id BETWEEN 0 AND 49").table
    assert answer is not None
    assert round(answer.column("n")[0].as_py()) == 50
