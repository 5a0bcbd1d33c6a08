"""Clients in other languages, poolers and ORMs, each as its users run it: slow, where installed."""

import json
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
JDBC = Path("/usr/share/java/postgresql.jar")
METADATA = """
import java.sql.*;
class Look {
    static int rows(ResultSet r) throws Exception { int n = 0; while (r.next()) n++; return n; }
    public static void main(String[] a) throws Exception {
        java.util.Properties p = new java.util.Properties();
        p.put("user", a[1]); p.put("password", System.getenv("PGPASSWORD"));
        p.put("sslmode", "verify-ca"); p.put("sslrootcert", a[2]); p.put("preferQueryMode", a[3]);
        try (Connection c = DriverManager.getConnection(a[0], p)) {
            DatabaseMetaData m = c.getMetaData();
            System.out.println("keys " + rows(m.getPrimaryKeys(null, "public", "people"))
                + rows(m.getImportedKeys(null, "public", "people"))
                + rows(m.getIndexInfo(null, "public", "people", true, true)));
            System.out.println("types " + (rows(m.getTypeInfo()) > 100));
            System.out.println("rights " + rows(m.getTablePrivileges(null, "public", "people")));
            System.out.println("other " + rows(m.getProcedures(null, null, "%"))
                + rows(m.getExportedKeys(null, "public", "people"))
                + rows(m.getVersionColumns(null, "public", "people")));
            PreparedStatement s = c.prepareStatement("SELECT COUNT(*) FROM calendar WHERE day = ?");
            for (int i = 0; i < 7; i++) {
                s.setDate(1, Date.valueOf("2024-01-02"));
                ResultSet r = s.executeQuery(); r.next();
                if (r.getLong(1) != 1) throw new Exception("a date is not met");
            }
            c.setAutoCommit(false);
            Statement f = c.createStatement(); f.setFetchSize(100);
            System.out.println("fetched " + rows(f.executeQuery("SELECT * FROM made")));
            c.commit();
            c.setAutoCommit(true);
            Statement t = c.createStatement(); t.setQueryTimeout(1);
            try { t.executeQuery("SELECT count(*) FROM made a, made b, made c, made d"
                + " WHERE a.income + b.income + c.income * d.income > 3.1"); }
            catch (SQLException e) { System.out.println("stopped " + e.getSQLState()); }
            System.out.println("valid " + c.isValid(5));
        }
    }
}
"""
NODE = """
const {Client} = require(process.argv[2] + '/node_modules/pg'), fs = require('fs');
(async () => {
  const ssl = {ca: fs.readFileSync(process.env.PGSSLROOTCERT)};
  const c = new Client({host: '127.0.0.1', port: +process.env.PGPORT, user: process.env.PGUSER,
    password: process.env.PGPASSWORD, database: 'people', ssl});
  await c.connect();
  const ask = async (text, values) => (await c.query(text, values)).rows;
  const counts = 'SELECT sex, COUNT(*) FROM people WHERE income > $1 GROUP BY sex ORDER BY sex';
  console.log(JSON.stringify([await ask(counts, [5]), await ask(counts, [5]),
    await ask("SELECT '2020-01-01'::date::text d, ARRAY[1, 2] a, $1::text[] b", [['x']]),
    await ask('SELECT * FROM people LIMIT 5')]));
  await c.end();
})().catch(error => { console.error(error.message); process.exit(1); });
"""
RUBY = """
require 'pg'
c = PG.connect(dbname: 'people')
c.set_notice_processor { |_| }
c.type_map_for_results = PG::BasicTypeMapForResults.new(c)
c.type_map_for_queries = PG::BasicTypeMapForQueries.new(c)
puts c.exec_params('SELECT COUNT(*) FROM made WHERE sex = ANY($1)', [[1, 2]]).getvalue(0, 0)
"""
RAILS = """
require 'active_record'
ActiveRecord::Base.establish_connection(adapter: 'postgresql', database: 'people')
c = ActiveRecord::Base.connection
class Person < ActiveRecord::Base; self.table_name = 'people'; end
puts c.tables.sort.join(','), c.columns('people').map(&:sql_type).join(',')
puts c.foreign_keys('people').size, Person.group(:sex).count.keys.inspect
puts Person.limit(3).to_a.inspect, Person.count == Person.count
"""
PERL = """
use DBI;
my $d = DBI->connect("dbi:Pg:dbname=people", undef, undef, {RaiseError => 1, PrintWarn => 0});
my $t = $d->table_info(undef, "public", "%", "TABLE")->fetchall_arrayref;
print join(",", map { $_->[2] } @{$t}), "\\n";
my $s = $d->prepare("SELECT sex, COUNT(*) FROM people WHERE income > ? GROUP BY sex ORDER BY sex");
for (1 .. 2) { $s->execute(5); print join(",", map { $_->[0] } @{$s->fetchall_arrayref}), "\\n"; }
"""
PHP = """<?php
$d = new PDO("pgsql:dbname=people;host=127.0.0.1;port=" . getenv("PGPORT"), getenv("PGUSER"),
    getenv("PGPASSWORD"));
$s = $d->prepare("SELECT sex, COUNT(*) FROM people WHERE income > :low GROUP BY sex ORDER BY sex");
$s->execute(["low" => 5]);
echo json_encode(array_column($s->fetchAll(PDO::FETCH_ASSOC), "sex")), "\\n";
"""
IBIS = """
import os, ibis
c = ibis.postgres.connect(user=os.environ["PGUSER"], password=os.environ["PGPASSWORD"],
    host="127.0.0.1", port=int(os.environ["PGPORT"]), database="people")
people = c.table("people")
print(sorted(c.list_tables()), people.schema()["sex"], people.head(3).execute().shape)
print(people.group_by("sex").agg(n=people.count()).order_by("sex").execute()["sex"].to_list())
"""


