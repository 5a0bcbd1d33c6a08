"""Pipes: each operator works on the rows that the one before it gives."""

import pytest
from dialect.test_dialects import comparable, one

from sqlpriv.errors import Refused

SAME = [
    ("FROM t |> WHERE a > 1 |> AGGREGATE COUNT(*) AS n", "SELECT COUNT(*) AS n FROM t WHERE a > 1"),
    (
        "FROM t |> WHERE a = 1 OR a = 2 |> WHERE b |> AGGREGATE COUNT(*) GROUP BY c",
        "SELECT c, COUNT(*) FROM t WHERE (a = 1 OR a = 2) AND (b) GROUP BY c",
    ),
    (  # sqlglot's own transformation filters by the column of the table
        "SELECT a + 1 AS a FROM t |> WHERE a > 1 |> AGGREGATE COUNT(*) AS n",
        "SELECT COUNT(*) AS n FROM (SELECT a + 1 AS a FROM t) AS piped WHERE a > 1",
    ),
    (  # … and counts all rows of the table
        "FROM t |> SELECT a |> DISTINCT |> AGGREGATE COUNT(*) AS n",
        "SELECT COUNT(*) AS n FROM (SELECT DISTINCT a FROM t) AS t",
    ),
    (
        "FROM t |> EXTEND (a + 1) AS b, a AS c |> AGGREGATE SUM(b), AVG(c) AS m",
        "SELECT SUM(b), AVG(c) AS m FROM (SELECT *, (a + 1) AS b, a AS c FROM t) AS t",
    ),
    (
        "FROM t AS x |> SET a = x.a + 1, b = 2 |> AGGREGATE SUM(a + b)",
        "SELECT SUM(a + b) FROM (SELECT * REPLACE ((x.a + 1) AS a, (2) AS b) FROM t AS x) AS x",
    ),
    (
        "FROM t |> DROP a, b |> AGGREGATE COUNT(*)",
        "SELECT COUNT(*) FROM (SELECT * EXCLUDE (a, b) FROM t) AS t",
    ),
    (
        "FROM t |> RENAME a AS b |> AGGREGATE SUM(b)",
        "SELECT SUM(b) FROM (SELECT * RENAME (a AS b) FROM t) AS t",
    ),
    (
        "FROM t |> AGGREGATE COUNT(*) AS n DESC, SUM(a) AS s GROUP BY a + 1 AS b, c",
        "SELECT a + 1 AS b, c, COUNT(*) AS n, SUM(a) AS s FROM t GROUP BY a + 1, c ORDER BY n DESC",
    ),
    (
        "FROM t |> AGGREGATE COUNT(*) AS n GROUP AND ORDER BY a DESC, b",
        "SELECT a, b, COUNT(*) AS n FROM t GROUP BY a, b ORDER BY a DESC, b",
    ),
    (
        "FROM t |> AGGREGATE COUNT(*) AS n GROUP BY a |> ORDER BY n DESC |> LIMIT 2",
        "SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY n DESC LIMIT 2",
    ),
    (
        "FROM t |> AS u |> LEFT JOIN v ON u.a = v.a |> AGGREGATE COUNT(*)",
        "SELECT COUNT(*) FROM (SELECT * FROM t) AS u LEFT JOIN v ON u.a = v.a",
    ),
    (
        "FROM t |> WHERE a |> JOIN v USING (b) |> AGGREGATE COUNT(*)",
        "SELECT COUNT(*) FROM (SELECT * FROM t WHERE (a)) AS t JOIN v USING (b)",
    ),
    (
        "WITH w AS (FROM t |> WHERE a) FROM w |> AGGREGATE COUNT(*)",
        "WITH w AS (SELECT * FROM t WHERE (a)) SELECT COUNT(*) FROM w",
    ),
    (
        "SELECT COUNT(*) FROM (FROM t |> WHERE a) AS u WHERE b IN (FROM v |> SELECT b)",
        "SELECT COUNT(*) FROM (SELECT * FROM t WHERE (a)) AS u WHERE b IN (SELECT b FROM v)",
    ),
    (
        "FROM t |> AGGREGATE WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2) COUNT(*) n GROUP BY a",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 2) a, COUNT(*) n FROM t GROUP BY a",
    ),
]


@pytest.mark.parametrize(("piped", "nested"), SAME)
@pytest.mark.parametrize("dialect", ["bigquery", "spark"])
def test_pipes_are_nested_selects(piped, nested, dialect):
    written = nested.replace("EXCLUDE", "EXCEPT") if dialect == "bigquery" else nested
    assert comparable(one(piped, dialect)) == comparable(one(written, dialect))


REFUSED = [
    ("bigquery", "FROM t |> PIVOT (COUNT(*) FOR a IN (1))", "operator PIVOT is not read", 11),
    ("bigquery", "FROM t |> AGGREGATE COUNT(*) GROUP BY ROLLUP (a)", "expressions alone", 39),
    ("bigquery", "FROM t |> AGGREGATE COUNT(*) GROUP BY 1", "expressions alone", 39),
    ("bigquery", "FROM t |> SET a |> AGGREGATE COUNT(*)", "SET gives columns values", 15),
    ("bigquery", "FROM t |> SET |> AGGREGATE COUNT(*)", "SET gives columns values", 11),
    ("bigquery", "FROM t |> AGGREGATE COUNT(*) GROUP BY ASC", "stand behind an item", 11),
    ("bigquery", "FROM t |> AGGREGATE ASC GROUP BY a", "stand behind an item", 11),
    ("bigquery", "FROM t |> AS |> AGGREGATE COUNT(*)", "AS gives the rows one name", 11),
    ("bigquery", "FROM t |> |> AGGREGATE COUNT(*)", "leads nowhere", None),
    ("bigquery", "VALUES (1) |> AGGREGATE COUNT(*)", "begins with FROM or SELECT", 12),
    ("duckdb", "FROM t |> AGGREGATE COUNT(*)", "duckdb has no pipes", 8),
    ("postgres", "FROM t |> AGGREGATE COUNT(*)", "postgres has no pipes", 8),
]


@pytest.mark.parametrize(("dialect", "text", "words", "column"), REFUSED)
def test_what_is_no_pipe_is_refused_where_it_stands(dialect, text, words, column):
    with pytest.raises(Refused) as caught:
        raise one(text, dialect).refusal  # DuckDB itself would be given such a text, and refuse it
    refusal = caught.value
    assert words in str(refusal)
    assert column is None or f"column {column}:" in str(refusal)
