"""The shell: statements up to a semicolon, commands of its own behind a dot or a backslash."""

from __future__ import annotations

import re
import shutil
import textwrap
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TextIO

from sqlpriv import errors
from sqlpriv.dialect import complete
from sqlpriv.interfaces.display.error_caret import explain_error
from sqlpriv.interfaces.display.statements import located_statements
from sqlpriv.interfaces.shell import dot_commands
from sqlpriv.interfaces.shell.confirm import question_before
from sqlpriv.interfaces.shell.interrupt import INTERRUPTED, run_interruptibly
from sqlpriv.interfaces.shell.screen import NoFile, Screen, Settings
from sqlpriv.session.session import Catalog
from sqlpriv.session.session_like import SessionLike

WELCOME = "sqlpriv {version} · {vault} as {role} {principal} · .help for help, .quit to leave"
LONGEST_PROMPT = 40
"""Characters: two budgets took 48 of a terminal's 80 columns, and each statement wrapped."""
_WATCH = re.compile(r"\\watch\b[^;']*;?\s*$")


class Shell:
    """Reads statements and commands from a terminal, a pipe or a file.

    Args:
        session: Whose rights and budget the statements have.
        out: Where results go.
        err: Where messages and errors go.
    """

    def __init__(self, session: SessionLike, out: TextIO, err: TextIO) -> None:
        self.session, self.settings = session, Settings()
        self.screen = Screen(out, self.settings)
        self.last = ""
        """The last statement that was entered, for `.explain` and `\\e`."""
        self._err, self._failed = err, False
        self._answer: Callable[[str], str] | None = None
        self._left: dict[str, float] = {}
        """What was left of each budget when the prompt said so, in epsilon."""

    def run(self, source: TextIO) -> int:
        """Reads to the end and returns the exit code.

        At a terminal that is 0, whatever was typed. From a pipe, 1 when any statement failed: those
        behind it on its line are left out, and the lines below are run.
        """
        if not source.isatty():
            return self.run_all([], [source])
        self._at_terminal()
        return 0

    def run_all(self, entries: Sequence[str], sources: Sequence[TextIO]) -> int:
        """Runs entries, then what files hold, and returns the exit code, as of a pipe."""
        try:
            for entry in entries:
                self.take(entry)
            for source in sources:
                self.read(source)
        except dot_commands.Quit:
            pass
        self.screen.redirect(None)
        return int(self._failed)

    def read(self, source: TextIO) -> None:
        """Runs what a file holds: a command is a line of its own, statements run over lines.

        Raises:
            Quit: It holds `.quit`.
        """
        text = ""
        for line in source:
            text += line
            if is_finished(text, self.session.dialect):
                self.take(text)
                text = ""
        self.take(text)

    def run_for_command(self, statement: str) -> None:
        """Runs a statement that one of the shell's commands stands for: `last` stays as it is."""
        last = self.last
        self.take(statement)
        self.last = last

    def take(self, text: str) -> None:
        """Runs what was entered: a command, or statements. Nothing but Quit comes out of it.

        Raises:
            Quit: It was `.quit`.
        """
        try:
            if _WATCH.search(text):
                self.complain(dot_commands.WATCH)
            elif is_command(text):
                dot_commands.run(self, text.strip())
            elif text.strip().rstrip(";").strip():
                self._statements(text)
        except dot_commands.Quit:
            raise
        except KeyboardInterrupt:
            self.complain(INTERRUPTED + self._loss())
        except (errors.Error, NoFile) as error:
            self.complain(str(error))
        except OSError as error:
            self.complain(f"{error.filename or 'The output'}: {error.strerror}")
        except Exception as error:  # a bug of ours, which must not cost the user the session
            self.complain(_bug(error))

    def say(self, text: str) -> None:
        """Prints a line of the shell's own."""
        self.screen.say(text)

    def complain(self, text: str) -> None:
        """Prints an error; a pipe's exit code will be 1."""
        self._failed = True
        if self._err.isatty():
            text = _wrap_hint(text, shutil.get_terminal_size().columns)
        print(text, file=self._err, flush=True)

    def catalog(self) -> Catalog:
        """The names that may be completed now."""
        return self.session.catalog()

    def prompt(self) -> str:
        """Returns the prompt, with what is left of each budget: `people ε 2.41/3.00> `.

        Where that would be long it names the budget of which the smallest part is left.
        """
        try:
            budgets = self.session.budgets()
        except errors.Error:
            budgets = ()
        self._left = {table: left for table, left, _ in budgets}
        # Rounded down, so that the prompt never promises more than there is.
        parts = [f"{table} ε {_down(left)}/{total:.2f}" for table, left, total in budgets]
        if len(parts) > 1 and len(" · ".join(parts)) > LONGEST_PROMPT:
            shares = [left / total for _, left, total in budgets]
            parts = [f"{parts[shares.index(min(shares))]} · {len(parts) - 1} more"]
        return f"{' · '.join(parts) or 'sqlpriv'}> "

    def _loss(self) -> str:
        """Returns what is less in the budgets than at the prompt; '' for nothing, or without one.

        Differences of epsilon are not prices where a budget is of zCDP, so both ends are told.
        """
        try:
            budgets = self.session.budgets()
        except errors.Error:
            return ""
        return "".join(
            f" {table} has ε {left:.6g} left, of {self._left[table]:.6g} before."
            for table, left, _ in budgets
            if table in self._left and left < self._left[table]
        )

    def _statements(self, text: str) -> None:
        for statement, line in located_statements(self.session, text):
            self.last = statement
            if not self._statement(statement, line):
                return

    def _statement(self, statement: str, line: int) -> bool:
        """Runs one statement and prints its result; tells whether to go on with the next."""
        self.screen.check()
        if not self._confirm_price(statement):
            self.say("Not run; nothing was charged.")
            return False
        begun = time.perf_counter()
        try:
            result = run_interruptibly(self.session, statement)
        except errors.Error as error:
            self.complain(explain_error(error, statement, line))
            return False
        taken = time.perf_counter() - begun
        self.screen.show(result)
        if self.settings.timer:
            self.say(f"{taken:.3f} s")
        return True

    def _confirm_price(self, statement: str) -> bool:
        """Tells whether a statement may be run: it is free, nobody can be asked, or said yes."""
        if self._answer is None or not self.settings.confirm:
            return True
        question = question_before(self.session, statement)
        return question is None or self._answer(question).strip().lower() in ("y", "yes")

    def _at_terminal(self) -> None:
        from sqlpriv import __version__
        from sqlpriv.interfaces.shell.prompt import Prompt

        session = self.session
        self.say(
            WELCOME.format(
                version=__version__,
                vault=session.vault,
                role=session.role,
                principal=session.principal,
            )
        )
        prompt = Prompt(self.catalog, tuple(dot_commands.COMMANDS), lambda: self.session.dialect)
        self._answer = prompt.answer
        while True:
            try:
                self.take(prompt.ask(self.prompt()))
            except KeyboardInterrupt:
                continue  # Ctrl-C drops the line, not the shell
            except (EOFError, dot_commands.Quit):
                return


