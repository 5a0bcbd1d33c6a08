"""Patterns of names: every one is matched in a time that its length does not drive up."""

import re
import threading
import time

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import flight

import sqlpriv
from sqlpriv.interfaces.server.protocol import messages as m
from sqlpriv.interfaces.server.protocol.catalog import CALLS, fits_pattern
from sqlpriv.interfaces.server.protocol.catalog import tables as get_tables
from sqlpriv.session.session import Session


@given(st.text("ab_%é", max_size=8), st.text("ab_é", max_size=8))
def test_a_pattern_fits_what_the_same_regular_expression_fits(pattern, name):
    expression = re.escape(pattern).replace("%", ".*").replace("_", ".")
    assert fits_pattern(name, pattern) == (re.fullmatch(expression, name, re.DOTALL) is not None)


def test_a_pattern_of_many_wildcards_holds_nobody_up():
    """A matcher that goes back never ends on the first: it tries 2^30 ways and more."""
    name = "a" * 60
    start = time.thread_time()
    for pattern in ("%a" * 30 + "%b", "%_" * 31 + "%b", "%" * 2_000_000, "a%" * 1_000_000):
        assert fits_pattern(name, pattern) == (pattern[-2:] == "%%")
    assert time.thread_time() - start < 5


def test_the_server_answers_others_while_somebody_asks_with_many_wildcards(serve):
    served = serve()
    name = "a" * 60
    served.connect("olga").execute(f"CREATE TABLE {name} (x INTEGER)")
    client, call = served.flight("ada")
    pattern = "%a" * 40 + "%b"
    command = m.wrap("CommandGetTables", table_name_filter_pattern=pattern, include_schema=False)

    def ask():
        client.do_get(flight.Ticket(command), call).read_all()

    thread = threading.Thread(target=ask, daemon=True)
    start = time.perf_counter()
    thread.start()
    assert served.connect("bob").execute("SELECT 1 AS a").fetchall() == [(1,)]
    thread.join(30)
    assert not thread.is_alive()
    assert time.perf_counter() - start < 30


def test_a_table_that_was_not_granted_is_in_no_catalog(serve):
    """Flight's tables and keys, PostgreSQL's catalog and previews, prepared statements."""
    psycopg = pytest.importorskip("psycopg")
    served = serve()
    prepared, question = served.psycopg(), "SELECT sex, COUNT(*) FROM people GROUP BY sex"
    prepared.execute("SET privacy_epsilon = 0.1")
    for _ in range(2):
        assert prepared.execute(question, prepare=True).rowcount == 2
    served.connect("olga").execute("GRANT SELECT ON people TO 'bob'")
    for name, tables in (("bob", {"people", "made"}), ("ada", {"made"})):
        client, call = served.flight(name)
        for message in ("CommandGetTables", "CommandGetPrimaryKeys", "CommandGetImportedKeys"):
            known = (
                {"include_schema": True} if message == "CommandGetTables" else {"table": "people"}
            )
            answer = client.do_get(flight.Ticket(m.wrap(message, **known)), call).read_all()
            if message == "CommandGetTables":
                assert set(answer["table_name"].to_pylist()) == tables
                schemas = b"".join(answer["table_schema"].to_pylist())
                assert (b"secret" in schemas) == (name == "bob")
        connection = served.psycopg(name)
        rows = connection.execute("SELECT relname FROM pg_class WHERE relkind = 'r'").fetchall()
        assert {relname for (relname,) in rows} == tables
        columns = connection.execute("SELECT attname FROM pg_attribute").fetchall()
        assert (("secret",) in columns) == (name == "bob")
        comments = connection.execute("SELECT description FROM pg_description").fetchall()
        assert ("FROM people" in str(comments)) == (name == "bob")
    for statement in (
        "SELECT * FROM people LIMIT 5",
        "SELECT COUNT(*) FROM people",
        "DECLARE c CURSOR WITH HOLD FOR SELECT COUNT(*) FROM people",
    ):
        with pytest.raises(psycopg.Error, match='no released or public table "people"'):
            served.psycopg("ada").execute(statement)
    with pytest.raises(psycopg.Error, match='no released or public table "people"'):
        prepared.execute(question, prepare=True)


