"""psycopg 3 on a live private table: questions, previews, prices, errors, cursors, COPY, cancel."""

import datetime as dt
import threading
import time
from contextlib import closing
from decimal import Decimal

import pytest
from support.endless_query import ENDLESS

from sqlpriv.interfaces.server import users
from sqlpriv.interfaces.server.postgresql.encoding import type_numbers
from sqlpriv.interfaces.server.postgresql.encoding.wire_parameters import decode

psycopg = pytest.importorskip("psycopg")
errors, sql = psycopg.errors, psycopg.sql

COUNTS = "SELECT sex, COUNT(*) AS n, AVG(income) AS income FROM people GROUP BY sex ORDER BY sex"


@pytest.fixture
def notices():
    return []


@pytest.fixture
def connection(served, notices):
    found = served.psycopg(options="-c privacy_epsilon=0.2")
    found.add_notice_handler(lambda diagnostic: notices.append(diagnostic.message_primary))
    return found


def test_a_question_is_charged_once_and_its_refresh_is_free(served, connection, notices):
    before = served.account()[0]
    first = connection.execute(COUNTS).fetchall()
    once = served.account()
    assert [row[0] for row in first] == [1, 2]
    assert once[0] > before
    assert "ε 0.2 spent" in notices[-1]
    assert "n ± " in notices[-1]
    for binary in (False, True):
        assert connection.execute(COUNTS, binary=binary).fetchall() == first
        assert "no charge" in notices[-1]
    assert connection.execute(COUNTS.replace("people", '"public"."people"')).fetchall() == first
    cast = connection.execute(COUNTS.replace("COUNT(*) AS n", "COUNT(*)::float8"))
    assert cast.description[1].name == "count"
    assert "; count ± " in notices[-1]  # it was called ?column? there
    assert served.account() == once


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM people LIMIT 100",
        'SELECT * FROM "public"."people"',
        'SELECT "public"."people"."sex" AS s FROM "public"."people" LIMIT 2000',
        "SELECT sex, secret FROM people ORDER BY sex",
        "SELECT * FROM people WHERE 1 = 0",
    ],
)
def test_a_preview_of_a_private_table_has_no_rows_and_costs_nothing(
    served, connection, notices, text
):
    before = served.account()
    cursor = connection.execute(text)
    assert cursor.fetchall() == []
    assert cursor.description[-1].name in ("s", "secret")
    assert "rows of people are private" in notices[-1]
    assert connection.execute(text, binary=True).fetchall() == []
    assert served.account() == before


def test_released_tables_are_answered_exactly(connection):
    assert connection.execute("SELECT COUNT(*) FROM public.made").fetchone() == (500,)
    assert connection.execute("TABLE made LIMIT 3").fetchall()


FAR = (
    "SELECT 'infinity'::DATE, '-infinity'::TIMESTAMP, 'infinity'::TIMESTAMPTZ, DATE '0044-03-15"
    " (BC)', TIMESTAMP '20000-01-01 01:02:03', DATE '2000-01-02', NULL::DATE"
)


def test_moments_that_python_does_not_have_come_as_postgresql_writes_them(connection):
    """psycopg makes no values of them, either; its result has what was sent."""
    cursor = connection.execute(FAR)
    sent = [cursor.pgresult.get_value(0, at) for at in range(7)]
    assert sent == [
        b"infinity",
        b"-infinity",
        b"infinity",
        b"0044-03-15 BC",
        b"20000-01-01 01:02:03",
        b"2000-01-02",
        None,
    ]
    cursor = connection.execute(FAR, binary=True)
    sent = [cursor.pgresult.get_value(0, at) for at in range(7)]
    assert sent[:3] == [b"\x7f" + b"\xff" * 3, b"\x80" + b"\0" * 7, b"\x7f" + b"\xff" * 7]
    days, moment = int.from_bytes(sent[3], signed=True), int.from_bytes(sent[4], signed=True)
    assert [days, moment] == [-746117, 568025139723000000]  # of DuckDB's date_diff and epoch_us
    assert sent[5:] == [b"\0\0\0\1", None]


