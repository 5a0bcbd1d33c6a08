"""GRANT and REVOKE: who may not use a table is answered as if there were none of that name.

The test goes every way in twice, once with a hidden table's name and once with a name that no table
has: whatever a session says or gives has to be the same. Its twin asks as somebody who may.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.templates import vault_of

import sqlpriv
from sqlpriv import PermissionDenied, Refused
from sqlpriv.kernel.gate import Allowance
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.budget import Rho
from sqlpriv.kernel.terms.release import Measurement
from sqlpriv.session.session import Session

VAULT = """
CREATE TABLE zqpeople (id BIGINT PRIMARY KEY, zqwage BIGINT, area INTEGER);
INSERT INTO zqpeople SELECT i, i % 100, i % 3 FROM range(300) t(i);
CREATE TABLE visits (visit BIGINT PRIMARY KEY, id BIGINT, ward INTEGER);
INSERT INTO visits SELECT i, i % 300, i % 2 FROM range(600) t(i);
CREATE TABLE zqlabels (ward INTEGER, zqmark VARCHAR, weight DOUBLE);
INSERT INTO zqlabels VALUES (0, 'north', .5), (1, 'south', .5);
CREATE TABLE wards (ward INTEGER, label VARCHAR);
INSERT INTO wards VALUES (0, 'north'), (1, 'south');
CREATE TABLE zqdrafts (zqnote VARCHAR);
ALTER TABLE zqpeople SET PRIVACY (KEY (id), BUDGET (epsilon = 50, delta = 1e-9),
    BUDGET (epsilon = 40, delta = 1e-9) FOR 'cleo',
    COLUMN zqwage BETWEEN (0, 99), COLUMN area IN (0, 1, 2));
ALTER TABLE visits SET PRIVACY (LINK (id) REFERENCES zqpeople(id), BOUND (rows_per_unit = 2),
    COLUMN ward IN (0, 1));
