"""Every example in a docstring says what happens."""

import doctest
import importlib

import pytest

from house import measure

MODULES = sorted(
    ".".join(("sqlpriv", *path.with_suffix("").parts))
    for path in measure.source_paths()
    if ">>> " in (measure.PACKAGE / path).read_text() and path.name != "__init__.py"
)


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_are_true(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert tried > 0
    assert failed == 0


def test_a_wrong_example_is_noticed():
    wrong = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    silent = doctest.DocTestRunner()
    assert silent.run(wrong, out=lambda _: None).failed == 1
