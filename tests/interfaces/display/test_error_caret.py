"""Errors say what is wrong, show where, and end in something to type."""

import pytest

from sqlpriv import errors
from sqlpriv.interfaces.display.error_caret import LINE, explain_error

SQL = "SELECT sex,\n\tjob FROM people"


def test_the_caret_stands_under_the_place():
    error = errors.Refused("job has no domain", hint="SET PRIVACY DOMAIN", line=2, column=2)
    assert explain_error(error, SQL).splitlines() == [
        "Refused: job has no domain",
        "  2 │ \tjob FROM people",
        "    │ \t^",
        "Hint: SET PRIVACY DOMAIN",
    ]


def test_the_line_is_that_of_the_file():
    error = errors.Refused("no", line=1, column=8)
    assert "  41 │ SELECT sex," in explain_error(error, SQL, first_line=41)


@pytest.mark.parametrize(("line", "column"), [(0, 0), (3, 1), (1, 0)])
def test_no_caret_where_the_place_is_not_known(line, column):
    assert "│" not in explain_error(errors.Refused("no", line=line, column=column), SQL)


@pytest.mark.parametrize(
    "error",
    [
        errors.BudgetExhausted("costs 0.5 but 0.2 is left; nothing was read"),
        errors.PermissionDenied("only the owner may do that"),
        errors.VaultBusy("held by another process"),
        errors.ReadFailed("the engine failed"),
        errors.DeclarationError("there is no such column"),
        errors.Refused("SELECT * shows rows"),
    ],
)
def test_every_common_error_names_a_next_step(error):
    title, *_, last = explain_error(error).splitlines()
    assert last.startswith("Hint: ")
    assert "Error" not in title.split(":")[0]


def test_titles_are_words():
    assert explain_error(errors.BudgetExhausted("x")).startswith("Budget exhausted: x")


@pytest.mark.parametrize("column", [1, 40, 150, 299, 300])
def test_a_long_line_is_shown_around_its_place(column):
    text = "".join(chr(ord("a") + i % 26) for i in range(300))
    error = errors.Refused("no", line=1, column=column)
    _, shown, caret, *_ = explain_error(error, text).splitlines()
    assert len(shown) <= LINE + 8
    assert shown[caret.index("^")] == text[column - 1]


def test_a_misspelt_keyword_is_named_and_a_syntax_error_has_no_idle_hint():
    def hint(sql, column):
        error = errors.Refused("expected WHERE, found it", line=1, column=column)
        _, _, *rest = explain_error(error, sql).splitlines()[1:]
        return rest

    assert hint("SELECT COUNT(*) FORM people", 22) == ["Hint: FORM may be meant as FROM"]
    assert hint("SELECT COUNT(*) FROM t WERE a = 3", 29) == ["Hint: WERE may be meant as WHERE"]
    assert hint("SELECT COUNT(*) FROM t GRUOP BY a", 24) == ["Hint: GRUOP may be meant as GROUP"]
    bracket = "a bracket that was opened before this place is not closed"
    assert hint("SELECT COUNT(* FROM people", 16) == [f"Hint: {bracket}"]
    assert hint("SELECT sex COUNT(*) FROM people", 17) == [
        "Hint: a comma may be missing before COUNT"
    ]
    assert hint("SELECT COUNT(*) FROM t STRATIFY sex", 33) == ["Hint: write STRATIFY BY sex"]
    assert hint("SELECT COUNT(*) FROM t 42", 24) == []
    opened = errors.Refused("a string is opened here and never closed", line=1, column=8)
    assert "Hint" not in explain_error(opened, "SELECT 'abc")


def test_a_value_without_its_brackets_is_told_with_them():
    sql = "ALTER TABLE t SET PRIVACY (KEY pid)"
    error = errors.Refused("expected (, found pid", line=1, column=sql.index("pid") + 1)
    assert explain_error(error, sql).endswith("Hint: write (pid)")


def test_a_reserved_word_as_a_name_is_told_to_be_quoted():
    text = 'Parser Error: syntax error at or near "order"\n\nLINE 1: ALTER TABLE t RENAME {} order'
    named = explain_error(errors.ProgrammingError(text.format("COLUMN")))
    assert named.endswith('Hint: as a name, a word of SQL is written in quotes: "order"')
    assert "Hint" not in explain_error(errors.ProgrammingError(text.format("x WHERE y")))


def test_a_word_is_compared_with_those_that_were_expected():
    expected = "expected DECLARATIONS, TABLES, BUDGET or RELEASES, found BUDGTE"
    text = explain_error(errors.Refused(expected, line=1, column=14), "SHOW PRIVACY BUDGTE")
    assert text.endswith("Hint: BUDGTE may be meant as BUDGET")


def test_what_can_be_shown_is_named_where_nothing_of_that_name_is():
    """An owner who wrote SHOW BUDGET was told that there is no table BUDGET, by DuckDB."""
    error = errors.ProgrammingError("Catalog Error: Table with name BUDGET does not exist!")
    assert "SHOW PRIVACY TABLES, BUDGET" in explain_error(error, "show budget")
    assert "Hint" not in explain_error(error, "SELECT * FROM budget")
