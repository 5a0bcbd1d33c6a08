"""Asking what tables there are: for everybody the same, exact, free, and never with a row."""

import pytest

import sqlpriv
from sqlpriv.session.commands import information_schema
from sqlpriv.session.session import Session
from sqlpriv.statements import commands as cmd

VAULT = """
CREATE TABLE customer (c_custkey BIGINT PRIMARY KEY, name VARCHAR UNIQUE, "odd name" DECIMAL(9,2));
CREATE TABLE orders (
    o_orderkey BIGINT NOT NULL UNIQUE, o_custkey BIGINT, state ENUM('open', 'done'), tags VARCHAR[]
);
CREATE TABLE nation (n_name VARCHAR);
INSERT INTO customer VALUES (1, 'Kaufmann', 1.5), (2, 'Meier', NULL);
INSERT INTO orders VALUES (1, 1, 'open', ['a']), (2, 1, 'done', NULL), (3, 2, 'done', NULL);
ALTER TABLE customer ADD PRIVACY_KEY (c_custkey);
ALTER TABLE customer SET PU;
ALTER TABLE customer SET PRIVACY BUDGET (epsilon = 2, delta = 1e-9);
ALTER TABLE orders SET PRIVACY BOUND (rows_per_unit = 5);
ALTER TABLE orders ADD PRIVACY_LINK (o_custkey) REFERENCES customer(c_custkey);
ALTER TABLE orders ALTER COLUMN state SET PRIVACY DOMAIN IN ('open', 'it''s');
ALTER TABLE nation SET PUBLIC;
CREATE SYNTHETIC TABLE made AS SELECT state FROM orders USING independent OPTIONS (epsilon = 1);
"""


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    path = tmp_path_factory.mktemp("catalog") / "shop.duckdb"
    with sqlpriv.connect(path, role="owner") as owner:
        owner.execute(VAULT)
    return path


@pytest.fixture(params=["analyst", "owner"])
def connection(vault, request):
    with sqlpriv.connect(vault, role=request.param) as connection:
        yield connection


def test_tables_of_the_vault_and_released_ones(connection):
    found = connection.execute(
        "SELECT database_name, table_name, estimated_size, has_primary_key FROM duckdb_tables()"
        " WHERE database_name = 'vault' ORDER BY ALL"
    )
    assert found.fetchall() == [
        ("vault", "customer", 0, True),
        ("vault", "nation", 0, False),
        ("vault", "orders", 0, True),
    ]
    found = connection.execute(
        "SELECT database_name, schema_name, table_name, comment FROM duckdb_tables()"
        " WHERE database_name != 'vault'"
    )
    ((database, schema, table, comment),) = found.fetchall()
    assert (database, schema, table) == ("release", "main", "made")
    assert comment.startswith("Synthetic rows")
    assert found.result.price is None


def test_columns_have_the_types_and_declarations_of_the_vault(connection):
    found = connection.execute(
        "SELECT column_name, data_type, is_nullable, comment FROM duckdb_columns()"
        " WHERE table_name IN (?, 'orders') AND NOT internal ORDER BY table_name, column_index",
        ["customer"],
    )
    assert found.fetchall() == [
        ("c_custkey", "BIGINT", False, "privacy key"),
        ("name", "VARCHAR", True, None),
        ("odd name", "DECIMAL(9,2)", True, None),
        ("o_orderkey", "BIGINT", False, None),
        ("o_custkey", "BIGINT", True, "link to customer.c_custkey"),
        ("state", "ENUM('open', 'it''s')", True, "privacy domain IN ('open', 'it''s')"),
        ("tags", "VARCHAR[]", True, None),
    ]


def test_keys_and_links_are_constraints(connection):
    found = connection.execute(
        "SELECT table_name, constraint_type, constraint_column_names, referenced_table"
        " FROM duckdb_constraints() WHERE constraint_type != 'NOT NULL' ORDER BY ALL"
    )
    assert found.fetchall() == [
        ("customer", "PRIMARY KEY", ["c_custkey"], None),
        ("customer", "UNIQUE", ["name"], None),
        ("orders", "FOREIGN KEY", ["o_custkey"], "customer"),
        ("orders", "PRIMARY KEY", ["o_orderkey"], None),
    ]


