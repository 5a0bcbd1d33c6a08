"""`sqlpriv init`: from a file, a folder or a vault to declarations that an owner confirms."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

import sqlpriv
from sqlpriv.interfaces.cli.failure import fail
from sqlpriv.kernel.sql.quoting import literal, name

if TYPE_CHECKING:
    from sqlpriv.session.session import Session

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

    >>> table_name(Path("Visits (2024).csv"))
    'visits_2024'
    """
    return re.sub(r"[\W_]+", "_", file.stem.lower()).strip("_") or "data"


def load_files(vault: Path, files: Sequence[Path]) -> None:
    """Loads files into a new vault; of a vault that could not be filled nothing stays behind.

    Raises:
        UsageError: No file has rows. One of several that has none is left out, and named.
    """
    from sqlpriv.session.session import Session

    places = [vault, *(vault.with_suffix(s) for s in (".ledger", ".ledger.mark"))]
    new = [place for place in places if not place.exists()]
    try:
        with Session(vault, role="owner") as session:
            has_rows = [load(session, file) for file in files]
            if not any(has_rows):
                names = ", ".join(str(file) for file in files)
                raise click.UsageError(f"{names} holds no rows: there is nothing to propose from.")
            for file, is_loaded in zip(files, has_rows, strict=True):
                if not is_loaded:
                    click.echo(f"{file.name} holds no rows: it is left out", err=True)
                    continue
                click.echo(f"loaded {file.name} into {vault.name} as {table_name(file)}", err=True)
    except BaseException:
        for place in new:
            place.unlink(missing_ok=True)
        raise


def load(session: Session, file: Path) -> bool:
    """Loads a file as a table; returns whether it has rows: of one without no table is made.

    Raises:
        UsageError: Its lines are not rows of one table.
        sqlpriv.Error: It cannot be read.
    """
    table, options = table_name(file), ""
    is_text = READERS[file.suffix.lower()] == "read_csv"
    if is_text and (encoding := text_encoding(file)) != "utf-8":
        options = f", encoding = {literal(encoding)}"
        click.echo(f"{file.name} is no UTF-8: it is read as {encoding}", err=True)
    reader = f"{READERS[file.suffix.lower()]}({literal(str(file))}{options})"
    session.execute(f"CREATE TABLE {name(table)} AS FROM {reader}")
    rows = session.execute(f"SELECT count(*) AS n FROM {name(table)}").table
    columns = session.execute(f"SELECT * FROM {name(table)} LIMIT 0").table
    assert rows is not None
    assert columns is not None
    if not rows["n"][0].as_py():
        session.execute(f"DROP TABLE {name(table)}")
        return False
    if is_text and columns.num_columns == 1 and set(columns.column_names[0]) & set(",;|\t"):
        raise click.UsageError(
            f"{file} was read as one column, {columns.column_names[0]!r}: a line of it has more"
            " values than its head, or fewer. Mend that line, or load the file yourself:"
            f" CREATE TABLE {table} AS FROM read_csv({literal(str(file))}, delim = …, …)."
        )
    return True


def text_encoding(file: Path) -> str:
    """Returns the encoding that a file of text seems to have: utf-8, utf-16 or latin-1."""
    with file.open("rb") as opened:
        if opened.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return "utf-16"
    try:
        with file.open(encoding="utf-8") as opened_text:
            while opened_text.read(1 << 20):
                pass
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


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
    for folder in (vault.parent, script.parent):
        if not folder.is_dir():
            raise click.UsageError(f"there is no folder {folder}: make it first, with mkdir -p.")
    if not loads and vault.resolve() != source.resolve():
        raise click.UsageError(f"{source} is a vault itself: leave --vault out.")
    if loads and vault.exists():
        raise click.UsageError(f"{vault} is there already; name another one with --vault.")
    if script.exists():
        raise click.UsageError(f"{script} is there already; name another one with --to.")
    if loads:
        load_files(vault, files)
    with Session(vault, role="owner") as session:

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
            "Run them when they are right:"
            f" sqlpriv query {_quote_path(vault)} --role owner -f {_quote_path(script)}",
            err=True,
        )
        return
    with Session(vault, role="owner") as session:
        run_text(session, script.read_text("utf-8"), "table", None, name=str(script))
    click.echo(f"Declared. Ask: sqlpriv shell {_quote_path(vault)}", err=True)


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
    """Propose declarations for SOURCE: a CSV, Parquet or JSON file, a folder of them, or a vault.

    Files are loaded into a new vault. The proposal says, column by column, what would be declared
    and what it would leave out. Nothing is declared without a yes: domains that are read from data
    tell of the data.
    """

    is_vault = source.is_file() and source.suffix.lower() in VAULTS
    vault = vault or (source if is_vault else Path(f"{source.resolve().stem}.duckdb"))
    try:
        run(source, vault, script or vault.with_suffix(".privacy.sql"), yes)
    except sqlpriv.Error as error:
        fail(error)
