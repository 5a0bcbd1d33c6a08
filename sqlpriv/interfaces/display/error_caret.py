"""An error as people read it: what is wrong, where in their text, and what to type next."""

from __future__ import annotations

import re
from difflib import get_close_matches

from rich.cells import cell_len

from sqlpriv import errors
from sqlpriv.interfaces.display.values import escape_controls
from sqlpriv.statements.keywords import RESERVED

LINE = 72
"""Characters shown of a long line: what wraps in a terminal has its caret in the wrong place."""

_NEXT: tuple[tuple[type[errors.Error], str], ...] = (
    (
        errors.BudgetExhausted,
        "EXPLAIN PRIVACY <statement> tells a price beforehand, SHOW PRIVACY BUDGET what is left; "
        "a lower epsilon costs less, and an answer given before is free.",
    ),
    (errors.PermissionDenied, "run it on an owner's connection (--role owner)."),
    (errors.VaultBusy, "close the program that is writing to the vault and run it again."),
    (errors.ReadFailed, "a filter or a declared domain may not fit the column: DESCRIBE <table>."),
    (errors.DeclarationError, "DESCRIBE <table> shows its columns and what is declared of them."),
    (errors.Refused, "EXPLAIN PRIVACY <statement> checks a statement without any charge."),
)
_SHOWN = (
    "SHOW TABLES, SYNTHESIZERS or GRANTS, and SHOW PRIVACY TABLES, BUDGET, RELEASES, DECLARATIONS"
    " or WINDOWS are there"
)
_CLAUSES = (
    "AS",
    "BETWEEN",
    "BY",
    "FROM",
    "GROUP",
    "HAVING",
    "JOIN",
    "LIMIT",
    "OPTIONS",
    "ORDER",
    "PRIVACY",
    "REFERENCES",
    "SELECT",
    "STRATIFY",
    "USING",
    "WEIGHTS",
    "WHERE",
)
"""Words that a misspelt one is compared with, beside those that were expected."""
_WITH_BY = ("GROUP", "ORDER", "STRATIFY", "PARTITION")


def explain_error(error: errors.Error, sql: str = "", first_line: int = 1) -> str:
    """Returns the lines to show for an error.

    Args:
        error: What was raised.
        sql: The statement's text, in which the error's line and column lie.
        first_line: The line of the user's file on which `sql` starts.
    """
    message = error.message if isinstance(error, errors.Refused) else str(error)
    parts = [f"{_title(error)}: {message}", *_place(error, sql, first_line)]
    hint = getattr(error, "hint", None)
    if not hint and isinstance(error, errors.Refused) and message.startswith("expected "):
        hint = _syntax_hint(error, sql)
    elif not message.endswith("never closed"):  # it says where, and there is nothing to look up
        hint = hint or _reserved_word_hint(message) or _next_step(error) or _show_hint(sql)
    if hint and "\nHint:" not in message:
        parts.append(f"Hint: {hint}")
    return escape_controls("\n".join(parts))


def _title(error: errors.Error) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).capitalize()


def _next_step(error: errors.Error) -> str | None:
    if isinstance(error, errors.DeclarationError) and "write " in str(error):
        return None  # it says what, and that may be of no column
    return next((step for kind, step in _NEXT if isinstance(error, kind)), None)


def _show_hint(sql: str) -> str | None:
    """Returns what can be shown, of a SHOW that DuckDB was asked in vain.

    >>> _show_hint("SHOW SYNTHETIC TABLES").partition(",")[0], _show_hint("DROP TABLE t")
    ('SHOW TABLES', None)
    """
    return _SHOWN if sql.lstrip()[:5].upper() == "SHOW " else None


def _reserved_word_hint(message: str) -> str | None:
    """Returns how a word of SQL is written where DuckDB stumbled over it in the place of a name.

    >>> text = 'syntax error at or near "{}"\\n\\nLINE 1: CREATE TABLE t (id INT, {} INT'
    >>> _reserved_word_hint(text.format("order", "order"))
    'as a name, a word of SQL is written in quotes: "order"'
    >>> _reserved_word_hint(text.format("INT", "order"))
    """
    word = re.search(r'syntax error at or near "([A-Za-z]+)"', message)
    named = word and re.search(
        rf"(\b(column|table|to|as)\s|[(,.])\s*{word[1]}\b", message, re.IGNORECASE
    )
    if not word or not named or word[1].upper() not in RESERVED:
        return None
    return f'as a name, a word of SQL is written in quotes: "{word[1]}"'


def _syntax_hint(error: errors.Refused, sql: str) -> str | None:
    """Returns what was probably meant at the place of a syntax error, or just before it."""
    lines = sql.splitlines()
    if not 1 <= error.line <= len(lines) or error.column < 1:
        return None
    line = lines[error.line - 1]
    before, after = line[: error.column - 1], line[error.column - 1 :]
    words = re.findall(r"\w+", before)[-2:]
    if words and words[-1].upper() in _WITH_BY and after[:1].isidentifier():
        return f"write {words[-1]} BY {after.split()[0]}"
    keywords = [*_CLAUSES, *re.findall(r"\b[A-Z]{3,}\b", error.message.partition(", found ")[0])]
    for word in (*words[-1:], *re.findall(r"^\w+", after)):
        for keyword in get_close_matches(word.upper(), keywords, 1, 0.7):
            if word.upper() not in keywords:
                return f"{word} may be meant as {keyword}"
    if error.message.startswith("expected (, found"):
        value = re.match(r"'[^']*'|\"[^\"]*\"|\w+", after)
        return f"write ({value[0]})" if value else None
    is_open = before.count("(") > before.count(")") and line.count("(") > line.count(")")
    if is_open and "'" not in before:
        return "a bracket that was opened before this place is not closed"
    if after.startswith("(") and re.search(r"\w\s+\w+$", before) and words[0].upper() != "SELECT":
        return f"a comma may be missing before {words[-1]}"
    return None


def _place(error: errors.Error, sql: str, first_line: int) -> list[str]:
    """Returns the offending line and a caret under its place; nothing where it is not known."""
    line, column = getattr(error, "line", 0), getattr(error, "column", 0)
    lines = sql.splitlines()
    if not 1 <= line <= len(lines) or column < 1:
        return []
    number = str(line + first_line - 1)
    text, column = _window(lines[line - 1], column)
    # Tabs stay tabs, so that the caret stands right however wide the terminal shows them.
    margin = "".join(
        "\t" if letter == "\t" else " " * cell_len(letter) for letter in text[: column - 1]
    )
    return [f"  {number} │ {text}", f"  {' ' * len(number)} │ {margin}^"]


def _window(text: str, column: int) -> tuple[str, int]:
    """Returns the part of a long line around a column, and that column in it."""
    if len(text) <= LINE:
        return text, column
    start = min(max(0, column - LINE // 2), len(text) - LINE)
    part = text[start : start + LINE]
    before, after = "…" if start else "", "…" if start + LINE < len(text) else ""
    return f"{before}{part}{after}", column - start + len(before)
