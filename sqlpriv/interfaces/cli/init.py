"""`sqlpriv init`: from a file, a folder or a vault to declarations that an owner confirms."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import sqlpriv
from sqlpriv.interfaces.cli.failure import fail
from sqlpriv.kernel.sql.quoting import literal, name

READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
}
VAULTS = (".duckdb", ".db")


def data_files(source: Path) -> list[Path]:
    """Returns the files of a source that hold tables, in the order of their names.

    Raises:
        UsageError: There is none, or two would be one table.
    """
    files = sorted(source.iterdir()) if source.is_dir() else [source]
    files = [file for file in files if file.suffix.lower() in READERS]
    if not files:
        suffixes = ", ".join(READERS)
        raise click.UsageError(
            f"{source} holds no table: files end with {suffixes}, vaults with .duckdb."
        )
    names = [table_name(file) for file in files]
    for table in names:
        if names.count(table) > 1:
            raise click.UsageError(f"two files of {source} would be the table {table}: rename one.")
    return files


def table_name(file: Path) -> str:
    """Returns the name of the table that a file becomes.

    >>> table_name(Path("Visits 2024.csv"))
    'visits_2024'
    """
    return "".join(c if c.isalnum() else "_" for c in file.stem.lower()).strip("_") or "data"


def run(source: Path, vault: Path, script: Path, confirmed: bool) -> None:
    """Loads files into a vault that is not there yet, writes proposals and, confirmed, runs them.

    Raises:
        UsageError: The vault or the script is there already.
        sqlpriv.Error: A file cannot be read, or a statement fails.
    """
    from sqlpriv.interfaces.cli.query import run_text
    from sqlpriv.session.declarations.propose import propose
    from sqlpriv.session.session import Session

    loads = source.is_dir() or source.suffix.lower() not in VAULTS
    files = data_files(source) if loads else []
    if loads and vault.exists():
        raise click.UsageError(f"{vault} is there already; name another one with --vault.")
    if script.exists():
        raise click.UsageError(f"{script} is there already; name another one with --to.")
    with Session(vault, role="owner") as session:
        for file in files:
            reader = f"{READERS[file.suffix.lower()]}({literal(str(file))})"
            session.execute(f"CREATE TABLE {name(table_name(file))} AS FROM {reader}")
            click.echo(f"loaded {file.name} into {vault.name} as {table_name(file)}", err=True)

        def fetch(sql: str) -> list[tuple[object, ...]]:
            table = session.execute(sql).table
            assert table is not None
            return list(zip(*(column.to_pylist() for column in table.columns), strict=True))

        tables = fetch("SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1")
        text = propose(fetch, [str(row[0]) for row in tables])
    script.write_text(text, encoding="utf-8")
    click.echo(text)
    click.echo(f"These statements are in {script}. Nothing is declared yet.", err=True)
    if not confirmed and sys.stdin.isatty():
        click.echo("Edit the file now, in another window, if you like.", err=True)
        confirmed = click.confirm(
            "Are the values above fit to be public, and declared so?", err=True
        )
    if not confirmed:
        click.echo(
            f"Run them when they are right: sqlpriv query {vault} --role owner -f {script}",
            err=True,
        )
        return
    with Session(vault, role="owner") as session:
        run_text(session, script.read_text("utf-8"), "table", None, name=str(script))
    click.echo(f"Declared. Ask: sqlpriv shell {vault}", err=True)


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
    """Propose declarations for SOURCE: a CSV, Parquet or JSON file, a folder of them, or a vault.

    Files are loaded into a new vault. The proposal says, column by column, what would be declared
    and what it would leave out. Nothing is declared without a yes: domains that are read from data
    tell of the data.
    """

    is_vault = source.is_file() and source.suffix.lower() in VAULTS
    vault = vault or (source if is_vault else Path(source.name).with_suffix(".duckdb"))
    try:
        run(source, vault, script or vault.with_suffix(".privacy.sql"), yes)
    except sqlpriv.Error as error:
        fail(error)
