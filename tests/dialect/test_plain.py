"""Statements that only DuckDB runs: every table they name is seen, and who may run them."""

import subprocess
import sys

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlpriv.dialect import read
from sqlpriv.errors import PermissionDenied, Refused
from sqlpriv.statements import tables
from sqlpriv.statements.commands import Describe, Plain, Unanswerable

CONNECTION = duckdb.connect()
for name in ("t", "u", "people"):
    CONNECTION.execute(f"CREATE TABLE {name} (a INTEGER, b INTEGER)")

QUERIES = [
    "SELECT * FROM t",
    "SELECT a FROM t, u",
    "SELECT t.a FROM t JOIN u ON t.a = u.a",
    "SELECT t.a FROM t POSITIONAL JOIN u",
    "SELECT t.a FROM t SEMI JOIN u ON t.a = u.a",
    "FROM t",
    "FROM t SELECT a",
    "FROM (FROM t) x",
    "TABLE t",
    "(SELECT a FROM t) UNION ALL SELECT a FROM u",
    "SELECT (SELECT max(a) FROM t)",
    "SELECT 1 WHERE EXISTS (FROM u)",
    "SELECT a IN (SELECT a FROM u) FROM t",
    "SELECT DISTINCT a FROM T",
    'SELECT a, b, c_ FROM (SELECT *, 1 AS c_ FROM "T") x',
    "SELECT * FROM main.people",
    "WITH x AS (SELECT a FROM t) SELECT * FROM x, u",
    "WITH people AS (SELECT 1 AS a) SELECT * FROM people",
    "WITH PEOPLE AS (SELECT 1 AS a) SELECT * FROM people",
    "WITH people AS (SELECT a FROM people) SELECT * FROM people",
    "WITH people AS (SELECT 1 AS a) SELECT * FROM main.people",
    "WITH x AS (SELECT a FROM people), people AS (SELECT 1 AS a) SELECT * FROM x",
    "SELECT * FROM (WITH people AS (SELECT 1 AS a) SELECT * FROM people) x, people",
    "WITH RECURSIVE people AS (SELECT a FROM people) SELECT * FROM people",
    "WITH RECURSIVE people AS (SELECT a FROM people UNION ALL SELECT 1) SELECT * FROM people",
    "WITH RECURSIVE people AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM people WHERE a < 3) "
    "SELECT * FROM people",
    "WITH RECURSIVE x AS (SELECT a FROM people), people AS (SELECT 1 AS a) SELECT * FROM x",
    "SELECT sum(a) OVER (ORDER BY b) FROM t QUALIFY a > 1",
    "SELECT a FROM t USING SAMPLE 10",
    "SELECT a FROM t TABLESAMPLE 10%",
    "SELECT * FROM (SELECT a, b FROM t) PIVOT (sum(a) FOR b IN (1, 2))",
    "SELECT x FROM t, LATERAL (SELECT t.a + u.a AS x FROM u)",
    "VALUES (1), (2)",
    "SELECT 1",
    "SELECT 1 /* /* */ FROM t /* */ */",
    "SELECT 'FROM t' AS s",
    "DESCRIBE SELECT a FROM t",
    "SUMMARIZE t",
]


def plain(text, parameters=None):
    (statement,) = read(text, parameters)
    return statement.statement if isinstance(statement, Unanswerable) else statement


def why(text):
    (statement,) = read(text)
    return statement.why


@pytest.mark.parametrize("text", QUERIES)
def test_the_tables_of_a_query_are_those_that_duckdb_finds(text):
    found = plain(text)
    ours = found.tables if isinstance(found, Plain) else tables(found)
    theirs = {name.lower() for name in CONNECTION.get_table_names(text)}
    assert set(ours) == theirs
    assert getattr(found, "reads_only", True)


NAMES = st.sampled_from(["t", "u", "people", "T", '"People"', "main.people"])


def nested(inner):
    common = st.tuples(
        st.sampled_from(["", "RECURSIVE "]), st.sampled_from(["t", "people", "U"]), inner, inner
    )
    return st.one_of(
        inner.map("SELECT a FROM ({}) x".format),
        inner.map("SELECT a FROM t WHERE a IN ({})".format),
        st.tuples(inner, inner).map(lambda q: "({}) UNION ALL ({})".format(*q)),
        st.tuples(NAMES, inner).map(lambda q: "SELECT 1 AS a FROM {} y, ({}) z".format(*q)),
        common.map(lambda q: "WITH {}{} AS ({}) {}".format(*q)),
        common.map(lambda q: "WITH {}{} AS ({}), v AS ({}) SELECT a FROM v".format(*q)),
        common.map(lambda q: "WITH {0}{1} AS ({2} UNION ALL {3}) FROM {1}".format(*q)),
    )


