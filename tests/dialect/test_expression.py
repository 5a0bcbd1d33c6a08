"""Expressions mean what DuckDB takes them to mean: the same text is evaluated both ways."""

import datetime as dt
import inspect
import math
import sys
from types import SimpleNamespace

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlpriv.dialect import read
from sqlpriv.dialect.constants import interval
from sqlpriv.errors import Refused
from sqlpriv.statements import default_name, sql
from sqlpriv.statements.tree import (
    Binary,
    CaseWhen,
    Cast,
    FunctionCall,
    InList,
    IsNull,
    Item,
    Literal,
    Name,
    Select,
    Unary,
)

CONNECTION = duckdb.connect()
CONNECTION.execute(
    "CREATE TABLE t AS SELECT 7 AS a, 3 AS b, NULL::INTEGER AS n, TRUE AS p, FALSE AS q, 'x' AS s"
)


def item(text):
    (statement,) = read(f"SELECT {text} FROM t")
    assert hasattr(statement, "items"), statement.why
    (found,) = statement.items
    return found


def expr(text):
    return item(text).expr


def refusal(text):
    (statement,) = read(f"SELECT {text} FROM t")
    return statement.why


def value(text):
    """DuckDB's value of the expression, or None and the error's type."""
    try:
        (row,) = CONNECTION.execute(f"SELECT ({text})::VARCHAR FROM t").fetchall()
    except duckdb.Error as error:
        return type(error).__name__
    return row[0]


# --- The tree ------------------------------------------------------------------------------------

A, B = Name("a"), Name("b")


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("a", A),
        ('"A b".c', Name("c", "A b")),
        ("count(*)", FunctionCall("count", star=True)),
        ("COUNT()", FunctionCall("count", star=True)),
        ("count_star()", FunctionCall("count", star=True)),
        ("COUNT(DISTINCT a)", FunctionCall("count", (A,), distinct=True)),
        (
            "sum(a) FILTER (WHERE b > 1)",
            FunctionCall("sum", (A,), filter=Binary(">", B, Literal(1))),
        ),
        ("AVG(a USING laplace)", FunctionCall("avg", (A,), using="laplace")),
        ("Grouping(a, b)", FunctionCall("grouping", (A, B))),
        ("STDDEV_SAMP(a)", FunctionCall("stddev_samp", (A,))),
        ("log10(a)", FunctionCall("log10", (A,))),
        ("datediff('day', a, b)", FunctionCall("datediff", (Literal("day"), A, B))),
        ("EXTRACT(YEAR FROM a)", FunctionCall("date_part", (Literal("year"), A))),
        ("year(a)", FunctionCall("year", (A,))),
        ("if(p, a, b)", FunctionCall("if", (Name("p"), A, B))),
        ("a // b", Binary("//", A, B)),
        ("a == b", Binary("=", A, B)),
        ("a != b", Binary("<>", A, B)),
        ("a ** b", FunctionCall("pow", (A, B))),
        ("a LIKE 'x%'", FunctionCall("like", (A, Literal("x%")))),
        ("a NOT ILIKE 'x%'", Unary("not", FunctionCall("ilike", (A, Literal("x%"))))),
        ("a IN (1, NULL)", InList(A, (Literal(1), Literal(None)))),
        ("a NOT IN (1)", InList(A, (Literal(1),), negated=True)),
        ("a ISNULL", IsNull(A)),
        ("a NOTNULL", IsNull(A, negated=True)),
        (
            "p IS NOT FALSE",
            Unary(
                "not",
                FunctionCall(
                    "coalesce", (Unary("not", Cast(Name("p"), "BOOLEAN")), Literal(False))
                ),
            ),
        ),
        ("CASE a WHEN 1 THEN b ELSE a END", CaseWhen(((Literal(1), B),), A, A)),
        ("TRY_CAST(a AS decimal(10,2))", Cast(A, "DECIMAL(10, 2)", try_=True)),
        ("a::int", Cast(A, "INTEGER")),
        ("a::double precision", Cast(A, "DOUBLE")),
    ],
)
def test_each_form_becomes_its_node(text, node):
    assert expr(text) == node


@pytest.mark.parametrize(
    ("text", "constant"),
    [
        ("9223372036854775808", 9223372036854775808),
        ("1_000", 1000),
        ("1.5", 1.5),
        ("-5", -5),
        ("- -5", 5),
        ("-(5)", -5),
        ("TRUE", True),
        ("NULL", None),
        ("'it''s'", "it's"),
        ("$$raw$$", "raw"),
        ("DATE '2020-1-2'", dt.date(2020, 1, 2)),
        ("CAST('2020-01-02' AS DATE)", dt.date(2020, 1, 2)),
        ("'2020-01-02'::date", dt.date(2020, 1, 2)),
        ("TIMESTAMP '2020-01-02 03:04:05.6'", dt.datetime(2020, 1, 2, 3, 4, 5, 600000)),
        ("CAST('2020-01-02' AS timestamp)", dt.datetime(2020, 1, 2)),
    ],
)
def test_constants_become_literals(text, constant):
    node = expr(text)
    assert node == Literal(constant)
    assert type(node.value) is type(constant)


