"""Our declarations and other statements of ours."""

import datetime as dt

import duckdb
import pytest

from sqlpriv.dialect import read
from sqlpriv.errors import Refused
from sqlpriv.statements.commands import (
    AlterPrivacy,
    Describe,
    DropSynthetic,
    Plain,
    Publish,
    SetOption,
    Show,
)
from sqlpriv.statements.declarations import (
    AddPrivacyKey,
    AddPrivacyLink,
    DeclareFromSchema,
    DeclareMany,
    DropDomain,
    DropPrivacyKey,
    DropPrivacyLink,
    DropWindow,
    SetBound,
    SetBudget,
    SetDomainBetween,
    SetDomainIn,
    SetDomainReferences,
    SetPublic,
    SetUnit,
    SetWindow,
)


def one(text):
    (statement,) = read(text)
    return statement


@pytest.mark.parametrize(
    ("rest", "action"),
    [
        ("ADD PRIVACY_KEY (id)", AddPrivacyKey(("id",))),
        ("ADD PRIVACY_KEY (bank, card)", AddPrivacyKey(("bank", "card"))),
        ('add privacy_key ("odd id")', AddPrivacyKey(("odd id",))),
        ("DROP PRIVACY_KEY", DropPrivacyKey()),
        ("SET PU", SetUnit(True)),
        ("UNSET PU", SetUnit(False)),
        ("SET PUBLIC", SetPublic(True)),
        ("UNSET PUBLIC", SetPublic(False)),
        ("ADD PRIVACY_LINK (k) REFERENCES parent(pk)", AddPrivacyLink("k", "parent", "pk")),
        ("DROP PRIVACY_LINK (k)", DropPrivacyLink(("k",))),
        ("SET PRIVACY BOUND (rows_per_unit = 5, groups_per_unit = 2)", SetBound(5, 2)),
        ("SET PRIVACY BOUND (groups_per_unit = 2)", SetBound(None, 2)),
        ("SET PRIVACY FROM SCHEMA", DeclareFromSchema()),
        ("SET PRIVACY (PUBLIC)", DeclareMany((SetPublic(True),))),
        (
            "SET PRIVACY (KEY (id), BOUND (rows_per_unit = 5), COLUMN sex IN (1, 2) NOT NULL,"
            " COLUMN age BETWEEN (0, 99) OR NULL, BUDGET (epsilon = 1) FOR 'ada')",
            DeclareMany(
                (
                    AddPrivacyKey(("id",)),
                    SetBound(5),
                    SetDomainIn("sex", (1, 2), True),
                    SetDomainBetween("age", 0, 99, True),
                    SetBudget((("epsilon", 1),), "ada"),
                    SetUnit(True),
                )
            ),
        ),
        (
            "SET PRIVACY (LINK (k) REFERENCES p(id), COLUMN c REFERENCES codes(c))",
            DeclareMany((AddPrivacyLink("k", "p", "id"), SetDomainReferences("c", "codes", "c"))),
        ),
        (
            "SET PRIVACY BUDGET (epsilon = 3, delta = 1e-9)",
            SetBudget((("epsilon", 3), ("delta", 1e-9))),
        ),
        (
            "SET PRIVACY BUDGET (rho = 0.5) FOR 'team_a'",
            SetBudget((("rho", 0.5),), "team_a"),
        ),
        ("SET PRIVACY BUDGET (rho = 0.5, delta=1e-9)", SetBudget((("rho", 0.5), ("delta", 1e-9)))),
        (
            "ALTER COLUMN c SET PRIVACY DOMAIN IN ('a', 'it''s', NULL)",
            SetDomainIn("c", ("a", "it's", None)),
        ),
        (
            "ALTER c SET PRIVACY DOMAIN IN (1, -2, 3.5, TRUE, DATE '2020-01-01')",
            SetDomainIn("c", (1, -2, 3.5, True, dt.date(2020, 1, 1))),
        ),
        ("ALTER COLUMN c SET PRIVACY DOMAIN BETWEEN (-5, 100)", SetDomainBetween("c", -5, 100)),
        (
            "ALTER COLUMN c SET PRIVACY DOMAIN BETWEEN 0.5 AND 1e3 OR NULL",
            SetDomainBetween("c", 0.5, 1000.0, True),
        ),
        (
            "ALTER COLUMN c SET PRIVACY DOMAIN BETWEEN (DATE '2020-01-01', '2021-01-01') or null",
            SetDomainBetween("c", dt.date(2020, 1, 1), "2021-01-01", True),
        ),
        (
            "ALTER COLUMN c SET PRIVACY DOMAIN REFERENCES pub(col)",
            SetDomainReferences("c", "pub", "col"),
        ),
        ("ALTER COLUMN c DROP PRIVACY DOMAIN", DropDomain("c")),
        (
            "SET PRIVACY WINDOW (day, closed_before = DATE '2026-11-01')",
            SetWindow("day", dt.date(2026, 11, 1)),
        ),
        ("set privacy window (CLOSED_BEFORE = '2026-11-01')", SetWindow("", dt.date(2026, 11, 1))),
        (
            "SET PRIVACY (PUBLIC, WINDOW (\"my day\", closed_before = '2026-11-01'))",
            DeclareMany((SetPublic(True), SetWindow("my day", dt.date(2026, 11, 1)))),
        ),
        ("DROP PRIVACY WINDOW", DropWindow()),
    ],
)
def test_each_declaration_is_read(rest, action):
    text = f'ALTER TABLE "My t" {rest}'
    found = one(f"-- declare\n{text} ;")
    assert found == AlterPrivacy("My t", action)
    assert (found.text, found.pos.line) == (text, 2)


