"""What database browsers, BI tools and drivers ask before they show a schema, each in one shape.

The rows are those that PostgreSQL 15 gives for tables of the same definition, but for numbers of
objects.
"""

import datetime as dt

import pyarrow as pa
import pytest

from sqlpriv.interfaces.server.postgresql.encoding.wire_values import as_text, encode
from sqlpriv.interfaces.server.postgresql.reading.sql_scan import without_schema
from sqlpriv.interfaces.server.postgresql.statements.catalog_looks import CatalogLooks
from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE people (id BIGINT PRIMARY KEY, paid DECIMAL(10, 2), email VARCHAR UNIQUE);
CREATE TABLE a_visit (person_id BIGINT, day DATE);
CREATE TABLE aXvisit (n INTEGER);
ALTER TABLE aXvisit SET PUBLIC;
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE a_visit SET PRIVACY BOUND (rows_per_unit = 5);
ALTER TABLE a_visit ADD PRIVACY_LINK (person_id) REFERENCES people(id);
"""


@pytest.fixture(scope="module")
def looks(tmp_path_factory):
    import sqlpriv

    vault = tmp_path_factory.mktemp("tools") / "shop.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(SETUP)
    with Session(vault, principal="ada") as session:
        looks = CatalogLooks(session, {})
        yield looks
        looks.close()


LOOKS = {
    "JDBC: who may do what to a table; without a list its owner may do everything": (
        "SELECT relname, relacl FROM pg_catalog.pg_class c, pg_catalog.pg_roles r WHERE"
        " c.relowner = r.oid AND c.relkind IN ('r', 'p', 'v') AND relname = 'people'",
        [("people", ["ada=r/owner"])],
    ),
    "DataGrip: has an object changed since": (
        "select T.relname, T.xmin as state, C.xmin::varchar::bigint from pg_catalog.pg_class T join"
        " pg_catalog.pg_constraint C on C.conrelid = T.oid where contype = 'f' order by T.xmin",
        [("a_visit", 1, 1)],
    ),
    "DataGrip: rows by place": (
        "select P.ctid from pg_class P where relname = 'people'",
        ["(0,1)"],
    ),
    "DataGrip: age of transactions": (
        "select pg_catalog.age(relfrozenxid) from pg_class where relname = 'people'",
        [0],
    ),
    "DataGrip: columns of indexes, counted from 0": (
        "select ind.indkey[k-1] col, can from pg_catalog.pg_index ind cross join unnest(ind.indkey)"
        " with ordinality u(u, k) cross join pg_catalog.pg_indexam_has_property(403, 'can_order')"
        " can where ind.indrelid = 'people'::regclass order by 1",
        [(1, True), (3, True)],
    ),
    "ODBC: primary key by an index's own columns": (
        "select ta.attname, ia.attnum, ic.relname from pg_catalog.pg_attribute ta,"
        " pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i,"
        " pg_catalog.pg_class ic where tc.relname = 'people' and tc.oid = i.indrelid and"
        " i.indisprimary = 't' and ia.attrelid = i.indexrelid and ta.attrelid = i.indrelid and"
        " ta.attnum = i.indkey[ia.attnum - 1] and ic.oid = i.indexrelid",
        [("id", 1, "people_pkey")],
    ),
    "ODBC: foreign keys by a series": (
        "select a1.attname, i::int2 as seq from (select conrelid, conkey, generate_series("
        "array_lower(conkey, 1), array_upper(conkey, 1)) as i from pg_catalog.pg_constraint where"
        " contype = 'f') ref join pg_catalog.pg_attribute a1 on a1.attrelid = conrelid and"
        " a1.attnum = conkey[i]",
        [("person_id", 1)],
    ),
    "Prisma: places in a key, counted from 0": (
        "with raw as (select indrelid, unnest(indkey) as k, generate_subscripts(indkey, 1) as n"
        " from pg_index) select attname, n from raw join pg_attribute on attrelid = indrelid and"
        " attnum = k order by 1",
        [("email", 0), ("id", 0)],
    ),
    "Prisma: relations that have a type": (
        "select relname from pg_class join pg_type on pg_type.oid = reltype where reltype > '0'"
        " and typtype = 'c' order by 1",
        ["aXvisit", "a_visit", "people"],
    ),
    "Npgsql: types by the functions that read them": (
        "select typname, case when pg_proc.proname = 'array_recv' then a.typelem else 0 end from"
        " pg_type a join pg_proc on pg_proc.oid = a.typreceive where typname in ('_int4', 'int4')"
        " order by 1",
        [("_int4", 23), ("int4", 0)],
    ),
    "Npgsql, of later versions": (
        "select typname from pg_type typ left join pg_proc proc on proc.oid = typ.typreceive where"
        " proc.proname = 'array_recv' and typname = '_text'",
        ["_text"],
    ),
    "Metabase: comments of columns by names that are put together": (
        'SELECT "c"."column_name", COL_DESCRIPTION(CAST(CAST(FORMAT(\'%I.%I\', CAST('
        '"c"."table_schema" AS TEXT), CAST("c"."table_name" AS TEXT)) AS REGCLASS) AS OID),'
        ' "c"."ordinal_position") FROM "information_schema"."columns" AS "c" WHERE'
        " c.column_name = 'id'",
        [("id", "privacy key")],
    ),
    "Retool: tables with their columns as one text of JSON": (
        "SELECT json_agg(json_build_object('table', table_name, 'columns', cols) ORDER BY"
        " table_name) FROM (SELECT table_name, jsonb_agg(column_name ORDER BY table_name DESC)"
        " FILTER (WHERE data_type <> 'date') AS cols FROM information_schema.columns WHERE"
        " table_schema = 'public' AND table_name <> 'people' GROUP BY table_name) t",
        ['[{"table":"aXvisit","columns":["n"]},{"table":"a_visit","columns":["person_id"]}]'],
    ),
    "Hasura: an object of what is counted": (
        "SELECT jsonb_object_agg(relname, relnatts), json_build_array(1, 'a'), json_agg(relname)"
        " FILTER (WHERE relnatts > 9) FROM pg_class WHERE relname = 'a_visit'",
        [('{"a_visit":2}', '[1,"a"]', None)],
    ),
    "row_to_json of a row": (
        "SELECT row_to_json(t) FROM (SELECT nspname FROM pg_namespace WHERE oid = 2200) t",
        ['{"nspname":"public"}'],
    ),
    "Grafana: tables of the search path": (
        "select quote_ident(table_name) from information_schema.tables where quote_ident("
        "table_schema) in (select case when trim(s[i]) = '\"$user\"' then user else trim(s[i]) end"
        " from generate_series(array_lower(string_to_array(current_setting('search_path'), ','),"
        " 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i,"
        " string_to_array(current_setting('search_path'), ',') s) order by 1",
        ['"aXvisit"', "a_visit", "people"],
    ),
    "pgAdmin: an alias that is a word of DuckDB's": (
        "select at.attname from pg_catalog.pg_attribute at join pg_catalog.pg_constraint co on"
        " co.conrelid = at.attrelid and co.contype = 'p' where at.attnum = any (co.conkey)",
        ["id"],
    ),
    "pgAdmin: settings by a function": (
        "select setting from pg_show_all_settings() where name = 'bytea_output'",
        ["hex"],
    ),
    "JDBC: a name's underscore is no wildcard": (
        "select relname from pg_class where relkind = 'r' and relname like 'a\\_visit'",
        ["a_visit"],
    ),
    "dbt: relations of a database": (
        "select column_name from \"shop\".INFORMATION_SCHEMA.columns where table_name = 'people'",
        ["id", "paid", "email"],
    ),
    "Sequelize: columns behind a join, in their order": (
        "select c.column_name, pk.constraint_type from information_schema.columns c left join"
        " (select tc.table_name, cu.column_name, tc.constraint_type from"
        " information_schema.TABLE_CONSTRAINTS tc join information_schema.KEY_COLUMN_USAGE cu on"
        " tc.constraint_name = cu.constraint_name and tc.constraint_type = 'PRIMARY KEY') pk on"
        " pk.table_name = c.table_name and pk.column_name = c.column_name where c.table_name ="
        " 'people'",
        [("id", "PRIMARY KEY"), ("paid", None), ("email", None)],
    ),
    "SQLAlchemy 1.4: an index's columns as a text": (
        "SELECT i.relname, CAST(ix.indkey AS VARCHAR), ix.indoption::text, opcdefault FROM pg_class"
        " i JOIN pg_index ix ON i.oid = ix.indexrelid JOIN pg_opclass o ON o.oid = ix.indclass[0]"
        " WHERE ix.indisprimary",
        [("people_pkey", "1", "0", True)],
    ),
    "Rails: locks of migrations": ("select pg_try_advisory_lock(7)", [True]),
    "psql and others: what refers to nothing": (
        "select conname, confdeltype from pg_constraint order by conname",
        [("a_visit_person_id_fkey", "a"), ("people_email_key", " "), ("people_pkey", " ")],
    ),
}


@pytest.mark.parametrize("tool", LOOKS)
def test_a_tool_reads_the_schema(looks, tool):
    sql, expected = LOOKS[tool]
    rows = [tuple(row.values()) for row in looks.query(sql, ()).to_pylist()]
    assert rows == [row if isinstance(row, tuple) else (row,) for row in expected]


def test_names_are_in_lower_case_unless_in_quotes(looks):
    """Looker and JDBC write names in capitals and read them by lower-case ones."""
    sql = 'SELECT i.CONSTRAINT_NAME AS FK_NAME, 1 AS "Place" FROM information_schema.TABLES i'
    sql = sql.replace("CONSTRAINT_NAME", "TABLE_NAME")
    assert looks.query(sql, ()).column_names == ["fk_name", "Place"]


def test_numbers_of_objects_are_oids(served):
    """node-postgres makes a text of a bigint; drivers that decode by type read nothing else."""
    sql = "SELECT c.oid, relnamespace AS of, c.oid::bigint, count(*) FROM pg_class c GROUP BY 1, 2"
    cursor = served.psycopg().execute(sql)
    assert [column.type_code for column in cursor.description] == [26, 26, 20, 20]


def test_a_table_is_named_with_its_database(served):
    rows = served.psycopg().execute('SELECT COUNT(*) FROM "people"."public"."made"').fetchall()
    assert rows == [(500,)]
    text = without_schema("SELECT people.sex FROM people", frozenset({"public"}), "people")
    assert text == "SELECT people.sex FROM people"


def test_a_function_of_postgresql_without_a_table(served):
    sql = "SELECT to_char(timestamp '2024-05-06', 'YYYY-MM-DD')"
    assert served.psycopg().execute(sql).fetchone() == ("2024-05-06",)


def test_intervals_are_written_as_postgresql_writes_them(served):
    row = served.psycopg().execute("SELECT interval '1 day', interval '-90 minutes'").fetchone()
    assert row == (dt.timedelta(days=1), dt.timedelta(minutes=-90))
    interval = pa.MonthDayNano([14, 3, 14_706_500_000_000])
    assert as_text([interval]) == '{"1 year 2 mons 3 days 04:05:06.5"}'
    assert encode(interval, 1186, 1) == (14_706_500_000).to_bytes(8) + bytes(
        [0, 0, 0, 3, 0, 0, 0, 14]
    )


def test_a_relation_may_be_named_by_a_parameter(looks):
    """ADBC's get_table_schema does so: `$1::regclass::oid` was read as `$1::BIGINT`."""
    query = (
        "SELECT attname FROM pg_catalog.pg_class AS cls INNER JOIN pg_catalog.pg_attribute AS attr"
        " ON cls.oid = attr.attrelid INNER JOIN pg_catalog.pg_type AS typ"
        " ON attr.atttypid = typ.oid WHERE attr.attnum >= 0 AND cls.oid = $1::regclass::oid"
        " ORDER BY attr.attnum"
    )
    names = looks.query(query, ['"people"']).column("attname").to_pylist()
    assert names == ["id", "paid", "email"]