def test_an_exponent_makes_a_double():
    """0.1 is a DECIMAL in DuckDB, 1e-1 a DOUBLE: what is made of them is rounded otherwise."""
    assert [expr(text) for text in ("1e5", "-1e-1")] == [
        Literal(1e5, exponent=True),
        Literal(-0.1, exponent=True),
    ]
    assert expr("0.1") != expr("1e-1")


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("DATE '2020-02-30'", 13, "not a DATE"),
        ("TIME '25:00'", 13, "is not a TIME"),
        ("TIMETZ '10:00'", 8, "literals of type TIMETZ"),
        ("0x1F", 8, "runs into"),
        ("a::ENUM('x')", 16, "expected a number"),
        ("1e999", 8, "too large"),
        ("a[b]", 9, "lists"),
        ("[1]", 8, "lists"),
        ("{'a': 1}", 8, "lists"),
        ("(a, b)", 10, "row of values"),
        ("(SELECT a)", 17, "expected FROM"),
        ("EXISTS (SELECT 1)", 24, "expected FROM"),
        ("DATE '2020-01-01' + INTERVAL 'x' DAY", 37, "interval"),
        ("DATE '9999-01-01' + INTERVAL 9000 YEAR", 37, "calendar"),
        ("a IN (SELECT b FROM t UNION SELECT c FROM t)", 36, "UNION"),
        ("sum(a) OVER ()", 15, "window"),
        ("sum(a) OVER w", 15, "window"),
        ("1 < 2 < 3", 14, "chained"),
        ("a -> b", 10, "lambdas"),
        ("sum(a ORDER BY b)", 14, "ORDER BY"),
        ("f(x := 1)", 12, "by name"),
        ("a COLLATE nocase", 10, "collations"),
        ("a AT TIME ZONE b", 8, "time zone"),
        ("t.*", 10, "raw columns"),
        ("COLUMNS(lambda c: c)", 23, "raw columns"),
        ("db.t.a", 8, "schemas"),
        ("~a", 8, "expected an expression"),
        ("@a", 8, "expected an expression"),
        ("any(a)", 8, "expected an expression"),
        ("a::int[]", 14, "lists"),
    ],
)
def test_what_cannot_be_answered_is_named_with_its_place(text, column, words):
    found = refusal(text)
    assert (found.line, found.column) == (1, column)
    assert words in found.message


# --- Against DuckDB ------------------------------------------------------------------------------


def join(parts):
    return " ".join(parts)


ATOMS = st.sampled_from(
    ["a", "b", "n", "2", "0", "-3", "1.5e0", "NULL", "p", "q", "TRUE", "s", "'x'"]
)
"""1.5 is printed as the double 1.5e0; beside NULL or text DuckDB gives a DECIMAL another type."""
OPERATORS = [
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "^",
    "**",
    "||",
    "=",
    "<>",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "AND",
    "OR",
]


def larger(inner):
    binary = st.tuples(inner, st.sampled_from(OPERATORS), inner).map(join)
    prefix = st.tuples(st.sampled_from(["NOT", "-", "+"]), inner).map(join)
    postfix = st.tuples(
        inner,
        st.sampled_from(
            [
                "IS NULL",
                "IS NOT NULL",
                "ISNULL",
                "NOT NULL",
                "::VARCHAR",
                "IS TRUE",
                "IS NOT FALSE",
                "IN (1, 7)",
                "NOT IN (2, NULL)",
            ]
        ),
    ).map(join)
    between = st.tuples(
        inner, st.sampled_from(["BETWEEN", "NOT BETWEEN"]), inner, st.just("AND"), inner
    ).map(join)
    like = st.tuples(inner, st.sampled_from(["LIKE", "NOT LIKE", "ILIKE"]), inner).map(join)
    case = st.tuples(inner, inner, inner).map(
        lambda x: "CASE WHEN {} THEN {} ELSE {} END".format(*x)
    )
    call = st.tuples(inner, inner).map(lambda x: "coalesce({}, {})".format(*x))
    return st.one_of(
        binary, binary, prefix, postfix, between, like, case, call, inner.map("({})".format)
    )


