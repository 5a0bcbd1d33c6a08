"""Clients that people have, each on a live private table: charged once, its refresh free."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

COUNTS = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex ORDER BY sex"
JDBC = Path("/usr/share/java/postgresql.jar")
PATIENCE = 60.0
"""Seconds: a JVM or an editor starts slowly on a busy machine."""


@pytest.fixture
def dash(served):
    """The name of a user whose questions cost 0.2 each."""
    served.add_user("dash", epsilon=0.2)
    return "dash"


def uri(served, name):
    at = served.postgresql(name)
    tls = f"sslmode=verify-full&sslrootcert={at['sslrootcert']}"
    return f"postgresql://{name}:{at['password']}@{at['host']}:{at['port']}/people?{tls}"


def test_psycopg_2_and_its_named_cursors(served, dash):
    psycopg2 = pytest.importorskip("psycopg2")
    connection = psycopg2.connect(**served.postgresql(dash))
    with closing(connection):
        cursor = connection.cursor()
        cursor.execute(COUNTS)
        first, charges = cursor.fetchall(), served.account()[0]
        assert [row[0] for row in first] == [1, 2]
        assert any("ε 0.2 spent" in notice for notice in connection.notices)
        cursor.execute("SELECT COUNT(*) FROM made WHERE sex = %s", (1,))
        (ones,) = cursor.fetchone()
        with connection.cursor("named") as named:
            named.itersize = 50
            named.execute("SELECT income FROM made WHERE sex = %s", (1,))
            assert len(list(named)) == ones
        with connection.cursor("again") as named:
            named.execute(COUNTS)
            assert named.fetchmany(1) == first[:1]
            named.scroll(0, mode="absolute")
            assert named.fetchall() == first
        connection.commit()
        cursor.execute("SELECT * FROM people LIMIT 10")
        assert cursor.fetchall() == []
        with pytest.raises(psycopg2.Error, match="neither a key nor in an aggregate"):
            cursor.execute("SELECT secret FROM people WHERE sex = 1")
        connection.rollback()
        cursor.execute(COUNTS)
        assert (cursor.fetchall(), served.account()[0]) == (first, charges)


def test_odbc_with_cursors_and_without(served, dash):
    pyodbc = pytest.importorskip(
        "pyodbc", reason="apt-get install unixodbc; pip install pyodbc", exc_type=ImportError
    )
    pyodbc.pooling = False
    drivers = [name for name in pyodbc.drivers() if "PostgreSQL Unicode" in name]
    if not drivers:
        pytest.skip("apt-get install odbc-postgresql")
    at, answers = served.postgresql(dash), []
    text = (
        f"Driver={{{drivers[0]}}};Server={at['host']};Port={at['port']};Database=people;"
        f"UID={dash};PWD={at['password']};sslmode=require;"
    )
    for option in ("UseDeclareFetch=0", "UseDeclareFetch=1;Fetch=7"):
        with closing(pyodbc.connect(text + option, autocommit=True)) as connection:
            cursor = connection.cursor()
            names = {row.table_name for row in cursor.tables()}
            assert {"people", "made"} <= names
            columns = [row.column_name for row in cursor.columns(table="people")]
            assert columns == ["id", "sex", "income", "secret"]
            answers.append([tuple(row) for row in cursor.execute(COUNTS)])
            assert len(cursor.execute("SELECT income FROM made").fetchall()) == 500
            assert cursor.execute("SELECT * FROM people").fetchall() == []
            assert cursor.execute("SELECT COUNT(*) FROM made WHERE sex > ?", 0).fetchval() == 500
    charges = served.account()[0]
    assert answers[0] == answers[1]
    assert [row[0] for row in answers[0]] == [1, 2]
    served.psycopg(dash).execute(COUNTS)
    assert served.account()[0] == charges


PROGRAM = """
import java.sql.*;
class Ask {
    public static void main(String[] a) throws Exception {
        java.util.Properties p = new java.util.Properties();
        p.put("user", a[1]); p.put("password", System.getenv("PGPASSWORD"));
        p.put("sslmode", "verify-ca"); p.put("sslrootcert", a[2]);
        try (Connection c = DriverManager.getConnection(a[0], p)) {
            DatabaseMetaData m = c.getMetaData();
            try (ResultSet r = m.getTables(null, "public", "%", new String[] {"TABLE"})) {
                while (r.next()) System.out.println("table " + r.getString("TABLE_NAME"));
            }
            try (ResultSet r = m.getColumns(null, "public", "people", "%")) {
                while (r.next()) System.out.println("column " + r.getString("COLUMN_NAME"));
            }
            c.setAutoCommit(false);
            for (int i = 0; i < 7; i++) {
                try (PreparedStatement s = c.prepareStatement(a[3])) {
                    s.setInt(1, 0);
                    s.setFetchSize(1);
                    ResultSet r = s.executeQuery();
                    while (r.next()) System.out.println("row " + r.getInt(1) + " " + r.getLong(2));
                }
            }
            c.commit();
            try { c.createStatement().executeQuery("SELECT secret FROM people WHERE sex = 1"); }
            catch (SQLException e) { System.out.println("refused " + e.getSQLState()); }
        }
    }
}
"""


@pytest.mark.slow
def test_jdbc(served, dash, tmp_path):
    if not (shutil.which("java") and JDBC.exists()):
        pytest.skip("apt-get install libpostgresql-jdbc-java default-jre-headless")
    source = tmp_path / "Ask.java"
    source.write_text(PROGRAM)
    at, before = served.postgresql(dash), served.account()[0]
    sql = COUNTS.replace(" GROUP", " WHERE income >= ? GROUP")
    url = f"jdbc:postgresql://{at['host']}:{at['port']}/people"
    done = subprocess.run(
        ["java", "-cp", str(JDBC), str(source), url, dash, str(served.ca), sql],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "PGPASSWORD": at["password"]},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert {"table people", "table made"} <= set(lines)
    assert [line for line in lines if line.startswith("column")] == [
        "column id",
        "column sex",
        "column income",
        "column secret",
    ]
    rows = [line for line in lines if line.startswith("row")]
    assert len(rows) == 14
    assert len(set(rows)) == 2, "seven times the same answer, prepared and not"
    assert lines[-1] == "refused 42000"
    assert served.account()[0] == before + 1, "one charge for all seven"


def test_adbc_postgresql(served, dash):
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi")
    with closing(dbapi.connect(uri(served, dash))) as connection, connection.cursor() as cursor:
        cursor.execute(COUNTS)
        first = cursor.fetch_arrow_table()
        charges = served.account()[0]
        assert first["sex"].to_pylist() == [1, 2]
        cursor.execute(COUNTS)
        assert cursor.fetch_arrow_table().equals(first)
        cursor.execute("SELECT income FROM made")
        assert cursor.fetch_arrow_table().num_rows == 500
        assert served.account()[0] == charges


def test_pgcli_completes_tables_and_shows_an_answer(served, dash, tmp_path):
    pytest.importorskip("pgcli")
    before = served.account()[0]
    ours, theirs = pty.openpty()
    at = served.postgresql(dash)
    environment = {
        **os.environ,
        "PGPASSWORD": at["password"],
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "XDG_CONFIG_HOME": str(tmp_path),
        "PGSSLMODE": "verify-full",
        "PGSSLROOTCERT": str(served.ca),
        "PAGER": "cat",
        "COLUMNS": "160",
        "LINES": "50",
        "PROMPT_TOOLKIT_NO_CPR": "1",
    }
    command = [
        sys.executable,
        "-m",
        "pgcli",
        "-h",
        at["host"],
        "-p",
        str(at["port"]),
        "-U",
        dash,
        "people",
    ]
    process = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True
    )
    os.close(theirs)
    try:
        seen = _read_until(ours, b"people>", b"")
        os.write(ours, b"SELECT sex, COUNT(*) AS n FROM people GROUP BY sex;\r")
        seen = _read_until(ours, b"SELECT 2", seen)
        os.write(ours, b"\\d\r")
        seen = _read_until(ours, b"made", seen)
        os.write(ours, b"\\q\r")
        assert b"Traceback" not in seen
    finally:
        process.kill()
        process.wait()
        os.close(ours)
    assert served.account()[0] == before + 1


def _read_until(terminal, text, seen):
    deadline, start = time.monotonic() + PATIENCE, len(seen)
    while text not in seen[start:]:
        ready, _, _ = select.select([terminal], [], [], max(0, deadline - time.monotonic()))
        assert ready, seen[-3000:].decode(errors="replace")
        seen += os.read(terminal, 65536)
    return seen


def test_duckdb_attaches_the_vault_as_a_postgresql_database(served, dash):
    import duckdb

    engine = duckdb.connect()
    try:
        engine.execute("LOAD postgres")
    except duckdb.Error as error:
        pytest.skip(f"DuckDB's postgres extension is not installed here: {type(error).__name__}")
    engine.execute(f"ATTACH '{uri(served, dash)}' AS vault (TYPE postgres, READ_ONLY)")
    (rows,) = engine.execute("SELECT COUNT(*) FROM vault.made").fetchone()
    assert rows == 500
