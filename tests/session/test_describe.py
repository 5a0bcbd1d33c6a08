"""A statement's columns, told without running it; and plain SQL stopped from another thread."""

import os
import signal
import threading
import time

import pyarrow as pa
import pytest

import sqlpriv
from sqlpriv.kernel.reader import Reader
from sqlpriv.session.session import Session

SETUP = """
CREATE TABLE people (id BIGINT UNIQUE, sex INTEGER, born DATE, income DOUBLE);
INSERT INTO people SELECT i, i % 2 + 1, DATE '1980-01-01' + (i % 900)::INTEGER, i % 100
FROM range(500) r(i);
CREATE TABLE shares (sex INTEGER, weight DOUBLE);
INSERT INTO shares VALUES (1, 0.4), (2, 0.6);
ALTER TABLE people ADD PRIVACY_KEY (id);
ALTER TABLE people SET PU;
ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN IN (1, 2);
ALTER TABLE people ALTER COLUMN income SET PRIVACY DOMAIN BETWEEN (0, 100);
ALTER TABLE people SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9);
ALTER TABLE shares SET PUBLIC;
"""
PRICED = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1)"


@pytest.fixture(scope="module")
def vault(tmp_path_factory):
    path = tmp_path_factory.mktemp("describe") / "people.duckdb"
    with sqlpriv.connect(path, role="owner") as owner:
        owner.execute(SETUP)
        owner.execute(
            "CREATE SYNTHETIC TABLE made AS SELECT sex, income FROM people USING independent"
            " OPTIONS (epsilon = 0.5)"
        )
    return path


@pytest.fixture
def analyst(vault):
    with Session(vault, principal="ada") as session:
        yield session


def spent(session):
    return session.budgets(), session.execute("SHOW PRIVACY RELEASES").table


@pytest.mark.parametrize(
    ("sql", "parameters"),
    [
        (f"{PRICED} sex, COUNT(*) AS n, AVG(income) AS a FROM people STRATIFY BY sex", None),
        (f"{PRICED} sex::VARCHAR, COUNT(*) n, COUNT(*) AS n FROM people GROUP BY sex", None),
        (f"{PRICED} COUNT(*) / 2, AVG(income)::DECIMAL(9, 2) FROM people WHERE sex = ?", [1]),
        ("SET privacy_epsilon = 0.1; SELECT COUNT(*) > 3 AS many FROM people", None),
        (
            f"WITH w AS ({PRICED} sex, AVG(income) AS a FROM people GROUP BY sex) "
            "SELECT sex, weight * a AS part FROM w JOIN shares USING (sex)",
            None,
        ),
        (
            f"{PRICED} COUNT(*) AS n FROM people WHERE income > (SELECT AVG(income) FROM people)",
            None,
        ),
        (f"{PRICED} COUNT(*) * (SELECT max(weight) FROM shares) AS n FROM people", None),
        ("SELECT 1 AS a, 2.5 AS a, sex FROM made WHERE sex = $sex", {"sex": 1}),
        ("SELECT *, weight::DECIMAL(4, 1) FROM shares -- and a comment", None),
        ("FROM made", None),
        ("WITH x AS (SELECT sex FROM made) SELECT * FROM x, shares", None),
        ("VALUES (1, 'a')", None),
        ("SUMMARIZE made", None),
        ("DESCRIBE people", None),
        ("DESCRIBE made", None),
        ("EXPLAIN SELECT sex FROM made", None),
        (f"EXPLAIN PRIVACY {PRICED} COUNT(*) FROM people", None),
        ("SHOW PRIVACY BUDGET", None),
        ("SHOW PRIVACY TABLES", None),
    ],
)
def test_the_columns_told_are_those_that_come(analyst, monkeypatch, sql, parameters):
    before = spent(analyst)
    with monkeypatch.context() as patched:
        patched.setattr(Reader, "cells", None)  # whoever reads a private row fails
        told = analyst.describe(sql, parameters)
    assert spent(analyst) == before
    assert analyst.settings == {}
    assert len(told) > 0
    assert told == analyst.execute(sql, parameters).table.schema


def test_a_statement_without_rows_has_no_columns_and_takes_no_effect(vault):
    with Session(vault, role="owner") as owner:
        for sql in ("", "SET privacy_epsilon = 1", "CREATE TABLE t (a INTEGER)", "DROP TABLE made"):
            assert owner.describe(sql) == pa.schema([])
        assert owner.settings == {}
        assert "t" not in owner.catalog().tables
        assert "made" in owner.catalog().released


def test_an_owner_is_told_the_columns_of_plain_sql_on_the_vault(vault):
    with Session(vault, role="owner") as owner:
        sql = "SELECT born, income AS x, income AS x FROM people"
        assert owner.describe(sql) == owner.execute(sql).table.schema


