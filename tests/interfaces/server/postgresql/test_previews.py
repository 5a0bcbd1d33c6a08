"""Looks at a private table's rows: none, or synthetic ones where the owner says so."""

import pytest

psycopg = pytest.importorskip("psycopg")

PREVIEW = "SELECT * FROM people LIMIT 100"


def told_by(connection):
    notices = []
    connection.add_notice_handler(lambda diagnostic: notices.append(diagnostic.message_primary))
    return notices


def test_rows_of_a_synthetic_table_stand_in(serve):
    served = serve(previews={"People": "made"})
    connection, before = served.psycopg(), served.account()
    notices = told_by(connection)
    made = connection.execute("SELECT sex, income FROM made LIMIT 1000").fetchall()
    rows = connection.execute(PREVIEW).fetchall()
    assert len(rows) == 100
    assert {(row[0], row[3]) for row in rows} == {(None, None)}  # id and secret are of people alone
    assert {row[1:3] for row in rows} <= set(made)
    assert "these are of the synthetic table made" in notices[-1]
    assert connection.execute("SELECT sex FROM public.people").rowcount == 500
    ordered = connection.execute("SELECT income FROM people ORDER BY income LIMIT 5", binary=True)
    assert ordered.fetchall() == sorted((row[1],) for row in made)[:5]
    assert connection.execute("SELECT * FROM people WHERE 1 = 0").fetchall() == []
    # Figures are of the private rows, and priced.
    with pytest.raises(psycopg.Error, match="epsilon"):
        connection.execute("SELECT COUNT(*) FROM people")
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT * FROM people WHERE income > 50")
    assert connection.execute("SELECT relname FROM pg_class WHERE relname = 'people'").rowcount == 1
    assert served.account() == before


@pytest.mark.parametrize("synthetic", ["nothing", "people", "pg_class", ""])
def test_what_was_not_released_is_not_shown(serve, synthetic):
    connection = serve(previews={"people": synthetic}).psycopg()
    notices = told_by(connection)
    assert connection.execute(PREVIEW).fetchall() == []
    assert "none is shown, nothing was charged" in notices[-1]


AROUND = [
    "SELECT * FROM (SELECT * FROM people) t LIMIT 100",
    'SELECT "t"."id", "t"."sex" FROM (SELECT id, sex FROM public.people) "t" WHERE 1 = 0',
    'SELECT "source"."sex" AS "sex" FROM (SELECT "public"."people"."sex" AS "sex"'
    ' FROM "public"."people") AS "source" LIMIT 2000',
    "SELECT x.* FROM (SELECT y.id FROM (SELECT * FROM people) y) x LIMIT 5",
    'SELECT SUBSTRING("public"."people"."secret", 1, 1234) AS "cut", sex FROM people LIMIT 10',
    "SELECT * FROM public.people TABLESAMPLE SYSTEM (100)",
]
"""Power BI's, Tableau's and Metabase's queries over what somebody wrote; Metabase's samples."""
FIGURES = [
    "SELECT * FROM (SELECT COUNT(*) AS n FROM people) t",
    "SELECT n FROM (SELECT sex, COUNT(*) AS n FROM people GROUP BY sex) t LIMIT 5",
    "SELECT * FROM (SELECT * FROM people WHERE income > 50) t LIMIT 100",
    "SELECT * FROM (SELECT * FROM people) t WHERE income > 50",
    "SELECT sum(income) FROM (SELECT * FROM people) t",
    "SELECT LEFT(secret, 3), max(income) FROM people",
]
"""What is no preview: answered with no rows, it would be wrong in silence."""


def test_a_query_around_a_listing_is_a_preview(serve):
    served = serve()
    connection, before = served.psycopg(), served.account()
    notices = told_by(connection)
    for number, sql in enumerate(AROUND, 1):
        assert connection.execute(sql).fetchall() == []
        assert len(notices) == number
    for sql in FIGURES:
        with pytest.raises(psycopg.Error):
            connection.execute(sql)
    assert len(notices) == len(AROUND)
    assert served.account() == before


def test_rows_stand_in_behind_a_query_around_a_listing(serve):
    filled = serve(previews={"people": "made"}).psycopg()
    assert [filled.execute(AROUND[i]).rowcount for i in (0, 1, 2, 3, 4)] == [100, 0, 500, 5, 10]
