"""The command line, as a shell script sees it: stdout, stderr, exit codes."""

import csv
import io
import json
import subprocess
import sys

import duckdb
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import sqlpriv
from sqlpriv.dialect import DIALECTS
from sqlpriv.interfaces.cli import main as cli
from sqlpriv.interfaces.cli.connecting import SQL_DIALECTS
from sqlpriv.interfaces.cli.main import main
from sqlpriv.interfaces.display import formats

BY_SEX = (
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) SEX, COUNT(*) AS n"
    " FROM people STRATIFY BY SEX"
)


def run(*arguments, stdin=None):
    return CliRunner().invoke(main, [str(a) for a in arguments], input=stdin)


def test_stdout_holds_the_rows_and_stderr_the_rest(vault):
    result = run("query", vault, BY_SEX, "--format", "csv")
    assert result.exit_code == 0, result.stderr
    rows = list(csv.reader(io.StringIO(result.stdout)))
    assert rows[0] == ["SEX", "n"]
    assert [row[0] for row in rows[1:]] == ["1", "2", ""]
    assert result.stderr.splitlines()[-1] == "3 rows · ± 95 % · ε 0.5 spent"


@pytest.mark.parametrize("group", [[], ["user"], ["ledger"]])
def test_a_list_of_commands_says_whole_sentences(group):
    """Click cuts a first sentence that is longer than the rest of the line."""
    listed = run(*group, "--help").stdout.partition("Commands:")[2]
    assert listed
    assert "..." not in listed


def help_pages(command, names=()):
    """Yields the help of a command and of those under it, 80 columns wide."""
    yield CliRunner().invoke(main, [*names, "--help"], terminal_width=80).stdout
    for name, inner in getattr(command, "commands", {}).items():
        yield from help_pages(inner, (*names, name))


def test_help_fits_a_terminal_of_80_columns():
    pages = list(help_pages(main))
    assert len(pages) > 14
    assert [line for page in pages for line in page.splitlines() if len(line) > 80] == []


def test_a_price_on_the_command_line(vault):
    unpriced = "SELECT SEX, COUNT(*) AS n FROM people GROUP BY SEX"
    assert "privacy_epsilon" in run("query", vault, unpriced).stderr
    assert "ε 0.25 spent" in run("query", vault, "--epsilon", "0.25", unpriced).stderr
    priced = unpriced.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.3)")
    assert "ε 0.3 spent" in run("query", vault, "--epsilon", "0.25", priced).stderr
    shell = run("shell", vault, "--epsilon", "0.35", "-c", unpriced + ";")
    assert "ε 0.35 spent" in shell.stdout + shell.stderr
    refused = run("query", vault, "--epsilon", "-1", unpriced)
    assert (refused.exit_code, "is a positive number" in refused.stderr) == (1, True)


def test_formats(vault, tmp_path):
    rows = json.loads(run("query", vault, BY_SEX, "--format", "json").stdout)
    assert [row["SEX"] for row in rows] == [1, 2, None]
    assert "±" in run("query", vault, BY_SEX).stdout
    target = tmp_path / "out.parquet"
    assert run("query", vault, BY_SEX, "--format", "parquet", "-o", target).stdout == ""
    assert pq.read_table(target).column_names == ["SEX", "n"]


def test_parquet_into_a_pipe(vault):
    command = [sys.executable, "-m", "sqlpriv", "query", str(vault), BY_SEX, "--format", "parquet"]
    done = subprocess.run(command, capture_output=True, check=True)
    assert pq.read_table(io.BytesIO(done.stdout)).num_rows == 3


def test_statements_from_a_file_and_from_stdin(vault, tmp_path):
    script = tmp_path / "report.sql"
    script.write_text(f"-- every group\n{BY_SEX};\nSHOW PRIVACY BUDGET;\n")
    from_file = run("query", vault, "-f", script, "--format", "csv")
    assert from_file.exit_code == 0, from_file.stderr
    assert "unit_table" in from_file.stdout
    assert run("query", vault, "--format", "csv", stdin=BY_SEX).stdout.startswith("SEX,n\n")


