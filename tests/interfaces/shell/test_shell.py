"""The shell, from a pipe: what it runs, prints, and answers to the system."""

import io
import os
import re
import signal
import stat
import time

import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from support.scripted_session import NOISED, ScriptedSession, done, exact

from sqlpriv import errors
from sqlpriv.interfaces.shell.prompt import history_file
from sqlpriv.interfaces.shell.shell import Shell, is_finished
from sqlpriv.kernel.terms.budget import Epsilon
from sqlpriv.session.session import Charge, Progress, Quote


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
        "Refused: no raw column",
        "  1 │ SELECT sex",
        "    │        ^",
        "Hint: AVG(sex)",
    ]
    assert "102.4" in out
    assert code == 1


def test_the_statements_after_a_failed_one_on_its_line_are_not_run():
    session, *_ = piped("SELECT a; SELECT b;", script={"SELECT a": errors.Refused("no")})
    assert session.asked == ["SELECT a"]


def test_ctrl_c_ends_the_statement_and_not_the_shell():
    session, _, err, _ = piped("SELECT a;\nSELECT b;", script={"SELECT a": KeyboardInterrupt()})
    assert session.asked == ["SELECT a", "SELECT b"]
    assert err.startswith("Interrupted.")


class Interrupted(ScriptedSession):
    """Ctrl-C is pressed while the engine reads, which then fails for a reason of its own."""

    def execute(self, *_statement, **_more):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            raise errors.ReadFailed("the engine could not finish reading") from None


def test_ctrl_c_while_the_engine_reads_is_no_failure_of_the_engine():
    err = io.StringIO()
    shell = Shell(Interrupted(), io.StringIO(), err)
    before = signal.getsignal(signal.SIGINT)
    shell.take("SELECT a;")
    assert err.getvalue().startswith("Interrupted. What was charged stays charged")
    assert signal.getsignal(signal.SIGINT) is before


class Deaf(ScriptedSession):
    """Ctrl-C is pressed while a library's callback runs, where Python drops what it raises."""

    def execute(self, *_statement, progress, **_more):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(5)
        except KeyboardInterrupt:
            pass
        for drawn in range(3):
            progress(Progress("drawing rows", drawn, 3))
        return exact(a=[1])


def test_ctrl_c_in_a_callback_of_a_library_ends_the_statement_at_its_next_report():
    out, err = io.StringIO(), io.StringIO()
    Shell(Deaf(), out, err).take("SELECT a;")
    assert err.getvalue().startswith("Interrupted. What was charged stays charged")
    assert out.getvalue() == ""


def test_modes():
    _, out, _, _ = piped(
        ".mode csv\nSELECT 1;\n.mode json\nSELECT 1;", script={"SELECT 1": exact(a=[1])}
    )
    assert out == 'a\n1\n[\n{"a": 1}\n]\n'


def test_a_mistyped_command_is_guessed():
    assert "There is no .expalin. Did you mean .explain? " in piped(".expalin SELECT 1;\n")[2]
    assert piped(".zzz\n")[2] == "There is no .zzz. Type .help to see the commands.\n"


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
    [
        (".what", "Type .help"),
        ("\\l", "Type .help"),
        (".mode xml", ".mode table | csv | tsv"),
        (".timer x", ".timer on"),
        (".maxrows -1", ".maxrows and a number from 1 on"),
        (".maxwidth 5", ".maxwidth and a number from 20 on"),
        (".read", ".read FILE"),
        (".read /nowhere/x.sql", "/nowhere/x.sql: No such file"),
        (".explain", ".explain SELECT"),
        (".output /nowhere/x.csv", "/nowhere/x.csv: No such file"),
        (".schema x", "Type .tables"),
    ],
)
def test_a_wrong_command_is_answered_with_the_right_one(command, told):
    _, _, err, code = piped(command)
    assert told in err
    assert code == 1


def test_help_lists_every_command():
    from sqlpriv.interfaces.shell.dot_commands import COMMANDS

    out = piped(".help")[1]
    assert all(f"  {name} " in out for name in COMMANDS)
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("text", ["help", "help;", "HELP ;", ".help;"])
def test_help_needs_no_dot(text):
    session, out, err, code = piped(text)
    assert (out, err, code) == (piped(".help")[1], "", 0)
    assert session.asked == []