def test_parameters_of_every_type_come_back(connection):
    values = {
        "smallint": 7,
        "integer": -(2**31),
        "bigint": 2**62,
        "double precision": 1.5,
        "text": "ж'\\",
        "boolean": True,
        "date": dt.date(1999, 12, 31),
        "numeric": Decimal("-12345.6789"),
        "timestamp": dt.datetime(2001, 2, 3, 4, 5, 6, 789),
        "timestamptz": dt.datetime(1969, 1, 1, tzinfo=dt.UTC),
        "time": dt.time(23, 59, 59, 1),
    }
    for kind, value in values.items():
        for placeholder in ("%s", "%b"):
            for binary in (False, True):
                name = "decimal(20, 4)" if kind == "numeric" else kind
                text = f"SELECT CAST({placeholder} AS {name}) AS x"
                (back,) = connection.execute(text, (value,), binary=binary).fetchone()
                assert back == value, (kind, placeholder, binary)
    for binary in (False, True):
        row = connection.execute("SELECT [1, NULL, 3] AS a, NULL AS b", binary=binary).fetchone()
        assert row == ([1, None, 3], None)


def test_errors_of_columns_where_they_are_asked_for(connection):
    connection.execute("SET privacy_error_columns = on")
    for binary in (False, True):
        cursor = connection.execute(COUNTS, binary=binary)
        names = [column.name for column in cursor.description]
        assert names == ["sex", "sex_error", "n", "n_error", "income", "income_error"]
        rows = cursor.fetchall()
        assert all(row[1] is None and row[3] > 0 and row[5] > 0 for row in rows)
    made = connection.execute("SELECT sex FROM made LIMIT 1")
    assert [column.name for column in made.description] == ["sex"]
    connection.execute("RESET ALL")
    assert len(connection.execute("SHOW privacy_error_columns").fetchone()) == 1


def test_errors_tell_state_place_and_hint(served, connection):
    before = served.account()
    for text, kind, at in (
        ("SELECT secret FROM people WHERE sex = 1", errors.SyntaxErrorOrAccessRuleViolation, 8),
        ("SELECT nope FROM people", errors.UndefinedColumn, 8),
        ("\n\n  SELECT nope FROM people", errors.UndefinedColumn, 12),
        ("-- as SQLAlchemy writes\nCREATE TABLE x (a int)", errors.InsufficientPrivilege, 25),
        ("SELECT 1;\nSELECT nope FROM people;", errors.UndefinedColumn, 18),
        ("SELECT COUNT(*) FROM nobody", errors.UndefinedTable, None),
        ("ALTER TABLE people SET PUBLIC", errors.InsufficientPrivilege, None),
        ("SET client_encoding = 'LATIN1'", errors.InvalidParameterValue, None),
        ("SHOW nothing_of_that_name", errors.UndefinedObject, None),
        ("COPY people FROM STDIN", errors.FeatureNotSupported, None),
    ):
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(text)
        assert isinstance(refused.value, kind), (text, refused.value)
        if at is not None:
            assert refused.value.diag.statement_position == str(at)
            assert refused.value.diag.message_hint
        with pytest.raises(psycopg.Error):
            connection.execute(text, binary=True)
    with pytest.raises(errors.ConfigurationLimitExceeded, match="nothing was read"):
        connection.execute(
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 99) COUNT(*) FROM people"
        )
    assert served.account() == before
    assert connection.execute("SELECT 1 AS a").fetchone() == (1,)


def test_transactions_are_told_to_be_none(served, notices):
    with closing(psycopg.connect(**served.postgresql())) as connection:
        connection.add_notice_handler(lambda d: notices.append(d.message_primary))
        connection.execute("SELECT 1 AS a")
        assert connection.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
        with pytest.raises(psycopg.Error):
            connection.execute("SELECT nope FROM made")
        with pytest.raises(errors.InFailedSqlTransaction):
            connection.execute("SELECT 1 AS a")
        connection.rollback()
        connection.execute("SELECT 1 AS a")
        connection.commit()
        with connection.transaction(), connection.transaction():
            assert connection.execute("SELECT 2 AS a").fetchone() == (2,)
    assert [words for words in notices if "transactions" in words] == [
        "there are no transactions here: every statement stands by itself, and a charge is never"
        " undone"
    ]


