"""What a refusal of sqlpriv's own statements says to write, those that are misspelt, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sqlpriv.dialect.reading.parse import read, read_parts
from sqlpriv.dialect.reading.statement_examples import _DECLARATIONS, _STATEMENTS
from sqlpriv.errors import Refused

GRAMMAR = Path(__file__).parents[2] / "docs" / "reference" / "grammar.md"
BLOCKS = re.findall(r"```sql\n(.*?)```", GRAMMAR.read_text(), re.DOTALL)
STATEMENTS = [text for block in BLOCKS for text in re.split(r";\n", block) if text.strip()]
OURS = [text for text in STATEMENTS if not re.match(r"(EXPLAIN PRIVACY )?(SELECT|FROM|WITH)", text)]


MEANT = {
    "SET PRIVACY BUDGET (epsilon = 1)": "ALTER TABLE t SET PRIVACY BUDGET",
    "SET PRIVACY UNIT people(id)": "ALTER TABLE t SET PRIVACY (KEY (id)",
    "SET PRIVACY DOMAIN people.age BETWEEN 0 AND 99": "ALTER COLUMN c SET PRIVACY DOMAIN",
    "ALTER TABLE people SET BUDGET (epsilon = 1)": "ALTER TABLE people SET PRIVACY BUDGET",
    "ALTER TABLE people PRIVACY KEY (id)": "ALTER TABLE people SET PRIVACY (KEY (id)",
    "ALTER TABLE main.people SET PRIVACY_UNIT (id)": "ALTER TABLE people SET PRIVACY (KEY (id)",
    "ALTER TABLE people ADD PRIVACY UNIT (id)": "ALTER TABLE people SET PRIVACY (KEY (id)",
    "ALTER TABLE visits ADD PRIVACY LINK (p) REFERENCES q(id)": "SET PRIVACY (LINK (person)",
    "ALTER TABLE people ALTER COLUMN age SET DOMAIN (0, 99)": "SET PRIVACY DOMAIN BETWEEN",
    "ALTER TABLE people SET PRIVATE": "ALTER TABLE people SET PRIVACY (KEY (id)",
    "ALTER TABLE people SET PRIVACY KEY id": "SET PRIVACY (KEY (id)",
    "ALTER TABLE visits SET PRIVACY (LINK (p) REFERENCES people)": "REFERENCES people(id)",
    "DROP PRIVACY ON people": "DROP PRIVACY_KEY",
    "CREATE PRIVATE TABLE people (id INTEGER)": "CREATE PU TABLE people",
    "CREATE SYNTHETIC TABLE s USING mst FROM people": "AS SELECT a FROM t USING mst",
    "SELECT AVG(age) FROM people STRATIFY BY sex USING mst": "CREATE SYNTHETIC TABLE s AS",
}


@pytest.mark.parametrize("text", MEANT)
def test_the_hint_is_what_was_meant(text):
    with pytest.raises(Refused) as refused:
        read(text)
    assert MEANT[text] in (refused.value.hint or "")


def test_the_price_is_written_in_one_word():
    (query,) = read_parts("SELECT WITH DIFFERENTIAL PRIVACY COUNT(*) FROM people")
    assert "WITH DIFFERENTIAL_PRIVACY" in (query.why.hint or "")


@pytest.mark.parametrize(
    "text",
    [
        "SET privacy = 1",
        "ALTER TABLE people ADD privacy INTEGER",
        "ALTER TABLE people ADD COLUMN privacy_key INTEGER",
        "ALTER TABLE people DROP privacy",
        "ALTER TABLE people RENAME COLUMN privacy TO budget",
        "ALTER TABLE people ALTER COLUMN budget SET DEFAULT 1",
        "ALTER TABLE people ALTER privacy TYPE BIGINT",
        "CREATE TABLE private (id INTEGER)",
        "DROP TABLE privacy",
    ],
)
def test_statements_of_duckdb_stay_its_own(text):
    assert len(read(text)) == 1


@pytest.mark.parametrize("name", ["rap++", "RAP ++", '"rap++"'])
def test_a_method_with_signs_in_its_name_needs_no_quotes(name):
    (statement,) = read(f"CREATE SYNTHETIC TABLE s AS SELECT a FROM t USING {name}")
    assert statement.method == "rap++"


@pytest.mark.parametrize("text", OURS)
def test_a_statement_with_a_word_left_out_or_misspelt_says_what_to_write(text: str) -> None:
    """Each word and sign in its turn. Without examples 436 of 627 such refusals had no hint."""
    parts = re.findall(r"'[^']*'|[\d.]+(?:e-\d+)?|\w+|[^\w\s]", text)
    hints = []
    for place in range(len(parts)):
        for instead in ([], ["zzz"]):
            try:
                read_parts(" ".join([*parts[:place], *instead, *parts[place + 1 :]]))
            except Refused as refused:
                hints.append(refused.hint)
    assert hints
    assert all(hints)


@pytest.mark.parametrize("example", [*_DECLARATIONS.values(), *_STATEMENTS.values()])
def test_every_example_is_a_statement(example: str) -> None:
    assert read_parts(example.format(table="t"))
