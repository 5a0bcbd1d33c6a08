"""`sqlpriv query | shell | budget` on a server, and other tools that open one by its address."""

import csv
import io
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
from click.testing import CliRunner
from support.endless_query import ENDLESS

import sqlpriv
from sqlpriv.interfaces.cli.main import main

COUNTS = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex"


@pytest.fixture
def remote(served, tmp_path, monkeypatch):
    """A folder whose sqlpriv.toml knows the server as `census`, and ada's token in a file."""
    (tmp_path / "ada.token").write_text(served.tokens["ada"])
    (tmp_path / "ada.token").chmod(0o600)
    (tmp_path / "sqlpriv.toml").write_text(
        f'[connections.census]\nurl = "{served.url}"\nca = "{served.ca}"\n'
        'token_file = "ada.token"\nprivacy_epsilon = 0.1\n'
    )
    monkeypatch.chdir(tmp_path)
    for name in ("SQLPRIV_TOKEN", "SQLPRIV_TOKEN_FILE", "SQLPRIV_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return served


def run(*arguments, stdin=None, **environment):
    return CliRunner().invoke(main, [str(a) for a in arguments], input=stdin, env=environment)


def test_query_and_budget_with_a_token_from_a_file_and_from_the_environment(remote):
    options = ("--ca", remote.ca)
    sql = f"SET privacy_epsilon = 0.1; {COUNTS}"
    first = run("query", remote.url, sql, "--format", "csv", *options, "--token-file", "ada.token")
    assert first.exit_code == 0, first.stderr
    rows = list(csv.DictReader(io.StringIO(first.stdout)))
    assert [row["sex"] for row in rows] == ["1", "2"]
    assert "ε 0.1 spent" in first.stderr
    token = remote.tokens["ada"]
    again = run("query", remote.url, sql, "--format", "csv", *options, SQLPRIV_TOKEN=token)
    assert again.stdout == first.stdout
    assert "no charge" in again.stderr
    budget = run("budget", remote.url, "--format", "csv", *options, SQLPRIV_TOKEN=token)
    assert next(csv.DictReader(io.StringIO(budget.stdout)))["unit_table"] == "people"


@pytest.mark.usefixtures("remote")
def test_a_connection_by_its_name():
    by_name = run("query", "census", COUNTS, "--format", "csv")
    assert by_name.exit_code == 0, by_name.stderr
    with sqlpriv.connect("census") as connection:
        assert connection.session.settings == {"privacy_epsilon": 0.1}
        frame = connection.execute(COUNTS).df()
    assert frame.to_csv(index=False) == by_name.stdout


@pytest.mark.usefixtures("remote")
def test_the_shell_shows_what_is_left_and_goes_on_after_errors():
    entries = f"\\d\n{COUNTS};\nSELECT secret FROM people;\n.explain {COUNTS}\n.budget\n"
    result = run("shell", "census", stdin=entries)
    assert result.exit_code == 1
    assert "people (id, sex, income, secret)" in result.stdout
    assert "ε 0.1 spent" in result.stdout
    assert "count of rows" in result.stdout
    assert "Refused: " in result.stderr
    assert "    │        ^" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--token-file", "missing"), "missing cannot be read"),
        (("--role", "owner"), "by the token"),
        (("--principal", "bob"), "by the token"),
        (("--ca", "missing.pem"), "missing.pem cannot be read"),
        ((), "token is wrong"),
    ],
)
def test_what_is_said_of_a_server_that_lets_nobody_in(remote, options, words):
    ca = () if "--ca" in options else ("--ca", remote.ca)
    result = run("query", remote.url, COUNTS, *ca, *options, SQLPRIV_TOKEN="ada.wrong")
    assert result.exit_code == 1
    assert words in result.stderr


