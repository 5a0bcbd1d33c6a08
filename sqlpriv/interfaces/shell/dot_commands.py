"""The shell's own commands. Each is a function of the shell and what was typed behind it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlpriv.interfaces.display.formats import FORMATS
from sqlpriv.session.session_like import reading_duckdb
from sqlpriv.statements import literal, quote_name
from sqlpriv.system.database_files import refuse_database

if TYPE_CHECKING:
    from sqlpriv.interfaces.shell.shell import Shell

Command = Callable[["Shell", str], None]


class Quit(Exception):
    """The user asked to leave: a way out, not an error."""


HELP = """\
Statements end with a semicolon and may run over lines. What only this shell's
SQL has:
  SELECT sex, AVG(income) FROM people STRATIFY BY sex;
                           every group and everybody, at one price
  EXPLAIN PRIVACY SELECT …;
                           price and expected error, for nothing
  SHOW PRIVACY TABLES;     or BUDGET, RELEASES, DECLARATIONS: what is left,
                           answered, declared
  CREATE SYNTHETIC TABLE s AS SELECT a FROM people STRATIFY BY sex USING mst;
  CREATE SYNTHETIC TABLE more FROM MODEL s ROWS 100000;
                           more rows of its model, for nothing
  SHOW SYNTHESIZERS;       what may stand after USING: auto, mst, …
