"""The dialect on whatever SQLAlchemy is installed: 1.4, 2.0 and 2.1 are to pass alike."""

import datetime as dt
import tomllib
from importlib import import_module

import duckdb
import pandas as pd
import pytest
from support.places import ROOT

import sqlpriv

sa = pytest.importorskip("sqlalchemy", reason='pip install "sqlpriv[sqlalchemy]"')
from sqlalchemy.dialects import registry  # noqa: E402 (after the check that it is there)

from sqlpriv.interfaces.integrations import sqlalchemy_reflection  # noqa: E402 (likewise)

# Tests run from a checkout too, where no entry point is installed; the one there is, is read below.
registry.register("sqlpriv", "sqlpriv.interfaces.integrations.sqlalchemy", "SqlprivDialect")

FROM_PANDAS = (pd.errors.DatabaseError, sa.exc.DBAPIError)
"""What is raised behind pandas: its own error since version 3, SQLAlchemy's before."""
PRICED = "WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1)"


@pytest.fixture
def engine(vault):
    return sa.create_engine(f"sqlpriv:///{vault}?privacy_epsilon=0.5&principal=ada")


@pytest.fixture
def owner(vault):
    return sa.create_engine(f"sqlpriv:///{vault}?role=owner")


@pytest.fixture
def people(engine):
    return sa.Table("people", sa.MetaData(), autoload_with=engine)


def test_the_entry_point_names_the_dialect():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, name = project["entry-points"]["sqlalchemy.dialects"]["sqlpriv"].split(":")
    assert getattr(import_module(module), name).name == "sqlpriv"


# --- Reflection ---


def test_private_public_and_released_tables_are_seen(engine, owner, spent):
    for inspector in (sa.inspect(engine), sa.inspect(owner)):
        assert inspector.get_schema_names() == ["main"]
        assert inspector.default_schema_name == "main"
        assert inspector.get_table_names() == ["people", "regions", "staff"]
        assert inspector.get_table_names(schema="main") == ["people", "regions", "staff"]
        assert inspector.get_table_names(schema="other") == inspector.get_view_names() == []
        assert inspector.has_table("staff")
        assert not inspector.has_table("nobody")
    assert spent()[0] == 0


def test_columns_tell_what_is_declared(engine):
    columns = {c["name"]: c for c in sa.inspect(engine).get_columns("people")}
    assert list(columns) == ["id", "region", "age", "income"]
    assert isinstance(columns["id"]["type"], sa.BigInteger)
    assert isinstance(columns["region"]["type"], sa.String)
    assert isinstance(columns["income"]["type"], sa.Numeric)
    assert [c["nullable"] for c in columns.values()] == [False, True, False, True]
    assert columns["id"]["comment"] == "privacy key"
    assert columns["age"]["comment"] == "privacy domain BETWEEN (18, 70)"


def test_keys_and_comments(engine):
    inspector = sa.inspect(engine)
    assert inspector.get_pk_constraint("people")["constrained_columns"] == ["id"]
    assert inspector.get_pk_constraint("staff")["constrained_columns"] == []
    assert inspector.get_table_comment("people")["text"].startswith("private: protects each id")
    assert inspector.get_table_comment("staff")["text"].startswith("Synthetic rows")
    for nothing in (
        inspector.get_indexes,
        inspector.get_unique_constraints,
        inspector.get_foreign_keys,
        inspector.get_check_constraints,
    ):
        assert nothing("people") == []
    for about in (inspector.get_columns, inspector.get_pk_constraint, inspector.get_table_comment):
        with pytest.raises(sa.exc.NoSuchTableError):
            about("nobody")