@settings(max_examples=200, deadline=None)
@given(st.recursive(ATOMS, larger, max_leaves=6))
def test_an_expression_reads_as_duckdb_reads_it(text):
    """Parsed and printed again with every operator in parentheses, it has the same value.

    The printed text leaves nothing to precedence; the twin below shows that the comparison
    notices a mistaken one.
    """
    theirs = value(text)
    statement = read(f"SELECT {text} FROM t")[0]
    if not hasattr(statement, "items"):
        # DuckDB also reads `a = NOT b` and `a IS NULL || b`; we want parentheses.
        message = statement.why.message
        assert "Exception" in str(theirs) or any(words in message for words in AMBIGUOUS), text
        return
    ours = value(sql(statement.items[0].expr))
    if "Exception" in str(theirs):
        return  # DuckDB has no value to compare with: wrong types, or an overflow.
    assert same(ours, theirs), (text, sql(statement.items[0].expr))


# the last one is of `NOT NULL * a`, where sqlglot takes the star for all columns
AMBIGUOUS = ("chained", "found ", "grouped in more than one way", "stands for every column")


def same(ours, theirs):
    """Truth counts as 1."""
    try:
        left, right = (float({"true": 1, "false": 0}.get(x, x)) for x in (ours, theirs))
        return math.isclose(left, right, rel_tol=1e-9) or (left != left and right != right)
    except (TypeError, ValueError):
        return ours == theirs


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("-2 ^ 2", "-(2 ^ 2)"),
        ("2 ^ 3 ^ 2", "2 ^ (3 ^ 2)"),
        ("7 // 2 * 2", "7 // (2 * 2)"),
        ("NOT q = p", "(NOT q) = q"),
        ("NULL = 1 IS NULL", "NULL = (1 IS NULL)"),
        ("TRUE OR TRUE AND FALSE", "(TRUE OR TRUE) AND FALSE"),
        ("1 + 2 || 'a'", "1 + length(2 || 'a')"),
    ],
)
def test_the_comparison_notices_a_mistaken_precedence(text, wrong):
    printed = sql(expr(text))
    assert same(value(printed), value(text))
    assert not same(value(wrong), value(text))


@pytest.mark.parametrize(
    "text",
    [
        "count(*)",
        "COUNT( * )",
        "Sum(A)",
        "sum(a) / count(*)",
        "a",
        "t.a",
        "- a",
        "(a + 1) * 2",
        "count(DISTINCT a)",
        "count(*) FILTER (a > 1)",
        "a = 1",
        "a != 1",
        "NOT p",
        "a IN (1, 2)",
        "a NOT IN (1)",
        "a BETWEEN 1 AND 2",
        "a IS NOT NULL",
        "1.5",
        "'x'",
        "TRUE",
        "CAST(a AS INT)",
        "DATE '2020-01-01'",
        "a // 2",
        "round(avg(a), 1)",
        "-5",
        "s || 'y'",
        "year(DATE '2020-01-01')",
        "sum(a + month(DATE '2020-01-01'))",
        "left(s, 1)",
        "first(a)",
        "nullif(a, 1)",
        "coalesce(a, 1)",
        "concat(s, ' year(x)')",
        "count(*) FILTER (WHERE year(DATE '2020-01-01') > 1)",
        'max(named_like."a year(x)")',
        "grouping(a)",
        "CAST(a AS DECIMAL(9,2))",
    ],
)
def test_an_output_without_an_alias_is_named_as_duckdb_names_it(text):
    named = """(SELECT 1 AS "a year(x)") AS named_like"""
    keys = "GROUP BY a" if "grouping" in text else ""
    theirs = CONNECTION.execute(f"SELECT {text} FROM t, {named} {keys}").description[0][0]
    assert default_name(item(text)).lower() == theirs.lower()


def test_a_title_of_deep_calls_is_as_deep_as_any():
    node = Name("a")
    for _ in range(200):
        node = FunctionCall("first", (node,))
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack()) + 650)
    try:
        title = default_name(Item(node))
    finally:
        sys.setrecursionlimit(limit)
    assert title == '"first"(' * 200 + "a" + ")" * 200


def test_a_title_has_columns_in_quotes_as_duckdb_has_them():
    columns = ("unit price", "from", "Plain", "value", "a.b")
    CONNECTION.execute(f"""CREATE OR REPLACE TEMP TABLE named AS
        SELECT {", ".join(f'1 AS "{name}"' for name in columns)}""")
    for name in columns:
        text = f'sum(named."{name}")'
        theirs = CONNECTION.execute(f"SELECT {text} FROM named").description[0][0]
        assert default_name(item(text)) == theirs


def test_the_alias_and_the_users_own_text_are_kept():
    assert item("sum( a ) /* of a */ + 1").text == "sum( a ) /* of a */ + 1 "
    found = item('sum( a ) /* of a */ + 1 AS "The Sum"')
    assert found.alias == "The Sum"
    assert default_name(found) == "The Sum"