@pytest.mark.parametrize(
    ("sql", "kind", "words"),
    [
        (f"{PRICED} income FROM people", sqlpriv.Refused, "neither a key"),
        ("SELECT COUNT(*) FROM people", sqlpriv.Refused, "no price"),
        ("SELECT nothing FROM made", sqlpriv.ProgrammingError, "nothing"),
        ("SELECT * FROM nowhere", sqlpriv.Refused, "nowhere"),
    ],
)
def test_what_would_be_refused_is_refused(analyst, sql, kind, words):
    with pytest.raises(kind, match=words):
        analyst.describe(sql)


@pytest.fixture
def hears_ctrl_c():
    """SIGINT raises KeyboardInterrupt, whatever a library in this process made of it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before or signal.SIG_DFL)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_ends_plain_sql(analyst):
    """It ended in DuckDB's RuntimeError, or was not heard of at all: counts of joins went on."""
    timer = threading.Timer(1, os.kill, (os.getpid(), signal.SIGINT))
    too_late = threading.Timer(60, analyst.interrupt)  # then another error ends it, and the test
    timer.start()
    too_late.start()
    with pytest.raises(KeyboardInterrupt):
        analyst.execute("SELECT count(*) FROM made a, made b, made c, made d, made e, made f")
    too_late.cancel()
    timer.join()
    table = analyst.execute("SELECT 1 AS a").table
    assert table.to_pylist() == [{"a": 1}]


def test_plain_sql_is_interrupted_from_another_thread(analyst):
    endless = "SELECT SUM(sin(a.income + b.income + c.income + d.income)) "
    endless += "FROM made a, made b, made c, made d"
    failed = []

    def ask():
        try:
            analyst.execute(endless)
        except sqlpriv.Error as error:
            failed.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    until = time.monotonic() + 30
    while asking.is_alive() and time.monotonic() < until:
        analyst.interrupt()
        asking.join(0.05)
    assert not asking.is_alive()
    assert "nterrupt" in str(failed[0])
    assert analyst.execute("SELECT 1 AS a").table.to_pylist() == [{"a": 1}]


def test_an_owner_without_files_reaches_none(vault, tmp_path):
    outside = tmp_path / "outside.csv"
    outside.write_text("a\n1\n")
    with Session(vault, role="owner", files=False) as owner:
        owner.execute("CREATE TABLE inside AS SELECT 7 AS a; DROP TABLE inside")
        for sql in (
            f"SELECT * FROM read_csv('{outside}')",
            f"COPY shares TO '{tmp_path}/shares.csv'",
            f"ATTACH '{tmp_path}/other.duckdb' AS other",
            "SET enable_external_access = true",
        ):
            with pytest.raises(sqlpriv.ProgrammingError, match=r"disabled|locked|Cannot"):
                owner.execute(sql)
    assert [path.name for path in tmp_path.iterdir()] == ["outside.csv"]


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT 1",
        "SELECT DISTINCT sex FROM people",
        "SELECT avg(m.income) FROM made m",
        "SELECT count(*) FROM shares a, shares b",
        "SELECT count(*) FROM (SELECT unnest(generate_series(1, 1000000000000)) FROM shares)",
    ],
)
def test_explain_runs_nothing_and_tells_a_price_of_nothing(analyst, asked):
    """The last would count to a million of millions."""
    before = spent(analyst)
    result = analyst.execute(f"EXPLAIN PRIVACY {asked}")
    assert result.message == "no private row is read: free"
    (row,) = result.table.to_pylist()
    assert (row["measurement"], row["rho"], row["epsilon"]) == ("total", 0.0, 0.0)
    assert spent(analyst) == before


def test_explain_of_what_cannot_be_asked_says_so(analyst):
    for asked in ("SELECT nothing FROM made", "SELECT * FROM nowhere", "SELECT * FROM range(9999)"):
        with pytest.raises(sqlpriv.ProgrammingError):
            analyst.execute(f"EXPLAIN PRIVACY {asked}")


def test_names_are_shown_as_they_were_created(tmp_path):
    """SHOW PRIVACY TABLES and comments of tables said kundennr of kunden."""
    with sqlpriv.connect(tmp_path / "kunden.duckdb", role="owner") as owner:
        owner.execute('CREATE TABLE "Kunden" ("KundenNr" BIGINT PRIMARY KEY)')
        owner.execute("CREATE TABLE Posten AS SELECT range % 9 AS Kunde FROM range(20)")
        owner.execute("ALTER TABLE kunden ADD PRIVACY_KEY (kundennr)")
        owner.execute("ALTER TABLE kunden SET PU")
        owner.execute("ALTER TABLE posten SET PRIVACY BOUND (rows_per_unit = 3)")
        owner.execute("ALTER TABLE posten ADD PRIVACY_LINK (kunde) REFERENCES kunden(kundennr)")
        rows = {row[0]: row[2:4] for row in owner.execute("SHOW PRIVACY TABLES").fetchall()}
    assert rows["Kunden"] == ("Kunden", "KundenNr")
    assert rows["Posten"][0] == "Kunden"
    with sqlpriv.connect(tmp_path / "kunden.duckdb") as analyst:
        comments = analyst.execute("SELECT comment FROM duckdb_tables()").fetchall()
    assert any("protects each KundenNr of Kunden" in str(comment) for comment in comments)