def test_a_portal_gives_its_rows_in_parts(served):
    """Execute with a limit of rows, as JDBC's fetch size asks: three parts, one charge."""
    with served.psycopg().cursor() as cursor:
        rows = list(cursor.stream("SELECT sex, income FROM made ORDER BY income", size=1))
    assert len(rows) == 500


@pytest.mark.parametrize(
    "options", ["", "WITH (FORMAT csv, HEADER true)", "WITH CSV HEADER", "(FORMAT binary)"]
)
def test_copy_to_stdout(connection, options):
    query = "SELECT sex, income, NULL AS nothing, 'a\tb' AS t FROM made ORDER BY income LIMIT 3"
    with connection.cursor().copy(f"COPY ({query}) TO STDOUT {options}") as copy:
        if "binary" in options:
            copy.set_types(["int4", "float8", "int4", "text"])
        if "binary" in options or not options:
            rows = list(copy.rows())
        else:
            lines = b"".join(copy).decode().splitlines()
            assert lines[0] == "sex,income,nothing,t"
            assert [line.split(",")[2:] for line in lines[1:]] == [["", "a\tb"]] * 3
            return
    assert len(rows) == 3
    assert [row[2:] for row in rows] == [(None, "a\tb")] * 3


def test_a_statement_is_cancelled(serve):
    served = serve(concurrency=1)
    connection = served.psycopg()
    threading.Timer(1.0, connection.cancel_safe).start()  # PQcancel holds the GIL
    start = time.monotonic()
    with pytest.raises(errors.QueryCanceled):
        connection.execute(ENDLESS)
    assert time.monotonic() - start < 30
    deadline = time.monotonic() + 20
    while True:
        try:
            assert connection.execute("SELECT 1 AS a").fetchone() == (1,)
            break
        except errors.ObjectInUse:
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_who_is_not_let_in_is_told_the_same_whatever_was_wrong(served):
    users.add_user(served.vault, "gone", "analyst", "test", secret="a password of gone's")
    users.remove_user(served.vault, "gone", "test")
    told = set()
    token = served.tokens["ada"]
    for name, secret in (
        ("ada", "wrong"),
        ("nobody", token),
        ("gone", "a password of gone's"),
        ("bob", token),
        ("ada", token[:-1]),
    ):
        with pytest.raises(psycopg.OperationalError) as refused:
            psycopg.connect(**served.postgresql() | {"user": name, "password": secret})
        told.add(str(refused.value).rpartition("FATAL: ")[2].strip())
    assert told == {users.DENIED}
    with pytest.raises(psycopg.OperationalError, match="without TLS"):
        psycopg.connect(**served.postgresql() | {"sslmode": "disable"})
    audit = served.vault.with_suffix(".audit").read_text()
    assert token not in audit
    assert audit.count('"denied"') == 6


def test_a_password_lets_in_and_removing_its_user_ends_the_connection(served):
    password = "pässword of carl's"
    users.add_user(served.vault, "carl", "analyst", "test", secret=password)
    inside = psycopg.connect(
        **served.postgresql() | {"user": "carl", "password": password}, autocommit=True
    )
    assert inside.execute("SELECT CURRENT_USER AS me").fetchone() == ("carl",)
    users.remove_user(served.vault, "carl", "test")
    with pytest.raises(psycopg.OperationalError, match="revoked"):
        inside.execute("SELECT 1 AS a")
    assert inside.broken
    inside.close()


def test_an_owner_declares_and_sees_their_rows(served):
    owner = served.psycopg("olga")
    owner.execute("CREATE TABLE firms (id INTEGER, turnover DOUBLE)")
    assert (
        owner.execute("INSERT INTO firms VALUES (1, 2.5), (2, 3.5)").statusmessage == "INSERT 0 2"
    )
    assert owner.execute("SELECT turnover FROM firms WHERE id = %s", (2,)).fetchall() == [(3.5,)]
    names = owner.execute("SELECT relname FROM pg_class WHERE relkind = 'r'").fetchall()
    assert ("firms",) in names


