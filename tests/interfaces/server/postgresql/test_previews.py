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