@pytest.fixture
def dash(served):
    """A user whose questions cost 0.2, and libpq's variables for them."""
    served.add_user("dash", epsilon=0.2)
    at = served.postgresql("dash")
    return {
        **os.environ,
        "PGHOST": "localhost",
        "PGPORT": str(at["port"]),
        "PGUSER": "dash",
        "PGPASSWORD": at["password"],
        "PGSSLMODE": "verify-full",
        "PGSSLROOTCERT": str(served.ca),
    }


def output_of(command, environment, text=None):
    """Returns what a program prints, once it has ended well."""
    ended = subprocess.run(
        command, env=environment, input=text, capture_output=True, text=True, timeout=300
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def needs(*programs):
    missing = [name for name in programs if shutil.which(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


@pytest.mark.parametrize("mode", ["extended", "simple"])
def test_jdbc_as_dbeaver_and_metabase_use_it(served, dash, tmp_path, mode):
    needs("java", "javac")
    if not JDBC.exists():
        pytest.skip("apt-get install libpostgresql-jdbc-java")
    with served.psycopg("olga") as owner:
        owner.execute(
            "CREATE TABLE calendar AS SELECT DATE '2024-01-01' + i::INT AS day FROM range(9) r(i)"
        )
        owner.execute("ALTER TABLE calendar SET PUBLIC")
    source = tmp_path / "Look.java"
    program = METADATA
    if mode == "simple":  # a text of a date with a zone, which setDate writes, DuckDB does not read
        day = "setObject(1, java.time.LocalDate.of(2024, 1, 2))"
        program = METADATA.replace('setDate(1, Date.valueOf("2024-01-02"))', day)
    source.write_text(program)
    before = served.account()
    url = f"jdbc:postgresql://localhost:{dash['PGPORT']}/people"
    command = ["java", "-cp", str(JDBC), str(source), url, "dash", str(served.ca), mode]
    lines = output_of(command, dash).splitlines()
    assert lines == [
        "keys 001",
        "types true",
        "rights 1",
        "other 001",
        "fetched 500",
        "stopped 57014",
        "valid true",
    ]
    assert served.account() == before


def test_odbc_s_cursors_without_autocommit(dash):
    pyodbc = pytest.importorskip("pyodbc", exc_type=ImportError)
    drivers = [name for name in pyodbc.drivers() if "PostgreSQL Unicode" in name]
    if not drivers:
        pytest.skip("apt-get install odbc-postgresql")
    pyodbc.pooling = False
    text = (
        f"Driver={{{drivers[0]}}};Server=127.0.0.1;Port={dash['PGPORT']};Database=people;UID=dash;"
        f"PWD={dash['PGPASSWORD']};sslmode=require;UseDeclareFetch=1;Fetch=100;"
    )
    with closing(pyodbc.connect(text, autocommit=False)) as connection:
        cursor = connection.cursor()
        for _ in range(3):
            assert len(cursor.execute("SELECT income FROM made").fetchall()) == 500
            connection.rollback()
            assert cursor.execute("SELECT COUNT(*) FROM made WHERE sex > ?", 0).fetchval() == 500
            connection.commit()
        assert [row.column_name for row in cursor.columns("people")][:2] == ["id", "sex"]
        assert [row.index_name for row in cursor.statistics("people")] == ["people_id_key"]


@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_pgbouncer(served, dash, tmp_path, mode):
    needs("pgbouncer", "psql")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (tmp_path / "users").write_text(f'"dash" "{dash["PGPASSWORD"]}"\n')
    (tmp_path / "pool.ini").write_text(
        f"[databases]\npeople = host=127.0.0.1 port={dash['PGPORT']} dbname=people\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\npool_mode = {mode}\n"
        f"auth_type = scram-sha-256\nauth_file = {tmp_path}/users\nserver_tls_sslmode = require\n"
        "default_pool_size = 2\n"
    )
    account = "nobody" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    for place in (*reversed(tmp_path.parents[:3]), tmp_path):
        place.chmod(0o755)
    command = ["pgbouncer", "-u", account, str(tmp_path / "pool.ini")]
    pool = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    pooled = {**dash, "PGPORT": str(port), "PGHOST": "127.0.0.1", "PGSSLMODE": "disable"}
    try:
        for _ in range(100):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        sql = "BEGIN; SELECT sex, COUNT(*) FROM people GROUP BY sex ORDER BY sex; COMMIT"
        ask = ["psql", "-XqAt", "people", "-c", "\\d", "-c", sql]
        first, charges = output_of(ask, pooled), served.account()[0]
        assert "people|table" in first
        assert output_of(ask, pooled) == first
        assert served.account()[0] == charges
    finally:
        pool.terminate()
        pool.wait()


def test_node(dash, tmp_path):
    needs("node", "npm")
    installed = subprocess.run(
        ["npm", "install", "--silent", "--prefix", str(tmp_path), "pg"], capture_output=True
    )
    if installed.returncode:
        pytest.skip("npm cannot install pg here")
    (tmp_path / "ask.js").write_text(NODE)
    counts, again, values, preview = json.loads(
        output_of(["node", str(tmp_path / "ask.js"), str(tmp_path)], dash)
    )
    assert len(counts) == 2
    assert counts == again
    assert values == [{"d": "2020-01-01", "a": [1, 2], "b": ["x"]}]
    assert preview == []


def test_ruby_and_rails(dash):
    needs("ruby")
    for library, package in (("pg", "ruby-pg"), ("active_record", "ruby-activerecord")):
        if subprocess.run(["ruby", "-e", f"require '{library}'"], capture_output=True).returncode:
            pytest.skip(f"apt-get install {package}")
    assert output_of(["ruby", "-e", RUBY], dash) == "500\n"
    assert output_of(["ruby", "-W0", "-e", RAILS], dash).splitlines() == [
        "made,people",
        "bigint,integer,double precision,text",
        "0",
        "[1, 2]",
        "[]",
        "true",
    ]


@pytest.mark.parametrize(
    ("program", "library", "text", "lines"),
    [
        ("perl", ["-MDBD::Pg", "-e1"], PERL, ["made,people", "1,2", "1,2"]),
        ("php", ["-r", "exit(extension_loaded('pdo_pgsql') ? 0 : 1);"], PHP, ["[1,2]"]),
        (sys.executable, ["-c", "import ibis.backends.postgres"], IBIS, None),
    ],
    ids=["perl", "php", "ibis"],
)
def test_a_program_asks(dash, program, library, text, lines):
    needs(program)
    if subprocess.run([program, *library], capture_output=True).returncode:
        pytest.skip(f"its library for PostgreSQL is not installed: {program}")
    printed = output_of([program], dash, text).splitlines()
    assert printed == (lines or ["['made', 'people'] int32 (0, 4)", "[1, 2]"])
