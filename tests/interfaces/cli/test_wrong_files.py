"""Files that are no vault, and results that would be written over one."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from sqlpriv.interfaces.cli.main import main

OPENING = {
    "query": ("{}", "SELECT 1"),
    "shell": ("{}", "-c", "SELECT 1"),
    "budget": ("{}",),
    "report": ("{}", "--to", "a.html"),
    "backup": ("{}", "copy"),
    "serve": ("{}", "--listen", "grpc://127.0.0.1:0"),
    "user": ("add", "{}", "ada"),
}
WRITING = {
    "query": ("{}", "SELECT 1", "-o", "{}"),
    "report": ("{}", "--to", "{}"),
    "shell": ("{}", "-c", ".output {}"),
}


def run(command: str, *arguments: str, vault: Path):
    filled = [argument.format(vault) for argument in arguments]
    done = CliRunner().invoke(main, [command, *filled])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


@pytest.mark.parametrize("command", OPENING)
@pytest.mark.parametrize("name", ["notes.md", "."])
def test_a_file_that_is_no_vault_is_named_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.md").write_text("# Notes, and more than sixteen bytes of them\n")
    done = run(command, *OPENING[command], vault=Path(name))
    assert done.exit_code in (1, 2)
    assert any(words in done.output for words in ("no DuckDB file", "a folder", "a directory"))
    assert [file.name for file in tmp_path.iterdir()] == ["notes.md"]


@pytest.mark.parametrize("command", WRITING)
def test_no_result_is_written_over_a_vault(vault: Path, command: str) -> None:
    before = vault.read_bytes()
    done = run(command, *WRITING[command], vault=vault)
    assert done.exit_code == 1
    assert "is not overwritten" in done.output
    assert vault.read_bytes() == before


def test_an_address_of_another_kind_is_refused_before_a_token_is_asked_for() -> None:
    done = run("query", "https://data.example.org", "SELECT 1", vault=Path())
    assert "grpc+tls://HOST:PORT, not https://" in done.output


def test_a_backup_that_is_none_says_what_to_name(tmp_path: Path) -> None:
    done = run("restore", str(tmp_path), "x.duckdb", vault=tmp_path)
    assert "`sqlpriv backup VAULT FOLDER` made" in done.output
