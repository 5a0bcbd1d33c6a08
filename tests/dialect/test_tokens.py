"""Cutting text: as DuckDB cuts it, to the character."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sqlpriv.dialect import complete, split
from sqlpriv.dialect.tokens import Kind, lex, without_literals
from sqlpriv.statements.keywords import KEYWORDS, NO_ALIAS, RESERVED

PIECES = st.sampled_from(
    [
        "SELECT 1",
        ";",
        "--x;\n",
        "/* ; */",
        "/* a /* ; */ b */",
        "';'",
        "'it''s'",
        '";"',
        "$$;'$$",
        "$t$ ; $$ ; $t$",
        " ",
        "\n",
        "a",
        ",",
        "1.5",
        "E'\\';'",
        "é",
        "\u00a0",
    ]
)


def kinds(text):
    return [(token.kind, token.value) for token in lex(text)[:-1]]


def test_the_reserved_words_are_those_of_duckdb():
    rows = duckdb.execute("SELECT upper(keyword_name), keyword_category FROM duckdb_keywords()")
    words = {"reserved": set(), "type_function": set()}
    for word, category in rows.fetchall():
        words.setdefault(category, set()).add(word)
    assert words["reserved"] == RESERVED
    assert set.union(*words.values()) == KEYWORDS
    # These five are also names of columns, and may follow an expression as its alias.
    bare = {"COLUMNS", "GENERATED", "MAP", "STRUCT", "TRY_CAST", "TUPLE"}
    assert words["type_function"] | words["reserved"] >= NO_ALIAS
    assert words["type_function"] - NO_ALIAS <= bare


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'it''s'", [(Kind.STRING, "it's")]),
        ('"a""b"', [(Kind.QUOTED, 'a"b')]),
        ("$$a'b$$", [(Kind.STRING, "a'b")]),
        ("$t$a$$b$t$", [(Kind.STRING, "a$$b")]),
        ("/* a /* b */ c */ x", [(Kind.WORD, "x")]),
        ("x -- y\r+", [(Kind.WORD, "x"), (Kind.OP, "+")]),
        ("1_000", [(Kind.NUMBER, "1_000")]),
        (".5", [(Kind.NUMBER, ".5")]),
        ("1.5e-3", [(Kind.NUMBER, "1.5e-3")]),
        ("a$b", [(Kind.WORD, "a$b")]),
        ("?", [(Kind.PARAMETER, "")]),
        ("$1", [(Kind.PARAMETER, "1")]),
        ("SELECT :x", [(Kind.WORD, "SELECT"), (Kind.PARAMETER, "x")]),
        ("x:y", [(Kind.WORD, "x"), (Kind.OP, ":"), (Kind.WORD, "y")]),
        ("END :x", [(Kind.WORD, "END"), (Kind.OP, ":"), (Kind.WORD, "x")]),
        ("'open", [(Kind.BAD, "string")]),
        ('"open', [(Kind.BAD, "quoted name")]),
        ("$$open", [(Kind.BAD, "string")]),
        ("/* /* */", [(Kind.BAD, "comment")]),
    ],
)
def test_a_token_is_read_with_its_content(text, expected):
    assert kinds(text) == expected


def test_places_count_lines_and_characters_from_one():
    text = "a 'two\nlines' é\n\n  $$x\ny$$ b"
    places = {token.text: (token.pos.line, token.pos.column) for token in lex(text)}
    assert places["a"] == (1, 1)
    assert places["é"] == (2, 8)
    assert places["b"] == (5, 5)
    for token in lex(text):
        assert text[token.start : token.end] == token.text


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ()),
        (" -- only a comment\n", ()),
        (";;", ()),
        ("SELECT 1", ("SELECT 1",)),
        ("SELECT ';' ; /* ; */ SELECT $$;$$;", ("SELECT ';'", "SELECT $$;$$")),
        ("SELECT 1 /* kept */ + 2; -- left;\n", ("SELECT 1 /* kept */ + 2",)),
    ],
)
def test_split_cuts_at_semicolons_that_stand_free(text, parts):
    assert split(text) == parts


@given(st.lists(PIECES, max_size=12).map("".join))
def test_split_finds_as_many_statements_as_duckdb(text):
    try:
        theirs = duckdb.extract_statements(text)
    except duckdb.Error:
        return
    assert len(split(text)) == len(theirs)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("", True),
        ("-- nothing\n", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1; SELECT", False),
        ("SELECT ';", False),
        ("SELECT $$;", False),
        ("SELECT $$;$$;", True),
        ("SELECT $a$ $$;", False),
        ("SELECT $a$ $$ $a$;", True),
        ("SELECT E'it\\'s;", False),
        ("SELECT e'it\\'s';", True),
        ("SELECT 1; /* open ;", False),
        ("/* /* ; */ SELECT 1;", False),
        ("/* /* ; */ */ SELECT 1;", True),
        ('SELECT ";', False),
    ],
)
def test_a_text_is_complete_when_it_ends_with_a_semicolon(text, whole):
    assert complete(text) is whole


def test_literals_are_left_out_and_nothing_else():
    text = "INSERT INTO t1 VALUES (7, 'it''s', E'\\n', $$x$$, -1.5e3, NULL) -- 9\n, \"q\" = :name"
    left = 'INSERT INTO t1 VALUES (?, ?, ?, ?, -?, NULL) -- 9\n, "q" = :name'
    assert without_literals(text) == left
    assert without_literals("SELECT 'open") == "SELECT ?"
