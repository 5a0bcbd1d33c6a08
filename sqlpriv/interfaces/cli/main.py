"""The command line. stdout holds query output alone; messages and errors go to stderr.

Exit codes: 0, 1 when a statement was refused or failed, 2 when the command itself is wrong.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TextIO

import click

import sqlpriv
from sqlpriv.interfaces.cli import init, keep, logins, serve, vault_report
from sqlpriv.interfaces.cli.connecting import ChosenVault, connecting, priced, vault_file
from sqlpriv.interfaces.cli.failure import fail

FORMS = ("table", "csv", "tsv", "json", "jsonl", "markdown", "vertical", "html", "arrow", "parquet")
"""The names in `formats.FORMATS`. Importing that module would load pyarrow, so they stand here
again, and a test compares the two lists."""

EPILOG = """\b
Start here:
  sqlpriv demo                              a vault of generated people
  sqlpriv shell sqlpriv-demo/people.duckdb  ask it questions
  sqlpriv query VAULT "EXPLAIN PRIVACY …"   what a statement would cost
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(sqlpriv.__version__, prog_name="sqlpriv")
def main() -> None:
    """Differentially private SQL over DuckDB.

    A VAULT is a DuckDB file with private tables, the address of a server of one
    (grpc+tls://HOST:PORT), or a name in sqlpriv.toml. Its owner declares whom the tables protect;
    analysts ask for noised answers under a budget that is kept in the vault's .ledger file.
    """


main.add_command(init.init)
main.add_command(keep.backup)
main.add_command(keep.restore)
main.add_command(keep.ledger)
main.add_command(vault_report.report)
main.add_command(serve.serve)
main.add_command(logins.user)


@main.command()
@connecting
@priced
@click.argument("words", nargs=-1, metavar="[SQL]")
@click.option(
    "-f",
    "--file",
    "script",
    type=click.Path(exists=True, dir_okay=False, allow_dash=True, path_type=Path),
    help="Read the statements from FILE.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="How rows are written; arrow and parquet need -o or a redirected stdout."
    "  [default: table]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write to FILE; it appears only when every statement has succeeded.",
)
def query(
    vault: ChosenVault,
    epsilon: float | None,
    words: tuple[str, ...],
    script: Path | None,
    form: str | None,
    output: Path | None,
) -> None:
    """Run SQL, given as an argument, in a file, or on stdin.

    \b
    sqlpriv query people.duckdb --epsilon 0.1 "SELECT COUNT(*) FROM people"
    sqlpriv query people.duckdb -f report.sql --format csv -o report.csv
    """
    if len(words) > 1:  # a shell has taken the statement apart, and quotes out of it
        raise click.UsageError('The SQL is one argument: put it in quotes, "SELECT …".')
    sql = words[0] if words else None
    if sql is not None and script is not None:
        raise click.UsageError("Give the statements as SQL or with -f, not both.")
    form = _form(form or vault.form, FORMS)
    if form in ("arrow", "parquet") and output is None and sys.stdout.isatty():
        raise click.UsageError(f"{form.capitalize()} is not for a terminal: add -o FILE.")
    text = _text(sql, script)
    from sqlpriv.interfaces.cli.query import run_text

    session = vault.open(epsilon)
    try:
        run_text(session, text, form, output, name=str(script) if script else "")
    except sqlpriv.Error as error:
        fail(error)
    finally:
        session.close()


@main.command()
@connecting
@priced
@click.option(
    "-c",
    "--command",
    "entries",
    multiple=True,
    help="Run this, statements or a command of the shell, and leave. May be given again.",
)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    type=click.File(encoding="utf-8"),
    help="Run what FILE holds, after every -c, and leave.",
)
def shell(
    vault: ChosenVault,
    epsilon: float | None,
    entries: tuple[str, ...],
    files: tuple[TextIO, ...],
) -> None:
    """Ask questions one by one, the budget in the prompt.

    Statements end with a semicolon; .help lists the commands of the shell itself. Statements are
    also read from a pipe: sqlpriv shell people.duckdb < questions.sql
    """
    form = _form(vault.form, FORMS)
    session = vault.open(epsilon)
    from sqlpriv.interfaces.shell.shell import Shell

    asker = Shell(session, sys.stdout, sys.stderr)
    asker.settings.mode = form
    try:
        code = asker.run_all(entries, files) if entries or files else asker.run(sys.stdin)
    finally:
        session.close()
    sys.exit(code)


@main.command()
@connecting
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS[:-2]),
    help="How rows are written.  [default: table]",
)
def budget(vault: ChosenVault, form: str | None) -> None:
    """Show what may be spent, what was spent and what is left."""
    from sqlpriv.interfaces.cli.query import run_text

    form = form or _form(vault.form, FORMS[:-2])
    session = vault.open()
    try:
        run_text(session, "SHOW PRIVACY BUDGET", form, None)
    except sqlpriv.Error as error:
        fail(error)
    finally:
        session.close()


@main.command()
@vault_file
@click.argument("tables", metavar="[TABLE]...", nargs=-1)
@click.option("--to", "target", required=True, help="Where to: see below.")
def publish(vault: Path, tables: tuple[str, ...], target: str) -> None:
    """Hand released tables to BI tools.

    Each TABLE is copied, or all that were released from VAULT. It copies what is public already
    (VAULT's .release.duckdb), costs nothing and opens no vault. Tables of the same names are
    replaced without disturbing who reads them; others stay.

    \b
    --to bi.duckdb                        a DuckDB file, for DuckDB 1.2 and later
    --to 'folder/*.parquet'               a Parquet file for each table
    --to postgresql://user@host/database  tables in PostgreSQL
    """
    from sqlpriv.publish import publish as hand_out
    from sqlpriv.publish.release_file import beside

    try:
        click.echo(hand_out(beside(vault), tables, target, vault), err=True)
    except sqlpriv.Error as error:
        fail(error)


@main.command()
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("sqlpriv-demo"),
    show_default=True,
    help="Where the demo's files go; nothing is written outside it.",
)
@click.option(
    "--rows",
    type=click.IntRange(1_000, 10_000_000),
    default=196_967,
    show_default=True,
    help="How many people to generate.",
)
def demo(directory: Path, rows: int) -> None:
    """Make a vault of generated people to play with: under a minute.

    The demo asks the vault and publishes a synthetic table. It prints each statement that it runs.
    """
    from sqlpriv.interfaces.cli import demo as house

    try:
        house.run(directory, rows)
    except sqlpriv.Error as error:
        fail(error)


def _text(sql: str | None, script: Path | None) -> str:
    if sql is not None and sql != "-":
        return sql
    if script is not None and str(script) != "-":
        try:
            return script.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise click.UsageError(f"{script} is not a text file in UTF-8.") from None
    if sql is None and script is None and sys.stdin.isatty():
        raise click.UsageError(
            "Give the statements as SQL, with -f FILE, or on stdin;"
            " `sqlpriv shell VAULT` asks for them one by one."
        )
    return sys.stdin.read()


def _form(form: str, allowed: tuple[str, ...]) -> str:
    """Returns the name of the output format, "table" where none is given. The name may come from
    sqlpriv.toml, which click has not checked."""
    if form and form not in allowed:
        raise click.UsageError(f"There is no format {form} here; there are {', '.join(allowed)}.")
    return form or "table"
