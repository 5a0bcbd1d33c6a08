"""ADBC's own Flight SQL driver, as anybody has it: queries, parameters, the catalog, errors."""

import pyarrow as pa
import pytest

from sqlpriv.kernel.reader import Reader

PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)"
OPTION = "adbc.flight.sql.session.option.privacy_epsilon"
adbc = pytest.importorskip("adbc_driver_manager")


def rows(cursor, sql):
    """Asks and fetches: the driver puts off the run until then."""
    cursor.execute(sql)
    return cursor.fetchall()


def test_a_question_and_its_parameters(served):
    with served.adbc().cursor() as cursor:
        cursor.execute(f"{PRICED} sex, COUNT(*) AS n, AVG(income) AS a FROM people STRATIFY BY sex")
        table = cursor.fetch_arrow_table()
        assert table.column_names == ["sex", "n", "a"]
        assert table["sex"].to_pylist() == [1, 2, None]
        cursor.execute("SET privacy_epsilon = 0.2")
        sql = "SELECT COUNT(*) AS n FROM people WHERE income >= ? AND sex = ?"
        cursor.execute(sql, (50, 1))
        assert abs(cursor.fetchone()[0] - 125) < 100  # Laplace of scale 5: off by exp(-20)
        before = served.account()
        cursor.execute(
            sql.replace("?", "$a", 1).replace("?", "$b"), pa.record_batch({"b": [1], "a": [50]})
        )
        cursor.fetchone()
        assert served.account() == before  # the same question, in other words: replayed
        cursor.execute("SELECT sex, COUNT(*) AS n FROM made GROUP BY sex ORDER BY sex")
        assert sum(n for _, n in cursor.fetchall()) == 500
        assert served.account() == before


def test_a_password_is_good_for_a_session(served):
    name, _, secret = served.tokens["ada"].partition(".")
    with served.adbc(None, username=name, password=secret).cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM made")
        assert cursor.fetchall() == [(500,)]


def test_sessions_keep_what_was_set_apart(served):
    cookies = {"adbc.flight.sql.rpc.with_cookie_middleware": "true"}
    first, second = served.adbc(**cookies), served.adbc(**cookies)
    first.adbc_connection.set_options(**{OPTION: "0.3"})
    assert first.adbc_connection.get_option_float(OPTION) == 0.3
    sql = "EXPLAIN PRIVACY SELECT COUNT(*) FROM people"
    with first.cursor() as cursor:
        cursor.execute(sql)
        assert 0.3 in cursor.fetch_arrow_table()["epsilon"].to_pylist()
    with second.cursor() as cursor, pytest.raises(adbc.OperationalError, match="no price"):
        cursor.execute(sql)
    with pytest.raises(adbc.Error):
        second.adbc_connection.set_options(**{OPTION: "-1"})