@settings(max_examples=150, deadline=None)
@given(st.recursive(NAMES.map("SELECT a FROM {}".format), nested, max_leaves=5))
def test_no_scope_of_common_tables_hides_a_table_that_duckdb_reads(text):
    try:
        theirs = {name.lower() for name in CONNECTION.get_table_names(text)}
    except duckdb.Error:
        return  # Circular references and the like: DuckDB would not run it either.
    found = plain(text)
    ours = set(found.tables if isinstance(found, Plain) else tables(found))
    assert ours >= theirs  # More where a common table is never used; exactness is tested above.


@pytest.mark.parametrize(
    ("text", "tables"),
    [
        ("SELECT * FROM read_csv('x.csv')", ("read_csv()",)),
        ("SELECT * FROM 'x.csv'", ("'x.csv'",)),
        ('SELECT * FROM "x.csv"', ("x.csv",)),
        ("SELECT * FROM t, range(3000)", ("t", "range()")),
        ("SELECT * FROM query('FROM people')", ("query()",)),
        ("SELECT * FROM query_table('people')", ("query_table()",)),
        ("SELECT * FROM db.main.people", ("people",)),
        ("SELECT count(*) FROM other.people", ("people",)),
        ("SELECT * FROM x.read_csv('a')", ("read_csv()",)),
        ("UNPIVOT t ON a, b INTO NAME n VALUE v", ("t",)),
        ("PIVOT t ON a", ("t",)),
        ("SELECT COLUMNS(lambda c: c LIKE 'a') FROM t", ("t",)),
        ("SELECT t.a FROM t FULL JOIN u USING (a)", ("t", "u")),
    ],
)
def test_files_and_table_functions_show_as_what_they_are(text, tables):
    assert plain(text).tables == tables


@pytest.mark.parametrize(
    ("text", "column", "words", "hint"),
    [
        ("SELECT * FROM t", 8, "every column", "COUNT"),
        ("SELECT a FROM t FULL JOIN u USING (a)", 17, "FULL JOIN", "LEFT JOIN"),
        ("WITH RECURSIVE x AS (SELECT 1) SELECT * FROM x", 6, "recursive", "WITH name"),
        ("SELECT a FROM t UNION SELECT 1", 17, "set operations", "one SELECT"),
        ("SELECT sum(a) OVER () FROM t", 15, "window", "GROUP BY"),
        ("SELECT a FROM t WINDOW w AS ()", 17, "window", "GROUP BY"),
        ("SELECT a FROM t QUALIFY a", 17, "QUALIFY", "HAVING"),
        ("SELECT DISTINCT a FROM t", 8, "DISTINCT", "GROUP BY"),
        ("SELECT a FROM t USING SAMPLE 3", 17, "sampling", "leave it out"),
        ("SELECT COUNT(t.(a)) FROM t", 14, "method calls", "write column or table.column"),
        ("SELECT a FROM t TABLESAMPLE 3", 17, "sampling", "leave it out"),
        ("SELECT a FROM t GROUP BY CUBE (a, b, c, d, e, f, g, h)", 55, "128 sets", "fewer"),
        ("SELECT a FROM read_csv('x')", 15, "table function", "by its name"),
        ("SELECT a FROM 'x.csv'", 15, "a file", "owner"),
        ("SELECT a FROM other.t", 15, "schema or database", "alone"),
        ("SELECT a FROM t LIMIT 10 PERCENT", 26, "percentage", "LIMIT n"),
        ("FROM t", 1, "begins with FROM", "SELECT"),
        ("TABLE t ORDER BY a", 1, "begins with TABLE", "SELECT"),
        ("PIVOT t ON a", 1, "PIVOT", "GROUP BY"),
        ("SUMMARIZE t", 1, "reads every row", "DESCRIBE"),
        ("EXPLAIN SELECT a FROM t", 1, "the engine's plan", "EXPLAIN PRIVACY"),
        ("EXPLAIN ANALYZE SELECT a FROM t", 1, "the engine's plan", "EXPLAIN PRIVACY"),
    ],
)
def test_the_refusal_names_the_construct_its_place_and_what_to_write(text, column, words, hint):
    refusal = why(text)
    assert words in refusal.message
    assert hint in refusal.hint
    assert (refusal.line, refusal.column) == (1, column)
    assert not isinstance(refusal, PermissionDenied)


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES (1, 2)",
        "UPDATE t SET a = 1",
        "DELETE FROM t",
        "DROP TABLE t",
        "CREATE TABLE x AS FROM t",
        "TRUNCATE t",
        "COPY t TO 'x.csv'",
        "EXPORT DATABASE 'd'",
        "ATTACH 'x.db'",
        "USE x",
        "INSTALL httpfs",
        "LOAD httpfs",
        "PRAGMA show_tables",
        "SET threads = 1",
        "RESET threads",
        "CALL duckdb_tables()",
        "PREPARE p AS FROM t",
        "EXECUTE p",
        "BEGIN",
        "COMMIT",
        "CHECKPOINT",
        "VACUUM",
        "INSERT INTO stratify BY NAME SELECT a FROM t",
        "EXPLAIN ANALYZE INSERT INTO t VALUES (1, 2)",
        "EXPLAIN DELETE FROM t",
    ],
)
def test_a_statement_that_is_no_query_is_the_owners(text):
    found = plain(text)
    assert not found.reads_only
    assert isinstance(why(text), PermissionDenied)
    assert text.split()[0] in why(text).message or "explain" in why(text).message
    assert found.text == text


