"""The shell, from a pipe: what it runs, prints, and answers to the system."""

import io
import stat

import pytest
from scripted import NOISED, ScriptedSession, done, exact

from sqlpriv import errors
from sqlpriv.interfaces.prompt import finished, history_file
from sqlpriv.interfaces.shell import Shell


def piped(text, **script):
    """Returns the session, stdout, stderr and exit code of a text piped into the shell."""
    session = ScriptedSession(script.pop("script", {}), **script)
    out, err = io.StringIO(), io.StringIO()
    code = Shell(session, out, err).run(io.StringIO(text))
    return session, out.getvalue(), err.getvalue(), code


def test_statements_run_over_lines_up_to_their_semicolon():
    session, out, err, code = piped("SELECT sex\nFROM people;\nSELECT 1; SELECT 2;\n")
    assert session.asked == ["SELECT sex\nFROM people", "SELECT 1", "SELECT 2"]
    assert out.count("3 rows · ± 95 % · ε 0.5 spent") == 3
    assert (err, code) == ("", 0)


def test_a_last_statement_needs_no_semicolon():
    assert piped("SELECT 1")[0].asked == ["SELECT 1"]


def test_an_error_is_shown_with_its_place_and_the_rest_is_run():
    refusal = errors.Refused("no raw column", hint="AVG(sex)", line=1, column=8)
    _, out, err, code = piped("SELECT sex;\nSELECT n;", script={"SELECT sex": refusal})
    assert err.splitlines() == [
        "Refused: no raw column", "  1 │ SELECT sex", "    │        ^", "Hint: AVG(sex)",
    ]  # fmt: skip
    assert "102.4" in out
    assert code == 1


def test_the_statements_after_a_failed_one_on_its_line_are_not_run():
    session, *_ = piped("SELECT a; SELECT b;", script={"SELECT a": errors.Refused("no")})
    assert session.asked == ["SELECT a"]


def test_ctrl_c_ends_the_statement_and_not_the_shell():
    session, _, err, _ = piped("SELECT a;\nSELECT b;", script={"SELECT a": KeyboardInterrupt()})
    assert session.asked == ["SELECT a", "SELECT b"]
    assert err.startswith("Interrupted.")


def test_modes():
    _, out, _, _ = piped(
        ".mode csv\nSELECT 1;\n.mode json\nSELECT 1;", script={"SELECT 1": exact(a=[1])}
    )
    assert out == 'a\n1\n[\n{"a": 1}\n]\n'


def test_timer():
    assert "s\n" in piped(".timer on\nSELECT 1;")[1].splitlines(keepends=True)[-1]
    assert not piped("SELECT 1;")[1].rstrip().endswith(" s")


def test_tables_and_budget():
    session, out, _, _ = piped(".tables\n.budget\n")
    assert "people (sex, Income, stratify)" in out
    assert "people_synth (age)" in out
    assert session.asked == ["SHOW PRIVACY BUDGET"]


def test_messages_of_statements_without_rows():
    assert (
        "table made" in piped("CREATE TABLE t;", script={"CREATE TABLE t": done("table made")})[1]
    )


@pytest.mark.parametrize(
    ("command", "told"),
    [(".what", "Type .help"), (".mode xml", ".mode table | csv | json"), (".timer x", ".timer on")],
)
def test_a_wrong_command_is_answered_with_the_right_one(command, told):
    _, _, err, code = piped(command)
    assert told in err
    assert code == 1


def test_help_lists_every_command():
    from sqlpriv.interfaces.commands import COMMANDS

    out = piped(".help")[1]
    assert all(f"  {name}" in out for name in COMMANDS)


def test_quit_leaves_the_rest_unread():
    assert piped(".quit\nSELECT 1;")[0].asked == []
    assert piped(".exit\nSELECT 1;")[0].asked == []


@pytest.mark.parametrize(
    ("left", "prompt"),
    [
        (2.419, "people ε 2.41/3.00> "),  # rounded down
        (0.0, "people ε 0.00/3.00> "),
        (3.0, "people ε 3.00/3.00> "),
        (2.99999998, "people ε 3.00/3.00> "),  # what a budget of 3 comes to, in whole nanos of rho
        (2.9999, "people ε 2.99/3.00> "),
    ],
)
def test_the_prompt_tells_what_is_left(left, prompt):
    assert Shell(ScriptedSession(left=left), io.StringIO(), io.StringIO()).prompt() == prompt


@pytest.mark.parametrize(
    ("text", "whole"),
    [("", True), (".help", True), ("SELECT 1", False), ("SELECT 1;", True), ("SELECT ';", False)],
)
def test_enter_ends_what_is_whole(text, whole):
    assert finished(text) is whole


def test_the_history_is_its_owners_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = history_file()
    path.chmod(0o644)  # as an older version, or a careless copy, may have left it
    assert stat.S_IMODE(history_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_nothing_is_coloured_in_a_pipe():
    assert "\x1b" not in piped("SELECT 1;", script={"SELECT 1": NOISED})[1]
