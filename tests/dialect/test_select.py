"""SELECT: the clauses, where STRATIFY BY may stand, and where it may not."""

import pytest

from sqlpriv.dialect import read
from sqlpriv.errors import Refused
from sqlpriv.statements.commands import CreateSynthetic, Explain, Plain
from sqlpriv.statements.tree import Binary, FunctionCall, Literal, Name, Order, Select, Stratify


def one(text, parameters=None):
    (statement,) = read(text, parameters)
    return statement


def names(*columns):
    return tuple(Name(column) for column in columns)


def test_every_clause_lands_in_its_field():
    text = """
        SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5, Method = laplace)
            sex, COUNT(*) AS n, AVG(income) mean
        FROM main.people AS p WHERE age >= 18 GROUP BY region, age // 10
        STRATIFY BY sex, "Race" WEIGHTS FROM shares
        HAVING n > 10 ORDER BY n DESC NULLS FIRST, sex LIMIT 5 OFFSET 2 ;"""
    found = one(text)
    assert [item.alias for item in found.items] == ["", "n", "mean"]
    assert found == Select(
        items=found.items,
        table="people",
        alias="p",
        where=Binary(">=", Name("age"), Literal(18)),
        group_by=(Name("region"), Binary("//", Name("age"), Literal(10))),
        stratify=Stratify(names("sex", "Race"), "shares"),
        having=Binary(">", Name("n"), Literal(10)),
        order_by=(Order(Name("n"), True, True), Order(Name("sex"))),
        limit=Literal(5),
        offset=Literal(2),
        private=True,
        options=(("epsilon", 0.5), ("method", "laplace")),
    )
    assert found.text == text.strip().removesuffix(";").rstrip()
    assert (found.pos.line, found.stratify.pos.line, found.stratify.pos.column) == (2, 5, 9)


@pytest.mark.parametrize(
    ("source", "table", "alias"),
    [
        ("t STRATIFY BY c", "t", ""),
        ("t AS p STRATIFY BY c", "t", "p"),
        ("t p STRATIFY BY c", "t", "p"),
        ("t\nstratify\n  by c", "t", ""),
        ("t Stratify /* here */ By c", "t", ""),
        ("t stratify STRATIFY BY c", "t", "stratify"),
        ("t AS stratify STRATIFY BY c", "t", "stratify"),
        ('t "stratify" STRATIFY BY c', "t", "stratify"),
        ("stratify STRATIFY BY c", "stratify", ""),
        ('"STRATIFY BY x" STRATIFY BY c', "STRATIFY BY x", ""),
        ("t WHERE stratify STRATIFY BY c", "t", ""),
        ("t WHERE a = 'STRATIFY BY z' STRATIFY BY c", "t", ""),
        ("t -- STRATIFY BY z\nSTRATIFY BY c", "t", ""),
        ("t WHERE a = $$ STRATIFY BY z $$ STRATIFY BY c", "t", ""),
        ("t GROUP BY stratify STRATIFY BY c", "t", ""),
        ("t GROUP BY ALL STRATIFY BY c", "t", ""),
    ],
)
def test_the_clause_is_found_whatever_stands_around_it(source, table, alias):
    found = one(f"SELECT COUNT(*) FROM {source}")
    assert (found.table, found.alias) == (table, alias)
    assert found.stratify == Stratify(names("c"))
    assert found.private


@pytest.mark.parametrize(
    "text",
    [
        "SELECT stratify FROM t",
        "SELECT stratify, by_ FROM t ORDER BY stratify",
        "SELECT count(*) stratify FROM t stratify",
        "SELECT 'STRATIFY BY a' FROM t",
        'SELECT "stratify" FROM t AS "stratify by" WHERE stratify = 1',
        "SELECT stratify.a FROM t stratify GROUP BY stratify.a HAVING stratify > 1",
        "SELECT a /* STRATIFY BY a */ FROM t -- STRATIFY BY a",
    ],
)
def test_stratify_is_a_name_like_any_other_unless_by_follows(text):
    found = one(text)
    assert isinstance(found, Select)
    assert found.stratify is None
    assert not found.private


def test_stratify_may_itself_be_a_stratum():
    found = one("SELECT stratify stratify FROM t stratify STRATIFY BY stratify, weights")
    assert found.stratify == Stratify(names("stratify", "weights"))


def test_with_differential_privacy_needs_no_options():
    found = one("select with differential_privacy options from t")
    assert (found.private, found.options, found.items[0].expr) == (True, (), Name("options"))