def test_a_refused_statement(vault, tmp_path):
    script = tmp_path / "report.sql"
    script.write_text("SHOW PRIVACY TABLES;\n\nSELECT SEX\nFROM people;\n")
    result = run("query", vault, "-f", script, "--format", "csv")
    assert result.exit_code == 1
    assert result.stdout.startswith("table,status")
    assert result.stderr.splitlines()[1].startswith(f"{script}: Refused: ")
    assert "  3 │ SELECT SEX" in result.stderr
    assert "Hint: " in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["query", "missing.duckdb", "SELECT 1"], "sqlpriv demo"),
        (["query", "VAULT", "SELECT 1", "-f", "VAULT"], "not both"),
        (["query", "VAULT", "SELECT 1", "--format", "xml"], "xml"),
        (["query", "VAULT", "SELECT 1", "--role", "root"], "root"),
        (["nonsense"], "nonsense"),
    ],
)
def test_a_wrong_command(vault, arguments, told):
    result = run(*[vault if a == "VAULT" else a for a in arguments])
    assert result.exit_code == 2
    assert told in result.stderr
    assert result.stdout == ""


def test_a_budget_that_is_spent(vault):
    greedy = BY_SEX.replace("0.5", "2.9")
    assert run("query", vault, greedy).exit_code == 0
    result = run("query", vault, greedy.replace("COUNT(*)", "AVG(AGEP)"))
    assert result.exit_code == 1
    assert "Budget exhausted" in result.stderr
    assert "SHOW PRIVACY BUDGET" in result.stderr


def test_budget(vault):
    (row,) = json.loads(run("budget", vault, "--format", "json").stdout)
    assert row["unit_table"] == "people"
    assert row["epsilon"] == pytest.approx(3, abs=1e-3)
    assert row["charges"] == 0


def test_publish(vault, tmp_path):
    create = (
        "CREATE SYNTHETIC TABLE s AS SELECT SEX, AGEP FROM people STRATIFY BY SEX"
        " USING independent OPTIONS (epsilon = 1)"
    )
    assert run("query", vault, create).exit_code == 0
    target = tmp_path / "bi.duckdb"
    result = run("publish", vault, "S", "--to", target)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"published s to {target}\n"
    with duckdb.connect(str(target), read_only=True) as plain:
        (comment,) = plain.execute("SELECT comment FROM duckdb_tables()").fetchone()
    told = ("Method: independent", "epsilon = 1,", "delta = 1e-09", "Strata: SEX", "by ", create)
    assert all(part in comment for part in told)
    refused = run("publish", vault, "people", "--to", target)
    assert refused.exit_code == 1
    assert "private tables are never published" in refused.stderr


def test_the_owner_starts_a_vault(tmp_path):
    path = tmp_path / "new.duckdb"
    result = run("query", path, "CREATE TABLE t (a INTEGER)", "--role", "owner")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == ""
    refused = run("query", path, "SELECT COUNT(*) FROM t")
    assert refused.exit_code == 1


def test_the_shell_reads_a_pipe(vault):
    result = run("shell", vault, stdin=f".mode csv\n{BY_SEX};\nSELECT SEX FROM people;\n")
    assert result.exit_code == 1
    assert result.stdout.startswith("SEX,n\n")
    assert "Refused: " in result.stderr


def test_the_shell_runs_what_it_is_given_and_leaves(vault, tmp_path):
    script = tmp_path / "more.sql"
    script.write_text(".mode jsonl\nSHOW PRIVACY\nTABLES;\n")
    result = run("shell", vault, "-c", ".mode tsv", "-c", f"{BY_SEX};", "-f", script)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "SEX\tn"
    assert json.loads(lines[-1])["table"] == "people"
    assert run("shell", vault, "-c", "SELECT SEX FROM people").exit_code == 1
    assert run("shell", vault, "-f", tmp_path / "missing.sql").exit_code == 2


def test_the_formats_offered_are_those_there_are():
    assert cli.FORMS == formats.FORMATS
    assert SQL_DIALECTS == DIALECTS
    assert cli.FORMS[-2:] == tuple(formats.BINARY)


def test_help_and_version():
    assert "sqlpriv demo" in run("--help").stdout
    for command in ("query", "shell", "budget", "publish", "demo"):
        result = run(command, "--help")
        assert result.exit_code == 0
        assert command in result.stdout
    assert run("--version").stdout == f"sqlpriv, version {sqlpriv.__version__}\n"