@pytest.mark.parametrize("text", ["quit", "exit;", "QUIT;"])
def test_leaving_needs_no_dot(text):
    assert piped(f"{text}\nSELECT 1;", script={"SELECT 1": exact(a=[1])})[0].asked == []


@pytest.mark.parametrize("text", [r"\watch 5", "SELECT 1 \\watch", "SELECT 1;\n\\watch 2;"])
def test_watch_is_refused_with_the_reason(text):
    session, _, err, code = piped(text)
    assert "same answer from its seal" in err
    assert code == 1
    assert "SELECT 1 " not in "".join(session.asked)


def test_watch_inside_a_text_is_text():
    assert piped(r"SELECT ' \watch 5';")[0].asked == [r"SELECT ' \watch 5'"]


def test_results_go_to_a_file_until_output_alone(tmp_path):
    path = tmp_path / "out.csv"
    text = f".mode csv\n.output {path}\nSELECT 1;\nSELECT 1;\n.output\nSELECT 1;"
    _, out, _, _ = piped(text, script={"SELECT 1": exact(a=[1])})
    assert path.read_text() == "a\n1\na\n1\n"
    assert out.splitlines() == [*["1 row · exact: not protected"] * 2, "a", "1"]


@pytest.mark.parametrize(
    ("mode", "read"), [("parquet", pq.read_table), ("arrow", feather.read_table)]
)
def test_binary_forms_need_a_file_before_anything_is_paid(mode, read, tmp_path):
    session, _, err, code = piped(f".mode {mode}\nSELECT 1;")
    assert (session.asked, code) == ([], 1)
    assert ".output FILE comes first" in err
    path = tmp_path / "out"
    piped(f".mode {mode}\n\\o {path}\nSELECT 1;", script={"SELECT 1": exact(a=[1, 2])})
    assert read(path).to_pydict() == {"a": [1, 2]}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_files_are_run(tmp_path):
    inner, outer = tmp_path / "inner.sql", tmp_path / "outer.sql"
    inner.write_text("SELECT 1;\nSELECT\n2;")
    outer.write_text(f"\\i {inner}\nSELECT 3")
    assert piped(f".read {outer}\nSELECT 4;")[0].asked == [
        "SELECT 1",
        "SELECT\n2",
        "SELECT 3",
        "SELECT 4",
    ]


def test_x_switches_to_a_line_for_each_value():
    _, out, _, _ = piped("\\x\nSELECT 1;\n\\x\nSELECT 1;")
    assert "─[ row 1 ]" in out
    assert "n   │ 102.4 ±3.3\n" in out
    assert out.count("3 rows · ± 95 % · ε 0.5 spent") == 2
    assert out.count("─[ row") == 3


def test_schema_synth_and_describe():
    described = exact(column_name=["sex"], column_type=["TINYINT"], privacy_domain=["IN (1, 2)"])
    lines = [
        "ALTER TABLE people SET PRIVACY (",
        "    COLUMN sex IN (1, 2)",
        ");",
        "GRANT SELECT ON people TO 'ada';",
        "ALTER TABLE peoples SET PRIVACY (PUBLIC);",
    ]
    keys = exact(
        constraint_type=["NOT NULL", "PRIMARY KEY"], constraint_column_names=[["sex"], ["sex"]]
    )
    declared = exact(declaration=lines)
    columns = exact(
        column_name=["sex", "mood"], data_type=["TINYINT", "ENUM()"], is_nullable=[False, True]
    )
    of_people = "SELECT * FROM duckdb_columns() WHERE table_name = 'people'"
    script = {
        of_people: columns,
        of_people.replace("duckdb_columns", "duckdb_constraints"): keys,
        "DESCRIBE people": described,
        "SHOW PRIVACY DECLARATIONS": declared,
    }
    _, out, err, _ = piped(".schema People\n\\d people\n\\d\n.synth\n.synth x", script=script)
    assert err == ""
    assert (
        'CREATE TABLE "people" (\n    "sex" TINYINT NOT NULL,\n    "mood" VARCHAR,  -- an ENUM'
        in out
    )
    assert '\n    PRIMARY KEY ("sex")\n);\n' in out  # else a KEY without a bound is refused again
    assert "GRANT SELECT ON people TO 'ada';" in out
    assert "ALTER TABLE people SET PRIVACY (\n    COLUMN sex IN (1, 2)\n);" in out
    assert "peoples" not in out
    assert "column_name" in out
    assert "people_synth (age)" in out
    assert "people_synth: Synthetic rows" in out
    assert 'no synthetic table "x"' in out