@pytest.mark.parametrize(
    ("text", "line", "column", "words"),
    [
        ("SELECT COUNT(*) FROM t\nHAVING a STRATIFY BY c", 2, 10, "before HAVING"),
        ("SELECT COUNT(*) FROM t ORDER BY a STRATIFY BY c", 1, 35, "before HAVING"),
        ("SELECT COUNT(*) FROM t LIMIT 1 STRATIFY BY c", 1, 32, "before HAVING"),
        ("SELECT COUNT(*) FROM t STRATIFY BY c WHERE a", 1, 38, "WHERE comes before"),
        ("SELECT COUNT(*) FROM t STRATIFY BY c GROUP BY a", 1, 38, "GROUP BY comes before"),
        ("SELECT COUNT(*) FROM t STRATIFY BY c STRATIFY BY d", 1, 38, "twice"),
        ("SELECT COUNT(*) STRATIFY BY c FROM t", 1, 17, "wrong place"),
        ("SELECT 1 FROM (SELECT a FROM t STRATIFY BY c)", 1, 32, "inside parentheses"),
        ("WITH x AS (SELECT a FROM t\nSTRATIFY BY c) SELECT 1 FROM x", 2, 1, "inside parentheses"),
        ("(SELECT COUNT(*) FROM t STRATIFY BY c)", 1, 25, "inside parentheses"),
        ("SELECT a FROM t UNION SELECT a FROM t STRATIFY BY c", 1, 17, "set operations"),
        ("SELECT * FROM t STRATIFY BY c", 1, 8, "every column"),
        ("SELECT DISTINCT a FROM t STRATIFY BY c", 1, 8, "DISTINCT"),
        ("SELECT COUNT(*) FROM t JOIN u STRATIFY BY c", 1, 31, "expected ON or USING"),
        ("SELECT 1 FROM t WHERE a IN (SELECT b FROM u STRATIFY BY c)", 1, 45, "inside paren"),
        ("SELECT COUNT(*) FROM t STRATIFY BY", 1, 35, "expected an expression"),
        ("SELECT COUNT(*) FROM t STRATIFY BY c WEIGHTS shares", 1, 38, "expected WHERE"),
        ("WITH DIFFERENTIAL_PRIVACY SELECT COUNT(*) FROM t", 1, 1, "wrong place"),
        ("SELECT COUNT(*) FROM t WITH DIFFERENTIAL_PRIVACY", 1, 24, "wrong place"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon) COUNT(*) FROM t", 1, 50, "expected ="),
        ("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (a=1, a=2) 1 FROM t", 1, 48, "twice"),
        ("FROM t SELECT a STRATIFY BY c", 1, 1, "begins with FROM"),
        ("CREATE TABLE x AS SELECT a FROM t STRATIFY BY a", 1, 1, "part of CREATE"),
        ("EXPLAIN SELECT a FROM t STRATIFY BY a", 1, 1, "part of EXPLAIN"),
    ],
)
def test_a_private_statement_that_cannot_be_answered_is_refused_at_once(text, line, column, words):
    with pytest.raises(Refused, match=words) as caught:
        read(text)
    assert (caught.value.line, caught.value.column) == (line, column)


def test_a_common_table_named_like_our_clause_is_no_clause():
    found = one("WITH differential_privacy AS (SELECT 1) FROM differential_privacy")
    assert isinstance(found.statement, Plain)


def test_lines_are_counted_through_the_whole_text():
    with pytest.raises(Refused) as caught:
        read("SELECT 1;\n\nSELECT COUNT(*) FROM t\n  LIMIT 1 STRATIFY BY a")
    assert (caught.value.line, caught.value.column) == (4, 11)


# --- CREATE SYNTHETIC TABLE ----------------------------------------------------------------------


def test_a_synthetic_table_is_read():
    text = (
        "CREATE OR REPLACE SYNTHETIC TABLE s AS SELECT sex, income FROM people WHERE age > 17 "
        "STRATIFY BY sex USING MST OPTIONS (epsilon = 1, rows = 100)"
    )
    found = one(text)
    assert found == CreateSynthetic("s", found.select, "mst", (("epsilon", 1), ("rows", 100)), True)
    assert [item.expr for item in found.select.items] == [*names("sex", "income")]
    assert found.select.stratify == Stratify(names("sex"))
    assert found.select.text == text[text.index("SELECT") : text.index(" USING")]
    assert found.text == text
    assert one("CREATE SYNTHETIC TABLE s AS SELECT a FROM t USING independent").options == ()


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("SELECT a FROM t", "expected USING"),
        ("SELECT a FROM t GROUP BY a USING mst", "no GROUP BY"),
        ("SELECT a FROM t LIMIT 3 USING mst", "no GROUP BY"),
        ("SELECT WITH DIFFERENTIAL_PRIVACY a FROM t USING mst", "price"),
        ("SELECT a FROM t USING mst OPTIONS (rows = 1) LIMIT 2", "expected the end"),
    ],
)
def test_what_a_synthetic_table_cannot_have_is_refused(rest, words):
    with pytest.raises(Refused, match=words):
        read(f"CREATE SYNTHETIC TABLE s AS {rest}")


# --- EXPLAIN PRIVACY -----------------------------------------------------------------------------


def test_explain_privacy_wraps_what_it_explains():
    inner = "SELECT COUNT(*) FROM t STRATIFY BY a"
    found = one(f"EXPLAIN PRIVACY {inner}")
    assert found == Explain(one(inner))
    assert found.statement.text == inner
    synthetic = "CREATE SYNTHETIC TABLE s AS SELECT a FROM t USING mst"
    assert one(f"explain privacy {synthetic}") == Explain(one(synthetic))
    plain = one("EXPLAIN PRIVACY SELECT * FROM t").statement.statement
    assert isinstance(plain, Plain)
    assert (plain.text, plain.tables) == ("SELECT * FROM t", ("t",))


@pytest.mark.parametrize("rest", ["", "DROP TABLE t", "CREATE TABLE x (a INT)", "EXPLAIN PRIVACY"])
def test_explain_privacy_of_anything_else_is_refused(rest):
    with pytest.raises(Refused, match="cannot explain"):
        read(f"EXPLAIN PRIVACY {rest}")


def test_a_select_over_released_tables_is_readable_too():
    found = one("SELECT sex, avg(income) FROM s GROUP BY sex")
    assert found.items[1].expr == FunctionCall("avg", (Name("income"),))
    assert not found.private
