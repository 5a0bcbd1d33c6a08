"""A text of statements run without a person at hand: `sqlpriv query`."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO

from sqlpriv import errors
from sqlpriv.interfaces.display.error_caret import explain_error
from sqlpriv.interfaces.display.footnote import footnote, text_width
from sqlpriv.interfaces.display.formats import BINARY, write_binary, write_text
from sqlpriv.interfaces.display.statements import StatementFailed, located_statements
from sqlpriv.interfaces.display.table import console_for, print_table, row_limit
from sqlpriv.interfaces.shell.interrupt import INTERRUPTED, run_interruptibly
from sqlpriv.session.session import Result
from sqlpriv.session.session_like import SessionLike
from sqlpriv.system.database_files import refuse_database


def run_text(
    session: SessionLike, text: str, form: str, output: Path | None, name: str = ""
) -> None:
    """Runs every statement and writes every result; the first failure ends it.

    Args:
        session: Whose rights and budget the statements have.
        text: The statements.
        form: One of `formats.FORMATS`.
        output: A file, which appears only when all has succeeded; None for stdout.
        name: Of the file that the text came from, for messages; or ''.

    Raises:
        StatementFailed: A statement failed; earlier ones stay charged, and are free to
            ask again.
    """
    with _destination(output) as out:
        if form in BINARY:
            _run_to_binary(session, text, form, out, name)
            return
        stream = _text_stream(out)
        console = console_for(stream)
        limit = row_limit(console) if form == "table" else None
        for result in _results(session, text, name):
            if form == "table":
                print_table(result, console, limit)
            else:
                write_text(result, form, stream)
            stream.flush()
            _note(result, limit)


def _run_to_binary(session: SessionLike, text: str, form: str, out: IO[bytes], name: str) -> None:
    """A Parquet or Arrow file holds one table: the last result that has rows."""
    last = None
    for result in _results(session, text, name):
        if result.table is not None:
            if last is not None:
                print(f"note: the {form} file holds the last result alone", file=sys.stderr)
            last = result
        _note(result)
    if last is None:
        raise StatementFailed(f"No statement gave rows, so there is nothing to write as {form}.")
    write_binary(last, form, out)


def _results(session: SessionLike, text: str, name: str) -> Iterator[Result]:
    for statement, line in located_statements(session, text):
        try:
            result = run_interruptibly(session, statement)
        except KeyboardInterrupt:
            raise StatementFailed(INTERRUPTED) from None
        except errors.Error as error:
            where = f"{name}: " if name else ""
            raise StatementFailed(where + explain_error(error, statement, line)) from error
        yield result


def _note(result: Result, limit: int | None = None) -> None:
    print(footnote(result, limit, text_width(sys.stderr)), file=sys.stderr)


def _text_stream(out: IO[bytes]) -> TextIO:
    """stdout itself when that is where bytes go: it knows whether it is a terminal."""
    if out is sys.stdout.buffer:
        return sys.stdout
    return open(out.fileno(), "w", encoding="utf-8", newline="", closefd=False)


@contextmanager
def _destination(output: Path | None) -> Iterator[IO[bytes]]:
    """Yields where output goes. A file is begun beside its place and moved there at the end.

    So a place that cannot be written is found out before anything is paid for, and a failing
    statement leaves the file of the last time as it was.
    """
    if output is None:
        yield sys.stdout.buffer
        return
    refuse_database(output)
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{output.name}.", dir=output.parent)
    except OSError as error:
        raise StatementFailed(
            f"{output} cannot be written ({error.strerror}); nothing was run."
        ) from None
    try:
        with open(handle, "wb") as out:
            yield out
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(draft, 0o666 & ~mask)
        os.replace(draft, output)
    except BaseException:  # Ctrl-C, too, leaves no draft
        Path(draft).unlink(missing_ok=True)
        raise
