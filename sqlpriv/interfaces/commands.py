"""The shell's own commands. Each is a function of the shell and what was typed behind it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sqlpriv.interfaces.output import TEXT_FORMATS

if TYPE_CHECKING:
    from sqlpriv.interfaces.shell import Shell

Command = Callable[["Shell", str], None]


class Quit(Exception):
    """The user asked to leave: a way out, not an error."""


HELP = """\
Statements end with a semicolon and may run over lines. What only this shell's SQL has:
  SELECT sex, AVG(income) FROM people STRATIFY BY sex;   every group and everybody, at one price
  EXPLAIN PRIVACY SELECT …;                              price and expected error, for nothing
  SHOW PRIVACY TABLES | BUDGET | RELEASES;               what is declared, left, was answered
  SHOW SYNTHESIZERS;                                     methods after USING, their options
  CREATE SYNTHETIC TABLE s AS SELECT a, b FROM people STRATIFY BY sex USING mst;
Commands:"""


def run(shell: Shell, text: str) -> None:
    """Runs one dot command; an unknown one is answered with where to find the known."""
    name, _, argument = text.rstrip(";").partition(" ")
    if name not in COMMANDS:
        shell.complain(f"There is no {name}. Type .help to see the commands.")
        return
    COMMANDS[name][0](shell, argument.strip())


def _help(shell: Shell, _argument: str) -> None:
    lines = [f"  {f'{name} {usage}':<24} {what}" for name, (_, usage, what) in COMMANDS.items()]
    shell.say("\n".join([HELP, *lines]))


def _mode(shell: Shell, argument: str) -> None:
    if argument in TEXT_FORMATS:
        shell.settings.mode = argument
    elif argument:
        shell.complain(f"There is no mode {argument}. Type .mode {' | '.join(TEXT_FORMATS)}.")
    else:
        shell.say(f"mode {shell.settings.mode} (of {', '.join(TEXT_FORMATS)})")


def _timer(shell: Shell, argument: str) -> None:
    if argument in ("on", "off"):
        shell.settings.timer = argument == "on"
    elif argument:
        shell.complain("Type .timer on or .timer off.")
    else:
        shell.say(f"timer {'on' if shell.settings.timer else 'off'}")


def _tables(shell: Shell, _argument: str) -> None:
    catalog = shell.catalog()
    for title, tables in (("vault", catalog.tables), ("released", catalog.released)):
        for name, columns in sorted(tables.items()):
            shell.say(f"{title:<8}  {name} ({', '.join(columns)})")
    if not catalog.tables and not catalog.released:
        shell.say("There are no tables. The owner makes them: --role owner, CREATE TABLE …")


def _budget(shell: Shell, _argument: str) -> None:
    shell.take("SHOW PRIVACY BUDGET;")


def _quit(_shell: Shell, _argument: str) -> None:
    raise Quit


COMMANDS: dict[str, tuple[Command, str, str]] = {
    ".budget": (_budget, "", "what may be spent, was spent and is left"),
    ".exit": (_quit, "", "leave, as Ctrl-D does"),
    ".help": (_help, "", "this"),
    ".mode": (_mode, "[table|csv|json]", "how rows are printed"),
    ".quit": (_quit, "", "leave"),
    ".tables": (_tables, "", "tables and their columns"),
    ".timer": (_timer, "[on|off]", "how long each statement takes"),
}
"""Name → what it does, what may follow it, what it is for."""