def test_comments_say_whom_a_table_protects(connection):
    rows = connection.execute(
        "SELECT table_name, comment FROM duckdb_tables() WHERE database_name = 'vault' ORDER BY 1"
    )
    assert dict(rows.fetchall()) == {
        "customer": "private: protects each c_custkey of customer;"
        " rows_per_unit = 1, groups_per_unit = 1",
        "nation": "public",
        "orders": "private: protects each c_custkey of customer;"
        " rows_per_unit = 5, groups_per_unit = 1",
    }


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM duckdb_tables() AS t, orders",
        "SELECT (SELECT count(*) FROM orders) FROM duckdb_tables()",
        "WITH c AS (FROM orders) SELECT * FROM c, duckdb_tables()",
        "SELECT * FROM duckdb_tables() UNION ALL BY NAME SELECT * FROM customer",
        "SELECT * FROM duckdb_tables(), duckdb_settings()",
        "SELECT * FROM duckdb_tables(), read_csv('/etc/hosts')",
        "SELECT * FROM duckdb_functions()",
    ],
)
def test_nothing_else_comes_with_it(vault, sql):
    with sqlpriv.connect(vault) as analyst, pytest.raises(sqlpriv.Refused):
        analyst.execute(sql)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT nonsense FROM duckdb_tables()",
        "SELECT getenv('HOME') FROM duckdb_tables()",
        "SELECT content FROM duckdb_tables(), (SELECT 1) AS t",
    ],
)
def test_errors_are_the_engines_own(connection, sql):
    with pytest.raises(sqlpriv.ProgrammingError):
        connection.execute(sql)


def test_asking_charges_nothing(connection):
    before = connection.session.budgets()
    for function in sorted(information_schema.FUNCTIONS):
        connection.execute(f"SELECT * FROM {function}").fetchall()
    assert connection.session.budgets() == before


def test_a_vault_without_tables_and_without_releases(tmp_path):
    with sqlpriv.connect(tmp_path / "new.duckdb", role="owner") as owner:
        assert owner.execute("FROM duckdb_tables()").fetchall() == []
        assert owner.execute("FROM duckdb_constraints()").fetchall() == []
        assert owner.execute("FROM duckdb_columns() WHERE NOT internal").fetchall() == []


@pytest.mark.parametrize(
    ("tables", "answer"),
    [
        ((), False),
        (("duckdb_tables()",), True),
        (("duckdb_tables()", "people"), False),
        (("duckdb_tables",), False),
        (("columns",), False),
    ],
)
def test_which_queries_are_about_the_schema(tables, answer):
    for text in ("FROM information_schema.tables", "FROM duckdb_tables()"):
        plain = cmd.Plain(text, tables, reads_only=True)
        assert information_schema.asks_only_this(plain, of_views=True) is answer


ANALYSTS_LINK = """
SELECT k.table_name, k.column_name, u.table_name, u.column_name
FROM information_schema.referential_constraints r
JOIN information_schema.key_column_usage k USING (constraint_name)
JOIN information_schema.key_column_usage u ON u.constraint_name = r.unique_constraint_name
"""


def test_information_schema_tells_analysts_of_links_as_foreign_keys(vault):
    with sqlpriv.connect(vault) as analyst:
        before = analyst.session.budgets()
        linked = [("orders", "o_custkey", "customer", "c_custkey")]
        assert analyst.execute(ANALYSTS_LINK).fetchall() == linked
        names = "SELECT table_name FROM information_schema.tables ORDER BY ALL"
        assert analyst.execute(names).fetchall() == [
            ("customer",),
            ("made",),
            ("nation",),
            ("orders",),
        ]
        for spelling in ("SHOW TABLES", "show all tables;", "PRAGMA show_tables"):
            assert analyst.execute(spelling).fetchall() == analyst.execute(names).fetchall()
        assert analyst.session.budgets() == before


def test_show_tables_lists_released_tables_and_new_ones_to_owners(vault):
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute("BEGIN")
        owner.execute("CREATE TABLE fresh (i INTEGER)")
        names = [name for (name,) in owner.execute("SHOW TABLES").fetchall()]
        owner.execute("ROLLBACK")
    assert names == ["customer", "fresh", "made", "nation", "orders"]


@pytest.mark.parametrize("name", sorted(information_schema.VIEWS))
def test_a_private_table_of_a_views_name_stays_private(tmp_path, name):
    vault = tmp_path / "v.duckdb"
    with sqlpriv.connect(vault, role="owner") as owner:
        owner.execute(f"CREATE TABLE {name} AS SELECT 4711 AS secret")
        owner.execute(f"ALTER TABLE {name} ADD PRIVACY_KEY (secret)")
    with sqlpriv.connect(vault) as analyst:
        for sql in (
            f"SELECT secret FROM {name}",
            f"SELECT secret, 'information_schema.{name}' FROM {name}",
            f"SELECT t.* FROM information_schema.{name} AS i, {name} AS t",
            f"FROM information_schema.{name}, vault.main.{name} AS t",
        ):
            try:
                answer = str(analyst.execute(sql).fetchall())
            except sqlpriv.Error as error:
                answer = str(error)
            assert "4711" not in answer


def test_who_asks_next_has_no_random_numbers_of_who_asked_before(tmp_path):
    vault = tmp_path / "people.duckdb"
    sqlpriv.connect(vault, role="owner").close()
    drawn = []
    for text in ("setseed(0.1)", "random()") * 2:
        with Session(vault) as session:
            table = session.execute(f"SELECT {text} AS x FROM duckdb_schemas() LIMIT 1").table
            drawn += table.column("x").to_pylist()
    assert drawn[0] is drawn[2] is None
    assert drawn[1] != drawn[3]