ALTER TABLE zqlabels SET PUBLIC;
ALTER TABLE wards SET PUBLIC;
SET privacy_epsilon = 0.1;
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) SUM(zqwage) FROM zqpeople;
CREATE SYNTHETIC TABLE made AS SELECT area FROM zqpeople USING independent OPTIONS (epsilon = 1);
"""
HIDDEN = {"zqpeople": "zqwage", "zqlabels": "zqmark", "zqdrafts": "zqnote"}
PAYS = "unit_table='zqpeople'"  # for visits, too

WAYS_IN = """
SELECT COUNT(*) FROM {0}
SELECT SUM({1}) FROM {0}
SELECT * FROM {0}
SELECT * FROM {0} LIMIT 3
FROM {0}
TABLE {0}
SELECT COUNT(*) FROM main.{0}
SELECT COUNT(*) FROM "{0}"
SELECT COUNT(*) FROM {0} AS p STRATIFY BY area
SELECT COUNT(*) FROM visits JOIN {0} USING (id)
SELECT COUNT(*) FROM visits v JOIN {0} p ON v.id = p.id
SELECT COUNT(*) FROM visits v LEFT JOIN {0} p ON v.id = p.id
SELECT COUNT(*) FROM visits v SEMI JOIN {0} p ON v.id = p.id
SELECT COUNT(*) FROM visits v ANTI JOIN {0} p ON v.id = p.id
SELECT COUNT(*) FROM visits NATURAL JOIN {0}
SELECT COUNT(*) FROM visits, {0} WHERE visits.id = {0}.id
SELECT COUNT(*) FROM {0} p JOIN visits v ON v.id = p.id
SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward JOIN {0} p ON v.id = p.id
SELECT COUNT(*) FROM visits v JOIN {0} w ON v.ward = w.ward
SELECT {1}, COUNT(*) FROM visits v JOIN {0} w ON v.ward = w.ward GROUP BY {1}
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM {0} p WHERE p.id = v.id)
SELECT COUNT(*) FROM visits WHERE id IN (SELECT id FROM {0})
SELECT COUNT(*) FROM visits WHERE ward IN (SELECT ward FROM {0})
SELECT COUNT(*) FROM visits WHERE ward > (SELECT AVG({1}) FROM {0})
SELECT COUNT(*) FROM visits v WHERE ward > (SELECT AVG({1}) FROM {0} p WHERE p.id = v.id)
SELECT COUNT(*) + (SELECT COUNT(*) FROM {0}) FROM visits
WITH p AS (SELECT * FROM {0}) SELECT COUNT(*) FROM p
WITH p AS (SELECT id, COUNT(*) AS n FROM {0} GROUP BY id) SELECT AVG(n) FROM p
WITH p AS (SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) AS n FROM {0}) SELECT n + 1 FROM p
SELECT COUNT(*) FROM (SELECT id FROM visits UNION ALL SELECT id FROM {0})
SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM {0}
SELECT ward, AVG(id) FROM visits STRATIFY BY ward WEIGHTS FROM {0}
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) area, COUNT(*) FROM {0} GROUP BY area
SELECT area, (SELECT COUNT(*) FROM {0}) FROM made
SELECT * FROM made JOIN {0} USING (area)
SELECT * FROM wards JOIN {0} USING (ward)
PIVOT {0} ON area USING COUNT(*)
EXPLAIN PRIVACY SELECT COUNT(*) FROM {0}
EXPLAIN PRIVACY SELECT COUNT(*) FROM visits JOIN {0} USING (id)
EXPLAIN PRIVACY CREATE SYNTHETIC TABLE s AS SELECT area FROM {0} USING independent
EXPLAIN SELECT * FROM {0}
EXPLAIN ANALYZE SELECT * FROM {0}
CREATE SYNTHETIC TABLE s AS SELECT area FROM {0} USING independent OPTIONS (epsilon = 0.1)
CREATE SYNTHETIC TABLE s AS SELECT * FROM {0} USING independent OPTIONS (epsilon = 0.1)
CREATE SYNTHETIC TABLE s AS SELECT ward FROM visits JOIN {0} USING (id) USING independent
CREATE SYNTHETIC TABLE s AS SELECT ward FROM visits WHERE id IN (SELECT id FROM {0}) USING aim
CREATE SYNTHETIC TABLE s AS SELECT ward FROM visits STRATIFY BY ward WEIGHTS FROM {0} USING aim
CREATE SYNTHETIC TABLE s FROM MODEL {0} ROWS 5
CREATE SYNTHETIC SCHEMA s AS TABLES {0} USING independent OPTIONS (epsilon = 0.1)
CREATE SYNTHETIC SCHEMA s AS TABLES {0}, visits (ward) USING independent OPTIONS (epsilon = 0.1)
DROP SYNTHETIC TABLE {0}
EVALUATE SYNTHETIC TABLE made AGAINST {0} STRATIFY BY area
PUBLISH {0} TO 'bi.duckdb'
DESCRIBE {0}
DESCRIBE SELECT * FROM {0}
SUMMARIZE {0}
SHOW {0}
PRAGMA table_info('{0}')
SELECT * FROM pragma_table_info('{0}')
SELECT * FROM duckdb_columns() WHERE table_name = '{0}'
SELECT * FROM duckdb_tables() WHERE table_name LIKE '{0}'
SELECT COUNT(*) FROM duckdb_columns() WHERE column_name LIKE '{1}'
SELECT * FROM information_schema.columns WHERE table_name = '{0}'
INSERT INTO {0} VALUES (1)
UPDATE {0} SET {1} = 1
DROP TABLE {0}
CREATE TABLE copy AS FROM {0}
COPY {0} TO 'x.csv'
ALTER TABLE {0} SET PUBLIC
ALTER TABLE {0} SET PRIVACY BUDGET (epsilon = 1)
GRANT SELECT ON {0} TO 'bob'
REVOKE SELECT ON {0} FROM 'ada'
SELECT privacy_lower({1}) FROM {0}
"""
OF_VISITS = ("DESCRIBE visits", "EXPLAIN PRIVACY SELECT COUNT(*) FROM visits")
LISTS = """
SHOW TABLES
SHOW ALL TABLES
SHOW GRANTS
SHOW SYNTHESIZERS
SHOW PRIVACY RELEASES
SHOW PRIVACY RELEASES DETAILS
SELECT * FROM duckdb_tables()
SELECT * FROM duckdb_columns()
SELECT * FROM duckdb_views()
SELECT * FROM information_schema.tables
SELECT * FROM information_schema.columns
SELECT table_name, comment FROM duckdb_tables()
SHOW PRIVACY TABLES
SHOW PRIVACY BUDGET
SHOW PRIVACY BUDGET HISTORY
SHOW PRIVACY DECLARATIONS
DESCRIBE visits
EXPLAIN PRIVACY SELECT COUNT(*) FROM visits
SELECT * FROM duckdb_constraints()
SELECT * FROM information_schema.key_column_usage
"""


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    path = tmp_path_factory.mktemp("grants") / "house.duckdb"
    with sqlpriv.connect(path, role="owner", principal="owner") as owner:
        owner.execute(VAULT)
        owner.execute("GRANT SELECT ON zqpeople, zqlabels, zqdrafts TO 'Ada'")
    return path


@pytest.fixture(scope="module")
def bob(vault) -> Iterator[Session]:
    with Session(vault, principal="bob") as session:
        session.execute("SET privacy_epsilon = 0.1")
        yield session


@pytest.fixture(scope="module")
def ada(vault) -> Iterator[Session]:
    with Session(vault, principal="ada") as session:
        session.execute("SET privacy_epsilon = 0.1")
        yield session


def outcome(session: Session, way: str, sql: str, table: str, column: str) -> str:
    """What a session says of a statement, without the names that it is about."""
    try:
        answer = getattr(session, way)(sql.format(table, column))
        text = f"{getattr(answer, 'table', answer)} {getattr(answer, 'message', '')}"
    except sqlpriv.Error as error:
        details = [getattr(error, name, None) for name in ("hint", "line", "column")]
        text = f"{type(error).__name__} {error} {details}"
    return text.replace(table, "TABLE").replace(column, "COLUMN")


@pytest.mark.parametrize("way_in", WAYS_IN.strip().splitlines())
def test_a_hidden_table_is_none(bob, way_in):
    for way in ("execute", "describe", "quote"):
        nothing = outcome(bob, way, way_in, "xxxxxxxx", "yyyyyy").replace(PAYS, "")
        for table, column in HIDDEN.items() if way == "execute" else (("zqpeople", "zqwage"),):
            there = outcome(bob, way, way_in, table, column)
            assert there.replace(PAYS, "").replace("unit_table='TABLE'", "") == nothing
    assert "zq" not in nothing


def test_the_test_tells_a_usable_table_from_none(ada):
    ways_in = WAYS_IN.strip().splitlines()
    differing = [
        way_in
        for way_in in ways_in
        if outcome(ada, "describe", way_in, "zqpeople", "zqwage")
        != outcome(ada, "describe", way_in, "xxxxxxxx", "yyyyyy")
    ]
    assert len(differing) > 0.5 * len(ways_in)


@pytest.mark.parametrize("statement", LISTS.strip().splitlines())
def test_no_list_tells_of_a_hidden_table(bob, ada, statement):
    """But for the name and the key of the unit's table to which a usable one is linked."""
    rows = str(bob.execute(statement).table.to_pylist())
    for name in ("zqwage", "zqlabels", "zqmark", "zqdrafts", "zqnote", "FROM zqpeople"):
        assert name not in rows
    if statement not in ("SHOW SYNTHESIZERS", "SELECT * FROM duckdb_views()", *OF_VISITS):
        assert "zq" in str(ada.execute(statement).table.to_pylist())