def test_every_statement_of_the_session_is_in_the_audit(served, connection):
    connection.execute(sql.SQL("SELECT COUNT(*) FROM people WHERE income > {}").format(30))
    with pytest.raises(psycopg.Error):
        connection.execute("SELECT secret FROM people WHERE sex = 1")
    audit = served.vault.with_suffix(".audit").read_text()
    assert "income > 30" in audit
    assert '"Refused"' in audit
    assert "postgresql:127.0.0.1" in audit


def test_many_connections_at_once(served):
    connections = [served.psycopg(name) for name in ("ada", "bob") * 5]
    answers = []

    def ask(connection):
        answers.extend(connection.execute("SELECT COUNT(*) FROM made").fetchall() for _ in range(2))

    for pair in zip(connections[::2], connections[1::2], strict=True):
        threads = [threading.Thread(target=ask, args=(each,)) for each in pair]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert answers == [[(500,)]] * 20


def test_explain_fits_a_screen(connection):
    """The engine's SQL, of thousands of characters in a cell, filled psql's screens."""
    explained = connection.execute("EXPLAIN PRIVACY SELECT COUNT(*) FROM people")
    names = [column.name for column in explained.description]
    assert "sql" not in names
    assert "expected_error" in names
    assert len(explained.fetchone()) == len(names)
    twice = connection.execute("SELECT 1 AS a, 2 AS a")
    assert twice.fetchone() == (1, 2)


def test_an_analysts_sql_is_postgresqls(served, connection):
    before = served.account()
    (name,) = connection.execute("SHOW privacy_dialect").fetchone()
    assert name == "postgres"
    with pytest.raises(psycopg.Error, match="whole numbers divide to a whole number") as refused:
        connection.execute("SELECT SUM(sex) / COUNT(*) FROM people")  # DuckDB: with digits
    assert refused.value.diag.statement_position == "8"
    with pytest.raises(psycopg.Error, match="not known to mean the same") as refused:
        connection.execute("SELECT list(sex) FROM made")
    assert "SET privacy_dialect = 'duckdb'" in refused.value.diag.message_hint
    assert served.account() == before
    (halves,) = connection.execute("SELECT DIV(COUNT(*), 2) FROM made").fetchone()
    assert halves == 250
    assert connection.execute("SELECT MEDIAN(sex) FROM made").fetchone()[0] in (1, 1.5, 2)


def test_duckdbs_sql_is_read_after_set_and_postgresqls_after_reset(connection):
    for reset in ("RESET privacy_dialect", "SET privacy_dialect TO DEFAULT", "RESET ALL"):
        connection.execute("SET privacy_dialect = 'duckdb'")
        assert connection.execute("SELECT COUNT(*) / 1000 FROM made").fetchone() == (0.5,)
        connection.execute(reset)
        assert connection.execute("SHOW privacy_dialect").fetchone() == ("postgres",)
    with pytest.raises(psycopg.Error, match="there is no dialect klingon"):
        connection.execute("SET privacy_dialect = 'klingon'")


def test_the_catalog_is_looked_at_in_every_dialect(served):
    for name in ("duckdb", "mysql", "bigquery", "tsql"):
        fresh = served.psycopg(options=f"-c privacy_dialect={name}")
        query = "SELECT relname FROM pg_catalog.pg_class WHERE relkind = 'r' ORDER BY 1"
        assert fresh.execute(query).fetchall() == [("made",), ("people",)]
        assert fresh.execute('SELECT * FROM "people" LIMIT 5').fetchall() == []


@pytest.mark.parametrize(
    ("statement", "names", "row"),
    [
        ("SELECT 7/2, 7/2.0, -7/2 AS third", ["?column?", "?column?", "third"], (3, 3.5, -3)),
        ("SELECT COUNT(*), MIN(sex) FROM made", ["count", "min"], (500, 1)),
        ("SELECT COUNT(*) + 1, 'a' FROM made", ["?column?", "?column?"], (501, "a")),
    ],
)
def test_unnamed_outputs_and_division_are_those_of_postgresql(served, statement, names, row):
    answer = served.psycopg().execute(statement)
    assert [column.name for column in answer.description] == names
    assert answer.fetchone() == row


