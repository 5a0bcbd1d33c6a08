"""`sqlpriv query`: what goes where, and what is left behind when a statement fails."""

import stat

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from support.scripted_session import ScriptedSession, done, exact

import sqlpriv
from sqlpriv import errors
from sqlpriv.interfaces.cli.main import main
from sqlpriv.interfaces.cli.query import run_text
from sqlpriv.interfaces.display.statements import StatementFailed, located_statements


def test_every_result_is_written_and_the_notes_go_to_stderr(capsys):
    script = {"a": exact(x=[1]), "b": done("made"), "c": exact(y=[2])}
    run_text(ScriptedSession(script), "a; b; c", "csv", None)
    out, err = capsys.readouterr()
    assert out == "x\n1\ny\n2\n"
    assert err.splitlines() == [
        "1 row · exact: not protected",
        "made",
        "1 row · exact: not protected",
    ]


def test_a_failure_ends_it_and_tells_the_place_in_the_file(capsys):
    session = ScriptedSession({"b x": errors.Refused("no x", line=1, column=3)})
    with pytest.raises(StatementFailed) as caught:
        run_text(session, "a;\n\nb x;\nc", "csv", None, name="report.sql")
    assert session.asked == ["a", "b x"]
    assert str(caught.value).splitlines()[:3] == [
        "report.sql: Refused: no x",
        "  3 │ b x",
        "    │   ^",
    ]
    assert "102.4" in capsys.readouterr().out  # what succeeded before is not lost


def test_ctrl_c_is_told_and_runs_nothing_more():
    """It was "Aborted!", which does not say what was paid."""
    session = ScriptedSession({"a": KeyboardInterrupt()})
    with pytest.raises(StatementFailed, match="a read that was cut off is charged again"):
        run_text(session, "a; b", "csv", None)
    assert session.asked == ["a"]


def test_a_file_appears_when_all_has_succeeded(tmp_path):
    target = tmp_path / "out.csv"
    target.write_text("of yesterday")
    session = ScriptedSession({"b": errors.Refused("no")})
    with pytest.raises(StatementFailed):
        run_text(session, "a; b", "csv", target)
    assert target.read_text() == "of yesterday"
    run_text(ScriptedSession({"a": exact(x=[1])}), "a", "csv", target)
    assert target.read_text() == "x\n1\n"
    assert [path.name for path in tmp_path.iterdir()] == ["out.csv"]
    assert stat.S_IMODE(target.stat().st_mode) & 0o600 == 0o600


def test_an_unwritable_place_is_found_out_before_anything_is_paid(tmp_path):
    session = ScriptedSession()
    with pytest.raises(StatementFailed, match="nothing was run"):
        run_text(session, "a", "csv", tmp_path / "missing" / "out.csv")
    assert session.asked == []


def test_parquet_holds_the_last_rows_and_says_so(tmp_path, capsys):
    target = tmp_path / "out.parquet"
    session = ScriptedSession({"a": exact(x=[1]), "b": exact(y=[2]), "c": done("made")})
    run_text(session, "a; b; c", "parquet", target)
    assert pq.read_table(target).to_pydict() == {"y": [2]}
    assert "the last result alone" in capsys.readouterr().err


def test_parquet_of_nothing_is_an_error(tmp_path):
    with pytest.raises(StatementFailed, match="nothing to write"):
        run_text(ScriptedSession({"a": done("made")}), "a", "parquet", tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


def test_statements_are_located_by_line():
    text = "SELECT 1;\n\n  SELECT 1;\nSELECT 2"
    assert list(located_statements(ScriptedSession(), text)) == [
        ("SELECT 1", 1),
        ("SELECT 1", 3),
        ("SELECT 2", 4),
    ]


def test_a_statement_without_quotes_is_told_so(tmp_path):
    """The shell has taken it apart, and the quotes of its texts away: it is not put together."""
    result = CliRunner().invoke(main, ["query", str(tmp_path / "x.duckdb"), "SELECT", "1"])
    assert (result.exit_code, "put it in quotes" in result.output) == (2, True)


def test_a_list_of_nobody_says_how_somebody_is_let_in(tmp_path):
    vault = tmp_path / "x.duckdb"
    with sqlpriv.connect(vault, role="owner"):
        pass
    result = CliRunner().invoke(main, ["user", "list", str(vault)])
    assert "sqlpriv user add" in result.output