def test_catalog_budgets_and_comments_name_no_hidden_table(bob, ada):
    assert set(bob.catalog().tables) == {"visits", "wards"}
    assert set(ada.catalog().tables) == {"visits", "wards", *HIDDEN}
    assert [name for name, *_ in bob.budgets()] == ["zqpeople"]  # it pays for visits
    assert "zq" not in str(bob.comments())
    assert "zqpeople" in str(ada.comments())


def test_what_pays_through_a_hidden_table_is_answered(bob, ada):
    for session in (bob, ada):
        assert session.execute("SELECT COUNT(*) AS n FROM visits").table.num_rows == 1
        assert session.execute("SELECT COUNT(*) FROM visits STRATIFY BY ward").table.num_rows == 3


def test_the_kernel_reads_no_hidden_table_though_a_plan_says_so(bob):
    access = bob._access
    contract = access.tables.contracts()["visits"]
    same_id = a.Call("=", (a.Col("id"), a.Col("p.id")))
    join = a.Join(a.Scan("visits"), a.Scan("zqpeople", "p."), same_id)
    with Allowance(access.kernel, contract, Rho(10**6), "bob", "by hand") as allowance:
        with pytest.raises(Refused, match="its contract knows"):
            allowance.release([Measurement(a.Count(join), Rho(10**6))])
        assert allowance.release([Measurement(a.Count(a.Scan("visits")), Rho(10**6))])
        assert allowance.spent == Rho(10**6)