# --- The printer ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "constant",
    [
        None,
        True,
        -5,
        2**100,
        0.1,
        -1e-300,
        'it\'s "q"',
        dt.date(2020, 1, 2),
        dt.datetime(2020, 1, 2, 3, 4, 5, 6),
    ],
)
def test_a_literal_is_printed_as_itself(constant):
    (row,) = CONNECTION.execute(f"SELECT {sql(Literal(constant))}").fetchall()
    assert row == (constant,)
    assert type(row[0]) is type(constant)


def test_rename_puts_text_in_the_place_of_a_node():
    node = expr("sum(a) / count(*) + a")
    given = {FunctionCall("sum", (A,)): '"m0"', FunctionCall("count", star=True): '"m1"'}
    assert sql(node, given.get) == '(("m0" / "m1") + "a")'


def test_names_are_quoted_however_odd():
    assert sql(Name('a"b', "select")) == '"select"."a""b"'
    assert sql(FunctionCall("odd name", (A,))) == '"odd name"("a")'


# --- Depth ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("opening", ["(", "- ", "NOT ", "abs(", "CASE WHEN ", "a + (", "1 IN ("])
def test_deep_nesting_is_refused_and_never_overflows_the_stack(opening):
    with pytest.raises(Refused, match="nest"):
        raise refusal(opening * 150 + "a")


@pytest.mark.parametrize(
    ("opening", "closing", "levels"),
    [
        ("(", ")", 99),
        ("abs(", ")", 99),
        ("NOT (", ")", 49),
        ("a + (", ")", 99),
        ("coalesce(1, ", ")", 99),
        ("CASE WHEN a THEN ", " ELSE 1 END", 99),
        ("a * (1 + ", ")", 49),
        ("(CASE WHEN abs((", ")) > 1 THEN 2 END)", 24),
    ],
)
def test_what_nests_up_to_a_hundred_levels_is_read(opening, closing, levels):
    node = expr(opening * levels + "a" + closing * levels)
    assert "Name(name='a'" in repr(node)


def test_deep_brackets_are_read_as_shallow_ones_are():
    deep = expr("((" * 20 + "a + abs((b * (c - 1)) // 2)" + "))" * 20)
    assert deep == expr("a + abs((b * (c - 1)) // 2)")


def test_long_chains_of_and_become_shallow_and_others_are_refused():
    node = expr(" OR ".join(f"a = {i}" for i in range(3000)))
    depth = 0
    while isinstance(node, Binary):
        node, depth = node.left, depth + 1
    assert depth < 20
    assert "nests deeper" in refusal(" + ".join(["a"] * 200)).message
    with pytest.raises(Refused, match="nests deeper"):
        expr(" + ".join(["a"] * 3000))


@pytest.mark.parametrize("call", ["avg(x)", "abs(x)", "coalesce(x, 1)", "sum(x)", "greatest(x, 2)"])
def test_a_call_is_a_factor_behind_any_number(call):
    """`0.2 * avg(x)` was once read as a star with a word behind it."""
    for left in ("2", "0.2", "x", "(1 + 1)", "count(*)"):
        (statement,) = read(f"SELECT {left} * {call} FROM t")
        assert isinstance(statement, Select), statement
        product = statement.items[0].expr
        assert (product.op, product.right.name) == ("*", call.partition("(")[0])


@pytest.mark.parametrize("index", ["OFFSET(5)", "ORDINAL(0)", "OFFSET(a)", "a"])
def test_one_of_the_quantiles_has_a_number_of_its_own(index):
    why = refusal(f"approx_quantiles(a, 4)[{index}]")
    assert "one of the quantiles has a number" in why.message
    assert why.column > 1


def test_one_of_the_quantiles_is_a_quantile():
    assert expr("approx_quantiles(a, 4)[OFFSET(1)]") == FunctionCall(
        "quantile_cont", (A, Literal(0.25))
    )


BEGINNING = SimpleNamespace(line=1, column=1)


@pytest.mark.parametrize("text", ["300ms", "1.05", "3 ms", "1" * 40 + "!"])
def test_an_interval_of_no_known_unit_is_refused_at_once(text):
    """300ms were 300 minutes, 1.05 days six, and 40 digits before a sign took hours."""
    with pytest.raises(Refused, match="this interval is not read"):
        interval(text, "DAY", BEGINNING)


def test_an_interval_has_units_in_short():
    assert interval("36h 30m 5s", "DAY", BEGINNING) == (0, 0, (36 * 3600 + 30 * 60 + 5) * 1_000_000)
    assert interval("2 hrs 3 mins 4 secs", "DAY", BEGINNING) == (0, 0, (2 * 3600 + 184) * 1_000_000)
    assert interval("1.0", "DAYS", BEGINNING) == (0, 1, 0)
