"""What the shell offers for the word before the cursor."""

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from support.scripted_session import ScriptedSession

from sqlpriv.interfaces.shell import dot_commands
from sqlpriv.interfaces.shell.completion import SqlCompleter
from sqlpriv.synth.registry import REGISTRY


def offers(before, after=""):
    completer = SqlCompleter(ScriptedSession().catalog, dot_commands.COMMANDS)
    document = Document(before + after, cursor_position=len(before))
    return [c.text for c in completer.get_completions(document, CompleteEvent())]


@pytest.mark.parametrize(
    ("before", "offered"),
    [
        ("SELECT a FROM people STR", ["STRATIFY BY"]),
        ("select a from people str", ["STRATIFY BY"]),
        ("SELECT a FROM ", ["people", "people_synth"]),
        ("SELECT a FROM people_", ["people_synth"]),
        ("SELECT Inc", ["Income"]),
        ("CREATE SYNTHETIC TABLE s AS SELECT a FROM people USING ", sorted(REGISTRY)),
        ("ALTER TABLE people SET PRIVACY BO", []),
        ("ALTER TABLE people ADD", ["ADD PRIVACY_KEY (", "ADD PRIVACY_LINK ("]),
        (
            "ALTER TABLE people ALTER COLUMN sex SET PRIVACY DOMAIN I",
            ["IF(", "IN", "IS NULL", "Income"],
        ),
        ("ALTER TABLE people ALTER COLUMN sex DROP", ["DROP PRIVACY DOMAIN"]),
        (".mo", [".mode"]),
        ("\\d", ["\\dt"]),
        (".mode js", ["json", "jsonl"]),
        (".schema peo", ["people", "people_synth"]),
        ("\\d people_", ["people_synth"]),
        ("PUB", ["PUBLISH"]),
        ("PUBLISH peo", ["people_synth"]),
        ("SELECT STD", ["STDDEV(", "STDDEV_POP(", "STDDEV_SAMP("]),
        ("SELECT p.Inc", ["Income"]),
        ("SELECT 1 ", []),
    ],
)
def test_offers(before, offered):
    assert sorted(offers(before)) == sorted(offered)


def test_columns_are_those_of_the_tables_in_use():
    assert "age" in offers("SELECT ag", " FROM people_synth")
    assert "age" not in offers("SELECT ag", " FROM people")


def test_a_column_named_as_our_keyword_is_quoted():
    completer = SqlCompleter(ScriptedSession().catalog, ())
    assert '"stratify"' in completer._offers("SELECT ", "SELECT x FROM people", "x")


def test_the_word_is_replaced_and_not_doubled():
    completer = SqlCompleter(ScriptedSession().catalog, ())
    (found,) = completer.get_completions(Document("SELECT Inco"), CompleteEvent())
    assert found.start_position == -4