LINKED = """
CREATE TABLE people (id BIGINT PRIMARY KEY, email VARCHAR UNIQUE);
CREATE TABLE visits (visit INTEGER, person_id BIGINT);
CREATE TABLE notes (note INTEGER, person_id BIGINT);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 5);
ALTER TABLE visits ADD PRIVACY_LINK (person_id) REFERENCES people(id);
ALTER TABLE notes SET PRIVACY BOUND (rows_per_unit = 5);
ALTER TABLE notes ADD PRIVACY_LINK (person_id) REFERENCES people(id);
"""
VISITS = ("shop", "main", "people", "id", "shop", "main", "visits", "person_id", 1)
NOTES = (*VISITS[:6], "notes", *VISITS[7:])


def test_declared_keys_and_links_are_flights_keys(tmp_path):
    vault = tmp_path / "shop.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(LINKED)
    with Session(vault) as session:

        def ask(name, **fields):
            answer = CALLS[f"CommandGet{name}"](m.message(f"CommandGet{name}", **fields), session)
            return [tuple(row.values()) for row in answer.to_pylist()]

        (key,) = ask("PrimaryKeys", table="people")
        assert key[:4] + key[5:] == ("shop", "main", "people", "id", 1)
        assert ask("PrimaryKeys", table="visits") == []
        assert ask("PrimaryKeys", table="people", catalog="other") == []
        (link,) = ask("ImportedKeys", table="visits", db_schema="main")
        assert link[:9] == VISITS
        assert link[10:] == (key[4], 3, 3)
        assert [row[:9] for row in ask("ExportedKeys", table="people")] == [NOTES, VISITS]
        (link,) = ask("CrossReference", pk_table="people", fk_table="notes")
        assert link[:9] == NOTES
        assert ask("CrossReference", pk_table="visits", fk_table="people") == []


MOODS = """
CREATE TYPE mood AS ENUM ('sad', 'it''s fine');
CREATE TABLE "my visits" (id BIGINT, "the mood" mood, other mood, paid DECIMAL(5, 1));
ALTER TABLE "my visits" SET PRIVACY (
    KEY (id), BOUND (rows_per_unit = 1), COLUMN "the mood" IN ('sad', 'it''s fine'));
"""


def test_a_table_with_an_enum_is_listed_with_its_columns(tmp_path):
    """One column whose labels are declared, one whose labels are not public."""
    vault = tmp_path / "people.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(MOODS)
    command = m.message("CommandGetTables", include_schema=True)
    for role in ("analyst", "owner"):
        with Session(vault, role=role) as session:
            (row,) = get_tables(command, session).to_pylist()
        schema = pa.ipc.read_schema(pa.py_buffer(row["table_schema"]))
        assert schema.names == ["id", "the mood", "other", "paid"]
        assert pa.types.is_dictionary(schema.field("the mood").type)
        assert schema.field("paid").type == pa.decimal128(5, 1)


def test_private_tables_that_are_named_as_duckdbs_own_views_have_their_own_columns(tmp_path):
    """They were listed with those of information_schema, too."""
    vault, names = tmp_path / "people.duckdb", ("tables", "columns", "schemata")
    with sqlpriv.connect(vault, role="owner") as owner:
        for name in names:
            owner.execute(f"CREATE TABLE {name} (id BIGINT, age INTEGER)")
            owner.execute(f"ALTER TABLE {name} SET PRIVACY (KEY (id), BOUND (rows_per_unit = 1))")
    with Session(vault) as session:
        rows = get_tables(m.message("CommandGetTables", include_schema=True), session).to_pylist()
    schemas = {x["table_name"]: pa.ipc.read_schema(pa.py_buffer(x["table_schema"])) for x in rows}
    assert {name: schemas[name].names for name in names} == {n: ["id", "age"] for n in names}
