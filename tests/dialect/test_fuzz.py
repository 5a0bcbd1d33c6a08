"""Whatever the text, it is read or refused: no other error, and never a hang."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from sqlpriv.dialect import complete, read, split
from sqlpriv.dialect.constructs import CONSTRUCTS
from sqlpriv.errors import ProgrammingError, Refused
from sqlpriv.statements import default_name, sql
from sqlpriv.statements.commands import Unanswerable
from sqlpriv.statements.keywords import RESERVED
from sqlpriv.statements.tree import Select

SIGNS = [
    "(",
    ")",
    ",",
    ".",
    ";",
    "=",
    "<",
    "<>",
    "+",
    "-",
    "*",
    "/",
    "//",
    "%",
    "||",
    "::",
    "[",
    "]",
    "{",
    "}",
    ":",
    "->",
    "$",
    "#",
    "@",
    "!",
    "~",
    "\\",
    "`",
    ":=",
    "=>",
    "^",
    "**",
]
WORDS = """a t PRIVACY PRIVACY_KEY PRIVACY_LINK PU PUBLIC DOMAIN BOUND BUDGET STRATIFY BY WEIGHTS
    DIFFERENTIAL_PRIVACY OPTIONS SYNTHETIC USING EXPLAIN SET RESET ALTER DROP UNSET ADD BETWEEN
    count avg DATE INTERVAL EXTRACT TRY_CAST privacy_epsilon REPLACE IF EXISTS NULLS FIRST VALUES
    INSERT INTO UPDATE DELETE COPY ATTACH PRAGMA CALL IS LIKE FILTER OVER mst TABLES int stratify
    main COLUMNS JOIN LEFT AT TIME ZONE""".split()  # noqa: SIM905  # a list of words reads better
VALUES = [
    "1",
    "1.5",
    "1e999",
    "'x'",
    "'it''s'",
    "$$q$$",
    '"Q"',
    '""',
    "'",
    '"',
    "$$",
    "/*",
    "*/",
    "--",
    "\n",
    "DATE '2020-01-01'",
    "DATE 'x'",
    "E'\\n'",
    "x'ab'",
    "0x1F",
    "é",
    "\x00",
    "9" * 60,
    "9" * 5000,
]
BEGINNINGS = [
    "",
    "SELECT ",
    "SELECT count(*) FROM t ",
    "SELECT WITH DIFFERENTIAL_PRIVACY ",
    "ALTER TABLE t ",
    "CREATE PU TABLE t (",
    "CREATE SYNTHETIC TABLE s AS SELECT a ",
    "EXPLAIN PRIVACY ",
    "WITH x AS (",
    "FROM t ",
    "DESCRIBE ",
    "SHOW PRIVACY ",
    "ALTER TABLE t ALTER COLUMN a SET PRIVACY DOMAIN ",
]

tokens = st.sampled_from([*SIGNS, *WORDS, *VALUES, *sorted(RESERVED | set(CONSTRUCTS))])
soups = st.builds(
    lambda start, parts, glue: start + glue.join(parts),
    st.sampled_from(BEGINNINGS),
    st.lists(tokens, max_size=25),
    st.sampled_from([" ", " ", ""]),
)


def judge(error):
    if isinstance(error, Refused):
        assert error.message
        assert error.line >= 0
    else:
        assert "parameter" in str(error)


def attempt(text, parameters=None):
    try:
        statements = read(text, parameters)
    except ProgrammingError as error:
        judge(error)
        return
    for statement in statements:
        if isinstance(statement, Select):
            for item in statement.items:
                assert default_name(item)
                assert sql(item.expr)
        if isinstance(statement, Unanswerable):
            assert statement.why.message
            assert statement.statement.text in text


@settings(max_examples=250, deadline=None)
@given(soups)
def test_token_soups_are_read_or_refused(text):
    attempt(text)
    assert isinstance(complete(text), bool)
    assert all(part in text for part in split(text))


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60), st.lists(st.integers() | st.text(max_size=3) | st.none(), max_size=3))
def test_any_text_with_any_parameters_is_read_or_refused(text, parameters):
    attempt(text, parameters)
    attempt("SELECT " + text, parameters)


@settings(max_examples=60, deadline=None)
@example(["SELECT $", "SELECT "])
@given(st.lists(soups.filter(lambda text: complete(text + ";")), max_size=4))
def test_reading_all_at_once_is_reading_one_by_one(texts):
    whole = ";\n".join(texts)
    try:
        together = read(whole)
    except ProgrammingError:
        return
    assert len(together) == len(split(whole))
    assert [type(s) for s in together] == [type(s) for part in split(whole) for s in read(part)]


def test_a_refusal_is_as_good_as_its_cause():
    """The twin: the check above does not accept errors that are not ours."""
    try:
        attempt("SELECT 1", 5)
    except TypeError:
        return
    raise AssertionError("a foreign error was let through")
