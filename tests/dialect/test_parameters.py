"""Parameters become literals, or go to DuckDB beside the text; never into it."""

import datetime as dt
from decimal import Decimal

import duckdb
import pytest

from sqlpriv.dialect import parameter_names, read
from sqlpriv.errors import DataError, ProgrammingError, Refused
from sqlpriv.statements.commands import SetOption
from sqlpriv.statements.tree import Binary, InList, Literal, Name

EVIL = "'; DROP TABLE t; --"


def plain(text, parameters):
    return [statement.statement for statement in read(text, parameters)]


def where(text, parameters):
    (statement,) = read(f"SELECT COUNT(*) FROM t WHERE {text}", parameters)
    return statement.where


@pytest.mark.parametrize(
    ("mark", "parameters"),
    [("?", [EVIL]), ("?", (EVIL,)), ("$1", [EVIL]), ("$x", {"x": EVIL}), (":x", {"x": EVIL})],
)
def test_every_style_binds_a_literal(mark, parameters):
    assert where(f"a = {mark}", parameters) == Binary("=", Name("a"), Literal(EVIL))


@pytest.mark.parametrize(
    "value",
    [None, True, 5, 0.5, "x", dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3)],
)
def test_a_value_keeps_its_type(value):
    bound = where("a = ?", [value]).right.value
    assert bound == value
    assert type(bound) is type(value)


def test_a_decimal_becomes_a_float():
    assert where("a = ?", [Decimal("1.5")]).right == Literal(1.5)


def test_a_moment_with_a_zone_is_that_of_utc():
    zone = dt.timezone(dt.timedelta(hours=2))
    bound = where("a = ?", [dt.datetime(2020, 1, 1, 1, tzinfo=zone)]).right
    assert bound == Literal(dt.datetime(2019, 12, 31, 23))


@pytest.mark.parametrize(
    ("text", "values", "listed"),
    [
        ("a = ANY($1)", [1, 2], InList(Name("a"), (Literal(1), Literal(2)))),
        ("a = ANY($1::INTEGER[])", (1,), InList(Name("a"), (Literal(1),))),
        ("a = ANY($1)", [EVIL], InList(Name("a"), (Literal(EVIL),))),
        ("a = ANY($1)", [], Literal(False)),
        ("a <> ALL($1)", [], Literal(True)),
    ],
)
def test_a_list_stands_behind_any_and_all(text, values, listed):
    assert where(text, [values]) == listed


def test_a_list_that_is_cast_to_whole_numbers_has_no_others():
    """DuckDB would round 1.6 to 2 and read '2' as a number; neither is what is compared here."""
    for value in (1.6, "2"):
        text = "SELECT COUNT(*) FROM t WHERE a = ANY($1::INTEGER[])"
        (statement,) = read(text, [[1, value]])
        assert "list of whole numbers" in statement.why.message


@pytest.mark.parametrize("name", ["duckdb", "postgres"])
def test_parameters_stand_without_a_blank_between_them(name):
    texts = ("a IN ($1,$2)", "a IN ($1,$2) AND b = '$1,$2'", "a IN (/* $ */ $1,$2)")
    for text in texts:
        (statement,) = read(f"SELECT COUNT(*) FROM t WHERE {text}", [3, 4], name)
        within = statement.where.left if " AND " in text else statement.where
        assert within == InList(Name("a"), (Literal(3), Literal(4)))


@pytest.mark.parametrize(
    "value",
    [object(), b"x", [1], float("nan"), float("inf"), Decimal("NaN"), Decimal("sNaN"), dt.time(1)],
)
def test_a_value_that_is_no_literal_is_refused(value):
    with pytest.raises(DataError, match="parameter"):
        where("a = ?", [value])


@pytest.mark.parametrize(
    ("text", "parameters", "words"),
    [
        ("a = ?", None, "1 parameter, none was given"),
        ("a = ?", [1, 2], "1 parameter, 2 were given"),
        ("a = ? AND b = ?", [1], "2 parameters, 1 was given"),
        ("a = 1", [1], "no parameters, 1 was given"),
        ("a = $2", [1], "2 parameters, 1 was given"),
        ("a = $0", [1], "numbered from"),
        ("a = ? AND b = $1", [1], "all parameters"),
        ("a = $x", [1], r"\$x.*mapping"),
        ("a = $x", {}, r"no value is given for \$x"),
        ("a = $x", {"x": 1, "y": 2}, r"no parameter \$y"),
        ("a = ?", {"x": 1}, "list or a tuple"),
        ("a = ?", "x", "not as text"),
    ],
)
def test_a_misfit_says_how_many_are_expected(text, parameters, words):
    with pytest.raises(ProgrammingError, match=words) as caught:
        where(text, parameters)
    assert not isinstance(caught.value, Refused)


def test_they_may_stand_wherever_a_constant_may():
    assert read("SET privacy_epsilon = ?", [0.5]) == (SetOption("privacy_epsilon", 0.5),)
    (found,) = read(
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = ?) 1 FROM t LIMIT ?", [2, 3]
    )
    assert (found.options, found.limit) == ((("epsilon", 2),), Literal(3))


def test_marks_in_strings_and_comments_are_no_parameters():
    assert where("a = '?' /* ? $1 */ AND b = ? -- :x", [7]).right.right == Literal(7)


@pytest.mark.parametrize(
    ("text", "parameters", "expected"),
    [
        ("SELECT DISTINCT ?, ?", [1, "a"], (1, "a")),
        ("SELECT DISTINCT $2, $1, $2", [1, "a"], ("a", 1, "a")),
        ("SELECT DISTINCT $x, :y", {"x": 1, "y": "a"}, (1, "a")),
        ("SELECT [:x, 2][1:1], 'a:b', {'k': :x}", {"x": 1}, ([1], "a:b", {"k": 1})),
        ("SELECT DISTINCT ?::BIGINT + 1, ? ::VARCHAR", [1, 2], (2, "2")),
    ],
)
def test_duckdb_takes_the_text_and_its_share_of_the_values(text, parameters, expected):
    (found,) = plain(f"{text} AS z FROM (SELECT 1)", parameters)
    assert duckdb.execute(found.text, found.parameters).fetchall() == [expected]


def test_each_statement_of_a_text_gets_its_share():
    first, second = plain("SELECT DISTINCT ?; SELECT DISTINCT ?, ?", [1, 2, 3])
    assert (first.parameters, second.parameters) == ((1,), (2, 3))
    first, second = plain("SELECT DISTINCT 1; SELECT DISTINCT $2", ["unused", 5])
    assert first.parameters == ()
    assert duckdb.execute(second.text, second.parameters).fetchall() == [(5,)]


def test_a_select_can_be_run_by_duckdb_as_well():
    (found,) = plain("SELECT count(*) FROM range(3) r(i) WHERE i > :low", {"low": 0})
    assert duckdb.execute(found.text, found.parameters).fetchall() == [(2,)]
    (found,) = read("SELECT a FROM t WHERE a > :low", {"low": 0})
    assert (found.text, found.parameters) == ("SELECT a FROM t WHERE a > $low", {"low": 0})


def test_what_a_text_asks_for_is_told_before_it_is_given():
    assert parameter_names("SELECT ?, '?' -- ?\n, ?") == ("1", "2")
    assert parameter_names("SELECT $2, $1, $2") == ("1", "2")
    assert parameter_names("SELECT :b, $a, :b") == ("b", "a")
    assert parameter_names("SELECT 1") == ()
