"""What a connection SETs: for a transaction, for itself, and what it cannot."""

import datetime as dt

import pytest

from sqlpriv.interfaces.server.postgresql.encoding import type_numbers
from sqlpriv.interfaces.server.postgresql.encoding.wire_parameters import decode
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan
from sqlpriv.interfaces.server.postgresql.statements.output_names import output_names

psycopg = pytest.importorskip("psycopg")
ROWS = "SELECT income FROM made"


@pytest.fixture
def run(served):
    return served.psycopg().execute


@pytest.mark.parametrize(
    ("name", "value"),
    [("statement_timeout", "5s"), ("privacy_epsilon", "0.5"), ("privacy_dialect", "duckdb")],
)
@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
def test_set_local_ends_with_its_transaction(run, name, value, end):
    before = run(f"SHOW {name}").fetchone()
    run("BEGIN")
    run(f"SET LOCAL {name} = '{value}'")
    run(f"SET LOCAL {name} = '{value}'")
    assert run(f"SHOW {name}").fetchone() == (value,)
    run(end)
    assert run(f"SHOW {name}").fetchone() == before


def test_set_local_gives_back_what_was_set_before(run):
    run("SET privacy_epsilon = 0.25")
    run("BEGIN")
    run("SET LOCAL privacy_epsilon = 0.5")
    run("COMMIT")
    assert run("SHOW privacy_epsilon").fetchone() == ("0.25",)


def test_set_local_without_a_transaction_sets_nothing_and_says_so(served):
    connection, notices = served.psycopg(), []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    connection.execute("SET LOCAL statement_timeout = '5s'")
    assert connection.execute("SHOW statement_timeout").fetchone() == ("0",)
    connection.execute("SET TIME ZONE 'Europe/Berlin'")
    connection.execute("SET TIME ZONE 'UTC'")
    assert [words.split(",")[0] for words in notices] == [
        "SET LOCAL holds in a transaction",
        "times are in UTC here",
    ]


@pytest.mark.parametrize("level", ["warning", "ERROR"])
def test_notices_are_for_those_who_take_them(served, level):
    connection, notices = served.psycopg(), []
    connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
    connection.execute(f"SET client_min_messages TO {level}")
    connection.execute("SELECT * FROM people LIMIT 1")
    assert not notices
    connection.execute("RESET client_min_messages")
    connection.execute("SELECT * FROM people LIMIT 1")
    assert len(notices) == 1


@pytest.mark.parametrize("end", ["ROLLBACK", "COMMIT"])
def test_a_failed_transaction_closes_its_cursors(run, end):
    """ODBC declares WITH HOLD, and gives the next statement's cursor the same name."""
    run(f"DECLARE older CURSOR WITH HOLD FOR {ROWS}")
    for _ in range(2):
        run("BEGIN")
        run(f"DECLARE odbc CURSOR WITH HOLD FOR {ROWS}")
        with pytest.raises(psycopg.Error):
            run("FETCH 1 FROM nobody")
        assert run(end).statusmessage == "ROLLBACK"
    run("BEGIN")
    run(f"DECLARE odbc CURSOR WITH HOLD FOR {ROWS}")
    run("COMMIT")
    assert len(run("FETCH 3 FROM odbc").fetchall()) == 3
    assert len(run("FETCH 3 FROM older").fetchall()) == 3


@pytest.mark.parametrize("text", ["ROLE olga", "SESSION AUTHORIZATION 'olga'", "LOCAL ROLE bob"])
def test_nobody_becomes_another_user(run, text):
    with pytest.raises(psycopg.errors.InsufficientPrivilege, match="permission denied to set role"):
        run(f"SET {text}")
    assert run("SELECT current_user").fetchone() == ("ada",)


@pytest.mark.parametrize(
    "text",
    [
        'SET "privacy_epsilon = 0.1; SELECT COUNT(*) FROM people --" = 1',
        'SET LOCAL "privacy_epsilon = 0.1; SELECT COUNT(*) FROM people --" = 1',
        'RESET "privacy_epsilon; SELECT COUNT(*) FROM people"',
        "SET privacy_epsilon = '\\''; SELECT COUNT(*) FROM people -- '",
    ],
)
@pytest.mark.parametrize("dialect", ["postgres", "mysql"])
def test_a_setting_is_no_statement(served, dialect, text):
    """A name in quotes was run as statements, outside of the user's rules and the audit log."""
    served.add_user("dash", only_asked_before=True, epsilon=0.1)
    run = served.psycopg("dash").execute
    run(f"SET privacy_dialect = {dialect}")
    charges = served.account()
    run("BEGIN")
    with pytest.raises(psycopg.Error, match=r"no setting of that name|a name in one word"):
        run(text)
    assert served.account() == charges


@pytest.mark.parametrize("text", ["SET ROLE NONE", "SET ROLE ada", "RESET ROLE"])
def test_roles_of_ones_own(run, text):
    run(text)
    assert "role" not in {name for name, *_ in run("SHOW ALL")}


def test_nothing_is_replicated(served):
    with pytest.raises(psycopg.OperationalError, match="leave replication out"):
        psycopg.connect(**served.postgresql(replication="database"))


def test_a_date_is_sent_with_a_zone_by_jdbc():
    for text in ("1960-01-02 +00", "1960-01-02", "1960-01-02 10:00:00+02"):
        assert decode(text.encode(), type_numbers.DATE, 0) == dt.date(1960, 1, 2)
    with pytest.raises(Exception, match="no value of the type date"):
        decode(b"1960-01-02 noon", type_numbers.DATE, 0)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT '2020-01-01'::date d, a::date AS e", ["d", "e"]),
        ("SELECT a::double precision, b::timestamp with time zone FROM t", ["a", "b"]),
    ],
)
def test_names_behind_types(sql, names):
    ours = names if "AS e" in sql else ["CAST(a AS DOUBLE)", "CAST(b AS TIMESTAMP)"]
    assert output_names(ours, StatementScan(sql)) == names


def test_a_condition_of_no_row_is_a_preview_in_brackets_too():
    preview = 'SELECT "t"."sex" FROM "public"."people" "t" WHERE {}'
    for condition in ("(1 = 0)", "1 = 0", "(FALSE)", "(0=1) LIMIT 5"):
        assert StatementScan(preview.format(condition)).is_listing
    assert not StatementScan(preview.format("(sex = 1)")).is_listing