def test_unnamed_outputs_of_private_questions(served):
    connection = served.psycopg()
    connection.execute("SET privacy_epsilon = 0.01")
    question = "SELECT sex, COUNT(*), AVG(income) FROM people GROUP BY sex"
    for _ in range(2):
        answer = connection.execute(question, prepare=True)
        assert [column.name for column in answer.description] == ["sex", "count", "avg"]
    connection.execute("SET privacy_error_columns = on")
    answer = connection.execute(question)
    names = ["sex", "sex_error", "count", "count_error", "avg", "avg_error"]
    assert [column.name for column in answer.description] == names


def test_lists_of_the_session_are_no_settings(served):
    connection = served.psycopg()
    for statement in ("SHOW GRANTS", "SHOW SYNTHESIZERS", "SHOW TABLES", "SHOW PRIVACY TABLES"):
        assert connection.execute(statement).rowcount > 0, statement


WRITTEN_BY_TOOLS = [
    # Metabase
    'SELECT "public"."people"."sex" AS "sex", COUNT(*) AS "count" FROM "public"."people"'
    ' WHERE ("public"."people"."sex" IS NOT NULL) AND (("public"."people"."sex" <> 3)'
    ' OR ("public"."people"."sex" IS NULL)) GROUP BY "public"."people"."sex" ORDER BY 1',
    # Tableau
    'SELECT "people"."sex" AS "sex", CAST(FLOOR("people"."income" / 200) AS BIGINT) AS "bin",'
    ' SUM(1) AS "cnt" FROM "public"."people" "people" WHERE "people"."income" < 100'
    " GROUP BY 1, 2 HAVING (COUNT(1) > 100) ORDER BY 1",
    # Power BI
    'select "rows"."sex" as "sex", sum(cast("rows"."income" as decimal)) as "a0"'
    ' from (select "sex", "income" from "public"."people" "$Table") "rows"'
    ' group by "sex" order by 1 limit 1000001',
    # Grafana, and by hand
    "SELECT sex, round(avg(income)::numeric, 1) AS value FROM people WHERE sex = ANY(ARRAY[1, 2])"
    " GROUP BY sex ORDER BY 1",
]


@pytest.mark.parametrize("question", WRITTEN_BY_TOOLS)
def test_what_tools_write_is_answered(served, question):
    connection = served.psycopg()
    connection.execute("SET privacy_epsilon = 0.3")
    assert [row[0] for row in connection.execute(question).fetchall()] == [1, 2]


def test_texts_of_moments_are_read_as_postgresql_reads_them():
    text = b"2020-01-02T03:04:05.000+02:00"
    assert decode(text, type_numbers.DATE, 0) == dt.date(2020, 1, 2)
    assert decode(text, type_numbers.TIMESTAMP, 0) == dt.datetime(2020, 1, 2, 3, 4, 5)
    assert decode(text, type_numbers.TIMESTAMPTZ, 0).astimezone(dt.UTC).hour == 1


STATES = {
    'CREATE LOCAL TEMPORARY TABLE "#Tableau_1_Connect_Check" ("COL" INTEGER) ON COMMIT PRESERVE'
    " ROWS": "42501",
    'SELECT "SUBCOL" AS "COL" INTO "#Tableau_2_Connect_Check" FROM (SELECT 1 AS "SUBCOL") s'
    " GROUP BY 1": "42501",
    'DROP TABLE "#Tableau_1_Connect_Check"': "42501",
    "CREATE UNLOGGED TABLE TZZZT7U1FSP000 (n INTEGER)": "42501",
    "INSERT INTO people VALUES (1)": "42501",
    "EXPLAIN (FORMAT JSON) SELECT COUNT(*) FROM people": "0A000",
    "SELECT foo(1)": "42883",
    "SELECT nope FROM people": "42703",
    "SELECT * FROM nope": "42P01",
    "SELEC 1": "42601",
    "SELECT TOP 1 id FROM people": "42601",
    "SELECT 1 / 0": "22012",
    "SELECT 'x'::int": "22P02",
    "SELECT 9223372036854775807::BIGINT + 9::BIGINT": "22003",
    "SELECT 100000::SMALLINT": "22003",
    "SELECT '2024-13-01'::DATE": "22008",
    "SELECT id, COUNT(*) FROM people GROUP BY id ORDER BY secret": "42000",
}
"""What is wrong, by PostgreSQL's state for it. By the first, Tableau and MicroStrategy
find out whether they may make tables, and fall back to subqueries where they may not."""


