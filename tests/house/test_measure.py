"""The numbers of `measure.py` that must not grow, and a case for each in which it does."""

import ast
from pathlib import Path

import pytest

from house import measure

MUST_BE_EMPTY = [
    "folders in a circle of imports",
    "files loose at the root",
    "rooms that are too full",
    "names of several files",
    "names of several classes",
    "fmt: skip",
    "functions named by a bare participle",
    "locals that do not say what they hold",
]


@pytest.mark.parametrize("title", MUST_BE_EMPTY)
def test_nothing_is_where_it_should_not_be(title):
    assert measure.measure()[title] == []


def test_an_auditor_can_read_the_kernel():
    assert 500 < measure.measure()["statements of the kernel"] <= 2_746


def test_only_statements_count():
    text = '"""A module,\nof two."""\n\n# why\na = (\n    1,  # one\n)\nif a:\n    b = 1; c = 2\n'
    assert measure.statement_count(ast.parse(text)) == 4


def test_a_circle_is_noticed():
    arrows = {"answer": {"plan"}, "plan": {"kernel/terms"}, "kernel/terms": set()}
    assert measure.circles(arrows) == set()
    assert measure.circles({**arrows, "kernel/terms": {"answer"}}) == set(arrows)


def test_rooms_of_modules_are_found():
    assert measure.folder_of("sqlpriv.kernel.terms.budget.Rho") == "kernel/terms"
    assert measure.folder_of("sqlpriv.kernel.terms.budget") == "kernel/terms"
    assert measure.folder_of("sqlpriv.errors.Refused") == "errors"
    assert measure.room(Path("errors.py")) == "errors"


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("told", True),
        ("_settled", True),
        ("noised", True),
        ("noised_counts", False),
        ("read_rows", False),
        ("seed", False),
        ("price", False),
    ],
)
def test_bare_participles_are_told_from_names(name, bare):
    assert measure.is_bare_participle(name) is bare


def test_a_local_that_says_nothing_is_noticed():
    text = "def rows():\n    found = read()\n    rows_found = found\n    return rows_found"
    assert list(measure.catch_all_locals(ast.parse(text))) == ["found:2"]
