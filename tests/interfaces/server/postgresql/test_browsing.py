"""What tools ask of the catalog when they browse, and what drivers do between two statements."""

from contextlib import closing
from decimal import Decimal

import pyarrow as pa
import pytest

import sqlpriv
from sqlpriv.interfaces.server.postgresql.catalog.catalog_facts import catalog_facts
from sqlpriv.interfaces.server.postgresql.catalog.pg_catalog import CatalogDatabase
from sqlpriv.interfaces.server.postgresql.encoding.type_numbers import fields
from sqlpriv.interfaces.server.postgresql.encoding.wire_values import encode
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import StatementScan
from sqlpriv.interfaces.server.postgresql.statements import catalog_looks
from sqlpriv.interfaces.server.postgresql.statements.catalog_looks import CatalogLooks
from sqlpriv.interfaces.server.postgresql.statements.client_settings import SETTINGS
from sqlpriv.interfaces.server.postgresql.statements.output_names import output_names
from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE people (id BIGINT PRIMARY KEY, paid DECIMAL(10, 2));
CREATE TABLE visits (person_id BIGINT, day DATE);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE visits SET PRIVACY BOUND (rows_per_unit = 5);
ALTER TABLE visits ADD PRIVACY_LINK (person_id) REFERENCES people(id);
"""


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    vault = tmp_path_factory.mktemp("browsed") / "shop.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(SETUP)
    with Session(vault, principal="ada") as session:
        database = CatalogDatabase(session, catalog_facts(session), SETTINGS)
        yield database
        database.close()


def test_a_catalog_is_made_anew_where_a_table_is_declared_otherwise(tmp_path, monkeypatch):
    vault = tmp_path / "shop.duckdb"
    monkeypatch.setattr(catalog_looks, "_CATALOG_SECONDS", -1.0)
    with Session(vault, role="owner") as owner:
        owner.execute(SETUP)
    with Session(vault, principal="ada") as session, closing(CatalogLooks(session, {})) as looks:
        first = looks.catalog()
        assert looks.catalog() is first
        with Session(vault, role="owner") as owner:
            owner.execute("ALTER TABLE people ALTER COLUMN paid SET PRIVACY DOMAIN BETWEEN (0, 9)")
        declared = looks.catalog()
        assert declared is not first
        assert looks.catalog() is declared
        declared.fill_preview("visits", pa.table({"person_id": [1]}))
        assert looks.catalog() is not declared  # whose rows may be others by now


LOOKS = {
    # a function's argument has the name of a column that the function itself looks at
    "SELECT conname, pg_get_constraintdef(oid, true) FROM pg_constraint ORDER BY conname": [
        ("people_pkey", "PRIMARY KEY (id)"),
        ("visits_person_id_fkey", "FOREIGN KEY (person_id) REFERENCES people(id)"),
    ],
    "SELECT format_type(oid, typtypmod) FROM pg_type WHERE typname = 'int4'": [("integer",)],
    "SELECT indexdef FROM pg_indexes": [
        ("CREATE UNIQUE INDEX people_pkey ON public.people USING btree (id)",)
    ],
    "SELECT array_to_string(ARRAY(SELECT pg_get_indexdef(i.indexrelid, k + 1, true)"
    " FROM generate_subscripts(i.indkey, 1) AS k ORDER BY k), ',') FROM pg_index i": [("id",)],
    "SELECT unique_constraint_name FROM information_schema.referential_constraints": [
        ("people_pkey",)
    ],
    "SELECT table_name, column_name FROM information_schema.constraint_column_usage"
    " WHERE constraint_name LIKE '%fkey'": [("people", "id")],
    # what a decimal holds
    "SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attname = 'paid'": [
        ("numeric(10,2)",)
    ],
    "SELECT numeric_precision, numeric_scale FROM information_schema.columns"
    " WHERE column_name = 'paid'": [(10, 2)],
    # names and numbers of objects
    "SELECT DISTINCT conrelid::regclass::text FROM pg_constraint WHERE contype = 'f'": [
        ("visits",)
    ],
    "SELECT ('public' || '.' || 'people')::regclass = 'people'::regclass::oid": [(True,)],
    "SELECT c.tableoid FROM pg_catalog.pg_class c WHERE relname = 'people'": [(0,)],
    "SELECT * FROM current_schema()": [("public",)],
    "SELECT user AS a, session_user AS b": [("ada", "ada")],
    # relations that a vault has nothing for, and columns that nobody else asks for
    "SELECT conname, contoencoding FROM pg_catalog.pg_conversion": [],
    "SELECT castfunc, castcontext, castmethod FROM pg_catalog.pg_cast": [],
    "SELECT check_clause FROM information_schema.check_constraints": [],
    "SELECT datname, numbackends FROM pg_stat_database": [("shop", 1)],
    "SELECT boot_val FROM pg_settings WHERE name = 'max_index_keys'": [("32",)],
    "SELECT relfrozenxid FROM pg_class WHERE relname = 'people'": [(None,)],
    "SELECT current_setting('default_table_access_method')": [("heap",)],
    "SELECT pg_cancel_backend(1), pg_statistics_obj_is_visible(1)": [(False, True)],
    # as Django lists tables: what no search path has is not visible
    "SELECT DISTINCT nspname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace"
    " WHERE pg_table_is_visible(c.oid) AND nspname <> 'pg_catalog'": [("public",)],
    "SELECT pg_table_is_visible('pg_class'::regclass)": [(True,)],
    # as asyncpg writes parameters into the query of a COPY
    "SELECT pg_catalog.quote_literal('it''s'), pg_catalog.quote_nullable(NULL)": [
        ("'it''s'", "NULL")
    ],
    # without digits it has as many as there are
    "SELECT 0.12345::numeric, CAST(1.23456 AS decimal), 0.12345::numeric(10, 4), 7::numeric / 2": [
        (0.12345, 1.23456, Decimal("0.1235"), 3.5)
    ],
    "SELECT '{1.5,2.25}'::numeric[]": [([1.5, 2.25],)],
    # a name that is a word of SQL, as Metabase calls a privilege
    "SELECT nspname AS select FROM pg_namespace WHERE nspname = 'public'": [("public",)],
    "SELECT EXISTS (SELECT FROM pg_namespace)": [(True,)],
    # lists side by side, as Django numbers the columns of an index
    "SELECT i.indisprimary, u.k, u.o, u.n FROM pg_index i, unnest(i.indkey, i.indoption)"
    " WITH ORDINALITY u(k, o, n)": [(True, 1, 0, 1)],
    "SELECT k FROM pg_constraint c, unnest(c.conkey) WITH ORDINALITY AS u(k, n) ORDER BY k": [
        (1,),
        (1,),
    ],
    "SELECT attname FROM pg_attribute WHERE attrelid = 'people'::regclass"
    " AND atttypid = ANY ('{int,int8}'::regtype[])": [("id",)],
    "SELECT COALESCE(NULL, '{}'::text[]), '{a,b}'::text[]": [([], ["a", "b"])],
    "SELECT r.regexp_matches FROM regexp_matches('ON (a)', '\\((.+)\\)') r": [(["a"],)],
    "SELECT array_remove(ARRAY['a', 'b'], 'a')": [(["b"],)],
    # as Grafana looks for the columns of what was typed
    "SELECT parse_ident('People'), parse_ident('\"My.T\"\"x\".people')": [
        (["people"], ['My.T"x', "people"])
    ],
    # as JDBC tells types that are lists, and the columns of a primary key
    "SELECT typinput = 'pg_catalog.array_in'::regproc FROM pg_type WHERE typname = '_int4'": [
        (True,)
    ],
    "SELECT (k.keys).x, k.n FROM (SELECT (information_schema._pg_expandarray(i.indkey)).n AS n,"
    " information_schema._pg_expandarray(i.indkey) AS keys FROM pg_index i) k": [(1, 1)],
    # as psql's \dp and JDBC tell rights on columns: NULL would be an owner's, to write as well
    "SELECT DISTINCT attacl FROM pg_attribute WHERE attrelid = 'people'::regclass": [
        (["ada=r/owner"],)
    ],
    # types that no column has, which Ruby and Npgsql look for
    "SELECT typname, typarray, typinput FROM pg_type WHERE oid IN (869, 3802) ORDER BY oid": [
        ("inet", 1041, "inet_in"),
        ("jsonb", 3807, "jsonb_in"),
    ],
    "SELECT typtype, format_type(oid, -1) FROM pg_type WHERE typname IN ('void', '_varchar')"
    " ORDER BY oid": [("b", "character varying[]"), ("p", "void")],
    # as DBD::Pg goes from a foreign key to what it relies on, and to the key of that
    "SELECT f.conname, p.conname AS of FROM pg_constraint f JOIN pg_depend a ON a.objid = f.oid"
    " AND a.classid = 'pg_constraint'::regclass AND a.deptype = 'n' JOIN pg_depend b"
    " ON b.objid = a.refobjid AND b.deptype = 'i' JOIN pg_constraint p ON p.oid = b.refobjid": [
        ("visits_person_id_fkey", "people_pkey")
    ],
    "SELECT has_column_privilege('people', 'paid', 'select'), acldefault('r', 10),"
    " pg_tablespace_size(1663), pg_get_function_sqlbody(1)": [(True, None, 0, None)],
    # the index that a foreign key relies on
    "SELECT c.relname FROM pg_constraint k JOIN pg_class c ON c.oid = k.conindid"
    " WHERE k.contype = 'f'": [("people_pkey",)],
}


@pytest.mark.parametrize("sql", LOOKS)
def test_a_look_at_the_catalog(catalog, sql):
    rows = catalog.query(sql, ()).to_pylist()
    assert [tuple(row.values()) for row in rows] == LOOKS[sql]


def test_a_function_that_is_not_there_is_named(catalog):
    with pytest.raises(sqlpriv.ProgrammingError, match='function "nothing" does not exist'):
        catalog.query("SELECT 'nothing'::pg_catalog.regproc::pg_catalog.oid", ())


@pytest.mark.parametrize(
    "name",
    ["duckdb_settings()", "duckdb_extensions()", "duckdb_secrets", "read_text('/etc/hosts')"],
)
def test_the_catalog_does_not_tell_where_the_server_keeps_its_files(catalog, name):
    for sql in (f"SELECT s.* FROM pg_am, {name} s", f"SELECT (SELECT count(*) FROM {name})"):
        with pytest.raises(sqlpriv.ProgrammingError) as refusal:
            catalog.query(sql, ())
        assert str(refusal.value).endswith("does not exist")


def test_an_answer_of_the_catalog_is_no_larger_than_it_may_be(catalog):
    sql = "SELECT repeat('x', 1000000) FROM generate_series(1, 100)"
    with pytest.raises(sqlpriv.ProgrammingError, match="an answer takes at most"):
        catalog.query(sql, ())


def test_numbers_that_are_sent_as_texts_meet_numbers(catalog):
    sql = "SELECT relname FROM pg_class WHERE relnamespace = ANY ($1) ORDER BY relname"
    rows = catalog.query(sql, [["2200", "12"]]).to_pylist()
    assert [row["relname"] for row in rows] == ["people", "people_pkey", "visits"]
    assert not catalog.query("SELECT 1 FROM pg_class WHERE relname = ANY ($1)", [["7"]]).num_rows
    with pytest.raises(sqlpriv.ProgrammingError):
        catalog.query(sql, [["public"]])


def test_lists_of_names_and_columns_of_indexes_have_types_of_their_own(catalog):
    """node-postgres leaves both as texts, which Sequelize reads."""
    sql = (
        "SELECT array_agg(a.attname) AS columns, array_agg(a.attname), array_agg(a.attname::text)"
        " AS texts, i.indkey FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid"
        " AND a.attnum = ANY (i.indkey) GROUP BY i.indkey"
    )
    answer = catalog.query(sql, ())
    assert [field.oid for field in fields(answer.schema)] == [1003, 1003, 1009, 22]
    (key,) = answer["indkey"].to_pylist()
    assert encode(key, 22, 0) == b"1"
    assert encode([1, 2], 22, 0) == b"1 2"
    assert encode([1], 22, 1) == bytes.fromhex("00000001 00000000 00000015 00000001 00000000") + (
        bytes.fromhex("00000002 0001")
    )


def test_a_decimal_is_told_with_its_digits():
    (field,) = fields(pa.schema([("paid", pa.decimal128(10, 2))]))
    assert field.modifier == (10 << 16 | 2) + 4


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT age::text, count(*) FROM t", ["age", "count"]),
        ("SELECT CAST(t.age AS bigint), avg(age)::int FROM t", ["age", "avg"]),
        ("SELECT 'a'::text, 1::int4, (1 + 2)::bigint", ["text", "int4", "int8"]),
        ("SELECT current_user, date '2020-01-01'", ["current_user", "date"]),
        ("SELECT CASE WHEN a THEN 1 END, a::text || 'x' FROM t", ["case", "?column?"]),
        ("SELECT upper(a) AS b, lower(a) c FROM t", ["b", "c"]),
        ("VALUES (1, 'a')", ["column1", "column2"]),
        (
            "SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY a), max(a) FILTER (WHERE b) OVER w",
            ["percentile_cont", "max"],
        ),
        ("SELECT sum(a) OVER (ORDER BY b), sum(a) / sum(b) OVER () FROM t", ["sum", "?column?"]),
    ],
)
def test_outputs_without_names_have_those_of_postgresql(sql, names):
    ours = ["b", "c"] if "AS b" in sql else ["CASE WHEN x", "CASE WHEN y"]
    ours = ["CAST(x AS VARCHAR)"] * len(names) if "int4" in sql else ours
    ours = ["(x / y)"] * len(names) if "OVER" in sql else ours
    assert output_names(ours, StatementScan(sql)) == names


@pytest.mark.parametrize("statement", ["RESET ALL", "DISCARD ALL", "RESET privacy_epsilon"])
def test_what_a_user_pays_by_default_comes_back(served, statement):
    served.add_user("dash", epsilon=0.01)
    connection = served.psycopg("dash")
    connection.execute("SET privacy_epsilon = 0.5")
    connection.execute(statement)
    assert connection.execute("SHOW privacy_epsilon").fetchone() == ("0.01",)
    connection.execute("SELECT COUNT(*) FROM people")
    ((_, name, setting),) = [
        (0, *row[:2]) for row in connection.execute("SHOW ALL") if row[0] == "privacy_epsilon"
    ]
    assert (name, setting) == ("privacy_epsilon", "0.01")


def test_statements_are_prepared_in_sql(served):
    psycopg = pytest.importorskip("psycopg")
    connection = served.psycopg()
    connection.execute("PREPARE many (bigint) AS SELECT COUNT(*) FROM made WHERE sex <> $1")
    assert connection.execute("EXECUTE many (3)").fetchone() == (500,)
    connection.execute("PREPARE day AS SELECT COUNT(*) FROM made WHERE income >= $1 AND sex > $2")
    assert connection.execute("EXECUTE day ('0', 0)").fetchone() == (500,)
    with pytest.raises(psycopg.Error, match="1 values for 2 parameters"):
        connection.execute("EXECUTE day (1)")
    connection.execute("DEALLOCATE many")
    with pytest.raises(psycopg.Error, match="no prepared statement"):
        connection.execute("EXECUTE many (3)")
    connection.execute("DISCARD ALL")
    with pytest.raises(psycopg.Error, match="no prepared statement"):
        connection.execute("EXECUTE day (1, 1)")
    connection.execute("PREPARE day AS SELECT 1")
    assert connection.execute("EXECUTE day").fetchone() == (1,)
