"""Other dialects: the same statement lowers to the same tree, and what would be misread is refused.

`same_trees.sql` holds statements in several dialects; DuckDB's spelling stands first.
"""

import dataclasses
import re
from dataclasses import fields
from pathlib import Path

import pytest

from sqlpriv.dialect import DIALECTS, read, split
from sqlpriv.dialect.foreign.function_names import BY_DIALECT
from sqlpriv.errors import Refused
from sqlpriv.statements.tree import Item, Literal, Order

TEXT = (Path(__file__).parent / "same_trees.sql").read_text("utf-8")


def spellings():
    for block in TEXT.strip().split("\n\n"):
        title, *rest = block.split("\n")
        pairs = dict(re.findall(r"^-- (\w+)\n(.+)$", "\n".join(rest), re.MULTILINE))
        for name in [name for name in pairs if name != "duckdb"]:
            yield pytest.param(pairs["duckdb"], name, pairs[name], id=f"{title[3:]} [{name}]")


def one(text, name="duckdb", parameters=None):
    (statement,) = read(text, parameters, name)
    return statement


def comparable(node):
    """Returns a tree without the texts of its outputs, and NULLS LAST written as what it is."""
    if isinstance(node, tuple):
        return tuple(map(comparable, node))
    if not dataclasses.is_dataclass(node):
        return node
    parts = {field.name: comparable(getattr(node, field.name)) for field in fields(node)}
    if isinstance(node, Item):
        parts["text"] = ""
    if isinstance(node, Order):
        parts["nulls_first"] = bool(node.nulls_first)
    return type(node)(**parts)


@pytest.mark.parametrize(("plain", "name", "text"), list(spellings()))
def test_a_statement_lowers_to_the_tree_of_its_duckdb_spelling(plain, name, text):
    assert comparable(one(text, name)) == comparable(one(plain))


def test_ten_statements_stand_in_four_dialects_at_least():
    blocks = TEXT.strip().split("\n\n")
    many = [block for block in blocks if len(re.findall(r"^-- \w+$", block, re.MULTILINE)) >= 5]
    assert len(many) >= 10


