"""The pages for users: tutorials run as they are written, errors are named, pages build."""

import os
import re
import subprocess
import sys

import pytest
from support.forked_program import forked_program
from support.places import ROOT

import sqlpriv
from sqlpriv import dialect
from sqlpriv.statements.commands import Unanswerable

DOCS = ROOT / "docs"
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOISED = re.compile(r"-?\b\d[\d.,]*(?:e-?\d+)?|NULL")


@pytest.mark.whole
@pytest.mark.parametrize("page", ["analyst", "owner"])
def test_a_tutorial_runs_and_shows_what_it_says(page, tmp_path):
    """Each line of a block of text is one of the screen, but for numbers, which are noised."""
    blocks = BLOCK.findall((DOCS / "tutorials" / f"{page}.md").read_text())
    texts = [text for language, text in blocks if language == "text"]
    assert len(texts) >= 4
    assert len(blocks) - len(texts) >= 6
    environment = {
        **os.environ,
        "PATH": f"{forked_program().parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    screen = ""
    for language, text in blocks:
        if language == "text":
            lines = set(map(words_of, screen.splitlines()))
            assert [line for line in text.splitlines() if words_of(line) not in lines] == []
            continue
        command = ["sh", "-e", "-c", text] if language == "sh" else [sys.executable, "-c", text]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=240
        )
        assert done.returncode == 0, f"{text}\n{done.stderr}"
        screen = done.stdout + done.stderr
        assert screen


def words_of(line):
    """Returns a line without its numbers, and without ± of a number that is not known."""
    return tuple(word for word in NOISED.sub("#", line).split() if word not in ("#", "±#"))


HEAD = """# Errors and their remedies

Every error says what happened and whether anything was read or charged. In Python each is a class
of the module `sqlpriv`, in PEP 249's tree. This table is made of `sqlpriv/errors.py`
(`PYTHONPATH=tests python tests/interfaces/test_pages.py` writes it).

| error | is a | when | what to do |
|---|---|---|---|
"""
TAIL = """
A refusal (`Refused`) has `message`, `hint`, `line` and `column`: where in the statement, and what
to write instead. Over PostgreSQL's protocol they are the error's message, hint and position; over
Flight SQL the same classes are raised again.
"""


def errors_page():
    """Returns docs/errors.md as it has to be."""
    lines = []
    for name in sqlpriv.__all__:
        kind = getattr(sqlpriv, name)
        if isinstance(kind, type) and issubclass(kind, sqlpriv.Error) and "REMEDY" in vars(kind):
            when = kind.__doc__.split("\n\n")[0].strip().rstrip(".").replace("\n    ", " ")
            if kind.REMEDY:
                base = kind.__base__.__name__
                lines.append(f"| `{name}` | `{base}` | {when} | {kind.REMEDY} |\n")
    return HEAD + "".join(sorted(lines)) + TAIL


def test_the_page_of_errors_is_that_of_the_code():
    assert (DOCS / "errors.md").read_text() == errors_page()


def test_every_error_has_a_remedy():
    abstract = {"Error", "DatabaseError", "IntegrityError", "InternalError", "ProgrammingError"}
    for name in sqlpriv.__all__:
        kind = getattr(sqlpriv, name)
        if isinstance(kind, type) and issubclass(kind, sqlpriv.Error):
            assert bool(vars(kind).get("REMEDY")) == (name not in abstract), name


GRAMMAR = (DOCS / "reference" / "grammar.md").read_text()


def test_every_example_of_the_grammar_is_read():
    texts = re.findall(r"^```sql\n(.*?)^```$", GRAMMAR, re.MULTILINE | re.DOTALL)
    statements = [statement for text in texts for statement in dialect.split(text)]
    assert len(statements) >= 40
    for text in statements:
        try:
            (statement,) = dialect.read(text)
        except sqlpriv.Refused as refusal:
            raise AssertionError(f"{text}: {refusal}") from None
        assert not isinstance(statement, Unanswerable), text  # DuckDB's own


def test_the_grammar_names_every_word_of_ours():
    rules = "".join(re.findall(r"^```ebnf\n(.*?)^```$", GRAMMAR, re.MULTILINE | re.DOTALL))
    named = set(re.findall(r"'([A-Z_]+)'", rules))
    source = "".join(path.read_text() for path in (ROOT / "sqlpriv/dialect/reading").glob("ddl.py"))
    accepted = re.findall(r"c\.(?:accept|expect|at)\(([^)]*)\)", source)
    ours = set(re.findall(r'"([A-Z_]{2,})"', " ".join(accepted)))
    of_others = {"PRAGMA", "TABLE_INFO", "MAIN"}  # as tools write DESCRIBE, and DuckDB's schema
    assert ours - named <= of_others


@pytest.mark.slow
def test_the_pages_build_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs", reason='pip install "sqlpriv[docs]"')
    pytest.importorskip("mkdocstrings", reason='pip install "sqlpriv[docs]"')
    command = [sys.executable, "-m", "mkdocs", "build", "-f", ".ci/mkdocs.yml", "--strict"]
    command += ["-d", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    api = (tmp_path / "site" / "api" / "index.html").read_text()
    assert "half_widths" in api
    assert '<h2 id="sqlpriv.connect"' in api  # "Opens a vault." stood there, and not what does


if __name__ == "__main__":
    (DOCS / "errors.md").write_text(errors_page())