def test_a_name_that_is_taken_says_no_more_than_that(bob):
    made = "CREATE SYNTHETIC TABLE zqpeople AS SELECT ward FROM visits USING independent"
    with pytest.raises(Refused, match="1: this name is taken"):
        bob.execute(f"{made} OPTIONS (epsilon = 0.1)")


@pytest.fixture
def owner(tmp_path):
    path = vault_of(
        "CREATE TABLE people (id BIGINT PRIMARY KEY, sex INTEGER);"
        "INSERT INTO people SELECT i, i % 2 FROM range(100) t(i);"
        "ALTER TABLE people SET PRIVACY (KEY (id), COLUMN sex IN (0, 1),"
        " BUDGET (epsilon = 10, delta = 1e-9))",
        tmp_path / "own.duckdb",
        "owner",
    )
    with sqlpriv.connect(path, role="owner", principal="owner") as owner:
        yield owner


def users(owner, *names):
    """Who of these may use people."""
    allowed = []
    for name in names:
        with Session(owner.session.vault, principal=name) as session:
            if "people" in session.catalog().tables:
                allowed.append(name)
    return allowed


@pytest.mark.parametrize(
    ("statements", "allowed", "said"),
    [
        ("SHOW GRANTS", ["ada", "bob", "cleo"], ""),
        ("GRANT SELECT ON people TO 'ada'", ["ada"], "only ada"),
        ('GRANT SELECT ON people TO ADA, "bob"', ["ada", "bob"], "only ada, bob"),
        ("REVOKE SELECT ON people FROM 'bob'", ["ada", "cleo"], "everybody but bob"),
        (
            "REVOKE SELECT ON people FROM bob; GRANT SELECT ON people TO bob",
            ["ada", "bob", "cleo"],
            "everybody may",
        ),
        (
            "GRANT SELECT ON people TO ada; GRANT SELECT ON people TO PUBLIC",
            ["ada", "bob", "cleo"],
            "everybody may",
        ),
        (
            "REVOKE SELECT ON people FROM bob; GRANT SELECT ON people TO PUBLIC",
            ["ada", "cleo"],
            "everybody but bob",
        ),
        ("REVOKE SELECT ON TABLE people FROM PUBLIC", [], "only owners"),
        (
            "REVOKE SELECT ON ALL TABLES FROM PUBLIC; GRANT SELECT ON main.people TO 'cleo'",
            ["cleo"],
            "only cleo",
        ),
        ("GRANT SELECT ON people TO ada; REVOKE SELECT ON people FROM ada", [], "only owners"),
    ],
)
def test_who_may_use_a_table(owner, tmp_path, statements, allowed, said):
    assert said in owner.execute(statements).result.message
    assert users(owner, "ada", "bob", "cleo") == allowed
    script = "\n".join(line for (line,) in owner.execute("SHOW PRIVACY DECLARATIONS").fetchall())
    with sqlpriv.connect(tmp_path / "copy.duckdb", role="owner") as copy:
        copy.execute("CREATE TABLE people (id BIGINT PRIMARY KEY, sex INTEGER)")
        copy.execute(script)
        assert users(copy, "ada", "bob", "cleo") == allowed


