"""A tree is written as DuckDB's SQL: functions as the user named them, and no mark is left."""

import pytest
from sqlglot import exp

from sqlpriv.dialect import read_parts
from sqlpriv.dialect.common_tables import common_table
from sqlpriv.dialect.marks import MARK, duckdb_text


def tree(text, parameters=None, dialect="duckdb"):
    (statement,) = read_parts(text, parameters, dialect)
    return statement.origin.tree


@pytest.mark.parametrize(
    "text",
    [
        "SELECT LIST(n ORDER BY n), ANY_VALUE(n), ARG_MAX(a, n) FROM t",
        "SELECT LAG(n IGNORE NULLS) OVER (ORDER BY n) FROM t",
        "SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n DESC) FROM t",
        "SELECT COUNT(DISTINCT a), COUNT(*), MODE(a) FROM t GROUP BY GROUPING SETS((a), (b))",
        "SELECT NULL, TRUE, 'it''s', a IS NULL FROM t WHERE b = $1 AND c = $2",
        "WITH w(a) AS (SELECT 1) SELECT a FROM w",
    ],
)
def test_functions_stay_as_they_were_written(text):
    written = duckdb_text(tree(text, [1, 2] if "$" in text else None))
    assert written.replace(" ", "") == text.replace(" ", "")
    assert MARK not in written


def test_clauses_of_ours_are_left_out():
    text = (
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 1) a, COUNT(*) FROM t"
        " GROUP BY a STRATIFY BY b WEIGHTS FROM w HAVING a > ?"
    )
    assert duckdb_text(tree(text, [1])) == "SELECT a, COUNT(*) FROM t GROUP BY a HAVING a > $1"


@pytest.mark.parametrize(
    ("text", "meanings"),
    [
        ("WITH w (a) AS (SELECT b FROM t) SELECT a FROM w", {"t": None, "w": "w"}),
        ("WITH t AS (SELECT * FROM t) SELECT * FROM main.t", {"t": None}),
        ("WITH a AS (SELECT * FROM b), b AS (SELECT * FROM a) SELECT 1", {"b": None, "a": "a"}),
        (
            "WITH RECURSIVE w AS (SELECT * FROM t UNION ALL SELECT * FROM w) SELECT * FROM w",
            {"t": None, "w": "w"},
        ),
        ("WITH RECURSIVE w AS (SELECT * FROM w) SELECT 1", {"w": None}),
    ],
)
def test_a_name_means_the_query_of_with_that_is_in_scope(text, meanings):
    tables = tree(text).find_all(exp.Table)
    queries = [(x.name.partition(MARK)[0], common_table(x)) for x in tables]
    assert {name: cte and cte.alias.partition(MARK)[0] for name, cte in queries} == meanings