REFUSED = [
    ("postgres", "SELECT COUNT(*) FROM t WHERE n ~ '(?=a)'", "match alike", (1, 34)),
    ("postgres", "SELECT COUNT(*) FROM t WHERE n ~ '\\d'", "match alike", (1, 34)),
    ("postgres", "SELECT COUNT(*) FROM t WHERE n ~ '[[:alpha:]]'", "match alike", (1, 34)),
    ("postgres", "SELECT COUNT(*) FROM t WHERE n ~ '***=a'", "match alike", (1, 34)),
    ("postgres", "SELECT COUNT(*) FROM t WHERE n SIMILAR TO m", "match alike", (1, 43)),
    ("bigquery", "SELECT COUNT(*) FROM `p.a.t` JOIN `p.b.t` USING (id)", "two schemas", None),
    ("mysql", "SELECT COUNT(*) FROM t WHERE n REGEXP '(?=a)'", "match alike", (1, 39)),
    ("tsql", "SELECT AVG(COUNT(a)) FROM t", "AVG of whole numbers", (1, 8)),
    ("redshift", "SELECT CAST(a AS INTEGER) FROM t", "another way", (1, 13)),
    ("tsql", "SELECT CAST(a AS DECIMAL) FROM t", "other digits", None),
    ("postgres", "SELECT a::char(3) FROM t", "cuts texts off", None),
    ("bigquery", "SELECT CAST(AVG(a) AS STRING) FROM t", "texts in different ways", (1, 13)),
    ("postgres", "SELECT COUNT(*) FROM t WHERE a = ANY('{1,x}'::int[])", "as a list", (1, 38)),
    ("postgres", "SELECT COUNT(*) FROM t WHERE a = ANY('{a,NULL}'::text[])", "as a list", (1, 38)),
    ("mysql", "SELECT TIMESTAMPDIFF(QUARTER, a, b) FROM t", "timestampdiff with", (1, 8)),
    ("tsql", "SELECT CONVERT(varchar(19), d, 120) FROM t", "convert with", (1, 8)),
    ("mysql", "SELECT LEFT(a, -1) FROM t", "left with", (1, 8)),
    ("postgres", "SELECT COUNT(*) FROM t WHERE n LIKE 'a\\%'", "backslash", (1, 37)),
    ("tsql", "SELECT COUNT(*) FROM t WHERE n LIKE '[a-]%'", "brackets like these", (1, 37)),
    ("tsql", "SELECT COUNT(*) FROM t WHERE n LIKE '[a]!%' ESCAPE '!'", "brackets", (1, 37)),
    ("postgres", "SELECT COUNT(*) FROM t WHERE (a, b) > (1, 2, 3)", "as many values", (1, 31)),
    (
        "postgres",
        "SELECT COUNT(*) FROM t WHERE (a, b) BETWEEN (1, 2) AND (3, 4)",
        "row beside",
        None,
    ),
    ("mysql", "SELECT COUNT(*) FROM t WHERE a XOR b", "XOR", (1, 30)),
    ("mysql", "SELECT COUNT(*) FROM t /*! WHERE a */", "a comment that is run", None),
    ("mysql", "SELECT WEEK(d, 5) FROM t", "week with these arguments", (1, 8)),
    ("snowflake", "SELECT LISTAGG(a) FROM t", "listagg with", (1, 8)),
    ("snowflake", "SELECT COUNT(*) FROM t WHERE a NOT LIKE ANY ('a', 'b')", "two ways", (1, 30)),
    ("spark", "SELECT SUBSTRING_INDEX(a, 'b', 2) FROM t", "substring_index with", (1, 8)),
    ("tsql", "SELECT DATETRUNC(week, d) FROM t", "datetrunc", (1, 8)),
    ("postgres", "SELECT EXTRACT(second FROM d) FROM t", "EXTRACT of second", None),
    ("postgres", "SELECT round(x) FROM t", "round of a half is another number", (1, 8)),
    ("snowflake", "SELECT a:b FROM t", "JSONPATH", (1, 8)),
    ("snowflake", "SELECT * FROM t SAMPLE (10)", "SAMPLE", None),
    ("spark", "SELECT a FROM t LATERAL VIEW EXPLODE(b) AS c", "the function explode", None),
    ("tsql", "SELECT TOP 10 PERCENT a FROM t", "", None),
    ("tsql", "SELECT '1' + b FROM t", "a text beside +", (1, 8)),
    ("tsql", "SELECT a FROM t WITH (HOLDLOCK)", "this hint", None),
    ("bigquery", "SELECT DATE_TRUNC(d, WEEK(SUNDAY)) FROM t", "date_trunc", (1, 8)),
    ("postgres", "SELECT COUNT(*) FROM t WHERE a = b = c", "group these operators", None),
    ("postgres", "SELECT -a ^ 2 FROM t", "group", None),
    ("postgres", "SELECT a || b + 1 FROM t", "group", None),
    ("postgres", "SELECT generate_series(1, 3)", "the function generate_series", (1, 8)),
    ("postgres", "SELECT COUNT(*) FROM other.t, read_csv('x')", "the function read_csv", None),
    ("bigquery", "SELECT APPROX_TOP_COUNT(x, 0) FROM t", "approx_top_count with these", (1, 8)),
    ("bigquery", "SELECT APPROX_TOP_COUNT(x, 1.5) FROM t", "approx_top_count with these", (1, 8)),
    ("bigquery", "SELECT APPROX_TOP_COUNT(DISTINCT x, 2) FROM t", "with these arguments", (1, 8)),
    ("trino", "SELECT APPROX_TOP_COUNT(x, 2) FROM t", "the function approx_top_count", (1, 8)),
    ("snowflake", "SELECT CONDITIONAL_TRUE_EVENT(x > 1) FROM t", "stands before OVER", (1, 8)),
    ("snowflake", "SELECT RATIO_TO_REPORT(COUNT(*)) FROM t", "stands before OVER", (1, 8)),
    ("bigquery", "SELECT COUNT(*) FROM t WHERE LOG(x, 3) > 1", "log with these arguments", None),
    ("postgres", "INSERT INTO t VALUES (1)", "INSERT is an owner's to run", (1, 1)),
    ("mysql", "CREATE TABLE t (a INT)", "CREATE is an owner's to run", (1, 1)),
    ("postgres", "SELECT 'open", "never closed", (1, 8)),
    ("redshift", "SELECT DATEDIFF(week, a, b) FROM t", "datediff with", (1, 8)),
    ("redshift", "SELECT AVG(COUNT(a)) FROM t", "a whole number in tsql and redshift", (1, 8)),
    ("redshift", "SELECT CAST(a AS INT) FROM t", "redshift makes a whole number", (1, 13)),
    ("redshift", "SELECT trunc(a) FROM t", "as in redshift", (1, 8)),
    ("redshift", "SELECT CAST(a AS DECIMAL) FROM t", "other digits in redshift", None),
    ("databricks", "SELECT datediff(QUARTER, a, b) FROM t", "datediff with", (1, 8)),
    ("trino", "SELECT date_diff('month', a, b) FROM t", "date_diff with", (1, 8)),
    ("presto", "SELECT CAST(a AS timestamp(3)) FROM t WHERE initcap(b) = 'A'", "initcap", None),
    ("oracle", "SELECT COUNT(*) FROM t WHERE a = ''", "empty text is NULL", (1, 34)),
    ("oracle", "SELECT CAST(a AS DATE) FROM t", "time of day in oracle", None),
    ("oracle", "SELECT TRUNC(a, 'D') FROM t", "trunc with", (1, 8)),
    ("oracle", "SELECT ADD_MONTHS(a, 1) FROM t", "add_months", (1, 8)),
    ("sqlite", "SELECT CAST(a AS DECIMAL(8, 2)) FROM t", "other digits", None),
    ("sqlite", "SELECT COUNT(*) FROM t WHERE a GLOB 'b*'", "GLOB", None),
    ("tsql", "SELECT DATEADD(week, DATEDIFF(week, 0, a) - 2, 0) FROM t", "dateadd with", (1, 8)),
    (
        "tsql",
        "SELECT DATEADD(month, DATEDIFF(month, DATEADD(day, 0, b), a), 0) FROM t",
        "dateadd with",
        (1, 8),
    ),
    ("tsql", "SELECT DATEADD(week, DATETRUNC(month, 0), 0) FROM t", "dateadd with", (1, 8)),
    ("postgres", "SELECT DATE_TRUNC('units', a) FROM t", "date_trunc with", (1, 8)),
    ("bigquery", "SELECT DATE_TRUNC(a, BARE_WEEK) FROM t", "date_trunc with", (1, 8)),
    ("redshift", "SELECT TIME_BUCKET('15 minutes', a) FROM t", "function time_bucket", (1, 8)),
    ("postgres", "SELECT to_date('2024 2024', 'YYYY YYYY') FROM t", "to_date with", (1, 8)),
    ("trino", "SELECT CAST(floor(a / 10) AS varchar) FROM t", "write numbers", (1, 13)),
    ("sqlite", "SELECT (floor(a) + 1) || 's' FROM t", "write numbers", (1, 9)),
    ("mysql", "SELECT CONCAT(ROUND(AVG(a), 1), '%') FROM t", "write numbers", (1, 15)),
    ("postgres", "SELECT AVG(a) || ' years' FROM t", "write numbers", (1, 8)),
    ("bigquery", "SELECT FORMAT('%.2f', a) FROM t", "format with", (1, 8)),
]


