"""Subqueries that look at the row around them: without noise, DuckDB's own answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sqlpriv
from sqlpriv.kernel.proof import noise
from sqlpriv.kernel.vault import Kernel

ROWS = """
CREATE TABLE shops (shop INTEGER PRIMARY KEY, town VARCHAR, size INTEGER);
INSERT INTO shops VALUES (0, 's', 3), (1, 's', 7), (2, 't', 20), (4, 't', 1);
CREATE TABLE people (id INTEGER PRIMARY KEY, sex VARCHAR, age INTEGER);
INSERT INTO people SELECT i, CASE WHEN i % 2 = 0 THEN 'f' ELSE 'm' END, i % 5 FROM range(60) r(i);
CREATE TABLE orders (num INTEGER PRIMARY KEY, person INTEGER, shop INTEGER, x INTEGER);
INSERT INTO orders SELECT i, i * i % 41, i % 5, i * 7 % 11 FROM range(150) r(i);
"""
DECLARED = """
ALTER TABLE shops SET PUBLIC;
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = 40);
ALTER TABLE orders ADD PRIVACY_LINK (person) REFERENCES people(id);
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN ('f', 'm') NOT NULL;
ALTER TABLE people ALTER COLUMN age SET PRIVACY DOMAIN BETWEEN (0, 4) NOT NULL;
ALTER TABLE orders ALTER COLUMN shop SET PRIVACY DOMAIN BETWEEN (0, 4) NOT NULL;
ALTER TABLE orders ALTER COLUMN x SET PRIVACY DOMAIN BETWEEN (0, 10) NOT NULL;
ALTER TABLE people SET PRIVACY BUDGET (rho = 100000, delta = 1e-9);
"""
SAME: list[tuple[str, list[Any]]] = [
    ("COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM orders o WHERE o.person = p.id) = 0", []),
    (
        "sex, COUNT(*) FROM people WHERE (SELECT MAX(x) FROM orders WHERE person = id) > age + 5 "
        "GROUP BY sex",
        [],
    ),
    (
        "AVG((SELECT SUM(x) + COUNT(*) FROM orders o WHERE o.person = p.id AND o.shop > 1)) "
        "FROM people p",
        [],
    ),
    (
        "(SELECT COUNT(*) FROM orders o WHERE o.person = p.id) AS n, COUNT(*) FROM people p "
        "GROUP BY n HAVING COUNT(*) > 0",
        [],
    ),
    (
        "COUNT(*) FROM people p WHERE age = 1 OR EXISTS (SELECT * FROM orders o WHERE "
        "o.person = p.id "
        "AND o.shop = ?)",
        [3],
    ),
    (
        "SUM(CASE WHEN NOT EXISTS (SELECT * FROM orders o WHERE o.person = p.id) THEN age "
        "ELSE 0 END) "
        "FROM people p",
        [],
    ),
    (
        "COUNT(*) FROM orders WHERE shop = 4 OR person IN (SELECT id FROM people WHERE sex = ?)",
        ["f"],
    ),
    ("COUNT(*) FROM orders o WHERE x > (SELECT size FROM shops s WHERE s.shop = o.shop)", []),
    (
        "COUNT(*) FROM orders WHERE x * 2 > (SELECT SUM(size) FROM shops s WHERE s.shop < "
        "orders.shop "
        "AND town = ?)",
        ["s"],
    ),
    ("SUM(x * (SELECT COUNT(*) FROM shops s WHERE s.shop = o.shop)) FROM orders o", []),
    ("COUNT(*) FROM people WHERE age = (SELECT MIN(size) FROM shops WHERE town = ?)", ["s"]),
    ("COUNT(*) FROM orders WHERE shop IN (SELECT shop FROM shops WHERE town = ?) OR x = 0", ["t"]),
    (
        "n, COUNT(*) FROM (SELECT id, (SELECT COUNT(*) FROM orders WHERE person = id) AS n "
        "FROM people) GROUP BY n HAVING COUNT(*) > 0",
        [],
    ),
]
REFUSED = {
    "COUNT(*) FROM orders o WHERE x > (SELECT AVG(i.x) FROM orders i WHERE i.shop < o.shop)": (
        "rows of other units"
    ),
    "COUNT(*) FROM people p WHERE (SELECT COUNT(*) FROM orders o WHERE o.person < p.id) > 1": (
        "rows of other units"
    ),
    "COUNT(*) FROM people WHERE age = 1 OR id NOT IN (SELECT person FROM orders)": "cannot stand",
    "COUNT(*) FROM orders o WHERE x > (SELECT size FROM shops s WHERE s.shop = o.num)": (
        "no public list"
    ),
    "COUNT(*) FROM orders o WHERE x > (SELECT size FROM shops s WHERE s.shop = o.shop + o.x)": (
        "shop and x"
    ),
    "COUNT(*) FROM orders o WHERE (SELECT town FROM shops s WHERE s.shop = o.shop) = 's'": (
        "gives a number"
    ),
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("correlated") / "people.duckdb"
    with sqlpriv.connect(path, role="owner") as owner:
        owner.execute(ROWS)
        owner.execute(DECLARED)
    return path


@pytest.fixture(scope="module")
def plain() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as engine:
        engine.execute(ROWS)
        yield engine


def numbers(rows: list[tuple[Any, ...]]) -> list[float]:
    """The rows' numbers, those of each row together, in one order."""
    return [float(x) for row in sorted(rows) for x in row if not isinstance(x, str)]