Commands:"""
WATCH = (
    "There is no \\watch here: the same question gets the same answer from its seal, so there is "
    "nothing to watch; and where the data did change, every round would be charged, until the "
    "budget is gone. Ask again when you need to."
)


def run(shell: Shell, text: str) -> None:
    """Runs one command; an unknown one is answered with where to find the known."""
    name, _, argument = text.rstrip("; ").partition(" ")
    if name.lower() in BARE_WORDS:
        name = f".{name.lower()}"
    if name not in COMMANDS:
        meant = get_close_matches(name, COMMANDS, 1, 0.6)
        guess = f"Did you mean {meant[0]}? " if meant else ""
        shell.complain(f"There is no {name}. {guess}Type .help to see the commands.")
        return
    COMMANDS[name][0](shell, argument.strip())


def _help(shell: Shell, _argument: str) -> None:
    lines = [f"  {f'{name} {usage}':<24} {what}" for name, (_, usage, what) in COMMANDS.items()]
    shell.say("\n".join([HELP, *lines]))


# --- settings ---


def _mode(shell: Shell, argument: str) -> None:
    if argument in FORMATS:
        shell.settings.mode = argument
    elif argument:
        shell.complain(f"There is no mode {argument}. Type .mode {' | '.join(FORMATS)}.")
    else:
        shell.say(f"mode {shell.settings.mode} (of {', '.join(FORMATS)})")


def _set_expanded(shell: Shell, _argument: str) -> None:
    shell.settings.mode = "table" if shell.settings.mode == "vertical" else "vertical"
    shell.say(f"mode {shell.settings.mode}")


def _switch(name: str) -> Command:
    """Returns the command that turns one setting on and off."""

    def switch(shell: Shell, argument: str) -> None:
        if argument in ("on", "off"):
            setattr(shell.settings, name, argument == "on")
        elif argument:
            shell.complain(f"Type .{name} on or .{name} off.")
        else:
            shell.say(f"{name} {'on' if getattr(shell.settings, name) else 'off'}")

    return switch


def _timing(shell: Shell, argument: str) -> None:
    _switch("timer")(shell, argument or ("off" if shell.settings.timer else "on"))
    shell.say(f"timer {'on' if shell.settings.timer else 'off'}")


def _limit(name: str, least: int) -> Command:
    """Returns the command that sets how much is shown; 0 puts back what is usual."""

    def limit(shell: Shell, argument: str) -> None:
        if argument.isdecimal() and (argument == "0" or int(argument) >= least):
            setattr(shell.settings, name, int(argument) or None)
        elif argument:
            shell.complain(f"Type .max{name} and a number from {least} on, or 0 for the usual.")
        else:
            shell.say(f"max{name} {getattr(shell.settings, name) or 'as usual'}")

    return limit


def _output(shell: Shell, argument: str) -> None:
    shell.screen.redirect(Path(argument).expanduser() if argument else None)


# --- what there is ---


def _tables(shell: Shell, _argument: str) -> None:
    catalog = shell.catalog()
    for title, tables in (("vault", catalog.tables), ("released", catalog.released)):
        for name, columns in sorted(tables.items()):
            shell.say(f"{title:<8}  {name} ({', '.join(columns)})")
    if not catalog.tables and not catalog.released:
        shell.say("There are no tables. The owner makes them: --role owner, CREATE TABLE …")


def _describe(shell: Shell, argument: str) -> None:
    if argument:
        shell.run_for_command(f"DESCRIBE {argument};")
    else:
        _tables(shell, "")


_DECLARED_TABLE = re.compile(r'(?:ALTER TABLE|(?:GRANT|REVOKE) SELECT ON) ("(?:[^"]|"")*"|\S+) ')
"""The table that a statement of SHOW PRIVACY DECLARATIONS is about."""


def _schema(shell: Shell, argument: str) -> None:
    """Prints tables as the SQL that declares them again; all of it is public."""
    catalog = shell.catalog()
    names = [*catalog.tables, *catalog.released]
    wanted_tables = (
        [n for n in names if n.lower() == argument.strip('"').lower()] if argument else names
    )
    if argument and not wanted_tables:
        shell.complain(f'There is no table "{argument}". Type .tables to see them.')
    declared = shell.session.execute("SHOW PRIVACY DECLARATIONS").table
    lines = declared.column("declaration").to_pylist() if declared is not None else []
    declarations = shell.session.statements("\n".join(lines))
    for name in wanted_tables:
        with reading_duckdb(shell.session):
            rows = _catalog_rows(shell, "duckdb_columns()", name)
            keys = _catalog_rows(shell, "duckdb_constraints()", name)
        keys = [key for key in keys if key["constraint_type"] in ("PRIMARY KEY", "UNIQUE")]
        lines = [_column_line(row, row is rows[-1] and not keys) for row in rows]
        for key in keys:
            columns = ", ".join(map(quote_name, key["constraint_column_names"]))
            lines.append(
                f"    {key['constraint_type']} ({columns}){'' if key is keys[-1] else ','}"
            )
        shell.say("\n".join([f"CREATE TABLE {quote_name(name)} (", *lines, ");"]))
        for declaration in declarations:
            of = _DECLARED_TABLE.match(declaration)
            if of and of[1] in (name, quote_name(name)):
                shell.say(f"{declaration};")


def _catalog_rows(shell: Shell, of: str, table: str) -> list[dict[str, Any]]:
    """Returns the rows of one of DuckDB's table functions about a table."""
    sql = f"SELECT * FROM {of} WHERE table_name = {literal(table)}"
    described = shell.session.execute(sql).table
    return described.to_pylist() if described is not None else []


def _column_line(column: Mapping[str, Any], is_last: bool) -> str:
    """Returns a column as CREATE TABLE has it; of an ENUM, whose labels are public only where they
    are declared, VARCHAR where none is."""
    kind, remark = column["data_type"], ""
    if kind == "ENUM()":
        kind, remark = "VARCHAR", "  -- an ENUM, whose labels are not declared"
    needed = "" if column["is_nullable"] else " NOT NULL"
    return f"    {quote_name(column['column_name'])} {kind}{needed}{'' if is_last else ','}{remark}"


def _synth(shell: Shell, argument: str) -> None:
    comments = shell.session.comments()
    wanted_tables = {
        n: c for n, c in comments.items() if not argument or n.lower() == argument.lower()
    }
    for name, comment in wanted_tables.items():
        shell.say(f"{name}: {comment}")
    if not wanted_tables:
        named = f' "{argument}"' if argument else ""
        shell.say(f"There is no synthetic table{named}. CREATE SYNTHETIC TABLE … makes one.")