def is_command(text: str) -> bool:
    """Tells whether an entry is one of the shell's own commands."""
    word = text.strip().rstrip(";").rstrip().lower()
    return text.lstrip().startswith((".", "\\")) or word in dot_commands.BARE_WORDS


def is_finished(text: str, dialect: str = "duckdb") -> bool:
    """Tells whether Enter ends the entry: a command, nothing at all, or whole statements."""
    if not text.strip() or is_command(text) or _WATCH.search(text):
        return True
    return complete(text, dialect)


def _wrap_hint(text: str, width: int) -> str:
    """Returns an error whose hint breaks between words where the terminal ends.

    Args:
        text: As `explain_error` returns it.
        width: Columns of the terminal.

    >>> print(_wrap_hint("Refused: no\\nHint: did you mean age? its columns are: id", 26))
    Refused: no
    Hint: did you mean age?
      its columns are: id
    """
    before, hint, rest = text.rpartition("\nHint: ")
    if not hint or "\n" in rest:
        return text
    return before + "\n" + textwrap.fill(f"Hint: {rest}", width, subsequent_indent="  ")


def _bug(error: Exception) -> str:
    """Returns what is said of an exception that should not be: its text may hold anything, so
    only its kind and place are told."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"Internal error: {type(error).__name__} at {frame.filename.rsplit('/', 1)[-1]}:"
        f"{frame.lineno}. It is a bug; the shell goes on. What was charged stays charged."
    )


def _down(left: float) -> str:
    """Returns two decimals, rounded down; a whole budget, which is 2.99999998 of 3, stays whole."""
    return f"{int(max(0.0, left) * 100 + 0.001) / 100:.2f}"