@pytest.mark.usefixtures(
    "narrow_means_are_plain"
)  # a mean of 60 rows is known only at a high price
@pytest.mark.parametrize(("text", "given"), SAME)
def test_without_noise_the_answer_is_duckdbs(
    vault: Path,
    plain: duckdb.DuckDBPyConnection,
    text: str,
    given: list[Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(noise.Noise, "draw", lambda _, n: [0] * n)
    with sqlpriv.connect(vault) as con:
        con.execute("SET privacy_epsilon = 100")
        told = con.execute(f"EXPLAIN PRIVACY SELECT {text}", given).fetchall()
        ours = con.execute(f"SELECT {text}", given).fetchall()
    theirs = plain.execute(f"SELECT {text}", given).fetchall()
    assert told
    assert numbers(ours) == pytest.approx(numbers(theirs))
    assert len(theirs) == len(ours)
    assert any(x for row in theirs for x in row)


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_about_other_units_is_refused(vault: Path, text: str) -> None:
    with sqlpriv.connect(vault) as con:
        con.execute("SET privacy_epsilon = 1")
        for asked in (f"SELECT {text}", f"EXPLAIN PRIVACY SELECT {text}"):
            with pytest.raises(sqlpriv.Refused, match=REFUSED[text]):
                con.execute(asked)


def test_the_comparison_can_fail(
    vault: Path, plain: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(noise.Noise, "draw", lambda _, n: [0] * n)
    with sqlpriv.connect(vault) as con:
        con.execute("SET privacy_epsilon = 1")
        ours = con.execute(f"SELECT {SAME[0][0]}").fetchall()
    assert ours != plain.execute(f"SELECT {SAME[0][0].replace('= 0', '= 1')}").fetchall()


def test_public_rows_that_a_session_keeps_are_those_of_the_vault_as_it_is(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept rows are read once; an owner's change, or its declaration, is seen by the next query."""
    read: list[str] = []
    public = Kernel.public

    def counted(kernel: Kernel, table: str, columns: Sequence[str] = ()) -> Any:
        read.append(table)
        return public(kernel, table, columns)

    def asked() -> list[tuple[Any, ...]]:
        return analyst.execute(
            "SELECT COUNT(*) FROM orders WHERE shop IN (SELECT shop FROM shops WHERE size > 6)"
        ).fetchall()

    monkeypatch.setattr(noise.Noise, "draw", lambda _, n: [0] * n)
    monkeypatch.setattr(Kernel, "public", counted)
    with sqlpriv.connect(vault) as analyst:
        analyst.execute("SET privacy_epsilon = 1")
        before = asked()
        assert asked() == before == [(60,)]
        assert read == ["shops"]
        with sqlpriv.connect(vault, role="owner") as owner:
            owner.execute("UPDATE shops SET size = 0 WHERE shop = 1")
        assert asked() == [(30,)]
        assert read == ["shops", "shops"]
        with sqlpriv.connect(vault, role="owner") as owner:
            owner.execute("UPDATE shops SET size = 7 WHERE shop = 1")
        assert asked() == [(60,)]
        with sqlpriv.connect(vault, role="owner") as owner:
            owner.execute("ALTER TABLE shops UNSET PUBLIC")
        with pytest.raises(sqlpriv.Refused):
            asked()
        with sqlpriv.connect(vault, role="owner") as owner:
            owner.execute("ALTER TABLE shops SET PUBLIC")