@pytest.mark.parametrize(
    ("rest", "place", "words"),
    [
        ("ADD PRIVACY_KEY (a, b, A)", "A)", "in the list already"),
        ("ADD PRIVACY_KEY (a, )", ")", "the name of a column"),
        ("ADD PRIVACY_KEY (a) x", "x", "expected the end"),
        ("ADD PRIVACY_LINK (a)", "", "expected REFERENCES"),
        ("SET PRIVACY", "", "BOUND, BUDGET or WINDOW"),
        ("SET PRIVACY (KEY (id), sex IN (1))", "sex IN", "KEY, LINK, PUBLIC"),
        ("SET PRIVACY (KEY (id)", "", r"expected \)"),
        ("SET PRIVACY ()", ")", "KEY, LINK, PUBLIC"),
        ("SET PRIVACY DOMAIN IN (1)", "DOMAIN", "domain is of a column"),
        ("SET PRIVACY BOUND (rows = 3)", "BOUND", "no option rows"),
        ("SET PRIVACY BOUND (rows_per_unit = 1.5)", "BOUND", "whole number"),
        ("SET PRIVACY BOUND (rows_per_unit = TRUE)", "BOUND", "whole number"),
        ("SET PRIVACY BUDGET (epsilon = 'x')", "BUDGET", "epsilon is a number"),
        ("SET PRIVACY BUDGET (epsilon = 1) FOR 3", "3", "a ceiling is for a principal"),
        ("SET PRIVACY BUDGET (epsilon = )", ")", "expected a constant"),
        ("ALTER c SET PRIVACY DOMAIN", "", "expected IN"),
        ("ALTER c SET PRIVACY DOMAIN IN ()", ")", "expected a constant"),
        ("ALTER c SET PRIVACY DOMAIN IN (a)", "a)", "expected a constant"),
        ("ALTER c SET PRIVACY DOMAIN BETWEEN (0)", ")", "expected ,"),
        ("ALTER c SET PRIVACY DOMAIN BETWEEN 0, 1", ", 1", "expected AND"),
        ("ALTER c SET PRIVACY DOMAIN BETWEEN (NULL, 1)", "NULL", "number, a date or a time"),
        ("ALTER c SET PRIVACY DOMAIN BETWEEN (- x, 1)", "x", "expected a number"),
        ("ALTER c SET PRIVACY DOMAIN BETWEEN (DATE '2020-13-01', 1)", "'2020", "not a DATE"),
    ],
)
def test_a_wrong_declaration_is_refused_at_its_place(rest, place, words):
    text = f"ALTER TABLE t\n{rest}"
    with pytest.raises(Refused, match=words) as caught:
        read(text)
    assert caught.value.line == 2
    assert rest[caught.value.column - 1 :].startswith(place)
    assert place or caught.value.column == len(rest) + 1


@pytest.mark.parametrize(
    "text",
    [
        "ALTER TABLE t ADD COLUMN privacy_key INTEGER",
        "ALTER TABLE t ADD privacy_key INTEGER",
        "ALTER TABLE t ALTER c SET DATA TYPE INTEGER",
        "ALTER TABLE t ALTER COLUMN c DROP DEFAULT",
        "ALTER TABLE t RENAME TO pu",
        "ALTER TABLE IF EXISTS t ADD COLUMN b INTEGER",
        "ALTER TABLE other.t ADD COLUMN b INTEGER",
        "ALTER VIEW v RENAME TO w",
        "CREATE TABLE pu (a INTEGER)",
        "DROP TABLE synthetic",
        "SHOW privacy",
        "SET threads = 1",
        "SET SESSION threads = 1",
    ],
)
def test_what_is_duckdbs_own_stays_duckdbs(text):
    found = one(text).statement
    assert isinstance(found, Plain)
    assert found.text == text


