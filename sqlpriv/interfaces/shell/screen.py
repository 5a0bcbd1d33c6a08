"""Where the shell's results go and how they look: mode, limits, pager, file."""

from __future__ import annotations

import io
import os
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

import click
from rich.console import Console

from sqlpriv.interfaces.display.footnote import footnote, text_width
from sqlpriv.interfaces.display.formats import BINARY, write_binary, write_text
from sqlpriv.interfaces.display.table import console_for, print_table, row_limit
from sqlpriv.session.session import Result
from sqlpriv.system.database_files import refuse_database

FOR_PEOPLE = ("table", "vertical")
"""Modes whose rows are limited on a terminal, with a line under them that says so."""


class NoFile(Exception):
    """A result in a form that is no text, and no file to write it to."""


@dataclass
class Settings:
    """What the shell's commands set.

    Args:
        mode: One of `formats.FORMATS`.
        timer: Whether each statement's time is told.
        confirm: Whether a price is asked before it is paid, where somebody can answer.
        pager: Whether what is longer than the terminal goes through $PAGER.
        rows: Most rows that a terminal shows; None for the usual.
        width: Columns of a table; None for those of the terminal.
    """

    mode: str = "table"
    timer: bool = False
    confirm: bool = True
    pager: bool = True
    rows: int | None = None
    width: int | None = None


class Screen:
    """Prints results, to the terminal or to a file.

    Args:
        out: Where results go, unless a file is opened.
        settings: As they are at every print.
    """

    def __init__(self, out: TextIO, settings: Settings) -> None:
        self.settings, self._out = settings, out
        self._file: TextIO | None = None
        self._path: Path | None = None

    def redirect(self, path: Path | None) -> None:
        """Sends results to a file from now on, begun anew; back to the terminal with None.

        Raises:
            InterfaceError: It is a database.
            OSError: It cannot be written.
        """
        opened = None
        if path is not None:
            refuse_database(path)
            opened = open(path, "w", encoding="utf-8", newline="")  # noqa: SIM115 (for many results)
        if self._file is not None:
            self._file.close()
        self._file, self._path = opened, path

    def say(self, text: str) -> None:
        """Prints a line of the shell's own, on the terminal in any case."""
        console_for(self._out).print(text, markup=False, soft_wrap=True)

    def show(self, result: Result) -> None:
        """Prints a result and what it cost.

        Raises:
            NoFile: The mode is no text, and results do not go to a file.
            OSError: The file cannot be written.
        """
        mode, limit = self.settings.mode, None
        if mode in BINARY:
            self._write_binary(result)
        elif self._file is not None:
            self._write(result, self._file, None)
        else:
            limit = self._limit()
            self._write_paged(result, limit)
        if mode in (*FOR_PEOPLE, *BINARY) or self._file is not None or result.table is None:
            self.say(footnote(result, limit, self.settings.width or text_width(self._out)))
        self._out.flush()

    def check(self) -> None:
        """Raises NoFile where `show` would, so that nothing is paid for what cannot be shown."""
        if self.settings.mode in BINARY and self._path is None:
            raise NoFile(f"{self.settings.mode} is not for a terminal: .output FILE comes first.")

    def _limit(self) -> int | None:
        if self.settings.mode not in FOR_PEOPLE:
            return None
        return self.settings.rows or row_limit(console_for(self._out))

    def _write(self, result: Result, out: TextIO, limit: int | None) -> None:
        if self.settings.mode == "table":
            print_table(result, console_for(out, self.settings.width), limit)
        else:
            write_text(_first(result, limit), self.settings.mode, out)
        out.flush()

    def _write_paged(self, result: Result, limit: int | None) -> None:
        """Prints at once what fits the terminal, the rest through the pager."""
        console = console_for(self._out, self.settings.width)
        if not (self.settings.pager and console.is_terminal and not console.is_dumb_terminal):
            self._write(result, self._out, limit)
            return
        text = self._render(result, console, limit)
        if text.count("\n") < console.height:
            self._out.write(text)
        else:
            click.echo_via_pager(text)  # it tells less to show colours, and others get none

    def _render(self, result: Result, console: Console, limit: int | None) -> str:
        if self.settings.mode == "table":
            with console.capture() as captured:
                print_table(result, console, limit)
            return captured.get()
        text = io.StringIO()
        self._write(result, text, limit)
        return text.getvalue()

    def _write_binary(self, result: Result) -> None:
        """Replaces the file by the result, once it is written."""
        self.check()
        assert self._path is not None
        if result.table is None:
            return
        handle, draft = tempfile.mkstemp(prefix=f".{self._path.name}.", dir=self._path.parent)
        with open(handle, "wb") as out:
            write_binary(result, self.settings.mode, out)
        os.replace(draft, self._path)


def _first(result: Result, limit: int | None) -> Result:
    if result.table is None or limit is None:
        return result
    return replace(result, table=result.table.slice(0, limit))