def test_links_and_unique_columns(tmp_path):
    engine = sa.create_engine(f"sqlpriv:///{tmp_path}/shop.duckdb?role=owner")
    with engine.begin() as connection:
        connection.exec_driver_sql(
            "CREATE TABLE customer (key BIGINT PRIMARY KEY, mail VARCHAR UNIQUE);"
            "CREATE TABLE orders (who BIGINT, items INTEGER[]);"
            "ALTER TABLE customer ADD PRIVACY_KEY (key); ALTER TABLE customer SET PU;"
            "ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = 3);"
            "ALTER TABLE orders ADD PRIVACY_LINK (who) REFERENCES customer(key)"
        )
    tables = sa.MetaData()
    tables.reflect(engine)
    (link,) = tables.tables["orders"].foreign_keys
    assert link.column is tables.tables["customer"].c.key
    assert sa.inspect(engine).get_unique_constraints("customer")[0]["column_names"] == ["mail"]
    assert isinstance(tables.tables["orders"].c["items"].type, sa.ARRAY)


def test_a_whole_schema_costs_three_questions(engine):
    asked = []

    @sa.event.listens_for(engine, "before_cursor_execute")
    def count(_connection, _cursor, statement, *_rest):
        asked.append(statement)

    sa.MetaData().reflect(engine)
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("DECIMAL(9,2)", "NUMERIC(9, 2)"),
        ("HUGEINT", "NUMERIC(38, 0)"),
        ("DOUBLE", "DOUBLE"),
        ("FLOAT", "FLOAT"),
        ("TIMESTAMP WITH TIME ZONE", "TIMESTAMP WITH TIME ZONE"),
        ("INTEGER[][3]", "INTEGER[][]"),
        ("ENUM('a]', 'b')", "VARCHAR"),
        ("BLOB", "BYTEA"),
    ],
)
def test_types(engine, name, type_):
    assert sqlalchemy_reflection.sql_type(name).compile(engine.dialect) == type_


def test_types_that_sqlalchemy_lacks():
    for name in ("STRUCT(a INTEGER)", "MAP(VARCHAR, DATE)", "GEOMETRY"):
        assert isinstance(sqlalchemy_reflection.sql_type(name), sa.types.NullType)


# --- Asking ---


def test_a_private_select_is_charged_as_the_url_says(engine, people, spent):
    question = sa.select(people.c.region, sa.func.count().label("n")).group_by(people.c.region)
    with engine.connect() as connection:
        rows = connection.execute(question.where(people.c.age >= 30)).fetchall()
    assert {row.region for row in rows} == {"north", "south", "isles"}
    assert all(isinstance(row.n, int) for row in rows)
    assert spent() == (1, pytest.approx(0.5, rel=0.01))


def test_both_clauses_can_be_said(engine, people, spent):
    question = (
        sa.select(people.c.region, sa.func.avg(people.c.income).label("income"))
        .prefix_with(PRICED)
        .suffix_with("STRATIFY BY region")
    )
    with engine.connect() as connection:
        rows = connection.execute(question).fetchall()
        assert connection.execute(question).fetchall() == rows  # replayed, free
    assert [row.region for row in rows] == ["north", "south", "isles", None]
    assert spent() == (1, pytest.approx(1, rel=0.01))  # three rounds are charged once


def test_text_takes_named_parameters(engine):
    question = sa.text("SELECT COUNT(*) AS n FROM people WHERE age BETWEEN :low AND :high")
    with engine.connect() as connection:
        assert abs(connection.execute(question, {"low": 18, "high": 70}).scalar() - 3000) < 300


def test_a_private_row_is_refused(engine, people, spent):
    with engine.connect() as connection, pytest.raises(sa.exc.ProgrammingError) as refused:
        connection.execute(sa.select(people))
    assert isinstance(refused.value.orig, sqlpriv.Refused)
    assert spent()[0] == 0


def test_released_tables_take_any_sql(vault, engine, spent):
    staff = sa.Table("staff", sa.MetaData(), autoload_with=engine)
    decade = staff.c.age.op("//")(10).label("decade")
    above = staff.c.income > sa.select(sa.func.avg(staff.c.income)).scalar_subquery()
    question = sa.select(decade, sa.func.count()).where(above).group_by("decade").limit(2).offset(1)
    with engine.connect() as connection:
        rows = connection.execute(question.order_by(decade)).fetchall()
    with duckdb.connect(str(vault.with_suffix(".release.duckdb")), read_only=True) as plain:
        expected = plain.execute(
            "SELECT age // 10 AS decade, count(*) FROM staff"
            " WHERE income > (SELECT avg(income) FROM staff) GROUP BY 1 ORDER BY 1 LIMIT 2 OFFSET 1"
        ).fetchall()
    assert [tuple(row) for row in rows] == expected
    assert spent()[0] == 0