@pytest.mark.parametrize(
    "text",
    [
        "WITH x AS (SELECT 1 AS a) INSERT INTO t FROM x",
        "WITH x AS (DELETE FROM t RETURNING a) SELECT * FROM x",
        "SELECT ((1 FROM t",
        "SELECT a b c FROM t",
    ],
)
def test_what_is_not_known_to_read_only_is_not_taken_to(text):
    assert not plain(text).reads_only


def test_a_query_that_cannot_be_taken_apart_names_every_name():
    text = "SELECT ((x FROM people WHERE 'f.csv' == \"Q\""
    assert {"x", "people", "'f.csv'", "q"} <= set(plain(text).tables)
    assert "expected" in why(text).message


def test_who_would_copy_an_answer_into_a_file_is_told_how_to_save_it():
    with pytest.raises(Refused) as refused:
        read("COPY (SELECT WITH DIFFERENTIAL_PRIVACY a FROM t) TO 'x.csv'")
    for refusal in (refused.value, why("COPY (SELECT count(*) FROM t) TO 'x.csv'")):
        assert ".output FILE in the shell, sqlpriv query --format csv -o FILE" in refusal.hint


def test_describe_of_a_table_is_ours():
    assert plain('DESCRIBE "My t"') == Describe("My t") == plain('desc "My t" ;')
    assert isinstance(plain("DESCRIBE SELECT 1"), Plain)


@pytest.mark.parametrize("text", ["SELCT 1", "1", "'x'", ")", "hello world", "$1"])
def test_what_begins_no_statement_is_refused(text):
    with pytest.raises(Refused, match="does not begin a statement") as caught:
        read(f"SELECT 1;\n  {text}", [1] if text == "$1" else None)
    assert (caught.value.line, caught.value.column) == (2, 3)


@pytest.mark.parametrize("dialect", ["duckdb", "postgres"])
def test_a_first_word_that_is_like_another_is_asked_for(dialect):
    with pytest.raises(Refused) as caught:
        read("SELCT 1", dialect=dialect)
    assert caught.value.hint.startswith("did you mean SELECT? ")


@pytest.mark.parametrize("open_", ["'", '"', "$$", "/*", "$tag$"])
def test_an_open_quote_is_refused_where_it_opens(open_):
    with pytest.raises(Refused, match="never closed") as caught:
        read(f"SELECT a\nFROM {open_} t;")
    assert (caught.value.line, caught.value.column) == (2, 6)


def test_size_and_nesting_have_limits():
    with pytest.raises(Refused, match="longer than"):
        read("SELECT 1 --" + "x" * 1_000_000)
    with pytest.raises(Refused, match="nest deeper"):
        read("FROM " + "(" * 201)
    with pytest.raises(Refused, match="NUL"):
        read("SELECT '\x00'")
    with pytest.raises(Refused, match="surrogate"):
        read("SELECT '\ud800'")


REPEATED = [
    "FROM ",
    "a JOIN ",
    "[",
    "NOT ",
    "- ",
    "CASE WHEN ",
    "INTERVAL ",
    "a -> ",
    "(",
    "{",
    "UNION SELECT ",
    "SELECT ",
    "abs(",
    "a[1]",
    "a::",
    "EXPLAIN ",
    "DESCRIBE ",
]


def test_long_repetitions_break_no_stack():
    """Run apart: an overflow of the C stack in sqlglot's compiled build would end the process."""
    body = f"""
from sqlpriv.dialect import read
from sqlpriv.errors import Error
for part in {REPEATED!r}:
    for head in ("SELECT ", "FROM t JOIN ", ""):
        for times in (190, 490, 1000):
            try:
                read(head + part * times)
            except Error:
                pass
"""
    done = subprocess.run([sys.executable, "-c", body], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-500:]


def test_nothing_of_sqlglot_is_printed(capfd, caplog):
    for text in [*QUERIES, "SELECT a b c FROM t", "DESCRIBE x y z", "SELECT * FROM t FOR SYSTEM"]:
        read(text)
    assert capfd.readouterr() == ("", "")
    assert not caplog.records


def test_a_caller_deep_in_its_own_stack_gets_a_refusal():
    text = "SELECT " + "abs(" * 25 + "1" + ")" * 25 + " FROM t"

    def dive(levels):
        return dive(levels - 1) if levels else read(text)

    def outcome():
        try:
            return dive(sys.getrecursionlimit() - 450)
        except Refused as refusal:
            return refusal.message

    # sqlglot's compiled build takes no frames of Python's stack: there it can be read
    assert outcome() in ("the text nests too deeply to be read here", read(text))