@pytest.mark.parametrize(("name", "text", "message", "place"), REFUSED)
def test_what_may_mean_something_else_is_refused_where_it_stands(name, text, message, place):
    with pytest.raises(Refused) as caught:
        read(text, None, name)
    assert message in caught.value.message
    assert caught.value.line >= 1
    if place:
        assert (caught.value.line, caught.value.column) == place


@pytest.mark.parametrize("name", sorted(BY_DIALECT))
def test_a_function_that_no_table_names_is_refused(name):
    with pytest.raises(Refused, match="the function learnt_tomorrow"):
        read("SELECT learnt_tomorrow(a) FROM t", None, name)


def test_quotes_mean_a_name_or_a_text_by_dialect():
    assert one('SELECT COUNT(*) FROM t WHERE a = "b"', "mysql").where.right == Literal("b")
    assert one('SELECT COUNT(*) FROM t WHERE a = "b"', "postgres").where.right.name == "b"
    assert one("SELECT COUNT(*) FROM t WHERE a = [b c]", "tsql").where.right.name == "b c"


def test_or_of_mysql_is_no_concatenation():
    assert one("SELECT COUNT(*) FROM t WHERE a || b", "mysql").where.op == "or"
    assert one("SELECT COUNT(*) FROM t WHERE (a || b) = c", "postgres").where.left.op == "||"


