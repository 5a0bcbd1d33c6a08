"""Columns of public tables are keys and summed without a declaration; every answer is DuckDB's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.templates import vault_of

from sqlpriv.errors import Refused
from sqlpriv.session.access import free_sql
from sqlpriv.session.session import Session

MAKE = """
CREATE TABLE visits (id INTEGER PRIMARY KEY, place VARCHAR, code BIGINT, day DATE);
INSERT INTO visits SELECT i, substr('abcde', 1 + i % 5, 1), i % 3 * 1000000,
    DATE '2020-01-01' + (i % 4)::INTEGER
FROM range(1000) t(i);
CREATE TABLE places (place VARCHAR, region VARCHAR, height INTEGER, lat DOUBLE, wide BIGINT);
INSERT INTO places VALUES ('a', 'n''orth', 10, 1.5, 0), ('b', 'south', -3, NULL, 5000000000),
    ('c', NULL, 4, 2.25, 7), ('d', 'south', 90, -1e3, 9);
CREATE TABLE codes (code BIGINT, what VARCHAR); INSERT INTO codes VALUES (0, 'x'), (1000000, 'y');
CREATE TABLE days (day DATE, free BOOLEAN);
INSERT INTO days VALUES (DATE '2020-01-01', true), (DATE '2020-01-03', false);
ALTER TABLE places SET PUBLIC; ALTER TABLE codes SET PUBLIC; ALTER TABLE days SET PUBLIC;
ALTER TABLE visits ADD PRIVACY_KEY (id);
ALTER TABLE visits SET PU;
ALTER TABLE visits SET PRIVACY BUDGET (epsilon = 1e9)
"""
PRIVATE = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1e6) "


@pytest.fixture
def owner(tmp_path: Path) -> Iterator[Session]:
    with Session(vault_of(MAKE, tmp_path / "v.duckdb"), role="owner") as session:
        yield session


def rows(session: Session, sql: str) -> list[tuple[object, ...]]:
    table = session.run(sql)[0].table
    assert table is not None
    values = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return [tuple(round(v, 2) if isinstance(v, float) else v for v in row) for row in values]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT {}region, count(*) FROM visits JOIN places USING (place) GROUP BY 1 ORDER BY 1",
        "SELECT {}p.place, count(*) FROM visits v LEFT JOIN places p ON v.place = p.place"
        " GROUP BY 1 ORDER BY 1 NULLS LAST",
        "SELECT {}height, count(*) FROM visits JOIN places USING (place) GROUP BY 1"
        " HAVING count(*) > 5 ORDER BY 1",
        "SELECT {}wide, count(*) FROM visits JOIN places USING (place) GROUP BY 1 ORDER BY 1",
        "SELECT {}what, count(*) FROM visits JOIN codes USING (code) GROUP BY 1 ORDER BY 1",
        "SELECT {}d.day, count(*) FROM visits v JOIN days d ON v.day = d.day GROUP BY 1"
        " HAVING count(*) > 5 ORDER BY 1",
        "SELECT {}free, count(*) FROM visits JOIN days USING (day) GROUP BY 1"
        " HAVING count(*) > 5 ORDER BY 1",
    ],
)
def test_an_answer_is_duckdbs(owner: Session, sql: str) -> None:
    assert rows(owner, sql.format(PRIVATE)) == rows(owner, sql.format(""))


def test_rows_that_are_written_later_are_in_the_list(owner: Session) -> None:
    sql = "SELECT {}region, count(*) FROM visits JOIN places USING (place) GROUP BY 1 ORDER BY 1"
    assert len(rows(owner, sql.format(PRIVATE))) == 3
    owner.run("INSERT INTO places VALUES ('e', 'west', 1, 1, 1)")
    assert rows(owner, sql.format(PRIVATE)) == rows(owner, sql.format(""))
    assert len(rows(owner, sql.format(PRIVATE))) == 4


def test_a_domain_that_was_declared_counts(owner: Session) -> None:
    owner.run("ALTER TABLE places ALTER COLUMN region SET PRIVACY DOMAIN IN ('south', 'west')")
    sql = f"SELECT {PRIVATE}region, count(*) FROM visits JOIN places USING (place) GROUP BY 1"
    assert sorted(rows(owner, sql)) == [("south", 400), ("west", 0)]


def test_a_private_column_needs_its_list_as_before(owner: Session) -> None:
    """The twin: of a table that is not public nothing is read for a list."""
    owner.run("ALTER TABLE places UNSET PUBLIC; ALTER TABLE places ADD PRIVACY_KEY (place)")
    with pytest.raises(Refused, match="public list"):
        rows(owner, f"SELECT {PRIVATE}place, count(*) FROM visits GROUP BY 1")
    sql = f"SELECT {PRIVATE}region, count(*) FROM visits JOIN places USING (place) GROUP BY 1"
    with pytest.raises(Refused):
        rows(owner, sql)


PARTS = (
    "SELECT {}count(*) FROM visits WHERE place IN (SELECT place FROM places WHERE height > 0)",
    "SELECT {}count(*) FROM visits WHERE (place, code) IN (SELECT place, code FROM places, codes)",
    "SELECT {}region, count(*) FROM visits JOIN (SELECT place, region FROM places ORDER BY height"
    " LIMIT 3) t USING (place) GROUP BY 1",
)


@pytest.mark.parametrize("part", PARTS)
def test_the_order_of_public_rows_makes_no_other_question(
    part: str, owner: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB groups in the order of its threads and hashes: the same statement was sold again."""
    sql = part.format(PRIVATE)
    assert owner.quote(sql).epsilon
    answer = rows(owner, sql)
    query = free_sql.query

    def reversed_rows(*given: Any) -> pa.Table | None:
        table = query(*given)
        if table is None:
            return None
        columns = [column.to_pylist()[::-1] for column in table.columns]
        return pa.Table.from_arrays(list(map(pa.array, columns)), table.column_names)

    monkeypatch.setattr(free_sql, "query", reversed_rows)
    with Session(owner.vault, role="owner") as another:
        assert not another.quote(sql).epsilon
        assert sorted(rows(another, sql), key=str) == sorted(answer, key=str)
