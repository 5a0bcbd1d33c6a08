"""`sqlpriv backup` and `sqlpriv restore`: a vault and its ledger are kept together."""

from __future__ import annotations

from pathlib import Path

import click

import sqlpriv
from sqlpriv.interfaces.cli.failure import fail


@click.command()
@click.argument("vault", type=click.Path(dir_okay=False, path_type=Path))
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def backup(vault: Path, folder: Path) -> None:
    """Copy VAULT, its ledger, users, releases and audit log into the new FOLDER.

    All are of one moment: a vault without its ledger is undeclared, and an older ledger forgets
    what was spent. Analysts may go on asking meanwhile.
    """
    from sqlpriv.session.commands.backup import back_up

    try:
        names = back_up(vault, folder)
    except sqlpriv.Error as error:
        fail(error)
    click.echo(f"copied {', '.join(names)} to {folder}", err=True)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("vault", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--older",
    is_flag=True,
    help="Forget what was declared and spent since the backup: it can be spent again.",
)
def restore(folder: Path, vault: Path, older: bool) -> None:
    """Put the backup in FOLDER back at VAULT. A ledger that has seen more is not overwritten."""
    from sqlpriv.session.commands import backup as backups

    try:
        names = backups.restore(folder, vault, older)
    except sqlpriv.Error as error:
        fail(error)
    click.echo(f"put back {', '.join(names)}", err=True)