def test_what_is_said_of_no_server_and_of_addresses_that_are_none(remote):
    token = remote.tokens["ada"]
    untrusted = run("query", remote.url, COUNTS, SQLPRIV_TOKEN=token)
    assert "signed by nobody who is trusted here" in untrusted.stderr
    closed = run("query", "grpc://127.0.0.1:9", COUNTS, SQLPRIV_TOKEN=token)
    assert "the server cannot be reached: Connection refused" in closed.stderr
    in_address = run("query", remote.url.replace("//", f"//{token}@"), COUNTS)
    assert "an address has no token in it" in in_address.stderr
    assert token not in in_address.stderr
    on_file = run("query", remote.vault, COUNTS, "--token-file", "ada.token")
    assert on_file.exit_code == 2
    assert "for a server" in on_file.stderr


def test_ctrl_c_gives_a_remote_statement_up_and_the_session_goes_on(remote):
    text = f"{ENDLESS};\nSELECT COUNT(*) AS after FROM made;\n"
    command = [sys.executable, "-m", "sqlpriv", "shell", "census"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    runner = remote.server._runner
    with subprocess.Popen(command, **pipes, text=True) as process:
        process.stdin.write(text)
        process.stdin.close()
        process.stdin = None  # communicate() would flush it
        _wait_for(lambda: any(job.running for job in tuple(runner._all_jobs)))
        time.sleep(0.5)  # until it reads
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert err.startswith("Interrupted.")
    assert "after" in out
    assert "500" in out
    _wait_for(lambda: not runner._all_jobs)


def _wait_for(happens, seconds=60):
    deadline = time.monotonic() + seconds
    while not happens():
        assert time.monotonic() < deadline, "it did not come to that in time"
        time.sleep(0.05)


# --- other tools ---


def test_sqlalchemy_reads_a_server(remote, monkeypatch):
    sa = pytest.importorskip("sqlalchemy", reason='pip install "sqlpriv[sqlalchemy]"')
    from sqlalchemy.dialects import registry

    registry.register("sqlpriv", "sqlpriv.interfaces.integrations.sqlalchemy", "SqlprivDialect")
    address, token = remote.url.removeprefix("grpc+tls://"), remote.tokens["ada"]
    name, _, secret = token.partition(".")
    options = f"privacy_epsilon=0.1&ca={remote.ca}"
    answers = []
    for credentials in (f"{token}@", f"{name}:{secret}@", ""):
        monkeypatch.setenv("SQLPRIV_TOKEN", token if not credentials else "ada.wrong")
        engine = sa.create_engine(f"sqlpriv://{credentials}{address}/?{options}")
        with engine.connect() as connection:
            answers.append(connection.execute(sa.text(COUNTS)).all())
        assert "people" in sa.inspect(engine).get_table_names()
    assert answers[0] == answers[1] == answers[2]
    assert secret not in repr(sa.create_engine(f"sqlpriv://{name}:{secret}@{address}/"))
    # a connection that is left to the garbage collector may be closed by the server's own thread,
    # which then waits for itself: both are in this process
    with engine.connect() as connection:
        frame = pd.read_sql(sa.text("SELECT COUNT(*) AS n FROM made"), connection)
    assert frame["n"].tolist() == [500]
    with sa.create_engine("sqlpriv:///census").connect() as connection:
        assert connection.execute(sa.text(COUNTS)).all() == answers[0]
    for url, words in (("sqlpriv://", "vault is missing"), ("sqlpriv://h/?role=x", "no option")):
        with pytest.raises(sa.exc.ArgumentError, match=words):
            sa.create_engine(url).connect()


def test_harlequin_reads_a_server(remote):
    pytest.importorskip("harlequin", reason='pip install "sqlpriv[harlequin]"')
    from sqlpriv.interfaces.integrations.harlequin import Adapter

    adapter = Adapter([remote.url], token_file="ada.token", ca=str(remote.ca), epsilon="0.1")
    session = adapter.connect()
    try:
        assert session.init_message.startswith(f"{remote.url} as analyst · people ε ")
        assert session.execute(COUNTS).columns()[-1] == ("n ±", "#.#")
        labels = {item.label for item in session.get_catalog().items[0].children}
        assert "people" in labels
    finally:
        session.close()
