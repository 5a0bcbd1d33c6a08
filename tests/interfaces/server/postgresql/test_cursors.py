"""DECLARE, FETCH, MOVE, CLOSE: an answer taken in pieces, charged once."""

import pytest

psycopg = pytest.importorskip("psycopg")

ROWS = "SELECT sex, income FROM made ORDER BY income, sex"


@pytest.fixture
def connection(served):
    return served.psycopg(options="-c privacy_epsilon=0.2")


def test_an_answer_is_charged_at_its_declaration_and_fetched_in_pieces(served, connection):
    before = served.account()[0]
    run = connection.execute
    run("BEGIN")
    run("DECLARE c NO SCROLL CURSOR FOR SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    charged = served.account()[0]
    assert charged > before
    first = run("FETCH FORWARD 1 FROM c")
    assert (first.statusmessage, [c.name for c in first.description]) == ("FETCH 1", ["sex", "n"])
    rest = run("FETCH ALL FROM c").fetchall()
    assert [row[0] for row in (*first.fetchall(), *rest)] == [1, 2]
    assert run("FETCH c").fetchall() == []
    run("CLOSE c; COMMIT")
    assert served.account()[0] == charged


def test_moves(connection):
    run = connection.execute
    every = run(ROWS).fetchall()
    run(f'BEGIN; DECLARE "a b" SCROLL CURSOR FOR {ROWS}')
    for move, expected in (
        ("FETCH NEXT FROM", every[:1]),
        ("FETCH 2 IN", every[1:3]),
        ("FETCH ABSOLUTE 10 FROM", every[9:10]),
        ("FETCH FORWARD 2 FROM", every[10:12]),
        ("FETCH FIRST FROM", every[:1]),
        ("FETCH LAST FROM", every[-1:]),
        ("FETCH FROM", []),
    ):
        assert run(f'{move} "a b"').fetchall() == expected, move
    for move, moved, following in (
        ("MOVE ABSOLUTE 0 FROM", 0, 0),
        ("MOVE 5 FROM", 5, 6),
        ("MOVE BACKWARD 1 FROM", 0, 6),
        ("MOVE RELATIVE 3 FROM", 3, 10),
        ("MOVE ALL FROM", len(every) - 11, len(every)),
    ):
        assert run(f'{move} "a b"').statusmessage == f"MOVE {moved}", move
        assert run('FETCH 1 FROM "a b"').fetchall() == every[following : following + 1], move


def test_the_end_of_a_transaction_closes_what_is_not_held(connection):
    run = connection.execute
    run(f"BEGIN; DECLARE a CURSOR FOR {ROWS}; DECLARE b CURSOR WITH HOLD FOR {ROWS}; COMMIT")
    with pytest.raises(psycopg.errors.InvalidCursorName):
        run("FETCH 1 FROM a")
    assert len(run("FETCH 3 FROM b").fetchall()) == 3
    run("CLOSE ALL")
    with pytest.raises(psycopg.errors.InvalidCursorName):
        run("CLOSE b")


def test_psycopg_3_server_cursors(connection):
    with connection.transaction(), connection.cursor("named") as cursor:
        cursor.execute("SELECT income FROM made WHERE sex = %s ORDER BY income", (1,))
        cursor.itersize = 7
        rows = list(cursor)
        cursor.scroll(0, mode="absolute")
        assert cursor.fetchmany(5) == rows[:5]
    assert (
        rows
        == connection.execute("SELECT income FROM made WHERE sex = 1 ORDER BY income").fetchall()
    )


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("DECLARE c BINARY CURSOR FOR SELECT 1", "FeatureNotSupported"),
        ("DECLARE c CURSOR SELECT 1", "SyntaxError"),
        ("DECLARE c CURSOR FOR", "SyntaxError"),
        ("FETCH SIDEWAYS 3 FROM d", "SyntaxError"),
        ("FETCH", "SyntaxError"),
        ("FETCH BACKWARD 3 FROM d", "ObjectNotInPrerequisiteState"),
        ("FETCH RELATIVE 3 FROM d", "FeatureNotSupported"),
        ("FETCH 1 FROM nobody", "InvalidCursorName"),
        ("DECLARE d CURSOR FOR SELECT 1", "DuplicateCursor"),
        ("DECLARE e CURSOR FOR SELECT secret FROM people WHERE sex = 1", "Error"),
    ],
)
def test_what_is_wrong(served, connection, text, kind):
    connection.execute(f"DECLARE d CURSOR WITH HOLD FOR {ROWS}")
    before = served.account()
    with pytest.raises(getattr(psycopg.errors, kind, psycopg.Error)):
        connection.execute(text)
    assert served.account() == before