def test_asking_for_columns_runs_and_charges_nothing(served, monkeypatch):
    """Drivers ask for schemas behind one's back; other servers ran the query for that."""
    before = served.account()
    connection = served.adbc()
    monkeypatch.setattr(Reader, "cells", None)  # whoever reads a private row fails
    with connection.cursor() as cursor:
        for sql in (f"{PRICED} COUNT(*) AS n FROM people", "SELECT sex FROM made"):
            columns = cursor.adbc_execute_schema(sql)
            assert len(columns) == 1
        asked = cursor.adbc_prepare(f"{PRICED} COUNT(*) AS n FROM people WHERE income > ?")
        assert asked == pa.schema([("1", pa.null())])
    assert connection.adbc_get_info()["vendor_name"] == "sqlpriv"
    assert connection.adbc_get_table_types() == ["PRIVATE TABLE", "TABLE"]
    assert connection.adbc_get_table_schema("people").names == ["id", "sex", "income", "secret"]
    (catalog,) = connection.adbc_get_objects(depth="all").read_all().to_pylist()
    (schema,) = catalog["catalog_db_schemas"]
    tables = {t["table_name"]: t for t in schema["db_schema_tables"]}
    assert {name: t["table_type"] for name, t in tables.items()} == {
        "people": "PRIVATE TABLE",
        "made": "TABLE",
    }
    assert [c["column_name"] for c in tables["made"]["table_columns"]] == ["sex", "income"]
    one = connection.adbc_get_objects(depth="tables", table_name_filter="ma%").read_all()
    assert [
        t["table_name"] for t in one.to_pylist()[0]["catalog_db_schemas"][0]["db_schema_tables"]
    ] == ["made"]
    assert served.account() == before
    assert served.vault.with_suffix(".audit").read_text() == ""  # nothing was run


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        (f"{PRICED} secret FROM people", 'line 1, column 58: the column "secret" is neither a key'),
        ("ALTER TABLE people SET PUBLIC", "only an owner can declare"),
        ("INSERT INTO people VALUES (1)", "only an owner can run INSERT"),
        ("CREATE SYNTHETIC TABLE x AS SELECT 1", "Refused"),
        ("SELECT nothing FROM made", "nothing"),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 99) COUNT(*) FROM people",
            "BudgetExhausted: costs epsilon = 99 but",
        ),
        ("SELECT * FROM read_csv('/etc/passwd')", "out of reach"),
    ],
)
def test_a_refusal_arrives_in_our_words_and_nothing_else_of_the_server(served, sql, words):
    before = served.account()
    with served.adbc().cursor() as cursor, pytest.raises(adbc.Error) as told:
        rows(cursor, sql)
    assert words in str(told.value)
    for leak in ("Traceback", ".py", str(served.vault.parent), "hidden-"):
        assert leak not in str(told.value)
    assert served.account() == before


def test_an_owner_loads_and_declares_and_others_may_ask_at_once(served):
    with served.adbc("olga").cursor() as cursor:
        cursor.execute("CREATE TABLE more (a INTEGER)")
        cursor.executemany("INSERT INTO more VALUES (?)", [(7_777_777,), (8,)])
        assert cursor.rowcount == 2
        cursor.execute("ALTER TABLE more SET PUBLIC")
    with served.adbc("ada").cursor() as cursor:
        cursor.execute("SELECT SUM(a) AS s FROM more")
        assert cursor.fetchall() == [(7_777_785,)]
    audit = served.vault.with_suffix(".audit")
    assert audit.stat().st_mode & 0o777 == 0o600
    assert "INSERT INTO more VALUES (?)" in audit.read_text()
    assert "7777777" not in audit.read_text()


def test_an_owner_reaches_no_file_of_the_server_and_keeps_no_transaction(served, tmp_path):
    with served.adbc("olga").cursor() as cursor:
        for sql in (
            f"COPY people TO '{tmp_path}/out.csv'",
            "BEGIN",
            f"PUBLISH made TO '{tmp_path}/out/*.parquet'",
            f"PUBLISH made TO '{tmp_path}/out.duckdb'",
            "EVALUATE SYNTHETIC TABLE made AGAINST people STRATIFY BY sex OPTIONS"
            f" (report = '{tmp_path}/out.html')",
        ):
            with pytest.raises(adbc.Error, match=r"disabled|is not kept|reaches no file"):
                cursor.execute(sql)
    assert not [*tmp_path.glob("out*")]
    with served.adbc("ada").cursor() as cursor:  # the vault is not held
        cursor.execute(f"{PRICED} COUNT(*) FROM people")
        cursor.fetchall()


def test_a_ceiling_of_a_principal_holds_for_who_logs_in_by_that_name(served):
    with served.adbc("olga").cursor() as cursor:
        cursor.execute("ALTER TABLE people SET PRIVACY BUDGET (epsilon = 0.15) FOR 'ada'")
    sql = f"{PRICED} COUNT(*) FROM people WHERE income > 10"
    with served.adbc("ada").cursor() as cursor:
        cursor.execute(f"{PRICED} COUNT(*) FROM people")
        cursor.fetchall()
        with pytest.raises(adbc.Error, match="left to ada"):
            rows(cursor, sql)
    with served.adbc("bob").cursor() as cursor:
        cursor.execute(sql)
        assert len(cursor.fetchall()) == 1