def test_division_is_duckdbs(engine):
    column = sa.Column("x", sa.Integer)
    assert str((column / 2).compile(engine)) == "x / ?"
    if sa.__version__ >= "2":  # 1.4 has no // of columns
        assert str((column // 2).compile(engine)) == "x // ?"


def test_odd_names_are_quoted(owner):
    odd = sa.Table(
        "stratify", sa.MetaData(), sa.Column("qualify", sa.Integer), sa.Column("a b", sa.Float)
    )
    with owner.begin() as connection:
        odd.create(connection)
        connection.execute(odd.insert(), [{"qualify": 1, "a b": 0.1}])
        assert connection.execute(sa.select(odd)).fetchall() == [(1, 0.1)]


# --- Owners ---


def test_an_owner_makes_and_fills_tables(owner):
    drinks = sa.Table(
        "drinks",
        sa.MetaData(),
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.String(20)),
        sa.Column("kind", sa.Enum("ale", "stout", name="kind")),
        sa.Column("strength", sa.Float),
        sa.Column("price", sa.Numeric(6, 2)),
        sa.Column("since", sa.Date),
        sa.Column("ok", sa.Boolean),
        sa.Column("at", sa.DateTime),
        sa.Column("raw", sa.LargeBinary),
    )
    row = {
        "id": 1,
        "name": "Cooper's",
        "kind": "ale",
        "strength": 4.5,
        "price": 3,
        "ok": True,
        "since": dt.date(1862, 5, 1),
        "at": dt.datetime(2020, 1, 2, 3),
        "raw": b"\0a",
    }
    with owner.begin() as connection:
        drinks.create(connection)
        assert connection.execute(drinks.insert(), row).rowcount == 1
        assert connection.execute(drinks.update().values(ok=False)).rowcount == 1
    with owner.connect() as connection:
        found = connection.execute(sa.select(drinks)).mappings().fetchone()
    assert dict(found) == {**row, "ok": False}
    columns = {c["name"]: c["type"] for c in sa.inspect(owner).get_columns("drinks")}
    assert columns["strength"].compile(owner.dialect) == "DOUBLE"
    with owner.begin() as connection:
        drinks.drop(connection)
    assert not sa.inspect(owner).has_table("drinks")


def test_a_transaction_that_the_owner_begins(owner):
    connection = owner.raw_connection()
    connection.cursor().execute("BEGIN; CREATE TABLE gone (a INTEGER)")
    connection.rollback()
    connection.close()
    assert not sa.inspect(owner).has_table("gone")


# --- pandas ---

with_pandas = pytest.mark.skipif(
    sa.__version__ < "2", reason="pandas 3 reads tables through SQLAlchemy 2 and later"
)


@with_pandas
def test_pandas_reads_a_private_answer(engine):
    frame = pd.read_sql(
        f"SELECT {PRICED} region, COUNT(*) AS n FROM people GROUP BY region", engine
    )
    assert list(frame.columns) == ["region", "n"]
    assert frame["n"].dtype == "int64"
    named = pd.read_sql(
        sa.text("SELECT count(*) AS n FROM staff WHERE age < :a"), engine, params={"a": 99}
    )
    assert named["n"].tolist() == [500]


@pytest.mark.filterwarnings("ignore:pandas only supports SQLAlchemy")
def test_pandas_reads_text_with_every_sqlalchemy(engine):
    sql = f"SELECT {PRICED} region, COUNT(*) AS n FROM people GROUP BY region"
    with engine.connect() as connection:
        frames = [pd.read_sql(sql, source) for source in (engine, connection)]
    assert frames[0].equals(frames[1])
    assert list(frames[0].columns) == ["region", "n"]
    for source in (engine, engine.connect()):
        with pytest.raises((*FROM_PANDAS, sqlpriv.Refused), match="raw rows never"):
            pd.read_sql("SELECT age FROM people", source)


@with_pandas
def test_pandas_reads_a_released_table_whole(engine, spent):
    frame = pd.read_sql_table("staff", engine, columns=["age", "region"])
    assert frame.shape == (500, 2)
    assert pd.read_sql("staff", engine).shape == (500, 3)
    assert spent()[0] == 0
    with pytest.raises(FROM_PANDAS, match="raw rows never leave"):
        pd.read_sql_table("people", engine)


@with_pandas
def test_pandas_writes_for_an_owner(owner):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [0.1, 1e300]})
    frame.to_sql("written", owner, index=False)
    assert pd.read_sql("written", owner).equals(frame)
    frame.to_sql("written", owner, index=False, if_exists="append")
    assert len(pd.read_sql("SELECT * FROM written", owner)) == 4