def test_create_pu_table_is_taken_apart():
    text = """CREATE PU TABLE IF NOT EXISTS people (
        id BIGINT PRIMARY KEY, pay DECIMAL(10, 2) CHECK (pay > 0), firm INT DEFAULT (1 + (2)),
        PRIVACY_KEY (id), PRIVACY_LINK (firm) REFERENCES firms(key), privacy_key_2 INT)"""
    found = one(text)
    assert found.table == "people"
    assert found.actions == (
        AddPrivacyKey(("id",)),
        AddPrivacyLink("firm", "firms", "key"),
        SetUnit(True),
    )
    with duckdb.connect() as connection:
        connection.execute(found.create)
        columns = connection.execute("SELECT column_name FROM (DESCRIBE people)").fetchall()
    assert columns == [("id",), ("pay",), ("firm",), ("privacy_key_2",)]
    assert one("CREATE OR REPLACE PU TABLE t (a INT, PRIVACY_KEY (a))").create == (
        "CREATE OR REPLACE TABLE t (a INT)"
    )


@pytest.mark.parametrize(
    ("rest", "words"),
    [
        ("t (a INT)", "one privacy key"),
        ("t (a INT, PRIVACY_KEY (a), PRIVACY_KEY (a))", "one privacy key"),
        ("t AS SELECT 1", "lists its columns"),
        ("t (a INT, PRIVACY_KEY (a)", r"expected \)"),
        ("t (a INT (, PRIVACY_KEY (a))", r"expected \)"),
        ("t (, PRIVACY_KEY (a))", "expected a column"),
        ("t (a INT, PRIVACY_KEY (a)) WITH (x = 1)", "common table|expected the end"),
    ],
)
def test_a_wrong_create_pu_table_is_refused(rest, words):
    with pytest.raises(Refused, match=words):
        read(f"CREATE PU TABLE {rest}")


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("SHOW PRIVACY TABLES", Show("tables")),
        ("show synthesizers", Show("synthesizers")),
        ("show privacy budget", Show("budget")),
        ("SHOW PRIVACY RELEASES", Show("releases")),
        ("SHOW PRIVACY DECLARATIONS", Show("declarations")),
        ("PRAGMA table_info('people')", Describe("people", as_pragma=True)),
        ('pragma table_info("odd name")', Describe("odd name", as_pragma=True)),
        ("SHOW PRIVACY RELEASES DETAILS", Show("releases details")),
        ("show privacy budget history", Show("budget history")),
        ("DROP SYNTHETIC TABLE s", DropSynthetic("s")),
        ("DROP SYNTHETIC TABLE IF EXISTS s", DropSynthetic("s", True)),
        ("SET privacy_epsilon = 0.5", SetOption("privacy_epsilon", 0.5)),
        ("SET PRIVACY_EPSILON TO 1", SetOption("privacy_epsilon", 1)),
        ("SET SESSION privacy_mode = Fast", SetOption("privacy_mode", "fast")),
        ("RESET privacy_epsilon", SetOption("privacy_epsilon", None)),
        ("PUBLISH TO 'bi.duckdb'", Publish((), "bi.duckdb")),
        ("publish a, \"to\" to 'it''s/*.parquet'", Publish(("a", "to"), "it's/*.parquet")),
    ],
)
def test_the_other_statements_are_read(text, statement):
    assert one(text) == statement


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SHOW PRIVACY RULES", "TABLES, BUDGET, RELEASES or WINDOWS"),
        ("SHOW PRIVACY TABLES x", "expected the end"),
        ("SHOW PRIVACY TABLES DETAILS", "expected the end"),
        ("SHOW SYNTHESIZERS LIKE 'a%'", "expected the end"),
        ("DROP SYNTHETIC s", "expected TABLE"),
        ("SET privacy_epsilon", "expected ="),
        ("PUBLISH a", "expected TO"),
        ("PUBLISH , a TO 'x'", "expected the name of a released table, or TO"),
        ("PUBLISH a, TO 'x'", "expected the name of a released table"),
        ("PUBLISH TO bi", "expected a constant"),
        ("PUBLISH TO 3", "is a text"),
        ("SET privacy_epsilon = ", "expected a constant"),
    ],
)
def test_their_mistakes_are_refused(text, words):
    with pytest.raises(Refused, match=words):
        read(text)
