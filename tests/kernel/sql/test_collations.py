"""Text that a collation calls equal: no pattern fails on it, no unit moves another's rows by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from support.vaults import Engine, contract

from sqlpriv.errors import Refused
from sqlpriv.kernel.terms import algebra as a
from sqlpriv.kernel.terms.contract import Categories, Column, TableContract, TableFacts, Type
from sqlpriv.kernel.terms.operations import ESCAPES, check

SCAN, TEXT = a.Scan("people"), a.Col("s")
COMPOSED, APART = "\u00e9b", "e\u0301b"  # one text for NFC, and for NOACCENT
ACCENT = "\u0338"  # turns = into another sign
MADE = replace(
    contract({"id": "INTEGER", "s": "VARCHAR"}, {"s": Categories(("b",))}, m=2), collated=True
)


def fill(engine: Engine, collation: str, rows: Sequence[tuple[int, str]]) -> None:
    engine.duckdb.execute(f"CREATE OR REPLACE TABLE people (id INTEGER, s VARCHAR {collation})")
    engine.duckdb.executemany("INSERT INTO people VALUES (?, ?)", [list(row) for row in rows])


def test_how_a_text_is_spelled_moves_no_row_of_others(engine: Engine) -> None:
    """Where values are grouped before they find their level, one spelling stands for all."""
    rows = [(1, COMPOSED), (2, APART), (3, COMPOSED)]
    made = replace(MADE, facts=TableFacts(True, frozenset({"id", "s"})))
    query = a.Count(SCAN, keys=(a.Key(TEXT, ("b", COMPOSED)),))
    for collation in ("COLLATE NFC", "COLLATE NOACCENT", "COLLATE NOCASE"):
        fill(engine, collation, rows)
        whole = engine.exact([query], made)[0]
        for unit in (1, 2, 3):
            fill(engine, collation, [row for row in rows if row[0] != unit])
            assert abs(whole - engine.exact([query], made)[0]).sum() <= 1


@pytest.mark.parametrize("collation", ["NFC", "NOACCENT", "NOCASE"])
def test_a_column_of_two_spellings_is_not_constant(engine: Engine, collation: str) -> None:
    """Its second character differs: a unit that is kept in one stratum would be in two."""
    other = "\u00c9B" if collation == "NOCASE" else APART
    fill(engine, f"COLLATE {collation}", [(1, COMPOSED), (1, other)])
    facts = engine.facts(MADE)
    assert "s" not in facts.constant
    second = a.Key(a.Substring(TEXT, 2, 1), ("b", "\u0301"))
    found = engine.exact([a.Count(SCAN, strata=(second,))], replace(MADE, facts=facts))[0]
    assert (found > 0).sum() <= 1


def test_a_units_own_groups_have_one_spelling_wherever_its_rows_lie(engine: Engine) -> None:
    """Which row a thread meets first depends on how many rows of others lie before it."""
    grouped = a.PerUnit(SCAN, keys=(("w", TEXT),))
    second = a.Key(a.Substring(a.Col("w"), 2, 1), ("b", "\u0301"))
    for rows in ([(1, COMPOSED), (1, APART)], [(1, APART), (1, COMPOSED)]):
        fill(engine, "COLLATE NFC", rows)
        assert engine.exact([a.Count(grouped, keys=(second,))], MADE)[0].tolist() == [[0, 1]]
    same = a.Where(grouped, a.Call("=", (a.Col("w"), a.Lit(COMPOSED, Type.TEXT))))
    assert engine.exact([a.Count(same)], MADE)[0].tolist() == [1]  # they are equal still


@pytest.mark.parametrize("loose", ["people", "words"])
def test_a_unit_meets_no_more_words_than_noise_is_made_for(engine: Engine, loose: str) -> None:
    """UNIQUE compares bytes: one text of either collation equals two words that are UNIQUE."""
    fill(engine, "COLLATE nocase" if loose == "people" else "", [(1, "ab"), (2, "x")])
    engine.duckdb.execute(f"""CREATE OR REPLACE TABLE words
        (word VARCHAR {"COLLATE nocase" if loose == "words" else ""} UNIQUE);
        INSERT INTO words VALUES ('ab'), ('aB'), ('AB'), ('y')""")
    words = TableContract(
        "words",
        (Column("word", Type.TEXT, "VARCHAR"),),
        public=True,
        unique=frozenset({"word"}),
        collated=loose == "words",
    )
    made = replace(
        contract({"id": "INTEGER", "s": "VARCHAR"}, facts=TableFacts(True)),
        collated=loose == "people",
        others={"words": words},
    )
    met = a.Join(SCAN, a.Scan("words"), a.Call("=", (TEXT, a.Col("word"))))
    assert engine.exact([a.Count(met)], made)[0].tolist() == [1]


FAILING = [
    ("aX", "x", True),
    ("a\u212a", "k", True),
    ("a\u00e9", "e", False),
    ("aX", "x", False),
    ("a\u2260", "=", False),
    ("a\u00e9%", "\u00e9", False),
    (f"a!{ACCENT}", "!", False),
    ("a!", "!", False),
    ("a!!!", "!", True),
]


@pytest.mark.parametrize(("pattern", "escape", "fold"), FAILING)
def test_a_pattern_that_may_come_to_end_in_its_escape_is_refused(
    pattern: str, escape: str, fold: bool
) -> None:
    """DuckDB raises then, on rows that match so far: whether some row does would be told."""
    with pytest.raises(Refused, match="ESCAPE"):
        check(a.Like(TEXT, pattern, escape, fold), {"s": Type.TEXT})


@pytest.mark.parametrize("collation", ["", "COLLATE NFC", "COLLATE NOACCENT", "COLLATE NOCASE"])
def test_no_row_makes_a_pattern_fail(engine: Engine, collation: str) -> None:
    texts = [f"a{e}" for e in sorted(ESCAPES)] + ["", "a", "aX", "a%", "a_", "a\u2260", COMPOSED]
    fill(engine, collation, list(enumerate(texts)))
    for escape in sorted(ESCAPES):
        for escaped in ("%", "_", escape):
            for fold in (True, False):
                like = a.Like(TEXT, f"a{escape}{escaped}", escape, fold)
                accented = replace(like, pattern=like.pattern + ACCENT)
                for each in (like, accented):
                    found = engine.exact([a.Count(a.Where(SCAN, each))], MADE)[0]
                    assert found.sum() == 1 or each is accented