def test_nulls_come_where_the_dialect_puts_them():
    text = "SELECT a, COUNT(*) AS n FROM t GROUP BY a ORDER BY a, n DESC"
    first = {"mysql": (True, None), "bigquery": (True, None), "postgres": (None, True)}
    for name, expected in first.items():
        order = one(text, name).order_by
        assert tuple(term.nulls_first for term in order) == expected, name


def test_parameters_keep_their_values():
    where = one("SELECT COUNT(*) FROM t WHERE a = ? AND b = ?", "mysql", [1, 2]).where
    assert (where.left.right.value, where.right.right.value) == (1, 2)
    where = one("SELECT COUNT(*) FROM t WHERE a = @x", "bigquery", {"x": 3}).where
    assert where.right.value == 3
    texts = "SET privacy_dialect = mysql; SELECT COUNT(*) FROM t WHERE `a` = ?; "
    later = texts + "SET privacy_dialect = 'duckdb'; SELECT COUNT(*) FROM t WHERE a = ?"
    statements = read(later, ["x", "y"])
    assert [s.where.right.value for s in statements if hasattr(s, "where")] == ["x", "y"]


def test_a_setting_changes_how_the_statements_behind_it_are_split_and_read():
    text = "SELECT 'a'; SET privacy_dialect = 'mysql'; SELECT 'it\\'s; one'; SELECT `b` FROM t"
    assert split(text)[:2] == ("SELECT 'a'", "SET privacy_dialect = 'mysql'")
    assert split(text)[2:] == ("SELECT 'it\\'s; one'", "SELECT `b` FROM t")
    assert [statement.text for statement in read(text)[2:]] == [
        "SELECT 'it''s; one'",
        'SELECT "b" FROM t',
    ]


def test_duckdb_is_left_as_it_is():
    text = "SELECT [1, 2], a::VARCHAR FROM t -- and so on"
    assert one(text).text == "SELECT [1, 2], a::VARCHAR FROM t"
    assert DIALECTS[0] == "duckdb"


def test_what_duckdb_is_to_run_is_written_in_its_own_sql():
    text = "SELECT IF(`a b` > ?, 1, 0) FROM t LIMIT 5, 10"
    plain = one(text, "mysql", [7])
    assert plain.text == 'SELECT CASE WHEN "a b" > $1 THEN 1 ELSE 0 END FROM t LIMIT 10 OFFSET 5'
    assert plain.parameters == {"1": 7}


def test_a_tree_has_its_places_in_the_users_own_text():
    text = "SELECT COUNT(*),\n  IF(`a` > 1, 1, 0) AS `b`,\n  SUM(`learnt`)\nFROM `t`"
    (argument,) = one(text, "mysql").items[2].expr.args
    assert (argument.pos.line, argument.pos.column) == (3, 7)


def test_a_query_of_with_may_name_its_columns():
    text = "WITH w (a) AS (SELECT b FROM t) SELECT COUNT(a) AS n FROM w"
    assert comparable(one(text, "postgres")) == comparable(one(text))