def test_explain_is_of_the_last_statement_or_the_one_given():
    session, *_ = piped("SELECT 1;\n.explain\n.explain SELECT 2\n.explain")
    asked = ["SELECT 1", "EXPLAIN PRIVACY SELECT 1", *["EXPLAIN PRIVACY SELECT 2"] * 2]
    assert session.asked == asked


def test_explain_is_of_what_was_entered_not_of_what_a_command_ran():
    session, *_ = piped("SELECT 1;\n\\d people\n.budget\n.explain")
    assert session.asked == [
        "SELECT 1",
        "DESCRIBE people",
        "SHOW PRIVACY BUDGET",
        "EXPLAIN PRIVACY SELECT 1",
    ]


def test_an_exception_that_should_not_be_does_not_end_the_shell_nor_tell_what_it_holds():
    script = {"SELECT a": ValueError("the value 4711 of Ada")}
    session, _, err, code = piped("SELECT a;\nSELECT b;", script=script)
    assert session.asked == ["SELECT a", "SELECT b"]
    assert re.search(r"Internal error: ValueError at scripted_session.py:\d+", err)
    assert "4711" not in err
    assert code == 1


def test_nothing_is_asked_where_nobody_can_answer():
    session, *_ = piped("SELECT 1;")
    assert session.asked == ["SELECT 1"]


def asked_at_a_terminal(price, answer):
    """Returns the questions and statements of a session where somebody answers."""
    charge = Charge("people", Epsilon.at_most(price), Epsilon.at_most(1.205), 0.0)
    out, questions = io.StringIO(), []
    shell = Shell(ScriptedSession(price=Quote((charge,) if price else ())), out, out)
    shell._answer = lambda question: questions.append(question) or answer
    shell.take("SELECT a;")
    return questions, shell.session.asked, out.getvalue()


@pytest.mark.parametrize(
    ("answer", "run"), [("y", True), (" Yes ", True), ("", False), ("n", False)]
)
def test_a_price_is_asked_before_it_is_paid(answer, run):
    questions, asked, out = asked_at_a_terminal(0.5, answer)
    assert questions == ["This spends ε 0.50 of 1.20 left. Run? [y/N] "]
    assert ("SELECT a" in asked) is run
    assert ("Not run; nothing was charged." in out) is not run


@pytest.mark.parametrize("price", [0.0, 1.3])
def test_what_is_free_or_more_than_is_left_is_not_asked(price):
    """The statement itself says that it is more than is left."""
    assert asked_at_a_terminal(price, "")[:2] == ([], ["SELECT a"])


def test_confirm_off():
    shell = Shell(ScriptedSession(), io.StringIO(), io.StringIO())
    shell._answer = lambda _: pytest.fail("asked")
    shell.take(".confirm off")
    shell.take("SELECT a;")
    assert shell.session.asked == ["SELECT a"]


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
    [
        ("", True),
        (".help", True),
        ("\\d people", True),
        ("SELECT 1 \\watch 2", True),
        ("SELECT 1", False),
        ("SELECT 1;", True),
        ("SELECT ';", False),
    ],
)
def test_enter_ends_what_is_whole(text, whole):
    assert is_finished(text) is whole


def test_the_history_is_its_owners_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    path = history_file()
    path.chmod(0o644)  # as an older version, or a careless copy, may have left it
    assert stat.S_IMODE(history_file().stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_nothing_is_coloured_in_a_pipe():
    assert "\x1b" not in piped("SELECT 1;", script={"SELECT 1": NOISED})[1]


def test_a_prompt_of_many_budgets_leaves_room_to_write(monkeypatch):
    """Two budgets took 48 of 80 columns: each statement wrapped."""
    session = ScriptedSession(left=2.0)
    accounts = (("personen_2025", 2.781, 3.0), ("hospital_visits", 0.5, 3.0), ("staff", 1.0, 1.0))
    monkeypatch.setattr(session, "budgets", lambda: accounts)
    shell = Shell(session, io.StringIO(), io.StringIO())
    assert shell.prompt() == "hospital_visits ε 0.50/3.00 · 2 more> "
    monkeypatch.setattr(session, "budgets", lambda: (("a", 2.0, 3.0), ("b", 1.0, 3.0)))
    assert shell.prompt() == "a ε 2.00/3.00 · b ε 1.00/3.00> "