# --- The URL ---


@pytest.mark.parametrize("dialect", ["postgres", "bigquery", "mysql", "tsql", "spark"])
def test_texts_in_another_dialect(vault, spent, dialect):
    engine = sa.create_engine(f"sqlpriv:///{vault}?privacy_epsilon=0.1&dialect={dialect}")
    before = spent()
    inspector = sa.inspect(engine)
    assert inspector.get_table_names() == ["people", "regions", "staff"]
    assert inspector.get_columns("people")
    assert spent() == before
    quoted = sa.table("staff", sa.column(sa.sql.quoted_name("region", quote=True)))
    with engine.connect() as connection:
        rows = connection.execute(sa.select(quoted.c.region).distinct()).scalars()
        assert sorted(rows) == [
            "isles",
            "north",
            "south",
        ]  # a name, and no text
        divided = sa.text("SELECT SUM(age) / COUNT(*) AS mean FROM staff")
        if dialect == "postgres":
            with pytest.raises(sa.exc.DBAPIError, match="whole numbers divide"):
                connection.execute(divided)
        else:
            assert 18 < connection.execute(divided).scalar() < 70


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("sqlpriv://", "vault is missing: sqlpriv:///people.duckdb"),
        ("sqlpriv:///x.duckdb?seed=1", "no option seed"),
    ],
)
def test_a_url_that_says_too_little_or_too_much(url, words):
    with pytest.raises(sa.exc.ArgumentError, match=words):
        sa.create_engine(url).connect()


def test_charges_carry_the_principal_of_the_url(engine):
    with engine.connect() as connection:
        connection.exec_driver_sql(f"SELECT {PRICED} COUNT(*) FROM people")
        releases = connection.exec_driver_sql("SHOW PRIVACY RELEASES").mappings().fetchall()
    assert releases[-1]["principal"] == "ada"


def test_statements_take_effect_at_once(engine):
    with engine.connect() as connection:
        assert connection.get_isolation_level() == "AUTOCOMMIT"
    assert engine.execution_options(isolation_level="AUTOCOMMIT").connect().closed is False


@pytest.mark.parametrize(
    ("login", "token", "shown"),
    [
        ("ada.s3cret", ("ada", "s3cret"), "ada:***"),
        ("ada:s3cret", ("ada", "s3cret"), "ada:***"),
        ("ada.3.17.s3cret", "ada.3.17.s3cret", ":***"),  # of a handshake
        ("s3cret", "s3cret", ":***"),
    ],
)
def test_an_engine_does_not_show_its_token(login, token, shown):
    engine = sa.create_engine(f"sqlpriv://{login}@host/")
    again = sa.create_engine(engine.url)
    for each in (engine, again):
        assert repr(each) == f"Engine(sqlpriv://{shown}@host/)"
        assert each.dialect.create_connect_args(each.url)[1] == {"token": token}
