"""`sqlpriv init`: from a file, a folder or a vault to declarations that an owner confirms."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

import sqlpriv
from sqlpriv.interfaces.cli.failure import fail
from sqlpriv.interfaces.cli.loading import data_files, folder_aside, load_files, rows_of, stem_of
from sqlpriv.system.whole_files import building, into_place, sync

VAULTS = (".duckdb", ".db")


def run(source: Path, vault: Path, script: Path, confirmed: bool) -> None:
    """Loads files into a vault that is not there yet, writes proposals and, confirmed, runs them.

    Raises:
        UsageError: The vault or the script is there already.
        sqlpriv.Error: A file cannot be read, or a statement fails.
    """
    from sqlpriv.interfaces.cli.query import run_text
    from sqlpriv.session.session import Session

    loads = source.is_dir() or source.suffix.lower() not in VAULTS
    files = data_files(source) if loads else []
    unread: tuple[Path, ...] = ()
    for folder in (vault.parent, script.parent):
        if not folder.is_dir():
            raise click.UsageError(f"there is no folder {folder}: make it first, with mkdir -p.")
    if not loads and vault.resolve() != source.resolve():
        raise click.UsageError(f"{source} is a vault itself: leave --vault out.")
    if loads:
        _refuse_existing(vault)
    if script.exists():
        raise click.UsageError(f"{script} is there already; name another one with --to.")
    if loads:
        with folder_aside(vault) as folder:
            built = folder / vault.name
            unread = load_files(built, files)
            text = _propose_for(built)
            sync(built)
            _refuse_existing(vault)  # another process may have made it meanwhile
            os.rename(built, vault)
            _write_whole(script, text)
    else:
        text = _propose_for(vault)
        _write_whole(script, text)
    click.echo(text)
    runs = "They are run now:" if confirmed and not unread else "Nothing is declared yet."
    click.echo(f"These statements are in {script}. {runs}", err=True)
    if unread:
        named = ", ".join(file.name for file in unread)
        click.echo(
            f"{named} could not be read, and may say whose rows those of other tables are: mend"
            f" that, remove {vault} and {script}, and propose anew; or run the statements as they"
            " are.",
            err=True,
        )
        confirmed = False
    elif not confirmed and sys.stdin.isatty():
        click.echo(
            "What is declared is public. Edit the file first, in another window, if you like.",
            err=True,
        )
        try:
            confirmed = click.confirm("Declare what the file says now?", err=True)
        except click.Abort:  # Ctrl-D, Ctrl-C
            click.echo("no", err=True)
    if not confirmed:
        click.echo(
            "Run them when they are right:"
            f" sqlpriv query {_quote_path(vault)} --role owner -f {_quote_path(script)}",
            err=True,
        )
        return
    with Session(vault, role="owner") as session:
        run_text(session, script.read_text("utf-8"), "table", None, name=str(script))
    click.echo(f"Declared. Ask: sqlpriv shell {_quote_path(vault)}", err=True)


def _refuse_existing(vault: Path) -> None:
    if vault.exists():
        raise click.UsageError(
            f"{vault} is there already; name another one with --vault, or propose for what it"
            f" holds: sqlpriv init {_quote_path(vault)}"
        )


def _propose_for(vault: Path) -> str:
    """Returns what is proposed for the tables of a vault.

    It is read in one engine: a session would look for other writers' tables before each of some
    hundred queries.
    """
    from sqlpriv.session.access.owner_engine import OwnerEngine
    from sqlpriv.session.proposals.propose import propose

    engine = OwnerEngine(vault)
    try:

        def fetch(sql: str) -> list[tuple[object, ...]]:
            return rows_of(engine.run(sql))

        return propose(fetch)
    finally:
        engine.release()


def _write_whole(script: Path, text: str) -> None:
    built = building(script)
    built.write_text(text, encoding="utf-8")
    into_place(built, script)


def _quote_path(path: Path) -> str:
    return shlex.quote(str(path))


@click.command("init")
@click.argument("source", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--vault",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The vault to make.  [default: SOURCE.duckdb]",
)
@click.option(
    "--to",
    "script",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Where the statements go.  [default: VAULT.privacy.sql]",
)
@click.option("--yes", is_flag=True, help="Declare what is proposed, without asking.")
def init(source: Path, vault: Path | None, script: Path | None, yes: bool) -> None:
    """Propose declarations for the rows in SOURCE.

    SOURCE is a CSV, Parquet or JSON file, a folder of them, or a vault. CSV and JSON may be
    compressed (.csv.gz). Files are loaded into a new vault. The proposal says, column by
    column, what would be declared and what it would leave out. Nothing is declared without a
    yes: domains that are read from data tell of the data.
    """

    is_vault = source.is_file() and source.suffix.lower() in VAULTS
    vault = vault or (source if is_vault else Path(f"{stem_of(source.resolve())}.duckdb"))
    try:
        run(source, vault, script or vault.with_suffix(".privacy.sql"), yes)
    except sqlpriv.Error as error:
        fail(error)