def test_an_owner_may_use_every_table(owner):
    owner.execute("REVOKE SELECT ON people FROM PUBLIC, owner")
    assert owner.execute("SELECT COUNT(*) FROM people").fetchall() == [(100,)]
    assert owner.execute("SHOW GRANTS").fetchall() == [
        ("people", "PUBLIC", False),
        ("people", "owner", False),
    ]


def test_grants_keep_seals_and_revoking_ends_replays(owner):
    question = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) COUNT(*) FROM people"
    with Session(owner.session.vault, principal="ada") as ada:
        first = ada.execute(question)
        owner.execute("GRANT SELECT ON people TO 'ada'")
        again = ada.execute(question)
        assert (again.price.nano, again.table) == (0, first.table)
        owner.execute("REVOKE SELECT ON people FROM 'ada'")
        with pytest.raises(sqlpriv.Error, match='there is no released or public table "people"'):
            ada.execute("SELECT COUNT(*) FROM people")
        with pytest.raises(Refused, match='there is no table "people"'):
            ada.execute(question)
        owner.execute("GRANT SELECT ON people TO 'ada'")
        assert ada.execute(question).price.nano == 0
        owner.execute("ALTER TABLE people ALTER COLUMN sex DROP PRIVACY DOMAIN")
        assert ada.quote(question).epsilon > 0  # a declaration, unlike a grant, ends seals


def test_grants_go_with_a_table_that_is_renamed_replaced_or_made_anew(owner):
    owner.execute("GRANT SELECT ON people TO 'ada'")
    owner.execute("ALTER TABLE people RENAME TO staff")
    with Session(owner.session.vault, principal="bob") as bob:
        assert not bob.catalog().tables
        owner.execute("CREATE OR REPLACE TABLE staff AS FROM range(3) t(id)")
        owner.session.settle()
        assert not bob.catalog().tables
        owner.execute("DROP TABLE staff")
        owner.session.settle()
        owner.execute("CREATE TABLE staff AS FROM range(3) t(id)")
        owner.session.settle()
        assert not bob.catalog().tables


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("GRANT ALL ON people TO 'ada'", "ALL is no right here"),
        ("GRANT INSERT ON people TO 'ada'", "INSERT is no right here"),
        ("GRANT SELECT (sex) ON people TO 'ada'", "a right is on whole tables"),
        ("GRANT SELECT ON people TO 'ada' WITH GRANT OPTION", "owners alone grant"),
        ("GRANT SELECT ON people TO 'PUBLIC'", "this is no principal"),
        ("GRANT SELECT ON people TO '*'", "this is no principal"),
        ("GRANT SELECT ON people FROM 'ada'", "expected TO"),
        ("REVOKE SELECT ON people TO 'ada'", "expected FROM"),
        ("GRANT SELECT ON nobody TO 'ada'", 'there is no table "nobody"'),
    ],
)
def test_what_cannot_be_granted(owner, statement, message):
    with pytest.raises(Refused, match=message):
        owner.execute(statement)
    assert owner.execute("SHOW GRANTS").fetchall() == [("people", "PUBLIC", True)]


def test_only_an_owner_grants(owner):
    denied = pytest.raises(PermissionDenied, match="only an owner can grant")
    with Session(owner.session.vault, principal="ada") as ada, denied:
        ada.execute("GRANT SELECT ON people TO 'ada'")


@pytest.mark.parametrize("show", ["SHOW PRIVACY TABLES", "SHOW PRIVACY BUDGET"])
def test_who_may_use_no_table_is_told_whom_to_ask(tmp_path, show):
    """There were no rows, and no word why. Where there is no table the same is said."""
    empty = vault_of("", tmp_path / "empty.duckdb")
    full = vault_of(f"{VAULT}\nGRANT SELECT ON ALL TABLES TO 'ada';", tmp_path / "full.duckdb")
    notes = set()
    for vault in (empty, full):
        with Session(vault, principal="o'neil") as session:
            result = session.execute(show)
            assert result.table.num_rows == 0
            notes.add(result.message)
    (note,) = notes
    assert "GRANT SELECT ON t TO 'o''neil'" in note
    with Session(full, principal="ada") as session:
        assert session.execute(show).message == ""
