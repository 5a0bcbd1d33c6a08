"""The shell: statements up to a semicolon, commands of its own behind a dot."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TextIO

from sqlpriv import errors
from sqlpriv.dialect import complete
from sqlpriv.interfaces import commands
from sqlpriv.interfaces.batch import located
from sqlpriv.interfaces.caret import explained
from sqlpriv.interfaces.footnote import footnote
from sqlpriv.interfaces.output import console_for, print_table, row_limit, write_text
from sqlpriv.interfaces.progress import reporting
from sqlpriv.session import Catalog, Result, Session

WELCOME = "sqlpriv {version} · {vault} as {role} {principal} · .help for help, .quit to leave"


@dataclass
class Settings:
    """What `.mode` and `.timer` set."""

    mode: str = "table"
    timer: bool = False


class Shell:
    """Reads statements and dot commands from a terminal or a pipe.

    Args:
        session: Whose rights and budget the statements have.
        out: Where results go.
        err: Where messages and errors go.
    """

    def __init__(self, session: Session, out: TextIO, err: TextIO) -> None:
        self.session, self.settings = session, Settings()
        self.console, self._out, self._err = console_for(out), out, err
        self._failed = False

    def run(self, source: TextIO) -> int:
        """Reads to the end and returns the exit code.

        At a terminal that is 0, whatever was typed. From a pipe, 1 when any statement failed; the
        ones after it are still run, as other SQL shells do.
        """
        if not source.isatty():
            self._from_pipe(source)
            return int(self._failed)
        self._at_terminal()
        return 0

    def take(self, text: str) -> None:
        """Runs what was entered: a dot command, or statements.

        Raises:
            Quit: It was `.quit`.
        """
        if text.lstrip().startswith("."):
            commands.run(self, text.strip())
        elif text.strip().rstrip(";").strip():
            self._statements(text)

    def say(self, text: str) -> None:
        """Prints a line of the shell's own."""
        self.console.print(text, markup=False, soft_wrap=True)

    def complain(self, text: str) -> None:
        """Prints an error; a pipe's exit code will be 1."""
        self._failed = True
        print(text, file=self._err, flush=True)

    def catalog(self) -> Catalog:
        """The names that may be completed now."""
        return self.session.catalog()

    def prompt(self) -> str:
        """Returns the prompt, with what is left of each budget: `people ε 2.41/3.00> `."""
        try:
            budgets = self.session.budgets()
        except errors.Error:
            budgets = ()
        # Rounded down, so that the prompt never promises more than there is.
        parts = [f"{table} ε {_down(left)}/{total:.2f}" for table, left, total in budgets]
        return f"{' · '.join(parts) or 'sqlpriv'}> "

    def _statements(self, text: str) -> None:
        try:
            for statement, line in located(self.session, text):
                if not self._statement(statement, line):
                    return
        except errors.Error as error:
            self.complain(str(error))

    def _statement(self, statement: str, line: int) -> bool:
        """Runs one statement and prints its result; tells whether to go on with the next."""
        begun = time.perf_counter()
        try:
            with reporting() as report:
                result = self.session.execute(statement, progress=report)
        except errors.Error as error:
            self.complain(explained(error, statement, line))
            return False
        except KeyboardInterrupt:
            self.complain("Interrupted. What was charged stays charged; .budget shows the rest.")
            return False
        self._print(result)
        if self.settings.timer:
            self.say(f"{time.perf_counter() - begun:.3f} s")
        return True

    def _print(self, result: Result) -> None:
        if self.settings.mode == "table":
            limit = row_limit(self.console)
            print_table(result, self.console, limit)
            self.say(footnote(result, limit))
        elif result.table is not None:
            write_text(result, self.settings.mode, self._out)
        self._out.flush()

    def _from_pipe(self, source: TextIO) -> None:
        """A dot command is a line of its own; statements run over lines up to their semicolon."""
        text = ""
        try:
            for line in source:
                text += line
                if not text.strip() or text.lstrip().startswith(".") or complete(text):
                    self.take(text)
                    text = ""
            self.take(text)
        except commands.Quit:
            return

    def _at_terminal(self) -> None:
        from sqlpriv import __version__
        from sqlpriv.interfaces.prompt import Prompt

        session = self.session
        self.say(
            WELCOME.format(
                version=__version__,
                vault=session.vault,
                role=session.role,
                principal=session.principal,
            )
        )
        prompt = Prompt(self.catalog, tuple(commands.COMMANDS))
        while True:
            try:
                self.take(prompt.ask(self.prompt()))
            except KeyboardInterrupt:
                continue  # Ctrl-C drops the line, not the shell
            except (EOFError, commands.Quit):
                return


def _down(left: float) -> str:
    """Returns two decimals, rounded down; a whole budget, which is 2.99999998 of 3, stays whole."""
    return f"{int(max(0.0, left) * 100 + 0.001) / 100:.2f}"