def _explain(shell: Shell, argument: str) -> None:
    statement = argument or shell.last
    if statement:
        shell.run_for_command(f"EXPLAIN PRIVACY {statement};")
        shell.last = statement
    else:
        shell.complain("Nothing was asked so far. Type .explain SELECT …")


def _statement(text: str) -> Command:
    """Returns the command that is short for a statement."""
    return lambda shell, _argument: shell.run_for_command(text)


# --- texts ---


def _read(shell: Shell, argument: str) -> None:
    if not argument:
        shell.complain("Type .read FILE.")
        return
    with open(Path(argument).expanduser(), encoding="utf-8") as source:
        shell.read(source)


def _edit(shell: Shell, argument: str) -> None:
    """Opens $EDITOR on the last statement (or a file's text) and runs what is saved."""
    text = Path(argument).expanduser().read_text(encoding="utf-8") if argument else shell.last
    edited = click.edit(f"{text}\n", extension=".sql")
    if edited is None:
        shell.say("Not saved, so nothing is run.")
        return
    shell.say(edited.rstrip())
    shell.take(edited)


def _history(shell: Shell, argument: str) -> None:
    from sqlpriv.interfaces.shell.prompt import earlier_entries

    text = "\n".join(earlier_entries())
    if argument:
        path = Path(argument).expanduser()
        refuse_database(path)
        path.write_text(text + "\n", encoding="utf-8")
    else:
        shell.say(text or "There are no earlier entries.")


def _watch(shell: Shell, _argument: str) -> None:
    shell.complain(WATCH)


def _quit(_shell: Shell, _argument: str) -> None:
    raise Quit


_BUDGET, _RELEASES = _statement("SHOW PRIVACY BUDGET;"), _statement("SHOW PRIVACY RELEASES;")
COMMANDS: dict[str, tuple[Command, str, str]] = {
    ".budget": (_BUDGET, "", "what may be spent, was spent and is left"),
    ".confirm": (_switch("confirm"), "[on|off]", "whether a price is asked before it is paid"),
    ".exit": (_quit, "", "leave, as Ctrl-D does"),
    ".explain": (_explain, "[STATEMENT]", "the price of a statement, or of the last one"),
    ".help": (_help, "", "this"),
    ".maxrows": (_limit("rows", 1), "[N]", "most rows that a terminal shows"),
    ".maxwidth": (_limit("width", 20), "[N]", "columns of a table"),
    ".mode": (_mode, "[FORMAT]", "how rows are printed; alone it lists the formats"),
    ".output": (_output, "[FILE]", "write results to FILE; alone, to the terminal again"),
    ".pager": (_switch("pager"), "[on|off]", "page what is longer than the terminal"),
    ".quit": (_quit, "", "leave"),
    ".read": (_read, "FILE", "run the statements and commands in FILE"),
    ".releases": (_RELEASES, "", "every noised answer that was given"),
    ".schema": (_schema, "[TABLE]", "columns and domains as SQL"),
    ".synth": (_synth, "[TABLE]", "released tables: method, price, strata, when, whence"),
    ".tables": (_tables, "", "tables and their columns"),
    ".timer": (_switch("timer"), "[on|off]", "how long each statement takes"),
    "\\d": (_describe, "[TABLE]", "tables, or the columns of one"),
    "\\dt": (_tables, "", "as .tables"),
    "\\e": (_edit, "[FILE]", "edit the last statement, or FILE, and run it"),
    "\\i": (_read, "FILE", "as .read"),
    "\\o": (_output, "[FILE]", "as .output"),
    "\\q": (_quit, "", "leave"),
    "\\s": (_history, "[FILE]", "earlier entries, on the screen or into FILE"),
    "\\timing": (_timing, "[on|off]", "as .timer; alone it switches"),
    "\\watch": (_watch, "", "refused, and why"),
    "\\x": (_set_expanded, "", "switch between mode vertical and table"),
    "\\?": (_help, "", "as .help"),
}
"""Name → what it does, what may follow it, what it is for."""
BARE_WORDS = ("exit", "help", "quit")
"""Commands that are understood without the dot, as other shells have them."""
