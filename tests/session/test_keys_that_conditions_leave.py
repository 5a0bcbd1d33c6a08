"""Groups that a condition leaves out in public are not shown; no row is lost with them.

Counts are of about a hundred units at epsilon 1,000: the noise's deviation is below 0.1, so that a
rounded count is wrong with a probability below 1e-6 (half a unit is five deviations).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.templates import vault_of

from sqlpriv.errors import Refused
from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE shops AS SELECT * FROM (VALUES (1, 'Bonn', 50), (2, 'Berlin', 90), (3, 'Nice', 20))
    AS v (shop, city, staff);
ALTER TABLE shops SET PUBLIC;
CREATE TABLE buyers AS SELECT i AS id, (1 + i % 3)::INTEGER AS shop,
    ['card', 'cash', 'cheque'][1 + i % 3] AS paid, ['a', 'b'][1 + i % 2] AS kind,
    DATE '2024-01-01' + (i % 90)::INTEGER AS day, (i % 40)::DOUBLE AS spent,
    (i % 10 - 5)::INTEGER AS step
FROM range(300) AS t(i);
ALTER TABLE buyers ADD PRIMARY KEY (id);
ALTER TABLE buyers SET PRIVACY (KEY (id), COLUMN shop REFERENCES shops(shop),
    COLUMN paid IN ('card', 'cash', 'cheque'), COLUMN kind IN ('a', 'b'),
    COLUMN day BETWEEN ('2024-01-01', '2024-03-30') NOT NULL, COLUMN spent BETWEEN (0, 40),
    COLUMN step BETWEEN (-500000, 500000),
    BUDGET (epsilon = 1000000, delta = 1e-9));
CREATE TABLE notes AS SELECT i AS nid, i AS id, ['a', 'b', 'c'][1 + i % 3] AS topic,
    DATE '2024-02-01' + (i % 20)::INTEGER AS written
FROM range(200) AS t(i);
ALTER TABLE notes ADD PRIMARY KEY (nid);
ALTER TABLE notes SET PRIVACY BOUND (rows_per_unit = 1, groups_per_unit = 1);
ALTER TABLE notes ADD PRIVACY_LINK (id) REFERENCES buyers (id);
ALTER TABLE notes SET PRIVACY (COLUMN topic IN ('a', 'b', 'c'),
    COLUMN written BETWEEN ('2024-02-01', '2024-02-29') NOT NULL);
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    path = vault_of(SETUP, tmp_path_factory.mktemp("left") / "buyers.duckdb")
    with Session(path) as opened:
        opened.execute("SET privacy_epsilon = 1000")
        yield opened


def answered(session: Session, statement: str) -> list[tuple[object, ...]]:
    table = session.execute(statement).table
    assert table is not None
    rows = [tuple(row.values())[: len(table.schema)] for row in table.to_pylist()]
    return [
        tuple(round(value) if isinstance(value, float) else value for value in row) for row in rows
    ]


@pytest.mark.parametrize(
    ("key", "values"),
    [
        ("step", {-2, -1, 0, 1, 2}),
        ("step * 1000", {-2000, -1000, 0, 1000, 2000}),
        ("abs(step) * 10 + 7", {7, 17, 27}),
        ("greatest(step, 0) * 10", {0, 10, 20}),
    ],
)
def test_a_condition_on_a_wide_column_leaves_what_is_computed_of_its_values(
    session: Session, key: str, values: set[int]
) -> None:
    rows = answered(
        session, f"SELECT {key} AS k, COUNT(*) FROM buyers WHERE abs(step) < 3 GROUP BY k"
    )
    assert {k for k, _ in rows} == values
    assert sum(int(str(n)) for _, n in rows) == 150


@pytest.mark.parametrize(
    ("where", "key", "values"),
    [
        ("paid LIKE 'c%h'", "paid", {"cash"}),
        ("paid LIKE 'c%h'", "upper(paid)", {"CASH"}),
        ("paid LIKE '%zz%'", "paid", set()),
        ("month(day) = 2 AND dayofmonth(day) <= 2", "day::VARCHAR", {"2024-02-01", "2024-02-02"}),
        ("month(day) <> 2", "monthname(day)", {"January", "March"}),
    ],
)
def test_a_condition_on_a_keys_column_leaves_its_values(
    session: Session, where: str, key: str, values: set[str]
) -> None:
    rows = answered(session, f"SELECT {key} AS k, COUNT(*) FROM buyers WHERE {where} GROUP BY k")
    assert {k for k, _ in rows} == values


def test_a_condition_on_public_rows_leaves_their_keys(session: Session) -> None:
    rows = answered(
        session,
        "SELECT s.city, COUNT(*) AS n FROM buyers b JOIN shops s ON s.shop = b.shop "
        "WHERE s.staff > 40 AND s.city <> 'Berlin' GROUP BY s.city",
    )
    assert rows == [("Bonn", 100)]


def test_public_rows_that_a_join_keeps_are_shown(session: Session) -> None:
    """ON chooses partners, it drops no public row."""
    rows = answered(
        session,
        "SELECT s.city, COUNT(b.id) AS n FROM shops s LEFT JOIN buyers b "
        "ON s.shop = b.shop AND s.staff > 40 GROUP BY s.city ORDER BY s.city",
    )
    assert rows == [("Berlin", 100), ("Bonn", 100), ("Nice", 0)]


def test_rows_without_a_partner_are_counted(session: Session) -> None:
    """What the right side of a LEFT JOIN demands is not demanded of a row without a partner: the
    100 buyers without a note, and those whose note is of another topic, were in no group."""
    rows = answered(
        session,
        "SELECT n.topic, COUNT(*) AS n FROM buyers b LEFT JOIN (SELECT id, topic FROM notes "
        "WHERE topic IN ('a')) n ON n.id = b.id GROUP BY n.topic ORDER BY n.topic",
    )
    assert ("a", 67) in rows
    assert (None, 233) in rows


def test_keys_that_a_condition_compares(session: Session) -> None:
    rows = answered(
        session,
        "SELECT b.kind, n.topic, COUNT(*) AS n FROM buyers b JOIN notes n ON n.id = b.id "
        "WHERE b.kind < n.topic GROUP BY ALL",
    )
    assert {(kind, topic) for kind, topic, _ in rows} == {("a", "b"), ("a", "c"), ("b", "c")}


def test_a_key_that_is_made_of_another_has_its_values(session: Session) -> None:
    rows = answered(
        session,
        "SELECT floor(spent / 10) * 10 AS low, floor(spent / 10) * 10 + 10 AS high, COUNT(*) AS n "
        "FROM buyers GROUP BY 1, 2",
    )
    assert [(low, high) for low, high, _ in rows] == [(10 * i, 10 * i + 10) for i in range(5)]


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT month(f) AS k, COUNT(*) FROM (SELECT id, MIN(written) AS f FROM notes GROUP BY id) "
        "GROUP BY k",
        "SELECT k, COUNT(*) FROM (SELECT id, BOOL_OR(topic = 'a') AS k FROM notes GROUP BY id) "
        "GROUP BY k",
        "SELECT time_bucket(INTERVAL 30 DAY, day) AS k, COUNT(*) FROM buyers GROUP BY k",
        "SELECT split_part(paid, 's', 1) AS k, COUNT(*) FROM buyers GROUP BY k",
    ],
)
def test_a_key_that_is_always_there_has_no_null(session: Session, statement: str) -> None:
    keys = [k for k, _ in answered(session, statement)]
    assert None not in keys
    assert "" not in keys


def test_having_inside_a_unit_leaves_its_values(session: Session) -> None:
    rows = answered(
        session,
        "SELECT n, COUNT(*) AS units FROM (SELECT id, COUNT(*) AS n FROM notes GROUP BY id "
        "HAVING COUNT(*) <= 1) GROUP BY n",
    )
    assert rows == [(1, 200)]


def test_parts_of_days_stand_for_the_days(session: Session) -> None:
    """3 payments, 3 shops and 90 days have 810 combinations; of 2,000 days there were too many."""
    rows = answered(
        session,
        "SELECT concat(paid, '-', year(written), '-', shop) AS k, COUNT(*) AS n "
        "FROM buyers b JOIN notes n ON n.id = b.id GROUP BY k",
    )
    assert ("card-2024-1", 67) in rows


def test_keys_made_of_public_columns_are_those_of_its_rows(session: Session) -> None:
    rows = answered(
        session,
        "SELECT s.city, s.staff // 50 AS half, COUNT(*) AS n FROM buyers b JOIN shops s "
        "ON s.shop = b.shop GROUP BY ALL ORDER BY s.city",
    )
    assert rows == [("Berlin", 1, 100), ("Bonn", 1, 100), ("Nice", 0, 100)]


def test_a_public_row_that_is_kept_adds_nothing(session: Session) -> None:
    """No buyer is of that day: SUM of ELSE 0 is 0, and the public column is its own."""
    rows = answered(
        session,
        "SELECT s.city, SUM(CASE WHEN b.kind = 'a' THEN 1 ELSE 0 END) AS a, MAX(s.staff) AS staff, "
        "COUNT(CASE WHEN b.kind = 'b' THEN 1 END) AS b FROM shops s LEFT JOIN buyers b "
        "ON s.shop = b.shop AND b.day < '2023-01-01' GROUP BY s.city ORDER BY s.city",
    )
    assert rows == [("Berlin", 0, 90, 0), ("Bonn", 0, 50, 0), ("Nice", 0, 20, 0)]


@pytest.mark.parametrize(
    "aggregate",
    [
        "SUM(CASE WHEN s.staff > 30 THEN 1 ELSE 0 END)",  # a kept row adds 1
        "SUM(CASE WHEN b.kind = 'a' THEN 0 ELSE 1 END)",
        "MAX(s.shop)",  # of several shops
    ],
)
def test_a_public_row_that_would_count_is_refused(session: Session, aggregate: str) -> None:
    with pytest.raises(Refused, match="a public row without a private one would count here"):
        session.execute(
            f"SELECT s.staff > 30 AS k, COUNT(b.id), {aggregate} FROM shops s LEFT JOIN buyers b "
            "ON s.shop = b.shop GROUP BY s.staff > 30"
        )
