"""How every command says that it failed: the message on stderr, and exit code 1."""

from __future__ import annotations

import os
import sys
import traceback
from contextlib import suppress
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


def end_at_once(error: BaseException | None) -> NoReturn:
    """Ends the process, with exit code 1 and the message of the error that is under way, if any."""
    if error is None or (isinstance(error, SystemExit) and not error.code):
        os._exit(0)
    with suppress(SystemExit):
        if isinstance(error, sqlpriv.Error):
            fail(error)
        traceback.print_exception(error)
    sys.stderr.flush()
    os._exit(1)
