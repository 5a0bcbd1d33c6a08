"""What SHOW SYNTHESIZERS says, and that the page on synthesizers says it, too."""

from __future__ import annotations

import re

import pytest
from support.places import ROOT

from sqlpriv.dialect import read
from sqlpriv.errors import Refused
from sqlpriv.session.session import Session
from sqlpriv.synth.registry import COMMON, REGISTRY


def test_every_synthesizer_is_shown_with_its_options_and_limits(tmp_path):
    with Session(tmp_path / "v.duckdb", role="owner") as owner:
        shown = {r["name"]: r for r in owner.execute("SHOW SYNTHESIZERS").table.to_pylist()}
    assert list(shown) == list(REGISTRY)
    for name, method in REGISTRY.items():
        row = shown[name]
        assert row["most_cells"] == method.max_cells > 0
        assert row["most_strata"] == method.max_strata > 0
        assert re.search(r"\b(19|20)\d\d\b", row["paper"]), "a paper has its year"
        for option in (*COMMON, *method.options):
            assert f"{option.name} = " in row["options"]
            assert option.meaning in row["options"]


def test_the_page_has_a_row_for_every_synthesizer_and_no_other():
    text = (ROOT / "docs" / "reference" / "synthesizers.md").read_text()
    table = text[text.index("| `USING` |") :].split("\n\n")[0].splitlines()[2:]
    assert [row.split("`")[1] for row in table] == list(REGISTRY)


def test_defaults_are_values_that_may_be_given():
    for method in REGISTRY.values():
        for option in (*COMMON, *method.options):
            given = option.default
            fits = given in option.choices or (not option.choices and isinstance(given, int))
            assert given is None or fits
            if isinstance(given, int):
                assert option.least <= given <= option.most


def test_every_option_can_be_written():
    """A word of SQL, such as `order`, is no name of an option. The twin is refused."""
    text = 'CREATE SYNTHETIC TABLE s AS SELECT a FROM t USING "{}" OPTIONS (epsilon = 1, {} = 2)'
    for name, method in REGISTRY.items():
        for option in (*COMMON, *method.options):
            read(text.format(name, option.name))
    with pytest.raises(Refused):
        read(text.format("mst", "order"))
