"""`sqlpriv backup`, `restore` and `ledger`: how a vault and its ledger are kept together."""

from __future__ import annotations

from pathlib import Path

import click

import sqlpriv
from sqlpriv.interfaces.cli.connecting import vault_file
from sqlpriv.interfaces.cli.failure import fail
from sqlpriv.system.count_text import count_text


@click.command()
@vault_file
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def backup(vault: Path, folder: Path) -> None:
    """Copy VAULT and the files that belong to it into the new FOLDER.

    They are the ledger, users, releases, models and audit log. All are of one moment: a vault
    without its ledger is undeclared, and an older ledger forgets what was spent. Analysts may
    go on asking meanwhile.
    """
    from sqlpriv.session.commands.backup import back_up, folders_of_files

    try:
        names = back_up(vault, folder)
        elsewhere = folders_of_files(folder / vault.name)
    except sqlpriv.Error as error:
        fail(error)
    click.echo(f"copied {', '.join(names)} to {folder}", err=True)
    if elsewhere:
        click.echo(
            f"not copied: the files of tables that are read in place, in {', '.join(elsewhere)}",
            err=True,
        )


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("vault", type=click.Path(path_type=Path))
@click.option(
    "--older",
    is_flag=True,
    help="Forget what was declared and spent since the backup: it can be spent again.",
)
def restore(folder: Path, vault: Path, older: bool) -> None:
    """Put the backup in FOLDER back at VAULT. A ledger that has seen more is not overwritten.

    Where the vault that was backed up goes on as well, there are two budgets over the same rows.
    """
    from sqlpriv.session.commands import backup as backups

    order = "the backup's folder comes first, as in sqlpriv restore FOLDER people.duckdb."
    if not folder.is_dir():
        what = "is a file" if folder.is_file() else "is no folder"
        raise click.UsageError(f"{folder} {what}: {order}")
    if vault.is_dir():
        raise click.UsageError(f"{vault} is a folder: {order}")
    is_new = not vault.with_suffix(backups.LEDGER).exists()
    try:
        names = backups.restore(folder, vault, older)
    except sqlpriv.Error as error:
        fail(error)
    click.echo(f"put back {', '.join(names)}", err=True)
    if is_new:
        click.echo(
            f"{vault.name} has a budget of its own from now on. If the vault that was backed up is"
            " still asked, a unit loses what both sell, added up: keep one of the two.",
            err=True,
        )


@click.group()
def ledger() -> None:
    """Where a vault's ledger is kept."""


@ledger.command()
@vault_file
@click.option(
    "--to",
    "place",
    required=True,
    metavar="postgresql://USER@HOST/DATABASE|file",
    help="The database (a password comes from $PGPASSWORD or ~/.pgpass), or the word file.",
)
def move(vault: Path, place: str) -> None:
    """Move VAULT's ledger into PostgreSQL or back.

    Several servers on many machines have one budget then. The ledger file is closed for good and
    kept as .ledger.moved; in its place a pointer names the database. A server's users move along:
    all servers know the same ones. Copies of the vault on other machines: `sqlpriv serve VAULT
    --ledger URL`.

    --to file closes the ledger in PostgreSQL for good, for all machines, and makes it a file
    again beside this VAULT, users included. Stop its servers first; only those of this machine
    have a budget afterwards.
    """
    try:
        records = _move_to_file(vault) if place == "file" else _move_to_database(vault, place)
    except sqlpriv.Error as error:
        fail(error)
    records_moved = f"{count_text(records, 'record')} (charges, budgets, declarations)"
    there = vault.with_suffix(".ledger").name if place == "file" else place
    click.echo(f"moved {records_moved} to {there}", err=True)


def _move_to_database(vault: Path, url: str) -> int:
    from sqlpriv.interfaces.server import users
    from sqlpriv.session.commands.ledger_place import move_ledger_to

    records = move_ledger_to(vault, url)
    users.list_users(vault)  # makes room for them there
    return records


def _move_to_file(vault: Path) -> int:
    from sqlpriv.interfaces.server.users_file import copy_users_home
    from sqlpriv.kernel.ledger.pointer import pointer_of
    from sqlpriv.session.ledger_moves.move_to_file import move_ledger_to_file

    url = pointer_of(vault.with_suffix(".ledger"))
    records = move_ledger_to_file(vault)
    copy_users_home(vault, url)
    return records
