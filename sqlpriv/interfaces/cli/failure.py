"""How every command says that it failed: the message on stderr, and exit code 1."""

from __future__ import annotations

import sys
from typing import NoReturn

import click

import sqlpriv


def fail(error: sqlpriv.Error) -> NoReturn:
    """Prints an error as people read it, and ends the program."""
    from sqlpriv.interfaces.display.error_caret import explain_error
    from sqlpriv.interfaces.display.statements import StatementFailed

    text = str(error) if isinstance(error, StatementFailed) else explain_error(error)
    click.echo(text, err=True)
    sys.exit(1)