def test_an_error_has_the_state_that_clients_know(served):
    connection = served.psycopg()
    for statement, state in STATES.items():
        with pytest.raises(psycopg.Error) as refused:
            connection.execute(statement)
        assert refused.value.sqlstate == state, (statement, refused.value)
    with pytest.raises(psycopg.Error, match="write the query of the table in WITH"):
        connection.execute("CREATE TEMP TABLE t AS SELECT 1")


def test_a_pattern_without_tables_is_postgresqls(served):
    """DuckDB's SIMILAR TO takes a regular expression: 'abc' was not like 'a%'."""
    connection = served.psycopg()
    row = connection.execute("SELECT 'abc' SIMILAR TO 'a%', 'abc' SIMILAR TO 'b%'").fetchone()
    assert row == (True, False)
    with pytest.raises(psycopg.Error, match="to_hex"):  # in capitals there
        connection.execute("SELECT to_hex(255)")


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("SELECT 1 / 0", "division by zero"),  # DuckDB's words name a setting
        ("SELECT x % 0 FROM (VALUES (1)) AS v (x)", "division by zero"),
        # DuckDB's go on with the statement as it was written for DuckDB
        ("SELECT 'x'::int", "Conversion Error: Could not convert string 'x' to INT32"),
    ],
)
def test_an_error_quotes_no_setting_and_no_other_statement(served, statement, words):
    with pytest.raises(psycopg.Error) as refused:
        served.psycopg().execute(statement)
    assert str(refused.value) == words


def test_a_client_s_own_time_limit_is_kept(served):
    """Superset, Metabase and Redash set one; it was noted down, and no statement was given up."""
    connection = served.psycopg()
    for written, shown in {"300": "300ms", "'0.3 s'": "300ms", "'2min'": "2min", "0": "0"}.items():
        connection.execute(f"SET statement_timeout = {written}")
        assert connection.execute("SHOW statement_timeout").fetchone() == (shown,)
    with pytest.raises(psycopg.Error) as refused:
        connection.execute("SET statement_timeout = 'soon'")
    assert refused.value.sqlstate == "22023"
    connection.execute("SET statement_timeout = 300")
    started = time.monotonic()
    with pytest.raises(psycopg.errors.QueryCanceled, match=r"limit of 0\.3 s"):
        connection.execute(ENDLESS)
    assert time.monotonic() - started < 30
    connection.execute("RESET statement_timeout")
    assert connection.execute("SELECT 1").fetchone() == (1,)


PATTERNS = {
    "secret LIKE %s": ("hidden-1%", 111),
    "secret NOT ILIKE %s::text": ("HIDDEN-1%", 389),
    "lower(secret) LIKE lower(%s)": ("HIDDEN-1%", 111),
    "secret LIKE '%%' || %s || '%%'": ("-1", 111),
    "secret LIKE CONCAT('%%', %s::text, '%%')": ("-1", 111),
}
"""How Metabase, Django and Hibernate ask for a part of a text, with the part as a parameter."""


@pytest.mark.parametrize("binary", [False, True])
def test_a_pattern_may_be_a_parameter(served, binary):
    """It was refused: the pattern had to be a literal. Sigma is 12 at most: 100 is below 1e-15."""
    connection = served.psycopg(options="-c privacy_epsilon=0.5")
    for condition, (value, rows) in PATTERNS.items():
        query = f"SELECT COUNT(*) FROM people WHERE {condition}"
        ((n,),) = connection.execute(query, [value], binary=binary).fetchall()
        assert abs(n - rows) < 100
    with pytest.raises(psycopg.Error, match="without backslash"):
        connection.execute("SELECT COUNT(*) FROM people WHERE secret LIKE %s", ["a\\_%"])
